"""Law 9 as a whole: every call answers as an index that never held the hidden notes.

Random small vaults are indexed with and without their hidden notes, vectors and the entity graph included, and served.
Every route of the OpenAPI document has a case here or a reason why it has none; one without either fails the test.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from engine_kit import open_shared
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from server_make import Served, World, serve_world

from mindnetd.core.records import FLAGS, VISIBILITIES, Visibility
from mindnetd.events import Event, EventBus
from mindnetd.inference.embedder import Embedder
from mindnetd.serving.streams import event_lines
from mindnetd.serving.view import View
from mindnetd.store import read

DAY = 1_700_000_000
WHOLE_VAULT = {
    "POST /admin/reindex": "acts on all notes (api.md section 3)",
    "POST /admin/reconcile": "acts on all notes",
    "POST /admin/import": "acts on all notes",
    "POST /admin/resolve": "acts on all notes",
    "POST /admin/communities": "acts on all notes",
    "POST /admin/verify": "acts on all notes",
    "GET /export": "exports all notes",
    "GET /backup": "copies the database",
    "GET /metrics": "counts work, names nothing (docs/decisions/0020)",
    "GET /status": "counts work, names nothing (docs/decisions/0020)",
    "GET /jobs/{job_id}": "a job of an admin call",
}
"""Calls that are not compared, and why."""
OWN = frozenset({
    "query_id", "took_ms", "revision", "database_bytes", "built_at", "updated", "id_of_run", "started", "ended",
    "timestamp", "at", "made_total", "reused_total",
})  # fmt: skip
"""Keys of a reply that belong to the process or the file, not to what the notes say."""
RUN_OWN = frozenset({
    "id", "files_seen", "files_changed", "files_failed", "chunks", "edges", "embeddings_made", "embeddings_reused",
    "config_hash",
})  # fmt: skip
"""Of a run: how much work it was."""

# ------------------------------------------------------------------------------------------------------------- vaults

SECRET = "zyxwv"
"""Followed by the name of a note: what only that note says."""
NAMES = ("alpha", "beta ray", "gamma", "delta", "epsilon", "zeta", "eta", "theta")
WORDS = ("valve", "pump", "garden", "river", "Solar Panel", "Kurt Gödel", "lantern", "`open_valve`", "copper", "winter")
FORMS = (
    "See [[{0}]] for the {2}.", "supports:: [[{0}]]", "- [[{0}|id-{1}]] and {2}", "![[{0}]]", "%% [[{0}]] %%",
    "(relates to:: [[{0}]])", "[[id-{1}]] {2}", "The {2} of {1} is here.", "[{2}](https://example.org/{2})",
    "{1} is a part of it", "[[missing {1}]]", "depends_on:: [[{0}]]", "contradicts:: [[{0}]]", "#tag{3} and {2}",
)  # fmt: skip
HIDING: tuple[dict[str, Any], ...] = (
    {}, {}, {}, {"visibility": "public"}, {"visibility": "sensitive"}, {"visibility": "cosmic"}, {"draft": True},
    {"flags": ["needs_review"]}, {"private_journal": True},
)  # fmt: skip
Note = tuple[str, str, dict[str, Any]]
"""Path, text, properties."""


def random_note(rng: random.Random, name: str) -> Note:
    """A note in which everything may mean everything."""
    lines = []
    for _ in range(rng.randrange(1, 7)):
        if rng.random() < 0.25:
            lines.append(f"{rng.choice(('#', '##'))} {rng.choice((*WORDS, 'See also'))}".replace("`", ""))
        form = rng.choice(FORMS)
        lines.append(
            form.format(rng.choice([*NAMES, "gone", "x.png"]), rng.choice(NAMES), rng.choice(WORDS), rng.randrange(3))
        )
        if rng.random() < 0.6:
            lines.append(" ".join(rng.choice(WORDS) for _ in range(rng.randrange(1, 9))) + ".")
    head: dict[str, Any] = dict(rng.choice(HIDING))
    if rng.random() < 0.6:
        head["type"] = rng.choice(["task", "concept", "project", "experience", "person", "nonsense"])
    if rng.random() < 0.5:
        head["id"] = f"id-{rng.choice([name, name, rng.choice(NAMES)])}"
    if rng.random() < 0.3:
        head["depends_on"] = [rng.choice([f"id-{rng.choice(NAMES)}", "gone"]) for _ in range(2)]
    if rng.random() < 0.3:
        head["edge_hints"] = ["supports"]
    if rng.random() < 0.5:
        head["tags"] = rng.sample(["t1", "t2", "t3", "pump"], 2)
    if rng.random() < 0.3:
        head["aliases"] = [rng.choice([f"also {name}", rng.choice(WORDS).strip("`"), rng.choice(NAMES)])]
    if rng.random() < 0.3:
        head["title"] = rng.choice([f"The {name}", rng.choice(NAMES), rng.choice(WORDS).strip("`")])
    if rng.random() < 0.3:
        head["created"] = "2024-05-18"
    if rng.random() < 0.2:
        head["relevance"] = 0.7
    if rng.random() < 0.2:
        head["due"] = "soon"  # a diagnostic
    lines += [f"# Head {SECRET}{name}", f"Said by Name{SECRET}{name} of `code{SECRET}{name}`. " * 2]
    folder = rng.choice(("", "one/", "two/"))
    return f"{folder}{name}.md", "\n\n".join(lines) + "\n", head


def write(world: World, note: Note) -> None:
    """One note, of a date that all vaults have in common."""
    path, text, head = note
    world.write(path, text, **head)
    os.utime(world.vault / path, (DAY, DAY))


def shown(note: Note, levels: tuple[str, ...], flags: tuple[str, ...]) -> bool:
    """What the rules of design section 9 say, written down anew."""
    head = note[2]
    level = head.get("visibility", "internal")
    level = level if level in VISIBILITIES else "sensitive"
    marked = {flag for flag in ("draft", "needs_review", "private_journal") if head.get(flag)} | set(
        head.get("flags", ())
    )
    return level in levels and not marked - set(flags)


class Pair:
    """The same vault with and without what a view hides, both served. ``hidden`` are paths."""

    def __init__(self, folder: Path, notes: list[Note], seen: list[Note], embedder: Embedder | None) -> None:
        self.paths = [note[0] for note in seen]
        self.hidden = [note[0] for note in notes if note not in seen]
        self.both = [make(folder / name, some, embedder) for name, some in (("w", notes), ("o", seen))]

    def close(self) -> None:
        for one in self.both:
            one.stop()
            one.world.close()


def make(folder: Path, notes: list[Note], embedder: Embedder | None) -> Served:
    """Index, make the graph, serve."""
    folder.mkdir()
    world = World(folder, embedder, **{"privacy.query_log": "on"})
    world.allow("sensitive")
    for note in notes:
        write(world, note)
    world.index()
    world.build_graph()
    return serve_world(world, folder / "s.sock")


# ------------------------------------------------------------------------------------------------------------ requests

QUESTIONS = (
    "valve pump", "what is the garden", "alpha", '"is a part"', "Kurt Gödel", "pump -river", "main theme of everything",
    "how does the valve relate to the pump", "open_valve", "id-beta ray", "winter lanternn",
)  # fmt: skip


def cases(paths: list[str], view: str, filters: dict[str, Any]) -> Iterator[tuple[str, str, str, Any]]:
    """(route, method, target, body) of every call that is compared."""
    for path in paths:
        ref = quote(path, safe="")
        yield "GET /notes/{ref}", "GET", f"/notes/{ref}?{view}", None
        yield "GET /notes/{ref}/related", "GET", f"/notes/{ref}/related?{view}", None
        yield "GET /notes/{ref}/suggestions", "GET", f"/notes/{ref}/suggestions?{view}", None
        yield "GET /neighbors/{ref}", "GET", f"/neighbors/{ref}?{view}", None
        yield "GET /neighbors/{ref}", "GET", f"/neighbors/{ref}?kind=backlink&{view}", None
        yield "GET /subgraph/{ref}", "GET", f"/subgraph/{ref}?depth=3&{view}", None
        yield "GET /diagnostics", "GET", f"/diagnostics?note={ref}&{view}", None
        for other in paths[:3]:
            yield "GET /path", "GET", f"/path?from={ref}&to={quote(other, safe='')}&{view}", None
            yield (
                "POST /explain",
                "POST",
                "/explain",
                {"text": "valve pump", "mode": "local", "filters": filters, "note": other},
            )
    for name in NAMES:  # hidden ones, titles and ids among them: each a 404, or what a shown note is called
        for ref in (name, f"id-{name}"):
            yield "GET /notes/{ref}", "GET", f"/notes/{quote(ref)}?{view}", None
    for target in (
        "/notes?limit=500",
        "/orphans?limit=500",
        "/unresolved?limit=500",
        "/diagnostics?limit=500",
        "/stats?",
    ):
        route = "GET " + target.partition("?")[0]
        yield route, "GET", f"{target}&{view}", None
    yield "GET /notes", "GET", f"/notes?tag=pump&{view}", None
    yield "GET /notes", "GET", f"/notes?limit=2&{view}", None
    yield "GET /entities", "GET", f"/entities?limit=500&{view}", None
    for word in (*WORDS, *NAMES):
        yield "GET /entities", "GET", f"/entities?q={quote(word.strip('`'))}&{view}", None
        yield "GET /entities/{id}", "GET", f"/entities/{quote(word.strip('`'))}?{view}", None
    yield "GET /communities", "GET", f"/communities?{view}", None
    for label in ("c_0_0", "c_0_1", "c_0_2", "c_1_0", "none"):
        yield "GET /communities/{id}", "GET", f"/communities/{label}?{view}", None
    yield "GET /runs", "GET", f"/runs?{view}", None
    yield "GET /runs/{run_id}", "GET", f"/runs/none?{view}", None
    for n, text in enumerate(QUESTIONS):
        mode = ("auto", "local", "global", "drift")[n % 4]
        for more in (
            {"mode": "local", "graph_hops": 2},
            {"mode": "local", "lanes": ["lexical"], "prefix": True},
            {"mode": mode, "answer": True},
            {"mode": mode, "explain": False},
        ):
            yield "POST /query", "POST", "/query", {"text": text, "filters": filters, **more}
        yield "POST /context", "POST", "/context", {"text": text, "filters": filters, "tokens": 120}
    yield "GET /query-log", "GET", f"/query-log?limit=500&{view}", None


def plain(value: Any, own: frozenset[str] = OWN) -> Any:
    """A reply without what two processes cannot have in common; numbers as far as they are shown to a person."""
    if isinstance(value, dict):
        own = own | RUN_OWN if "files_seen" in value else own
        return {key: plain(one, own) for key, one in value.items() if key not in own}
    if isinstance(value, list):
        return [plain(one, own) for one in value]
    return round(value, 5) if isinstance(value, float) else value


def ask(served: Served, method: str, target: str, body: Any) -> Any:
    """Status and body."""
    reply = served.call(method, target, body)
    told = plain(reply.json())
    if "runs" in told:
        told["runs"] = [run["errors"] for run in told["runs"] if run["errors"]]
    for row in told.get("query_log", ()):
        row.pop("id"), row.pop("filters_json", None)
        if row.get("decision_trace_json"):
            row["decision_trace_json"] = plain(json.loads(row["decision_trace_json"]))
    return reply.status, told


VIEWS: tuple[tuple[tuple[Visibility, ...], tuple[str, ...]], ...] = (
    (("public", "internal"), ()), (("public",), ()), (("public", "internal", "sensitive"), ()),
    (("public", "internal"), ("draft",)), (("internal", "sensitive"), ("needs_review", "private_journal")),
)  # fmt: skip


@pytest.fixture(scope="module")
def embedder(model_cache: Path) -> Embedder:
    return open_shared(model_cache)


@contextmanager
def pair_of(notes: list[Note], levels: tuple[str, ...], flags: tuple[str, ...], embedder: Embedder) -> Iterator[Pair]:
    """A pair in a folder of its own, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="mn-") as folder:
        pair = Pair(Path(folder), notes, [note for note in notes if shown(note, levels, flags)], embedder)
        try:
            yield pair
        finally:
            pair.close()


