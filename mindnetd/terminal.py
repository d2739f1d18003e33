"""What a person sees in the terminal: the bars and table of a full index, the first index of a running daemon."""

from __future__ import annotations

import contextlib
import json
import shlex
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from mindnetd.client.transport import Client, RefusedError, UnreachableError
from mindnetd.config import Config
from mindnetd.progress import IndexSummary

LABELS = {"model": "Model", "notes": "Notes", "vectors": "Vectors", "graph": "Graph"}
POLL_S = 0.3
START_S = 120.0
"""How long a daemon may take until its socket answers before the display gives up on it."""


def _bars(console: Console) -> Progress:
    columns = (TextColumn("{task.description:<8}"), BarColumn(40), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, transient=False)


class IndexDisplay:
    """The bars of ``mindnetd index``, one a stage; as a context manager, so that the terminal is whole afterwards.

    Nothing is shown before the first report: what is refused at once is one line on stderr and no more.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console()
        self._progress = _bars(self._console)
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> IndexDisplay:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        for stage, task in self._tasks.items() if kind is None else ():
            if stage != "vectors":  # reports come between batches, so the last one may not be the end
                self._progress.update(task, completed=self._progress.tasks[task].total)
        if self._tasks:
            self._progress.stop()

    def progress(self, stage: str, done: int, total: int) -> None:
        """Show how far a stage is (`mindnetd.progress.Progress`)."""
        if not self._tasks:
            self._progress.start()
        if stage not in self._tasks:
            self._tasks[stage] = self._progress.add_task(LABELS.get(stage, stage.capitalize()), total=total or None)
        self._progress.update(self._tasks[stage], completed=done, total=total or None)

    def summary(self, summary: IndexSummary, database: str) -> None:
        """The table of figures, then the line that says what to do next."""
        table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
        table.add_column()
        table.add_column(justify="right")
        for label, figure in summary.rows():
            table.add_row(label, figure)
        self._console.print(table)
        if summary.vectors_missing:
            self._console.print(
                f"{summary.vectors_missing:,} passages have no vector: there was no model. "
                "`mindnetd model pull` fetches it; the words are searchable already."
            )
        self._console.print(f"Database {database}", soft_wrap=True)


# --- a running daemon -------------------------------------------------------------------------------------------------


def read_status(path: Path) -> dict[str, Any] | None:
    """``GET /status`` of the daemon on a socket; None where nobody answers."""
    try:
        body = json.loads(Client(str(path), timeout_s=5.0).get("/status"))
    except (UnreachableError, RefusedError, ValueError):
        return None
    return body if isinstance(body, dict) and "state" in body else None


def ask_line(config: Config) -> str:
    """The command that asks this daemon something, as it can be typed in the folder of this process."""
    beside = Path(sys.executable).with_name("mindnet")
    command = str(beside if beside.is_file() else "mindnet")
    if Path(command).is_relative_to(Path.cwd()):
        command = str(Path(command).relative_to(Path.cwd()))
    usual = config.socket == config.places.runtime / f"{config.name}.sock"
    place = ("--vault", config.name) if usual else ("--socket", str(config.socket))
    return shlex.join([command, *place, "query", "your question"])


def watch_daemon(config: Config, console: Console | None = None) -> threading.Thread:
    """Show the first index of the daemon that this process is about to run, from a thread that ends with it."""
    display = DaemonDisplay(console or Console(), ask_line(config), lambda: read_status(config.socket))
    thread = threading.Thread(target=display.run, name="terminal", daemon=True)
    thread.start()
    return thread


class DaemonDisplay:
    """Follows ``/status`` until all is indexed. ``status`` and ``wait`` are given, so that a test needs no daemon."""

    def __init__(
        self,
        console: Console,
        ask: str,
        status: Callable[[], dict[str, Any] | None],
        wait: Callable[[float], object] | None = None,
    ) -> None:
        self._console = console
        self._ask = ask
        self._status = status
        self._wait = wait or threading.Event().wait

    def run(self) -> None:
        """Say how to ask, show the bars, say when it is done."""
        status = self._first_status()
        if status is None:
            return
        self._console.print(f"Listening. In another terminal:\n\n    {self._ask}\n", soft_wrap=True, highlight=False)
        bars = _bars(self._console)
        with contextlib.closing(_Stages(bars)) as stages:
            while status is not None and not _finished(status):
                stages.show(status)
                self._wait(POLL_S)
                status = self._status()
            if status is not None:
                stages.show(status)
        if status is not None:
            self._console.print(_last_line(status), soft_wrap=True, highlight=False)

    def _first_status(self) -> dict[str, Any] | None:
        for _ in range(int(START_S / POLL_S)):
            status = self._status()
            if status is not None:
                return status
            self._wait(POLL_S)
        return None


class _Stages:
    """The two bars of a first index; started when there is something to show."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}

    def show(self, status: dict[str, Any]) -> None:
        progress = status.get("progress") or {}
        vectors = status.get("vectors") or {}
        if progress.get("stage") == "notes" and status["state"] in ("starting", "indexing"):
            self._set("notes", int(progress.get("done", 0)), int(progress["total"]))
        elif "notes" in self._tasks:
            self._set("notes", int(status.get("notes", 0)), int(status.get("notes", 0)))
        ready, pending = int(vectors.get("ready", 0)), int(vectors.get("pending", 0))
        if pending or "vectors" in self._tasks:
            self._set("vectors", ready, ready + pending)

    def _set(self, stage: str, done: int, total: int) -> None:
        if stage not in self._tasks:
            self._bars.start()
            self._tasks[stage] = self._bars.add_task(LABELS[stage], total=total)
        self._bars.update(self._tasks[stage], completed=done, total=total)

    def close(self) -> None:
        self._bars.stop()


def _finished(status: dict[str, Any]) -> bool:
    if status["state"] in ("degraded", "stopping"):
        return True
    return status["state"] == "ready" and (not (status.get("vectors") or {}).get("pending") or bool(_no_model(status)))


def _no_model(status: dict[str, Any]) -> str:
    model = status.get("model") or {}
    return "" if model.get("ready") else str(model.get("error") or "")


def _last_line(status: dict[str, Any]) -> str:
    if status["state"] == "ready" and _no_model(status):
        notes = f"{status.get('notes', 0):,} notes"
        return f"Ready for words: {notes}. Meaning follows by itself once there is a model: {_no_model(status)}"
    if status["state"] == "ready":
        return f"Ready: {status.get('notes', 0):,} notes, {status.get('passages', 0):,} passages. Ctrl-C stops it."
    return f"State {status['state']}: {status.get('reason') or 'no reason given'}"
