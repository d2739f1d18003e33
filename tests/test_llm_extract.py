"""What the model is asked about a real vault, how often, what is kept, and what becomes of replies that are no good."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from bad_llm import BadLlm, bad_llm, polite
from engine_kit import Bench, make_config
from test_communities import fill

from mindnetd.community_step import rebuild
from mindnetd.corpus_runner import build_graph
from mindnetd.llm_extract import AWAY_S, BAD_S, Round, pause
from mindnetd.llm_side import LlmSide
from mindnetd.store.read_communities import load_inputs
from mindnetd.store.records import Batch
from mindnetd.store.write import commit


def clever(payload: dict[str, Any]) -> str:
    """A model that does what each question asks, from the question alone."""
    asked = payload["messages"][-1]["content"]
    schema = payload.get("format")
    if schema is None:
        return f"These notes are about {asked.splitlines()[0].removeprefix('Group: ')}."
    wanted = schema["properties"]
    if "1" in wanted:
        return json.dumps(dict.fromkeys(wanted, "project"))
    text = asked.partition("Text:\n")[2]
    text, _, listed = text.partition("\nCandidates:\n")
    text, _, found = text.partition("\nFound:\n")
    names = listed.splitlines() or re.findall(r"\b[A-Z][a-z]+\b", text)
    if found:
        names = []
    entities = [
        {"name": name, "type": "technology", "description": f"what {name} is"} for name in dict.fromkeys(names)
    ][: wanted["entities"]["maxItems"]]
    reply: dict[str, Any] = {"entities": entities}
    if "relations" in wanted:
        ends = found.splitlines() or [one["name"] for one in entities]
        pairs = pairwise(ends)
        reply["relations"] = [{"source": a, "target": b, "relation": "works with"} for a, b in pairs][:2]
    return json.dumps(reply)


class Place:
    """A vault with its engine and a scripted model."""

    def __init__(self, folder: Path, server: BadLlm, **settings: str) -> None:
        self.vault, self.server = folder / "vault", server
        self.vault.mkdir(exist_ok=True)
        given = {"llm__host": server.url, "llm__model": "tiny", "llm__num_ctx": "4096", "llm__timeout_s": "60"}
        config = make_config(folder, self.vault, folder / "x" / "notes.duckdb", **given | settings)
        self.bench = Bench(config, None)
        self.open()

    def open(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC).replace(tzinfo=None)
        self.side = LlmSide(self.bench.engine, lambda store: store())
        self.side.extraction._now = lambda: self.now
        self.side.llm.look()

    @property
    def calls(self) -> dict[str, tuple[int, int]]:
        """By purpose: calls and retries."""
        return {name: (row["calls"], row["retries"]) for name, row in self.side.calls.table().items() if row["calls"]}

    def graph(self) -> None:
        build_graph(
            self.bench.engine, lambda store: store(), force=False, stop=lambda: False, refiner=self.side.extraction
        )
        rebuild(self.bench.engine, lambda store: store(), summaries=self.side.extraction)

    def round(self) -> Round:
        """Read what has changed, make the graph, ask once."""
        self.bench.settle()
        self.graph()
        return self.side.extraction.run()

    def whole(self) -> Round:
        """As `mindnetd index` does."""
        while (done := self.round()).replies:
            pass
        return done

    def again(self) -> None:
        """The daemon ends and begins anew over the same file."""
        self.side.stop()
        self.open()

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with self.bench.engine.db.reader() as reader:
            return reader.rows(sql)

    def close(self) -> None:
        self.side.stop()
        self.bench.close()


Make = Callable[..., Place]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    with bad_llm(clever) as server:
        made: list[Place] = []

        def place(**settings: str) -> Place:
            made.append(Place(tmp_path, server, **settings))
            return made[-1]

        yield place
        for one in made:
            one.close()  # twice does no harm


def counts(place: Place) -> tuple[int, int, int, int]:
    """Notes, chunks, entities by distinct name, communities with a summary."""
    notes, chunks = place.rows("SELECT (SELECT count(*) FROM notes), (SELECT count(*) FROM chunks)")[0]
    names = place.rows("SELECT count(DISTINCT name) FROM entities")[0][0]
    told = place.rows("SELECT count(*) FROM communities WHERE summary_source = 'llm'")[0][0]
    return notes, chunks, names, told


def told(place: Place) -> set[tuple[str, tuple[str, ...]]]:
    """What the summaries are made of."""
    rows = load_inputs(place.bench.engine.db).last
    return {(row.title, tuple(one.sentence for one in row.sources)) for row in rows}


def test_heuristic_asks_for_types_fifty_at_a_time(make: Make) -> None:
    """ceil(entities / 50) calls, and one for each community summary; nothing twice, not after a new start either."""
    place = make()
    fill(place.vault)
    for number in range(60):
        (place.vault / f"page {number:02}.md").write_text(
            f"# Page {number:02}\n\nAbout [[Valve]] and `tool_{number}`.\n"
        )
    assert not place.whole().waits
    _, _, entities, communities = counts(place)
    assert entities > 50
    assert communities > 0
    assert place.calls == {"entity_types": (-(-entities // 50), 0), "summary": (communities, 0)}
    before = len(place.server.chats())
    place.again()
    place.whole()
    assert len(place.server.chats()) == before
    assert place.calls == {}
    assert place.rows("SELECT DISTINCT type FROM entities WHERE note IS NULL AND type <> name_type") == []


@pytest.mark.parametrize("mode", ["hybrid", "llm"])
def test_calls_are_exactly_as_the_rule_says(make: Make, mode: str) -> None:
    """hybrid: one a note; llm: two a chunk; an edit asks about what it changed and nothing else."""
    place = make(graph__extraction_mode=mode)
    fill(place.vault)
    (place.vault / "long.md").write_text(
        "# Long\n\n" + "".join(f"## Part {n}\n\n{'Word ' * 300}\n\n" for n in range(4))
    )
    place.whole()
    notes, chunks, _, communities = counts(place)
    assert chunks > notes
    wanted = {"extract": (notes, 0)} if mode == "hybrid" else {"extract": (chunks, 0), "gleaning": (chunks, 0)}
    assert place.calls == wanted | {"summary": (communities, 0)}
    place.again()
    assert not place.whole().waits
    assert place.calls == {}
    before = told(place)
    pump = place.vault / "garden/Pump.md"
    pump.write_text(pump.read_text().replace("nobody wants to miss", "everybody wants to keep"))
    place.whole()
    assert place.calls["extract"] == (1, 0)
    assert place.calls.get("gleaning", (0, 0)) == ((1, 0) if mode == "llm" else (0, 0))
    changed = told(place) - before
    assert place.calls.get("summary", (0, 0)) == (len(changed), 0)
    assert len(changed) <= 1  # a community whose sentences are as they were keeps its summary


def test_a_reply_makes_types_descriptions_and_relations(make: Make) -> None:
    place = make(graph__extraction_mode="hybrid")
    fill(place.vault)
    place.whole()
    found = dict(place.rows("SELECT name, description FROM entities WHERE source = 'llm'"))
    assert found["Pump"] == "what Pump is"
    assert place.rows("SELECT DISTINCT type FROM relationships WHERE source = 'llm'") == [("works_with",)]
    row = load_inputs(place.bench.engine.db).last[0]
    assert row.summary == f"These notes are about {row.title}."
    assert row.summary_source == "llm"
    assert row.sources


def test_names_that_do_not_stand_in_the_text_are_dropped_and_counted(make: Make) -> None:
    """Made up names, those of the example, loops, ends that are no entities."""
    place = make(graph__extraction_mode="llm")
    (place.vault / "a.md").write_text("# Docker\n\nDocker runs on Linux.\n")

    def liar(payload: dict[str, Any]) -> str:
        if payload.get("format") is None or "1" in payload["format"]["properties"]:
            return clever(payload)
        names = ("Docker", "Zorblat", "Kubernetes", "docker")
        entities = [{"name": name, "type": "technology", "description": "x"} for name in names]
        relations = [("Docker", "Docker"), ("Docker", "Kubernetes")]
        return json.dumps(
            {"entities": entities, "relations": [{"source": a, "target": b, "relation": "is"} for a, b in relations]}
        )

    place.server.chat = liar
    done = place.round()
    assert done.replies == 2
    # in each: the example's name, a made up one, one said twice, a loop, an end that is no entity
    assert done.dropped == place.side.status()["dropped"] == 10
    place.whole()
    names = {name for (name,) in place.rows("SELECT name FROM entities")}
    assert not names & {"Zorblat", "Kubernetes"}
    assert place.rows("SELECT count(*) FROM relationships WHERE source = 'llm'") == [(0,)]


BAD = ("junk", "truncated", "empty with length", "empty", "white space", "thinking only", "400")
"""The reply itself is no good: the others are asked all the same."""
DOWN = ("hang", "slow load", "not json", "404", "500", "cut stream", "unfinished")
"""The server is to blame: nobody else is asked before it is well again."""
LIMITS = {"hang": {"llm__timeout_s": "0.4"}, "slow load": {"llm__load_timeout_s": "0.4"}}


@pytest.mark.parametrize(
    ("way", "mode"),
    [
        *((way, "hybrid") for way in BAD + DOWN),
        *(("junk", mode) for mode in ("heuristic", "llm")),
        *(("thinking only", mode) for mode in ("heuristic", "llm")),
    ],
)
def test_each_failure_leaves_the_heuristic_graph_and_waits(make: Make, way: str, mode: str) -> None:
    """Nothing is stored as an empty result; what failed is pending with its code, and heals when its time has come."""
    place = make(graph__extraction_mode=mode, **LIMITS.get(way, {}))
    fill(place.vault, ["bakery/Oven.md", "bakery/Yeast.md"])
    place.bench.settle()
    place.graph()
    heuristic = place.rows("SELECT name, type, source FROM entities ORDER BY name, id")
    assert heuristic
    place.server.way = way
    done = place.side.extraction.run()
    assert done.replies == 0
    assert done.failed >= 1
    assert place.rows("SELECT count(*) FROM llm_cache") == [(0,)]
    waits = place.side.pending()
    questions = {"heuristic": 1, "hybrid": 2, "llm": 2}[mode]
    assert len([one for one in waits if one.purpose != "summary"]) == questions
    assert all(one.error.startswith("llm_") for one in waits)
    assert place.rows("SELECT count(*) FROM llm_pending") == [(len(waits),)]
    status = place.side.status()
    assert status["pending"]["count"] == len(waits)
    assert status["pending"]["errors"]
    assert (done.error is not None) == (way in DOWN)
    place.graph()
    assert place.rows("SELECT name, type, source FROM entities ORDER BY name, id") == heuristic
    # before its time nothing is asked again
    before = len(place.server.chats()) + len(place.server.loads())
    place.side.extraction.run()
    asked = len(place.server.chats()) + len(place.server.loads())
    assert asked == before or way in DOWN
    # the server is well again
    place.server.way = None
    place.now += timedelta(days=2)
    heal(place)
    place.whole()
    assert not place.side.pending()
    assert place.side.status()["error"] is None
    assert place.rows("SELECT count(*) FROM llm_pending") == [(0,)]
    assert place.rows("SELECT count(*) FROM llm_cache")[0][0] > 0


def heal(place: Place) -> None:
    """The pause of the breaker is over."""
    place.side.llm._until = float("-inf")
    assert place.side.llm.look()


def test_connection_refused_is_pending_and_heals(tmp_path: Path) -> None:
    """The server ends after it was found once."""
    with bad_llm(clever) as server:
        place = Place(tmp_path, server, graph__extraction_mode="hybrid")
        fill(place.vault, ["bakery/Oven.md", "bakery/Yeast.md"])
        place.bench.settle()
        place.graph()
    done = place.side.extraction.run()
    assert done.error is not None
    assert done.error.startswith("llm_unreachable")
    assert (done.replies, done.failed) == (0, 1)
    assert sorted(one.tries for one in place.side.pending() if one.purpose == "extract") == [0, 1]
    place.close()


def test_stop_in_mid_call_marks_nothing_done(make: Make) -> None:
    """The daemon stops while a call is under way: the question waits as if it had not been asked."""
    place = make(graph__extraction_mode="hybrid")
    fill(place.vault, ["bakery/Oven.md", "bakery/Yeast.md"])
    place.bench.settle()
    place.graph()
    place.server.way = "hang"
    done = place.side.extraction.run(place.server.arrived.is_set)
    assert place.server.hung_up.wait(20)
    assert (done.replies, done.failed) == (0, 0)
    assert [one.tries for one in place.side.pending() if one.purpose == "extract"] == [0, 0]
    assert place.rows("SELECT count(*) FROM llm_cache") == [(0,)]
    place.server.way = None
    place.whole()
    assert not place.side.pending()


def test_a_cut_reply_is_asked_once_more_with_half_the_items(make: Make) -> None:
    """Retries are counted apart; a cure is kept."""
    place = make(graph__extraction_mode="hybrid")
    fill(place.vault, ["bakery/Oven.md"])
    widths: list[int] = []

    def cured(payload: dict[str, Any]) -> str:
        if payload.get("format"):
            widths.append(payload["format"]["properties"]["entities"]["maxItems"])
            return "no JSON" if len(widths) == 1 else clever(payload)
        return polite(payload)

    place.server.chat = cured
    place.round()
    assert widths[1] <= max(2, widths[0] // 2 + 1)
    assert place.calls["extract"] == (1, 1)


def test_pauses_double() -> None:
    assert [pause(n, True).total_seconds() for n in range(3)] == [AWAY_S, 2 * AWAY_S, 4 * AWAY_S]
    assert [pause(n, False).total_seconds() for n in range(2)] == [BAD_S, 2 * BAD_S]
    assert pause(99, True) < pause(99, False)


def test_nobody_waits_for_a_model_that_was_never_there(make: Make) -> None:
    """``auto``, and no such model on this machine: nothing is pending. ``on``, or a mode that needs one: all is."""
    for settings, waits in (({}, False), ({"llm__enabled": "on"}, True), ({"graph__extraction_mode": "llm"}, True)):
        place = make(llm__model="another", **settings)
        fill(place.vault, ["bakery/Oven.md"])
        done = place.round()
        assert (done.replies, done.failed) == (0, 0)
        assert bool(place.side.pending()) is waits
        place.close()


def test_hidden_notes_are_not_asked_about(make: Make) -> None:
    """Flags and levels above the highest: what stands there is in no graph, so no prompt holds it."""
    place = make(graph__extraction_mode="hybrid")
    fill(place.vault)
    secret = "The Gherkin of the cellar"
    for name, head in (("j", "private_journal: true"), ("d", "draft: true"), ("s", "visibility: sensitive")):
        (place.vault / f"{name}.md").write_text(f"---\n{head}\n---\n# Gherkin {name}\n\n{secret} and [[Pump]].\n")
    place.whole()
    notes = counts(place)[0]
    assert place.calls["extract"] == (notes - 3, 0)
    assert "Gherkin" not in json.dumps([payload for _, payload in place.server.calls])


def test_a_lower_level_is_told_nothing_of_the_higher_ones(make: Make) -> None:
    """What is asked for readers of public notes holds public notes alone, in all modes: prompts and results."""
    place = make(privacy__max_query_visibility="sensitive")
    fill(place.vault)
    for file in (place.vault / "garden").iterdir():
        file.write_text("---\nvisibility: public\n---\n" + file.read_text())
    oven = place.vault / "bakery/Oven.md"
    oven.write_text("---\nvisibility: sensitive\n---\n" + oven.read_text().replace("Oven", "Furnace"))
    place.whole()
    asked = [payload["messages"][-1]["content"] for payload in place.server.chats()]
    types = [text for text in asked if text.startswith("1. ")]
    public = next(text for text in types if "Valve" in text)
    assert "Violin" not in public
    assert any("Furnace" in text for text in types)
    by_audience = place.rows("SELECT audience, string_agg(summary, ' ') FROM communities GROUP BY audience")
    for audience, summary in by_audience:
        assert ("Furnace" in summary) <= ("sensitive" in audience)


def test_a_removed_note_takes_its_replies_along(make: Make) -> None:
    """At once what it alone was the source of, and each summary that it had a part in."""
    place = make(graph__extraction_mode="hybrid")
    fill(place.vault)
    place.whole()
    oven = place.vault / "bakery/Oven.md"
    key = place.rows("SELECT key FROM notes WHERE path = 'bakery/Oven.md'")[0][0]
    alone = f"""SELECT count(*) FROM llm_cache WHERE key IN (SELECT key FROM llm_sources WHERE note_key = {key})
        AND key NOT IN (SELECT key FROM llm_sources WHERE note_key <> {key})"""
    assert place.rows(alone) == [(1,)]
    before = place.rows("SELECT count(*) FROM llm_cache WHERE purpose = 'extract'")[0][0]
    oven.unlink()
    place.bench.settle()
    assert place.rows("SELECT count(*) FROM llm_cache WHERE purpose = 'extract'") == [(before - 1,)]
    assert place.rows(f"SELECT count(*) FROM llm_sources WHERE note_key = {key}") == [(0,)]
    assert not any("Oven" in reply for (reply,) in place.rows("SELECT reply FROM llm_cache WHERE purpose = 'summary'"))


def test_a_note_that_goes_while_it_is_asked_about_leaves_no_reply(make: Make) -> None:
    """The reply comes after the note has gone (and been purged, perhaps): it is not kept."""
    place = make(graph__extraction_mode="hybrid")
    fill(place.vault, ["bakery/Oven.md", "bakery/Yeast.md"])
    place.bench.settle()
    place.graph()
    write = place.side.extraction._write

    def late(store: Callable[[], int]) -> int:
        if place.server.chats():
            (place.vault / "bakery/Oven.md").unlink(missing_ok=True)
            place.bench.settle()
        return write(store)

    place.side.extraction._write = late
    place.side.extraction.run()
    assert place.calls["extract"] == (2, 0)
    assert place.rows("SELECT count(*) FROM llm_cache WHERE purpose = 'extract'") == [(1,)]
    assert place.rows("SELECT count(*) FROM llm_sources WHERE note_key NOT IN (SELECT key FROM notes)") == [(0,)]


def test_other_settings_end_the_wait_of_a_bad_reply(make: Make) -> None:
    """Thinking switched off: what waits since the model only thought is asked at once, not in an hour."""
    place = make(graph__extraction_mode="hybrid", llm__think="on")
    fill(place.vault, ["bakery/Oven.md"])
    place.bench.settle()
    place.graph()
    place.server.way = "thinking only"
    assert place.side.extraction.run().failed
    place.server.way = None
    assert (place.again(), place.side.extraction.run().replies)[1] == 0
    place.close()
    place = make(graph__extraction_mode="hybrid", llm__think="off")
    assert place.round().replies == 1


def test_replies_of_another_model_do_not_count(make: Make) -> None:
    """A tag that was pulled anew is another model: everything is asked again, the old replies go after a day."""
    place = make(graph__extraction_mode="hybrid")
    fill(place.vault, ["bakery/Oven.md", "bakery/Yeast.md"])
    place.whole()
    place.server.digest = "sha256:two"
    place.again()
    place.whole()
    assert place.calls["extract"] == (2, 0)
    purposes = Counter(purpose for (purpose,) in place.rows("SELECT purpose FROM llm_cache"))
    assert purposes["extract"] == 4
    place.now += timedelta(days=400)
    place.whole()
    assert place.rows("SELECT count(*) FROM llm_cache WHERE purpose = 'extract'") == [(2,)]


def test_a_model_that_is_away_keeps_its_replies_in_force(make: Make) -> None:
    """After a new start without the server the graph is the one with its replies."""
    place = make(graph__extraction_mode="hybrid")
    fill(place.vault, ["bakery/Oven.md", "bakery/Yeast.md"])
    place.whole()
    before = place.rows("SELECT name, type, source FROM entities ORDER BY name, id")
    assert any(source == "llm" for _, _, source in before)
    place.server.way = "404"
    place.again()
    commit(place.bench.engine.db, Batch(meta={"corpus_state": ""}))
    place.graph()
    assert place.rows("SELECT name, type, source FROM entities ORDER BY name, id") == before
