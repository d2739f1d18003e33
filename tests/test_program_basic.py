"""The shared vault `basic` through the whole program: what the socket says of it is what is expected of it, literally.

``basic_expected.json`` is written by hand and independent of us; its ``_meta`` says what each field means. The same
vault is held against the reader alone in ``test_reading_basic_vault.py``; here a link may also be lost, doubled or
resolved otherwise by the store, the link book and the server.
"""

from __future__ import annotations

import json
import shutil
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from program import Program, program

from mindnetd.client.transport import Client, quote

CANVAS = "boards/Controller board.canvas"
NOTE_KEYS = {
    "id", "note_id", "path", "title", "h1", "aliases", "tags", "type", "status", "visibility", "lang", "created",
    "modified", "frontmatter", "hashes", "hash_mode", "stale", "flags",
}  # fmt: skip
LINK_KEYS = {
    "kind", "raw", "target", "heading", "block", "resolved", "ambiguous", "in_comment", "property", "line", "relation",
}  # fmt: skip
CHUNK_KEYS = {"id", "idx", "section", "start_line", "end_line", "tokens", "text", "window"}
STATUS_KEYS = {
    "state", "reason", "version", "vault", "revision", "notes", "chunks", "passages", "queue", "vectors", "progress",
    "watcher", "last_run", "jobs", "model", "llm", "rss_bytes", "uptime_s",
}  # fmt: skip
METRICS = (
    "embeddings_made_total", "embeddings_reused_total", "other_embeddings_total", "notes_indexed_total",
    "commits_total", "events_total", "watch_overflows_total", "queue_depth", "request_seconds_count",
    "commit_seconds_count", "run_seconds_count", "run_chunks", "run_edges", "llm_calls_total", "revision",
    "last_run_timestamp_seconds", "build_info",
)  # fmt: skip


@pytest.fixture(scope="module")
def expected(shared: Path) -> dict[str, Any]:
    """Vault path -> what is expected of that file."""
    files: dict[str, Any] = json.loads((shared / "vaults" / "basic_expected.json").read_text())["files"]
    return files


