"""Graph questions over the socket: ways, scores, orphans, related notes, and what a hidden note may not change."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import pytest
from server_make import Served, World, serve_world

from mindnetd.core.graph import DECAY
from mindnetd.core.records import Visibility
from mindnetd.serving.redact import Redactor
from mindnetd.serving.view import View

HIDDEN = {"sub/Vault.md": "Hidden words, see [[hub]] and [[Only hidden]].\n", "twin two/Same.md": "twin\n"}


def fill(world: World, hidden: Visibility | None = "sensitive") -> None:
    """A small net; ``hidden`` is the level of the notes that must leave no trace, None: they are not there."""
    world.write(
        "hub.md", "Start: [[left]], [[Vault]], [again](sub/Vault.md), [[sub/Vault]] and [[gone]], [[Gone.md]].\n"
    )
    world.write("left.md", "depends_on:: [[middle]]\n\nAlso [[Same]] and [[Vault]].\n")
    world.write("middle.md", "On to [[right]].\n", type="concept")
    world.write("right.md", "The end. [site](https://example.org/x)\n", up="[[hub two]]")
    world.write("hub two.md", "[site](https://example.org/x), myself [[#Heading]]\n\n# Heading\n")
    world.write("alone.md", "Nobody links here. [[gone]] [[Vault]]\n")
    world.write("far.md", "[[Vault]]\n")
    world.write("twin/Same.md", "the shown one\n")
    if hidden:
        for path, text in HIDDEN.items():
            world.write(path, text, visibility=hidden)
    world.index()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("graph")
    world = World(folder)
    fill(world)
    running = serve_world(world, folder / "s.sock")
    yield running
    running.stop()
    world.close()


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The same vault that never had the hidden notes."""
    folder = tmp_path_factory.mktemp("without")
    world = World(folder)
    fill(world, hidden=None)
    running = serve_world(world, folder / "s.sock")
    yield running
    running.stop()
    world.close()


def labels(reply: dict[str, Any]) -> list[str]:
    return [node["label"] for node in reply["nodes"]]


def test_a_path_has_its_nodes_and_the_evidence(served: Served) -> None:
    """Fewest hops, whatever the direction, each edge with the line that says so."""
    reply = served.get("/path?from=hub&to=right")
    assert reply["found"] and reply["hops"] == 3 and labels(reply) == ["hub", "left", "middle", "right"]
    assert [edge["relation"] for edge in reply["edges"]] == ["references", "depends_on", "references"]
    assert reply["edges"][1]["evidence"] == "depends_on:: [[middle]]" and reply["edges"][1]["line"] == 1
    back = served.get("/path?from=right&to=hub")
    assert labels(back) == ["right", "middle", "left", "hub"] and back["edges"] == reply["edges"][::-1]


def test_no_path_is_a_clear_answer(served: Served) -> None:
    """Neither a shared URL nor a shared missing name is a way; nor is a note to itself a problem."""
    none = served.get("/path?from=alone&to=hub")
    assert (none["found"], none["hops"], none["nodes"], none["edges"], none["truncated"]) == (
        False,
        None,
        [],
        [],
        False,
    )
    same = served.get("/path?from=hub&to=hub")
    assert same["found"] and same["hops"] == 0 and labels(same) == ["hub"]
    assert served.get("/path?from=hub&to=right&relation=references")["found"] is False
    assert served.call("GET", "/path?from=hub").status == 400
    assert served.call("GET", "/path?from=hub&to=nobody").status == 404


def test_a_walk_scores_the_best_way(served: Served) -> None:
    """The product of the relations' weights and the decay along it."""
    reply = served.get("/subgraph/hub?depth=3")
    by_label = {node["label"]: node for node in reply["nodes"]}
    assert by_label["hub"]["score"] == 1 and by_label["hub"]["hops"] == 0
    assert by_label["left"]["score"] == DECAY and len(by_label["left"]["way"]) == 1
    assert by_label["middle"]["score"] == pytest.approx(1.2 * DECAY**2) and by_label["middle"]["hops"] == 2
    edges = {edge["id"]: edge["relation"] for edge in reply["edges"]}
    assert [edges[one] for one in by_label["right"]["way"]] == ["references", "depends_on", "references"]
    assert served.get("/subgraph/hub?depth=2&decay=0.1")["nodes"][1]["score"] == pytest.approx(0.1)


def test_a_subgraph_is_cut_at_the_far_end(served: Served) -> None:
    """With a limit the nearest edges stay; a smaller limit is a beginning of a greater one."""
    whole = served.get("/subgraph/hub?depth=4")
    assert whole["truncated"] is False
    for limit in range(1, len(whole["edges"])):
        cut = served.get(f"/subgraph/hub?depth=4&limit={limit}")
        assert cut["truncated"] and cut["edges"] == whole["edges"][:limit]
        assert cut["nodes"][0]["label"] == "hub" and max(node["hops"] for node in cut["nodes"]) <= 4


