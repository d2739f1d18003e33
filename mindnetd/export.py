"""The way back out: the vault, or one note of it, as a tar of byte-identical files or in a form for other tools.

Everything comes from one revision of the database, in slices, ordered by path, so that the same content gives the same
bytes. The manifest is the last member: an archive that ends too early has none. Not for: sending (``serving``) and
unpacking (``client/export.py``).
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

from mindnetd import __version__
from mindnetd.core import graphml
from mindnetd.core.records import Edge
from mindnetd.errors import NotFound
from mindnetd.store.db import Database
from mindnetd.store.read_export import PARQUET, ExportChunk, ExportNote, ExportView, open_export
from mindnetd.tarball import TarWriter
from mindnetd.watching.vaultio import disk_name

Format = Literal["md", "jsonl", "graphml", "parquet"]
MANIFEST = ".mindnet-export.json"
"""A dot file: an index of the exported folder does not see it, and no note can have its name."""
MANIFEST_VERSION = 1
NOTE_FIELDS = (
    "title", "h1", "aliases", "tags", "type", "status", "visibility", "flags", "lang", "created", "hash_mode", "stale",
)  # fmt: skip
PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Wish:
    """What is wanted. ``key`` None: every note. ``fingerprint`` and ``dim`` say which model's vectors count."""

    format: Format = "md"
    key: int | None = None
    fingerprint: str = ""
    dim: int = 0


@dataclass(frozen=True, slots=True)
class Source:
    """Where it comes from. ``vault`` is looked at only for names that could be spelled in two ways."""

    db: Database
    vault: Path
    check: Callable[[], None] = lambda: None
    """Called between slices; raises when nobody waits any more."""


def write_export(source: Source, wish: Wish, out: BinaryIO) -> None:
    """Write the tar into the seekable file `out`. Raises StoreError, NotFound, and what ``source.check`` raises."""
    tar = TarWriter(out)
    with open_export(source.db, wish.key) as view:
        if wish.key is not None and not view.slices():
            raise NotFound("the note was deleted a moment ago")
        if wish.format == "md":
            _write_notes(source, view, tar)
        elif wish.format == "jsonl":
            _write_jsonl(source, view, tar)
        elif wish.format == "graphml":
            _write_graphml(source, view, tar)
        else:
            _write_parquet(source, view, wish, tar)
        _write_manifest(source, view, wish, tar)
    tar.close()


def name_on_disk(vault: Path, path: str) -> str:
    r"""The name of a vault path as ``os`` takes it.

    ``\xNN`` stands for a byte that is no UTF-8, unless a file is really called so: the vault knows.
    """
    name = disk_name(path)
    return path if name != path and os.path.lexists(vault / path) else name


# ------------------------------------------------------------------------------------------------------- the formats


def _write_notes(source: Source, view: ExportView, tar: TarWriter) -> None:
    for part in view.slices():
        source.check()
        for file in view.files(part):
            tar.add(name_on_disk(source.vault, file.path), file.raw, file.mtime_ns)


def _write_jsonl(source: Source, view: ExportView, tar: TarWriter) -> None:
    with tar.grow("notes.jsonl") as member:
        for part in view.slices():
            source.check()
            chunks, edges = view.chunks(part), _by_owner(view.edges(part))
            for note in view.notes(part):
                key = note.meta.key
                line = _note_line(note, chunks.get(key, []), edges.get(key, []))
                member.write(_json(line) + b"\n")


def _note_line(note: ExportNote, chunks: list[ExportChunk], edges: list[Edge]) -> dict[str, Any]:
    meta = note.meta
    return {
        **{name: getattr(meta, name) for name in NOTE_FIELDS},
        **_identity(note),
        "frontmatter": json.loads(meta.frontmatter_json),
        "chunks": [_chunk_out(chunk) for chunk in chunks],
        "edges": [_edge_out(edge) for edge in edges],
    }


def _chunk_out(chunk: ExportChunk) -> dict[str, Any]:
    out = asdict(chunk)
    del out["note_key"]
    return {**out, "section": json.loads(chunk.section)}


