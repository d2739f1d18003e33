"""A served vault for tests: real files, the real engine and writer, the real server on a real Unix socket."""

from __future__ import annotations

import asyncio
import dataclasses
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine_kit import shared_model

from mindnetd.community_step import rebuild
from mindnetd.config import load_config
from mindnetd.core.records import Visibility
from mindnetd.corpus_runner import build_graph
from mindnetd.daemon import make_writer
from mindnetd.engine import Engine
from mindnetd.inference.embedder import Embedder
from mindnetd.jobs import JobBook
from mindnetd.metrics import Metrics
from mindnetd.search import Searcher
from mindnetd.server import build_app, serve
from mindnetd.serving.desk import Desk
from mindnetd.serving.unix_socket import BoundSocket, bind_socket
from mindnetd.store.read import StoreTexts
from mindnetd.watch import WatcherStatus


class World:
    """A vault and its engine, writer and desk, put together as the daemon does it; without watcher and schedule.

    Without a model too, unless one is given.

    The writer runs on the caller's thread, in ``index``, so that a test knows when it is done.
    """

    def __init__(self, folder: Path, embedder: Embedder | None = None, **flags: str) -> None:
        self.vault = folder / "vault"
        self.vault.mkdir(exist_ok=True)
        env = {"HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache"), "XDG_RUNTIME_DIR": str(folder / "run")}
        given = {"vault": str(self.vault), "db": str(folder / "state" / "index.duckdb"), **flags}
        self.config = dataclasses.replace(load_config(None, env, given), offline=True)
        metrics = Metrics("test")
        model = shared_model(embedder, self.config.places.models, metrics) if embedder is not None else None
        self.engine = Engine(self.config, metrics, model=model)
        self.engine.load()
        jobs = JobBook(time.time)
        self.writer = make_writer(self.engine, jobs)
        self.engine.start_embedding(self.writer.deliver)
        searcher = Searcher(self.engine.hot, StoreTexts(self.engine.db), self.engine.model.embed_query)
        self.desk = Desk(self.engine, self.writer, jobs, searcher, watcher=_no_watcher, schedule=list)

    def write(self, path: str, text: str | bytes = "", **frontmatter: Any) -> str:
        """Write a vault file; ``frontmatter`` becomes its block. Returns the path."""
        file = self.vault / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(text, str):
            head = "".join(f"{key}: {json.dumps(value)}\n" for key, value in frontmatter.items())
            text = (f"---\n{head}---\n{text}" if head else text).encode()
        file.write_bytes(text)
        return path

    def index(self) -> None:
        """Bring the index up to date with the vault, and do what admin calls have asked for; vectors too."""
        self.writer.doubt("test")
        self.writer.run_until_settled(lambda: None)
        while self.engine.model.embedder is not None and self.engine.queue.pending():
            self.writer.wait_for_message(1.0)
            self.writer.run_until_settled(lambda: None)

    def build_graph(self) -> None:
        """Make the entity graph and its communities now."""
        build_graph(self.engine, lambda store: store(), force=True, stop=lambda: False)
        rebuild(self.engine, lambda store: store())

    def allow(self, level: Visibility) -> None:
        """Set ``max_query_visibility`` as a reload would."""
        privacy = dataclasses.replace(self.engine.config.privacy, max_query_visibility=level)
        self.engine.config = dataclasses.replace(self.engine.config, privacy=privacy)
        self.desk.refresh()

    def close(self) -> None:
        """Close the engine."""
        self.engine.close()


def _no_watcher() -> WatcherStatus:
    return WatcherStatus("scan", 0, 0, None, True, None, 5.0)


@dataclass
class Served:
    """A world behind its socket."""

    world: World
    path: Path
    stop: Callable[[], None] = field(repr=False, default=lambda: None)

    def call(self, method: str, target: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Reply:
        """One request on a connection of its own."""
        return call(self.path, method, target, body, headers)

    def get(self, target: str) -> Any:
        """The JSON of a GET that must succeed."""
        reply = self.call("GET", target)
        assert reply.status == 200, reply.body
        return reply.json()

    def query(self, text: str, **fields: Any) -> Any:
        """The JSON of a query that must succeed."""
        reply = self.call("POST", "/query", {"text": text, **fields})
        assert reply.status == 200, reply.body
        return reply.json()


@dataclass(frozen=True)
class Reply:
    """Status, headers (lower case) and body."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of an error."""
        return str(self.json()["error"]["code"])


def call(path: Path, method: str, target: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Reply:
    """One HTTP request over a Unix socket, by the standard library: an independent client."""

    class Unix(http.client.HTTPConnection):
        def connect(self) -> None:
            self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.sock.settimeout(30)
            self.sock.connect(str(path))

    connection = Unix("mindnet")
    try:
        raw = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        given = {"Content-Type": "application/json", **(headers or {})}
        connection.request(method, target, raw, given)
        answer = connection.getresponse()
        return Reply(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
    finally:
        connection.close()


def serve_world(world: World, path: Path) -> Served:
    """Serve on a thread with its own event loop; ``stop`` ends it as the daemon would."""
    bound: BoundSocket = bind_socket(path)
    ready, loops = threading.Event(), list[Callable[[], None]]()

    async def run() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        loops.append(lambda: loop.call_soon_threadsafe(stop.set))
        await serve(build_app(world.desk), bound, ready=ready.set, stop=stop)

    thread = threading.Thread(target=lambda: asyncio.run(run()), daemon=True)
    thread.start()
    assert ready.wait(20), "the server did not start"

    def end() -> None:
        loops[0]()
        thread.join(20)
        assert not thread.is_alive(), "the server did not stop"

    return Served(world, path, end)
