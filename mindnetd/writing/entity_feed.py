"""The resident entity graph out of the file: rows and columns to a snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mindnetd.lanes.entities import Community, EntitySnapshot, Mentions, Relations, Spelling
from mindnetd.lanes.entity_index import Graphs
from mindnetd.store.db import Database
from mindnetd.store.read_entities import EntityColumns, load_entities


def load_graphs(db: Database) -> Graphs:
    """The graphs as they are stored. Raises StoreError."""
    stored = load_entities(db)
    by_name = {name: snapshot_of(columns, stored.revision, stored.built_at) for name, columns in stored.columns.items()}
    return Graphs(stored.audiences, by_name, stored.revision, stored.built_at)


def snapshot_of(columns: EntityColumns, revision: int, built_at: str | None) -> EntitySnapshot:
    """A snapshot of these columns; what names an entity that is not there is left out."""
    rows = columns.entities
    numbers = {row[0]: number for number, row in enumerate(rows)}
    aliases: dict[str, tuple[int, ...]] = {}
    for entity_id, key in columns.aliases:
        if entity_id in numbers:
            aliases[key] = tuple(sorted({*aliases.get(key, ()), numbers[entity_id]}))
    return EntitySnapshot(
        revision=revision,
        id=tuple(row[0] for row in rows),
        name=tuple(row[1] for row in rows),
        type=tuple(row[2] for row in rows),
        name_type=tuple(row[3] for row in rows),
        weight=np.array([row[4] for row in rows], dtype=np.float64),
        note=tuple(row[5] for row in rows),
        note_key=np.array([row[6] for row in rows], dtype=np.int64),
        source=tuple(row[7] for row in rows),
        description=tuple(row[8] for row in rows),
        aliases=aliases,
        mentions=_mentions(columns, numbers),
        relations=_relations(columns, numbers),
        communities=_communities(columns, numbers),
        built_at=built_at,
    )


def _mapped(ids: NDArray[Any], numbers: Mapping[str, int]) -> NDArray[np.int64]:
    return np.fromiter((numbers.get(one, -1) for one in ids.tolist()), dtype=np.int64, count=len(ids))


def _mentions(columns: EntityColumns, numbers: Mapping[str, int]) -> Mentions:
    found = columns.mentions
    entity = _mapped(found["entity"], numbers)
    known = entity >= 0
    return Mentions(
        entity=entity[known],
        chunk=found["chunk_key"].astype(np.int64)[known],
        note=found["note_key"].astype(np.int64)[known],
        count=found["count"].astype(np.int64)[known],
        chunk_id=tuple(found["chunk_id"][known].tolist()),
        spellings=tuple(
            Spelling(numbers[row[0]], row[1], row[2], row[3], row[4]) for row in columns.spellings if row[0] in numbers
        ),
    )


def _relations(columns: EntityColumns, numbers: Mapping[str, int]) -> Relations:
    rows = [row for row in columns.relations if row[1] in numbers and row[2] in numbers]
    mentions = columns.relation_mentions
    support = _mapped(mentions["relation"], {row[0]: number for number, row in enumerate(rows)})
    known = support >= 0
    return Relations(
        id=tuple(row[0] for row in rows),
        src=np.array([numbers[row[1]] for row in rows], dtype=np.int64),
        dst=np.array([numbers[row[2]] for row in rows], dtype=np.int64),
        type=tuple(row[3] for row in rows),
        weight=np.array([row[4] for row in rows], dtype=np.float64),
        count=np.array([row[5] for row in rows], dtype=np.int64),
        source=tuple(row[6] for row in rows),
        description=tuple(row[7] for row in rows),
        support=support[known],
        support_chunk=mentions["chunk_key"].astype(np.int64)[known],
        support_note=mentions["note_key"].astype(np.int64)[known],
    )


def _communities(columns: EntityColumns, numbers: Mapping[str, int]) -> tuple[Community, ...]:
    members = _grouped(columns.members, lambda row: numbers.get(row[1], -1))
    sources = _grouped(columns.sources, lambda row: (row[1], row[2], row[3]))
    return tuple(
        Community(
            *(row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7], row[8]),
            tuple(sorted(member for member in members.get(row[0], ()) if member >= 0)),
            tuple(sources.get(row[0], ())),
        )
        for row in columns.communities
    )


def _grouped(rows: Sequence[tuple[Any, ...]], value: Any) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for row in rows:
        found.setdefault(row[0], []).append(value(row))
    return found
