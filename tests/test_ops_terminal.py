"""What the terminal shows while the first index runs, from replies given instead of a daemon."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from mindnetd.config import load_config
from mindnetd.progress import IndexSummary
from mindnetd.terminal import DaemonDisplay, IndexDisplay, ask_line


def console() -> Console:
    return Console(file=io.StringIO(), width=100)


def shown(terminal: Console) -> str:
    assert isinstance(terminal.file, io.StringIO)
    return terminal.file.getvalue()


def status(state: str, notes: int = 0, ready: int = 0, pending: int = 0, done: int = 0) -> dict[str, Any]:
    return {
        "state": state,
        "reason": "the vault is gone" if state == "degraded" else None,
        "notes": notes,
        "passages": ready + pending,
        "vectors": {"ready": ready, "pending": pending},
        "progress": {"stage": "notes", "done": done, "total": 5, "eta_s": None},
    }


def follow(*replies: dict[str, Any] | None) -> str:
    """Show these replies of /status, one a look, and return what stands in the terminal afterwards."""
    left: Iterator[dict[str, Any] | None] = iter(replies)
    terminal = console()
    DaemonDisplay(terminal, "mindnet query x", lambda: next(left, None), wait=lambda _: None).run()
    return shown(terminal)


def test_what_is_refused_at_once_shows_nothing() -> None:
    """Not even an empty line: the error is the one line."""
    terminal = console()
    with pytest.raises(ValueError, match="in use"), IndexDisplay(terminal):
        raise ValueError("in use")
    assert shown(terminal) == ""


def test_first_index() -> None:
    """It says how to ask as soon as the socket answers, shows notes and vectors, and ends when all is there."""
    out = follow(None, status("indexing", done=1), status("ready", 5, 2, 7), status("ready", 5, 9, 0), status("never"))
    assert (
        out.index("mindnet query x")
        < out.index("Notes")
        < out.index("Vectors")
        < out.index("Ready: 5 notes, 9 passages")
    )
    assert "5/5" in out
    assert "9/9" in out


def test_nothing_to_do_shows_no_bar() -> None:
    """A daemon that is ready at once gives two lines and no bar."""
    out = follow(status("ready", 5, 9, 0))
    assert "Notes" not in out
    assert "Ready: 5 notes" in out


def test_degraded_says_why() -> None:
    """A daemon that cannot go on is not waited for."""
    assert "State degraded: the vault is gone" in follow(status("degraded"))


def test_without_a_model_it_ends_and_says_what_works() -> None:
    """Offline: no bar that waits for ever."""
    offline = {**status("ready", notes=3, pending=9), "model": {"ready": False, "error": "no weights here"}}
    text = follow(offline)
    assert "Ready for words: 3 notes" in text and "no weights here" in text


def test_daemon_that_goes_away() -> None:
    """The display ends silently with the daemon."""
    assert "Ready" not in follow(status("indexing", done=1), None)


def test_index_table() -> None:
    """The table has every figure of the contract; what this version lacks is a dash, not a zero."""
    terminal = console()
    with IndexDisplay(terminal) as display:
        display.progress("notes", 1, 2)
        display.progress("vectors", 3, 4)
    summary = IndexSummary(
        documents=2, chunks=3, passages=1234, embeddings_made=5, embeddings_reused=1, failed=0, diagnostics=0,
        seconds=1.25, database_bytes=2_500_000, vectors_missing=2,
    )  # fmt: skip
    display.summary(summary, "/state/x.duckdb")
    out = shown(terminal)
    assert "2/2" in out
    assert "3/4" in out
    for line in (
        "Documents +2",
        "Passages +1,234",
        "Entities +-",
        "LLM calls +0",
        "Seconds +1.2",
        "Database size +2.5 MB",
    ):
        label, figure = line.split(" +")
        assert [part for part in out.splitlines() if part.startswith(label) and part.rstrip().endswith(figure)], line
    assert "2 passages have no vector" in out
    assert "/state/x.duckdb" in out


def test_the_line_that_asks(tmp_path: Path) -> None:
    """It names this installation's client, and the socket only where it is not at its usual place."""
    env = {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}
    usual = ask_line(load_config(None, env, {"vault": str(tmp_path / "My Notes")}))
    assert usual.endswith("mindnet --vault my-notes query 'your question'")
    other = ask_line(load_config(None, env, {"vault": "/v", "socket": str(tmp_path / "a b.sock")}))
    assert other.endswith(f"mindnet --socket '{tmp_path}/a b.sock' query 'your question'")
