"""Who a community is: the row that is stored of it, and which of the last run's it continues.

A community continues the one of its level whose members it shares most (Jaccard index, P. Jaccard 1912; matching of
clusters over time as in Greene, Doyle, Cunningham, Tracking the Evolution of Communities, ASONAM 2010), the largest
overlaps first. Not for: finding communities.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from mindnetd.core.identity import NAMESPACE, sha256_text, uuid5

SAME = 0.5
"""Two communities are one if they share at least this part of their members together."""
_COMMUNITY = uuid.uuid5(NAMESPACE, "kind:community")


@dataclass(frozen=True, slots=True)
class Told:
    """A sentence of a summary and the chunk that says it."""

    chunk_id: str
    chunk_key: int
    sentence: str


@dataclass(frozen=True, slots=True)
class CommunityRow:
    """A community as it is stored. ``members`` are entity ids, sorted; ``audience`` names whose graph it is of.

    ``members_hash`` and ``texts_hash`` say what title and summary were made from.
    """

    id: str
    label: str
    level: int
    parent: str | None
    title: str
    summary: str
    summary_source: str
    members_hash: str
    texts_hash: str
    audience: str
    updated: datetime
    members: tuple[str, ...]
    sources: tuple[Told, ...]

    @property
    def place(self) -> tuple[str, str]:
        """What tells it from all others: audiences that were one may have communities of one id."""
        return (self.audience, self.id)

    @property
    def size(self) -> int:
        """How many members."""
        return len(self.members)


def members_hash(members: Sequence[str]) -> str:
    """Of entity ids in order."""
    return sha256_text("\n".join(members))


def community_uuid(prefix: str, level: int, members: str) -> str:
    """The id of a community that continues none: by its level and its `members_hash`, whoever may see it."""
    return uuid5(_COMMUNITY, f"{prefix}:{level}:{members}")


def carried_over(
    fresh: Sequence[tuple[int, Sequence[str]]], last: Sequence[tuple[int, Sequence[str]]]
) -> dict[int, int]:
    """Which of `last` each of `fresh` continues, by index; both are (level, members). None is continued twice.

    Pairs are taken from the largest Jaccard index down to `SAME`; ties go to the first members in the alphabet.
    """
    whole = {(level, tuple(members)): number for number, (level, members) in enumerate(last)}
    found: dict[int, int] = {}
    for number, (level, members) in enumerate(fresh):  # most: nothing can be nearer to them
        same = whole.pop((level, tuple(members)), None)
        if same is not None:
            found[number] = same
    taken = set(found.values())
    places: dict[tuple[int, str], list[int]] = {}
    for number, (level, members) in enumerate(last):
        for member in members if number not in taken else ():
            places.setdefault((level, member), []).append(number)
    pairs: list[tuple[float, str, str, int, int]] = []
    for number, (level, members) in enumerate(fresh):
        shared: dict[int, int] = {}
        for member in members if number not in found else ():
            for other in places.get((level, member), ()):
                shared[other] = shared.get(other, 0) + 1
        for other, both in shared.items():
            theirs = last[other][1]
            overlap = both / (len(members) + len(theirs) - both)
            if overlap >= SAME:
                pairs.append((-overlap, min(members), min(theirs), number, other))
    for _, _, _, number, other in sorted(pairs):
        if number not in found and other not in taken:
            found[number] = other
            taken.add(other)
    return found
