"""The pure parts: the weighted graph, the last partition on a new graph, ids carried over, titles, summaries."""

from __future__ import annotations

import graspologic_native
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mindnetd.core.community_ids import SAME, carried_over
from mindnetd.core.leiden_graph import connected, hierarchy, modularity, settle, weighted_graph
from mindnetd.core.summaries import Member, Passage, ranked, summary_of, title_of
from mindnetd.leiden import Leiden, edge_list

EDGES = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30), st.floats(0.1, 5)), min_size=1, max_size=120)


def graph_of(ids: list[str], edges: list[tuple[int, int, float]]):
    columns = np.array([(a, b) for a, b, _ in edges], dtype=np.int64).reshape(-1, 2)
    return weighted_graph(ids, columns[:, 0], columns[:, 1], np.array([w for _, _, w in edges]))


def sets_of(ids: list[str], graph, clusters) -> list[tuple[int, frozenset[str]]]:
    return [(one.level, frozenset(ids[graph.node[n]] for n in one.members)) for one in clusters]


@settings(max_examples=60, deadline=None)
@given(EDGES, st.randoms(use_true_random=False))
def test_communities_depend_on_neither_numbers_nor_order(edges: list[tuple[int, int, float]], chance) -> None:
    """Another numbering, another order and direction of the relations: the same communities."""
    ids = [f"id{n:03}" for n in range(31)]
    first = graph_of(ids, edges)
    numbers = list(range(31))
    chance.shuffle(numbers)
    other_ids = [""] * 31
    for old, new in enumerate(numbers):
        other_ids[new] = ids[old]
    moved = [(numbers[b], numbers[a], w) if chance.random() < 0.5 else (numbers[a], numbers[b], w) for a, b, w in edges]
    chance.shuffle(moved)
    second = graph_of(other_ids, moved)
    one = hierarchy(first, [], 8, Leiden(8))
    two = hierarchy(second, [], 8, Leiden(8))
    assert sets_of(ids, first, one) == sets_of(other_ids, second, two)


@settings(max_examples=60, deadline=None)
@given(EDGES)
def test_parts_lie_in_their_parents_and_nobody_is_in_two(edges: list[tuple[int, int, float]]) -> None:
    graph = graph_of([f"{n:03}" for n in range(31)], edges)
    found = hierarchy(graph, [], 6, Leiden(6))
    for level in {one.level for one in found}:
        members = [n for one in found if one.level == level for n in one.members.tolist()]
        assert len(members) == len(set(members))
    for one in found:
        assert len(one.members) >= 3
        assert (one.parent is None) == (one.level == 0)
        if one.parent is not None:
            above = found[one.parent]
            assert above.level == one.level - 1
            assert set(one.members.tolist()) < set(above.members.tolist())


@settings(max_examples=40, deadline=None)
@given(EDGES, st.tuples(st.integers(0, 30), st.integers(0, 30)))
def test_beginning_from_the_last_run_keeps_it(edges: list[tuple[int, int, float]], fresh: tuple[int, int]) -> None:
    """The same graph again: the same communities. One weak relation more: nobody moves but who is new."""
    ids = [f"{n:03}" for n in range(31)]
    graph = graph_of(ids, edges)
    first = hierarchy(graph, [], 10_000, Leiden(10_000))
    label = np.full(graph.size, -1, dtype=np.int64)
    for number, one in enumerate(first):
        label[one.members] = number
    assert sets_of(ids, graph, hierarchy(graph, [label], 10_000, Leiden(10_000))) == sets_of(ids, graph, first)


class Counting(Leiden):
    """Counts how often it is asked to divide something."""

    asked = 0

    def cold(self, graph):
        self.asked += 1
        return super().cold(graph)

    def refined(self, graph, label):
        self.asked += 1
        return super().refined(graph, label)


@settings(max_examples=40, deadline=None)
@given(EDGES)
def test_a_community_of_which_nothing_has_changed_is_not_divided_again(edges: list[tuple[int, int, float]]) -> None:
    """Its parts are those of the last run; of a changed one they are looked for."""
    ids = [f"{n:03}" for n in range(31)]
    graph = graph_of(ids, edges)
    first = hierarchy(graph, [], 6, Leiden(6))
    last = [np.full(graph.size, -1, dtype=np.int64) for _ in range(1 + max((one.level for one in first), default=0))]
    for number, one in enumerate(first):
        last[one.level][one.members] = number
    large = sum(len(one.members) > 6 for one in first)
    partitioner, told = Counting(6), list[int]()

    def unchanged(level: int, members) -> bool:
        told.append(len(members))
        return (level, frozenset(members.tolist())) in known

    known = {(one.level, frozenset(one.members.tolist())) for one in first}
    again = hierarchy(graph, last, 6, partitioner, unchanged)
    assert sorted(sets_of(ids, graph, again), key=str) == sorted(sets_of(ids, graph, first), key=str)
    whole = Counting(6)
    hierarchy(graph, last, 6, whole)
    if large and len(last) > 1:
        assert told and max(told) > 6
        assert partitioner.asked < whole.asked


