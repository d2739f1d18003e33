"""The socket API on a real socket over a real index: what `api.md` says of each call."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import duckdb
import pytest
from conftest import wait_until
from server_make import Served, World, serve_world

CANVAS = {"nodes": [{"id": "1", "type": "file", "file": "30_projects/valve.md", "x": 0, "y": 0}], "edges": []}
ODD = "odd/ä #1 100% & café?.md"


def fill(world: World) -> None:
    """A small vault with everything that the calls show."""
    world.write(
        "30_projects/valve.md",
        "# Valve timing\nThe valve is opened at dawn. See [[pump]] and [[Nowhere]] and ![[pic.png]].\n",
        id="valve-timing", title="Valve timing", type="project", status="active", tags=["garden/water"],
        aliases=["The Valve"],
    )  # fmt: skip
    world.write("pump.md", "The pump feeds the valve: [[valve]]. Also [[secret]].\n", type="concept")
    world.write("secret.md", "A secret valve plan, see [[pump]] and [[Hidden target]].\n", visibility="sensitive")
    world.write("draft.md", "A draft about the valve [[pump]].\n", flags=["draft"])
    world.write("a/Same.md", "one\n")
    world.write("b/same.md", "two\n")
    world.write(ODD, "An odd name for a valve.\n")
    world.write("empty.md", "")
    world.write("broken.md", b"---\ntitle: a: b\n---\nbroken frontmatter\n")
    world.write("pic.png", b"\x89PNG")
    world.write("board.canvas", json.dumps(CANVAS).encode())
    world.index()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    world = World(folder)
    fill(world)
    running = serve_world(world, folder / "s.sock")
    yield running
    running.stop()
    world.close()


def ref(text: str) -> str:
    return quote(text, safe="")


def paths(reply: dict) -> list[str]:
    return [hit["note"]["path"] for hit in reply["results"]]


# ------------------------------------------------------------------------------------------------------------- query


def test_a_query_answers_with_every_field(served: Served) -> None:
    """The reply has the fields of the contract, and the score is the sum of its terms."""
    reply = served.query("valve opened dawn")
    assert paths(reply)[0] == "30_projects/valve.md"
    hit = reply["results"][0]
    assert hit["note"]["note_id"] == "valve-timing" and hit["chunk"]["start_line"] >= 9
    assert sum(part["term"] for name, part in hit["explain"].items() if name != "lanes") == pytest.approx(hit["score"])
    assert reply["mode"] == "local" and reply["mode_reason"] == "no entity" and reply["answer"] is None
    assert reply["revision"] == served.world.desk.revision and reply["took_ms"]["total"] >= 0
    assert {"embed", "lexical", "dense", "graph", "hydrate", "total"} <= reply["took_ms"].keys()


def test_highlights_are_inside_the_snippet(served: Served) -> None:
    """Each highlight is a span of code points that shows a word of the question."""
    chunk = served.query("valve dawn")["results"][0]["chunk"]
    assert chunk["highlights"]
    for start, end in chunk["highlights"]:
        assert chunk["snippet"][start:end].lower() in ("valve", "dawn")


def test_defaults_hold_for_what_is_left_out(served: Served) -> None:
    """Without filters a query sees public and internal notes without flags."""
    assert not {"secret.md", "draft.md"} & set(paths(served.query("valve", top_k=1000)))


def test_the_weights_say_how_many_results(served: Served) -> None:
    """`top_k` of retrieval.yaml holds for a question that leaves it out, and for no other."""
    searcher = served.world.desk.searcher
    before = searcher.settings
    searcher.settings = dataclasses.replace(before, top_k=1)
    try:
        assert len(served.query("valve")["results"]) == 1
        assert len(served.query("valve", top_k=2)["results"]) == 2
        assert len(served.query("valve", top_k=None)["results"]) == 1
    finally:
        searcher.settings = before


def test_flags_are_included_on_request(served: Served) -> None:
    """A flagged note is found once its flag is included."""
    assert "draft.md" in paths(served.query("valve", filters={"include_flags": ["draft"]}))


def test_filters_reach_the_lanes(served: Served) -> None:
    """Each filter narrows the answer."""
    narrow = ({"types": ["project"]}, {"tags": ["garden"]}, {"status": ["active"]}, {"paths": ["30_projects/**"]})
    for filters in narrow:
        assert paths(served.query("valve", filters=filters)) == ["30_projects/valve.md"], filters
    assert paths(served.query("valve", filters={"frontmatter": {"type": "project"}})) == ["30_projects/valve.md"]
    assert paths(served.query("valve", filters={"modified": {"to": "1990-01-01"}})) == []


def test_explain_can_be_left_out(served: Served) -> None:
    """``explain: false`` leaves the terms out."""
    assert "explain" not in served.query("valve", explain=False)["results"][0]


def test_a_stream_has_results_and_done(served: Served) -> None:
    """``stream`` gives NDJSON events, the reply first."""
    reply = served.call("POST", "/query", {"text": "valve", "stream": True})
    events = [json.loads(line) for line in reply.body.splitlines()]
    assert [event["event"] for event in events] == ["results", "done"]
    assert events[0]["results"] and reply.headers["content-type"] == "application/x-ndjson"


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"text": ""}, 400, "bad_value"),
        ({"text": "  "}, 400, "bad_value"),
        ({"text": "x", "top_k": 0}, 400, "bad_value"),
        ({"text": "x", "top_k": 1001}, 400, "bad_value"),
        ({"text": "x", "mode": "odd"}, 400, "bad_value"),
        ({"text": "x", "lanes": ["odd"]}, 400, "bad_value"),
        ({"text": "x", "filters": {"visibility": ["odd"]}}, 400, "bad_value"),
        ({"text": "x", "filters": {"created": {"from": "soon"}}}, 400, "bad_value"),
        ({"text": "x", "filters": {"visibility": ["sensitive"]}}, 403, "visibility_denied"),
        ({}, 422, "schema"),
        ({"text": 7}, 422, "schema"),
        ({"text": "x", "top_k": "3"}, 422, "schema"),
        ({"text": "x", "filters": {"visibilty": ["public"]}}, 422, "schema"),
        ([], 422, "schema"),
        (b"{", 422, "schema"),
        (b"", 422, "schema"),
        (b'{"text": "\\ud800"}', 422, "schema"),
    ],
)
def test_bad_queries_are_refused(served: Served, body: object, status: int, code: str) -> None:
    """A value that cannot be used is a 400, a body of another shape a 422, too much visibility a 403."""
    reply = served.call("POST", "/query", body)
    assert (reply.status, reply.code) == (status, code), reply.body
    assert "\n" not in reply.json()["error"]["message"]
    assert not reply.json()["error"]["message"].split(":")[0].isdigit(), "it names the field or the body"


def test_json_is_read_whatever_the_content_type(served: Served) -> None:
    """``curl -d`` sends a form's content type; the body is JSON all the same."""
    reply = served.call("POST", "/query", {"text": "x"}, {"Content-Type": "application/x-www-form-urlencoded"})
    assert reply.status == 200


