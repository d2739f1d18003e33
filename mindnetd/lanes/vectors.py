"""Resident vectors: one row for each distinct text hash, in blocks that never move.

Written by one thread, read by any: rows are only appended, a reader's `VectorView` ends where it was taken.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]
Rows = NDArray[np.int32]
BLOCK_ROWS = 4096
_generations = itertools.count(1)


@dataclass(frozen=True, slots=True)
class VectorView:
    """The first ``count`` rows as they were: ``blocks`` are (n, dim) float32, unit rows, C order."""

    blocks: tuple[Matrix, ...]
    starts: tuple[int, ...]
    count: int
    dim: int
    generation: int = 0
    """Another number: rows were renumbered."""

    def rows(self, start: int, end: int) -> Matrix:
        """A copy of the rows [start, end)."""
        parts = [
            block[max(0, start - at) : max(0, end - at)] for at, block in zip(self.starts, self.blocks, strict=True)
        ]
        return np.concatenate(parts) if parts else np.zeros((0, self.dim), np.float32)

    def exact(self, rows: Rows, query: Matrix) -> NDArray[np.float64]:
        """Cosines of some rows, each computed alone: the same bits wherever a row stands. Negative rows give -inf."""
        out = np.full(len(rows), -np.inf)
        for start, block in zip(self.starts, self.blocks, strict=True):
            here = np.flatnonzero((rows >= start) & (rows < start + len(block)))
            if len(here):
                out[here] = (block[rows[here] - start] * query).sum(axis=1, dtype=np.float64)
        return out


class VectorTable:
    """text hash (32 bytes) -> row. One writer."""

    def __init__(self) -> None:
        self._generation = next(_generations)
        self._blocks: list[Matrix] = []  # full width; the last may have room
        self._used: list[int] = []
        self._rows: dict[bytes, int] = {}
        self._count = 0
        self._dim = 0

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def dim(self) -> int:
        """Width of the vectors, 0 while there is none."""
        return self._dim

    @property
    def wasted(self) -> int:
        """Rows that no hash points to any more."""
        return self._count - len(self._rows)

    def row(self, text_hash: bytes) -> int:
        """The row of a text, or -1."""
        return self._rows.get(text_hash, -1)

    def load(self, hashes: Iterable[bytes], matrix: Matrix) -> None:
        """Start from a whole matrix (n, dim), taken as it is, not copied."""
        self.__init__()  # type: ignore[misc]
        matrix = np.ascontiguousarray(matrix, dtype=np.float32)
        if len(matrix):
            self._blocks, self._used = [matrix], [len(matrix)]
            self._dim, self._count = matrix.shape[1], len(matrix)
            self._rows = {text_hash: row for row, text_hash in enumerate(hashes)}

    def add(self, hashes: Iterable[bytes], matrix: Matrix) -> None:
        """Append the rows whose hash is new. Raises ValueError for another width or a value that is not finite."""
        fresh = [(h, i) for i, h in enumerate(hashes) if h not in self._rows]
        if not fresh:
            return
        if matrix.ndim != 2 or (self._dim and matrix.shape[1] != self._dim):
            raise ValueError(f"vectors of shape {matrix.shape} do not fit a table of width {self._dim}")
        if not np.isfinite(matrix).all():
            raise ValueError("a vector with a value that is not finite")
        self._dim = matrix.shape[1]
        for text_hash, i in fresh:
            if text_hash in self._rows:  # twice in one batch
                continue
            block, at = self._place()
            block[at] = matrix[i]
            self._rows[text_hash] = self._count
            self._used[-1] += 1
            self._count += 1

    def _place(self) -> tuple[Matrix, int]:
        if not self._blocks or self._used[-1] == len(self._blocks[-1]):
            self._blocks.append(np.zeros((BLOCK_ROWS, self._dim), dtype=np.float32))
            self._used.append(0)
        return self._blocks[-1], self._used[-1]

    def forget(self, hashes: Iterable[bytes]) -> None:
        """Unlink some texts; their rows stay until `compact`. Without any text the table is as new, of no width."""
        for text_hash in hashes:
            self._rows.pop(text_hash, None)
        if not self._rows:
            self.__init__()  # type: ignore[misc]

    def compact(self) -> None:
        """Move the rows in use into one new block. Every row number changes."""
        view = self.view()
        hashes = list(self._rows)
        rows = np.fromiter(self._rows.values(), dtype=np.int32, count=len(hashes))
        matrix = np.empty((len(rows), self._dim), dtype=np.float32)
        for start, block in zip(view.starts, view.blocks, strict=True):
            here = np.flatnonzero((rows >= start) & (rows < start + len(block)))
            matrix[here] = block[rows[here] - start]
        self.load(hashes, matrix)

    def view(self) -> VectorView:
        """What is there now."""
        blocks = tuple(block[:used] for block, used in zip(self._blocks, self._used, strict=True))
        starts = tuple(int(s) for s in np.cumsum([0, *self._used])[:-1])
        return VectorView(blocks, starts, self._count, self._dim, self._generation)
