"""The heuristic graph and what the language model said of the same notes: types, descriptions, relations, and which
candidates are none. Pure; equal inputs, equal graphs.

Where a note has no reply its heuristic result stands. A graph is that of one audience and `said` of notes that this
audience may see, so types and descriptions tell it nothing of what is hidden (law 9).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from mindnetd.core.entity_records import Entity
from mindnetd.core.identity import entity_uuid, fold, relationship_uuid
from mindnetd.core.llm_replies import Extract, Named, occurrences
from mindnetd.core.naming import Directory
from mindnetd.core.prompts import TYPES
from mindnetd.store.records import GraphRows, MentionRow, RelationRow

Place = tuple[str, int, int]
"""(chunk id, chunk key, note key), as in `RelationRow.support`."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a reply says of one piece of text. ``places`` are its chunks with their texts, ``offered`` the folded names
    of the candidates that it was about (none: it was asked for entities of its own)."""

    note: int
    places: tuple[tuple[Place, str], ...]
    extract: Extract
    offered: frozenset[str] = frozenset()


@dataclass
class _Votes:
    """What the replies say of one entity."""

    types: Counter[str] = field(default_factory=Counter)
    description: str = ""

    def add(self, named: Named) -> None:
        self.types[named.type] += 1
        self.description = self.description or named.description

    @property
    def type(self) -> str:
        """The one of most replies, ties in the order of the alphabet."""
        return min(self.types, key=lambda kind: (-self.types[kind], kind))


def with_types(rows: GraphRows, types: Mapping[str, str]) -> GraphRows:
    """The types by name of a batched call, except where a note says itself what it is."""
    return replace(
        rows, entities=tuple((_typed(entity, types.get(entity.name)), count) for entity, count in rows.entities)
    )


def _typed(entity: Entity, kind: str | None) -> Entity:
    if kind is None or entity.type != entity.name_type or entity.type not in TYPES:
        return entity  # by its note, its folder, or as a tag or a file
    return replace(entity, type=kind, name_type=kind)


def refine(rows: GraphRows, directory: Directory, ids: Sequence[str], said: Sequence[Said], prefix: str) -> GraphRows:
    """`said` by note and chunk in their order. `ids` are those of `directory`'s numbers."""
    id_of = _Names(directory, ids, prefix)
    votes: dict[str, _Votes] = {}
    for one in said:
        for named in one.extract.entities:
            votes.setdefault(id_of.id(named.key), _Votes()).add(named)
    rejected = _rejected(rows, said, id_of)
    fresh, mentions = _found(rows, said, id_of)
    entities = tuple(
        (_told(entity, votes.get(entity.id)), count) for entity, count in rows.entities if entity.id not in rejected
    )
    here = {entity.id for entity, _ in (*entities, *fresh)}
    kept = tuple(one for one in rows.relations if one.source_id in here and one.target_id in here)
    return replace(
        rows,
        entities=(*entities, *fresh),
        mentions=(*(pair for pair in rows.mentions if pair[1].entity_id not in rejected), *mentions),
        relations=(*kept, *_relations(said, id_of, here, prefix)),
    )


class _Names:
    """Ids of names: those of known entities, or the id that an entity of this name has."""

    def __init__(self, directory: Directory, ids: Sequence[str], prefix: str) -> None:
        self._directory, self._ids, self._prefix = directory, ids, prefix

    def id(self, key: str) -> str:
        number = self._directory.by_key.get(key)
        return entity_uuid(self._prefix, key) if number is None else self._ids[number]


def _told(entity: Entity, votes: _Votes | None) -> Entity:
    if votes is None:
        return entity
    return replace(_typed(entity, votes.type), source="llm", description=votes.description or None)


def _rejected(rows: GraphRows, said: Sequence[Said], id_of: _Names) -> set[str]:
    """Entities of every mention of which a reply says that they are none. Notes, and what notes link to, stay.

    A reply most of which had to be dropped rejects nothing: a small model says one name over and over.
    """
    said_well = [one for one in said if len(one.extract.entities) + len(one.extract.relations) >= one.extract.dropped]
    asked = {one.note for one in said_well if one.extract.entities}
    kept = {id_of.id(named.key) for one in said for named in one.extract.entities}
    offered = {id_of.id(key) for one in said for key in one.offered}
    declared = {end for one in rows.relations if one.source != "heuristic" for end in (one.source_id, one.target_id)}
    unasked = {row.entity_id for note, row in rows.mentions if note not in asked}
    maybe = {entity.id for entity, _ in rows.entities if entity.note is None}
    return (maybe & offered) - kept - declared - unasked


def _found(
    rows: GraphRows, said: Sequence[Said], id_of: _Names
) -> tuple[tuple[tuple[Entity, int], ...], tuple[tuple[int, MentionRow], ...]]:
    """Entities that only the replies know, with their mentions; and mentions that the heuristic did not see."""
    known = {entity.id for entity, _ in rows.entities}
    seen = {(row.entity_id, row.chunk_key) for _, row in rows.mentions}
    votes: dict[str, _Votes] = {}
    names: dict[str, Named] = {}
    counts: Counter[str] = Counter()
    mentions: list[tuple[int, MentionRow]] = []
    for one in said:
        for named in one.extract.entities:
            entity_id = id_of.id(named.key)
            for (chunk_id, chunk_key, note), text in one.places:
                if named.key not in fold(text) or (entity_id, chunk_key) in seen:
                    continue
                seen.add((entity_id, chunk_key))
                count = occurrences(text, named.key)
                mentions.append((note, MentionRow(entity_id, chunk_id, chunk_key, count, named.name, named.key)))
                counts[entity_id] += count
            if entity_id not in known:
                votes.setdefault(entity_id, _Votes()).add(named)
                names.setdefault(entity_id, named)
    fresh = tuple(
        (
            Entity(
                id=entity_id,
                name=names[entity_id].name,
                key=names[entity_id].key,
                type=vote.type,
                name_type=vote.type,
                weight=float(counts[entity_id]),
                note=None,
                names=((names[entity_id].name, names[entity_id].key),),
                source="llm",
                description=vote.description or None,
            ),
            counts[entity_id],
        )
        for entity_id, vote in sorted(votes.items())
        if counts[entity_id]
    )
    there = known | {entity.id for entity, _ in fresh}
    return fresh, tuple(pair for pair in mentions if pair[1].entity_id in there)


def _relations(said: Sequence[Said], id_of: _Names, here: set[str], prefix: str) -> list[RelationRow]:
    """What the replies state, supported by the chunks that name both ends (by the first chunk where none does)."""
    support: dict[tuple[str, str, str], dict[Place, None]] = {}
    for one in said:
        for relation in one.extract.relations:
            source, target = id_of.id(relation.source), id_of.id(relation.target)
            if source == target or source not in here or target not in here:
                continue
            both = [
                place for place, text in one.places if relation.source in fold(text) and relation.target in fold(text)
            ]
            places = support.setdefault((relation.type, source, target), {})
            places |= dict.fromkeys(both or [one.places[0][0]])
    return [
        RelationRow(
            id=relationship_uuid(prefix, kind, "llm", source, target),
            source_id=source,
            target_id=target,
            type=kind,
            weight=1.0,
            count=len(places),
            source="llm",
            support=tuple(sorted(places)),
        )
        for (kind, source, target), places in sorted(support.items())
    ]
