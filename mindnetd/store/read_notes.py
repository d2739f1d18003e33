"""Notes and texts: what a hit shows, what one note says, who links to it."""

from __future__ import annotations

import json
from collections.abc import Sequence

from mindnetd.core.records import Diagnostic, Link, ResolvedLink
from mindnetd.core.results import ChunkText
from mindnetd.errors import NotFound
from mindnetd.store.bulk import key_list, word_list
from mindnetd.store.db import Database, Reader, Row
from mindnetd.store.read_hot import META_COLUMNS, existing_table, note_meta
from mindnetd.store.records import Backlink, NoteDetail, StoredChunk
from mindnetd.store.sqltext import statements

_TEXT_COLUMNS = "key, id::VARCHAR, chunk_idx, section, start_line, end_line, text, overlap_left, overlap_right"
_LINK_COLUMNS = (
    "kind, raw, target, heading, block, display, line, property, in_comment, relation, resolved, ambiguous, by_id"
)


def texts(db: Database, keys: Sequence[int]) -> dict[int, ChunkText]:
    """The texts of chunks by key; a key that is no longer there is left out. Raises StoreError."""
    if not keys:
        return {}
    with db.reader() as reader:
        rows = reader.rows(f"SELECT {_TEXT_COLUMNS} FROM chunks WHERE key IN ({key_list(keys)})")
    return {row[0]: _chunk_text(row) for row in rows}


class StoreTexts:
    """The texts of hits, from the store (`core.results.TextSource`)."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def texts(self, keys: Sequence[int]) -> dict[int, ChunkText]:
        """Chunk key -> text; a chunk that was rewritten meanwhile is missing. Raises StoreError."""
        return texts(self._db, keys)


def _chunk_text(row: Row) -> ChunkText:
    key, chunk_id, idx, section, *rest = row
    return ChunkText(key, chunk_id, idx, tuple(json.loads(section)), *rest)


def _link(row: Row) -> ResolvedLink:
    *link, resolved, ambiguous, by_id = row
    return ResolvedLink(Link(*link), resolved, ambiguous, by_id)


def load_links(db: Database, keys: Sequence[int]) -> dict[int, tuple[ResolvedLink, ...]]:
    """The links of notes and canvases by key, in file order."""
    sql = f"SELECT owner, {_LINK_COLUMNS} FROM links WHERE owner IN ({key_list(keys)}) ORDER BY owner, ord"
    found: dict[int, list[ResolvedLink]] = {key: [] for key in keys}
    with db.reader() as reader:
        for owner, *row in reader.rows(sql):
            found[owner].append(_link(tuple(row)))
    return {key: tuple(links) for key, links in found.items()}


def load_link_names(db: Database) -> list[tuple[int, str]]:
    """All pairs of a note's or canvas' key and a name its links wait under, for the indexer's resident map."""
    with db.reader() as reader:
        return [(owner, name) for owner, name in reader.rows("SELECT owner, name FROM link_names ORDER BY owner")]


def doubtful_links(db: Database) -> set[int]:
    """Keys of the notes and canvases with a link whose answer may rest on a file that was seen and never read.

    That is a link to a file that is not stored, or one of several files that could be meant.
    """
    with db.reader() as reader:
        return {owner for (owner,) in reader.rows(statements("read")["doubtful_links"])}


def indexed_body(db: Database, key: int) -> str:
    """The body that the chunks of a note were made of: older than its bytes where the note is stale."""
    with db.reader() as reader:
        rows = reader.rows("SELECT text FROM chunks WHERE note_key = ? ORDER BY chunk_idx", [key])
    return "".join(text for (text,) in rows)


def backlinks(db: Database, path: str) -> tuple[Backlink, ...]:
    """Links that lead to the file at `path`, by path and place."""
    with db.reader() as reader:
        return _backlinks(reader, path)


def read_raw(db: Database, key: int) -> bytes:
    """The bytes of a note as on disk when it was read. Raises NotFound."""
    with db.reader() as reader:
        rows = reader.rows("SELECT raw FROM notes WHERE key = ?", [key])
    if not rows:
        raise NotFound(f"no note with key {key}")
    return bytes(rows[0][0])


