"""Who the entity graph is made for: askers who see the same notes share one, all others have their own (law 9)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from server_make import World

from mindnetd.core.audiences import NoteSight, audiences_from, divide, name_of, whose
from mindnetd.core.records import FLAGS, VISIBILITIES, Visibility
from mindnetd.corpus_runner import CorpusRunner
from mindnetd.jobs import JobBook
from mindnetd.store.integrity import integrity

LEVELS = st.sampled_from(VISIBILITIES)
SIGHTS = st.lists(st.tuples(LEVELS, st.lists(st.sampled_from(FLAGS), max_size=2)), max_size=12)
GRAPH_TABLES = ("entities", "entity_mentions", "entity_spellings", "relationships", "relationship_mentions")


@given(SIGHTS, LEVELS, st.lists(st.sampled_from(FLAGS), max_size=3))
def test_whoever_asks_gets_the_graph_of_exactly_what_they_see(
    sights: list[tuple[Visibility, list[str]]], highest: Visibility, hiding: list[str]
) -> None:
    """For every set of levels that may be asked for; equal sets of notes are one audience, none of them empty."""
    notes = [NoteSight(key, level, tuple(flags)) for key, (level, flags) in enumerate(sights, 1)]
    found = divide(notes, hiding, highest)
    by_name = {one.name: one for one in found}
    kept = audiences_from(whose(found, hiding, highest).as_json())
    assert kept == whose(found, hiding, highest)
    allowed = VISIBILITIES[: VISIBILITIES.index(highest) + 1]
    for size in range(1, len(allowed) + 1):
        for levels in combinations(allowed, size):
            seen = {n.key for n in notes if n.visibility in levels and not set(hiding) & set(n.flags)}
            name = kept.of(levels)
            assert (set(by_name[name].notes) if name is not None else set()) == seen
            for note in notes:
                assert name is None or kept.admit(name, note.visibility, note.flags) >= (note.key in seen)
    assert len({one.notes for one in found}) == len(found) and all(one.notes for one in found)
    assert all(one.name == name_of(one.levels[0]) for one in found)


def test_the_default_comes_first() -> None:
    notes = [NoteSight(1, "public", ()), NoteSight(2, "internal", ()), NoteSight(3, "sensitive", ())]
    assert [one.name for one in divide(notes, FLAGS, "sensitive")][:2] == [
        "public,internal",
        "public,internal,sensitive",
    ]
    assert [one.name for one in divide(notes, FLAGS, "public")] == ["public"]
    assert [one.name for one in divide(notes[1:2], FLAGS, "sensitive")] == ["public,internal"]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    for number in range(4):
        made.write(f"n{number}.md", "We met Anna Weber of Docker, and Anna Weber told us of `docker_run`.\n\n[[n0]]\n")
    yield made
    assert integrity(made.engine.db) == []
    made.close()


def rows(world: World) -> dict[str, int]:
    with world.engine.db.reader() as reader:
        return {table: reader.rows(f"SELECT count(*) FROM {table}")[0][0] for table in GRAPH_TABLES}


def test_a_vault_where_nothing_is_hidden_has_one_graph(world: World) -> None:
    """In memory and on disk, however much may be asked for: flags that hide a note cost nothing either."""
    world.index()
    world.build_graph()
    before = rows(world)
    world.allow("sensitive")
    world.write("draft.md", "We met Anna Weber of Docker.\n", draft=True)
    world.index()
    world.build_graph()
    graphs = world.engine.entities.graphs
    assert len(graphs.by_name) == 1 and rows(world) == before
    assert graphs.of(["internal"]) is graphs.of(VISIBILITIES) is world.engine.entities.snapshot
    assert not graphs.of(["public"]).id and graphs.of(["public"]).built_at == graphs.built_at


def test_ids_of_communities_go_on_when_an_audience_divides(world: World) -> None:
    """The first public note makes two of the one audience; both keep the communities that they had."""
    world.index()
    world.build_graph()
    before = {one.id for one in world.engine.entities.snapshot.communities}
    world.write("open.md", "Nothing to do with it.\n", visibility="public")
    world.index()
    world.build_graph()
    graphs = world.engine.entities.graphs
    assert set(graphs.by_name) == {"public,internal", "public", "internal"}
    for levels in (("public", "internal"), ("internal",)):
        assert before and {one.id for one in graphs.of(levels).communities} == before


def test_a_save_is_heard_by_those_who_may_see_the_note(world: World) -> None:
    """Before the graph is made anew: of a note that becomes public, internal, hidden in turn."""
    world.write("open.md", "Docker and [[n0]] and Anna Weber.\n", visibility="public")
    world.write("open2.md", "Docker and [[n0]] and Anna Weber.\n", visibility="public")
    world.index()
    world.build_graph()

    def said(*levels: str) -> int:
        graph = world.engine.entities.of(levels)
        keys = [note.key for note in world.engine.hot.snapshot().all_notes() if note.visibility in levels]
        view = graph.visible(keys)
        return sum(int(view.mention_counts[n]) for n in view.find("anna weber"))

    both, public = said("public", "internal"), said("public")
    assert not world.engine.entities.withdrawn()
    world.write("open.md", "Docker and [[n0]] and Anna Weber.\n")
    world.index()
    assert said("public") == public - 1 and said("public", "internal") == both
    assert world.engine.entities.withdrawn()
    world.write("open.md", "Docker and [[n0]] and Anna Weber.\n", visibility="sensitive")
    world.index()
    assert said("public", "internal") == both - 1


def test_a_note_that_is_hidden_has_the_graph_made_anew(world: World) -> None:
    """Without waiting for the schedule: at the next look; so has another maximum of visibility, once."""
    world.index()
    world.build_graph()
    asked: list[bool] = []
    runner = CorpusRunner(world.engine, lambda work: work(), JobBook(lambda: 0.0), lambda: True)
    runner.ask = lambda *_, **__: asked.append(True)  # type: ignore[method-assign]
    look = next(task.action for task in runner.tasks() if task.id == "graph-first")
    look()
    assert asked == []
    world.write("n1.md", "We met Anna Weber of Docker.\n", visibility="sensitive")
    world.index()
    look()
    look()
    assert asked == [True]
    world.allow("sensitive")
    look()
    look()
    assert asked == [True, True]