def leaks(pair: Pair, levels: tuple[str, ...], flags: tuple[str, ...]) -> list[str]:
    """The calls whose replies differ, or name what is hidden."""
    view = f"visibility={','.join(levels)}&include_flags={','.join(flags)}"
    filters = {"visibility": list(levels), "include_flags": list(flags)}
    stems = [Path(path).stem for path in pair.hidden]
    secrets = [
        re.compile(rf"(?<!\w){re.escape(path)}|{SECRET}{re.escape(stem)}")
        for path, stem in zip(pair.hidden, stems, strict=True)
    ]
    found = []
    for route, method, target, body in cases(pair.paths, view, filters):
        one, other = (ask(served, method, target, body) for served in pair.both)
        if one != other:
            found.append(f"differs: {route} {target} {json.dumps(body)}")
        text = json.dumps(one, ensure_ascii=False)
        found += [
            f"tells {secret.pattern}: {route} {target} {json.dumps(body)}" for secret in secrets if secret.search(text)
        ]
    return found


def vault_of(rng: random.Random) -> list[Note]:
    """A note of each name."""
    return [random_note(rng, name) for name in NAMES]


@settings(max_examples=3, suppress_health_check=list(HealthCheck), database=None)
@given(seed=st.integers(0, 2**32), view=st.sampled_from(VIEWS))
def test_random_vaults_short_form(embedder: Embedder, seed: int, view: Any) -> None:
    """Ids, counts, scores, statistics, order, explanations: all calls of the API, for any view."""
    check(embedder, seed, view)