# ------------------------------------------------------------------------------------------------------------- notes


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("valve-timing", "30_projects/valve.md"),
        ("30_projects/valve.md", "30_projects/valve.md"),
        ("30_PROJECTS/VALVE.md", "30_projects/valve.md"),
        ("30_projects/valve", "30_projects/valve.md"),
        ("valve.md", "30_projects/valve.md"),
        ("Valve", "30_projects/valve.md"),
        ("valve TIMING", "30_projects/valve.md"),
        ("the valve", "30_projects/valve.md"),
        (ODD, ODD),
        ("odd/a\u0308 #1 100% & cafe\u0301?.md", ODD),
        ("a/Same.md", "a/Same.md"),
        ("board.canvas", "board.canvas"),
        ("board", "board.canvas"),
    ],
)
def test_a_note_is_found_by_any_of_its_names(served: Served, given: str, path: str) -> None:
    """Id, path, file name, title and alias, in NFC and without case, percent-encoded."""
    assert served.get(f"/notes/{ref(given)}")["note"]["path"] == path


def test_a_note_is_found_by_its_id(served: Served) -> None:
    """The UUID of a list is a reference."""
    listed = served.get("/notes?prefix=pump")["notes"][0]
    assert served.get(f"/notes/{listed['id']}")["note"]["path"] == "pump.md"


def test_slashes_may_be_written_plain(served: Served) -> None:
    """A path whose slashes are not encoded is understood too."""
    assert served.get("/notes/30_projects/valve.md")["note"]["note_id"] == "valve-timing"


def test_an_ambiguous_name_lists_its_candidates(served: Served) -> None:
    """Several matches are a 409 with the candidates."""
    reply = served.call("GET", "/notes/same")
    assert (reply.status, reply.code) == (409, "ambiguous")
    assert [c["path"] for c in reply.json()["error"]["detail"]["candidates"]] == ["a/Same.md", "b/same.md"]


