"""Every command of ``mindnet`` against a real server: output, --json, exit codes."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from client_make import Mindnet, run_process
from conftest import wait_until
from server_make import Served, World, serve_world
from test_server_routes import fill

from mindnetd.client.ask import ONLY_NEAR, show, spot
from mindnetd.client.graph import evidence
from mindnetd.client.paint import Paint, table
from mindnetd.client.state import event_line, show_status


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("client")
    world = World(folder)
    fill(world)
    world.write("evil.md", "escape \x1b[31mred\x07 unique words\n")
    world.index()
    running = serve_world(world, folder / "s.sock")
    yield running
    running.stop()
    world.close()


@pytest.fixture
def mindnet(served: Served, capsys: pytest.CaptureFixture[str]) -> Mindnet:
    return Mindnet(served.path, capsys)


def test_query_shows_rank_title_place_and_marked_words(mindnet: Mindnet) -> None:
    """A result is a head line with path:line, its heading, and the snippet with the words marked."""
    ran = mindnet("query", "valve", "opened", "dawn")
    assert ran.code == 0 and " 1. Valve timing  30_projects/valve.md:9" in ran.out
    assert "The *valve* is *opened* at *dawn*" in ran.out and "mode local" not in ran.out


def test_query_explains_on_request(mindnet: Mindnet) -> None:
    """--explain shows the terms that are added, where each comes from, and what sets a result behind the one before."""
    out = mindnet("query", "valve", "--explain").out
    assert "score " in out and "mode local" in out and "days old" in out
    assert re.search(r"words +\+0\.\d{4} +1\.0000 x 0\.7 +rank 1, BM25", out)
    assert re.search(r"\d\.\d{4} behind number 1: title -2\.0000, ", out)
    assert "score " not in mindnet("query", "valve").out


@pytest.mark.parametrize(
    ("section", "text", "line", "headings"),
    [
        (["A"], "# A\n\nthe word", 12, ["A"]),
        (["A"], "# A word", 10, ["A"]),
        (["A", "B"], "# A\n## B\ntext\n## C\n\n### D\nword", 16, ["A", "C", "D"]),
        (["A", "B"], "## B\ntext\n## C\nword", 13, ["A", "C"]),
        (["A", "B"], "### B\ntext\n## C\nword", 13, ["C"]),
        (["A", "B"], "goes on\n## C\nword", 12, ["C"]),
        (["A", "B"], "goes on\nword", 11, ["A", "B"]),
        ([], "text\n```sh\n# no heading\n```\nword", 14, []),
        (["B"], "## A\n## B\nword", 12, ["B"]),
    ],
)
def test_a_hit_is_where_its_first_marked_word_is(section: list[str], text: str, line: int, headings: list[str]) -> None:
    """A chunk of many short sections shows the line and the headings of the word, not those of its beginning."""
    at = text.index("word")
    chunk = {"text": text, "snippet": text, "highlights": [[at, at + 4]], "section": section, "start_line": 10}
    assert spot(chunk) == (line, headings)


def test_hits_that_only_meaning_found_say_so() -> None:
    """Nearest is not near: a person must see that no result has a word of the question."""
    note = {"path": "a.md", "title": "A"}

    def shown(*lanes: str) -> str:
        hit = {"rank": 1, "score": 1.0, "note": note, "chunk": None, "explain": {"lanes": dict.fromkeys(lanes)}}
        reply = {"results": [hit], "warnings": [], "vectors": {"pending": 0}, "took_ms": {}}
        return "\n".join(show(reply, Paint(False), explain=False))

    assert ONLY_NEAR in shown("dense")
    assert ONLY_NEAR not in shown("dense", "lexical") + shown("title")


def test_an_empty_question_is_wrong_use(mindnet: Mindnet) -> None:
    """Said before the daemon is asked."""
    assert mindnet("query", "  ").code == 2 and "empty" in mindnet("query", "").err


def test_query_passes_its_filters(mindnet: Mindnet) -> None:
    """Each filter option reaches the daemon."""
    for options in (["--type", "project"], ["--tag", "garden"], ["--path", "30_*/**"], ["--status", "active"],
                    ["--since", "2000-01-01", "--type", "project"], ["--no-dense", "--type", "project"]):  # fmt: skip
        reply = json.loads(mindnet("query", "valve", "--json", *options).out)
        assert {hit["note"]["path"] for hit in reply["results"]} == {"30_projects/valve.md"}, options
    assert mindnet("query", "valve", "--until", "1990-01-01").code == 1
    assert len(json.loads(mindnet("--json", "query", "valve", "-k", "1").out)["results"]) == 1
    shown = json.loads(mindnet("query", "valve", "--json", "--include-flag", "draft").out)["results"]
    assert "draft.md" in [hit["note"]["path"] for hit in shown]


def test_no_answer_is_exit_1_and_a_refusal_exit_4(mindnet: Mindnet) -> None:
    """Nothing found is 1; refused is 4, with the reason on one line of stderr, and the body with --json."""
    assert mindnet("query", "zzzzunknown").code == 1
    ran = mindnet("query", "valve", "--visibility", "sensitive")
    assert ran.code == 4 and "visibility_denied" in ran.err and ran.err.count("\n") == 1
    ran = mindnet("query", "valve", "--visibility", "sensitive", "--json")
    assert ran.code == 4 and json.loads(ran.out)["error"]["code"] == "visibility_denied"


def test_json_is_the_body_as_it_is(mindnet: Mindnet, served: Served) -> None:
    """--json before or after the command prints the API's bytes."""
    body = served.call("GET", "/notes/pump").body.decode()
    assert mindnet("note", "pump", "--json").out == body + "\n" == mindnet("--json", "note", "pump").out


