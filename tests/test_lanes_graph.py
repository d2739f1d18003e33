"""The resident edges: any commits leave what a fresh load gives; looked up both ways; hidden notes are no way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mindnetd.core.identity import edge_uuid
from mindnetd.core.rank import RELATION_WEIGHTS
from mindnetd.core.records import Edge
from mindnetd.core.typetable import DEFAULT_TYPES, NoteType, TypeTable
from mindnetd.lanes import graph
from mindnetd.lanes.facts import no_facts
from mindnetd.lanes.graph import EdgeRows, EdgeTable
from mindnetd.lanes.walk import FAN_OUT, Ground, Walk, walk

NOTES = tuple("abcdefgh")
RELATIONS = ("references", "depends_on", "contradicts", "made up")


def edge(src: str, dst: str, relation: str = "references", weight: float = 1.0, **changes: Any) -> Edge:
    """An edge between two notes."""
    values: dict[str, Any] = {
        "id": edge_uuid(relation, "declared", src, dst, "note"), "src_id": src, "dst_id": dst, "src_kind": "note",
        "dst_kind": "note", "dst_label": dst, "relation": relation, "scope": "note", "source": "declared",
        "weight": weight, "occurrences": 1, "evidence": "",
    }  # fmt: skip
    return Edge(**{**values, **changes})


def table_of(*edges: Edge, notes: tuple[str, ...] = NOTES) -> EdgeTable:
    """A table in which every note is at the slot of its place."""
    table = EdgeTable()
    table.place(notes, range(len(notes)), len(notes))
    owners: dict[str, list[Edge]] = {}
    for one in edges:
        owners.setdefault(one.src_id, []).append(one)
    table.replace(list(owners.items()))
    return table


def around(table: EdgeTable, *names: str) -> set[tuple[str, str, str]]:
    """(near, far, relation) of the ties of some notes."""
    view = table.view()
    ids = {number: name for name, number in view.numbers.items()}
    nodes = np.array([view.numbers[name] for name in names], np.int32)
    ties = view.around(nodes)
    return {
        (ids[int(nodes[near])], ids[int(far)], view.relations.texts[view.relation[one]])
        for near, far, one in zip(ties.near, ties.far, ties.edge, strict=True)
    }


edges = st.builds(edge, st.sampled_from(NOTES), st.sampled_from(NOTES), st.sampled_from(RELATIONS))
saves = st.tuples(st.sampled_from(NOTES), st.lists(edges, max_size=6), st.booleans())


@settings(max_examples=200, deadline=None)
@given(history=st.lists(saves, max_size=25), tail=st.sampled_from([0, 3, 512]))
def test_any_commits_equal_a_fresh_load(history: list[tuple[str, list[Edge], bool]], tail: int) -> None:
    """Saves and removals in any order, merged often or never: the living edges, and every look-up, of a fresh load."""
    kept, graph._LONG_TAIL = graph._LONG_TAIL, tail
    try:
        table, known = table_of(), dict[str, list[Edge]]()
        for owner, made, gone in history:
            old = table.view()
            held = old.held()
            own = [edge(owner, one.dst_id, one.relation) for one in made]
            known.pop(owner, None)
            if gone:
                table.drop([owner])
            else:
                table.place([owner], [NOTES.index(owner)], len(NOTES))
                table.replace([(owner, own)])
                known[owner] = own
            assert old.held() == held, "a reader's view does not change"
    finally:
        graph._LONG_TAIL = kept
    fresh, rows = EdgeTable(), [one for own in known.values() for one in own]
    fresh.place(NOTES, range(len(NOTES)), len(NOTES))
    columns = ([getattr(one, name) for one in rows] for name in ("src_id", "dst_id", "relation", "source", "weight"))
    fresh.load(EdgeRows(*columns))
    assert table.view().held() == fresh.view().held() == table.renumbered().view().held()
    for name in NOTES:
        expected = {(name, one.dst_id, one.relation) for one in known.get(name, ()) if one.dst_id != name}
        expected |= {(name, one.src_id, one.relation) for one in rows if one.dst_id == name != one.src_id}
        assert around(table, name) == around(fresh, name) == expected


def test_an_edge_waits_for_its_note() -> None:
    """What leads to a file that is no note yet leads to the note as soon as it is one, and the row is not rewritten."""
    table = table_of(edge("a", "later"))
    assert values(table, {"a": 1.0}) == {}
    table.place(["later"], [len(NOTES)], len(NOTES) + 1)
    assert set(values(table, {"a": 1.0}, names=(*NOTES, "later"))) == {"later"}


def test_files_and_addresses_are_no_notes() -> None:
    """Only edges between two notes are kept; none to the note itself."""
    odd = [edge("a", "b", dst_kind="file"), edge("a", "c", src_kind="file"), edge("a", "a")]
    assert table_of(*odd).view().held() == []


# -------------------------------------------------------------------------------------------------------------- walking


def ground(table: EdgeTable, hidden: str = "", types: TypeTable = DEFAULT_TYPES, **note_types: str) -> Ground:
    view = table.view()
    shown = np.array([name not in hidden for name in [*NOTES, "later"][: len(view.nodes_of)]])
    facts = no_facts()
    codes = [facts.types.give(note_types.get(name, "")) for name in NOTES]
    facts = type(facts)(
        facts.at, np.array(codes, np.int16), facts.weight, facts.relevance, facts.fixed_time, facts.types
    )
    return Ground(view, shown, facts, types, RELATION_WEIGHTS)


def walked(table: EdgeTable, starts: dict[str, float], hops: int = 1, hidden: str = "", **types: Any) -> Walk:
    return walk(ground(table, hidden, **types), [NOTES.index(name) for name in starts], list(starts.values()), hops)


def values(
    table: EdgeTable, starts: dict[str, float], hops: int = 1, hidden: str = "", names: tuple[str, ...] = NOTES,
    **types: Any,
) -> dict[str, float]:  # fmt: skip
    """Note -> what it is given, as far as it is anything."""
    found = walked(table, starts, hops, hidden, **types)
    numbers = found.ground.edges.numbers
    return {name: round(float(found.values[numbers[name]]), 6) for name in names if found.values[numbers[name]]}


def test_the_value_is_strength_times_worth_over_the_root_of_the_ties() -> None:
    """Relations count relative to the greatest weight (1.2); of four ties each gets a half; both directions."""
    four = table_of(edge("a", "b"), edge("c", "a", "depends_on"), edge("a", "d", "made up"), edge("e", "a", "supports"))
    assert values(four, {"a": 0.5}) == {
        "b": pytest.approx(0.5 * 1.0 / 1.2 / 2, abs=1e-6),
        "c": pytest.approx(0.25, abs=1e-6),
        "e": pytest.approx(0.5 * 1.0 / 1.2 / 2, abs=1e-6),
        "d": pytest.approx(0.5 * 0.5 / 1.2 / 2, abs=1e-6),
    }  # fmt: skip


def test_the_strongest_way_counts_not_the_sum() -> None:
    """Two starts with one neighbour: what the stronger one gives."""
    table = table_of(edge("a", "c"), edge("b", "c"))
    assert values(table, {"a": 1.0, "b": 0.5}) == {"c": pytest.approx(1 / 1.2, abs=1e-6)}


def test_an_edge_is_worth_its_own_weight_and_what_the_type_adds() -> None:
    """A rule edge of 0.4 gives 0.4 as much; `edge_weight_offsets` of the declaring note's type are added first."""
    table = table_of(edge("a", "b", weight=0.4))
    assert values(table, {"a": 1.0})["b"] == pytest.approx(0.4 / 1.2, abs=1e-6)
    types = TypeTable({"task": NoteType(edge_weight_offsets={"references": 0.2})}, (), {})
    assert values(table, {"a": 1.0}, types=types, a="task")["b"] == pytest.approx(1.2 * 0.4 / 1.2, abs=1e-6)
    assert values(table, {"b": 1.0}, types=types, a="task")["a"] == pytest.approx(1.2 * 0.4 / 1.2, abs=1e-6)
    assert values(table, {"a": 1.0}, types=types, b="task")["b"] == pytest.approx(0.4 / 1.2, abs=1e-6)


