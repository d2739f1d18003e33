"""Files, notes, chunks, passages and canvases into their tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import duckdb

from mindnetd.core.records import Passage, VaultFile
from mindnetd.store.bulk import insert
from mindnetd.store.records import CanvasRows, NoteRows


def insert_files(con: duckdb.DuckDBPyConnection, files: Sequence[VaultFile]) -> None:
    """The files of the vault as last seen."""
    insert(
        con,
        "files",
        {
            "path": [file.path for file in files],
            "kind": [file.kind for file in files],
            "size": [file.stat.size for file in files],
            "mtime_ns": [file.stat.mtime_ns for file in files],
            "ctime_ns": [file.stat.ctime_ns for file in files],
            "inode": [file.stat.inode for file in files],
        },
    )


_NOTE_FIELDS = (
    *("id", "note_id", "path", "title", "h1", "type", "status", "visibility", "lang", "created", "modified"),
    *("body_hash", "frontmatter_hash", "full_hash", "raw_hash", "hash_mode", "key", "stale", "mtime_ns"),
)
_NOTE_LISTS = ("aliases", "tags", "flags")


def insert_notes(con: duckdb.DuckDBPyConnection, notes: Sequence[NoteRows], runs: Mapping[int, str]) -> None:
    """The notes; `runs` are their run ids by key."""
    metas = [rows.meta for rows in notes]
    insert(
        con,
        "notes",
        {
            **{name: [getattr(meta, name) for meta in metas] for name in _NOTE_FIELDS},
            **{name: [_json(getattr(meta, name)) for meta in metas] for name in _NOTE_LISTS},
            "frontmatter": [meta.frontmatter_json for meta in metas],
            "size": [len(rows.raw) for rows in notes],
            "import_run_id": [runs.get(meta.key, "") for meta in metas],
            "raw": [rows.raw for rows in notes],
        },
    )


def _json(values: Sequence[str]) -> str:
    return json.dumps(values, ensure_ascii=False) if values else "[]"


def insert_chunks(con: duckdb.DuckDBPyConnection, notes: Sequence[NoteRows]) -> None:
    """The chunks of the notes."""
    pairs = [(rows, row) for rows in notes for row in rows.chunks]
    chunks = [row.chunk for _, row in pairs]
    insert(
        con,
        "chunks",
        {
            "key": [row.key for _, row in pairs],
            "id": [row.id for _, row in pairs],
            "note": [rows.meta.id for rows, _ in pairs],
            "note_key": [rows.meta.key for rows, _ in pairs],
            "chunk_idx": [chunk.idx for chunk in chunks],
            "chunk_profile": [chunk.profile for chunk in chunks],
            "section": [_json(chunk.section) for chunk in chunks],
            "text": [chunk.text for chunk in chunks],
            "overlap_left": [chunk.overlap_left for chunk in chunks],
            "overlap_right": [chunk.overlap_right for chunk in chunks],
            "tokens": [chunk.tokens for chunk in chunks],
            "start_offset": [chunk.start for chunk in chunks],
            "end_offset": [chunk.end for chunk in chunks],
            "start_line": [chunk.start_line for chunk in chunks],
            "end_line": [chunk.end_line for chunk in chunks],
            "content_hash": [chunk.content_hash for chunk in chunks],
            "retriever_weight": [rows.retriever_weight for rows, _ in pairs],
            "time_weight_override": [rows.time_weight_override for rows, _ in pairs],
            "import_run_id": [rows.run_id or "" for rows, _ in pairs],
        },
    )


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
            "idx": [row[1] for row in found],
            "owner": [row[2] for row in found],
            "note_key": [row[3] for row in found],
            "start_offset": [passage.start for passage in passages],
            "end_offset": [passage.end for passage in passages],
            "tokens": [passage.tokens for passage in passages],
            "text_hash": [passage.text_hash for passage in passages],
        },
    )


def insert_canvases(con: duckdb.DuckDBPyConnection, canvases: Sequence[CanvasRows]) -> None:
    """The canvases; their links and edges go with those of the notes."""
    insert(
        con,
        "canvases",
        {
            "key": [row.key for row in canvases],
            "id": [row.id for row in canvases],
            "path": [row.path for row in canvases],
            "raw_hash": [row.raw_hash for row in canvases],
        },
    )
