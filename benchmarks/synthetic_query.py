"""Time of a question, without its embedding, over a synthetic vault: `python -m benchmarks.synthetic_query [PASSAGES]`.

Words are drawn by Zipf's law, vectors around 500 centres. Prints medians and 95th percentiles in ms by stage, and the
floor of the same run: the bare product of the matrix with a vector.
"""

from __future__ import annotations

import statistics
import sys
import time

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpus import Texts
from mindnetd.core.filters import Filters
from mindnetd.core.query import QuerySpec
from mindnetd.core.records import NoteMeta
from mindnetd.core.results import ChunkText
from mindnetd.deadline import Deadline
from mindnetd.lanes.hot import HotIndex, HotRows
from mindnetd.search import Searcher

DIM = 384
WORDS_PER_CHUNK = 250
PASSAGES_PER_CHUNK = 3
CHUNKS_PER_NOTE = 2
VOCABULARY = 60_000


def zipf(rng: np.random.Generator, size: int) -> NDArray[np.int64]:
    """Word numbers, common ones small."""
    return np.minimum((VOCABULARY ** rng.random(size)).astype(np.int64), VOCABULARY - 1)


def word(number: int) -> str:
    """A word; those of English begin with any letter too."""
    return f"{chr(97 + number % 26)}{number}"


def made(passages: int, rng: np.random.Generator) -> tuple[HotRows, Texts]:
    """Rows as the store would hand them over, and the chunks' texts."""
    chunks = passages // PASSAGES_PER_CHUNK
    notes = chunks // CHUNKS_PER_NOTE
    words = zipf(rng, chunks * WORDS_PER_CHUNK).reshape(chunks, -1)
    keys = np.arange(chunks) + notes
    doc, term, tf = [], [], []
    for n, row in enumerate(words):
        unique, counts = np.unique(row, return_counts=True)
        doc.append(np.full(len(unique), keys[n]))
        term.append(unique)
        tf.append(counts)
    centres = rng.normal(size=(500, DIM)).astype(np.float32)
    matrix = centres[rng.integers(500, size=passages)] + rng.normal(size=(passages, DIM)).astype(np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    hashes = np.zeros((passages, 32), np.uint8)
    hashes[:, :8] = np.arange(passages, dtype=np.int64).view(np.uint8).reshape(-1, 8)
    texts = {
        int(key): ChunkText(int(key), str(key), 0, ("Part",), 1, 9, " ".join(word(w) for w in row), "", "")
        for key, row in zip(keys, words, strict=True)
    }
    doc_note = np.minimum(np.arange(chunks) // CHUNKS_PER_NOTE, notes - 1)
    rows = HotRows(
        revision=1,
        notes=[meta(n) for n in range(notes)],
        terms=[word(w) for w in range(VOCABULARY)],
        posting_term=np.concatenate(term),
        posting_doc=np.concatenate(doc),
        posting_field=np.full(sum(map(len, doc)), 4),
        posting_tf=np.concatenate(tf),
        doc_key=keys,
        doc_note=doc_note,
        doc_lengths=np.tile([0, 0, 0, 0, WORDS_PER_CHUNK], (chunks, 1)),
        passage_doc=np.repeat(keys, PASSAGES_PER_CHUNK),
        passage_hash=hashes[: chunks * PASSAGES_PER_CHUNK],
        vector_hash=hashes,
        vectors=matrix,
    )
    return rows, Texts(texts)


def meta(key: int) -> NoteMeta:
    """A note without anything special; every tenth has the type ``task``."""
    return NoteMeta(
        key=key, id=str(key), note_id=None, path=f"f{key % 50}/note {key}.md", title=f"note {key}", h1=None, aliases=(),
        tags=("a/b",) if key % 3 else (), type="task" if key % 10 == 0 else None, status=None, visibility="internal",
        flags=(), lang="en" if key % 20 else "de", created=None, modified="2026-01-01T00:00:00Z", mtime_ns=0,
        raw_hash="", body_hash="", frontmatter_hash="", full_hash="", hash_mode="body", stale=False,
        frontmatter_json="{}",
    )  # fmt: skip


def show(name: str, times: list[float]) -> None:
    """One line of the table."""
    print(f"{name}\t{statistics.median(times):.2f}\t{sorted(times)[int(len(times) * 0.95)]:.2f}")


def main() -> int:
    """Build, ask 200 questions, print."""
    passages = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    rng = np.random.default_rng(7)
    rows, texts = made(passages, rng)
    hot = HotIndex()
    start = time.process_time()
    hot.load(rows)
    print(f"load\t{time.process_time() - start:.2f} s CPU\t{len(rows.posting_term)} postings")
    vectors = rows.vectors[rng.integers(passages, size=200)]
    answers = iter(np.concatenate([vectors] * 2))
    searcher = Searcher(hot, texts, lambda: lambda _text: next(answers))
    stages: dict[str, list[float]] = {}
    for label, filters in (("", Filters()), ("type: ", Filters(types=("task",)))):
        for _ in range(200):
            words = " ".join(word(w) for w in zipf(rng, 6))
            result = searcher.query(QuerySpec(words, filters=filters), Deadline(30))
            for stage, ms in result.took_ms.items():
                stages.setdefault(label + stage, []).append(ms)
    floor = []
    for vector in vectors:
        start = time.perf_counter()
        rows.vectors @ vector
        floor.append((time.perf_counter() - start) * 1000)
    print("stage\tmedian ms\tp95 ms")
    for stage, times in stages.items():
        show(stage, times)
    show("floor: matrix @ vector", floor)
    return 0


if __name__ == "__main__":
    sys.exit(main())
