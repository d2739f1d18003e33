"""Edges of a note: one for each distinct (relation, target), with how often and where the note says so.

Declared edges are what its links and relation keys say; rule edges follow from where a link stands
(``core.edge_rules``). All of them are of scope ``note``. What follows from the rows themselves (``belongs_to``,
``prev``, ``next`` of chunks, ``backlink``) is the view ``structural_edges`` and is stored nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from mindnetd.core import identity
from mindnetd.core.edge_rules import RuleBook
from mindnetd.core.evidence import Evidence
from mindnetd.core.records import Edge, Link, NodeKind, ParsedNote, ResolvedLink
from mindnetd.core.typetable import DEFAULT_TYPES, TypeTable

EDGES_VERSION = 2
"""Raise it when the same bytes and names give other edges: every note is derived again at the next start."""


@dataclass(frozen=True, slots=True)
class _End:
    id: str
    kind: NodeKind
    label: str


_Keyed = dict[tuple[str, str], Edge]
"""Edges of one source and one origin by relation and far end."""


def edges_of(
    prefix: str,
    note: ParsedNote,
    links: Sequence[ResolvedLink],
    types: TypeTable = DEFAULT_TYPES,
    *,
    comment_links: bool = False,
) -> tuple[Edge, ...]:
    """The edges of `note`, whose answered links and named notes are `links`: declared ones in file order, then rules.

    Links inside ``%%`` make none unless asked to.
    """
    kept = [one for one in links if comment_links or not one.link.in_comment]
    if not kept:
        return ()
    source = _End(identity.note_uuid(prefix, note.path), "note", note.path)
    evidence = Evidence(note)
    ended = [(one, _far_end(prefix, one)) for one in kept]
    declared = _declared(source, ended, evidence)
    return (*declared.values(), *_by_rule(source, ended, RuleBook(note, types), evidence, declared).values())


def edges_of_links(prefix: str, path: str, links: Sequence[ResolvedLink]) -> tuple[Edge, ...]:
    """The edges that a canvas at `path` declares by its cards."""
    source = _End(identity.file_uuid(prefix, path), "file", path)
    return tuple(_declared(source, ((one, _far_end(prefix, one)) for one in links), Evidence()).values())


def end_of(prefix: str, path: str) -> tuple[str, NodeKind]:
    """Id and kind of the node that the vault file at `path` is: a note by its extension, else a file."""
    if path[-3:].casefold() == ".md":
        return identity.note_uuid(prefix, path), "note"
    return identity.file_uuid(prefix, path), "file"


def _declared(source: _End, links: Iterable[tuple[ResolvedLink, _End]], evidence: Evidence) -> _Keyed:
    edges: _Keyed = {}
    for one, far in links:
        key = (one.link.relation, far.id)
        by: Literal["id"] | None = "id" if one.by_id is not None else None
        seen = edges.get(key)
        if seen is None:
            edge = _edge(source, far, one.link.relation, one.link, evidence.of(one.link))
            edges[key] = edge if by is None else replace(edge, resolved_by=by)
        else:  # a target that is called by its name once is resolved by its name
            resolved_by = seen.resolved_by if by else None
            edges[key] = replace(seen, occurrences=seen.occurrences + 1, resolved_by=resolved_by)
    return edges


def _by_rule(
    source: _End, links: Iterable[tuple[ResolvedLink, _End]], rules: RuleBook, told: Evidence, declared: _Keyed
) -> _Keyed:
    """Rule edges: every link that a rule holds for counts, the strongest rule gives the weight and the evidence."""
    edges: _Keyed = {}
    for one, end in links:
        for relation, weight in rules.of(one.link, end.kind).items():
            key = (relation, end.id)
            seen = edges.get(key)
            if key in declared:
                continue
            if seen is not None and seen.weight >= weight:
                edges[key] = replace(seen, occurrences=seen.occurrences + 1)
                continue
            said = declared["references", end.id]
            edges[key] = replace(
                said,
                id=identity.edge_uuid(relation, "rule", source.id, end.id, "note"),
                relation=relation,
                source="rule",
                weight=weight,
                occurrences=seen.occurrences + 1 if seen else 1,
                evidence=said.evidence if said.line == one.link.line else told.of(one.link),
                line=one.link.line,
            )
    return edges


def _edge(source: _End, far: _End, relation: str, link: Link, evidence: str) -> Edge:
    return Edge(
        id=identity.edge_uuid(relation, "declared", source.id, far.id, "note"),
        src_id=source.id,
        dst_id=far.id,
        src_kind=source.kind,
        dst_kind=far.kind,
        dst_label=far.label,
        relation=relation,
        scope="note",
        source="declared",
        weight=1.0,
        occurrences=1,
        evidence=evidence,
        line=link.line,
    )


def _far_end(prefix: str, one: ResolvedLink) -> _End:
    if one.link.kind == "url":
        return _End(identity.url_uuid(prefix, one.link.target), "url", one.link.target)
    path = one.leads_to
    if path is None:
        return _End(identity.unresolved_uuid(prefix, one.link.target), "unresolved", one.link.target)
    node, kind = end_of(prefix, path)
    return _End(node, kind, path)