@pytest.mark.parametrize("given", ["nothing", "secret", "secret.md", "draft", "", "%ff", "..%2f..%2fetc%2fpasswd"])
def test_what_cannot_be_seen_is_not_there(served: Served, given: str) -> None:
    """Unknown and hidden notes are the same 404."""
    reply = served.call("GET", f"/notes/{given}")
    assert (reply.status, reply.code) == (404, "note_not_found")


def test_a_note_has_its_links_and_backlinks(served: Served) -> None:
    """Links in file order, unresolved ones null; backlinks only of visible notes."""
    reply = served.get("/notes/valve-timing")
    links = [(link["kind"], link["target"], link["resolved"]) for link in reply["links"]]
    assert links == [("wikilink", "pump", "pump.md"), ("wikilink", "Nowhere", None), ("embed", "pic.png", "pic.png")]
    assert [link["line"] for link in reply["links"]] == [10, 10, 10]
    assert {(b["path"], b["line"]) for b in reply["backlinks"]} == {("pump.md", 4), ("board.canvas", None)}


def test_chunks_join_to_the_body(served: Served) -> None:
    """The chunk texts are the body; passages are counted, none embedded without a model."""
    reply = served.get("/notes/pump")
    assert "".join(chunk["text"] for chunk in reply["chunks"]).startswith("The pump feeds the valve")
    assert reply["passages"] >= 1 and reply["embedded"] == 0


def test_an_empty_note_is_a_note(served: Served) -> None:
    """A note without text has no chunk, and is found by its name."""
    assert served.get("/notes/empty")["chunks"] == []
    hit = served.query("empty")["results"][0]
    assert (hit["note"]["path"], hit["chunk"]) == ("empty.md", None)


def test_a_canvas_shows_its_links(served: Served) -> None:
    """A canvas is reachable by reference and in no list."""
    reply = served.get("/notes/board.canvas")
    assert [link["resolved"] for link in reply["links"]] == ["30_projects/valve.md"]
    assert "board.canvas" not in [note["path"] for note in served.get("/notes?limit=500")["notes"]]


def test_a_canvas_is_internal(served: Served) -> None:
    """It cannot say a visibility: with public alone it is in nothing."""
    assert served.call("GET", "/notes/board?visibility=public").status == 404
    served.world.write("open.md", "[[pump]]\n", visibility="public")
    served.world.write("board2.canvas", json.dumps(CANVAS).replace("30_projects/valve.md", "open.md").encode())
    served.world.index()
    # pump is internal: for somebody who sees public notes alone it is a name that nobody has
    assert edges(served.get("/neighbors/open?visibility=public")) == {("open", "references", "pump")}
    kinds = [node["kind"] for node in served.get("/neighbors/open?visibility=public")["nodes"]]
    assert kinds == ["note", "unresolved"]
    assert served.get("/notes/open?visibility=public")["backlinks"] == []
    assert ("board2.canvas", "references", "open") in edges(served.get("/neighbors/open"))
    for name in ("open.md", "board2.canvas"):
        (served.world.vault / name).unlink()
    served.world.index()


def test_the_query_log_is_kept_on_request(tmp_path: Path) -> None:
    """With ``privacy.query_log`` on, questions are listed newest first; by default none is kept."""
    for setting, kept in (("off", []), ("on", ["second", "first"])):
        folder = tmp_path / setting
        folder.mkdir()
        world = World(folder, **{"privacy.query_log": setting})
        running = serve_world(world, folder / "s.sock")
        for text in ("first", "second"):
            running.query(text)
            world.index()
        assert [entry["query"] for entry in running.get("/query-log")["query_log"]] == kept
        running.stop()
        world.close()


# ------------------------------------------------------------------------------------------------------------- lists


def test_the_list_has_every_note_once(served: Served) -> None:
    """Pages of two, walked by their cursor, are the whole list in order."""
    whole = [note["path"] for note in served.get("/notes?limit=500")["notes"]]
    pages, cursor = [], ""
    while True:
        page = served.get(f"/notes?limit=2{cursor}")
        pages += [note["path"] for note in page["notes"]]
        if page["next"] is None:
            break
        cursor = f"&cursor={ref(page['next'])}"
    assert pages == whole == sorted(whole) and ODD in whole and len(whole) == 7


