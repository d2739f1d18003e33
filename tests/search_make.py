"""Small vaults in memory for the tests of the search: notes, their resident index, their texts, a model of hashes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mindnetd.core.analyze import FIELDS, analyze
from mindnetd.core.filters import Filters
from mindnetd.core.query import QuerySpec
from mindnetd.core.rank import RetrievalSettings
from mindnetd.core.records import NoteMeta
from mindnetd.core.results import ChunkText, QueryResult
from mindnetd.deadline import Deadline
from mindnetd.lanes.hot import HotDelta, HotDoc, HotIndex, HotRows
from mindnetd.search import Searcher

DIM = 24
EVERYTHING = Filters(visibility=("public", "internal", "sensitive"), include_flags=("draft", "needs_review"))


def vector(text: str) -> NDArray[np.float32]:
    """A unit vector that depends on the words of `text`: texts that share words are near."""
    total = np.zeros(DIM)
    for word in text.casefold().split() or [""]:
        seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "little")
        total += np.random.default_rng(seed).normal(size=DIM)
    return (total / np.linalg.norm(total)).astype(np.float32)


def text_hash(text: str) -> bytes:
    """SHA-256 digest."""
    return hashlib.sha256(text.encode()).digest()


def note_meta(key: int, path: str, **changes: Any) -> NoteMeta:
    """A note's resident record; the title is the file name unless given."""
    values: dict[str, Any] = {
        "key": key, "id": f"id-{key}", "note_id": None, "path": path, "h1": None, "aliases": (), "tags": (),
        "title": path.rpartition("/")[2].removesuffix(".md"), "type": None, "status": None, "visibility": "internal",
        "flags": (), "lang": "en", "created": None, "modified": "2026-01-01T00:00:00Z", "mtime_ns": 0, "raw_hash": "",
        "body_hash": "", "frontmatter_hash": "", "full_hash": "", "hash_mode": "body", "stale": False,
        "frontmatter_json": "{}",
    }  # fmt: skip
    return NoteMeta(**{**values, **changes})


@dataclass
class Made:
    """A note with its documents: (key, text); one whose key is the note's own has no text."""

    meta: NoteMeta
    docs: list[tuple[int, str]]

    def hot_docs(self) -> list[HotDoc]:
        return [
            HotDoc(key, self.meta.key, self.terms(key, text), tuple(map(text_hash, passages_of(self.meta, text))))
            for key, text in self.docs
        ]

    def terms(self, key: int, text: str) -> Any:
        fields = {"title": self.meta.title, "aliases": "\n".join(self.meta.aliases), "tags": " ".join(self.meta.tags)}
        return analyze({**fields, "body": text}, self.meta.lang)


def passages_of(meta: NoteMeta, text: str) -> list[str]:
    """The embedded texts of a document: its sentences, or the title."""
    return [part.strip() for part in text.split(".") if part.strip()] or [meta.title]


@dataclass
class Vault:
    """Notes by path, kept in step with a `HotIndex`; texts for hydration."""

    hot: HotIndex = field(default_factory=HotIndex)
    notes: dict[str, Made] = field(default_factory=dict)
    chunks: dict[int, ChunkText] = field(default_factory=dict)
    keys: int = 0
    settings: RetrievalSettings = field(default_factory=RetrievalSettings)

    def key(self) -> int:
        self.keys += 1
        return self.keys

    def make(self, path: str, *texts: str, **changes: Any) -> Made:
        """A note with a chunk for each text, not put anywhere yet. A path that is there keeps its note's key."""
        old = self.notes.get(path)
        key = old.meta.key if old else self.key()
        meta = note_meta(key, path, **changes)
        return Made(meta, [(self.key(), text) for text in texts] or [(key, "")])

    def put(self, *made: Made, vectors: bool = True) -> None:
        """Add or replace notes in one delta."""
        for note in made:
            self.notes[note.meta.path] = note
            self._keep(note)
        docs = tuple(doc for note in made for doc in note.hot_docs())
        texts = sorted({t for note in made for _, text in note.docs for t in passages_of(note.meta, text)})
        rows = ([text_hash(t) for t in texts], np.stack([vector(t) for t in texts])) if vectors and texts else None
        self.hot.apply(HotDelta(self.keys, (), tuple(n.meta for n in made), docs, (), rows))

    def add(self, path: str, *texts: str, **changes: Any) -> None:
        """Make and put one note."""
        self.put(self.make(path, *texts, **changes))

    def remove(self, *paths: str) -> None:
        """Take notes away."""
        keys = tuple(self.notes.pop(path).meta.key for path in paths)
        self.hot.apply(HotDelta(self.keys, keys))

    def _keep(self, note: Made) -> None:
        for n, (key, text) in enumerate(note.docs):
            if key != note.meta.key:
                self.chunks[key] = ChunkText(key, f"c{key}", n, (note.meta.title,), n + 1, n + 1, text, "", "")

    def texts(self, keys: Sequence[int]) -> Mapping[int, ChunkText]:
        return {key: self.chunks[key] for key in keys if key in self.chunks}

    def query(self, text: str, **changes: Any) -> QueryResult:
        """Ask; every keyword is a field of `QuerySpec`."""
        return searcher_of(self.hot, self, self.settings).query(QuerySpec(text, **changes), Deadline(30))

    def paths(self, text: str, **changes: Any) -> list[str]:
        """The paths of the answer, best first."""
        return [hit.note.path for hit in self.query(text, **changes).hits]

    def words(self, text: str, **changes: Any) -> list[str]:
        """The same by words alone."""
        return self.paths(text, lanes=("lexical",), **changes)


def searcher_of(hot: HotIndex, texts: Vault, settings: RetrievalSettings | None = None) -> Searcher:
    """A searcher whose model is `vector`."""
    return Searcher(hot, texts, lambda: vector, settings)


def rows_of(notes: Sequence[Made], known: Mapping[bytes, NDArray[np.float32]], revision: int = 1) -> HotRows:
    """What a store would hand over for these notes, with these vectors."""
    docs = [doc for note in notes for doc in note.hot_docs()]
    terms: dict[str, int] = {}
    postings = [
        (terms.setdefault(term, len(terms)), doc.key, FIELDS.index(name), count)
        for doc in docs
        for name, counts in doc.terms.counts.items()
        for term, count in counts.items()
    ]
    term, doc_key, name, count = (
        np.array(column, np.int64) for column in (zip(*postings, strict=True) if postings else [[]] * 4)
    )
    passages = [(doc.key, h) for doc in docs for h in doc.passages]
    return HotRows(
        revision=revision,
        notes=[note.meta for note in notes],
        terms=list(terms),
        posting_term=term,
        posting_doc=doc_key,
        posting_field=name,
        posting_tf=count,
        doc_key=np.array([doc.key for doc in docs], np.int64),
        doc_note=np.array([doc.note_key for doc in docs], np.int64),
        doc_lengths=np.array([[doc.terms.lengths.get(f, 0) for f in FIELDS] for doc in docs], np.int64).reshape(-1, 5),
        passage_doc=np.array([key for key, _ in passages], np.int64),
        passage_hash=np.frombuffer(b"".join(h for _, h in passages), np.uint8).reshape(-1, 32),
        vector_hash=np.frombuffer(b"".join(known), np.uint8).reshape(-1, 32),
        vectors=np.stack(list(known.values())) if known else np.zeros((0, DIM), np.float32),
    )
