"""Communities as they are stored, and what of the notes they are made from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mindnetd.core.community_ids import CommunityRow, Told
from mindnetd.store.db import Database, Row
from mindnetd.store.sqltext import statements


@dataclass(frozen=True, slots=True)
class NoteColumns:
    """Who may read which note: ``level`` is an index of ``core.records.VISIBILITIES``."""

    key: NDArray[np.int64]
    level: NDArray[np.int64]
    flagged: NDArray[np.bool_]
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


def inputs_of(
    revision: int, notes: NoteColumns, chunks: ChunkColumns, last: tuple[CommunityRow, ...] = (), state: str = ""
) -> CommunityInputs:
    """Inputs out of their columns."""
    first = dict(zip(chunks.note[chunks.first].tolist(), chunks.key[chunks.first].tolist(), strict=True))
    return CommunityInputs(revision, notes, chunks, last, state, first)


def load_inputs(db: Database) -> CommunityInputs:
    """Read it all. Raises StoreError."""
    sql = statements("communities")
    with db.reader() as reader:
        notes = reader.rows(sql["notes"])
        chunks = reader.arrays(sql["chunks"])
        state = reader.rows("SELECT value FROM meta WHERE key = 'communities_state'")
        rows, members, sources = (reader.rows(sql[name]) for name in ("rows", "members", "sources"))
        revision = reader.revision()
    inside: dict[str, list[str]] = {}
    for community, entity in members:
        inside.setdefault(community, []).append(entity)
    told: dict[str, list[Told]] = {}
    for community, chunk_id, chunk_key, sentence in sources:
        told.setdefault(community, []).append(Told(chunk_id, chunk_key, sentence))
    return inputs_of(
        revision=revision,
        notes=NoteColumns(
            np.array([row[0] for row in notes], dtype=np.int64),
            np.array([row[1] for row in notes], dtype=np.int64),
            np.array([row[2] for row in notes], dtype=bool),
            tuple(row[3] for row in notes),
        ),
        chunks=ChunkColumns(
            np.ma.getdata(chunks["key"]).astype(np.int64),
            np.ma.getdata(chunks["mark"]).astype(np.uint64),
            np.ma.getdata(chunks["note_key"]).astype(np.int64),
            np.ma.getdata(chunks["first"]).astype(bool),
        ),
        last=tuple(_row(row, inside.get(row[0], []), told.get(row[0], [])) for row in rows),
        state=state[0][0] if state and rows else "",  # a purge takes the rows and leaves the signature
    )


def _row(row: Row, members: list[str], sources: list[Told]) -> CommunityRow:
    names = ("id", "label", "level", "parent", "title", "summary", "summary_source", "members_hash", "texts_hash")
    values = dict(zip((*names, "visibility", "updated"), row, strict=True))
    return CommunityRow(**values, members=tuple(members), sources=tuple(sources))