def test_the_list_narrows(served: Served) -> None:
    """Prefix, type and tag; a tag's parent matches."""
    for narrow in ("prefix=30_", "type=Project", "tag=garden", "tag=%23garden%2Fwater"):
        assert [n["path"] for n in served.get(f"/notes?{narrow}")["notes"]] == ["30_projects/valve.md"], narrow


def test_unresolved_lists_targets_with_their_sources(served: Served) -> None:
    """Only what visible notes ask for."""
    items = served.get("/unresolved")["unresolved"]
    assert [(item["target"], item["count"]) for item in items] == [("Nowhere", 1), ("secret", 1)]
    assert items[0]["sources"][0]["path"] == "30_projects/valve.md"
    assert items[1]["sources"][0]["path"] == "pump.md", "a link to a hidden note is one to a missing note"
    assert {i["target"] for i in _all_levels(served, "/unresolved")["unresolved"]} == {"Nowhere", "Hidden target"}


def test_diagnostics_name_file_and_line(served: Served) -> None:
    """Worst first, and those of one note on request."""
    found = served.get("/diagnostics")["diagnostics"]
    assert found[0]["code"] == "yaml_syntax" and found[0]["path"] == "broken.md"
    assert {d["path"] for d in served.get("/diagnostics?note=broken")["diagnostics"]} == {"broken.md"}
    assert "secret.md" not in {d["path"] for d in found}


def test_runs_are_listed_newest_first(served: Served) -> None:
    """A run of the list is found by its id; an unknown one is a 404."""
    run = served.get("/runs")["runs"][0]
    assert served.get(f"/runs/{run['id']}")["run"] == run and run["started"].endswith("Z")
    assert served.call("GET", "/runs/none").code == "run_not_found"


@pytest.mark.parametrize(
    "target",
    ["/notes?limit=0", "/notes?limit=501", "/notes?cursor=%21", "/runs?cursor=x", "/subgraph/pump?depth=5",
     "/neighbors/pump?direction=up", "/notes?visibility=odd", "/stats?include_flags=odd"],
)  # fmt: skip
def test_bad_parameters_are_refused(served: Served, target: str) -> None:
    """A parameter out of range is a 400."""
    assert served.call("GET", target).status == 400


# ------------------------------------------------------------------------------------------------------------- graph


def edges(reply: dict) -> set[tuple[str, str, str]]:
    labels = {node["id"]: node["label"] for node in reply["nodes"]}
    return {(labels[e["src"]], e["relation"], labels[e["dst"]]) for e in reply["edges"]}


def test_neighbors_go_in_the_asked_direction(served: Served) -> None:
    """In, out and both; the asked note is the first node."""
    out = served.get("/neighbors/valve-timing?direction=out&kind=references")
    assert edges(out) == {("Valve timing", "references", other) for other in ("pump", "Nowhere", "pic.png")}
    assert out["nodes"][0]["label"] == "Valve timing" and out["truncated"] is False
    assert {n["kind"] for n in out["nodes"]} == {"note", "unresolved", "file"}
    incoming = edges(served.get("/neighbors/valve-timing?direction=in&kind=references"))
    assert incoming == {("pump", "references", "Valve timing"), ("board.canvas", "references", "Valve timing")}
    assert len(edges(served.get("/neighbors/valve-timing?kind=references"))) == 5
    assert edges(served.get("/neighbors/valve-timing?kind=supports")) == set()


def test_a_subgraph_walks_and_is_limited(served: Served) -> None:
    """Depth counts steps; the limit cuts and says so."""
    assert ("pump", "references", "Valve timing") in edges(served.get("/subgraph/board.canvas?depth=2"))
    assert ("pump", "references", "Valve timing") not in edges(served.get("/subgraph/board.canvas?depth=1"))
    cut = served.get("/subgraph/valve-timing?limit=2")
    assert len(cut["edges"]) == 2 and cut["truncated"] is True


def test_a_walk_ends_at_urls(served: Served) -> None:
    """A page that both cite is shown, but is no way from one note to the other."""
    for name in ("left", "right"):
        served.world.write(f"{name}.md", "[site](https://example.org/page)\n")
    served.world.index()
    found = edges(served.get("/subgraph/left?depth=4"))
    for name in ("left", "right"):
        (served.world.vault / f"{name}.md").unlink()
    served.world.index()
    assert found == {("left", "references", "https://example.org/page")}