def _identity(note: ExportNote) -> dict[str, Any]:
    """What the manifest says of a note."""
    meta = note.meta
    return {
        "path": meta.path,
        "id": meta.id,
        "note_id": meta.note_id,
        "sha256": meta.raw_hash,
        "hashes": {"body": meta.body_hash, "frontmatter": meta.frontmatter_hash, "full": meta.full_hash},
        "size": note.size,
        "modified": meta.modified,
    }


def _write_graphml(source: Source, view: ExportView, tar: TarWriter) -> None:
    seen: set[str] = set()
    with tar.grow("graph.graphml") as member:
        member.write(graphml.head().encode())
        for part in view.slices():
            source.check()
            for note in view.notes(part):
                if note.meta.id not in seen:  # two paths that differ in composition only have one id
                    seen.add(note.meta.id)
                    member.write(_node(note).encode())
        for end in view.other_ends():
            values = {"label": end.label.rpartition("/")[2] or end.label, "kind": end.kind, "path": end.label}
            member.write(graphml.node(end.id, values).encode())
        for edge in _all_edges(source, view):
            values = {name: getattr(edge, name) for name, _ in graphml.EDGE_KEYS}
            member.write(graphml.edge(edge.id, edge.src_id, edge.dst_id, values).encode())
        member.write(graphml.TAIL.encode())


def _node(note: ExportNote) -> str:
    meta = note.meta
    own = {name: getattr(meta, name) for name, _ in graphml.NODE_KEYS if hasattr(meta, name)}
    own |= {"label": meta.title, "kind": "note", "size": note.size, "tags": " ".join(meta.tags)}
    return graphml.node(meta.id, {name: own[name] for name, _ in graphml.NODE_KEYS})


def _write_parquet(source: Source, view: ExportView, wish: Wish, tar: TarWriter) -> None:
    for table in PARQUET:
        source.check()
        with _spare_file(source.db) as file:
            if view.parquet(table, file, fingerprint=wish.fingerprint, dim=wish.dim):
                with file.open("rb") as made, tar.grow(f"{table}.parquet") as member:
                    while piece := made.read(PIECE):
                        member.write(piece)


@contextmanager
def _spare_file(db: Database) -> Iterator[Path]:
    """A name in the only folder that DuckDB may write to; the file is gone afterwards."""
    path = db.options.allowed_dir / f"export-{uuid.uuid4().hex}.parquet"
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


# ------------------------------------------------------------------------------------------------------ the manifest


def _write_manifest(source: Source, view: ExportView, wish: Wish, tar: TarWriter) -> None:
    """What was exported: a JSON object, a note or an edge a line."""
    files = [asdict(member) for member in tar.members]
    head = {
        "manifest": "mindnet-export",
        "version": MANIFEST_VERSION,
        "mindnetd": __version__,
        "format": wish.format,
        "vault": view.vault_id,
        "revision": view.revision,
        "files": files,
    }
    with tar.grow(MANIFEST) as member:
        member.write(_json(head)[:-1])
        counts = {"notes": 0, "edges": 0}
        for name, lines in (("notes", _manifest_notes(source, view)), ("edges", _all_edges(source, view))):
            member.write(f', "{name}": ['.encode())
            for line in lines:
                out = _edge_out(line) if isinstance(line, Edge) else line
                member.write((b",\n" if counts[name] else b"\n") + _json(out))
                counts[name] += 1
            member.write(b"]")
        member.write(b', "counts": ' + _json(counts) + b"}\n")


def _manifest_notes(source: Source, view: ExportView) -> Iterator[dict[str, Any]]:
    for part in view.slices():
        source.check()
        for note in view.notes(part):
            yield _identity(note)


def _all_edges(source: Source, view: ExportView) -> Iterator[Edge]:
    for part in view.slices():
        source.check()
        for _, edge in view.edges(part):
            yield edge
    for _, edge in view.canvas_edges():
        yield edge


def _by_owner(edges: Iterator[tuple[int, Edge]]) -> dict[int, list[Edge]]:
    found: dict[int, list[Edge]] = {}
    for owner, edge in edges:
        found.setdefault(owner, []).append(edge)
    return found


def _edge_out(edge: Edge) -> dict[str, Any]:
    """An edge under the names of the API."""
    out = asdict(edge)
    return {"id": out.pop("id"), "src": out.pop("src_id"), "dst": out.pop("dst_id"), **out}


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
