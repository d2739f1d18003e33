"""The dense lane: exact cosine of every passage, the best passage is the document's score."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mindnetd.lanes.segments import BoolArray, IntArray
from mindnetd.lanes.snapshot import HotSnapshot
from mindnetd.lanes.vectors import Matrix


class Approximate(Protocol):
    """An index that proposes candidates (`lanes.hnsw`)."""

    def cosines(self, snapshot: HotSnapshot, query: Matrix, docs: BoolArray, count: int) -> NDArray[np.float32]:
        """As `cosines` below, but -inf also for documents that are hardly among the best `count` of `docs`."""
        ...


def cosines(snapshot: HotSnapshot, query: Matrix) -> NDArray[np.float32]:
    """Cosine of every document slot to a unit query (dim,); -inf where no passage has a vector.

    For finding candidates: the last bits depend on where a row stands. `exact` gives what is shown.
    """
    if not len(snapshot.doc_key):
        return np.zeros(0, np.float32)
    rows = snapshot.vectors.scores(query)
    return np.maximum.reduceat(rows[snapshot.passage_rows], snapshot.passage_start)


def exact(snapshot: HotSnapshot, slots: IntArray, query: Matrix) -> NDArray[np.float64]:
    """Cosines of some documents, the same bits whatever else is in the index; -inf as in `cosines`."""
    if not len(slots):
        return np.zeros(0)
    ends = np.append(snapshot.passage_start[1:], len(snapshot.passage_rows))
    starts, sizes = snapshot.passage_start[slots], (ends - snapshot.passage_start)[slots]
    first = np.cumsum(sizes) - sizes
    places = np.repeat(starts - first, sizes) + np.arange(int(sizes.sum()))
    return np.maximum.reduceat(snapshot.vectors.exact(snapshot.passage_rows[places], query), first)
