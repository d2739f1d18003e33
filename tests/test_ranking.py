"""The score of design section 6: every term exactly, over real indexes; and why a note is not among the results."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from client_make import Mindnet
from engine_kit import open_shared
from server_make import Served, World, serve_world

from mindnetd.core.filters import Filters
from mindnetd.core.query import QuerySpec
from mindnetd.core.rank import DAY_S, RELATION_WEIGHTS, RetrievalSettings
from mindnetd.core.results import QueryResult
from mindnetd.deadline import Deadline
from mindnetd.inference.embedder import Embedder
from mindnetd.search import Searcher
from mindnetd.serving.masked import MaskBook
from mindnetd.settings.retrieval import retrieval_settings

NOW = 1_800_000_000
DAY = 1_700_000_000
WORDS = ("valve", "pump", "garden", "river", "solar", "lantern", "copper", "winter", "seal", "noon", "pressure")
HEADS: tuple[dict[str, Any], ...] = (
    {}, {"type": "task"}, {"type": "project", "created": "2024-05-18"}, {"relevance": 0.7}, {"retriever_weight": 0.2},
    {"time_weight_override": 0.9}, {"modified": "2026-12-24"}, {"embedding_exclude": True},
)  # fmt: skip


@pytest.fixture(scope="module")
def embedder(model_cache: Path) -> Embedder:
    return open_shared(model_cache)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    searcher_of(made).clock = lambda: NOW
    yield made
    made.close()


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Iterator[World]:
    """Forty notes that link to each other in many ways, with the model."""
    rng, made = random.Random(7), World(tmp_path_factory.mktemp("big"), embedder)
    for number in range(40):
        others = [rng.randrange(40) for _ in range(3)]
        lines = [" ".join(rng.choices(WORDS, k=12)) + f" [[n{others[0]}]].", f"contradicts:: [[n{others[1]}]]"]
        lines += ["## See also", f"- [[n{others[2]}]]", " ".join(rng.choices(WORDS, k=300))]
        put(made, f"n{number}", "\n\n".join(lines[: rng.randrange(1, 6)]), **rng.choice(HEADS))
    made.index()
    searcher_of(made).clock = lambda: NOW
    yield made
    made.close()


def put(world: World, name: str, text: str, **head: Any) -> None:
    """A note whose file is of a known day."""
    path = world.write(f"{name}.md", text + "\n", **head)
    os.utime(world.vault / path, (DAY, DAY))


def searcher_of(world: World) -> Searcher:
    return world.desk.searcher


def ask(world: World, text: str, **fields: Any) -> QueryResult:
    return searcher_of(world).query(QuerySpec(text, **fields), Deadline(30))


def terms(world: World, text: str, name: str, **fields: Any) -> Any:
    """The terms of a note's first result."""
    return next(hit for hit in ask(world, text, **fields).hits if hit.note.path == f"{name}.md").terms


def order(world: World, text: str, **fields: Any) -> list[str]:
    return [hit.note.path.removesuffix(".md") for hit in ask(world, text, **fields).hits]


def after(world: World, one: str, other: str, **fields: Any) -> bool:
    """Does `other` come after `one`?"""
    found = order(world, "valve", **fields)
    return found.index(one) < found.index(other)


# --------------------------------------------------------------------------------------------------------------- law 10


def test_terms_sum_to_the_score_for_1000_random_questions(big: World) -> None:
    """To the last bit; values stay in their ranges; the order is that of the scores. Lanes, hops, filters vary."""
    rng, searcher, walked, against = random.Random(11), searcher_of(big), 0, 0
    default = searcher.settings
    texts = [" ".join(rng.sample(WORDS, rng.randrange(1, 4))) for _ in range(150)] + [f"n{n}" for n in range(10)]
    for _ in range(1000):
        searcher.settings = dataclasses.replace(default, fusion=rng.choice(["weighted", "rrf"]), k_l=5, k_v=5)
        lanes = rng.choice([("lexical", "dense", "title"), ("lexical",), ("dense", "title")])
        filters = Filters(types=("task", "project")) if rng.random() < 0.1 else Filters()
        spec = QuerySpec(
            rng.choice(texts), top_k=rng.choice([3, 10, 50]), lanes=lanes, graph_hops=rng.randrange(3), filters=filters
        )
        scores = []
        for hit in searcher.query(spec, Deadline(30)).hits:
            shown = hit.as_dict(explain=True)
            added = 0.0
            for name, part in shown["explain"].items():
                if name != "lanes":
                    low, high = {"graph": (-1, 1), "diversity": (-1, 0)}.get(name, (0, 1))
                    assert low <= part["value"] <= high and part["term"] == part["value"] * part["weight"], name
                    added += part["term"]
            assert added == shown["score"]
            graph = shown["explain"]["graph"]
            assert bool(graph["edges"]) == bool(graph["value"]) or graph["value"] == 0
            walked, against = walked + bool(graph["edges"]), against + (graph["value"] < 0)
            scores.append(shown["score"])
        assert scores == sorted(scores, reverse=True)
    searcher.settings = default
    assert walked > 1000 and against > 10, "the graph took part"


