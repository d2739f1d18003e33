"""Signals, and the entity graph, out of the store."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mindnetd.core.entity_records import CorpusNote, CorpusSignal
from mindnetd.core.records import Signal
from mindnetd.store.bulk import word_list
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


@dataclass(frozen=True, slots=True)
class CorpusChunk:
    """Where a chunk stands."""

    key: int
    id: str
    note: int
    start_line: int


@dataclass(frozen=True, slots=True)
class CorpusEdge:
    """An edge between two notes, or to a missing one."""

    owner: int
    src_id: str
    dst_id: str
    dst_kind: str
    dst_label: str
    relation: str
    source: str
    weight: float
    occurrences: int
    line: int | None


@dataclass(frozen=True, slots=True)
class CorpusRows:
    """What the corpus-wide stage is made from, in one revision. ``answers``: (note key, target) -> note id or ""."""

    revision: int
    fingerprint: str
    """A hash of all of it, without keys: equal vaults have equal ones."""
    notes: list[CorpusNote]
    chunks: list[CorpusChunk]
    signals: list[CorpusSignal]
    answers: dict[tuple[int, str], str]
    edges: list[CorpusEdge]


def load_corpus(db: Database) -> CorpusRows:
    """Everything that the stage reads, but the lower-case words (`lower_counts`). Raises StoreError."""
    sql = statements("entities")
    with db.reader() as reader:
        return CorpusRows(
            revision=reader.revision(),
            fingerprint=str(reader.rows(sql["corpus_fingerprint"])[0]),
            notes=[CorpusNote(*row) for row in reader.rows(sql["corpus_notes"])],
            chunks=[CorpusChunk(*row) for row in reader.rows(sql["corpus_chunks"])],
            signals=[CorpusSignal(*row) for row in reader.rows(sql["corpus_signals"])],
            answers={(row[0], row[1]): row[3] or "" for row in reader.rows(sql["corpus_links"])},
            edges=[CorpusEdge(*row) for row in reader.rows(sql["corpus_edges"])],
        )


def lower_counts(db: Database, words: Collection[str]) -> dict[str, int]:
    """How often each of `words` (folded) stands in lower case in a body; those that never do are left out."""
    if not words:
        return {}
    with db.reader() as reader:
        return dict(reader.rows(statements("entities")["lower_words"], [word_list(sorted(words))]))


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


@dataclass(frozen=True, slots=True)
class NoteSignals:
    """The signals of one note, with all that is needed to tell what they mean."""

    id: str
    signals: tuple[SignalRow, ...]
    chunks: dict[int, str]
    answers: dict[str, str | None]


def note_signals(db: Database, note_key: int) -> NoteSignals | None:
    """All of a note; None where there is none with this key. Raises StoreError."""
    with db.reader() as reader:
        found = reader.rows("SELECT id::VARCHAR FROM notes WHERE key = ?", [note_key])
        if not found:
            return None
        links = reader.rows(statements("entities")["note_links"], [note_key])
        return NoteSignals(
            found[0][0],
            signals_in(reader, note_key),
            chunks_in(reader, note_key),
            {target: note_id or "" for target, note_id in links},
        )


def signals_in(reader: Reader, note_key: int) -> tuple[SignalRow, ...]:
    """All signals of a note."""
    rows = reader.rows(statements("entities")["note_signals"], [note_key])
    return tuple(SignalRow(row[0], Signal(row[2], row[3], row[1], row[4], -1, row[5])) for row in rows)


def chunks_in(reader: Reader, note_key: int) -> dict[int, str]:
    """The chunks of a note, key -> id, in their order."""
    return dict(reader.rows(statements("entities")["note_chunks"], [note_key]))