@pytest.fixture(scope="module")
def daemon(shared: Path, tmp_path_factory: pytest.TempPathFactory, model_cache: Path) -> Iterator[Program]:
    """The daemon on a copy of the vault, everything indexed and embedded."""
    home = tmp_path_factory.mktemp("basic")
    shutil.copytree(shared / "vaults" / "basic", home / "vault")
    for path in [home / "vault", *(home / "vault").rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    with program(home, home / "vault", model_cache) as running:
        running.settled()
        yield running


def replies(daemon: Program, expected: dict[str, Any]) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Path, reply and expectation of every note."""
    return [
        (path, daemon.get(f"/notes/{quote(path)}"), wanted) for path, wanted in expected.items() if wanted["indexed"]
    ]


def test_the_notes_are_the_expected_ones(daemon: Program, expected: dict[str, Any]) -> None:
    """The list holds each note and nothing else; what is no note is not found by its path either."""
    listed = [note["path"] for note in daemon.get("/notes?limit=500")["notes"]]
    assert listed == sorted(path for path, wanted in expected.items() if wanted["indexed"])
    assert daemon.get("/status")["notes"] == daemon.get("/stats")["documents"] == len(listed) == 29


def test_titles_tags_and_aliases(daemon: Program, expected: dict[str, Any]) -> None:
    """Title, first heading, aliases and tags of every note, those of broken YAML as far as they can be saved."""
    for path, reply, wanted in replies(daemon, expected):
        note = reply["note"]
        assert reply.keys() >= {"note", "links", "backlinks", "chunks", "passages", "embedded", "diagnostics"}
        assert note.keys() >= NOTE_KEYS, path
        assert note["title"] in (wanted["title"], wanted.get("title_salvage")), path
        assert (note["h1"], note["aliases"]) == (wanted["h1"], wanted["aliases"]), path
        assert note["tags"] in (wanted["tags"], wanted.get("tags_salvage")), path
        excluded = str(note["frontmatter"].get("embedding_exclude")).lower() == "true"
        assert reply["embedded"] == reply["passages"] and (reply["passages"] == 0) == excluded, path
        assert all(chunk.keys() >= CHUNK_KEYS for chunk in reply["chunks"]), path


def test_links_of_every_note_and_of_the_canvas(daemon: Program, expected: dict[str, Any]) -> None:
    """All links in order with all their parts; as many as the expected file counts, and each seen from its target."""
    found = [*replies(daemon, expected), (CANVAS, daemon.get(f"/notes/{quote(CANVAS)}"), expected[CANVAS])]
    counted = 0
    for path, reply, wanted in found:
        links = reply["links"]
        assert len(links) == len(wanted["links"]), path
        counted += len(links)
        for link, want in zip(links, wanted["links"], strict=True):
            assert link.keys() >= LINK_KEYS, path
            for name in ("kind", "raw", "target", "heading", "block", "display", "resolved", "property"):
                assert link[name] == want.get(name, link[name]), (path, name, link)
            assert link["ambiguous"] == want.get("ambiguous", False), (path, link)
            assert link["in_comment"] == want.get("in_comment", False), (path, link)
            assert want.get("line") in (None, link["line"]), (path, link)
    assert counted == sum(len(wanted.get("links", ())) for wanted in expected.values())
    backlinks = {path: {back["path"] for back in reply["backlinks"]} for path, reply, _ in found}
    for path, reply, _ in found:
        for link in reply["links"]:
            if link["resolved"] in backlinks and not link["in_comment"]:
                assert path in backlinks[link["resolved"]], (path, link)


def test_diagnostics_of_every_note(daemon: Program, expected: dict[str, Any]) -> None:
    """The expected warnings, one more for each unresolved and each ambiguous link, no other; each with a message."""
    for path, reply, wanted in replies(daemon, expected):
        codes = list(wanted["warnings"])
        for link in reply["links"]:
            if not link["in_comment"]:
                codes += ["link_unresolved"] * (link["resolved"] is None) + ["link_ambiguous"] * link["ambiguous"]
        assert sorted(one["code"] for one in reply["diagnostics"]) == sorted(codes), path
        assert all(one["message"] and (one["line"] is None or one["line"] > 0) for one in reply["diagnostics"]), path
    everywhere = daemon.get("/diagnostics?limit=500")["diagnostics"]
    conflicts = [one["path"] for one in everywhere if one["code"] == "conflict_copy"]
    assert conflicts == [path for path, wanted in expected.items() if "sync-conflict" in path]


def test_status_and_metrics_have_every_name(daemon: Program) -> None:
    """Fields of /status, names of /metrics, and the two headers: as the contract writes them."""
    status = daemon.get("/status")
    assert status.keys() >= STATUS_KEYS
    assert status["progress"].keys() >= {"done", "total", "eta_s"}
    assert status["watcher"].keys() >= {"kind", "watches", "overflows", "last_event"}
    assert status["vectors"] == {"ready": status["passages"], "pending": 0}
    text = Client(str(daemon.socket)).get("/metrics").decode()
    for name in METRICS:
        assert any(line.startswith((f"mindnet_{name} ", f"mindnet_{name}{{")) for line in text.splitlines()), name


def test_the_last_event_says_that_it_stops(shared: Path, tmp_path: Path, model_cache: Path) -> None:
    """A reader of /events sees the state stopping, then the end of the stream."""
    shutil.copytree(shared / "vaults" / "basic" / "journal", tmp_path / "vault")
    with program(tmp_path, tmp_path / "vault", model_cache) as daemon:
        daemon.settled()
        seen: list[bytes] = []
        reader = threading.Thread(
            target=lambda: seen.extend(Client(str(daemon.socket)).stream("GET", "/events", wait=True)), daemon=True
        )
        reader.start()
        note = tmp_path / "vault" / "fresh.md"

        def listening() -> bool:
            note.write_text(f"Round {daemon.get('/status')['revision']}\n")
            return bool(seen)

        daemon.until(listening, "an event")
        daemon.settled()
        for _ in range(2):  # who asks is told, the second time too, when nothing has changed
            assert daemon.job("/admin/communities")["state"] == "done"
        assert daemon.stop() == 0
        reader.join(20)
        told = [json.loads(line) for line in b"".join(seen).splitlines()]
        assert told[-1]["state"] == "stopping"
        assert [one["event"] for one in told].count("communities.rebuilt") >= 2


def test_every_revision_is_a_commit_that_is_counted(daemon: Program) -> None:
    """Notes, vectors, entities, communities: what raises the revision is in `mindnet_commits_total`, with its time."""
    before = daemon.metric("mindnet_revision"), daemon.metric("mindnet_commits_total")
    assert daemon.job("/admin/communities", {"cold": True})["state"] == "done"
    assert daemon.job("/admin/reindex", {"all": True})["state"] == "done"
    daemon.settled()
    after = daemon.metric("mindnet_revision"), daemon.metric("mindnet_commits_total")
    assert after[0] - before[0] == after[1] - before[1] > 0
    assert daemon.metric("mindnet_commit_seconds_count") == after[1]


def test_interrupted_is_130_after_draining(tmp_path: Path, model_cache: Path) -> None:
    """Ctrl-C drains as SIGTERM does, and says in its exit code what it was."""
    (tmp_path / "vault").mkdir()
    with program(tmp_path, tmp_path / "vault", model_cache) as daemon:
        assert daemon.process is not None
        daemon.process.send_signal(signal.SIGINT)
        assert daemon.process.wait(30) == 130
        assert not daemon.socket.exists()


def test_nothing_is_written_but_state_and_log(daemon: Program) -> None:
    """The libraries we stand on leave nothing in the user's home: no report queue, no cache of their own."""
    written = {str(path.relative_to(daemon.home)) for path in daemon.home.iterdir()}
    assert written == {"vault", "state", "daemon.log"}
    assert {path.name for path in daemon.runtime.iterdir()} <= {"s.sock", "s.sock.lock"}
    assert daemon.socket.stat().st_mode & 0o777 == 0o600
