"""The dense lane: exact cosine of every passage, the best passage is the document's score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mindnetd.lanes.segments import BoolArray, IntArray
from mindnetd.lanes.snapshot import HotSnapshot
from mindnetd.lanes.sweep import Sweep
from mindnetd.lanes.vectors import Matrix

_ROUNDING = 2.0**-21
"""A float32 dot product of unit vectors is at most dim * 2**-24 from the true one: twice that, four times as safe."""


class Approximate(Protocol):
    """An index that proposes candidates (`lanes.hnsw`)."""

    def cosines(self, snapshot: HotSnapshot, query: Matrix, docs: BoolArray, count: int) -> NDArray[np.float32]:
        """As `near` below, but -inf also for documents that are hardly among the best `count` of `docs`."""
        ...


@dataclass(frozen=True, slots=True)
class Near:
    """What the lane found, for choosing candidates: the last bits depend on where a row stands."""

    docs: NDArray[np.float32]
    """By document slot; -inf where no passage has a vector."""
    rows: NDArray[np.float32] | None = None
    """By vector row as `Sweep.scores` gives them; None where not all were looked at."""


def near(snapshot: HotSnapshot, query: Matrix, begun: Sweep | None = None) -> Near:
    """Cosine of every document slot to a unit query (dim,); ``begun`` is the sweep, if it runs already."""
    if not len(snapshot.doc_key):
        return Near(np.zeros(0, np.float32))
    rows = (begun or Sweep(snapshot.vectors, query)).scores()
    return Near(np.maximum.reduceat(rows[snapshot.passage_rows], snapshot.passage_start), rows)


def cosines(snapshot: HotSnapshot, query: Matrix) -> NDArray[np.float32]:
    """`near`, by document alone."""
    return near(snapshot, query).docs


def exact(
    snapshot: HotSnapshot, slots: IntArray, query: Matrix, about: NDArray[np.float32] | None = None
) -> NDArray[np.float64]:
    """Cosines of some documents, the same bits whatever else is in the index; -inf as in `near`.

    With ``about`` (the rows of `near`) only passages that can be the best of their document are computed again.
    """
    if not len(slots):
        return np.zeros(0)
    starts = snapshot.passage_start[slots]
    after = np.minimum(slots + 1, len(snapshot.passage_start) - 1)
    ends = np.where(after > slots, snapshot.passage_start[after], len(snapshot.passage_rows))
    sizes = ends - starts
    first = np.cumsum(sizes) - sizes
    places = np.repeat(starts - first, sizes) + np.arange(int(sizes.sum()))
    rows = snapshot.passage_rows[places]
    if about is None:
        return np.maximum.reduceat(snapshot.vectors.exact(rows, query), first)
    best = np.maximum.reduceat(about[rows], first)
    likely = np.flatnonzero(about[rows] >= np.repeat(best - len(query) * _ROUNDING, sizes))
    scores = np.full(len(rows), -np.inf)
    scores[likely] = snapshot.vectors.exact(rows[likely], query)
    return np.maximum.reduceat(scores, first)
