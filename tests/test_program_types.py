"""The daemon follows its ``types.yaml``: saved, reloaded by SIGHUP, broken, and edited while it was down."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from program import Program

from mindnetd.client.paint import Paint
from mindnetd.client.state import show_status

TASKS = "types:\n  task: {{chunk_profile: {profile}, retriever_weight: 0.8}}\n"
NOTE = "---\ntitle: {0}\nid: {0}\ntype: {1}\nstatus: active\ncreated: 2032-05-01\n---\n# {0}\n\nText of {0}.\n"


class Typed(Program):
    """A daemon with a types file of its own."""

    def __init__(self, home: Path, vault: Path, model_cache: Path) -> None:
        self.types = home / "types.yaml"
        super().__init__(home, vault, model_cache, types_file=self.types)
        self.save(TASKS.format(profile="short"))

    def save(self, text: str) -> None:
        """Replace the file in one step, as editors do."""
        fresh = self.types.with_suffix(".new")
        fresh.write_text(text)
        os.replace(fresh, self.types)  # noqa: PTH105 -- says that an old file is meant to go

    def profiles(self) -> dict[str, str]:
        """Path -> profile of its first chunk."""
        return {path: self.get(f"/notes/{path}")["chunks"][0]["profile"] for path in ("t.md", "c.md")}

    def runs(self) -> list[int]:
        """Notes changed by each run of the types, newest first."""
        return [run["files_changed"] for run in self.get("/runs")["runs"] if run["trigger"] == "types"]


@pytest.fixture
def daemon(tmp_path: Path, model_cache: Path) -> Iterator[Typed]:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "t.md").write_text(NOTE.format("t", "task"))
    (vault / "c.md").write_text(NOTE.format("c", "concept"))
    running = Typed(tmp_path, vault, model_cache)
    running.start()
    running.settled()
    yield running
    if running.process is not None and running.process.poll() is None:
        running.kill()


def test_a_saved_file_is_taken_over(daemon: Typed) -> None:
    """By a save alone, then by SIGHUP: the tasks are cut anew, nothing is embedded, each change is one run."""
    assert daemon.profiles() == {"t.md": "short", "c.md": "medium"}
    made = daemon.metric("mindnet_embeddings_made_total")
    codes = [one["code"] for one in daemon.get("/notes/c.md")["diagnostics"]]
    assert codes == ["type_unknown"]
    daemon.save(TASKS.format(profile="long"))
    daemon.until(lambda: daemon.profiles()["t.md"] == "long", "the saved types")
    daemon.settled()
    assert daemon.runs() == [1]
    assert daemon.process is not None
    daemon.save(TASKS.format(profile="classic") + "  concept: {}\n")
    daemon.process.send_signal(signal.SIGHUP)
    daemon.until(lambda: daemon.profiles()["t.md"] == "classic", "the reloaded types")
    daemon.settled()
    daemon.until(lambda: not daemon.get("/notes/c.md")["diagnostics"], "a type that is known now")
    assert daemon.metric("mindnet_embeddings_made_total") == made
    assert daemon.job("/admin/verify")["result"]["differences"] == []


def test_a_broken_file_changes_nothing(daemon: Typed) -> None:
    """The types stay as they were; status and log name the line; the right file ends it, without a change no work."""
    before, runs = daemon.profiles(), daemon.runs()
    daemon.save("types:\n  task:\n    chunk_profile: lang\n")
    daemon.until(lambda: daemon.get("/status")["types"]["error"], "the mistake in status")
    status = daemon.get("/status")
    assert f"{daemon.types}:3: types.task.chunk_profile expects one of" in status["types"]["error"]
    assert status["state"] == "ready" and status["reason"] == status["types"]["error"]
    shown = "\n".join(show_status(status, Paint(False)))
    assert shown.count("chunk_profile") == 1 and "the types as they were are in force" in shown
    assert "types.yaml not taken over" in daemon.log.read_text()
    assert daemon.process is not None
    daemon.process.send_signal(signal.SIGHUP)
    daemon.until(lambda: "configuration not taken over" in daemon.log.read_text(), "the refused reload")
    assert daemon.profiles() == before
    daemon.save(TASKS.format(profile="short"))
    daemon.until(lambda: daemon.get("/status")["types"]["error"] is None, "the mistake is mended")
    daemon.settled()
    assert daemon.profiles() == before and daemon.runs() == runs


def test_edited_while_it_was_down(daemon: Typed) -> None:
    """The next start re-does the task; a start with a broken file is refused with its line."""
    assert daemon.stop() == 0
    daemon.save(TASKS.format(profile="long"))
    daemon.start()
    daemon.settled()
    assert daemon.profiles() == {"t.md": "long", "c.md": "medium"} and daemon.runs() == [1]
    assert daemon.stop() == 0
    daemon.save("status: active\n")
    daemon.start(wait=False)
    assert daemon.process is not None and daemon.process.wait(60) not in (0, None)
    assert f"{daemon.types}:1: status expects a list" in daemon.log.read_text()
