"""Signals, and the entity graph, out of the store."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mindnetd.core.audiences import Audiences, NoteSight, audiences_from
from mindnetd.core.entity_records import CorpusNote, CorpusSignal
from mindnetd.core.records import NoteMeta, Signal
from mindnetd.store.bulk import key_list, word_list
from mindnetd.store.db import Database, Reader, Row
from mindnetd.store.read_hot import META_COLUMNS, note_meta
from mindnetd.store.records import SignalRow
from mindnetd.store.sqltext import statements

MENTION_COLUMNS = ("entity", "chunk_id", "chunk_key", "note_key", "count")
SUPPORT_COLUMNS = ("relation", "chunk_key", "note_key")


@dataclass(frozen=True, slots=True)
class EntityColumns:
    """The graph of one audience as the tables have it; the columns are those of ``sql/entities.sql``."""

    entities: list[Row]
    aliases: list[Row]
    mentions: dict[str, npt.NDArray[Any]]
    spellings: list[Row]
    relations: list[Row]
    relation_mentions: dict[str, npt.NDArray[Any]]
    communities: list[Row]
    members: list[Row]
    sources: list[Row]


@dataclass(frozen=True, slots=True)
class StoredGraphs:
    """All graphs of one revision, by the name of their audience."""

    revision: int
    built_at: str | None
    audiences: Audiences
    columns: Mapping[str, EntityColumns]


def load_entities(db: Database) -> StoredGraphs:
    """Everything that the resident graphs are made of. Raises StoreError."""
    sql = statements("entities")
    tables = ("entities", "aliases", "spellings", "relations", "communities", "community_members", "community_sources")
    with db.reader() as reader:
        meta: dict[str, str] = dict(reader.rows("SELECT key, value FROM meta WHERE starts_with(key, 'corpus_')"))
        audiences = audiences_from(meta.get("corpus_audiences"))
        share = _Shared(reader)
        rows = {table: _by_audience(share.rows(sql[table])) for table in tables}
        columns = {
            name: EntityColumns(
                entities=rows["entities"].get(name, []),
                aliases=rows["aliases"].get(name, []),
                mentions=share.columns(sql["mentions"], MENTION_COLUMNS, name),
                spellings=rows["spellings"].get(name, []),
                relations=rows["relations"].get(name, []),
                relation_mentions=share.columns(sql["relation_mentions"], SUPPORT_COLUMNS, name),
                communities=rows["communities"].get(name, []),
                members=rows["community_members"].get(name, []),
                sources=rows["community_sources"].get(name, []),
            )
            for name in dict.fromkeys(audiences.names.values())
        }
        return StoredGraphs(reader.revision(), meta.get("corpus_built"), audiences, columns)


def _by_audience(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """The rows without their first column, by it."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row[0], []).append(row[1:])
    return found


class _Shared:
    """Rows in which equal texts are one object: of 135,000 signals, or mentions, few are the first of their name."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._seen: dict[str, str] = {}

    def rows(self, sql: str, values: Sequence[object] = ()) -> Iterator[Row]:
        """The rows of a statement."""
        share = self._seen.setdefault
        for part in self._reader.slices(sql, values):
            for row in part:
                yield tuple([share(value, value) if type(value) is str else value for value in row])

    def columns(self, sql: str, names: Sequence[str], audience: str) -> dict[str, npt.NDArray[Any]]:
        """The same by column, for one audience: texts as an array of objects, numbers as int64."""
        found: list[list[Any]] = [[] for _ in names]
        for row in self.rows(sql, [audience]):
            for values, value in zip(found, row, strict=True):
                values.append(value)
        kinds = [object if values and type(values[0]) is str else np.int64 for values in found]
        return {name: np.array(values, dtype=kind) for name, values, kind in zip(names, found, kinds, strict=True)}


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
    sights: list[NoteSight]
    """Who may see which note."""
    notes: list[CorpusNote]
    chunks: list[CorpusChunk]
    signals: list[CorpusSignal]
    answers: dict[tuple[int, str], str]
    edges: list[CorpusEdge]


def load_corpus(db: Database) -> CorpusRows:
    """Everything that the stage reads, but the lower-case words (`lower_counts`). Raises StoreError."""
    sql = statements("entities")
    with db.reader() as reader:
        share = _Shared(reader)
        return CorpusRows(
            revision=reader.revision(),
            fingerprint=str(reader.rows(sql["corpus_fingerprint"])[0]),
            sights=[
                NoteSight(key, level, tuple(json.loads(flags)))
                for key, level, flags in reader.rows(sql["corpus_sights"])
            ],
            notes=[CorpusNote(*row) for row in reader.rows(sql["corpus_notes"])],
            chunks=[CorpusChunk(*row) for row in share.rows(sql["corpus_chunks"])],
            signals=[CorpusSignal(*row) for row in share.rows(sql["corpus_signals"])],
            answers={(row[0], row[1]): row[3] or "" for row in share.rows(sql["corpus_links"])},
            edges=[CorpusEdge(*row) for row in share.rows(sql["corpus_edges"])],
        )


LowerCounts = list[tuple[str, str, tuple[str, ...], int]]
"""(word, visibility, flags, how often): by who may see the notes that say it."""


def lower_counts(db: Database, words: Collection[str]) -> LowerCounts:
    """How often each of `words` (folded) stands in lower case in a body; those that never do are left out."""
    if not words:
        return []
    with db.reader() as reader:
        rows = reader.rows(statements("entities")["lower_words"], [word_list(sorted(words))])
    return [(word, level, tuple(json.loads(flags)), count) for word, level, flags, count in rows]


def metas_of(db: Database, keys: Collection[int]) -> list[NoteMeta]:
    """The notes with these keys. Raises StoreError."""
    with db.reader() as reader:
        sql = f"SELECT {META_COLUMNS} FROM notes WHERE key IN ({key_list(sorted(keys))}) ORDER BY key"
        return [note_meta(row) for row in reader.rows(sql)] if keys else []


def graph_counts(db: Database) -> tuple[int, int, int]:
    """Entities, relations and communities of who asks for nothing but the default. Raises StoreError."""
    with db.reader() as reader:
        found = reader.rows("SELECT value FROM meta WHERE key = 'corpus_audiences'")
        names = audiences_from(found[0][0] if found else None).names
        main = next(iter(names.values()), "")
        entities, relations, communities = reader.rows(statements("entities")["counts"], [main])[0]
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
    visibility: str
    flags: tuple[str, ...]
    signals: tuple[SignalRow, ...]
    chunks: dict[int, str]
    answers: dict[str, str | None]


def note_signals(db: Database, note_key: int) -> NoteSignals | None:
    """All of a note; None where there is none with this key. Raises StoreError."""
    with db.reader() as reader:
        found = reader.rows("SELECT id::VARCHAR, visibility::VARCHAR, flags FROM notes WHERE key = ?", [note_key])
        if not found:
            return None
        links = reader.rows(statements("entities")["note_links"], [note_key])
        return NoteSignals(
            found[0][0],
            found[0][1],
            tuple(json.loads(found[0][2])),
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
