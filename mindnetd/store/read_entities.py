"""Signals, and the entity graph, out of the store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mindnetd.core.records import Signal
from mindnetd.store.db import Database, Reader, Row
from mindnetd.store.records import SignalRow
from mindnetd.store.sqltext import statements


@dataclass(frozen=True, slots=True)
class EntityColumns:
    """The whole graph as the tables have it, in one revision; the columns are those of ``sql/entities.sql``."""

    revision: int
    built_at: str | None
    entities: list[Row]
    aliases: list[Row]
    mentions: dict[str, npt.NDArray[Any]]
    spellings: list[Row]
    relations: list[Row]
    relation_mentions: dict[str, npt.NDArray[Any]]
    communities: list[Row]
    members: list[Row]
    sources: list[Row]


def load_entities(db: Database) -> EntityColumns:
    """Everything that the resident graph is made of. Raises StoreError."""
    sql = statements("entities")
    with db.reader() as reader:
        meta: dict[str, str] = dict(reader.rows("SELECT key, value FROM meta WHERE key = 'corpus_built'"))
        return EntityColumns(
            revision=reader.revision(),
            built_at=meta.get("corpus_built"),
            entities=reader.rows(sql["entities"]),
            aliases=reader.rows(sql["aliases"]),
            mentions=_plain(reader.arrays(sql["mentions"])),
            spellings=reader.rows(sql["spellings"]),
            relations=reader.rows(sql["relations"]),
            relation_mentions=_plain(reader.arrays(sql["relation_mentions"])),
            communities=reader.rows(sql["communities"]),
            members=reader.rows(sql["community_members"]),
            sources=reader.rows(sql["community_sources"]),
        )


def _plain(columns: dict[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    return {name: np.ma.getdata(values) for name, values in columns.items()}


def graph_counts(db: Database) -> tuple[int, int, int]:
    """How many entities, relations and communities there are. Raises StoreError."""
    with db.reader() as reader:
        entities, relations, communities = reader.rows(statements("entities")["counts"])[0]
    return int(entities), int(relations), int(communities)


def stored_signals(db: Database, note_key: int) -> tuple[tuple[SignalRow, ...], dict[int, str]]:
    """What the stored chunks and links of a note say, and its chunks: key -> id, in order. Raises StoreError.

    Left out is what only the note's properties and tags say: title, aliases, tags.
    """
    with db.reader() as reader:
        found = signals_in(reader, note_key)
        chunks = chunks_in(reader, note_key)
    of_note = ("title", "alias", "tag")
    return tuple(row for row in found if row.signal.kind not in of_note), chunks


def signals_in(reader: Reader, note_key: int) -> tuple[SignalRow, ...]:
    """All signals of a note."""
    rows = reader.rows(statements("entities")["note_signals"], [note_key])
    return tuple(SignalRow(row[0], Signal(row[2], row[3], row[1], row[4], -1, row[5])) for row in rows)


def chunks_in(reader: Reader, note_key: int) -> dict[int, str]:
    """The chunks of a note, key -> id, in their order."""
    return dict(reader.rows(statements("entities")["note_chunks"], [note_key]))