def test_backlinks_are_references_reversed(served: Served) -> None:
    """Asked for by name; without a kind each edge is there once."""
    reply = served.get("/neighbors/middle?kind=backlink&direction=out")
    assert reply["edges"] == []  # left depends on it, which is no reference
    reply = served.get("/neighbors/right?kind=backlink&direction=out")
    edge = reply["edges"][0]
    assert (edge["relation"], edge["source"], edge["evidence"]) == ("backlink", "structural", "On to [[right]].")
    assert edge["src"] == reply["nodes"][0]["id"] and labels(reply) == ["right", "middle"]
    assert served.get("/neighbors/right?kind=backlink&direction=in")["nodes"][1]["kind"] == "url"
    assert "backlink" not in {edge["relation"] for edge in served.get("/neighbors/right")["edges"]}


def test_orphans_are_notes_without_a_note(served: Served) -> None:
    """A link to a missing or hidden note, or to itself, is none to another note; the list has pages."""
    reply = served.get("/orphans")
    assert [note["path"] for note in reply["orphans"]] == ["alone.md", "far.md"] and reply["count"] == 2
    first = served.get("/orphans?limit=1")
    assert [note["path"] for note in first["orphans"]] == ["alone.md"] and first["count"] == 2
    assert [note["path"] for note in served.get(f"/orphans?limit=1&cursor={first['next']}")["orphans"]] == ["far.md"]


def test_related_says_why(served: Served) -> None:
    """Without vectors the links alone; each reason is a term of the score."""
    reply = served.get("/notes/hub/related")
    assert [one["note"]["path"] for one in reply["related"]][:2] == ["left.md", "middle.md"]
    assert reply["warnings"] and "Vault" not in json.dumps([one["note"] for one in reply["related"]])
    for one in reply["related"]:
        assert one["score"] == pytest.approx(sum(reason["term"] for reason in one["reasons"]))
        assert one["reasons"][0]["kind"] == "links" and one["reasons"][0]["edges"]
    assert reply["related"][1]["reasons"][0]["text"] == "linked: -references-> left -depends_on->"


def test_missing_names_are_merged_as_obsidian_would(served: Served) -> None:
    """One new note would answer ``gone`` and ``Gone.md``."""
    item = next(item for item in served.get("/unresolved")["unresolved"] if item["target"] == "gone")
    assert (item["count"], item["spellings"]) == (3, ["gone", "Gone.md"])
    assert [source["path"] for source in item["sources"]] == ["alone.md", "hub.md", "hub.md"]


REFS = ("hub", "left", "middle", "right", "hub two", "alone", "far", "twin/Same")
SAME = (
    *(f"/{call}/{quote(name, safe='')}{query}" for name in REFS
      for call, query in (("neighbors", ""), ("neighbors", "?kind=backlink"), ("subgraph", "?depth=4"),
                          ("subgraph", "?depth=1"), ("subgraph", "?limit=3"))),
    *(f"/notes/{quote(name, safe='')}{tail}" for name in REFS for tail in ("", "/related")),
    *(f"/path?from=far&to={name}" for name in ("hub", "left")),
    "/orphans", "/unresolved", "/stats", "/diagnostics?limit=500", "/notes",
    *(f"/diagnostics?note={name}" for name in ("hub", "left", "alone")),
)  # fmt: skip
VARIES = {"modified", "database_bytes", "created", "full"}


def settled(value: Any) -> Any:
    """Without what two vaults cannot have in common: times and sizes."""
    if isinstance(value, dict):
        return {key: settled(one) for key, one in value.items() if key not in VARIES}
    return [settled(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("target", SAME)
def test_a_hidden_note_changes_nothing(served: Served, without: Served, target: str) -> None:
    """Law 9: every reply is that of an index which never held the hidden notes (a name means the shown note)."""
    assert settled(served.get(target)) == settled(without.get(target))


def test_logs_name_no_hidden_note(served: Served) -> None:
    """Errors of runs and traces of questions pass the view too."""
    notes = served.world.desk.hot.snapshot().notes
    redactor = Redactor(notes, View(frozenset({"public", "internal"}), frozenset()))
    said = ["sub/Vault.md: cannot be read", "OSError('sub/Vault.md')", "left.md: odd", "other/sub/Vault.mdx: odd"]
    assert redactor.errors(said) == said[2:]
    trace = [{"rank": 1, "path": "sub/Vault.md"}, {"rank": 2, "path": "left.md"}]
    assert json.loads(redactor.trace(json.dumps(trace)) or "") == [{"rank": 1, "path": "left.md"}]
    assert redactor.trace(None) is None
    everything = Redactor(notes, View(frozenset({"public", "internal", "sensitive"}), frozenset()))
    assert everything.errors(said) == said and datetime.now(UTC)