def stored_note(db: Database, key: int) -> tuple[str, bool, bytes]:
    """Path, whether it is stale, and bytes of a note. Raises NotFound."""
    with db.reader() as reader:
        rows = reader.rows("SELECT path, stale, raw FROM notes WHERE key = ?", [key])
    if not rows:
        raise NotFound(f"no note with key {key}")
    path, stale, raw = rows[0]
    return path, stale, bytes(raw)


def passage_hashes(db: Database, keys: Sequence[int]) -> dict[int, tuple[tuple[int, int, str], ...]]:
    """For each note key its passages as ``(owner key, idx, text hash hex)``; the title passage has idx -1."""
    sql = (
        f"SELECT note_key, owner, idx, text_hash FROM passages WHERE note_key IN ({key_list(keys)}) ORDER BY owner, idx"
    )
    found: dict[int, list[tuple[int, int, str]]] = {key: [] for key in keys}
    with db.reader() as reader:
        for note_key, owner, idx, text_hash in reader.rows(sql):
            found[note_key].append((owner, idx, text_hash))
    return {key: tuple(rows) for key, rows in found.items()}


def note_detail(db: Database, key: int, fingerprint: str, dim: int) -> NoteDetail:
    """Everything about one note, in one revision. Raises NotFound and StoreError."""
    with db.reader() as reader:
        rows = reader.rows(f"SELECT import_run_id, {META_COLUMNS} FROM notes WHERE key = ?", [key])
        if not rows:
            raise NotFound(f"no note with key {key}")
        run_id, *meta_row = rows[0]
        meta = note_meta(tuple(meta_row))
        links = reader.rows(f"SELECT {_LINK_COLUMNS} FROM links WHERE owner = ? ORDER BY ord", [key])
        diagnostics = reader.rows(statements("read")["note_diagnostics"], [key])
        passages, embedded = _count_passages(reader, key, fingerprint, dim)
        return NoteDetail(
            meta=meta,
            links=tuple(map(_link, links)),
            backlinks=_backlinks(reader, meta.path),
            chunks=_chunks(reader, key),
            passages=passages,
            embedded=embedded,
            diagnostics=tuple(Diagnostic(*row) for row in diagnostics),
            run_id=run_id,
        )


def canvas_links(db: Database, key: int) -> tuple[tuple[ResolvedLink, ...], tuple[Diagnostic, ...]]:
    """Links and diagnostics of a canvas."""
    with db.reader() as reader:
        links = reader.rows(f"SELECT {_LINK_COLUMNS} FROM links WHERE owner = ? ORDER BY ord", [key])
        diagnostics = reader.rows(statements("read")["note_diagnostics"], [key])
    return tuple(map(_link, links)), tuple(Diagnostic(*row) for row in diagnostics)


def _count_passages(reader: Reader, key: int, fingerprint: str, dim: int) -> tuple[int, int]:
    hashes = [row[0] for row in reader.rows("SELECT text_hash FROM passages WHERE note_key = ?", [key])]
    table = existing_table(reader, dim)
    if table is None or not hashes:
        return len(hashes), 0
    have = {
        row[1]
        for row in reader.rows(statements("read")["vectors_of"].format(table=table), [fingerprint, word_list(hashes)])
    }
    return len(hashes), sum(text_hash in have for text_hash in hashes)


def _backlinks(reader: Reader, path: str) -> tuple[Backlink, ...]:
    return tuple(Backlink(*row) for row in reader.rows(statements("read")["backlinks"], [path]))


def _chunks(reader: Reader, key: int) -> tuple[StoredChunk, ...]:
    hashes: dict[int, list[str]] = {}
    for owner, text_hash in reader.rows(statements("read")["note_passages"], [key]):
        hashes.setdefault(owner, []).append(text_hash)
    sql = f"SELECT tokens, chunk_profile, start_offset, end_offset, content_hash, {_TEXT_COLUMNS} FROM chunks"
    rows = reader.rows(f"{sql} WHERE note_key = ? ORDER BY chunk_idx", [key])
    return tuple(_stored_chunk(row, hashes.get(row[5], [])) for row in rows)


def _stored_chunk(row: Row, hashes: list[str]) -> StoredChunk:
    tokens, profile, start, end, content_hash, *text = row
    return StoredChunk(_chunk_text(tuple(text)), tokens, profile, start, end, content_hash, tuple(hashes))
