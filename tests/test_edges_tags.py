"""Notes that share a rare tag: a pure function of the notes that the asker sees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from store_make import meta

from mindnetd.core.records import NoteMeta
from mindnetd.core.shared_tags import TagTable


def notes(tags: Mapping[str, tuple[str, ...]], **changes: object) -> list[NoteMeta]:
    """A note for each name with these tags."""
    return [meta(key, f"{name}.md", name, tags=tags[name], **changes) for key, name in enumerate(tags, 1)]


def everything(_: NoteMeta) -> bool:
    return True


def test_rare_tags_relate_and_common_ones_do_not() -> None:
    """Without case, in the asked note's spelling; each tag passes on one part in as many as have it, at most 1."""
    found = notes({"b": ("Rare", "x/y", "all"), "a": ("rare", "all", "three"), "c": ("all", "X/Y", "three", "three")})
    table = TagTable([*found, None])
    assert [
        (pair.first.path, pair.second.path, pair.tags, pair.weight) for pair in table.of(found[0], everything, 2)
    ] == [
        ("a.md", "b.md", ("Rare",), 0.5),
        ("b.md", "c.md", ("x/y",), 0.5),
    ]
    assert table.count(everything, 2) == 3
    assert [pair.weight for pair in table.of(found[0], everything, 3)] == [pytest.approx(1 / 3 + 1 / 2)] * 2
    assert table.of(found[0], everything, 1) == () and table.count(everything, 0) == 0


def test_many_shared_tags_are_no_more_than_certain() -> None:
    """The weight never exceeds 1."""
    many = tuple(f"t{number}" for number in range(9))
    one, two = notes({"a": many, "b": many})
    assert TagTable([one, two]).of(one, everything, 8)[0].weight == 1.0


def test_hidden_notes_are_not_counted() -> None:
    """A tag that only a hidden note makes common is rare for who cannot see it; one shared with it alone is none."""
    found = notes({"a": ("x", "y"), "b": ("x",), "c": ("x", "y")})
    shows: Callable[[NoteMeta], bool] = lambda note: note.path != "c.md"  # noqa: E731
    with_hidden, without = TagTable(found), TagTable(found[:2])
    assert with_hidden.of(found[0], everything, 2)[0].second.path == "c.md"
    assert with_hidden.of(found[0], shows, 2) == without.of(found[0], everything, 2) != ()
    assert with_hidden.count(shows, 2) == without.count(everything, 2) == 1


@given(
    st.dictionaries(
        st.sampled_from("abcdef"), st.lists(st.sampled_from(["x", "X", "y", "z/y"]), max_size=3).map(tuple), max_size=6
    ),
    st.sets(st.sampled_from("abcdef")),
    st.integers(0, 4),
)
def test_the_answer_is_that_of_a_table_without_the_hidden(
    tags: dict[str, tuple[str, ...]], hidden: set[str], most: int
) -> None:
    """For every note, both ways, and for the count: by comparing all pairs."""
    found = notes(tags)
    seen = [note for note in found if note.path[0] not in hidden]
    table, alone = TagTable(found), TagTable(seen)
    shows: Callable[[NoteMeta], bool] = lambda note: note.path[0] not in hidden  # noqa: E731
    pairs = set()
    for note in seen:
        answer = table.of(note, shows, most)
        assert answer == alone.of(note, everything, most)
        pairs |= {(pair.first.path, pair.second.path) for pair in answer}
    folded = {note.path: {tag.casefold() for tag in note.tags} for note in seen}
    rare = {tag for tag in ("x", "y", "z/y") if 2 <= sum(tag in have for have in folded.values()) <= most}
    wanted = {pair for pair in combinations(sorted(folded), 2) if folded[pair[0]] & folded[pair[1]] & rare}
    assert pairs == wanted and table.count(shows, most) == len(wanted)
