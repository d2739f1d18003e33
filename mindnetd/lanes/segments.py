"""Postings in RAM: immutable segments of (term, document, weight), built once, merged now and then.

A posting's *weight* is the document's count of the term, summed over the fields with their weights. A segment never
changes: snapshots share it. Documents that are gone stay in it until a merge; a mask hides them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int32]
FloatArray = NDArray[np.float32]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Segment:
    """Postings sorted by term, then document slot: of ``terms[i]`` they are ``[starts[i], starts[i + 1])``."""

    terms: IntArray
    starts: IntArray
    docs: IntArray
    weights: FloatArray

    def __len__(self) -> int:
        return len(self.docs)

    def find(self, term: int) -> tuple[IntArray, FloatArray] | None:
        """Document slots (ascending) and weights of a term, or None."""
        at = int(np.searchsorted(self.terms, term))
        if at == len(self.terms) or self.terms[at] != term:
            return None
        span = slice(int(self.starts[at]), int(self.starts[at + 1]))
        return self.docs[span], self.weights[span]


def build(terms: NDArray[np.integer], docs: NDArray[np.integer], weights: NDArray[np.floating]) -> Segment:
    """A segment of rows in any order; rows of the same term and document are added up."""
    keys = (terms.astype(np.int64) << 32) | docs.astype(np.int64)
    if len(keys) and bool(np.any(keys[1:] < keys[:-1])):
        order = np.argsort(keys, kind="stable")
        keys, weights = keys[order], weights[order]
    if len(keys):
        first = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
        if len(first) < len(keys):
            weights, keys = np.add.reduceat(weights, first), keys[first]
    return _segment(keys, weights)


def merge(segments: Sequence[Segment], alive: BoolArray, renumber: IntArray | None = None) -> Segment:
    """One segment of several, without documents that are not `alive`; `renumber` maps old to new slots (ascending)."""
    keys_of: list[NDArray[np.int64]] = []
    weights_of: list[FloatArray] = []
    for segment in segments:
        terms = np.repeat(segment.terms, np.diff(segment.starts)).astype(np.int64)
        keep = alive[segment.docs]
        docs = segment.docs[keep]
        if renumber is not None:
            docs = renumber[docs]
        keys_of.append((terms[keep] << 32) | docs.astype(np.int64))
        weights_of.append(segment.weights[keep])
    keys, weights = np.concatenate(keys_of), np.concatenate(weights_of)
    if len(segments) > 1:
        order = np.argsort(keys, kind="stable")
        keys, weights = keys[order], weights[order]
    return _segment(keys, weights)


def _segment(keys: NDArray[np.int64], weights: NDArray[np.floating]) -> Segment:
    terms = (keys >> 32).astype(np.int32)
    first = np.flatnonzero(np.concatenate(([True], terms[1:] != terms[:-1]))) if len(terms) else np.zeros(0, np.int64)
    return Segment(
        terms=terms[first],
        starts=np.append(first, len(terms)).astype(np.int32),
        docs=(keys & 0xFFFFFFFF).astype(np.int32),
        weights=weights.astype(np.float32),
    )


def tidy(segments: tuple[Segment, ...], alive: Callable[[], BoolArray]) -> tuple[Segment, ...]:
    """Merge the last segments until each is at least twice as big as the next: few segments, little work."""
    stack = list(segments)
    while len(stack) > 1:
        tail = 1
        while tail < len(stack) and len(stack[-tail - 1]) < 2 * sum(map(len, stack[-tail:])):
            tail += 1
        if tail == 1:
            break
        stack[-tail:] = [merge(stack[-tail:], alive())]
    return tuple(stack)


def total(segments: Iterable[Segment]) -> int:
    """Rows of all segments."""
    return sum(map(len, segments))
