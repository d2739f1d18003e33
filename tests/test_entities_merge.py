"""Merging: no chain, no order, nothing that says that it differs. Co-occurrence: only what chance does not give."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mindnetd.core.cooccur import log_likelihood, npmi, pairs_of
from mindnetd.core.entities import Census
from mindnetd.core.entity_records import CorpusNote
from mindnetd.core.entity_types import type_of_name, type_of_note
from mindnetd.core.merge import apart, canonical, merge_names


def unit(rows: list[list[float]]) -> np.ndarray:
    matrix = np.array(rows, dtype=np.float32)
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def on_a_circle(*degrees: float) -> np.ndarray:
    return unit([[np.cos(np.radians(d)), np.sin(np.radians(d))] for d in degrees])


def test_a_chain_does_not_join_its_ends() -> None:
    """A~B and B~C are near, A and C are not: B goes to the nearer one, and C stays alone."""
    assert merge_names(on_a_circle(0, 20, 45), 0.85) == [[0, 1]]


def test_the_threshold_is_exclusive() -> None:
    """A cosine of exactly the threshold is not above it."""
    assert merge_names(unit([[1, 0], [1, 0]]), 1.0) == []
    assert merge_names(unit([[1, 0], [1, 0]]), 0.999) == [[0, 1]]
    assert merge_names(np.zeros((0, 3), dtype=np.float32), 0.85) == []


def test_pairs_that_must_differ_stay_apart_even_through_a_third() -> None:
    """Two notes that are near one name: only one of them gets it."""
    groups = merge_names(on_a_circle(0, 5, 11), 0.85, lambda a, b: {a, b} == {0, 2})
    assert groups == [[0, 1]]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 180, allow_nan=False), min_size=1, max_size=14), st.randoms(use_true_random=False))
def test_groups_are_near_throughout_and_do_not_depend_on_the_order(
    degrees: list[float], shuffle: random.Random
) -> None:
    """Every pair of a group is above the threshold; names that come in another order, sorted again, give the same."""
    vectors = on_a_circle(*degrees)
    groups = merge_names(vectors, 0.85)
    cosines = vectors @ vectors.T
    assert all(cosines[a, b] > 0.85 - 1e-4 for group in groups for a in group for b in group)
    assert len({member for group in groups for member in group}) == sum(map(len, groups)), "each name is in one group"

    order = list(range(len(degrees)))
    shuffle.shuffle(order)
    back = np.argsort(order)
    assert merge_names(vectors[order][back], 0.85) == groups


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *(
            ("api v1.2", "api v1.3"),
            ("gpt-3", "gpt-4"),
            ("left sidebar", "right sidebar"),
            ("world war i", "world war ii"),
        ),
        *(
            ("docker", "dockerfile"),
            ("import data", "export data"),
            ("linker rand 1", "linker rand"),
            ("sync", "syncthing"),
        ),
    ],
)
def test_names_that_say_that_they_differ(one: str, other: str) -> None:
    """Other numbers and versions, opposites, words that are built on one another; either way round."""
    assert apart(one, other) and apart(other, one)


@pytest.mark.parametrize(("one", "other"), [("graph view", "graph views"), ("notiz", "notizen"), ("gpt-4", "gpt 4")])
def test_names_that_may_be_one(one: str, other: str) -> None:
    """Inflections and spellings."""
    assert not apart(one, other)


def test_the_canonical_name() -> None:
    """Most mentions; ties go to the first in the alphabet."""
    assert canonical([("b", 2), ("a", 2), ("c", 1)]) == "a"
    assert canonical([("b", 3), ("a", 2)]) == "b"


def test_log_likelihood_by_hand() -> None:
    """Dunning's own kind of table: 10 together, 20 and 20 alone, of 1000; and independence gives 0."""
    both, each = np.array([10]), np.array([20])
    table = [(10, 10), (10, 970)]
    total, wanted = 1000, 0.0
    for row in table:
        for column, count in enumerate(row):
            expected = sum(row) * sum(line[column] for line in table) / total
            wanted += 2 * count * np.log(count / expected)
    assert log_likelihood(both, each, each, total)[0] == pytest.approx(wanted)
    assert log_likelihood(np.array([1]), np.array([10]), np.array([10]), 100)[0] == pytest.approx(0, abs=1e-9)
    assert npmi(np.array([5]), np.array([5]), np.array([5]), 100)[0] == pytest.approx(1.0)
    assert npmi(np.array([1]), np.array([10]), np.array([10]), 100)[0] == pytest.approx(0.0)


def test_only_pairs_beyond_chance() -> None:
    """0 and 1 share five chunks of a hundred; 2 is everywhere, so its pairs say nothing; 3 and 4 met once."""
    mentions = [(0, c) for c in range(5)] + [(1, c) for c in range(5)] + [(2, c) for c in range(100)] + [(3, 9), (4, 9)]
    shuffled = mentions[:]
    random.Random(3).shuffle(shuffled)
    results = []
    for given_order in (mentions, shuffled):
        columns = np.array(given_order, dtype=np.int64)
        results.append(pairs_of(columns[:, 0], columns[:, 1], 5, 100))
    first, second = results
    assert list(zip(first.one.tolist(), first.other.tolist(), first.count.tolist(), strict=True)) == [(0, 1, 5)]
    assert first.chunk.tolist() == [0, 1, 2, 3, 4]
    assert first.weight.tolist() == second.weight.tolist() and first.chunk.tolist() == second.chunk.tolist()
    empty = np.zeros(0, dtype=np.int64)
    assert len(pairs_of(empty, empty, 0, 0).one) == 0


@pytest.mark.parametrize(
    ("name", "kinds", "wanted"),
    [
        ("Anna Weber", {"phrase"}, "person"), ("publish.css", {"code"}, "file"), ("run_it", {"code"}, "technology"),
        ("Acme GmbH", {"phrase"}, "organisation"), ("Berlin", {"phrase"}, "place"), ("red", {"tag"}, "tag"),
        ("JSON", {"codeword"}, "technology"), ("Projekt Nordlicht", {"phrase"}, "project"),
        ("Freedom", {"phrase"}, "concept"),
        ("PyCon Conference", {"phrase"}, "event"),
    ],
)  # fmt: skip
def test_types_by_name(name: str, kinds: set[str], wanted: str) -> None:
    """What a name and its uses suggest."""
    assert type_of_name(name, kinds) == wanted


def test_a_notes_own_type_wins() -> None:
    """Else its folder's, else its name's."""
    assert type_of_note("recipe", "People/Anna Weber.md", "Anna Weber", {"title"}) == "recipe"
    assert type_of_note(None, "02 Projekte/Nordlicht.md", "Nordlicht", {"title"}) == "project"
    assert type_of_note(None, "x/Anna Weber.md", "Anna Weber", {"title"}) == "person"


def test_notes_whose_paths_differ_in_case_alone_are_two_entities() -> None:
    """One title, one folded path: the third of them had the key, and so the id, of the second."""
    paths = ("CASE.md", "Case.md", "case.md", "x/Case.md")
    notes = [CorpusNote(key, f"id{key}", path, "Case", None, "en") for key, path in enumerate(paths)]
    census = Census(notes, {}, {}, 4)
    assert len({slot.key for slot in census._of_note.values()}) == len(paths)
