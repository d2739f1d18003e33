"""Walking a graph of weighted edges: what is around a node, by which best way, and the shortest way between two.

Pure: edges come from a function that is asked for whole levels at a time, so that a walk costs one look-up a hop
whatever the number of nodes. Every result is the same whatever order the edges come in.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from mindnetd.core.rank import RELATION_WEIGHTS

DECAY = 0.5
"""What a hop leaves of the strength of a way."""
MOST_NODES = 20_000
"""Nodes that a search for a way looks at before it gives up."""
LONGEST = 12
"""Hops of the longest way that is searched for."""


@dataclass(frozen=True, slots=True)
class Tie:
    """An edge as a walk sees it; ``weight`` is what going along it is worth, in both directions, below 0 against."""

    id: str
    src: str
    dst: str
    relation: str
    weight: float

    def other(self, end: str) -> str:
        """The far end, seen from `end`."""
        return self.dst if end == self.src else self.src


UNLISTED = 0.5
"""The weight of a relation that is in no table: one that a user made up."""


def weight_of(relation: str, weights: Mapping[str, float] = RELATION_WEIGHTS) -> float:
    """What going along an edge of this relation is worth."""
    return weights.get(relation, UNLISTED)


Around = Callable[[Sequence[str]], Iterable[Tie]]
"""All ties that touch these nodes, in any order; the same tie may come twice."""


@dataclass(slots=True)
class Ball:
    """What `collect` found: hops by node in the order found (the start first), ties by id, whether a limit cut."""

    hops: dict[str, int]
    ties: dict[str, Tie] = field(default_factory=dict)
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class Reach:
    """How well a node is reached: ``score`` is the product over ``way`` of the ties' weights and the decay."""

    score: float
    way: tuple[Tie, ...]


@dataclass(frozen=True, slots=True)
class Way:
    """The ties of a shortest way in order, None where there is none; ``cut`` when the search gave up before the end."""

    ties: tuple[Tie, ...] | None
    cut: bool = False


def collect(
    start: str,
    around: Around,
    depth: int,
    limit: int,
    *,
    ends: Callable[[str], bool] = lambda _: False,
    name: Callable[[str], str] = str,
    induced: bool = True,
) -> Ball:
    """Walk breadth first from `start`, at most `depth` hops and `limit` ties: the nearest first, then the heaviest.

    Among equals those whose ends come first by `name`. Nodes for which `ends` holds are found, but not walked through.
    With `induced` the ties among the nodes of the last hop are looked for too.
    """
    ball = Ball({start: 0})
    strength = {start: 1.0}
    frontier = [start]
    for hop in range(1, depth + 1):
        found = _level(frontier, around, ball, strength, name)
        fresh: list[str] = []
        for tie in found:
            if len(ball.ties) >= limit:
                ball.truncated = True
                return ball
            ball.ties[tie.id] = tie
            for near, far in ((tie.src, tie.dst), (tie.dst, tie.src)):
                if far not in ball.hops:
                    ball.hops[far] = hop
                    strength[far] = strength[near] * abs(tie.weight) * DECAY
                    fresh.append(far)
        frontier = [node for node in fresh if not ends(node)]
        if not frontier:
            return ball
    if induced:
        for tie in _level(frontier, around, ball, strength, name):
            if tie.src in ball.hops and tie.dst in ball.hops:
                if len(ball.ties) >= limit:
                    ball.truncated = True
                    break
                ball.ties[tie.id] = tie
    return ball


def _level(
    frontier: Sequence[str], around: Around, ball: Ball, strength: Mapping[str, float], name: Callable[[str], str]
) -> list[Tie]:
    """The new ties of a frontier, strongest first, equals in a fixed order."""
    inside = set(frontier)
    new = {tie.id: tie for tie in around(frontier) if tie.id not in ball.ties}

    def place(tie: Tie) -> tuple[float, str, str, str, str]:
        near = max((end for end in (tie.src, tie.dst) if end in inside), key=lambda end: strength[end])
        far = tie.other(near)
        return -strength[near] * abs(tie.weight), name(far), tie.relation, name(near), tie.id

    return sorted(new.values(), key=place)


