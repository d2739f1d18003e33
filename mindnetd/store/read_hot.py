"""What the daemon loads at start: columns for the hot index, files, links. No note is read again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from mindnetd.core.analyze import FIELDS
from mindnetd.core.overrides import NAMES, overrides_of
from mindnetd.core.records import FileStat, NoteMeta, VaultFile
from mindnetd.store.bulk import key_list, word_list
from mindnetd.store.db import Database, Reader, Row
from mindnetd.store.records import HotColumns, StoredCanvas, Vectors
from mindnetd.store.sqltext import statements
from mindnetd.store.write_vectors import table_of

_VECTOR_ROWS = 4096


def load_hot(db: Database, fingerprint: str, dim: int) -> HotColumns:
    """Everything the hot index needs, in one revision; vectors of `fingerprint` only. Raises StoreError."""
    with db.reader() as reader:
        terms = _terms(reader)
        posting = _by_document(reader.arrays("SELECT doc, term, field, tf FROM postings"))
        docs = reader.arrays(f"SELECT doc, note_key, {', '.join(FIELDS)} FROM lengths ORDER BY doc")
        passages = reader.arrays(statements("read")["hot_passages"])
        hashes, matrix = _vectors(reader, fingerprint, dim)
        return HotColumns(
            revision=reader.revision(),
            notes=load_notes(reader),
            terms=terms,
            posting_doc=posting["doc"],
            posting_term=posting["term"],
            posting_field=posting["field"],
            posting_tf=posting["tf"],
            doc_key=plain(docs["doc"]),
            doc_note=plain(docs["note_key"]),
            doc_lengths=np.stack([plain(docs[name]) for name in FIELDS], axis=1),
            passage_owner=plain(passages["owner"]),
            passage_note=plain(passages["note_key"]),
            passage_is_title=plain(passages["is_title"]),
            passage_hash=hash_rows(passages["text_hash"]),
            vector_hash=hashes,
            matrix=matrix,
            edges=reader.arrays(statements("read")["note_edges"]),
        )


def plain(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A column without NULLs as a plain array: DuckDB hands out masked arrays when it likes."""
    return np.ascontiguousarray(np.ma.getdata(values))