def test_contradicts_speaks_against_and_leads_nowhere() -> None:
    """A value below 0, and nothing for the notes behind it; a good way to the same note is set against it."""
    against = edge("a", "b", "contradicts")
    assert values(table_of(against, edge("b", "c")), {"a": 1.0}, hops=2) == {"b": pytest.approx(-0.75, abs=1e-6)}
    both = values(table_of(against, edge("d", "b")), {"a": 1.0, "d": 1.0})
    assert both == {"b": pytest.approx(1 / 1.2 - 0.9 / 1.2, abs=1e-6)}


def test_each_further_hop_leaves_a_half() -> None:
    """a - b - c - d: shared at b and c, halved by each hop; nothing comes back to where it was."""
    table = table_of(edge("a", "b"), edge("b", "c"), edge("c", "d"))
    one = 1 / 1.2
    two = one * 0.5 * one / 2**0.5
    assert values(table, {"a": 1.0}, hops=3) == {
        "b": pytest.approx(one, abs=1e-6), "c": pytest.approx(two, abs=1e-6),
        "d": pytest.approx(two * 0.5 * one / 2**0.5, abs=1e-6),
    }  # fmt: skip
    assert set(values(table, {"a": 1.0}, hops=1)) == {"b"} and values(table, {"a": 1.0}, hops=0) == {}


def test_hidden_notes_are_no_way_no_end_and_in_no_count() -> None:
    """Everything is as if the note were not there, also how much its neighbours share."""
    table = table_of(edge("a", "b"), edge("b", "c"), edge("a", "d"))
    assert values(table, {"a": 1.0}, hops=2, hidden="b") == values(table_of(edge("a", "d")), {"a": 1.0}, hops=2)


def test_a_note_with_too_many_ties_passes_nothing_on() -> None:
    """The fan-out is bounded."""
    many = tuple(f"n{n}" for n in range(FAN_OUT + 1))
    table = table_of(*(edge("a", name) for name in many), notes=("a", *many))
    view = table.view()
    everything = Ground(view, np.ones(len(many) + 1, bool), no_facts(), TypeTable({}, (), {}), RELATION_WEIGHTS)
    assert not walk(everything, [0], [1.0], 1).values.any()
    assert walk(everything, [1], [1.0], 1).values[view.numbers["a"]] == pytest.approx(1 / 1.2, abs=1e-6)


def test_the_way_is_told_whatever_the_order_of_the_edges() -> None:
    """Equal ways: the same one; a way of two hops in its order, each edge with its worth and ties."""
    rows = [edge("a", "b"), edge("b", "c"), edge("d", "c"), edge("a", "d")]
    ways = []
    for order in (rows, rows[::-1]):
        found = walked(table_of(*order), {"a": 1.0}, 2)
        edges = found.ground.edges
        names = {number: name for name, number in edges.numbers.items()}
        way = found.way(edges.numbers["c"])
        ways.append([(names[t.near], names[int(edges.dst[t.edge])], t.worth, t.sharing) for t in way])
    assert ways[0] == ways[1] and [near for near, *_ in ways[0]] in (["a", "b"], ["a", "d"])
    assert [(worth, sharing) for *_, worth, sharing in ways[0]] == [(1.0, 2), (1.0, 2)]
