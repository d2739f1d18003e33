"""``GET /entities`` and ``/entities/{id}``: what the notes mention, as far as a request may see them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from server_make import Served, World, serve_world

from mindnetd.corpus_runner import build_graph

SHOWN = {
    "people/Ada Lovelace.md": "# Ada Lovelace\n\nAda Lovelace wrote about the [[Analytical Engine]] of"
    " [[Charles Babbage]].\n\n## Notes\n\nThe Analytical Engine weaves patterns.\n",
    "people/Charles Babbage.md": "---\naliases: [Babbage, C. Babbage]\n---\n# Charles Babbage\n\n"
    "Charles Babbage drew the [[Analytical Engine]] and the [[Difference Engine]]. See [[Ada Lovelace]].\n",
    "engines.md": "# Engines\n\nThe [[Difference Engine]] came first.\n\nThen the [[Analytical Engine]],"
    " says [[Babbage]].\n",
    "more.md": "# More\n\n[[Difference Engine]] again, and [[Ada Lovelace]].\n",
    **{f"leaf {n}.md": f"# Leaf {n}\n\nWater number {n} runs down the hill.\n" for n in range(20)},
}
HIDDEN = {
    "secret.md": "# Secret\n\nThe [[Zeppelin Ledger]] of [[Ada Lovelace]] and the [[Analytical Engine]].\n",
    "Charles Babbage jr.md": "# Charles Babbage jr\n\nThe [[Zeppelin Ledger]] calls [[Charles Babbage]] an uncle.\n",
}


def make_world(folder: Path, hidden: bool) -> World:
    folder.mkdir()
    world = World(folder)
    for path, text in SHOWN.items():
        world.write(path, text)
    for path, text in HIDDEN.items() if hidden else ():
        world.write(path, "---\nvisibility: sensitive\n---\n" + text)
    world.index()
    build_graph(world.engine, lambda store: store(), force=True, stop=lambda: False)
    return world


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Served]]:
    """With and without the hidden notes."""
    folder = tmp_path_factory.mktemp("entities")
    worlds = [make_world(folder / name, name == "a") for name in ("a", "b")]
    servers = [serve_world(world, folder / f"{n}.sock") for n, world in enumerate(worlds)]
    yield servers[0], servers[1]
    for server, world in zip(servers, worlds, strict=True):
        server.stop()
        world.close()


@pytest.fixture(scope="module")
def served(both: tuple[Served, Served]) -> Served:
    return both[0]


def names(reply: Any) -> list[str]:
    return [one["name"] for one in reply["entities"]]


def test_the_list_is_by_mentions(served: Served) -> None:
    """Everything that is mentioned, with counts, aliases and the note that it is."""
    reply = served.get("/entities")
    counts = [one["mentions"] for one in reply["entities"]]
    assert counts == sorted(counts, reverse=True) and reply["count"] == len(counts) and reply["next"] is None
    by_name = {one["name"]: one for one in reply["entities"]}
    babbage = by_name["Charles Babbage"]
    assert babbage["path"] == "people/Charles Babbage.md"
    assert babbage["note"] == served.get("/notes/Charles%20Babbage")["note"]["id"]
    assert "Babbage" in babbage["aliases"]
    assert by_name["Analytical Engine"]["note"] is None and by_name["Analytical Engine"]["mentions"] >= 3


def test_stats_count_them(both: tuple[Served, Served]) -> None:
    """As many as the list has for the same reader."""
    for server in both:
        stats, listed = server.get("/stats"), server.get("/entities")
        assert stats["entities"] == listed["count"] > 0 and stats["relationships"] > 0
        assert stats["communities"] == server.get("/communities")["count"]


def test_pages_are_the_list(served: Served) -> None:
    """Page by page, the same entities."""
    found: list[Any] = []
    cursor: str | None = ""
    while cursor is not None:
        page = served.get(f"/entities?limit=2{f'&cursor={cursor}' if cursor else ''}")
        assert len(page["entities"]) <= 2
        found += page["entities"]
        cursor = page["next"]
    assert found == served.get("/entities")["entities"]
    assert served.call("GET", "/entities?cursor=x").status == 400


def test_a_name_finds_it_whatever_its_case(served: Served) -> None:
    """Whole names first, then beginnings, then parts; aliases count; nothing found is an empty list."""
    assert names(served.get("/entities?q=" + quote("analytical ENGINE")))[0] == "Analytical Engine"
    assert {"Analytical Engine", "Difference Engine"} <= set(names(served.get("/entities?q=engine")))
    assert names(served.get("/entities?q=" + quote("c. babbage"))) == ["Charles Babbage"]
    assert names(served.get("/entities?q=nobody")) == []
    kind = served.get("/entities")["entities"][0]["type"]
    assert {one["type"] for one in served.get(f"/entities?type={kind}")["entities"]} == {kind}


def test_one_entity_says_where(served: Served) -> None:
    """Its mentions are lines that have the name; its relations have both ends and places that say so."""
    found = served.get("/entities/" + quote("analytical engine"))
    entity = found["entity"]
    assert served.get(f"/entities/{entity['id']}") == found
    assert {one["path"] for one in found["mentions"]} == {
        "people/Ada Lovelace.md",
        "people/Charles Babbage.md",
        "engines.md",
    }
    for mention in found["mentions"]:
        lines = SHOWN[mention["path"]].split("\n")
        assert "Analytical Engine" in lines[mention["line"] - 1] and "Analytical Engine" in mention["text"]
        chunks = {chunk["id"] for chunk in served.get(f"/notes/{quote(mention['path'], safe='')}")["chunks"]}
        assert mention["chunk"] in chunks
    for relation in found["relationships"]:
        assert entity["name"] in (relation["source"], relation["target"])
        assert relation["count"] > 0 and relation["weight"] > 0
        assert all(place["path"] in SHOWN for place in relation["evidence"])


def test_mentions_come_in_pages(served: Served) -> None:
    """`limit` bounds the mentions, `next` goes on."""
    whole = served.get("/entities/" + quote("Analytical Engine"))["mentions"]
    first = served.get("/entities/" + quote("Analytical Engine") + "?limit=2")
    second = served.get("/entities/" + quote("Analytical Engine") + f"?limit=2&cursor={first['next']}")
    assert first["mentions"] + second["mentions"] == whole and second["next"] is None


def test_hidden_notes_are_not_counted(both: tuple[Served, Served]) -> None:
    """Every reply about what may be seen is that of a vault without the hidden notes, but for what their merges and
    weights decided; nothing that only they mention exists."""
    with_hidden, without = both
    assert "Zeppelin" not in with_hidden.call("GET", "/entities?limit=500").body.decode()
    assert with_hidden.call("GET", "/entities/" + quote("Zeppelin Ledger")).code == "entity_not_found"
    assert names(with_hidden.get("/entities?q=jr")) == []
    mine, theirs = (
        {one["name"]: (one["mentions"], one["aliases"], one["note"]) for one in server.get("/entities")["entities"]}
        for server in both
    )
    assert mine == theirs
    for name in mine:
        one, other = (server.get(f"/entities/{quote(name, safe='')}") for server in both)
        assert one["mentions"] == other["mentions"]
        assert not any("secret" in place["path"] for r in one["relationships"] for place in r["evidence"])
    assert without.call("GET", "/entities?visibility=sensitive").code == "visibility_denied"


def test_what_is_asked_for_is_shown(served: Served) -> None:
    """A request that may see the hidden notes gets them, once the daemon allows it and has made their graph."""
    served.world.allow("sensitive")
    served.world.build_graph()
    try:
        found = served.get("/entities/" + quote("Zeppelin Ledger") + "?visibility=internal,sensitive")
        assert {one["path"] for one in found["mentions"]} <= set(HIDDEN)
        assert found["mentions"]
    finally:
        served.world.allow("internal")
        served.world.build_graph()


def test_what_a_note_no_longer_says_is_gone(tmp_path: Path) -> None:
    """At the next commit, before the graph is made anew."""
    world = make_world(tmp_path / "w", False)
    served = serve_world(world, tmp_path / "s.sock")
    try:
        before = served.get("/entities/" + quote("Difference Engine"))
        world.write("more.md", "# More\n\nNothing to say.\n")
        world.index()
        after = served.get("/entities/" + quote("Difference Engine"))
        assert {one["path"] for one in before["mentions"]} - {one["path"] for one in after["mentions"]} == {"more.md"}
        assert after["entity"]["mentions"] < before["entity"]["mentions"]
    finally:
        served.stop()
        world.close()


def test_without_a_graph_it_says_so(tmp_path: Path) -> None:
    """Before the first corpus-wide stage the list is empty, and one entity's error says why."""
    world = World(tmp_path)
    world.write("a.md", "# A\n")
    world.index()
    served = serve_world(world, tmp_path / "s.sock")
    try:
        reply = served.get("/entities")
        assert reply["entities"] == [] and reply["built_at"] is None
        assert "no entities yet" in served.call("GET", "/entities/x").json()["error"]["message"]
    finally:
        served.stop()
        world.close()