def test_client_and_socket_give_one_ranking(mindnet: Mindnet, served: Served) -> None:
    """Demand 17: the same question by either door has the same results in the same order with the same scores."""
    for text in ("valve", "pump feeds", "Valve timing", "same"):
        mine = json.loads(mindnet("query", text, "--json").out)["results"]
        assert mine == served.query(text)["results"]


def test_an_exact_title_is_first(mindnet: Mindnet) -> None:
    """Demand 17: asking for a note by its name puts it first, also without vectors."""
    for words in (["the valve"], ["Valve timing"], ["valve-timing"], ["Valve timing", "--no-dense"]):
        reply = json.loads(mindnet("query", *words, "--json").out)
        assert reply["results"][0]["note"]["path"] == "30_projects/valve.md"


def test_an_empty_log_says_no(mindnet: Mindnet) -> None:
    """Nothing is logged by default: exit 1, and an empty list with --json."""
    assert mindnet("log").code == 1
    assert json.loads(mindnet("log", "--json").out)["query_log"] == []


def test_note_shows_links_and_problems(mindnet: Mindnet) -> None:
    """Metadata, links with where they go, backlinks; the chunks on request."""
    out = mindnet("note", "the valve", "--chunks").out
    for part in (
        "Valve timing",
        "[[pump]] → pump.md",
        "[[Nowhere]] → unresolved",
        "pump.md:4",
        "garden/water",
        "chunk 0",
    ):
        assert part in out, part
    assert "yaml_syntax" in mindnet("note", "broken").out


def test_an_ambiguous_note_lists_its_candidates(mindnet: Mindnet) -> None:
    """Exit 1 and the candidates, as for an unknown note."""
    ran = mindnet("note", "same")
    assert ran.code == 1 and "a/Same.md" in ran.err and "b/same.md" in ran.err
    assert mindnet("note", "unknown").code == 1


def test_odd_names_work(mindnet: Mindnet) -> None:
    """Blanks, percent, hash, question mark and umlauts go through."""
    assert "café?.md" in mindnet("note", "odd/ä #1 100% & café?.md").out


def test_notes_of_a_vault_never_reach_the_terminal_raw(mindnet: Mindnet) -> None:
    """Control characters of a note are taken out, in every output for a person."""
    for words in (["query", "escape unique words"], ["note", "evil", "--chunks"]):
        assert "\x1b" not in mindnet(*words).out and "\x07" not in mindnet(*words).out


def test_colours_are_on_demand(mindnet: Mindnet) -> None:
    """--color always writes escape codes, never and a pipe do not."""
    assert "\x1b[1;33mvalve\x1b[0m" in mindnet("query", "valve", "opened", "--color", "always").out
    assert "\x1b" not in mindnet("query", "valve", "--color", "never").out + mindnet("query", "valve").out


