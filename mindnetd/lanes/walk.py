"""The graph lane: from the best candidates along weighted relations, both ways, one or more hops, within bounds.

What a note is given is the strongest single way to it: the strength of the candidate where the way begins, times what
its relations are worth, times `DECAY` for each hop after the first (cf. `core.graph.best_ways`), and each note on the
way shares what it has among its ties: one with n of them gives ``1 / sqrt(n)`` along each, between all to all
(n ** 0) and the random walk's even split (1 / n), and nothing where n is above `FAN_OUT`. A relation that speaks
against (``contradicts``) gives less than nothing, and no way leads on from there. Hidden notes are neither walked
through nor ends, and in no count.
The strongest and not the sum: a note that everything links to is not what every question is about.
Measured in docs/decisions/0017-ranking.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mindnetd.core.graph import DECAY, weight_of
from mindnetd.core.typetable import TypeTable
from mindnetd.lanes.facts import Facts
from mindnetd.lanes.graph import EdgeView
from mindnetd.lanes.segments import BoolArray, IntArray

Floats = NDArray[np.float64]
FAN_OUT = 400
"""A note with more ties passes nothing on: it would give each less than a twentieth."""
MOST_WALKED = 50
"""Notes of one hop that the next one leads on from."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What is walked on: the edges as the asker may see them, and the notes (by slot) that are there for him."""

    edges: EdgeView
    shown: BoolArray
    facts: Facts
    table: TypeTable
    weights: Mapping[str, float]
    """Relation -> worth, as `core.graph.weight_of` takes them."""


@dataclass(frozen=True, slots=True)
class Step:
    """The ties of one hop: node left and how many ties it has, node reached, edge, its worth, what it gives."""

    near: IntArray
    far: IntArray
    edge: NDArray[np.int64]
    worth: Floats
    sharing: NDArray[np.int64]
    given: Floats


@dataclass(frozen=True, slots=True)
class Tread:
    """One edge of a way: from a node, by an edge (a place in the columns) of this worth, one of so many."""

    near: int
    edge: int
    worth: float
    sharing: int


@dataclass(frozen=True, slots=True)
class Walk:
    """Where the walk came: ``values`` by node in [-1, 1], 0 where it did not come."""

    ground: Ground
    values: Floats
    steps: tuple[Step, ...]
    strength: Mapping[int, float]
    """Of the nodes where it began."""
    against: bool
    """Something was given less than nothing."""
    giver: IntArray
    """By node: the one where the best way to it begins; -1 where there is none."""

    def way(self, node: int) -> list[Tread]:
        """What the value of a node comes from: the best way to it, then the worst where one speaks against it."""
        found: list[Tread] = []
        for sign in (1.0, -1.0) if self.against else (1.0,):
            best, at, hop = 0.0, np.zeros(0, np.int64), 0
            for place, step in enumerate(self.steps):
                here = np.flatnonzero(step.far == node)
                most = float((step.given[here] * sign).max(initial=0.0))
                if most > best:
                    best, at, hop = most, here, place
            if best:
                found += self._back(at, hop, sign)
        return found

    def _back(self, here: NDArray[np.int64], hop: int, sign: float) -> list[Tread]:
        """The best way by one of these ties of a hop, which reach one node."""
        step, edges = self.steps[hop], self.ground.edges
        given = step.given[here] * sign
        equal = here[given == given.max()].tolist()
        if len(equal) > 1:  # the same one whatever order the edges came in
            names = edges.relations.texts
            equal.sort(key=lambda i: (edges.marks[step.near[i]], names[edges.relation[step.edge[i]]]))
        tie, near = equal[0], int(step.near[equal[0]])
        before = self._back(np.flatnonzero(self.steps[hop - 1].far == near), hop - 1, 1.0) if hop else []
        return [*before, Tread(near, int(step.edge[tie]), float(step.worth[tie]), int(step.sharing[tie]))]


def walk(ground: Ground, slots: Sequence[int], strengths: Sequence[float], hops: int) -> Walk:
    """Walk from the notes at ``slots``, which are so strong (in (0, 1])."""
    edges, size = ground.edges, len(ground.edges.slots)
    nodes, strength = edges.nodes_of[np.array(slots, np.int32)], np.array(strengths, np.float64)
    begun = dict(zip(nodes.tolist(), strengths, strict=True))
    good, bad, visited = np.zeros(size), np.zeros(size), np.zeros(size, bool)
    scale = 1.0 / max(1.0, *map(abs, ground.weights.values())) if ground.weights else 1.0
    giver, start = np.full(size, -1, np.int32), nodes
    steps: list[Step] = []
    for hop in range(1, hops + 1):
        if not len(nodes):
            break
        ties = edges.around(nodes)
        slot = edges.slots[ties.far]
        there = (slot >= 0) & ground.shown[slot]
        near, far, edge = ties.near[there], ties.far[there], ties.edge[there]
        sharing = np.bincount(near, minlength=len(nodes))[near]
        open_to = (sharing <= FAN_OUT) & ~visited[far]  # no way leads back
        near, far, edge, sharing = near[open_to], far[open_to], edge[open_to], sharing[open_to]
        along = worth(ground, edge)
        given = strength[near] * along * scale / np.sqrt(sharing)
        up = np.lexsort((-edges.marks[start[near]], given))  # of equals the same one whatever order they came in
        up = up[given[up] > good[far[up]]]
        giver[far[up]] = start[near[up]]
        np.maximum.at(good, far, given)
        np.minimum.at(bad, far, given)
        steps.append(Step(nodes[near], far, edge, along, sharing, given))
        if hop == hops:
            break
        visited[nodes] = True
        nodes, strength = _onwards(edges, far, given * DECAY, visited)
        start = giver[nodes]
    return Walk(ground, np.clip(good + bad, -1.0, 1.0), tuple(steps), begun, bool(bad.any()), giver)


def _onwards(edges: EdgeView, far: IntArray, given: Floats, visited: BoolArray) -> tuple[IntArray, Floats]:
    """The strongest of the notes that were reached for the first time."""
    fresh = np.flatnonzero((given > 0) & ~visited[far])
    best = np.zeros(len(edges.slots))
    np.maximum.at(best, far[fresh], given[fresh])
    nodes = np.flatnonzero(best)
    nodes = nodes[np.lexsort((edges.marks[nodes], -best[nodes]))[:MOST_WALKED]]
    return nodes.astype(np.int32), best[nodes]


def worth(ground: Ground, edge: NDArray[np.int64]) -> Floats:
    """What going along these edges is worth: their relation's weight, and what their note's type adds, times theirs."""
    edges = ground.edges
    codes = edges.relation[edge]
    by_code = np.array([weight_of(name, ground.weights) for name in edges.relations.texts])
    return (by_code[codes] + _offsets(ground, edge, codes)) * edges.weight[edge]


def _offsets(ground: Ground, edge: NDArray[np.int64], codes: NDArray[np.int16]) -> Floats | float:
    """``edge_weight_offsets`` of the types of the notes that declare the edges; mostly there are none."""
    relations = ground.edges.relations.ids
    given = [kind for kind in ground.table.types.values() if kind.edge_weight_offsets]
    if not given:
        return 0.0
    types = ground.facts.type[ground.edges.slots[ground.edges.src[edge]]]
    kinds = [ground.table.of(text) for text in ground.facts.types.texts]
    offsets = np.zeros(len(edge))
    for kind in given:
        mine = np.array([one is kind for one in kinds])[types]
        for relation, offset in kind.edge_weight_offsets.items():
            if relation in relations:
                offsets += offset * (mine & (codes == relations[relation]))
    return offsets
