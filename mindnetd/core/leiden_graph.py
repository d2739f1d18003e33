"""The weighted graph that communities are found in, and clusters as a hierarchy. The algorithm is a library's.

Nodes are numbered in the order of their ids and edges come in the order of their pair, since Leiden's result depends on
both (Traag, Waltman, van Eck, From Louvain to Leiden, Scientific Reports 9, 2019, visits nodes in a random but seeded
order). Not for: choosing entities or weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MIN_SIZE = 3
"""Two entities that belong together are a relation; a community has at least so many members."""

GAIN = 0.02
"""So much modularity must be gained before the partition of the last run is given up (docs/communities.md)."""


@dataclass(frozen=True, slots=True)
class WeightedGraph:
    """An undirected graph without loops and without isolated nodes.

    ``node`` are the numbers that the caller gave, ascending in the order of their ids; ``src`` < ``dst`` are positions
    in ``node``, sorted by pair; ``weight`` is finite and above zero.
    """

    node: Ints
    src: Ints
    dst: Ints
    weight: Floats

    @property
    def size(self) -> int:
        """How many nodes."""
        return len(self.node)


@dataclass(frozen=True, slots=True)
class Cluster:
    """``members`` are positions of nodes, ascending; ``parent`` is the index of the cluster that it is a part of."""

    level: int
    parent: int | None
    members: Ints


def weighted_graph(ids: Sequence[str], src: Ints, dst: Ints, weight: Floats) -> WeightedGraph:
    """The graph of relations `src` - `dst` (numbers of `ids`), whatever their order and direction.

    Weights of one pair add up, loops and weights that are not finite or not above zero are left out.
    """
    sound = np.isfinite(weight) & (weight > 0) & (src != dst)
    src, dst, weight = src[sound], dst[sound], weight[sound]
    ends = np.unique(np.concatenate([src, dst]))
    node = np.array(sorted(ends.tolist(), key=lambda number: ids[number]), dtype=np.int64)
    position = np.zeros(len(ids), dtype=np.int64)
    position[node] = np.arange(len(node))
    one, other = position[src], position[dst]
    code = np.minimum(one, other) * max(len(node), 1) + np.maximum(one, other)
    order = np.lexsort((weight, code))  # sums of floats depend on their order
    pairs, start = np.unique(code[order], return_index=True)
    total = np.add.reduceat(weight[order], start) if len(pairs) else np.zeros(0)
    return WeightedGraph(node, pairs // max(len(node), 1), pairs % max(len(node), 1), np.round(total, 9))


def induced(graph: WeightedGraph, members: Ints) -> WeightedGraph:
    """The part of the graph between `members` (positions, ascending); its ``node`` are positions in `graph`.

    Members without an edge to another member are not in it.
    """
    inside = np.zeros(graph.size, dtype=bool)
    inside[members] = True
    keep = inside[graph.src] & inside[graph.dst]
    src, dst = graph.src[keep], graph.dst[keep]
    node = np.unique(np.concatenate([src, dst]))
    return WeightedGraph(node, np.searchsorted(node, src), np.searchsorted(node, dst), graph.weight[keep])


def connected(size: int, src: Ints, dst: Ints) -> Ints:
    """The component of each of `size` nodes, named by its lowest member: label propagation with pointer jumping."""
    label = np.arange(size, dtype=np.int64)
    while True:
        lowest = np.minimum(label[src], label[dst])
        fresh = label.copy()
        np.minimum.at(fresh, label[src], lowest)
        np.minimum.at(fresh, label[dst], lowest)
        fresh = fresh[fresh]
        if np.array_equal(fresh, label):
            return label
        label = fresh


def settle(graph: WeightedGraph, label: Ints) -> Ints:
    """A last partition on the graph of now: `label` by position, -1 for nodes that are new.

    A new node joins the community that it is tied to most (ties: the lowest label), again and again until none can;
    what is left forms communities of its own, and one that fell apart becomes several. Labels are 0.., by first node.
    """
    label = label.copy()
    while (label < 0).any():
        to_known = (label[graph.src] < 0) & (label[graph.dst] >= 0)
        from_known = (label[graph.dst] < 0) & (label[graph.src] >= 0)
        node = np.concatenate([graph.src[to_known], graph.dst[from_known]])
        if not len(node):
            break
        other = np.concatenate([label[graph.dst[to_known]], label[graph.src[from_known]]])
        weight = np.concatenate([graph.weight[to_known], graph.weight[from_known]])
        span = int(label.max()) + 1
        code, at = np.unique(node * span + other, return_inverse=True)
        tied = np.bincount(at, weight)
        best = np.lexsort((code % span, -np.round(tied, 9), code // span))
        first, chosen = np.unique((code // span)[best], return_index=True)
        label[first] = (code % span)[best][chosen]
    same = (label[graph.src] == label[graph.dst]) & (label[graph.src] >= 0)
    fresh = (label[graph.src] < 0) & (label[graph.dst] < 0)
    component = connected(graph.size, graph.src[same | fresh], graph.dst[same | fresh])
    return named_by_first(component)


def named_by_first(label: Ints) -> Ints:
    """The same partition with labels 0, 1, 2... in the order of their first node."""
    _, first, inverse = np.unique(label, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def modularity(graph: WeightedGraph, label: Ints) -> float:
    """How much more weight lies inside communities than chance would put there (Newman and Girvan 2004), at most 1."""
    total = float(graph.weight.sum())
    if not total:
        return 0.0
    inside = float(graph.weight[label[graph.src] == label[graph.dst]].sum())
    ends = np.bincount(label[graph.src], graph.weight, label.max() + 1)
    ends += np.bincount(label[graph.dst], graph.weight, label.max() + 1)
    return inside / total - float(np.square(ends / (2 * total)).sum())


def groups(label: Ints) -> list[Ints]:
    """The members of each label 0.., ascending."""
    order = np.argsort(label, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(label[order])) + 1) if len(label) else []


class Partitioner(Protocol):
    """What finds communities in one graph."""

    def cold(self, graph: WeightedGraph) -> list[Ints]:
        """From scratch: a label for each position and level, -1 where a level divides it no further."""

    def refined(self, graph: WeightedGraph, label: Ints) -> Ints:
        """What becomes of the partition `label` when everybody may move."""


def hierarchy(
    graph: WeightedGraph,
    last: Sequence[Ints],
    largest: int,
    partitioner: Partitioner,
    unchanged: Callable[[int, Ints], bool] = lambda _level, _members: False,
) -> list[Cluster]:
    """Communities in communities: those of more than `largest` members are divided further. Parents come first.

    `last` are the labels of the last run by level (-1: none), by which each level begins; empty for none. `unchanged`
    says of a level and of positions that they are a community of the last run of which nothing has changed: then its
    parts are those of the last run.
    """
    tree = _Tree(largest, partitioner, unchanged)
    tree.grow(graph, np.arange(graph.size), last, None)
    return tree.found


class _Tree:
    def __init__(self, largest: int, partitioner: Partitioner, unchanged: Callable[[int, Ints], bool]) -> None:
        self._largest, self._partitioner, self._unchanged = largest, partitioner, unchanged
        self.found: list[Cluster] = []

    def grow(self, graph: WeightedGraph, position: Ints, last: Sequence[Ints], parent: int | None) -> None:
        """Divide `graph`, whose nodes are at `position` in the whole graph, into parts of `parent`."""
        if not graph.size:
            return
        if last and (last[0] >= 0).any():
            label = self._kept_or_better(graph, _joined(graph, settle(graph, last[0])))
        else:
            last = self._partitioner.cold(graph)
            label = self._settled(graph, _joined(graph, last[0]))
        parts = groups(label)
        if parent is not None and len(parts) < 2:
            return
        level = 0 if parent is None else self.found[parent].level + 1
        for members in parts:
            if len(members) < MIN_SIZE:
                continue
            number = len(self.found)
            self.found.append(Cluster(level, parent, position[members]))
            if len(members) > self._largest and last[1:] and self._unchanged(level, position[members]):
                self._again(position[members], [labels[members] for labels in last[1:]], number)
            elif len(members) > self._largest:
                part = induced(graph, members)
                below = [labels[part.node] for labels in last[1:]]
                self.grow(part, position[part.node], below, number)

    def _again(self, position: Ints, last: Sequence[Ints], parent: int) -> None:
        """The parts of `parent` as the last run had them."""
        for label in np.unique(last[0][last[0] >= 0]).tolist():
            members = np.flatnonzero(last[0] == label)
            number = len(self.found)
            self.found.append(Cluster(self.found[parent].level + 1, parent, position[members]))
            if last[1:]:
                self._again(position[members], [labels[members] for labels in last[1:]], number)

    def _settled(self, graph: WeightedGraph, label: Ints) -> Ints:
        """A partition that the next run will keep: what that would better is bettered now."""
        while (fresh := self._kept_or_better(graph, label)) is not label:
            label = fresh
        return label

    def _kept_or_better(self, graph: WeightedGraph, label: Ints) -> Ints:
        fresh = _joined(graph, self._partitioner.refined(graph, label))
        return fresh if modularity(graph, fresh) > modularity(graph, label) + GAIN else label


def _joined(graph: WeightedGraph, label: Ints) -> Ints:
    """Communities that are too small become part of the one that they are tied to most."""
    small = np.bincount(label, minlength=1)[label] < MIN_SIZE
    if small.all() or not small.any():
        return named_by_first(label)
    return settle(graph, np.where(small, -1, label))