def test_stats_count_what_they_allow(served: Served) -> None:
    """Hidden notes are in no count."""
    stats, every = served.get("/stats"), _all_levels(served, "/stats")
    assert (stats["documents"], every["documents"]) == (7, 9)
    assert (stats["unresolved"], every["unresolved"]) == (2, 2), "Nowhere, secret; Nowhere, Hidden target"
    assert stats["edges"]["references"]["declared"] + 3 == every["edges"]["references"]["declared"]
    assert stats["chunks"] == 6 and stats["database_bytes"] > 0
    assert stats["embeddings"] == {"stored": 0, "made_total": 0, "reused_total": 0}


def _all_levels(served: Served, target: str) -> dict:
    """A GET that sees everything, with the limit of this daemon raised for its time."""
    served.world.allow("sensitive")
    try:
        mark = "&" if "?" in target else "?"
        return served.get(f"{target}{mark}visibility=public,internal&visibility=sensitive&include_flags=draft")
    finally:
        served.world.allow("internal")


# -------------------------------------------------------------------------------------------------------- visibility

EVERY_GET = [
    "/notes?limit=500", "/notes/pump", "/notes/valve-timing", "/notes/board.canvas", "/neighbors/pump",
    "/subgraph/pump?depth=4", "/unresolved", "/diagnostics?limit=500", "/stats", "/orphans?limit=500",
    "/path?from=pump&to=valve-timing", "/notes/pump/related?limit=100", "/neighbors/pump?kind=backlink",
    "/runs?limit=500", "/query-log?limit=500",
]  # fmt: skip


@pytest.mark.parametrize("target", EVERY_GET)
def test_no_get_shows_a_hidden_note(served: Served, target: str) -> None:
    """Law 9: neither path nor title nor target of a hidden note is in any reply (a link's own text is)."""
    reply = served.get(target)
    text = json.dumps({**reply, "links": [link["resolved"] for link in reply.get("links", [])], "chunks": []})
    assert "secret.md" not in text and "draft.md" not in text and "Hidden target" not in text


@pytest.mark.parametrize("target", [*EVERY_GET, "/events", "/notes/secret"])
def test_every_get_denies_more_than_the_limit(served: Served, target: str) -> None:
    """Above ``max_query_visibility`` is a 403, whatever is asked."""
    mark = "&" if "?" in target else "?"
    reply = served.call("GET", f"{target}{mark}visibility=sensitive")
    assert (reply.status, reply.code) == (403, "visibility_denied")


def test_a_hidden_note_is_shown_when_allowed(served: Served) -> None:
    """With the level allowed and asked for, the note and its links are there."""
    reply = _all_levels(served, "/notes/pump")
    assert "secret.md" in [link["resolved"] for link in reply["links"]]
    assert {b["path"] for b in reply["backlinks"]} == {"30_projects/valve.md", "secret.md", "draft.md"}


def test_a_note_that_is_hidden_now_is_hidden_at_once(served: Served) -> None:
    """A visibility edit acts at the next call."""
    served.world.write("later.md", "visible words\n")
    served.world.index()
    assert served.get("/notes/later")["note"]["path"] == "later.md"
    served.world.write("later.md", "visible words\n", visibility="sensitive")
    served.world.index()
    assert served.call("GET", "/notes/later").status == 404 and paths(served.query("visible words")) == []
    (served.world.vault / "later.md").unlink()
    served.world.index()


# ------------------------------------------------------------------------------------------------------- state, admin


def test_status_metrics_and_openapi_answer(served: Served) -> None:
    """The calls about the daemon itself."""
    assert served.get("/status")["state"] == "ready"
    metrics = served.call("GET", "/metrics")
    assert metrics.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert b'mindnet_request_seconds_count{route="/status"}' in metrics.body
    for route in ("/backup", "/notes/{ref}"):
        assert f'mindnet_request_seconds_count{{route="{route}"}}'.encode() in metrics.body
    assert served.get("/openapi.json")["info"]["title"] == "mindnetd"


@pytest.mark.parametrize("call", ["reconcile", "import", "resolve", "verify"])
def test_admin_calls_start_a_job(served: Served, call: str) -> None:
    """202 with a job, with or without a body; the job is there to be asked about, and ends well."""
    for body in (None, {}):
        reply = served.call("POST", f"/admin/{call}", body)
        job = reply.json()
        assert reply.status == 202 and job["kind"] == ("reconcile" if call == "import" else call)
        assert finished(served, job["id"])["state"] == "done"