def _by_document(posting: dict[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """Postings ordered by document: as a rule they are, since keys ascend; a sort by DuckDB would cost 20 ms."""
    columns = {name: plain(values) for name, values in posting.items()}
    if (np.diff(columns["doc"]) < 0).any():
        order = np.argsort(columns["doc"], kind="stable")
        columns = {name: values[order] for name, values in columns.items()}
    return columns


def hash_rows(texts: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """SHA-256 hex texts (n) as bytes: uint8 ``(n, 32)``."""
    return np.frombuffer(bytes.fromhex("".join(texts.tolist())), dtype=np.uint8).reshape(-1, 32)


def _terms(reader: Reader) -> list[str]:
    found = reader.arrays("SELECT id, term FROM terms")
    ids = plain(found["id"])
    terms = [""] * (int(ids.max()) + 1 if len(ids) else 0)
    for number, term in zip(ids.tolist(), found["term"].tolist(), strict=True):
        terms[number] = term
    return terms


def _vectors(reader: Reader, fingerprint: str, dim: int) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float32]]:
    """Vectors that some passage needs: bytes of the text hash ``(m, 32)``, float32 ``(m, dim)``, rows in step."""
    table = existing_table(reader, dim)
    if table is None:
        return np.zeros((0, 32), dtype=np.uint8), np.zeros((0, dim), dtype=np.float32)
    places = reader.arrays(statements("read")["vector_places"].format(table=table), [fingerprint])
    row_ids, wanted = plain(places["place"]), plain(places["wanted"])
    matrix = np.empty((int(wanted.sum()), dim), dtype=np.float32)
    filled = 0
    for start in range(0, len(row_ids), _VECTOR_ROWS):
        part = row_ids[start : start + _VECTOR_ROWS]
        mask = wanted[start : start + _VECTOR_ROWS]
        if mask.any():
            rows = _unnested(reader, table, f"rowid BETWEEN {part[0]} AND {part[-1]}", dim)[mask]
            matrix[filled : filled + len(rows)] = rows
            filled += len(rows)
    return hash_rows(places["text_hash"][wanted]), matrix


def _unnested(reader: Reader, table: str, where: str, dim: int) -> npt.NDArray[np.float32]:
    """The vectors `where`, in row order, flat by ``unnest``: a tenth of the memory of an array of arrays."""
    found = reader.arrays(f"SELECT unnest(embedding) AS x FROM {table} WHERE {where}")
    return plain(found["x"]).reshape(-1, dim)


def existing_table(reader: Reader, dim: int) -> str | None:
    """The table with vectors of `dim` numbers, or None where there is none yet."""
    name = table_of(dim)
    found = reader.rows("SELECT count(*) FROM duckdb_tables() WHERE table_name = ?", [name])
    return name if found[0][0] else None


def load_vectors(db: Database, hashes: Sequence[str], fingerprint: str, dim: int) -> Vectors:
    """Those of `hashes` (SHA-256 hex) that have a vector of this model: a text that came back is not embedded again."""
    with db.reader() as reader:
        table = existing_table(reader, dim)
        found: list[Row] = []
        if table is not None and hashes:
            found = reader.rows(statements("read")["vectors_of"].format(table=table), [fingerprint, word_list(hashes)])
        places = np.array([place for place, _ in found], dtype=np.int64)
        matrix = np.empty((len(found), dim), dtype=np.float32)
        for start in range(0, len(found), _VECTOR_ROWS):
            part = places[start : start + _VECTOR_ROWS].tolist()
            where = f"rowid IN ({key_list(part)})"
            matrix[start : start + len(part)] = _unnested(reader, str(table), where, dim)
    return Vectors(fingerprint, tuple(text_hash for _, text_hash in found), matrix)


# ------------------------------------------------------------------------------------------------------- notes

META_COLUMNS = (
    "key, id::VARCHAR, note_id, path, title, h1, aliases, tags, type, status, visibility, flags, lang, created, "
    "modified, mtime_ns, raw_hash, body_hash, frontmatter_hash, full_hash, hash_mode, stale, frontmatter"
)


def note_meta(row: Row) -> NoteMeta:
    """A row of META_COLUMNS as a NoteMeta."""
    values = list(row)
    for place in (6, 7, 11):  # aliases, tags, flags
        values[place] = _texts_of(values[place])
    frontmatter = values[-1]
    folded = frontmatter.casefold()
    if any(name in folded for name in NAMES):  # few notes say one: the others are not parsed
        found = overrides_of(json.loads(frontmatter))
        values += [found.retriever_weight, found.relevance, found.time_weight_override]
    return NoteMeta(*values)


@lru_cache(maxsize=4096)
def _texts_of(array: str) -> tuple[str, ...]:
    """A JSON array of texts; notes with the same tags share one tuple."""
    return tuple(json.loads(array))


def load_notes(reader: Reader) -> tuple[NoteMeta, ...]:
    """All notes, by key."""
    return tuple(map(note_meta, reader.rows(f"SELECT {META_COLUMNS} FROM notes ORDER BY key")))


def load_files(db: Database) -> dict[str, VaultFile]:
    """Every file of the vault as last seen, by path."""
    with db.reader() as reader:
        rows = reader.rows("SELECT path, kind, size, mtime_ns, ctime_ns, inode FROM files")
    return {path: VaultFile(path, kind, FileStat(*stat)) for path, kind, *stat in rows}


def load_canvases(db: Database) -> tuple[StoredCanvas, ...]:
    """All canvases, by key."""
    with db.reader() as reader:
        return tuple(StoredCanvas(*row) for row in reader.rows(statements("read")["canvases"]))


def load_meta(db: Database) -> dict[str, str]:
    """The table ``meta``: stage versions, chosen back end, ``reindex_wanted``..."""
    with db.reader() as reader:
        return dict(reader.rows("SELECT key, value FROM meta"))