def test_lists_are_tables(mindnet: Mindnet) -> None:
    """notes, unresolved, diagnostics, runs."""
    assert "30_projects/valve.md" in mindnet("notes").out and "Valve timing" in mindnet("notes").out
    assert mindnet("notes", "--prefix", "none/").code == 1
    assert "Nowhere" in mindnet("unresolved").out
    assert "broken.md:" in mindnet("diagnostics").out and "yaml_syntax" in mindnet("diagnostics", "broken").out
    runs = mindnet("runs")
    assert runs.code == 0 and "trigger" in mindnet("runs", runs.out.split()[0]).out


def test_lists_are_walked_to_their_end(mindnet: Mindnet) -> None:
    """A limit cuts, without it all pages are shown."""
    assert len(mindnet("notes", "--limit", "2").out.splitlines()) == 2
    assert len(mindnet("notes").out.splitlines()) == 8


def test_graph_commands(mindnet: Mindnet) -> None:
    """neighbors, expand, subgraph in each form."""
    near = mindnet("neighbors", "valve-timing").out
    assert "→ references  pump  " in near and "← references  board.canvas (file)" in near
    assert mindnet("neighbors", "valve-timing", "--kind", "none_such").code == 1
    assert "├─" in mindnet("subgraph", "valve-timing", "--depth", "1").out
    assert mindnet("subgraph", "pump", "--format", "mermaid").out.startswith("flowchart LR\n")
    assert mindnet("subgraph", "pump", "--format", "dot").out.startswith("digraph")
    assert "nodes" in json.loads(mindnet("subgraph", "pump", "--format", "json").out)
    page = mindnet("subgraph", "pump", "--format", "html").out
    assert page.startswith("<!doctype html>") and "Content-Security-Policy" in page


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("derived_from: [[B]]", "derived_from: [[B]]"),
        ("lf a word, then [[B]] " + "and so on " * 20, "…a word, then [[B]] and so on"),
        ("words and words and words and words before the [[B|link]]", "…and words before the [[B|link]]"),
        ("![[" + "long" * 60 + "]]", "![[longlong"),
        (None, ""),
    ],
)
def test_the_words_around_a_link_are_whole_and_hold_the_link(text: str | None, shown: str) -> None:
    """Not the first 80 characters of what may begin in the middle of a word."""
    assert evidence(text, "B").startswith(shown) and len(evidence(text, "B")) <= 80


def test_the_last_column_of_a_table_is_whole() -> None:
    """A diagnostic says at its end what to do."""
    assert table([["x" * 100, "y" * 100]])[0] == "x" * 71 + "…  " + "y" * 100


def test_state_commands(mindnet: Mindnet) -> None:
    """status and stats for a person."""
    status = mindnet("status").out
    assert status.startswith("ready") and "10 notes" in status and "passages" in status
    assert "None" not in status and "True" not in status and "fingerprint" not in status
    stats = mindnet("stats").out
    assert "documents" in stats and "edges references" in stats


def test_status_says_things_once(served: Served) -> None:
    """A missing model is told in its line, the vectors' progress in theirs; reading has a line while it lasts."""
    status = json.loads(served.call("GET", "/status").body)
    status["model"] = {"name": "m", "backend": "onnx", "ready": False, "fingerprint": None, "error": "no weights"}
    status["reason"] = "no weights"
    status["vectors"] = {"ready": 1, "pending": 3}
    status["progress"] = {"stage": "vectors", "done": 1, "total": 4, "eta_s": 90.0}
    text = "\n".join(show_status(status, Paint(False)))
    assert text.count("no weights") == 1 and "1 of 4 passages, about 1 min left" in text and "reading" not in text
    status["progress"] = {"stage": "notes", "done": 1, "total": 7, "eta_s": None}
    assert "1 of 7\n" in "\n".join(show_status(status, Paint(False)))
    older = "\n".join(show_status(status | {"progress": None, "model": None}, Paint(False)))
    assert "mindnetd model pull" in older