@pytest.mark.nightly
@pytest.mark.timeout(7200)
def test_random_vaults(embedder: Embedder) -> None:
    """The same for 100 vaults."""
    for seed in range(100):
        check(embedder, seed, VIEWS[seed % len(VIEWS)])


def check(embedder: Embedder, seed: int, view: Any) -> None:
    """One vault."""
    with pair_of(vault_of(random.Random(seed)), *view, embedder) as pair:
        assert leaks(pair, *view) == []


def test_an_edit_hides_at_the_next_call(embedder: Embedder) -> None:
    """Notes that were asked about while they were shown: no cache of texts, vectors or views outlives the edit."""
    notes, view = vault_of(random.Random(5)), VIEWS[0]
    assert any(not shown(note, *view) for note in notes)
    with pair_of(notes, *view, embedder) as pair:
        whole = pair.both[0]
        bare = [(path, text, {k: v for k, v in head.items() if k not in HEADS}) for path, text, head in notes]
        for state in (bare, notes):
            for note in state:
                write(whole.world, note)
            whole.world.index()
            if state is bare:
                whole.world.build_graph()  # chosen, merged, summed up by what is hidden next
                every = cases([note[0] for note in notes], "", {})
                assert {ask(whole, *call)[0] for _, *call in every} >= {200}
        told = [one for one in leaks(pair, *view) if "/query-log" not in one]
        of_graph = re.compile(r"differs: (POST /query|POST /context|GET /(stats|entities|communities))")
        assert [one for one in told if not of_graph.match(one)] == [], "until the graph is made anew"
        assert whole.world.engine.entities.withdrawn(), "which is asked for at once"
        whole.world.build_graph()
        assert [one for one in leaks(pair, *view) if "/query-log" not in one] == []


