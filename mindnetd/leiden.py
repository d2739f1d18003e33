"""Leiden, as ``core.leiden_graph`` wants it: graspologic-native's (MIT), seeded, over edges in a fixed order.

Not for: levels of communities, weights.
"""

from __future__ import annotations

import graspologic_native  # type: ignore[import-untyped]  # has no types
import numpy as np

from mindnetd.core.leiden_graph import Ints, WeightedGraph, named_by_first

SEED = 20_251
ITERATIONS = 3
"""Rounds of Leiden from scratch: the second finds what the first could not."""


class Leiden:
    """A `core.leiden_graph.Partitioner`; `largest` is the size above which communities are divided."""

    def __init__(self, largest: int) -> None:
        self._largest = largest

    def cold(self, graph: WeightedGraph) -> list[Ints]:
        """Hierarchical Leiden from scratch."""
        found = graspologic_native.hierarchical_leiden(
            edge_list(graph), iterations=ITERATIONS, max_cluster_size=self._largest, seed=SEED
        )
        levels: list[Ints] = []
        for one in found:
            while one.level >= len(levels):
                levels.append(np.full(graph.size, -1, dtype=np.int64))
            levels[one.level][int(one.node)] = one.cluster
        return levels

    def refined(self, graph: WeightedGraph, label: Ints) -> Ints:
        """One round of Leiden from a partition on."""
        names = _names(graph.size)
        start = dict(zip(names, label.tolist(), strict=True))
        _, found = graspologic_native.leiden(edge_list(graph), starting_communities=start, seed=SEED)
        return named_by_first(np.fromiter(map(found.__getitem__, names), dtype=np.int64, count=graph.size))


def edge_list(graph: WeightedGraph) -> list[tuple[str, str, float]]:
    """The edges as the library takes them: nodes by position."""
    names = _names(graph.size)
    pairs = zip(graph.src.tolist(), graph.dst.tolist(), graph.weight.tolist(), strict=True)
    return [(names[src], names[dst], weight) for src, dst, weight in pairs]


def _names(size: int) -> list[str]:
    return list(map(str, range(size)))