# --------------------------------------------------------------------------------------------------------- exact values


def test_the_age_is_of_modified_else_created_else_the_file(world: World) -> None:
    """exp(-0.0025 days), whole days; what lies ahead is of today; ``time_weight_override`` stands for it."""
    put(world, "said", "valve", modified="2026-12-06", created="2020-01-01")
    put(world, "updated", "valve", updated="2026-12-06T12:00:00Z")
    put(world, "born", "valve", created="2026-10-07")
    put(world, "file", "valve")
    put(world, "stamped", "valve", created="2020-01-01", modified="2023-11-14T22:13:20Z")  # as its mtime
    put(world, "ahead", "valve", modified="2030-01-01")
    put(world, "fixed", "valve", modified="2020-01-01", time_weight_override=0.75)
    world.index()
    days = {"said": 40, "updated": 39, "born": 100, "file": (NOW - DAY) // DAY_S, "ahead": 0}
    for name, age in (days | {"stamped": days["file"]}).items():
        time = terms(world, "valve", name)["time"]
        assert (time.extra["age_days"], time.weight) == (age, 0.02), name
        assert time.value == math.exp(-0.0025 * age)
    assert terms(world, "valve", "fixed")["time"].value == 0.75


def test_type_and_relevance_are_what_the_table_and_the_note_say(world: World) -> None:
    """The type's weight, the note's own before it, 0.5 without a type; relevance times zeta, 0 when absent."""
    put(world, "task", "valve", type="task", relevance=0.4)
    put(world, "own", "valve", type="task", retriever_weight=0.1)
    put(world, "none", "valve", type="nonsense")
    world.index()
    values = {name: terms(world, "valve", name) for name in ("task", "own", "none")}
    assert {name: part["type"].value for name, part in values.items()} == {"task": 0.8, "own": 0.1, "none": 0.5}
    assert {name: part["overrides"].term for name, part in values.items()} == {"task": 0.4 * 0.05, "own": 0, "none": 0}


def test_the_graph_term_is_what_the_best_hits_pass_on(world: World) -> None:
    """Strength 1 of the best, the weight over the greatest weight, over the root of two ties; with its edge."""
    put(world, "best", "valve valve valve\n\ndepends_on:: [[far]]\n\n[[near]]")
    put(world, "far", "valve " + "other words " * 9)
    put(world, "near", "valve " + "more words " * 9)
    world.index()
    graph = terms(world, "valve", "far")["graph"]
    assert graph.value == pytest.approx(1 / math.sqrt(2)) and graph.weight == 0.2
    (edge,) = graph.extra["edges"]
    known = {note.path: note.id for note in world.engine.hot.snapshot().all_notes()}
    assert edge | {"src_path": 0} == {
        "src": known["best.md"], "relation": "depends_on", "dst": known["far.md"], "weight": 1.2, "source": "declared",
        "src_path": 0, "dst_path": "far.md", "from": "best.md", "sharing": 2, "strength": 1.0,
    }  # fmt: skip
    assert terms(world, "valve", "near")["graph"].value == pytest.approx(1 / 1.2 / math.sqrt(2))
    assert terms(world, "valve", "far", graph_hops=0)["graph"].value == 0


def test_nobody_is_lifted_past_who_lifts_him(world: World) -> None:
    """A near second that the best hit links to stays second, nine tenths of the way up; the explanation says so."""
    put(world, "best", "valve pump seal\n\n[[second]]")
    put(world, "second", "valve pump seal beside copper")
    put(world, "other", "winter garden")
    world.index()
    found = {hit.note.path: hit for hit in ask(world, "valve pump seal", lanes=("lexical",)).hits}
    best, second = found["best.md"], found["second.md"]
    assert best.score > second.score and best.terms["kw"].value == 1
    lead = best.terms["kw"].term + best.terms["graph"].term - second.terms["kw"].term
    assert second.terms["graph"].term == pytest.approx(0.9 * lead) and second.terms["graph"].extra["held"]
    assert not best.terms["graph"].extra["held"]  # who is behind holds nobody back
    assert best.terms["graph"].term > 0


def test_what_the_best_contradicts_falls(world: World) -> None:
    """Two notes alike, one of which the best hit contradicts."""
    put(world, "best", "valve valve valve\n\ncontradicts:: [[a]]")
    for name in ("a", "b"):
        put(world, name, "valve and words of its own")
    world.index()
    assert after(world, "b", "a") and terms(world, "valve", "a")["graph"].value == -0.75
    assert after(world, "a", "b", graph_hops=0)


def test_a_neighbour_that_no_lane_found_comes_in(world: World, embedder: Embedder, tmp_path: Path) -> None:
    """With one candidate a lane the linked note is among the results, with exact scores in all lanes."""
    (tmp_path / "v").mkdir()
    made = World(tmp_path / "v", embedder)
    put(made, "best", "How the valve of the pump is opened. [[quiet]]")
    put(made, "quiet", "The gardener of Kew.")
    for number in range(8):
        put(made, f"n{number}", f"A pump and a valve, number {number}, somewhere.")
    made.index()
    searcher = searcher_of(made)
    searcher.settings = dataclasses.replace(searcher.settings, k_l=1, k_v=1)
    result = ask(made, "how is the valve opened", top_k=3)
    assert "quiet" in [hit.note.path.removesuffix(".md") for hit in result.hits]
    quiet = next(hit for hit in result.hits if hit.note.path == "quiet.md")
    assert quiet.lanes["dense"][0] > 1 and quiet.terms["kw"].value == 0 and quiet.terms["graph"].value > 0.5
    assert "quiet" not in order(made, "how is the valve opened", top_k=3, graph_hops=0)
    assert "quiet" not in order(made, "valve", top_k=3, lanes=("lexical",)), "who asks for words gets words"
    made.close()


# ------------------------------------------------------------------------------------------------------------ settings


def test_changed_weights_rank_anew(world: World) -> None:
    """At once, without a row touched: gamma, a relation's weight, and of the table a type's weight."""
    put(world, "best", "valve valve valve\n\ninspired_by:: [[z]]")
    for name, kind in (("a", "concept"), ("z", "task")):
        put(world, name, "valve and words of its own", type=kind)
    world.index()
    searcher, revision = searcher_of(world), world.engine.db.revision
    base = dataclasses.replace(searcher.settings, epsilon=0.0)
    for settings, linked_first in (
        (base, True),
        (dataclasses.replace(base, gamma=0.0), False),
        (dataclasses.replace(base, relation_weights={**RELATION_WEIGHTS, "inspired_by": -1.0}), False),
        (dataclasses.replace(base, gamma=0.0, epsilon=1.0), True),  # the task before the concept
    ):
        searcher.settings = settings
        assert after(world, "z", "a") == linked_first
    assert world.engine.db.revision == revision


def test_retrieval_yaml_names_a_few_relations() -> None:
    """The others keep their weight; names are read as relations are; lambda is there."""
    given = {"relation_weights": {"Depends On": 2.0, "relates_to": 0.1, "mine": 0.9}, "time_decay.lambda": 0.5}
    made = retrieval_settings({"version": 1, **given}, ())
    assert made.relation_weights == {**RELATION_WEIGHTS, "depends_on": 2.0, "related_to": 0.1, "mine": 0.9}
    assert (made.decay, made.gamma) == (0.5, RetrievalSettings().gamma)


def test_neighbours_are_ordered_by_the_same_weights(world: World, tmp_path: Path) -> None:
    """``relation_weights`` hold for `/neighbors` too."""
    put(world, "a", "[[b]]\n\nsupports:: [[c]]")
    put(world, "b", "b")
    put(world, "c", "c")
    world.index()
    served = serve_world(world, tmp_path / "n.sock")
    searcher = searcher_of(world)

    def first() -> str:
        return str(served.get("/neighbors/a?direction=out")["edges"][0]["relation"])

    weights = dict(RELATION_WEIGHTS)
    for relation in ("supports", "references"):
        searcher.settings = dataclasses.replace(searcher.settings, relation_weights={**weights, relation: 5.0})
        assert first() == relation
    served.stop()


# ---------------------------------------------------------------------------------------------------------- visibility


def test_a_hidden_neighbour_is_neither_walked_nor_named(world: World, tmp_path: Path) -> None:
    """best - hidden - end: nothing reaches the end, and what the best shares is shared without the hidden one."""
    put(world, "best", "valve valve valve [[secret]] [[open]]")
    put(world, "secret", "valve [[end]]", visibility="sensitive")
    for name in ("end", "open"):
        put(world, name, "valve and words of its own")
    world.index()
    assert terms(world, "valve", "end", graph_hops=2)["graph"].value == 0
    assert terms(world, "valve", "open")["graph"].value == pytest.approx(1 / 1.2)
    served = serve_world(world, tmp_path / "h.sock")
    reply = served.call("POST", "/explain", {"text": "valve", "note": "end", "graph_hops": 2})
    assert reply.status == 200 and b"secret" not in reply.body
    assert served.call("POST", "/explain", {"text": "valve", "note": "secret"}).code == "note_not_found"
    everything = Filters(visibility=("public", "internal", "sensitive"))
    assert terms(world, "valve", "end", graph_hops=2, filters=everything)["graph"].value > 0
    served.stop()


def test_a_name_of_a_hidden_note_may_lead_to_a_shown_one(tmp_path: Path) -> None:
    """The link means a shown note by its id there, and the walk goes there, as in an index without the hidden one."""
    values = []
    for hidden in (True, False):
        folder = tmp_path / str(hidden)
        folder.mkdir()
        made = World(folder)
        put(made, "best", "valve valve valve [[secret|id-y]]")
        put(made, "other", "valve and words of its own", id="id-y")
        if hidden:
            put(made, "secret", "nothing", visibility="sensitive")
        made.index()
        values.append(terms(made, "valve", "other")["graph"].value)
        made.close()
    assert values[0] == values[1] > 0


def test_masks_cost_nothing_where_no_edge_leads_to_the_hidden(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hidden notes that no shown note links to: the file is not asked."""
    put(world, "a", "valve [[b]]")
    put(world, "b", "valve")
    put(world, "secret", "valve [[a]]", visibility="sensitive")
    world.index()
    asked: list[object] = []
    monkeypatch.setattr(searcher_of(world), "masks", lambda *given: asked.append(given))
    assert order(world, "valve") and not asked
    assert isinstance(MaskBook(world.desk), MaskBook)


# ------------------------------------------------------------------------------------------------------------- explain


@pytest.fixture
def explained(tmp_path: Path, embedder: Embedder) -> Iterator[Callable[..., Any]]:
    """Asks why a note is where it is, of a vault with one good note, twelve like each other, and odd ones."""
    made = World(tmp_path, embedder)
    put(made, "best", "How the valve of the pump is opened at noon.", type="project", tags=["water"])
    for number in range(12):
        put(made, f"n{number:02}", f"The pump and its valve, case {number}.", type="concept")
    put(made, "far", "Clouds over Kew.", type="concept")
    put(made, "bare", "The valve without a vector.", embedding_exclude=True)
    made.index()
    served = serve_world(made, tmp_path / "e.sock")

    def ask_why(note: str, text: str = "how is the valve opened", **fields: Any) -> Any:
        reply = served.call("POST", "/explain", {"text": text, "note": note, "top_k": 5, **fields})
        assert reply.status == 200, reply.body
        told = reply.json()
        parts = [part for name, part in told["explain"].items() if name != "lanes"]
        assert sum(part["term"] for part in parts) == pytest.approx(told["score"], abs=1e-12)
        return told

    ask_why.served = served  # type: ignore[attr-defined]
    yield ask_why
    served.stop()
    made.close()


def codes(told: Any) -> list[str]:
    return [one["code"] for one in told["reasons"]]


def test_explain_says_where_a_result_is(explained: Callable[..., Any]) -> None:
    """The rank, the score and the terms are those of the query."""
    served: Served = explained.served  # type: ignore[attr-defined]
    for place, hit in enumerate(served.query("how is the valve opened", top_k=5)["results"], 1):
        told = explained(hit["note"]["path"])
        assert (told["found"], told["rank"], told["score"]) == (True, place, hit["score"])
        assert told["explain"] == hit["explain"] and told["chunk"]["id"] == hit["chunk"]["id"]
        assert codes(told)[0] == "found"


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        ({"types": ["concept"]}, ["types"]),
        ({"types": ["concept"], "tags": ["fire"]}, ["types", "tags"]),
        ({"paths": ["x/**"]}, ["paths"]),
        ({"modified": {"from": "2030-01-01"}}, ["modified"]),
        ({"frontmatter": {"area": "garden"}}, ["frontmatter"]),
        ({"status": ["done"], "lang": "de"}, ["status", "lang"]),
    ],
)
def test_explain_names_the_filters(explained: Callable[..., Any], filters: dict[str, Any], names: list[str]) -> None:
    """All that keep it out, and only those; its score is told as if they did not."""
    told = explained("best", filters={**filters, "created": {"to": None}})
    assert [one["filter"] for one in told["filters"]] == names
    assert (told["found"], told["rank"]) == (False, None) and codes(told)[0] == "filtered" and told["score"] > 0.5


@pytest.mark.parametrize(
    ("text", "name"),
    [("valve -noon", "not"), ('valve "opened at dawn"', "phrase"), ('valve -"opened at noon"', "not_phrase")],
)
def test_explain_names_what_the_question_rules_out(explained: Callable[..., Any], text: str, name: str) -> None:
    """An unwanted word, a phrase that is not there, one that must not be."""
    told = explained("best", text)
    assert [one["filter"] for one in told["filters"]] == [name] and not told["found"]


def test_explain_says_how_much_is_missing(explained: Callable[..., Any]) -> None:
    """A candidate below the results: its number, and the score of the last that is shown."""
    told = explained("far", top_k=5)
    assert told["would_rank"] > 5 and codes(told)[0] == "low" and not told["filters"]
    assert told["results"]["last_score"] > told["score"] and told["results"]["shown"] == 5
    assert told["lanes"]["dense"]["rank"] == 14 and told["lanes"]["dense"]["within"]
    assert told["lanes"]["lexical"] | {"limit": 0} == {
        "rank": None, "score": None, "limit": 0, "within": False, "has": [], "lacks": ["valve", "opened"],
    }  # fmt: skip


def test_explain_says_which_limit_cut(explained: Callable[..., Any]) -> None:
    """Rank 14 of a lane that looks at 10 of them is no candidate."""
    served: Served = explained.served  # type: ignore[attr-defined]
    searcher = searcher_of(served.world)
    searcher.settings = dataclasses.replace(searcher.settings, k_v=10, k_l=10)
    told = explained("far")
    dense = told["lanes"]["dense"]
    assert codes(told)[0] == "cut" and (dense["rank"], dense["limit"], dense["within"]) == (14, 10, False)


def test_explain_says_that_a_vector_is_missing(explained: Callable[..., Any]) -> None:
    """For good (embedding_exclude), or not yet."""
    told = explained("bare")
    assert "no_vector" in codes(told) and told["lanes"]["dense"]["rank"] is None
    served: Served = explained.served  # type: ignore[attr-defined]
    world = served.world
    put(world, "fresh", "A valve that has just been written.")
    world.writer.doubt("test")
    world.writer.run_until_settled(lambda: None)  # its words are in, its vectors are still to come
    hot = world.engine.hot
    key = next(note.key for note in hot.snapshot().all_notes() if note.path == "fresh.md")
    rows = hot.snapshot().passage_rows
    hot.forget_vectors([h for h in hot._vectors._rows if hot._vectors.row(h) >= len(rows) - 2])  # if they came already
    told = explained("fresh")
    assert key and "no_vector" in codes(told) and told["lanes"]["dense"]["pending"] > 0


def test_mindnet_explain_prints_it(explained: Callable[..., Any], capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 0 for a result, 1 else; the reasons in words, the lanes, the terms; with --json the reply."""
    mindnet = Mindnet(explained.served.path, capsys)  # type: ignore[attr-defined]
    ran = mindnet("explain", "how is the valve opened", "best")
    assert ran.code == 0 and "number 1 of 10 results" in ran.out and "asked for by its name" in ran.out
    ran = mindnet("explain", "how is the valve opened", "best", "--type", "concept")
    assert ran.code == 1 and "not among the results" in ran.out and "types: asked for concept" in ran.out
    assert mindnet("explain", "valve", "nobody").code == 1 and mindnet("explain", " ", "best").code == 2
    assert json.loads(mindnet("explain", "valve", "far", "--json").out)["note"]["path"] == "far.md"