def finished(served: Served, job_id: str) -> dict:
    """The job, once it is over."""
    served.world.index()
    wait_until(lambda: served.get(f"/jobs/{job_id}")["state"] in ("done", "failed"), what="the job's end")
    return served.get(f"/jobs/{job_id}")


def test_reindex_takes_paths_references_or_all(served: Served) -> None:
    """References become paths, hidden notes too; nothing at all, ambiguous names and other places are refused."""
    job = served.call("POST", "/admin/reindex", {"paths": ["the valve", "secret", "30_projects"]}).json()
    assert finished(served, job["id"])["progress"] == {"done": 2, "total": 2}
    assert served.call("POST", "/admin/reindex", {"all": True}).status == 202
    assert served.call("POST", "/admin/reindex", {}).status == 400
    assert served.call("POST", "/admin/reindex", {"paths": ["same"]}).code == "ambiguous"
    served.world.index()


NO_PATHS = ("../x.md", "/etc/hostname", "/etc/host.md", "", ".", "..", "//", "a" * 5000, "\0.md", "\ud800", "\ud800.md")


@pytest.mark.parametrize("path", [*NO_PATHS, ".obsidian/app.json", "no/such.md", "a/" * 2000 + "b.md"])
def test_what_is_no_file_of_the_vault_is_not_reindexed(served: Served, path: str) -> None:
    """Whatever a path says, it reaches nothing but the vault's files, and is a plain refusal."""
    reply = served.call("POST", "/admin/reindex", {"paths": [path]})
    assert (reply.status, reply.code) == (400, "bad_value")
    assert served.call("POST", "/query", {"text": "a", path: 1}).status == 422


def test_verify_lists_hashes_on_request(served: Served) -> None:
    """``hashes`` reaches the job; the result says whether all agrees."""
    result = finished(served, served.call("POST", "/admin/verify", {"hashes": True}).json()["id"])["result"]
    assert result["ok"] is True and result["differences"] == []
    assert "secret.md" in [row["path"] for row in result["hashes"]]


def test_an_unknown_job_is_a_404(served: Served) -> None:
    """Jobs have a code of their own."""
    assert served.call("GET", "/jobs/none").code == "job_not_found"


def test_a_backup_is_streamed_and_leaves_nothing(served: Served, tmp_path: Path) -> None:
    """A database that opens, with the notes; and no file left behind."""
    reply = served.call("GET", "/backup")
    assert reply.headers["content-type"] == "application/octet-stream"
    copy = tmp_path / "copy.duckdb"
    copy.write_bytes(reply.body)
    with duckdb.connect(str(copy), read_only=True) as opened:
        assert opened.execute("SELECT count(*) FROM notes").fetchall() == [(9,)]
    assert not list(served.world.config.db.parent.glob("spare/*"))


def test_unknown_paths_and_methods(served: Served) -> None:
    """Errors of HTTP itself have the same shape."""
    assert served.call("GET", "/nothing").code == "not_found"
    assert served.call("POST", "/status").code == "method_not_allowed"


def test_every_reply_names_vault_and_revision(served: Served) -> None:
    """Headers on success, on errors, on a body too large, on streams."""
    big = b'{"text": "' + b"x" * (1 << 20) + b'"}'
    for reply in (
        served.call("GET", "/status"), served.call("GET", "/nothing"), served.call("POST", "/query", {}),
        served.call("POST", "/query", big), served.call("GET", "/backup"), served.call("GET", "/openapi.json"),
    ):  # fmt: skip
        assert reply.headers["x-mindnet-vault"] == served.world.desk.vault_id
        assert int(reply.headers["x-mindnet-revision"]) == served.world.desk.revision
    assert served.call("POST", "/query", big).code == "body_too_large"


def test_the_socket_is_private(served: Served) -> None:
    """Mode 0600."""
    assert served.path.stat().st_mode & 0o777 == 0o600


def test_a_name_that_is_no_utf8_is_a_reference_as_told_and_as_on_disk(tmp_path: Path) -> None:
    """The path is told with `\\xNN`; a client that has the bytes may send them too."""
    world = World(tmp_path)
    world.write("odd \udcff.md", "An odd name.\n")
    world.index()
    running = serve_world(world, tmp_path / "s.sock")
    (told,) = [note["path"] for note in running.get("/notes")["notes"]]
    assert told == r"odd \xff.md"
    for ref in (quote(told), "odd%20%FF.md", "odd%20%FF"):
        assert running.get(f"/notes/{ref}")["note"]["path"] == told
    running.stop()
    world.close()
