"""What is said about links; and what one to a hidden note looks like: a link to a note that is not there (law 9)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from mindnetd.core.records import Diagnostic, ResolvedLink
from mindnetd.core.resolve import IdIndex


def masked(links: Sequence[ResolvedLink], hidden: Collection[str], ids: IdIndex) -> tuple[ResolvedLink, ...]:
    """The links as somebody sees them who may not know of the notes at the paths `hidden`.

    `ids` are those of the other notes: what meant a hidden note may mean one of these by its id.
    """
    return tuple(
        ResolvedLink(one.link, None, by_id=ids.meant(one.link)) if one.leads_to in hidden else one for one in links
    )


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
