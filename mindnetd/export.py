"""The way back out: the vault, or one note of it, as a tar of byte-identical files or in a form for other tools.

Everything comes from one revision of the database, is read in slices, and is written in the order of paths, so that the
same content gives the same bytes. The manifest is the last member: an archive that ends too early has none. Not for:
sending (``serving``) and unpacking (``client/export.py``).
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

from mindnetd import __version__
from mindnetd.core import graphml
from mindnetd.core.records import Edge
from mindnetd.errors import NotFound
from mindnetd.store.db import Database
from mindnetd.store.read_export import PARQUET, ExportChunk, ExportEnd, ExportNote, ExportView, Slice, open_export
from mindnetd.tarball import Growing, Shelf, TarWriter
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
    spare: Path
    """A folder on a disk with room: what is read waits there to be written in order, and leaves nothing."""
    check: Callable[[], None] = lambda: None
    """Called between slices; raises when nobody waits any more."""


def write_export(source: Source, wish: Wish, out: BinaryIO) -> None:
    """Write the tar into the seekable file `out`. Raises StoreError, NotFound, and what ``source.check`` raises."""
    tar = TarWriter(out)
    with ExitStack() as stack:
        shelves = _Shelves(*(stack.enter_context(Shelf(source.spare)) for _ in range(4)))
        with open_export(source.db, wish.key) as view:
            slices = view.slices()
            if wish.key is not None and not slices:
                raise NotFound("the note was deleted a moment ago")
            for part in slices:
                source.check()
                _gather(view, part, wish.format, shelves)
            _gather_edges(view.canvas_edges(), wish.format, shelves)
            ends = view.other_ends() if wish.format == "graphml" else iter(())
            if wish.format == "parquet":
                _write_parquet(source, view, wish, tar)
        _write_gathered(source, wish.format, shelves, ends, tar)
        _write_manifest(view, wish, shelves, tar)
    tar.close()


def name_on_disk(vault: Path, path: str) -> str:
    r"""The name of a vault path as ``os`` takes it.

    ``\xNN`` stands for a byte that is no UTF-8, unless a file is really called so: the vault knows.
    """
    name = disk_name(path)
    return path if name != path and os.path.lexists(vault / path) else name


# ------------------------------------------------------------------------------------------------------- what is read


@dataclass(frozen=True, slots=True)
class _Shelves:
    """What was read, to be written in another order: files or lines of the format, and lines of the manifest."""

    main: Shelf
    graph_edges: Shelf
    notes: Shelf
    edges: Shelf


def _gather(view: ExportView, part: Slice, format: Format, shelves: _Shelves) -> None:
    notes = {note.meta.key: note for note in view.notes(part)}
    edges: dict[int, list[Edge]] = {key: [] for key in notes}
    for owner, edge in view.edges(part):
        if owner in edges:
            edges[owner].append(edge)
    chunks = view.chunks(part) if format == "jsonl" else {}
    for key, note in notes.items():
        path = note.meta.path
        shelves.notes.put(path, _json(_identity(note)))
        if format == "jsonl":
            shelves.main.put(path, _json(_note_line(note, chunks.get(key, []), edges[key])) + b"\n")
        elif format == "graphml":
            shelves.main.put(path, _node(note).encode())
        _gather_edges(((path, edge) for edge in edges[key]), format, shelves)
    if format == "md":
        for file in view.files(part):
            shelves.main.put(file.path, file.raw, file.mtime_ns)


def _gather_edges(edges: Iterable[tuple[str, Edge]], format: Format, shelves: _Shelves) -> None:
    for path, edge in edges:
        shelves.edges.put(path, _json(_edge_out(edge)))
        if format == "graphml":
            values = {name: getattr(edge, name) for name, _ in graphml.EDGE_KEYS}
            shelves.graph_edges.put(path, graphml.edge(edge.id, edge.src_id, edge.dst_id, values).encode())


# ------------------------------------------------------------------------------------------------------- the formats


def _write_gathered(
    source: Source, format: Format, shelves: _Shelves, ends: Iterator[ExportEnd], tar: TarWriter
) -> None:
    if format == "md":
        for path, raw, mtime_ns in shelves.main.take():
            tar.add(name_on_disk(source.vault, path), raw, mtime_ns)
    elif format == "jsonl":
        with tar.grow("notes.jsonl") as member:
            for _, line, _ in shelves.main.take():
                member.write(line)
    elif format == "graphml":
        with tar.grow("graph.graphml") as member:
            _write_graphml(shelves, ends, member)


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


def _write_graphml(shelves: _Shelves, ends: Iterator[ExportEnd], member: Growing) -> None:
    member.write(graphml.head().encode())
    for _, node, _ in shelves.main.take():
        member.write(node)
    for end in ends:
        values = {"label": end.label.rpartition("/")[2] or end.label, "kind": end.kind, "path": end.label}
        member.write(graphml.node(end.id, values).encode())
    for _, edge, _ in shelves.graph_edges.take():
        member.write(edge)
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


def _write_manifest(view: ExportView, wish: Wish, shelves: _Shelves, tar: TarWriter) -> None:
    """What was exported: one JSON object, a note or an edge a line, so that it can be read without holding it all.

    The other formats have their edges themselves.
    """
    listed = {"notes": shelves.notes} | ({"edges": shelves.edges} if wish.format == "md" else {})
    head = {
        "manifest": "mindnet-export",
        "version": MANIFEST_VERSION,
        "mindnetd": __version__,
        "format": wish.format,
        "vault": view.vault_id,
        "revision": view.revision,
        "counts": {"notes": len(shelves.notes), "edges": len(shelves.edges)},
        "files": [asdict(member) for member in tar.members],
    }
    with tar.grow(MANIFEST) as member:
        member.write(_json(head)[:-1])
        for name, shelf in listed.items():
            lines = (line for _, line, _ in shelf.take())
            member.write(f', "{name}": [\n'.encode() + next(lines, b""))
            for line in lines:
                member.write(b",\n" + line)
            member.write(b"\n]")
        member.write(b"}\n")


def _edge_out(edge: Edge) -> dict[str, Any]:
    """An edge under the names of the API."""
    out = asdict(edge)
    return {"id": out.pop("id"), "src": out.pop("src_id"), "dst": out.pop("dst_id"), **out}


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
