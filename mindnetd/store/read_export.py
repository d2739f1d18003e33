"""What an export is made of, all of it in one revision, in slices of bounded size.

Slices are ranges of keys and are cut by the bytes of their notes, so that memory does not depend on the size of the
vault (a list of keys and sizes aside).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NamedTuple

from mindnetd.core.records import Edge, NoteMeta
from mindnetd.store.db import Database, Reader, Row
from mindnetd.store.read_hot import META_COLUMNS, existing_table, note_meta
from mindnetd.store.sqltext import statements

SLICE_BYTES = 8 << 20
SLICE_NOTES = 4096
ROW_GROUP = 4096
"""Rows that a Parquet file buffers: 4,096 vectors are 6 MB, DuckDB's default of 122,880 exceeds its memory limit."""
PARQUET = ("notes", "chunks", "passages", "edges", "embeddings")
_IDS = {"id": "id", "src_id": "src", "dst_id": "dst"}
EDGE_COLUMNS = ", ".join(
    f"e.{name}::VARCHAR AS {_IDS[name]}" if name in _IDS else f"e.{name}" for name in (f.name for f in fields(Edge))
)
"""The columns of an `Edge`, in its order; ids are shown as the API calls them."""


class Slice(NamedTuple):
    """Notes from key ``first`` to key ``last``, both included."""

    first: int
    last: int


class NoteFile(NamedTuple):
    """A note as it was on disk: vault path, modification time (ns since the epoch), bytes."""

    path: str
    mtime_ns: int
    raw: bytes


@dataclass(frozen=True, slots=True)
class ExportNote:
    """A note's metadata and the bytes of its file."""

    meta: NoteMeta
    size: int


@dataclass(frozen=True, slots=True)
class ExportChunk:
    """A chunk as an export shows it; ``section`` is a JSON array."""

    note_key: int
    id: str
    idx: int
    section: str
    start_line: int
    end_line: int
    tokens: int
    text: str
    content_hash: str


@dataclass(frozen=True, slots=True)
class ExportEnd:
    """A node that edges lead to or start from."""

    id: str
    kind: str
    label: str


class ExportView:
    """Reads one revision; ``key`` is the one note that is wanted, or None for all. Methods raise StoreError."""

    def __init__(self, db: Database, reader: Reader, key: int | None) -> None:
        self._reader = reader
        self._key = key
        self.vault_id = db.vault_id
        self.revision = reader.revision()

    def slices(self) -> list[Slice]:
        """The ranges of keys to read one after the other; none where the wanted note is gone."""
        found: list[Slice] = []
        size = count = 0
        for key, note_size in self._reader.rows(_sql("order"), [self._key, self._key]):
            if not found or size + note_size > SLICE_BYTES or count >= SLICE_NOTES:
                found.append(Slice(key, key))
                size = count = 0
            found[-1] = Slice(found[-1].first, key)
            size, count = size + note_size, count + 1
        return found

    def files(self, part: Slice) -> Iterator[NoteFile]:
        """The files of a slice."""
        for path, mtime_ns, raw in self._reader.rows(_sql("files"), part):
            yield NoteFile(path, mtime_ns, bytes(raw))

    def notes(self, part: Slice) -> list[ExportNote]:
        """The metadata of a slice."""
        rows = self._reader.rows(_sql("notes").format(columns=META_COLUMNS), part)
        return [ExportNote(note_meta(row[1:]), row[0]) for row in rows]

    def chunks(self, part: Slice) -> dict[int, list[ExportChunk]]:
        """The chunks of a slice by the key of their note, in order."""
        return _by_first(ExportChunk(*row) for row in self._reader.rows(_sql("chunks"), part))

    def edges(self, part: Slice) -> Iterator[tuple[int, Edge]]:
        """The edges of a slice by key and id, each with its owner's key, which may be that of a canvas."""
        return map(_edge, self._reader.rows(_sql("edges").format(columns=EDGE_COLUMNS), part))

    def canvas_edges(self) -> Iterator[tuple[str, Edge]]:
        """The edges of canvases, each with its canvas' path; none where one note is wanted."""
        if self._key is not None:
            return iter(())
        rows = self._reader.rows(_sql("canvas_edges").format(columns=EDGE_COLUMNS))
        return ((row[0], Edge(*row[1:])) for row in rows)

    def other_ends(self) -> Iterator[ExportEnd]:
        """The ends of edges that are none of the wanted notes: files, URLs, names that no file answers to."""
        key = self._key
        return (ExportEnd(*row) for row in self._reader.rows(_sql("other_ends"), [key, key, key, key]))

    def parquet(self, table: str, to: Path, *, fingerprint: str = "", dim: int = 0) -> bool:
        """Write one of ``PARQUET`` to a new file inside the allowed folder; False where there is no such data."""
        which = "key IS NOT NULL" if self._key is None else f"key = {int(self._key)}"
        owner = "owner IS NOT NULL" if self._key is None else f"owner = {int(self._key)}"
        names = {"which": which, "owner": owner, "columns": EDGE_COLUMNS}
        if table == "embeddings":
            vectors = existing_table(self._reader, dim) if fingerprint else None
            if vectors is None:
                return False
            names |= {"table": vectors, "fingerprint": _quoted(fingerprint)}
        select = _sql(f"parquet_{table}").format(**names)
        self._reader.rows(f"COPY ({select}) TO {_quoted(str(to))} (FORMAT parquet, ROW_GROUP_SIZE {ROW_GROUP})")
        return True


@contextmanager
def open_export(db: Database, key: int | None = None) -> Iterator[ExportView]:
    """Everything of the vault, or of the note with this key, in one revision. Raises StoreError."""
    with db.reader() as reader:
        yield ExportView(db, reader, key)


def _sql(name: str) -> str:
    return statements("export")[name]


def _edge(row: Row) -> tuple[int, Edge]:
    return row[0], Edge(*row[1:])


def _by_first(chunks: Iterable[ExportChunk]) -> dict[int, list[ExportChunk]]:
    found: dict[int, list[ExportChunk]] = {}
    for chunk in chunks:
        found.setdefault(chunk.note_key, []).append(chunk)
    return found


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