HEADS = ("visibility", "draft", "flags", "private_journal")


# --------------------------------------------------------------------------------------------------------- every route


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("routes")
    world = World(folder)
    world.write("a.md", "Words of a. [[b]]\n")
    world.write("b.md", "Words of b.\n", visibility="sensitive")
    world.index()
    running = serve_world(world, folder / "s.sock")
    yield running
    running.stop()
    world.close()


def test_every_route_is_compared(served: Served) -> None:
    """A new route has a case, or a reason here why it has none."""
    paths = served.get("/openapi.json")["paths"]
    routes = {re.sub(r":path", "", f"{method.upper()} {path}") for path, methods in paths.items() for method in methods}
    compared = {route for route, *_ in cases(["a.md"], "", {})}
    assert routes - compared - set(WHOLE_VAULT) - {"GET /events"} == set()


def test_every_call_with_a_view_is_refused_above_the_maximum(served: Served) -> None:
    """403 ``visibility_denied``, whatever else the call says, and nothing of the note in the error."""
    document = served.get("/openapi.json")
    asked = 0
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            target = path.replace("{ref}", "a.md").replace("{run_id}", "none").replace("{id}", "none")
            names = {one["name"] for one in operation.get("parameters", ())}
            body = None
            if "visibility" in names:
                ends = "&from=a&to=b" if path == "/path" else ""
                target += f"?visibility=public,sensitive{ends}"
            elif "FiltersIn" in json.dumps(request_schema(document, operation)):
                body = {
                    "text": "words",
                    "note": "a",
                    "filters": {"visibility": ["sensitive"]},
                }
                body = {key: value for key, value in body.items() if key in fields(document, operation)}
            else:
                continue
            asked += 1
            reply = served.call(method.upper(), target, body)
            assert (reply.status, reply.code) == (403, "visibility_denied"), (method, target, reply.body)
    assert asked >= 20


