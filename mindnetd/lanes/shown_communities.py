"""A community as one asker may see it now: as it was made, or what of it may be seen and is still there (law 9)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from mindnetd.core.identity import fold
from mindnetd.lanes.entities import Community, EntityView

_IN_TITLE = 3


@dataclass(frozen=True, slots=True)
class ShownCommunity:
    """``members`` are visible entity numbers, most mentions first; ``sources`` (chunk key, chunk id, sentence).

    ``intact``: title and summary are those that were made.
    """

    made: Community
    members: tuple[int, ...]
    sources: tuple[tuple[int, str, str], ...]
    title: str
    summary: str
    summary_source: str
    intact: bool


def shown(view: EntityView, community: Community, chunks: Collection[int]) -> ShownCommunity | None:
    """What `view` may see of it, given the keys of the visible chunks among its sources; None where that is nothing.

    The summary says what its sources say, and the title names members: both are shown as made only while every source
    may be seen and every name of the title is one that visible notes use.
    """
    members = [n for n in community.members if view.seen[n]]
    if not members:
        return None
    members.sort(key=lambda n: (-int(view.mention_counts[n]), view.names[n], n))
    sources = tuple(source for source in community.sources if source[0] in chunks)
    intact = len(sources) == len(community.sources) and _names_only(view, community.title, members)
    return ShownCommunity(
        made=community,
        members=tuple(members),
        sources=sources,
        title=community.title if intact else ", ".join(view.names[n] for n in members[:_IN_TITLE]),
        summary=community.summary if intact else " ".join(sentence for _, _, sentence in sources),
        summary_source=community.summary_source if intact else "extractive",
        intact=intact,
    )


def _names_only(view: EntityView, title: str, members: list[int]) -> bool:
    """Whether a title consists of names that visible notes give the members (the end of one, if shortened)."""
    known = [fold(name) for n in members for name in (view.names[n], *view.aliases(n))]
    return all(any(name.endswith(fold(part)) for name in known) for part in title.split(", "))


def children_of(communities: Collection[ShownCommunity]) -> Mapping[str, list[ShownCommunity]]:
    """Parent id -> its parts, in the order given."""
    found: dict[str, list[ShownCommunity]] = {}
    for one in communities:
        if one.made.parent is not None:
            found.setdefault(one.made.parent, []).append(one)
    return found
