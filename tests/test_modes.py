"""The modes behind POST /query over a served vault: enriched, by communities, with follow-ups; hidden stays hidden."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from server_make import Served, World, serve_world

from mindnetd.corpus_runner import build_graph
from mindnetd.lanes.entities import Community

GARDEN = {
    "Pump.md": "# Pump\n\nThe pump lifts water into the [[Cistern]]. The [[Valve]] closes when the pump stops.\n",
    "Valve.md": "# Valve\n\nThe valve lets water out of the [[Cistern]]. It is opened with the red wheel.\n",
    "Cistern.md": "# Cistern\n\nThe cistern holds ninety litres of rain. The [[Pump]] fills it in an hour.\n",
    "Roses.md": "# Roses\n\nThe roses are cut in March. They need [[Compost]] every spring.\n",
    "Compost.md": "# Compost\n\nThe compost is made of leaves and peel. It feeds the [[Roses]].\n",
    "Secret.md": "---\nvisibility: sensitive\n---\n# Secret\n\nThe pump key zanzibar lies under the [[Cistern]].\n",
    "Draft.md": "---\nflags: [draft]\n---\n# Draft\n\nThe pump plan quetzal is a draft about the [[Valve]].\n",
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("modes")
    world = World(folder)
    for path, text in GARDEN.items():
        world.write(path, text)
    world.index()
    build_graph(world.engine, lambda store: store(), force=True, stop=lambda: False)
    with_communities(world)
    running = serve_world(world, folder / "s.sock")
    yield running
    running.stop()
    world.close()


def with_communities(world: World) -> None:
    """Communities made by hand: water, the roses, and one that a note told which is hidden now."""
    graph, snapshot = world.engine.entities.snapshot, world.engine.hot.snapshot()
    key_of = {note.title: note.key for note in snapshot.all_notes()}
    chunk_of = {
        snapshot.notes[snapshot.doc_note[at]].title: int(snapshot.doc_key[at])  # type: ignore[union-attr]  # alive
        for at in range(len(snapshot.doc_key))
        if snapshot.alive[at]
    }
    number_of = {name: n for n, name in enumerate(graph.name)}

    def made(n: int, title: str, names: tuple[str, ...], said: dict[str, str]) -> Community:
        members = tuple(sorted(number_of[name] for name in names))
        sources = tuple((chunk_of[note], f"id-{key_of[note]}", sentence) for note, sentence in said.items())
        summary = " ".join(said.values())
        return Community(
            f"id-{n}", f"c_0_{n}", 0, None, title, summary, "extractive", len(members),
            "2026-01-01T00:00:00Z", members, sources,
        )  # fmt: skip

    water = {"Pump": "The pump lifts water into the Cistern.", "Valve": "It is opened with the red wheel."}
    told = (
        made(0, "Water", ("Pump", "Valve", "Cistern"), water),
        made(1, "Roses", ("Roses", "Compost"), {"Compost": "It feeds the Roses."}),
        made(2, "Water zanzibar", ("Pump", "Cistern"), {"Secret": "The pump key zanzibar lies there."}),
    )
    told_graph = dataclasses.replace(graph, communities=told, _views={})
    graphs = world.engine.entities.graphs
    world.engine.entities.load(dataclasses.replace(graphs, by_name={"public,internal": told_graph}))


def real(reply: Any, served: Served) -> None:
    """Every citation of an answer is in its text and stands in its file."""
    answer = reply["answer"]
    for one in answer["citations"]:
        assert f"[{one['n']}]" in answer["text"]
        lines = (served.world.vault / one["path"]).read_text("utf-8").splitlines()
        assert 1 <= one["start_line"] <= one["line"] <= one["end_line"] <= len(lines)
    assert [one["n"] for one in answer["citations"]] == list(range(1, len(answer["citations"]) + 1))


def test_auto_says_why(served: Served) -> None:
    """A phrase, the things that are named, or that nothing is."""
    assert served.query("Give me an overview")["mode_reason"] == "phrase: overview"
    named = served.query("How is the valve opened?")
    assert (named["mode"], named["mode_reason"]) == ("local", "entity: Valve")
    assert served.query("who knows")["mode_reason"] == "no entity"
    assert served.query("x", mode="drift")["mode_reason"] == "asked for"


def test_local_has_what_the_graph_knows(served: Served) -> None:
    """Entities of question and results, relations that the results say, and communities of both."""
    reply = served.query("How is the valve opened?", mode="local", top_k=3)
    assert reply["entities"][0]["name"] == "Valve" and reply["entities"][0]["mentions"] >= 1
    assert {"Pump", "Cistern"} <= {one["name"] for one in reply["entities"]}
    pairs = [{one["source"], one["target"]} for one in reply["relationships"]]
    assert {"Valve", "Cistern"} in pairs or {"Pump", "Valve"} in pairs
    assert reply["communities"][0]["title"] == "Water" and reply["communities"][0]["label"] == "c_0_0"


def test_the_answer_of_local_cites(served: Served) -> None:
    """The sentence that answers, with its place."""
    reply = served.query("How is the valve opened?", answer=True)
    answer = reply["answer"]
    assert "It is opened with the red wheel." in answer["text"]
    assert (answer["source"], answer["model"], answer["llm_calls"]) == ("extractive", None, 0)
    assert answer["citations"][0]["path"] == "Valve.md" and answer["citations"][0]["line"] == 3
    real(reply, served)


def test_an_answer_does_not_depend_on_how_many_results_are_shown(served: Served) -> None:
    """One result or ten: the same answer."""
    answers = [served.query("How is the valve opened?", answer=True, top_k=k)["answer"]["text"] for k in (1, 10)]
    assert answers[0] == answers[1] and len(served.query("pump", answer=True, top_k=1)["results"]) == 1


def test_nothing_found_is_said_in_the_language_of_the_question(served: Served) -> None:
    """Without a citation."""
    for text, said in (("what is a zyzzyva", "Nothing"), ("was ist denn ein Zyzzyva", "keine Antwort")):
        answer = served.query(text, answer=True, mode="local")["answer"]
        assert said in answer["text"] and answer["citations"] == []


def test_global_goes_over_the_communities(served: Served) -> None:
    """Asked about everything: each of them with what it says; asked about one: that one first."""
    reply = served.query("What are the main themes of my notes?", answer=True)
    assert (reply["mode"], [one["title"] for one in reply["communities"]]) == ("global", ["Water", "Roses"])
    assert "Water\n" in reply["answer"]["text"] and "It feeds the Roses. [" in reply["answer"]["text"]
    real(reply, served)
    reply = served.query("Give me an overview of the compost", answer=True)
    assert reply["communities"][0]["title"] == "Roses"
    real(reply, served)


def test_global_by_an_llm_is_map_and_reduce(served: Served) -> None:
    """A call for each community, one for the whole; numbers are those of all sources together, then of the text."""
    asked: list[tuple[str, str]] = []

    class Scripted:
        model = "fake:1b"

        def available(self) -> bool:
            return True

        def room(self, reply_tokens: int, parts: int = 1) -> int:
            return 3000

        def stream(self, messages: Any, *, purpose: str, max_tokens: int, stop: Any) -> Iterator[str]:
            asked.append((purpose, messages[-1]["content"]))
            yield "Water is lifted [1] and roses are fed [2] [77]." if purpose == "reduce" else "It says so [1]."

    desk: Any = served.world.desk
    desk.llm = Scripted()
    try:
        answer = served.query("What are the main themes?", answer=True)["answer"]
    finally:
        desk.llm = None
    assert [purpose for purpose, _ in asked] == ["map", "map", "reduce"] and answer["llm_calls"] == 3
    assert "Water: It says so [1]." in asked[-1][1] and "Roses: It says so [3]." in asked[-1][1]
    assert answer["text"] == "Water is lifted [1] and roses are fed [2]." and answer["citations_removed"] == 1
    assert len(answer["citations"]) == 2


def test_drift_follows_what_it_found(served: Served) -> None:
    """Both things are explained, and what lies between them was searched for."""
    reply = served.query("How do pump and valve relate?", answer=True, top_k=3)
    assert reply["mode"] == "drift" and 1 <= len(reply["follow_ups"]) <= 3
    assert any("Cistern" in one["text"] for one in reply["follow_ups"])
    assert {"Pump.md", "Valve.md"} <= {one["path"] for one in reply["answer"]["citations"]}
    assert [hit["rank"] for hit in reply["results"]] == [1, 2, 3]
    real(reply, served)


@pytest.mark.parametrize("mode", ["local", "global", "drift"])
def test_hidden_notes_are_in_no_mode(served: Served, mode: str) -> None:
    """Whatever is asked: not in an answer, an entity, a relation, a community or a follow-up."""
    for text in ("zanzibar", "quetzal", "pump key zanzibar", "How do pump and quetzal relate?", "overview of the pump"):
        body = served.call("POST", "/query", {"text": text, "mode": mode, "answer": True}).body.decode()
        reply = json.loads(body)
        for part in ("results", "entities", "relationships", "communities", "follow_ups", "answer"):
            shown = json.dumps(reply[part]).casefold()
            assert "zanzibar" not in shown.replace(text.casefold(), ""), (text, part)
            assert "draft.md" not in shown and "secret" not in shown


def test_a_narrower_question_gets_narrower_communities(served: Served) -> None:
    """With a filter a community is told from what passes it: other title, fewer sentences, no summary of the rest."""
    reply = served.query("overview", mode="global", answer=True, filters={"paths": ["Valve.md"]})
    assert [one["title"] for one in reply["communities"]] != ["Water", "Roses"]
    assert "lifts water" not in json.dumps(reply["communities"])
    assert {one["path"] for one in reply["answer"]["citations"]} <= {"Valve.md"}
    assert {hit["note"]["path"] for hit in reply["results"]} <= {"Valve.md"}


def test_a_stream_has_results_then_the_answer_then_the_end(served: Served) -> None:
    """The tokens joined are the text of the end."""
    body = {"text": "How is the valve opened?", "answer": True, "stream": True}
    events = [json.loads(line) for line in served.call("POST", "/query", body).body.splitlines()]
    assert [events[0]["event"], events[-1]["event"]] == ["results", "done"]
    assert {one["event"] for one in events[1:-1]} == {"token"}
    assert "".join(one["text"] for one in events[1:-1]) == events[-1]["answer"]["text"]
    assert events[-1]["query_id"] == events[0]["query_id"] and events[-1]["answer"]["citations"]


def test_without_a_graph_the_modes_still_answer(tmp_path: Path) -> None:
    """Before the corpus-wide stage: the notes found, and a warning."""
    world = World(tmp_path)
    world.write("Valve.md", GARDEN["Valve.md"])
    world.index()
    running = serve_world(world, tmp_path / "s.sock")
    try:
        for mode in ("global", "drift"):
            reply = running.query("red wheel of the valve", mode=mode, answer=True)
            assert "red wheel" in reply["answer"]["text"] and reply["warnings"], mode
        assert running.query("valve")["entities"] == []
    finally:
        running.stop()
        world.close()