def request_schema(document: Any, operation: Any) -> Any:
    """The schema of the body of a call, its own references followed once."""
    schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    name = schema.get("$ref", "").rsplit("/", 1)[-1]
    return document["components"]["schemas"].get(name, schema)


def fields(document: Any, operation: Any) -> set[str]:
    return set(request_schema(document, operation).get("properties", ()))


def test_events_of_hidden_notes_are_not_told(served: Served) -> None:
    """A reader of events gets those of shown notes only; the end of a run is told without a name."""
    view = View(frozenset({"public", "internal"}), frozenset(FLAGS))

    async def listen() -> list[dict[str, Any]]:
        bus = EventBus()
        lines = event_lines(bus, view)
        assert await anext(lines) == b""
        waiting = asyncio.create_task(collect(lines))
        await asyncio.sleep(0)
        bus.publish(Event("note.indexed", {"path": "b.md"}, "sensitive"))
        bus.publish(Event("note.indexed", {"path": "c.md"}, "internal", ("draft",)))
        bus.publish(Event("note.indexed", {"path": "a.md"}, "internal"))
        bus.publish(Event("run.finished", {"files_changed": 3}))
        bus.close()
        return await waiting

    told = asyncio.run(listen())
    assert [(one["event"], one.get("path")) for one in told] == [("note.indexed", "a.md"), ("run.finished", None)]


async def collect(lines: AsyncIterator[bytes]) -> list[dict[str, Any]]:
    return [json.loads(line) for piece in [one async for one in lines] for line in piece.splitlines()]


def test_the_operational_view_names_nothing(served: Served) -> None:
    """Status, metrics and jobs count work over all notes; no path, title, id or word of any note is in them."""
    job = served.call("POST", "/admin/resolve", {}).json()["id"]
    for target in ("/status", "/metrics", f"/jobs/{job}"):
        text = served.call("GET", target).body.decode()
        assert not re.search(r"(?<![\w.])[ab]\.md|Words of", text), target


# --------------------------------------------------------------------------------------------------------- runs and log


def test_a_removal_is_a_change(tmp_path: Path) -> None:
    """Of a run, of its event and of status."""
    world = World(tmp_path)
    for name in ("a", "b", "c"):
        world.write(f"{name}.md", "Words.\n")
    world.index()
    (world.vault / "a.md").unlink()
    (world.vault / "b.md").unlink()
    world.index()
    run = read.runs(world.engine.db)[0]
    assert (run.files_changed, run.files_failed) == (2, 0) and run.ended is not None
    assert run.config_hash and read.config(world.engine.db, run.config_hash)
    assert world.writer.last_run is not None and world.writer.last_run.summary()["files_changed"] == 2
    world.close()


def test_a_question_is_counted_when_the_model_is_asked(embedder: Embedder) -> None:
    """Not when its vector is remembered."""
    asked: list[int] = []
    for _ in range(3):
        embedder.embed_query("how often is this embedded", lambda: asked.append(1))
    assert len(asked) == 1


def test_the_log_of_a_wider_question_is_not_read(tmp_path: Path) -> None:
    """What was asked of hidden notes tells of them; a trace says lanes, filters and scores."""
    world = World(tmp_path, **{"privacy.query_log": "on"})
    world.write("a.md", "The valve.\n")
    world.write("b.md", "The valve is hidden.\n", visibility="sensitive")
    world.index()
    world.allow("sensitive")
    running = serve_world(world, tmp_path / "s.sock")
    running.query("valve hidden", filters={"visibility": ["internal", "sensitive"]})
    running.query("valve", filters={"include_flags": ["draft"]})
    running.query("valve")
    (row,) = running.get("/query-log")["query_log"]  # before the writer has come round to it
    world.index()
    assert running.get("/query-log")["query_log"] == [row]
    (hit,) = json.loads(row["decision_trace_json"])
    assert row["query"] == "valve" and set(json.loads(row["filters_json"])["visibility"]) == {"internal", "public"}
    assert hit["path"] == "a.md" and hit["rank"] == 1 and hit["score"] > 0 and hit["lanes"]["lexical"]["rank"] == 1
    wide = "visibility=internal,public,sensitive&include_flags=draft"
    assert len(running.get(f"/query-log?{wide}")["query_log"]) == 3
    page = running.get(f"/query-log?{wide}&limit=2")
    assert (
        len(page["query_log"]) == 2
        and len(running.get(f"/query-log?{wide}&limit=2&cursor={page['next']}")["query_log"]) == 1
    )
    running.stop()
    world.close()
