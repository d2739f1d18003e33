"""The cosines of all resident vectors, by two threads where there are two processors.

One row is a dot product of its own: a matrix product would start the threads of the BLAS, and wait for them (40 ms on
a busy machine). Here nobody waits for anybody: both threads take pieces, and what the helper has not done when the
caller runs out of pieces the caller does once more, which writes the same bits to the same place.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from mindnetd.lanes.vectors import Matrix, VectorView

PIECE_ROWS = 2048
"""3 MB of 384 numbers: half a tenth of a millisecond."""
WORTH_ROWS = 2 * PIECE_ROWS
"""Fewer rows are done before another thread is awake."""


class _Helper:
    """One thread that helps one sweep at a time; a sweep that finds it busy goes alone."""

    def __init__(self) -> None:
        self._free = threading.Lock()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="sweep")

    def help(self, sweep: Sweep) -> None:
        """Have the thread take part, if it has nothing to do."""
        if self._free.acquire(blocking=False):
            self._pool.submit(self._work, sweep)

    def _work(self, sweep: Sweep) -> None:
        try:
            sweep.take_part()
        finally:
            self._free.release()


class Sweep:
    """One pass over the rows, begun by the helper at once: the caller has other things to do before it takes part."""

    def __init__(self, view: VectorView, query: Matrix) -> None:
        self._query = query
        self._out = np.empty(view.count + 2, dtype=np.float32)
        self._out[view.count :] = -np.inf
        self._pieces: list[tuple[Matrix, NDArray[np.float32]]] = []
        for start, block in zip(view.starts, view.blocks, strict=True):
            for at in range(0, len(block), PIECE_ROWS):
                rows = block[at : at + PIECE_ROWS]
                self._pieces.append((rows, self._out[start + at : start + at + len(rows)]))
        self._left = list(range(len(self._pieces)))
        self._done: set[int] = set()
        if _helper is not None and view.count >= WORTH_ROWS:
            _helper.help(self)

    def scores(self) -> NDArray[np.float32]:
        """Cosines of all rows to the unit query, and two more of -inf, for the rows -1 and -2 (no vector)."""
        self.take_part()
        for piece in range(len(self._pieces)):
            if piece not in self._done:  # somebody has taken it and not done it yet
                self._do(piece)
        return self._out

    def take_part(self) -> None:
        """Do pieces until all are taken."""
        while True:
            try:
                piece = self._left.pop()
            except IndexError:
                return
            self._do(piece)
            self._done.add(piece)

    def _do(self, piece: int) -> None:
        rows, out = self._pieces[piece]
        np.vecdot(rows, self._query, out=out)


_helper = _Helper() if len(os.sched_getaffinity(0)) > 1 else None
