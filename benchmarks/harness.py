"""What every measurement shares: the machine in one line, floors of the same run, a daemon of its own, a table.

Shared machines are noisy: a figure is the best of several passes, and beside it stand the load average and a floor
measured in the same run, so that a reader can judge the ratio where the absolute time means nothing.
"""

from __future__ import annotations

import http.client
import json
import os
import platform
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PASSES = 3
EMPTY_APP = """
import asyncio, sys
from fastapi import FastAPI
import uvicorn
app = FastAPI()
@app.get("/")
async def empty() -> dict: return {}
uvicorn.run(app, uds=sys.argv[1], log_level="error", access_log=False)
"""


def machine() -> str:
    """Processors, Python and load: the first line of every report."""
    load = ", ".join(f"{x:.1f}" for x in os.getloadavg())
    return f"{os.cpu_count()} CPUs, Python {platform.python_version()}, load {load}"


def best_of(measure: Callable[[], float], passes: int = PASSES) -> float:
    """The smallest of several passes."""
    return min(measure() for _ in range(passes))


def median_ms(call: Callable[[], object], times: int) -> float:
    """The median time of a call in milliseconds."""
    return median_each_ms(lambda _: call(), range(times))


def median_each_ms(call: Callable[[Any], object], values: Iterable[Any]) -> float:
    """The same of a call with each of some values, once."""
    taken = []
    for value in values:
        start = time.perf_counter()
        call(value)
        taken.append((time.perf_counter() - start) * 1000)
    return statistics.median(taken)


def percentile(values: list[float], share: float) -> float:
    """The value that ``share`` of all are not above."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


class Report:
    """A table of figures, printed as they come."""

    def __init__(self, title: str) -> None:
        print(f"\n## {title}\n{machine()}\n")
        print(f"| {'figure':<58} | {'value':>12} | {'target':>14} | {'floor':>24} |")
        print(f"| {'---':<58} | {'---':>12} | {'---':>14} | {'---':>24} |")

    def row(self, name: str, value: str, target: str = "", floor: str = "") -> None:
        """One figure with what it should be and the floor of the same run."""
        print(f"| {name:<58} | {value:>12} | {target:>14} | {floor:>24} |", flush=True)


# --- floors -----------------------------------------------------------------------------------------------------------


def empty_python_ms() -> float:
    """The best time of a Python that does nothing."""
    return best_of(lambda: median_ms(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True), 5))


@contextmanager
def empty_route() -> Iterator[Path]:
    """A FastAPI application with one empty route on a Unix socket: what HTTP alone costs here."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "empty.sock")
        process = subprocess.Popen([sys.executable, "-c", EMPTY_APP, str(path)])
        try:
            wait_for(lambda: answers(path), 30, "the empty application")
            yield path
        finally:
            process.terminate()
            process.wait(10)


class Connection(http.client.HTTPConnection):
    """HTTP over a Unix socket, kept open between calls."""

    def __init__(self, path: Path, timeout: float = 600) -> None:
        super().__init__("mindnet", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))

    def raw(self, method: str, target: str, body: Any = None) -> tuple[bytes, str]:
        """The reply's body as it is, and its type; an error status raises RuntimeError."""
        content = None if body is None else json.dumps(body)
        self.request(method, target, content, {"Content-Type": "application/json"} if content else {})
        reply = self.getresponse()
        raw = reply.read()
        if reply.status >= 400:
            raise RuntimeError(f"{method} {target}: {reply.status} {raw[:300]!r}")
        return raw, reply.getheader("content-type") or ""

    def call(self, method: str, target: str, body: Any = None) -> Any:
        """The reply's body as JSON (or text); an error status raises RuntimeError."""
        raw, kind = self.raw(method, target, body)
        return json.loads(raw) if "json" in kind else raw.decode()


def answers(path: Path) -> bool:
    """True if somebody listens on the socket."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
            sock.settimeout(1)
            sock.connect(str(path))
    except OSError:
        return False
    return True


def wait_for(condition: Callable[[], bool], seconds: float, what: str, pause: float = 0.01) -> float:
    """Wait until the condition holds; the seconds it took. Raises TimeoutError."""
    start = time.perf_counter()
    while not condition():
        if time.perf_counter() - start > seconds:
            raise TimeoutError(f"{what} took more than {seconds:g} s")
        time.sleep(pause)
    return time.perf_counter() - start


# --- a daemon of its own ----------------------------------------------------------------------------------------------


class Daemon:
    """A real ``mindnetd run`` on ``vault`` with folders of its own; the models come from the user's cache."""

    def __init__(self, vault: Path, folder: Path, *options: str) -> None:
        self.vault = vault
        self.folder = folder
        self.socket = folder / "d.sock"
        self.db = folder / "d.duckdb"
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> float:
        """Start it; the seconds until the socket answered."""
        command = [sys.executable, "-m", "mindnetd.cli", "run", "--vault", str(self.vault), "--db", str(self.db)]
        command += ["--socket", str(self.socket), "--name", "bench", "--log-format", "json", *self._options]
        env = {**os.environ, "XDG_CONFIG_HOME": str(self.folder / "config")}
        log = (self.folder / "log").open("ab")
        self._process = subprocess.Popen(command, stderr=log, stdout=log, env=env)
        return wait_for(lambda: self._alive() and answers(self.socket), 120, "the start")

    def _alive(self) -> bool:
        if self._process is not None and self._process.poll() is not None:
            raise RuntimeError(f"the daemon ended: {(self.folder / 'log').read_text()[-2000:]}")
        return True

    def stop(self) -> float:
        """End it as a service manager does; the seconds it took."""
        assert self._process is not None
        start = time.perf_counter()
        self._process.terminate()
        self._process.wait(60)
        return time.perf_counter() - start

    def __enter__(self) -> Daemon:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def connection(self) -> Connection:
        """A connection of one's own."""
        return Connection(self.socket)

    def status(self) -> Any:
        """``GET /status``."""
        connection = self.connection()
        try:
            return connection.call("GET", "/status")
        finally:
            connection.close()

    def wait_ready(self, seconds: float = 600, *, vectors: bool = False) -> float:
        """Wait for state ready (and for every vector); the seconds it took."""

        def ready() -> bool:
            status = self.status()
            return self._alive() and status["state"] == "ready" and not (vectors and status["vectors"]["pending"])

        return wait_for(ready, seconds, "ready", 0.05)

    def cpu_s(self) -> float:
        """CPU seconds of the process so far."""
        assert self._process is not None
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory_mb(self, kind: str = "VmRSS") -> float:
        """Resident memory, or its peak with ``VmHWM``, in MB."""
        assert self._process is not None
        for line in Path(f"/proc/{self._process.pid}/status").read_text().splitlines():
            if line.startswith(kind + ":"):
                return int(line.split()[1]) / 1000
        raise RuntimeError(kind)
