"""Rows for the tests of the store: small real notes without the parser, and a database in a temporary folder."""

from __future__ import annotations

import hashlib
import re
import uuid
from collections import Counter
from pathlib import Path

import numpy as np

from mindnetd.core.analyze import FIELDS
from mindnetd.core.records import (
    Chunk,
    Diagnostic,
    Edge,
    FileStat,
    Link,
    NoteMeta,
    Passage,
    ResolvedLink,
    TermCounts,
    VaultFile,
)
from mindnetd.store.db import Database, open_database
from mindnetd.store.records import Batch, CanvasRows, ChunkRow, DocRow, NoteRows, Vectors

DIM = 384
FINGERPRINT = "test-model"


def open_store(folder: Path, name: str = "v.duckdb") -> Database:
    """A database in `folder`, made if missing."""
    return open_database(folder / name, memory_limit="192MB", threads=2, allowed_dir=folder / "work")


def uid(text: str) -> str:
    """A stable id for a text."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, text))


def sha(text: str) -> str:
    """SHA-256 hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def terms(title: str, body: str) -> TermCounts:
    """Words of title and body, counted."""
    fields = {"title": re.findall(r"\w+", title.lower()), "body": re.findall(r"\w+", body.lower())}
    counts = {name: Counter(words) for name, words in fields.items()}
    return TermCounts(counts, {name: len(fields.get(name, ())) for name in FIELDS})


def passage(text: str, idx: int = 0) -> Passage:
    """A passage of `text`."""
    return Passage(idx, 0, len(text), text, sha(text), len(text.split()))


def meta(key: int, path: str, text: str, **changes: object) -> NoteMeta:
    """What the store keeps of a note at `path` with body `text`."""
    title = path.rpartition("/")[2].removesuffix(".md")
    values: dict[str, object] = {
        "key": key,
        "id": uid(path),
        "note_id": None,
        "path": path,
        "title": title,
        "h1": None,
        "aliases": (),
        "tags": ("a", "a/b"),
        "type": None,
        "status": "active",
        "visibility": "internal",
        "flags": (),
        "lang": "en",
        "created": None,
        "modified": "2026-01-01T00:00:00Z",
        "mtime_ns": 5,
        "raw_hash": sha("raw" + text),
        "body_hash": sha(text),
        "frontmatter_hash": sha("fm"),
        "full_hash": sha(text),
        "hash_mode": "body",
        "stale": False,
        "frontmatter_json": '{"x": ["1", null]}',
    }
    return NoteMeta(**(values | changes))  # type: ignore[arg-type]


def note(db: Database, path: str, paragraphs: list[str], links: tuple[str, ...] = (), **changes: object) -> NoteRows:
    """All rows of a note with a chunk and a passage a paragraph; `links` are paths it links to, missing if ``?x``."""
    key = changes.pop("key", None)
    keys = db.allocate_keys(len(paragraphs) + 1)
    note_key = key if isinstance(key, int) else keys[0]
    found = meta(note_key, path, "\n".join(paragraphs), **changes)
    chunks = tuple(_chunk(path, place, text) for place, text in enumerate(paragraphs))
    rows = tuple(ChunkRow(keys[i + 1], uid(f"{path}:{i}"), chunk) for i, chunk in enumerate(chunks))
    docs = tuple(DocRow(row.key, terms(found.title, row.chunk.text)) for row in rows)
    return NoteRows(
        meta=found,
        raw="\n".join(paragraphs).encode("utf-8", "replace"),
        chunks=rows,
        title_passage=passage(found.title, -1),
        docs=docs or (DocRow(note_key, terms(found.title, "")),),
        links=tuple(link(target) for target in links),
        link_names=tuple(dict.fromkeys(target.lstrip("?").casefold() for target in links)),
        edges=tuple(edge(path, target) for target in dict.fromkeys(links)),
        diagnostics=(Diagnostic("fm_missing", "no title", 1),),
        run_id="run-1",
    )


def _chunk(path: str, place: int, text: str) -> Chunk:
    return Chunk(
        idx=place,
        profile="medium",
        section=("Top", path),
        text=text,
        words=text,
        overlap_left="l",
        overlap_right="",
        tokens=len(text.split()),
        start=0,
        end=len(text),
        start_line=place + 1,
        end_line=place + 1,
        content_hash=sha(text),
        passages=(passage(text),),
    )  # type: ignore[arg-type]


def link(target: str) -> ResolvedLink:
    """A link that was resolved to `target`, or not if it begins with ``?``."""
    missing = target.startswith("?")
    return ResolvedLink(Link("wikilink", f"[[{target}]]", target.lstrip("?"), line=3), None if missing else target)


def edge(path: str, target: str) -> Edge:
    """The edge of ``link(target)``."""
    missing = target.startswith("?")
    return Edge(
        id=uid(f"{path}>{target}"),
        src_id=uid(path),
        dst_id=uid(target),
        src_kind="note",
        dst_kind="unresolved" if missing else "note",
        dst_label=target.lstrip("?"),
        relation="references",
        scope="note",
        source="declared",
        weight=1.0,
        occurrences=1,
        evidence=f"see [[{target}]]",
        line=3,
    )


def canvas(db: Database, path: str, links: tuple[str, ...] = ()) -> CanvasRows:
    """A canvas with links."""
    found = tuple(link(target) for target in links)
    names = tuple(target.lstrip("?").casefold() for target in links)
    edges = tuple(edge(path, target) for target in links)
    return CanvasRows(db.allocate_keys(1)[0], uid(path), path, sha(path), found, names, edges, (), "run-1")


def file(path: str, size: int = 1) -> VaultFile:
    """A file of the vault."""
    return VaultFile(path, "note", FileStat(size, 2**62, 7, 2**63 + 1))


def vectors(texts: list[str], fingerprint: str = FINGERPRINT, dim: int = DIM) -> Vectors:
    """A unit vector for each distinct text, made from its hash."""
    hashes = tuple(dict.fromkeys(sha(text) for text in texts))
    rows = [np.random.default_rng(int(text_hash[:12], 16)).standard_normal(dim) for text_hash in hashes]
    matrix = np.array(rows, dtype=np.float32).reshape(-1, dim)
    return Vectors(fingerprint, hashes, matrix / np.linalg.norm(matrix, axis=1, keepdims=True))


def batch_of(*notes: NoteRows, embed: bool = False) -> Batch:
    """A batch with the notes and their files, and with the vectors of their passages where `embed` says so."""
    found = [passage.text for rows in notes for row in rows.chunks for passage in row.chunk.passages]
    found += [rows.title_passage.text for rows in notes if rows.title_passage]
    return Batch(
        files_upsert=tuple(file(rows.meta.path) for rows in notes),
        notes=notes,
        vectors=vectors(found) if embed else None,
    )
