"""A running daemon whose database loses its ground: it says so, keeps answering, and heals by itself."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from program import Program, program, six_notes
from small_disk import small_disk_at


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return six_notes(tmp_path / "vault")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 24 MB where `program` has its database; skips where it cannot be mounted."""
    with small_disk_at(tmp_path / "state") as folder:
        yield folder


def found(daemon: Program, word: str) -> list[str]:
    """Paths of the notes with this word."""
    return daemon.query(word, lanes=["lexical"])


def test_a_full_disk_is_told_until_there_is_space(
    tmp_path: Path, vault: Path, model_cache: Path, small_disk: Path
) -> None:
    """The state says what is the matter, and goes on saying so while it is tried again; then the save is found."""
    with program(tmp_path, vault, model_cache) as daemon:
        daemon.settled()
        filler = small_disk / "filler"
        filler.write_bytes(bytes(shutil.disk_usage(small_disk).free - 200_000))
        (vault / "big.md").write_text("".join(f"zweeble {os.urandom(400).hex()}\n\n" for _ in range(800)))
        daemon.until(lambda: "disk is full" in (daemon.get("/status")["reason"] or ""), "it is told", 60)
        tries = daemon.log.read_text().count('"disk_full"')
        daemon.until(lambda: daemon.log.read_text().count('"disk_full"') > tries + 1, "it is tried again", 60)
        status = daemon.get("/status")
        assert status["state"] == "degraded" and "free some space" in status["reason"]
        assert "\n" not in status["reason"]
        assert found(daemon, "number"), "what is stored is served"
        filler.unlink()
        daemon.until(lambda: set(found(daemon, "zweeble")) == {"big.md"}, "it is stored", 90)
        daemon.until(lambda: daemon.get("/status")["state"] != "degraded", "and nothing is the matter any more", 60)


def test_a_state_folder_that_is_deleted_is_made_again(tmp_path: Path, vault: Path, model_cache: Path) -> None:
    """The vault is read anew into a new file, which holds what the old one held."""
    with program(tmp_path, vault, model_cache) as daemon:
        daemon.settled()
        shutil.rmtree(daemon.db.parent)
        (vault / "new.md").write_text("A zeppelin over the valley.\n")
        daemon.until(lambda: found(daemon, "zeppelin") == ["new.md"], "a save is found", 60)
        daemon.settled()
        assert daemon.db.exists()
        assert len(found(daemon, "number")) == 6
        assert daemon.job("/admin/verify")["result"]["differences"] == []
