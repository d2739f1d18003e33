"""A vault in memory, through the real pieces of the pipeline: read, chunk, analyse, embed, resident index."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mindnetd.core.derive import DeriveOptions, Draft, derive, meta_of
from mindnetd.core.edges import edges_of
from mindnetd.core.results import ChunkText
from mindnetd.inference.embedder import Embedder
from mindnetd.inference.tokenizer import PinnedCounter
from mindnetd.lanes.hot import HotDelta, HotDoc, HotIndex
from mindnetd.writing.linkbook import LinkBook


@dataclass
class Texts:
    """A `TextSource` over a dictionary."""

    chunks: dict[int, ChunkText]

    def texts(self, keys: Sequence[int]) -> Mapping[int, ChunkText]:
        return {key: self.chunks[key] for key in keys if key in self.chunks}


def notes_of(rows: Path, variant: str) -> Iterator[tuple[str, bytes]]:
    """(path, bytes) of a retrieval set of the shared data."""
    with gzip.open(rows, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            if row["variant"] == variant:
                yield row["path"], row["text"].encode()


def notes_in(folder: Path) -> Iterator[tuple[str, bytes]]:
    """(path, bytes) of the notes of a folder."""
    for file in sorted(folder.rglob("*.md")):
        if not any(part.startswith(".") for part in file.relative_to(folder).parts):
            yield file.relative_to(folder).as_posix(), file.read_bytes()


class Cache:
    """Vectors on disk by fingerprint and text hash, so that a second run embeds nothing. Without a folder: none."""

    def __init__(self, folder: Path | None, embedder: Embedder) -> None:
        self._file = folder / f"vectors-{embedder.fingerprint}.npz" if folder else None
        self._embedder = embedder
        self._rows: dict[bytes, NDArray[np.float32]] = {}
        if self._file and self._file.is_file():
            stored = np.load(self._file)
            self._rows = dict(zip(map(bytes, stored["hashes"]), stored["matrix"], strict=True))

    def embed(self, texts: Mapping[bytes, str]) -> tuple[list[bytes], NDArray[np.float32]]:
        """The vectors of some texts by hash."""
        new = [h for h in texts if h not in self._rows]
        if new:
            self._rows.update(zip(new, self._embedder.embed([texts[h] for h in new]), strict=True))
            self._save()
        return list(texts), np.stack([self._rows[h] for h in texts])

    def question(self, text: str) -> NDArray[np.float32]:
        """The vector of a question."""
        key = hashlib.sha256(b"question\0" + text.encode()).digest()
        if key not in self._rows:
            self._rows[key] = self._embedder.embed_query(text)
        return self._rows[key]

    def _save(self) -> None:
        if self._file:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            hashes = np.frombuffer(b"".join(self._rows), np.uint8).reshape(-1, 32)
            np.savez(self._file, hashes=hashes, matrix=np.stack(list(self._rows.values())))

    def close(self) -> None:
        """Keep what is new."""
        if self._rows:
            self._save()


def index_of(notes: Iterator[tuple[str, bytes]], cache: Cache | None) -> tuple[HotIndex, Texts]:
    """A resident index over some notes, in one delta. Without a `cache` no vectors."""
    options, counter = DeriveOptions(), PinnedCounter()
    hot, chunks, metas, docs = HotIndex(), dict[int, ChunkText](), [], list[HotDoc]()
    wanted: dict[bytes, str] = {}
    key = 0
    drafts = [derive(path, raw, options, counter) for path, raw in notes]
    book = LinkBook()
    for draft in drafts:
        book.add_file(draft.path)
        book.set_id(draft.path, draft.note.note_id)
    edges = []
    for draft in drafts:
        key += 1
        metas.append(meta_of(draft, key, 0, options))
        links = book.resolve(draft.note.links, draft.path)
        edges.append((metas[-1].id, edges_of(options.prefix, draft.note, links, options.types)))
        wanted.update(draft.texts)
        for doc, text in _docs(draft, key):
            docs.append(doc)
            if text is not None:
                chunks[text.key] = text
        key = docs[-1].key
    vectors = cache.embed(wanted) if cache is not None else None
    hot.apply(HotDelta(revision=1, notes=tuple(metas), docs=tuple(docs), vectors=vectors, edges=tuple(edges)))
    return hot, Texts(chunks)


def _docs(draft: Draft, note_key: int) -> Iterator[tuple[HotDoc, ChunkText | None]]:
    title = draft.chunked.title_passage
    heads = (bytes.fromhex(title.text_hash),) if title else ()
    for n, (chunk, terms) in enumerate(draft.words):
        first = heads if n == 0 else ()
        if chunk is None:
            yield HotDoc(note_key, note_key, terms, first), None
            continue
        own = tuple(bytes.fromhex(p.text_hash) for p in chunk.passages)
        key = note_key + 1 + n
        text = ChunkText(
            key, f"{draft.path}#{n}", chunk.idx, chunk.section, chunk.start_line, chunk.end_line, chunk.text,
            chunk.overlap_left, chunk.overlap_right,
        )  # fmt: skip
        yield HotDoc(key, note_key, terms, first + own), text
