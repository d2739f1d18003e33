"""What is said about links; and what one to a hidden note looks like: a link to a note that is not there (law 9)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from mindnetd.core.identity import edge_uuid, unresolved_uuid
from mindnetd.core.records import Diagnostic, Edge, ResolvedLink


def masked(links: Sequence[ResolvedLink], hidden: Collection[str]) -> tuple[ResolvedLink, ...]:
    """The links as somebody sees them who may not know of the notes at the paths `hidden`."""
    return tuple(ResolvedLink(one.link, None) if one.leads_to in hidden else one for one in links)


def as_missing(prefix: str, edge: Edge, links: Sequence[ResolvedLink], path: str) -> tuple[Edge, ...]:
    """`edge`, which leads to the hidden note at `path`, as the edges to missing targets that it would be without it.

    One for each name by which the `links` of the edge's source call that note.
    """
    there = [one.link for one in links if one.leads_to == path and not one.link.in_comment]
    relation = "references" if edge.source == "rule" else edge.relation  # rules are about plain links
    same = [link for link in there if link.relation == relation] or there
    first: dict[str, Edge] = {}
    for link in same:
        target = unresolved_uuid(prefix, link.target)
        seen = first.get(target)
        if seen is not None:
            first[target] = replace(seen, occurrences=seen.occurrences + 1)
            continue
        told = link.line == edge.line or not first
        first[target] = replace(
            edge,
            id=edge_uuid(edge.relation, edge.source, edge.src_id, target, edge.scope),
            dst_id=target,
            dst_kind="unresolved",
            dst_label=link.target,
            resolved_by=None,
            occurrences=1,
            evidence=edge.evidence if told else link.raw,
            line=edge.line if told else link.line,
        )
    return tuple(first.values())


def link_diagnostics(links: Iterable[ResolvedLink]) -> tuple[Diagnostic, ...]:
    """``link_unresolved`` and ``link_ambiguous``, one a link."""
    out = []
    for answer in links:
        link = answer.link
        if link.kind in ("url", "plain"):  # that a plain text names a note is our reading, not its author's
            continue
        if answer.resolved is None:
            out.append(Diagnostic("link_unresolved", f"no file is called {link.target!r}", link.line))
        elif answer.ambiguous:
            # which one was taken stands in `links`, where a hidden note's path is left out
            message = f"several files are called {link.target!r}; a path in the link would say which is meant"
            out.append(Diagnostic("link_ambiguous", message, link.line))
    return tuple(out)
