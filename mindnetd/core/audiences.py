"""Who the entity graph is made for: askers who may see the same notes are one audience (law 9).

What a graph says depends on all notes that it is made from: which names are entities, what they are merged with, how
rare they are, what is a community. So each audience has a graph of its own, made of the notes that it may see and of no
other. An asker is known by the levels of visibility that a request shows; notes with a flag that hides by default are
in no audience, and a request that includes flags gets the graph without these notes. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from mindnetd.core.records import FLAGS, VISIBILITIES, Visibility

Levels = frozenset[str]
"""A set of levels of visibility."""


@dataclass(frozen=True, slots=True)
class NoteSight:
    """Who may see a note."""

    key: int
    visibility: str
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Audience:
    """Askers who may see the same notes: ``levels`` are their sets of levels, ``notes`` the keys of the notes.

    ``name`` is that of the first set, so rows that are stored under a name were made for no other set of levels.
    """

    name: str
    levels: tuple[Levels, ...]
    notes: frozenset[int]


@dataclass(frozen=True)
class Audiences:
    """Which graph is whose: the name of the audience by set of levels; a set that sees no note has none.

    ``hiding`` are the flags that kept a note out of all of them, ``highest`` the level that none goes above.
    """

    names: Mapping[Levels, str] = field(default_factory=dict)
    hiding: frozenset[str] = frozenset(FLAGS)
    highest: Visibility = "internal"

    def of(self, levels: Collection[str]) -> str | None:
        """The name of the audience of who may see these levels; None where there is none."""
        return self.names.get(frozenset(levels))

    def admit(self, name: str, visibility: str, flags: Collection[str]) -> bool:
        """Whether the audience may see a note of this level with these flags."""
        if not self.hiding.isdisjoint(flags):
            return False
        return any(mine == name and visibility in levels for levels, mine in self.names.items())

    def as_json(self) -> str:
        """To be kept with the graph."""
        names = {name_of(levels): name for levels, name in self.names.items()}
        return json.dumps({"names": names, "hiding": sorted(self.hiding), "highest": self.highest})


def audiences_from(text: str | None) -> Audiences:
    """The inverse of `Audiences.as_json`; nobody for None."""
    if not text:
        return Audiences()
    found = json.loads(text)
    names = {frozenset(key.split(",")): name for key, name in found["names"].items()}
    return Audiences(names, frozenset(found["hiding"]), found["highest"])


def name_of(levels: Collection[str]) -> str:
    """A set of levels as text: ``public,internal``."""
    return ",".join(level for level in VISIBILITIES if level in levels)


def level_sets(highest: Visibility) -> list[Levels]:
    """Every set of levels that a request may ask for: the default first, then the wider ones first."""
    allowed = VISIBILITIES[: VISIBILITIES.index(highest) + 1]
    usual = frozenset(allowed[:2])
    found = [frozenset(some) for size in range(len(allowed), 0, -1) for some in combinations(allowed, size)]
    return [usual, *(one for one in found if one != usual)]


def divide(notes: Iterable[NoteSight], hiding: Collection[str], highest: Visibility) -> list[Audience]:
    """The audiences of these notes, that of the default first; sets of levels that see equal notes are one."""
    by_level: dict[str, set[int]] = {}
    for note in notes:
        if not set(hiding).intersection(note.flags):
            by_level.setdefault(note.visibility, set()).add(note.key)
    found: dict[frozenset[str], list[Levels]] = {}
    for levels in level_sets(highest):
        inhabited = levels.intersection(by_level)
        if inhabited:
            found.setdefault(inhabited, []).append(levels)
    return [
        Audience(name_of(sets[0]), tuple(sets), frozenset().union(*(by_level[level] for level in inhabited)))
        for inhabited, sets in found.items()
    ]


def whose(audiences: Sequence[Audience], hiding: Collection[str], highest: Visibility) -> Audiences:
    """What is kept of them with the graph."""
    return Audiences({levels: one.name for one in audiences for levels in one.levels}, frozenset(hiding), highest)
