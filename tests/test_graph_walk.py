"""The walks of ``core.graph`` against plain searches over every way."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindnetd.core.graph import Tie, best_ways, collect, shortest_way, weight_of
from mindnetd.core.graph_masks import link_diagnostics, masked
from mindnetd.core.records import Link, ResolvedLink
from mindnetd.core.resolve import IdIndex

NODES = "abcdefg"
RELATIONS = ("references", "related_to", "depends_on", "contradicts", "my own")


@st.composite
def nets(draw: st.DrawFn) -> list[Tie]:
    ends = st.tuples(st.sampled_from(NODES), st.sampled_from(NODES), st.sampled_from(RELATIONS))
    found = draw(st.lists(ends, max_size=14, unique=True))
    return [Tie(f"{s}-{r}-{d}", s, d, r, weight_of(r)) for s, d, r in found]


def around(ties: Sequence[Tie]):
    """The look-up that a walk uses; the order is not to be relied on."""

    def look(ids: Sequence[str]) -> Iterable[Tie]:
        assert len(ids) == len(set(ids))
        found = [tie for tie in ties if tie.src in ids or tie.dst in ids]
        random.Random(len(ids)).shuffle(found)
        return found

    return look


def ways(ties: Sequence[Tie], start: str, longest: int) -> Iterator[tuple[str, tuple[Tie, ...]]]:
    """Every simple way from ``start``."""

    def go(at: str, seen: frozenset[str], way: tuple[Tie, ...]) -> Iterator[tuple[str, tuple[Tie, ...]]]:
        for tie in ties:
            if at in (tie.src, tie.dst) and tie.other(at) not in seen and tie.src != tie.dst:
                far = tie.other(at)
                yield far, (*way, tie)
                if len(way) + 1 < longest:
                    yield from go(far, seen | {far}, (*way, tie))

    yield from go(start, frozenset(start), ())


def product(way: Sequence[Tie], decay: float = 1.0) -> float:
    out = 1.0
    for tie in way:
        out *= tie.weight * decay
    return out


@given(nets(), st.integers(1, 3))
def test_the_best_way_is_the_best_of_all(ties: list[Tie], hops: int) -> None:
    """No simple way of so many hops is stronger, and the score is the product along it."""
    found = best_ways("a", ties, hops)
    best: dict[str, float] = {}
    for far, way in ways(ties, "a", hops):
        best[far] = max(best.get(far, 0.0), abs(product(way, 0.5)))
    assert {node: abs(reach.score) for node, reach in found.items()} == pytest.approx(best)
    for reach in found.values():
        assert reach.score == pytest.approx(product(reach.way, 0.5)) and len(reach.way) <= hops


@given(nets())
def test_the_shortest_way_is_short_then_heavy_then_first(ties: list[Tie]) -> None:
    """Against all simple ways."""
    every = [way for far, way in ways(ties, "a", len(NODES)) if far == "b"]
    found = shortest_way("a", "b", around(ties))
    if not every:
        assert found.ties is None and not found.cut
        return

    def nodes(way: Sequence[Tie]) -> list[str]:
        at, out = "a", []
        for tie in way:
            at = tie.other(at)
            out.append(at)
        return out

    assert found.ties is not None
    least = min(every, key=lambda way: (len(way), round(-abs(product(way)), 9), nodes(way), [tie.id for tie in way]))
    assert found.ties == least


@given(nets(), st.integers(1, 4), st.integers(1, 14), st.randoms())
def test_a_walk_does_not_depend_on_the_order(ties: list[Tie], depth: int, limit: int, rng: random.Random) -> None:
    """The same nodes, ties and cut for any order of the edges; each tie touches what was reached before."""
    ball = collect("a", around(ties), depth, limit)
    mixed = list(ties)
    rng.shuffle(mixed)
    again = collect("a", around(mixed), depth, limit)
    assert (ball.hops, list(ball.ties), ball.truncated) == (again.hops, list(again.ties), again.truncated)
    assert len(ball.ties) <= limit and max(ball.hops.values()) <= depth
    whole = collect("a", around(ties), depth, 1000)
    assert list(ball.ties) == list(whole.ties)[:limit] and ball.truncated == (len(whole.ties) > limit)
    reached = {"a"}
    for tie in ball.ties.values():
        assert {tie.src, tie.dst} & reached
        reached |= {tie.src, tie.dst}


def test_a_walk_does_not_go_through_ends() -> None:
    """What ends a walk is found, but nothing behind it."""
    ties = [Tie("1", "a", "url", "references", 1.0), Tie("2", "b", "url", "references", 1.0)]
    assert set(collect("a", around(ties), 4, 100, ends=lambda node: node == "url").hops) == {"a", "url"}
    assert shortest_way("a", "b", around(ties), through=lambda node: node != "url").ties is None


def test_a_search_gives_up_and_says_so() -> None:
    """Too far, or too much to look at: no way, and that it was cut."""
    chain = [Tie(str(n), f"n{n:02}", f"n{n + 1:02}", "references", 1.0) for n in range(30)]
    near, far = shortest_way("n00", "n12", around(chain)), shortest_way("n00", "n13", around(chain))
    assert near.ties is not None and len(near.ties) == 12 and far.ties is None and far.cut
    star = [Tie(str(n), "hub", f"leaf{n}", "references", 1.0) for n in range(30)]
    assert shortest_way("leaf0", "nowhere", around(star), bounds=(12, 5)).cut
    assert shortest_way("a", "a", around([])).ties == ()


def test_weights() -> None:
    """Those of the design; a relation of one's own is half a reference."""
    assert (weight_of("depends_on"), weight_of("contradicts"), weight_of("führt zu")) == (1.2, -0.9, 0.5)


def link(target: str, line: int, relation: str = "references") -> Link:
    return Link("wikilink", f"[[{target}]]", target, line=line, relation=relation)


def test_a_link_to_a_hidden_note_leads_nowhere() -> None:
    """By whatever name it calls the note; a link to another note is left alone. Its edges: `test_edges_hidden.py`."""
    links = [
        ResolvedLink(link("X", 1), "X.md"),
        ResolvedLink(link("sub/X", 3), "X.md"),
        ResolvedLink(link("x-1", 5), None, by_id="X.md"),
    ]
    links.append(ResolvedLink(link("Y", 6), "Y.md"))
    ids = IdIndex()
    ids.set("Z.md", "x-2")
    links.append(ResolvedLink(Link("wikilink", "[[X|x-2]]", "X", display="x-2"), "X.md"))
    shown = masked(links, {"X.md"}, ids)
    assert [one.leads_to for one in shown] == [None, None, None, "Y.md", "Z.md"]
    assert [one.code for one in link_diagnostics(shown)] == ["link_unresolved"] * 4
