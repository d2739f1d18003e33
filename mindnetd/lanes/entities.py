"""The entity graph in memory: immutable snapshots, and views that count only what somebody may see.

A snapshot is the graph of one audience (``lanes.entity_index`` holds them). Arrays are by entity number or relation
number unless named otherwise. Any thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mindnetd.core.identity import fold
from mindnetd.core.naming import Directory
from mindnetd.lanes.lazily import Lazily

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_VIEWS_KEPT = 8
_LONGEST_NAME = 8
"""Words of a question that are tried as one name."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """How a note spells an entity."""

    entity: int
    note: int
    name: str
    key: str
    count: int


@dataclass(frozen=True, slots=True)
class Mentions:
    """Entities in chunks, as columns; ``chunk_id`` are the ids of ``chunk``."""

    entity: Ints
    chunk: Ints
    note: Ints
    count: Ints
    chunk_id: tuple[str, ...]
    spellings: tuple[Spelling, ...] = ()


_NONE: Ints = np.zeros(0, dtype=np.int64)
NO_MENTIONS = Mentions(_NONE, _NONE, _NONE, _NONE, ())


@dataclass(frozen=True, slots=True)
class Relations:
    """Relations as columns; ``support_*`` are the chunks that say so, by relation number."""

    id: tuple[str, ...]
    src: Ints
    dst: Ints
    type: tuple[str, ...]
    weight: NDArray[np.float64]
    count: Ints
    source: tuple[str, ...]
    description: tuple[str | None, ...]
    support: Ints
    support_chunk: Ints
    support_note: Ints


@dataclass(frozen=True, slots=True)
class Community:
    """A community. ``members`` are entity numbers; ``sources`` the sentences of its summary with chunk key and id."""

    id: str
    label: str
    level: int
    parent: str | None
    title: str
    summary: str
    summary_source: str
    size: int
    updated: str
    members: tuple[int, ...]
    sources: tuple[tuple[int, str, str], ...]
    """(chunk key, chunk id, sentence), in order."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One relation as seen from an entity: ``outgoing`` where the entity is its source."""

    relation: int
    entity: int
    type: str
    weight: float
    count: int
    outgoing: bool


