"""Declared edges of a note: one for each distinct (relation, target), with how often and where it says so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from mindnetd.core import identity
from mindnetd.core.records import Edge, Link, NodeKind, ParsedNote, ResolvedLink

_EVIDENCE = 200


@dataclass(frozen=True, slots=True)
class _End:
    id: str
    kind: NodeKind
    label: str


def edges_of(
    prefix: str, note: ParsedNote, links: Sequence[ResolvedLink], *, comment_links: bool = False
) -> tuple[Edge, ...]:
    """The edges that the links of `note` declare, in file order. Links inside ``%%`` make none unless asked to."""
    kept = [one for one in links if comment_links or not one.link.in_comment]
    source = _End(identity.note_uuid(prefix, note.path), "note", note.path)
    return _edges(prefix, source, _Lines(note.body, note.body_line), kept)


def edges_of_links(prefix: str, path: str, links: Sequence[ResolvedLink]) -> tuple[Edge, ...]:
    """The edges that a canvas at `path` declares by its cards."""
    return _edges(prefix, _End(identity.file_uuid(prefix, path), "file", path), None, links)


def end_of(prefix: str, path: str) -> tuple[str, NodeKind]:
    """Id and kind of the node that the vault file at `path` is: a note by its extension, else a file."""
    if path[-3:].casefold() == ".md":
        return identity.note_uuid(prefix, path), "note"
    return identity.file_uuid(prefix, path), "file"


class _Lines:
    """The body's lines by file line number."""

    def __init__(self, body: str, body_line: int) -> None:
        self._lines = body.split("\n")
        self._first = body_line

    def at(self, line: int | None) -> str | None:
        """The text of a file line, or None outside the body."""
        index = -1 if line is None else line - self._first
        return self._lines[index].strip() if 0 <= index < len(self._lines) else None


def _edges(prefix: str, source: _End, lines: _Lines | None, links: Iterable[ResolvedLink]) -> tuple[Edge, ...]:
    edges: dict[tuple[str, str], Edge] = {}
    for one in links:
        far = _far_end(prefix, one)
        key = (one.link.relation, far.id)
        seen = edges.get(key)
        if seen is not None:
            edges[key] = replace(seen, occurrences=seen.occurrences + 1)
            continue
        edges[key] = Edge(
            id=identity.edge_uuid(one.link.relation, "declared", source.id, far.id, "note"),
            src_id=source.id,
            dst_id=far.id,
            src_kind=source.kind,
            dst_kind=far.kind,
            dst_label=far.label,
            relation=one.link.relation,
            scope="note",
            source="declared",
            weight=1.0,
            occurrences=1,
            evidence=_evidence(one.link, lines),
            line=one.link.line,
        )
    return tuple(edges.values())


def _far_end(prefix: str, one: ResolvedLink) -> _End:
    if one.link.kind == "url":
        return _End(identity.url_uuid(prefix, one.link.target), "url", one.link.target)
    if one.resolved is None:
        return _End(identity.unresolved_uuid(prefix, one.link.target), "unresolved", one.link.target)
    node, kind = end_of(prefix, one.resolved)
    return _End(node, kind, one.resolved)


def _evidence(link: Link, lines: _Lines | None) -> str:
    """The line that says so; around the link where the line is long."""
    if link.kind == "frontmatter":
        return f"{link.property}: {link.raw}"[:_EVIDENCE]
    text = lines.at(link.line) if lines else None
    if text is None:
        return link.raw[:_EVIDENCE]
    at = text.find(link.raw)
    start = max(0, min(at - _EVIDENCE // 3, len(text) - _EVIDENCE)) if at >= 0 else 0
    return text[start : start + _EVIDENCE]
