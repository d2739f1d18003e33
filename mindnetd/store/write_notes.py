"""Files, notes, chunks, passages and canvases into their tables."""

from __future__ import annotations

import json
from collections.abc import Sequence

import duckdb
import numpy as np

from mindnetd.core.records import Passage, VaultFile
from mindnetd.store.bulk import insert
from mindnetd.store.records import CanvasRows, NoteRows
from mindnetd.store.sqltext import statements


def insert_files(con: duckdb.DuckDBPyConnection, files: Sequence[VaultFile]) -> None:
    """The files of the vault as last seen."""
    insert(
        con,
        "files",
        {
            "path": [file.path for file in files],
            "kind": [file.kind for file in files],
            "size": np.array([file.stat.size for file in files], dtype=np.int64),
            "mtime_ns": np.array([file.stat.mtime_ns for file in files], dtype=np.int64),
            "ctime_ns": np.array([file.stat.ctime_ns for file in files], dtype=np.int64),
            "inode": np.array([file.stat.inode for file in files], dtype=np.uint64),
        },
    )


_NOTE_TEXTS = (
    *("id", "note_id", "path", "title", "h1", "type", "status", "visibility", "lang", "created", "modified"),
    *("body_hash", "frontmatter_hash", "full_hash", "raw_hash", "hash_mode"),
)
_NOTE_LISTS = ("aliases", "tags", "flags")


def insert_notes(con: duckdb.DuckDBPyConnection, notes: Sequence[NoteRows], runs: dict[int, str]) -> None:
    """The notes; `runs` are their run ids by key. Raw bytes go as parameters: as an array they would be objects."""
    if not notes:
        return
    metas = [rows.meta for rows in notes]
    con.execute(statements("write")["staging_notes"])
    insert(
        con,
        "staging_notes",
        {
            "key": np.array([meta.key for meta in metas], dtype=np.int32),
            **{name: [getattr(meta, name) for meta in metas] for name in _NOTE_TEXTS},
            **{name: [_json(getattr(meta, name)) for meta in metas] for name in _NOTE_LISTS},
            "stale": np.array([meta.stale for meta in metas]),
            "frontmatter": [meta.frontmatter_json for meta in metas],
            "size": np.array([len(rows.raw) for rows in notes], dtype=np.int64),
            "mtime_ns": np.array([meta.mtime_ns for meta in metas], dtype=np.int64),
            "import_run_id": [runs.get(meta.key, "") for meta in metas],
        },
    )
    marks = ", ".join("(?, ?)" for _ in notes)
    con.execute(
        statements("write")["notes_with_raw"].format(marks=marks),
        [value for rows in notes for value in (rows.meta.key, rows.raw)],
    )
    con.execute("DELETE FROM staging_notes")


def _json(values: Sequence[str]) -> str:
    return json.dumps(values, ensure_ascii=False)


def insert_chunks(con: duckdb.DuckDBPyConnection, notes: Sequence[NoteRows]) -> None:
    """The chunks of the notes."""
    pairs = [(rows, row) for rows in notes for row in rows.chunks]
    chunks = [row.chunk for _, row in pairs]
    insert(
        con,
        "chunks",
        {
            "key": np.array([row.key for _, row in pairs], dtype=np.int32),
            "id": [row.id for _, row in pairs],
            "note": [rows.meta.id for rows, _ in pairs],
            "note_key": np.array([rows.meta.key for rows, _ in pairs], dtype=np.int32),
            "chunk_idx": np.array([chunk.idx for chunk in chunks], dtype=np.int32),
            "chunk_profile": [chunk.profile for chunk in chunks],
            "section": [_json(chunk.section) for chunk in chunks],
            "text": [chunk.text for chunk in chunks],
            "overlap_left": [chunk.overlap_left for chunk in chunks],
            "overlap_right": [chunk.overlap_right for chunk in chunks],
            "tokens": np.array([chunk.tokens for chunk in chunks], dtype=np.int32),
            "start_offset": np.array([chunk.start for chunk in chunks], dtype=np.int32),
            "end_offset": np.array([chunk.end for chunk in chunks], dtype=np.int32),
            "start_line": np.array([chunk.start_line for chunk in chunks], dtype=np.int32),
            "end_line": np.array([chunk.end_line for chunk in chunks], dtype=np.int32),
            "content_hash": [chunk.content_hash for chunk in chunks],
            "retriever_weight": np.array([_or_null(rows.retriever_weight) for rows, _ in pairs]),
            "time_weight_override": np.array([_or_null(rows.time_weight_override) for rows, _ in pairs]),
            "import_run_id": [rows.run_id or "" for rows, _ in pairs],
        },
        nullable=("retriever_weight", "time_weight_override"),
    )


def _or_null(value: float | None) -> float:
    return -1.0 if value is None else value


def insert_passages(con: duckdb.DuckDBPyConnection, notes: Sequence[NoteRows]) -> None:
    """The passages of the notes, those of their titles too."""
    found: list[tuple[str, int, int, int, Passage]] = []
    for rows in notes:
        key = rows.meta.key
        if rows.title_passage is not None:
            found.append((rows.meta.id, -1, key, key, rows.title_passage))
        for row in rows.chunks:
            found += [(row.id, passage.idx, row.key, key, passage) for passage in row.chunk.passages]
    passages = [row[4] for row in found]
    insert(
        con,
        "passages",
        {
            "chunk_id": [row[0] for row in found],
            "idx": np.array([row[1] for row in found], dtype=np.int32),
            "owner": np.array([row[2] for row in found], dtype=np.int32),
            "note_key": np.array([row[3] for row in found], dtype=np.int32),
            "start_offset": np.array([passage.start for passage in passages], dtype=np.int32),
            "end_offset": np.array([passage.end for passage in passages], dtype=np.int32),
            "tokens": np.array([passage.tokens for passage in passages], dtype=np.int32),
            "text_hash": [passage.text_hash for passage in passages],
        },
    )


def insert_canvases(con: duckdb.DuckDBPyConnection, canvases: Sequence[CanvasRows]) -> None:
    """The canvases; their links and edges go with those of the notes."""
    insert(
        con,
        "canvases",
        {
            "key": np.array([row.key for row in canvases], dtype=np.int32),
            "id": [row.id for row in canvases],
            "path": [row.path for row in canvases],
            "raw_hash": [row.raw_hash for row in canvases],
        },
    )
