"""The demo vault with the real program: what `make run` shows a newcomer."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import wait_until
from source_tree import REPO

from mindnetd.client.transport import Client, UnreachableError

DEMO = REPO / "demo"
QUESTIONS = re.findall(r"^\| (.+?) \| `([^`]+\.md)` \|$", (REPO / "docs/demo.md").read_text("utf-8"), re.M)


def listing() -> dict[str, tuple[int, int]]:
    """Every file of the demo vault with size and time of change."""
    return {str(p): (p.stat().st_size, p.stat().st_mtime_ns) for p in sorted(DEMO.rglob("*"))}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory, model_cache: Path) -> Iterator[Client]:
    """A daemon as `make run` starts it, with every vector there."""
    home = tmp_path_factory.mktemp("demo")
    env = {"HOME": str(home), "XDG_RUNTIME_DIR": str(home), "PATH": os.environ["PATH"]}
    env["MINDNET_MODEL_CACHE"] = str(model_cache)
    command = [sys.executable, "-m", "mindnetd.cli", "run", "--vault", str(DEMO), "--name", "demo", "--progress", "on"]
    before = listing()
    with (home / "out").open("w") as out:
        process = subprocess.Popen(command, env=env, stdout=out, stderr=subprocess.STDOUT)
        try:
            client = Client(str(home / "mindnetd/demo.sock"))
            wait_until(lambda: process.poll() is not None or settled(client), 90, "the demo vault's first index")
            assert process.poll() is None, (home / "out").read_text()
            yield client
            # the display looks now and then; what it says last comes after the daemon has told us
            wait_until(lambda: "Ready: 43 notes" in (home / "out").read_text(), 20, "the display's last line")
        finally:
            process.terminate()
            assert process.wait(20) == 0
    assert listing() == before, "the vault was written to"
    assert "query 'your question'" in (home / "out").read_text()


def settled(client: Client) -> bool:
    try:
        status = json.loads(client.get("/status"))
    except UnreachableError:
        return False
    return bool(status["state"] == "ready" and status["vectors"]["ready"] and not status["vectors"]["pending"])


def ask(client: Client, text: str, **more: Any) -> list[str]:
    reply = json.loads(client.post("/query", {"text": text, **more}))
    return [result["note"]["path"] for result in reply["results"]]


def test_there_are_questions() -> None:
    """The document has its questions, in both languages."""
    assert len(QUESTIONS) >= 12


@pytest.mark.parametrize(("question", "first"), QUESTIONS)
def test_question(demo: Client, question: str, first: str) -> None:
    """Each question of docs/demo.md has its note first."""
    assert ask(demo, question)[:1] == [first]


def test_what_is_hidden(demo: Client) -> None:
    """The sensitive note is never found, the draft only where it is asked for."""
    assert "deutsch/Anfahrt privat.md" not in ask(demo, "Schlüssel zum Gartentor", top_k=50)
    draft = "garden/Build a sundial.md"
    assert draft not in ask(demo, "engrave a dial", top_k=50)
    assert ask(demo, "engrave a dial", filters={"include_flags": ["draft"]})[0] == draft


def test_the_unresolved_link(demo: Client) -> None:
    """The one link that leads nowhere is listed."""
    assert "Sextant manual" in demo.get("/unresolved").decode()
