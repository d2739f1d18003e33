"""The real daemon as a process, and a client for it: what whole-program tests stand on."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mindnetd.client.transport import Client, RefusedError, UnreachableError

START_S = 60.0


class Program:
    """One `mindnetd run` over a vault. Everything it writes is below `home`."""

    def __init__(self, home: Path, vault: Path, model_cache: Path, **settings: object) -> None:
        self.home, self.vault = home, vault
        self.db = home / "state" / "notes.duckdb"
        # socket paths are short, and those of pytest's folders may not be
        self.runtime = Path(tempfile.mkdtemp(prefix="mn-"))
        self.socket = self.runtime / "s.sock"
        self.log = home / "daemon.log"
        self._env = {**os.environ, "HOME": str(home), "XDG_RUNTIME_DIR": str(self.runtime)}
        self._env["MINDNET_MODEL_CACHE"] = str(model_cache)
        pairs = [f"{key.replace('__', '.')}={value}" for key, value in settings.items()]
        self._settings = [part for pair in pairs for part in ("--set", pair)]
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, *, wait: bool = True) -> None:
        """Start it; with `wait` return when it answers."""
        command = [sys.executable, "-m", "mindnetd.cli", "run", "--vault", str(self.vault), "--db", str(self.db)]
        command += ["--socket", str(self.socket), "--log-format", "json", "--offline", *self._settings]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, env=self._env, stdout=log, stderr=log)
        if wait:
            self.until(lambda: self._answers(), "the daemon answers")

    def get(self, target: str) -> Any:
        """The JSON of a GET."""
        return json.loads(Client(str(self.socket), timeout_s=30).get(target))

    def post(self, target: str, body: object) -> Any:
        """The JSON of a POST."""
        return json.loads(Client(str(self.socket), timeout_s=30).post(target, body))

    def query(self, text: str, **more: object) -> list[str]:
        """The paths of the hits, best first."""
        return [hit["note"]["path"] for hit in self.post("/query", {"text": text, **more})["results"]]

    def metric(self, name: str) -> float:
        """A number of /metrics (the sum over its labels)."""
        text = Client(str(self.socket), timeout_s=30).get("/metrics").decode()
        lines = [line for line in text.splitlines() if line.startswith((name + " ", name + "{"))]
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines)

    def job(self, target: str, body: object | None = None) -> Any:
        """Start a job and wait for its end."""
        job = self.post(target, body or {})["id"]
        self.until(lambda: self.get(f"/jobs/{job}")["state"] in ("done", "failed"), f"{target} ends")
        return self.get(f"/jobs/{job}")

    def settled(self, *, vectors: bool = True) -> None:
        """Wait until it is ready, with `vectors` until every passage has one."""

        def quiet() -> bool:
            status = self.get("/status")
            return status["state"] == "ready" and not (vectors and status["vectors"]["pending"])

        self.until(quiet, "the daemon is ready", 120)

    def until(self, condition: Any, what: str, deadline_s: float = START_S) -> None:
        """Poll until `condition()`; an AssertionError with the log's end past the deadline."""
        end = time.monotonic() + deadline_s
        while not condition():
            alive = self.process is not None and self.process.poll() is None
            if time.monotonic() > end or not alive:
                tail = self.log.read_text(encoding="utf-8", errors="replace")[-2000:]
                raise AssertionError(f"{what}: not within {deadline_s:g} s (alive: {alive})\n{tail}")
            select_pause(0.02)

    def kill(self) -> None:
        """SIGKILL."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """SIGTERM; returns the exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=30)

    def _answers(self) -> bool:
        try:
            self.get("/status")
        except (UnreachableError, RefusedError, OSError):
            return False
        return True


def select_pause(seconds: float) -> None:
    """A short pause between two looks."""
    import threading

    threading.Event().wait(seconds)


@contextmanager
def program(home: Path, vault: Path, model_cache: Path, **settings: object) -> Iterator[Program]:
    """A running daemon; stopped, and its socket folder removed, afterwards."""
    daemon = Program(home, vault, model_cache, **settings)
    daemon.start()
    try:
        yield daemon
    finally:
        if daemon.process is not None and daemon.process.poll() is None:
            daemon.kill()
        shutil.rmtree(daemon.runtime, ignore_errors=True)


def six_notes(folder: Path) -> Path:
    """A vault of six notes, each linked to the next."""
    (folder / ".obsidian").mkdir(parents=True)
    for number in range(6):
        (folder / f"n{number}.md").write_text(f"# Note {number}\n\nNumber {number} of some. [[n{(number + 1) % 6}]]\n")
    return folder
