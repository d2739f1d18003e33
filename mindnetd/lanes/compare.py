"""What a snapshot holds, in a form that does not depend on how it came about: for comparing two of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mindnetd.lanes.snapshot import HotSnapshot

Contents = dict[int, tuple[int, float, int, int]]
_MIX = np.uint64(0x9E3779B97F4A7C15)


def contents(snapshot: HotSnapshot) -> Contents:
    """Document key -> (note key, length, digest of its postings, digest of its vectors), for living documents.

    Digests are sums of hashes, so the order of postings and the numbers of terms and rows do not matter. They hold
    within one process.
    """
    postings, vectors = _postings(snapshot), _vectors(snapshot)
    held: Contents = {}
    for doc in np.flatnonzero(snapshot.alive):
        note = snapshot.notes[snapshot.doc_note[doc]]
        held[int(snapshot.doc_key[doc])] = (
            -1 if note is None else note.key,
            float(snapshot.doc_length[doc]),
            int(postings[doc]),
            int(vectors[doc]),
        )
    return held


def _postings(snapshot: HotSnapshot) -> NDArray[np.uint64]:
    sums = np.zeros(len(snapshot.doc_key), np.uint64)
    words = np.fromiter((hash(text) & (1 << 64) - 1 for text in list(snapshot.terms.texts)), np.uint64)
    for segment in snapshot.segments:
        terms = words[np.repeat(segment.terms, np.diff(segment.starts))]
        weights = segment.weights.astype(np.float64).view(np.uint64)
        np.add.at(sums, segment.docs, (terms ^ weights) * _MIX)
    return sums


def _vectors(snapshot: HotSnapshot) -> NDArray[np.uint64]:
    """Sums over the passages; one that waits for its vector counts as such."""
    view, rows = snapshot.vectors, snapshot.passage_rows
    words = np.ones(view.count + 2, np.uint64)  # the last two: no passage, no vector yet (rows -2 and -1)
    words[-1] = 2
    for start, block in zip(view.starts, view.blocks, strict=True):
        for at, vector in enumerate(block[: view.count - start]):
            words[start + at] = hash(vector.tobytes()) & (1 << 64) - 1
    sums = np.zeros(len(snapshot.doc_key), np.uint64)
    sizes = np.diff(np.append(snapshot.passage_start, len(rows)))
    np.add.at(sums, np.repeat(np.arange(len(sizes)), sizes), words[rows] * _MIX)
    return sums