@dataclass(frozen=True)
class EntitySnapshot:
    """The graph of one revision. ``note`` is the id of the note that an entity is, ``note_key`` its key or -1."""

    revision: int
    id: tuple[str, ...]
    name: tuple[str, ...]
    type: tuple[str, ...]
    name_type: tuple[str, ...]
    weight: NDArray[np.float64]
    note: tuple[str | None, ...]
    note_key: Ints
    source: tuple[str, ...]
    description: tuple[str | None, ...]
    aliases: Mapping[str, tuple[int, ...]]
    """Folded name -> entities that are called so."""
    mentions: Mentions
    relations: Relations
    communities: tuple[Community, ...]
    built_at: str | None = None
    """When the corpus-wide stage made it (RFC 3339 UTC)."""
    changed: Mapping[int, Mentions] = field(default_factory=dict)
    """Notes that were committed since, with what they mention now: ``mentions`` says nothing of these any more."""
    _views: dict[bytes, EntityView] = field(default_factory=dict, repr=False)

    @cached_property
    def directory(self) -> Directory:
        """Who is called how; where several are, the lowest number."""
        by_note = {note: number for number, note in enumerate(self.note) if note is not None}
        return Directory({key: numbers[0] for key, numbers in self.aliases.items()}, by_note)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Entity id -> number."""
        return {entity_id: number for number, entity_id in enumerate(self.id)}

    @cached_property
    def spelled(self) -> dict[int, list[Spelling]]:
        """Entity -> its spellings in ``mentions``."""
        found: dict[int, list[Spelling]] = {}
        for one in self.mentions.spellings:
            found.setdefault(one.entity, []).append(one)
        return found

    @cached_property
    def said_by(self) -> tuple[Ints, Ints]:
        """The chunks of ``relations.support_chunk``, ascending, and the relation that each says."""
        order = np.argsort(self.relations.support_chunk, kind="stable")
        return self.relations.support_chunk[order], self.relations.support[order]

    @property
    def stale(self) -> bool:
        """Notes have changed since the corpus-wide stage."""
        return bool(self.changed)

    def followed(self, revision: int, said: Mapping[int, Mentions]) -> EntitySnapshot:
        """The same with what the notes with these keys say now."""
        fresh = replace(self, revision=revision, changed={**self.changed, **said}, _views={})
        for name in ("directory", "numbers"):  # depends on nothing that a note's commit changes
            if name in self.__dict__:
                fresh.__dict__[name] = self.__dict__[name]
        return fresh

    def visible(self, allowed: Iterable[int]) -> EntityView:
        """What somebody sees who may see the notes with these keys, and no other."""
        keys = np.unique(np.fromiter(allowed, dtype=np.int64))
        mark = keys.tobytes()
        view = self._views.get(mark)
        if view is None:
            view = EntityView(self, keys)
            if len(self._views) >= _VIEWS_KEPT:
                self._views.clear()
            self._views[mark] = view
        return view


class EntityView:
    """The part of a snapshot that has support in allowed notes. Counts are of these notes only."""

    def __init__(self, snapshot: EntitySnapshot, allowed: Ints) -> None:
        self.snapshot = snapshot
        self._allowed, self._allowed_keys = allowed, frozenset(allowed.tolist())
        parts = [self._admitted(snapshot.mentions, stale=True)]
        parts += [self._admitted(part, stale=False) for _, part in sorted(snapshot.changed.items())]
        entity, chunk, note, count = (np.concatenate([part[i] for part in parts]) for i in range(4))
        order = np.lexsort((chunk, entity))
        self._entity, self._chunk, self._note, self._count = (a[order] for a in (entity, chunk, note, count))
        size = len(snapshot.id)
        self.mention_counts: Ints = np.bincount(self._entity, self._count, minlength=size).astype(np.int64)
        """Mentions by entity number, 0 for entities that are not visible."""
        self.seen: Bools = self.mention_counts > 0
        self._start = np.searchsorted(self._entity, np.arange(size + 1))

    def allows(self, note_key: int) -> bool:
        """Whether the note with this key may be seen."""
        return note_key in self._allowed_keys

    def _admitted(self, part: Mentions, *, stale: bool) -> tuple[Ints, Ints, Ints, Ints]:
        keep = np.isin(part.note, self._allowed)
        if stale and self.snapshot.changed:
            keep &= ~np.isin(part.note, np.fromiter(self.snapshot.changed, dtype=np.int64))
        return part.entity[keep], part.chunk[keep], part.note[keep], part.count[keep]

    # -------------------------------------------------------------------------------------------------------- entities

    @property
    def entities(self) -> Ints:
        """Visible entities, most mentions first, then by name."""
        found = np.flatnonzero(self.seen)
        names = self.names
        return np.array(sorted(found.tolist(), key=lambda n: (-self.mention_counts[n], names[n], n)), dtype=np.int64)

    @cached_property
    def _spellings(self) -> Mapping[int, dict[str, int]]:
        """Entity -> spelling -> count, of allowed notes."""
        fresh: dict[int, list[Spelling]] = {}
        for part in self.snapshot.changed.values():
            for one in part.spellings:
                fresh.setdefault(one.entity, []).append(one)

        def spelled(number: int) -> dict[str, int]:
            kept = [s for s in self.snapshot.spelled.get(number, ()) if s.note not in self.snapshot.changed]
            names: dict[str, int] = {}
            for one in (*kept, *fresh.get(number, ())):
                if self.allows(one.note):
                    names[one.name] = names.get(one.name, 0) + one.count
            return names

        return Lazily(spelled)

    @cached_property
    def names(self) -> Mapping[int, str]:
        """By entity number: its name, else, where no allowed note spells it so, the commonest of their spellings."""
        return Lazily(self._name)

    def _name(self, number: int) -> str:
        canonical = self.snapshot.name[number]
        spelled = self._spellings[number]
        if not spelled or canonical in spelled:
            return canonical if spelled else ""
        return min(spelled, key=lambda name: (-spelled[name], name))

    def aliases(self, number: int) -> tuple[str, ...]:
        """Other spellings of an entity in allowed notes, commonest first."""
        spelled = self._spellings[number]
        own = self.names[number]
        return tuple(sorted((name for name in spelled if name != own), key=lambda name: (-spelled[name], name)))

    def is_note(self, number: int) -> str | None:
        """The id of the note that the entity is, if that may be seen."""
        return self.snapshot.note[number] if self.allows(int(self.snapshot.note_key[number])) else None

    def type(self, number: int) -> str:
        """Its type; without what a hidden note of its own says."""
        shown = self.snapshot.note[number] is None or self.is_note(number) is not None
        return self.snapshot.type[number] if shown else self.snapshot.name_type[number]

    def description(self, number: int) -> str | None:
        """Its description; None where that comes from more than the notes that may be seen."""
        return self.snapshot.description[number] if self._whole(number) else None

    def _whole(self, number: int) -> bool:
        """Whether every mention may be seen."""
        part = self.snapshot.mentions
        total = int(part.count[part.entity == number].sum())
        return int(self.mention_counts[number]) >= total

    def chunks(self, number: int) -> Ints:
        """Keys of the allowed chunks that mention an entity, ascending."""
        return self._chunk[self._start[number] : self._start[number + 1]]

    def find(self, text: str) -> list[int]:
        """Visible entities that `text` names (names and aliases, the longest match first come), in order, each once."""
        words = fold(text).replace("?", " ").replace("!", " ").replace(",", " ").replace('"', " ").split()
        words = [word.strip(".:;()[]'\u201e\u201c\u201d\u00bb\u00ab") for word in words]
        found: dict[int, None] = {}
        at = 0
        while at < len(words):
            for size in range(min(_LONGEST_NAME, len(words) - at), 0, -1):
                hit = self._called(" ".join(words[at : at + size]))
                if hit is not None:
                    found[hit] = None
                    at += size
                    break
            else:
                at += 1
        return list(found)

    def _called(self, key: str) -> int | None:
        """The visible entity that an allowed note calls so; the one with most mentions where several are."""
        numbers = [n for n in self.snapshot.aliases.get(key, ()) if self.seen[n] and self._shows(n, key)]
        return max(numbers, key=lambda n: (int(self.mention_counts[n]), -n), default=None)

    def _shows(self, number: int, key: str) -> bool:
        return any(fold(name) == key for name in self._spellings[number])

    def of_chunks(self, chunks: Iterable[int | str]) -> list[int]:
        """Entities of these chunks (keys or ids), most mentions in them first."""
        asked = list(chunks)
        keys = {chunk for chunk in asked if isinstance(chunk, int)}
        wanted = {chunk for chunk in asked if isinstance(chunk, str)}
        if wanted:
            keys |= {key for chunk_id, key in self._chunk_keys.items() if chunk_id in wanted}
        chunk, entity, count = self._by_chunk
        counts: dict[int, int] = {}
        for key in keys:
            here = slice(*np.searchsorted(chunk, (key, key + 1)).tolist())
            for n, times in zip(entity[here].tolist(), count[here].tolist(), strict=True):
                counts[n] = counts.get(n, 0) + times
        names = self.names
        return sorted(counts, key=lambda n: (-counts[n], -self.snapshot.weight[n], names[n]))

    @cached_property
    def _by_chunk(self) -> tuple[Ints, Ints, Ints]:
        """Chunk, entity and count of every mention, by chunk."""
        order = np.argsort(self._chunk, kind="stable")
        return self._chunk[order], self._entity[order], self._count[order]

    @cached_property
    def _chunk_keys(self) -> dict[str, int]:
        parts = (self.snapshot.mentions, *self.snapshot.changed.values())
        return {cid: key for part in parts for cid, key in zip(part.chunk_id, part.chunk.tolist(), strict=True)}

    @cached_property
    def chunk_ids(self) -> dict[int, str]:
        """Chunk key -> chunk id, of chunks with a mention."""
        return {key: chunk_id for chunk_id, key in self._chunk_keys.items()}

    # ------------------------------------------------------------------------------------------------------- relations

    @cached_property
    def relation_counts(self) -> Ints:
        """By relation number: how many allowed chunks say so; 0 where it must not be shown."""
        relations = self.snapshot.relations
        keep = np.isin(relations.support_note, self._allowed)
        if self.snapshot.changed:
            keep &= ~np.isin(relations.support_note, np.fromiter(self.snapshot.changed, dtype=np.int64))
        counts = np.bincount(relations.support[keep], minlength=len(relations.id)).astype(np.int64)
        counts[~(self.seen[relations.src] & self.seen[relations.dst])] = 0
        return counts

    @cached_property
    def _by_end(self) -> tuple[Ints, Ints]:
        """Relation numbers ordered by their ends, and where each entity's begin."""
        relations = self.snapshot.relations
        shown = np.flatnonzero(self.relation_counts)
        ends = np.concatenate([relations.src[shown], relations.dst[shown]])
        numbers = np.concatenate([shown, shown])
        order = np.lexsort((numbers, ends))
        return numbers[order], np.searchsorted(ends[order], np.arange(len(self.snapshot.id) + 1))

    def neighbours(self, number: int) -> list[Neighbour]:
        """The relations of an entity, heaviest first. A weight is the share of it that may be seen."""
        relations, counts = self.snapshot.relations, self.relation_counts
        numbers, start = self._by_end
        found = []
        for rel in numbers[start[number] : start[number + 1]].tolist():
            outgoing = bool(relations.src[rel] == number)
            other = int(relations.dst[rel] if outgoing else relations.src[rel])
            count = int(counts[rel])
            weight = float(relations.weight[rel]) * min(1.0, count / max(1, int(relations.count[rel])))
            found.append(Neighbour(rel, other, relations.type[rel], weight, count, outgoing))
        return sorted(found, key=lambda one: (-one.weight, -one.count, self.names[one.entity], one.relation))

    def relations_of(self, chunks: Sequence[int]) -> Ints:
        """Visible relations that the chunks with these keys say, ascending."""
        said_by, relation = self.snapshot.said_by
        keys = np.array(chunks, dtype=np.int64)
        ends = zip(np.searchsorted(said_by, keys).tolist(), np.searchsorted(said_by, keys + 1).tolist(), strict=True)
        found = np.unique(np.concatenate([relation[:0], *(relation[start:end] for start, end in ends)]))
        shown: Ints = found[self.relation_counts[found] > 0]
        return shown

    def relation_chunks(self, relation: int) -> Ints:
        """Keys of the allowed chunks that say so."""
        relations = self.snapshot.relations
        changed = np.fromiter(self.snapshot.changed, dtype=np.int64)
        mine = relations.support == relation
        notes = relations.support_note[mine]
        shown: Ints = relations.support_chunk[mine][np.isin(notes, self._allowed) & ~np.isin(notes, changed)]
        return shown

    # ----------------------------------------------------------------------------------------------------- communities

    def communities(self, level: int | None = None) -> list[Community]:
        """Communities with a member that may be seen."""
        return [
            one
            for one in self.snapshot.communities
            if (level is None or one.level == level) and any(self.seen[member] for member in one.members)
        ]


def empty_snapshot(revision: int = 0) -> EntitySnapshot:
    """A graph of nothing: before the first corpus-wide stage."""
    ints, floats = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float64)
    relations = Relations((), ints, ints, (), floats, ints, (), (), ints, ints, ints)
    return EntitySnapshot(revision, (), (), (), (), floats, (), ints, (), (), {}, NO_MENTIONS, relations, ())