@pytest.fixture
def working(served: Served) -> Iterator[None]:
    """The writer at work on a thread, as in the daemon."""
    stop = threading.Event()

    def work() -> None:
        while not stop.wait(0.05):
            served.world.index()

    thread = threading.Thread(target=work)
    thread.start()
    yield
    stop.set()
    thread.join(20)


@pytest.mark.usefixtures("working")
def test_admin_commands_wait_until_done(mindnet: Mindnet) -> None:
    """--wait ends when the job has; verify says that all agrees, and lists hashes."""
    for words in (["reindex", "pump"], ["reindex", "--all"], ["reconcile"], ["resolve"]):
        ran = mindnet(*words, "--wait")
        assert ran.code == 0 and " done: job " in ran.out, ran
    assert mindnet("reindex").code == 2 and mindnet("reindex", "pump", "--all").code == 2
    ran = mindnet("verify", "--hashes")
    assert ran.code == 0 and "everything agrees" in ran.out and "secret.md" in ran.out


def test_backup_writes_a_database(mindnet: Mindnet, served: Served, tmp_path: Path) -> None:
    """The copy opens; a target in the vault, or that exists, is refused and untouched."""
    target = tmp_path / "copy.duckdb"
    assert mindnet("backup", str(target)).code == 0
    with duckdb.connect(str(target), read_only=True) as opened:
        assert opened.execute("SELECT count(*) FROM notes").fetchall() == [(10,)]
    assert target.stat().st_mode & 0o777 == 0o600
    for bad in (target, served.world.vault / "x.duckdb", tmp_path / "no" / "x.duckdb"):
        assert mindnet("backup", str(bad)).code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["copy.duckdb"]
    assert not (served.world.vault / "x.duckdb").exists()


def test_events_are_lines(served: Served) -> None:
    """A line per event until the daemon stops; here until the reader has had enough."""
    command = [sys.executable, "-m", "mindnetd.client.main", "--socket", str(served.path), "events", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        bus = served.world.desk.events
        wait_until(lambda: bus.readers == 1, what="the listener")
        served.world.write("event.md", "text\n")
        served.world.index()
        line = json.loads(process.stdout.readline())
        process.terminate()
    assert (line["event"], line["path"]) == ("note.indexed", "event.md")
    (served.world.vault / "event.md").unlink()
    served.world.index()


def test_an_event_is_read_by_a_person() -> None:
    """The note comes first, ids and what is not there are left out."""
    line = event_line(
        {"event": "note.indexed", "time": "2026-01-01T00:00:00.1Z", "id": "x", "path": "a b.md", "revision": 3}
    )
    assert line.endswith("note.indexed    a b.md  revision=3") and "T00" not in line
    assert event_line({"event": "state", "state": "ready", "reason": None}).split() == ["state", "state=ready"]


def test_a_reader_that_stops_is_no_error(served: Served) -> None:
    """``mindnet notes | head -1`` ends in silence."""
    pipe = f"{sys.executable} -m mindnetd.client.main --socket {served.path} note pump --chunks | true"
    done = subprocess.run(
        ["bash", "-c", f"{pipe}; exit ${{PIPESTATUS[0]}}"], capture_output=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_an_interrupt_is_exit_130(served: Served) -> None:
    """Ctrl-C."""
    command = [sys.executable, "-m", "mindnetd.client.main", "--socket", str(served.path), "events"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        bus = served.world.desk.events
        wait_until(lambda: bus.readers == 1, what="the listener")
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130


def test_a_daemon_that_goes_in_mid_answer_is_exit_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is said of it is for a person: no text of a parser."""
    path = tmp_path / "s.sock"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(1)

    def half_an_answer() -> None:
        connection, _ = listener.accept()
        connection.recv(1000)
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n")
        connection.close()

    thread = threading.Thread(target=half_an_answer)
    thread.start()
    ran = Mindnet(path, capsys)("events")
    thread.join(20)
    listener.close()
    assert ran.code == 3 and "the answer ended too early" in ran.err and ran.err.count("\n") == 1


def test_the_process_prints_utf8_whatever_the_locale(served: Served) -> None:
    """A C locale does not break the output."""
    ran = run_process("--socket", str(served.path), "query", "valve", env={"LC_ALL": "C", "PYTHONUTF8": "0"})
    assert ran.returncode == 0 and "Valve timing" in ran.stdout