@settings(max_examples=30, deadline=None)
@given(EDGES)
def test_modularity_is_the_librarys(edges: list[tuple[int, int, float]]) -> None:
    graph = graph_of([f"{n:03}" for n in range(31)], edges)
    label = np.arange(graph.size) // 4
    if graph.size:
        start = {str(n): value for n, value in enumerate(label.tolist())}
        assert modularity(graph, label) == pytest.approx(graspologic_native.modularity(edge_list(graph), start))


def test_a_new_node_joins_what_it_is_tied_to_most_and_what_fell_apart_is_two() -> None:
    ids = [str(n) for n in range(7)]
    graph = graph_of(ids, [(0, 1, 1.0), (2, 3, 1.0), (6, 0, 1.0), (6, 2, 2.0), (4, 5, 1.0)])
    label = settle(graph, np.array([0, 0, 0, 0, -1, -1, -1]))
    assert label.tolist() == [0, 0, 0, 0, 1, 1, 0]  # the new one holds the two halves together
    apart = settle(graph, np.array([0, 0, 1, 1, 2, 2, -1]))
    assert apart.tolist() == [0, 0, 1, 1, 2, 2, 1]
    parted = graph_of(ids[:4], [(0, 1, 1.0), (2, 3, 1.0)])
    assert settle(parted, np.array([0, 0, 0, 0])).tolist() == [0, 0, 1, 1]


def test_weights_that_are_none_are_left_out() -> None:
    graph = graph_of(["a", "b", "c"], [(0, 1, float("nan")), (1, 2, -1.0), (0, 0, 3.0), (2, 1, 2.0), (1, 2, 0.5)])
    assert (graph.node.tolist(), graph.src.tolist(), graph.dst.tolist()) == ([1, 2], [0], [1])
    assert graph.weight.tolist() == [2.5]
    assert connected(3, np.array([0]), np.array([2])).tolist() == [0, 1, 0]
    assert hierarchy(graph_of([], []), [], 8, Leiden(8)) == []


def test_a_community_goes_on_where_half_is_shared() -> None:
    assert SAME == 0.5
    last = [(0, ("a", "b", "c", "d")), (0, ("e", "f")), (1, ("a", "b"))]
    fresh = [(0, ("a", "b", "x")), (0, ("c", "d", "e", "f")), (0, ("a", "b", "c", "d", "x")), (1, ("a", "b"))]
    assert carried_over(fresh, last) == {2: 0, 1: 1, 3: 2}
    assert carried_over([(0, ("a",))], [(0, ("a", "b", "c"))]) == {}


@given(st.lists(st.frozensets(st.sampled_from("abcdefgh"), min_size=1), max_size=6), st.randoms(use_true_random=False))
def test_who_goes_on_does_not_depend_on_order(found: list[frozenset[str]], chance) -> None:
    last = [(0, tuple(sorted(one))) for one in sorted(set(found), key=sorted)]
    fresh = [(0, tuple(sorted(one | {"z"}))) for one in sorted(set(found), key=sorted)]
    pairs = {fresh[n]: last[m] for n, m in carried_over(fresh, last).items()}
    chance.shuffle(last)
    chance.shuffle(fresh)
    assert {fresh[n]: last[m] for n, m in carried_over(fresh, last).items()} == pairs


def member(name: str, central: float, *, own: bool = False) -> Member:
    return Member(name, (), central, 1.0, own, "concept")


@pytest.mark.parametrize(
    ("names", "title"),
    [
        (["Plugin", "Plugins", "Community plugins", "Canvas", "Graph view"], "Plugin, Canvas, Graph view"),
        (["Introduction to Sync", "Set up Sync", "Version history"], "Sync, Version history"),
        (["Vorlage", "Vorlagen", "Einführung in Bases", "Bases-Syntax", "Ansicht"], "Vorlage, Bases, Ansicht"),
        (["file.size", "file.name", "file.path"], "file.size, file.name, file.path"),
    ],
)
def test_a_title_says_nothing_twice(names: list[str], title: str) -> None:
    members = [member(name, 10.0 - n) for n, name in enumerate(names)]
    assert title_of(members, ranked(members)) == title


def test_a_note_names_a_community_before_code_does() -> None:
    members = [member("strip_tags()", 5.0), member("HTML filters", 3.0, own=True), member("FAQ", 6.0)]
    assert title_of(members, ranked(members), 1) == "HTML filters"


def test_a_summary_is_of_the_notes_own_sentences_and_not_of_one_note_alone() -> None:
    members = [member("Canvas", 5.0, own=True), member("Graph view", 4.0, own=True), member("Card", 1.0)]
    texts = [
        "# Canvas\n\nCanvas is a core plugin for notes on an infinite plane. See [the site](https://example.org/x).\n",
        "# Graph view\n\nGraph view shows the notes of your vault and the links between them.\n\n- Do this now\n",
        "Is Canvas a plugin?\n\nThe weather was fine all day and nobody minded it.\n",
    ]
    passages = [Passage(f"c{n}", n, n, "en", text, n if n < 2 else -1) for n, text in enumerate(texts)]
    found = summary_of(members, ranked(members), passages)
    assert [(one.source, one.text) for one in found] == [
        (0, "Canvas is a core plugin for notes on an infinite plane."),
        (1, "Graph view shows the notes of your vault and the links between them."),
    ]
