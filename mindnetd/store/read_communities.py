"""Communities as they are stored, and what of the notes they are made from."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mindnetd.core.audiences import Audiences, Levels, audiences_from
from mindnetd.core.community_ids import CommunityRow, Told
from mindnetd.store.db import Database, Row
from mindnetd.store.sqltext import statements


@dataclass(frozen=True, slots=True)
class NoteColumns:
    """Who may read which note, and its language."""

    key: NDArray[np.int64]
    visibility: tuple[str, ...]
    flags: tuple[tuple[str, ...], ...]
    lang: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChunkColumns:
    """What the chunks of now say, ascending by key: ``mark`` is the first 64 bits of the hash of the text."""

    key: NDArray[np.int64]
    mark: NDArray[np.uint64]
    note: NDArray[np.int64]
    first: NDArray[np.bool_]
    """It is the first of its note."""


@dataclass(frozen=True, slots=True)
class CommunityInputs:
    """Everything that a rebuild needs besides the entity graph, of one revision."""

    revision: int
    notes: NoteColumns
    chunks: ChunkColumns
    last: tuple[CommunityRow, ...]
    state: str
    """The signature of what the last ones were made from; empty before the first time."""
    first_chunk: dict[int, int]
    """Note key -> the key of its first chunk."""
    audiences: Audiences = field(default_factory=Audiences)
    """Whose the last ones are."""

    def last_of(self, levels: Collection[Levels]) -> tuple[CommunityRow, ...]:
        """The last communities of an audience that these sets of levels are; of the first that had some."""
        for one in levels:
            name = self.audiences.of(one)
            found = tuple(row for row in self.last if row.audience == name)
            if found:
                return found
        return ()


def load_inputs(db: Database) -> CommunityInputs:
    """Read it all. Raises StoreError."""
    sql = statements("communities")
    with db.reader() as reader:
        notes = reader.rows(sql["notes"])
        chunks = reader.arrays(sql["chunks"])
        meta: dict[str, str] = dict(reader.rows("SELECT key, value FROM meta WHERE starts_with(key, 'communities_')"))
        rows, members, sources = (reader.rows(sql[name]) for name in ("rows", "members", "sources"))
        revision = reader.revision()
    inside: dict[tuple[str, str], list[str]] = {}
    for audience, community, entity in members:
        inside.setdefault((audience, community), []).append(entity)
    told: dict[tuple[str, str], list[Told]] = {}
    for audience, community, chunk_id, chunk_key, sentence in sources:
        told.setdefault((audience, community), []).append(Told(chunk_id, chunk_key, sentence))
    columns = ChunkColumns(
        np.ma.getdata(chunks["key"]).astype(np.int64),
        np.ma.getdata(chunks["mark"]).astype(np.uint64),
        np.ma.getdata(chunks["note_key"]).astype(np.int64),
        np.ma.getdata(chunks["first"]).astype(bool),
    )
    first = columns.first
    return CommunityInputs(
        revision=revision,
        notes=NoteColumns(
            np.array([row[0] for row in notes], dtype=np.int64),
            tuple(row[1] for row in notes),
            tuple(_flags(row[2]) for row in notes),
            tuple(row[3] for row in notes),
        ),
        chunks=columns,
        first_chunk=dict(zip(columns.note[first].tolist(), columns.key[first].tolist(), strict=True)),
        last=tuple(_row(row, inside.get((row[9], row[0]), []), told.get((row[9], row[0]), [])) for row in rows),
        state=meta.get("communities_state", "") if rows else "",  # a purge takes the rows and leaves the signature
        audiences=audiences_from(meta.get("communities_audiences")),
    )


@lru_cache(maxsize=256)
def _flags(text: str) -> tuple[str, ...]:
    return tuple(json.loads(text))


def _row(row: Row, members: list[str], sources: list[Told]) -> CommunityRow:
    names = ("id", "label", "level", "parent", "title", "summary", "summary_source", "members_hash", "texts_hash")
    values = dict(zip((*names, "audience", "updated"), row, strict=True))
    return CommunityRow(**values, members=tuple(members), sources=tuple(sources))
