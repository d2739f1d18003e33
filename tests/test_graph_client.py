"""``mindnet expand``, ``path``, ``related``, ``orphans`` against a real server, and the forms that other tools read."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator

import pytest
from client_make import Mindnet
from graph_samples import ODD, sample
from server_make import Served, World, serve_world
from test_graph_routes import fill

from mindnetd.client.graph import Graph, label, ranked_lines
from mindnetd.client.graph_formats import dot, mermaid, mermaid_text, tree
from mindnetd.client.paint import Paint, clean


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("graph_client")
    world = World(folder)
    fill(world)
    running = serve_world(world, folder / "s.sock")
    yield running
    running.stop()
    world.close()


@pytest.fixture
def mindnet(served: Served, capsys: pytest.CaptureFixture[str]) -> Mindnet:
    return Mindnet(served.path, capsys)


def test_a_path_is_told_with_its_words(mindnet: Mindnet) -> None:
    """Notes and links in turn, each link with the line that says so and where; nothing links them is exit 1."""
    ran = mindnet("path", "hub", "right")
    lines = ran.out.splitlines()
    assert ran.code == 0 and lines[0] == "hub  hub.md" and lines[-1] == "right  right.md" and len(lines) == 7
    assert lines[1].startswith("  ↓ references  Start: [[left]]") and lines[1].endswith("(hub.md:1)")
    assert lines[3] == "  ↓ depends_on  depends_on:: [[middle]]  (left.md:1)"
    assert mindnet("path", "right", "hub").out.splitlines()[1].startswith("  ↑ references  On to [[right]].")
    none = mindnet("path", "alone", "hub")
    assert (none.code, none.out) == (1, "no way from alone to hub: nothing links them\n")
    assert mindnet("path", "hub", "nobody").code == 1
    ran = mindnet("path", "hub", "right", "--json")
    assert ran.code == 0 and json.loads(ran.out)["hops"] == 3


def test_expand_ranks_what_is_reached(mindnet: Mindnet) -> None:
    """Best first, with the way to it; fewer hops and a relation narrow it."""
    lines = mindnet("expand", "hub", "--hops", "3").out.splitlines()
    assert lines[0] == "hub"
    scores = [float(line.split()[0]) for line in lines[1:]]
    assert scores == sorted(scores, reverse=True) and scores[0] == 0.5
    way = "→ references → left → depends_on"
    assert any(line.split()[:2] == ["0.300", "middle"] and line.endswith(way) for line in lines)
    assert "middle" not in mindnet("expand", "hub", "--hops", "1").out
    assert "0.250" in mindnet("expand", "hub", "--hops", "1", "--decay", "0.25").out
    assert mindnet("expand", "hub", "--relation", "supports").code == 1
    assert mindnet("expand", "hub", "--format", "dot").out.startswith("digraph mindnet {")


def test_orphans_and_related(mindnet: Mindnet) -> None:
    """A table of notes; near notes with their reasons."""
    assert [line.split()[0] for line in mindnet("orphans").out.splitlines()] == ["alone.md", "far.md"]
    assert len(mindnet("orphans", "--limit", "1").out.splitlines()) == 1
    ran = mindnet("related", "hub")
    assert ran.code == 0 and "left  left.md" in ran.out and "linked: -references->" in ran.out
    assert (
        "no vectors yet" in ran.out
        and len(json.loads(mindnet("related", "hub", "--json", "-n", "1").out)["related"]) == 1
    )


def test_missing_notes_show_their_spellings(mindnet: Mindnet) -> None:
    """Names that one new note would answer are one line."""
    assert "gone = Gone.md" in mindnet("unresolved").out


@pytest.mark.parametrize("command", ["neighbors", "expand", "subgraph"])
@pytest.mark.parametrize("form", ["tree", "list", "json", "mermaid", "dot", "html"])
def test_every_command_has_every_form(mindnet: Mindnet, command: str, form: str) -> None:
    """Six forms each, exit 0, the note's name in it."""
    ran = mindnet(command, "hub", "--format", form)
    begins = {"mermaid": "flowchart LR", "dot": "digraph", "html": "<!doctype html>", "json": "{"}
    assert ran.code == 0 and ran.out.startswith(begins.get(form, "hub")) and "left" in ran.out


def test_a_tree_has_colours_and_no_escape_of_a_note() -> None:
    """Each node once, however deep; control characters of titles are gone."""
    graph = sample(300)
    plain = list(tree(graph, Paint(False)))
    assert len(plain) == 300 and "\x1b" not in "".join(plain) and "\x1b[" in "".join(tree(graph, Paint(True)))
    nodes = {f"n{i}": {"id": f"n{i}", "kind": "note", "label": f"a\x1b[31m{i}", "path": None} for i in range(3000)}
    edges = [
        {"src": f"n{i}", "dst": f"n{i + 1}", "relation": "r\n\x07", "id": str(i), "source": "declared"}
        for i in range(2999)
    ]
    deep = list(tree(Graph(nodes, edges, False), Paint(False)))
    assert len(deep) == 3000 and all(line.isprintable() for line in deep)


def test_scores_below_zero_are_last() -> None:
    """What contradicts is reached, but against."""
    nodes = {name: {"id": name, "kind": "note", "label": name, "path": f"{name}.md", "score": score, "way": way}
             for name, score, way in (("a", 1, []), ("b", -0.45, ["x"]), ("c", 0.5, ["y"]))}  # fmt: skip
    edges = [{"id": "x", "src": "a", "dst": "b", "relation": "contradicts"},
             {"id": "y", "src": "c", "dst": "a", "relation": "references"}]  # fmt: skip
    lines = list(ranked_lines(Graph(nodes, edges, False), Paint(False)))
    assert lines == ["a", " 0.500  c  ← references", "-0.450  b  → contradicts"]


def test_mermaid_takes_no_title_for_syntax() -> None:
    """Whatever could be read as Mermaid's is written by number, so each line has the shape that we gave it."""
    graph = sample(60, odd=True)
    lines = list(mermaid(graph))
    assert lines[0] == "flowchart LR" and len(lines) == 2 + len(graph.nodes) + len(graph.edges)
    inside = [line.split('"')[1] for line in lines[1:-1]]
    assert all(line.count('"') == 2 for line in lines[1:-1])
    assert all(not set(text.replace("#", "", text.count("#"))) & set('"<>`\\%{}[]()|&') for text in inside)
    assert mermaid_text('a "b" #1; 100%') == "a #34;b#34; #35;1#59; 100#37;"


@pytest.mark.skipif(shutil.which("dot") is None, reason="no Graphviz on this machine")
def test_graphviz_reads_every_title_as_it_is() -> None:
    """The real parser gives back each label and the number of edges."""
    graph = sample(60, odd=True)
    done = subprocess.run(["dot", "-Tjson"], input="\n".join(dot(graph)), text=True, capture_output=True, timeout=60)
    assert done.returncode == 0 and done.stderr == ""
    read = json.loads(done.stdout, strict=False)
    labels = [one["label"].replace("\\\\", "\\") for one in read["objects"]]
    assert labels == [label(node) for node in graph.nodes.values()] and len(read["edges"]) == len(graph.edges)
    assert {clean(name) for name in ODD if name.strip()} <= set(labels)
