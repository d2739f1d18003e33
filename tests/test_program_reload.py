"""A reload takes over every key but `resources`: in place where the parts can, else by a new beginning."""

from __future__ import annotations

import json
import signal
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from program import Program

from mindnetd.client.transport import RefusedError, UnreachableError, answers
from mindnetd.config import KEYS
from mindnetd.reload import ANEW, BY_HAND, among


class Configured(Program):
    """A daemon whose settings stand in a file that can be written anew."""

    def __init__(self, home: Path, vault: Path, model_cache: Path) -> None:
        super().__init__(home, vault, model_cache)
        self.file = home / "notes.yaml"
        self._settings = ["--config", str(self.file)]
        self.save()

    def save(self, **values: Any) -> None:
        """Write the configuration (JSON is YAML)."""
        self.file.write_text(json.dumps(values))

    def reload(self, **values: Any) -> None:
        """Write the configuration and say so."""
        assert self.process is not None
        self.save(**values)
        self.process.send_signal(signal.SIGHUP)


@pytest.fixture
def daemon(tmp_path: Path, model_cache: Path) -> Any:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "a.md").write_text("# Herons\n\nHerons stand in the water.\n")
    (vault / "c.canvas").write_text('{"nodes": [{"id": "1", "type": "file", "file": "a.md"}], "edges": []}')
    (vault / "b.md").write_text("---\nvisibility: sensitive\n---\n# Secrets\n\nWords.\n")
    running = Configured(tmp_path, vault, model_cache)
    running.start()
    running.settled()
    yield running
    if running.process is not None and running.process.poll() is None:
        running.kill()


def next_reconcile(daemon: Program) -> float:
    """Seconds until the next scheduled comparison."""
    job = next(job for job in daemon.get("/status")["jobs"] if job["id"] == "reconcile")
    return (datetime.fromisoformat(job["next"]) - datetime.now().astimezone()).total_seconds()


def test_keys_taken_over_in_place(daemon: Configured) -> None:
    """Privacy, exclusions and the query log act at once, with no new beginning."""
    fingerprint, uptime = daemon.get("/status")["model"]["fingerprint"], daemon.get("/status")["uptime_s"]
    daemon.reload(privacy={"max_query_visibility": "sensitive", "query_log": "on"}, ignore=["a.md"])
    daemon.until(lambda: daemon.get("/status")["notes"] == 1, "the exclusion")
    assert [note["path"] for note in daemon.get("/notes?visibility=sensitive")["notes"]] == ["b.md"]
    daemon.query("secrets")
    daemon.until(lambda: daemon.get("/query-log")["query_log"], "the question in the log")
    assert daemon.get("/status")["model"]["fingerprint"] == fingerprint and daemon.get("/status")["uptime_s"] > uptime


def test_parts_made_anew_in_the_same_process(daemon: Configured) -> None:
    """Another vector space, another period, a lower limit: one reload, the same process id, nothing lost."""
    assert daemon.process is not None
    before = daemon.get("/status")
    assert next_reconcile(daemon) > 120
    daemon.reload(embedding={"passage_prefix": "note: "}, watch={"reconcile_minutes": 1, "settle_ms": 50})

    def begun() -> bool:
        try:
            return bool(daemon.get("/status")["model"]["fingerprint"] != before["model"]["fingerprint"])
        except (UnreachableError, RefusedError):
            return False  # in between there is no socket

    daemon.until(begun, "the new vector space")
    daemon.settled()
    after = daemon.get("/status")
    assert daemon.process.poll() is None and after["vault"] == before["vault"] and after["notes"] == before["notes"]
    assert daemon.query("herons")[0] == "a.md"
    assert next_reconcile(daemon) <= 60
    assert daemon.metric("mindnet_embeddings_made_total") == after["passages"]
    assert daemon.stop() == 0


def test_other_ids_reach_canvases_too(daemon: Configured) -> None:
    """Another id_prefix gives every note and canvas a new id, by a reload and by a restart; no edge is left behind."""
    for round_number, prefix in enumerate(("second", "third")):
        old = daemon.get("/notes/a.md")["note"]["id"]
        if round_number:
            daemon.stop()
            daemon.save(id_prefix=prefix)
            daemon.start()
        else:
            daemon.reload(id_prefix=prefix)
        daemon.until(lambda: daemon.get("/notes/a.md")["note"]["id"] != old, "the new id")  # noqa: B023
        daemon.settled()
        assert daemon.job("/admin/verify")["result"]["differences"] == []
        assert [edge["src"] for edge in daemon.get("/neighbors/a.md")["edges"]] == [
            daemon.get("/notes/c.canvas")["note"]["id"]
        ]


def test_a_broken_configuration_changes_nothing(daemon: Configured) -> None:
    """An error in the file is logged with its line; the daemon goes on as it was."""
    started = daemon.get("/status")["uptime_s"]
    daemon.reload(embedding={"modl": "x"})
    daemon.until(lambda: "did you mean embedding.model" in daemon.log.read_text(), "the error in the log")
    assert daemon.get("/status")["uptime_s"] >= started and daemon.query("herons")[0] == "a.md"
    assert daemon.stop() == 0 and not answers(str(daemon.socket))


def test_every_key_has_its_place() -> None:
    """What begins anew and what waits for a restart are keys of the configuration, and no key is both."""
    for wanted in (ANEW, BY_HAND):
        for one in wanted:
            assert among(KEYS, (one,)), one
    assert not set(among(KEYS, ANEW)) & set(among(KEYS, BY_HAND))
    assert {key.split(".")[0] for key in among(KEYS, BY_HAND)} == {"resources"}