def best_ways(start: str, ties: Iterable[Tie], hops: int, decay: float = DECAY) -> dict[str, Reach]:
    """The best way of at most `hops` ties from `start` to each node that `ties` reach (`start` itself left out).

    Best is the greatest product, its sign aside: a way over a tie of negative weight is as strong, and its score is
    below 0. Equal ways: the shorter, then the lexically first. (Bellman-Ford, cut off after `hops` rounds.)
    """
    near: dict[str, list[Tie]] = {}
    for tie in ties:
        if tie.src != tie.dst and tie.weight:
            near.setdefault(tie.src, []).append(tie)
            near.setdefault(tie.dst, []).append(tie)
    best: dict[str, Reach] = {start: Reach(1.0, ())}
    layer = {start: best[start]}
    for _ in range(hops):
        reached: dict[str, Reach] = {}
        for node, reach in layer.items():
            seen = {start, *(end for tie in reach.way for end in (tie.src, tie.dst))}
            for tie in near.get(node, ()):
                far = tie.other(node)
                if far not in seen:
                    way = Reach(reach.score * tie.weight * decay, (*reach.way, tie))
                    if far not in reached or _rank(way) < _rank(reached[far]):
                        reached[far] = way
        layer = {node: way for node, way in reached.items() if node not in best or _rank(way) < _rank(best[node])}
        best.update(layer)
    del best[start]
    return best


def _rank(reach: Reach) -> tuple[float, int, tuple[str, ...]]:
    # rounded: the order of the factors must not decide
    return round(-abs(reach.score), 12), len(reach.way), tuple(tie.id for tie in reach.way)


def shortest_way(
    start: str,
    goal: str,
    around: Around,
    *,
    through: Callable[[str], bool] = lambda _: True,
    name: Callable[[str], str] = str,
    bounds: tuple[int, int] = (LONGEST, MOST_NODES),
) -> Way:
    """A way of fewest ties from `start` to `goal`, whatever their direction; only over nodes that `through` allows.

    Among several the one with the greatest product of weights (without signs), then the one whose nodes come first by
    `name`. `bounds` are the most ties of a way and the most nodes that are looked at. (Breadth-first search by levels,
    then the heaviest way through the levels.)
    """
    longest, most = bounds
    if start == goal:
        return Way(())
    levels: list[dict[str, list[Tie]]] = []
    seen = {start}
    frontier: Collection[str] = [start]
    while frontier and goal not in seen:
        if len(levels) >= longest or len(seen) > most:
            return Way(None, cut=True)
        into: dict[str, dict[str, Tie]] = {}
        inside = set(frontier)
        for tie in around(sorted(frontier)):
            for near, far in ((tie.src, tie.dst), (tie.dst, tie.src)):
                if near in inside and far not in seen and (far == goal or through(far)):
                    into.setdefault(far, {})[tie.id] = tie
        seen.update(into)
        levels.append({node: list(ties.values()) for node, ties in into.items()})
        frontier = into.keys()
    if goal not in seen:
        return Way(None)
    return Way(_heaviest(goal, levels, name))


def _heaviest(goal: str, levels: Sequence[Mapping[str, Sequence[Tie]]], name: Callable[[str], str]) -> tuple[Tie, ...]:
    """Of all shortest ways that end in `goal` the heaviest, by going through the levels from the start."""
    wanted: list[set[str]] = [{goal}]
    for level in reversed(levels):
        wanted.insert(0, {tie.other(node) for node in wanted[0] for tie in level[node]})
    best = {node: Reach(1.0, ()) for node in wanted[0]}
    for level, nodes in zip(levels, wanted[1:], strict=True):
        best = {
            node: min(
                (
                    Reach(before.score * abs(tie.weight), (*before.way, tie))
                    for tie in level[node]
                    if (before := best.get(tie.other(node))) is not None
                ),
                key=lambda reach: _place(reach, node, name),
            )
            for node in nodes
        }
    return best[goal].way


def _place(reach: Reach, node: str, name: Callable[[str], str]) -> tuple[float, tuple[str, ...], tuple[str, ...]]:
    at, nodes = node, [node]
    for tie in reversed(reach.way):
        at = tie.other(at)
        nodes.append(at)
    return round(-reach.score, 12), tuple(name(one) for one in reversed(nodes)), tuple(tie.id for tie in reach.way)
