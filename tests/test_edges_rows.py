"""A save touches only rows of its note and of notes whose links it resolves or unresolves; stubs come and go."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from server_make import World

from benchmarks.link_rows import LinkedVault, measure, steps
from mindnetd.store import read
from mindnetd.store.integrity import integrity


def test_a_save_touches_no_row_of_another_note(tmp_path: Path) -> None:
    """Every row of every table is compared by place and content, for each kind of save (`benchmarks.link_rows`)."""
    vault = LinkedVault(tmp_path, 150)
    try:
        for step in steps(vault):
            done, own, linkers = measure(vault, step)
            assert done.owners <= own | linkers, step[0]
            assert own <= done.owners, step[0]
            if linkers:
                assert linkers <= done.owners, f"{step[0]}: every link that means another file now is written anew"
                rewritten = {table for table in done.deleted if table in ("chunks", "passages", "postings", "notes")}
                assert all(done.deleted[table] <= 30 for table in rewritten), "linkers keep their text rows"
        assert integrity(vault.engine.db) == []
    finally:
        vault.close()


def test_words_alone_rewrite_no_name(tmp_path: Path) -> None:
    """Who linked where stays as it was: a new note resolves links without a new name for anybody to wait for."""
    vault = LinkedVault(tmp_path, 100)
    try:
        done, _, linkers = measure(vault, steps(vault)[2])
        assert linkers and done.written["link_names"] == 1 and "link_names" not in done.deleted
    finally:
        vault.close()


# ------------------------------------------------------------------------------------------------ stubs and ids


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.close()


def ends(world: World, path: str) -> dict[str, tuple[str, str, str | None]]:
    """Relation -> kind, label and `by` of the far end of the edges of a note with one edge a relation."""
    world.index()
    key = world.engine.indexer.known.key(path)
    assert key is not None
    found = read.load_edges(world.engine.db, [key])[key]
    assert len({edge.relation for edge in found}) == len(found)
    return {edge.relation: (edge.dst_kind, edge.dst_label, edge.resolved_by) for edge in found}


def test_a_stub_resolves_by_name_and_returns(world: World) -> None:
    """It keeps the name that was asked for; the note appears, and goes again."""
    world.write("asks.md", "[[Steam Injection|later]]\n", depends_on="Steam injection")
    stub = {
        "references": ("unresolved", "Steam Injection", None),
        "depends_on": ("unresolved", "Steam injection", None),
    }
    assert ends(world, "asks.md") == stub
    world.write("deep/steam injection.md", "There.\n")
    there = ("note", "deep/steam injection.md", None)
    assert ends(world, "asks.md") == {"references": there, "depends_on": there}
    (world.vault / "deep/steam injection.md").unlink()
    assert ends(world, "asks.md") == stub


def test_a_stub_resolves_by_id_and_never_by_alias(world: World) -> None:
    """The id of a note that appears, changes or goes; an alias is no name (`obsidian.md` 2)."""
    world.write("asks.md", "[[x-1]]\n\nsupports:: [[Gone|x-1]]\n", depends_on="x-1")
    world.write("other.md", "Named otherwise.\n", aliases=["x-1"])
    assert {kind for kind, _, _ in ends(world, "asks.md").values()} == {"unresolved"}
    world.write("b.md", "Has it.\n", id="X-1")
    by_id = ("note", "b.md", "id")
    assert ends(world, "asks.md") == {"references": by_id, "supports": by_id, "depends_on": by_id}
    with world.engine.db.reader() as reader:
        rows = reader.rows("SELECT kind, resolved, by_id FROM links WHERE target IN ('x-1', 'Gone') ORDER BY kind")
    assert {(resolved, path) for _, resolved, path in rows} == {(None, "b.md")}, "what Obsidian says stays as it is"
    world.write("b.md", "Has another.\n", id="x-2")
    assert {kind for kind, _, _ in ends(world, "asks.md").values()} == {"unresolved"}
    world.write("x-1.md", "A file of that name.\n")
    named = ("note", "x-1.md", None)
    assert ends(world, "asks.md") == {
        "references": named,
        "supports": ("unresolved", "Gone", None),
        "depends_on": named,
    }


@pytest.mark.parametrize("order", [("a/z.md", "b.md"), ("b.md", "a/z.md")])
def test_an_id_used_twice_means_the_first_path(world: World, order: tuple[str, str]) -> None:
    """Whoever came first; and the other one when the first goes."""
    world.write("asks.md", "", depends_on="twin")
    for path in order:
        world.write(path, "One of two.\n", id="twin")
        world.index()
    assert ends(world, "asks.md") == {"depends_on": ("note", "a/z.md", "id")}
    (world.vault / "a/z.md").unlink()
    assert ends(world, "asks.md") == {"depends_on": ("note", "b.md", "id")}


def test_a_stale_note_keeps_its_edges_and_follows_names(world: World) -> None:
    """Hash mode `frontmatter`: links stay those of the body as it was indexed, whatever else they mean now."""
    head = {"hash_mode": "frontmatter", "type": "concept"}
    world.write("held.md", "First words.\n\nSee [[A]].\n", **head)
    world.write("A.md", "Here.\n")
    first = {"references": ("note", "A.md", None), "related_to": ("note", "A.md", None)}
    assert ends(world, "held.md") == first
    world.write("held.md", "# See also\n\n[[B]] and more\n", **head)
    assert ends(world, "held.md") == first
    (world.vault / "A.md").unlink()
    world.write("held.md", "[[C]]\n", **head)
    gone = ("unresolved", "A", None)
    assert ends(world, "held.md") == {"references": gone, "related_to": gone}
    key = world.engine.indexer.known.key("held.md")
    assert key is not None
    assert {edge.evidence for edge in read.load_edges(world.engine.db, [key])[key]} == {"See [[A]]."}


def test_plain_text_is_no_link_but_is_missed(world: World) -> None:
    """No reply lists it among the links and no diagnostic complains; the list of missing notes has it."""
    world.write("asks.md", "", assigned_to="Bob", id="asks-1", type="task")
    world.index()
    key = world.engine.indexer.known.key("asks.md")
    assert key is not None
    assert [one.link.link.target for one in read.unresolved(world.engine.db)] == ["Bob"]
    codes = {one.diagnostic.code for one in read.diagnostics(world.engine.db, [key])}
    assert "link_unresolved" not in codes
    world.write("bob.md", "", id="Bob")
    world.index()
    assert read.unresolved(world.engine.db) == ()


def test_resolve_again_follows_ids(world: World) -> None:
    """`POST /admin/resolve` answers every link anew, by names and ids, and touches nothing that is right."""
    world.write("asks.md", "[[t-1]]\n", depends_on="t-1")
    world.write("t.md", "", id="t-1")
    wanted = ends(world, "asks.md")
    assert wanted["depends_on"] == wanted["references"] == ("note", "t.md", "id")
    revision = world.engine.db.revision
    indexer = world.engine.indexer
    indexer.resolve(indexer.known.read_paths(), world.engine.new_run("resolve"))
    assert world.engine.db.revision == revision, "nothing was wrong, nothing is written"
    indexer.known.book.set_id("t.md", None)  # what the indexer knows is wrong: a lost id
    indexer.resolve(["asks.md"], world.engine.new_run("resolve"))
    assert {kind for kind, _, _ in ends(world, "asks.md").values()} == {"unresolved"}
    indexer.known.book.set_id("t.md", "t-1")
    indexer.resolve(["asks.md"], world.engine.new_run("resolve"))
    assert ends(world, "asks.md") == wanted
