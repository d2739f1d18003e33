"""Limits of the server: bodies, waiting requests, deadlines, clients that go away, and how it ends."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from conftest import wait_until
from server_make import Reply, Served, World, serve_world

from mindnetd import server
from mindnetd.core.query import QuerySpec
from mindnetd.core.rank import RetrievalSettings
from mindnetd.deadline import Deadline
from mindnetd.errors import StoreError
from mindnetd.events import Event
from mindnetd.serving import connection
from mindnetd.serving.services import ServerSettings
from mindnetd.store.db import Database

MIB = 1 << 20


class Held:
    """A searcher that holds every question until it is let go, its deadline passes or its client leaves."""

    def __init__(self, real: Any) -> None:
        self._real = real
        self.settings = real.settings
        self.go = threading.Event()
        self.waiting = 0
        self.given_up: list[str] = []

    def query(self, spec: QuerySpec, deadline: Deadline) -> Any:
        self.waiting += 1
        try:
            while not self.go.wait(0.005):
                deadline.check()
        except Exception as error:
            self.given_up.append(getattr(error, "code", "?"))
            raise
        return self._real.query(spec, deadline)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    world = World(tmp_path)
    world.write("one.md", "words about one valve\n")
    world.index()
    running = serve_world(world, tmp_path / "s.sock")
    yield running
    running.stop()
    world.close()


@pytest.fixture
def held(served: Served) -> Iterator[Held]:
    desk: Any = served.world.desk
    desk._searcher = searcher = Held(desk._searcher)
    yield searcher
    searcher.go.set()


def set_limits(served: Served, **limits: Any) -> None:
    desk: Any = served.world.desk
    desk._settings = ServerSettings(**limits)


def test_32_clients_are_served_at_once(served: Served) -> None:
    """Each of 32 clients gets the right answer to each of its questions, while notes are being indexed."""

    def client(number: int) -> list[int]:
        return [len(served.query(f"valve {number}")["results"]) for _ in range(8)]

    with ThreadPoolExecutor(32) as pool:
        answers = [pool.submit(client, number) for number in range(32)]
        for number in range(5):
            served.world.write(f"extra{number}.md", "something else\n")
            served.world.index()
        assert all(answer.result(60) == [1] * 8 for answer in answers)


def test_64_requests_wait_and_more_are_refused(served: Served, held: Held) -> None:
    """At least 64 wait without an error; past the limit comes a 429, and status still answers."""
    limit = served.world.desk.settings.running + served.world.desk.settings.waiting
    with ThreadPoolExecutor(limit + 4) as pool:
        asked = [pool.submit(served.call, "POST", "/query", {"text": "valve"}) for _ in range(limit + 4)]
        wait_until(lambda: sum(answer.done() for answer in asked) == 4, what="four refusals")
        assert served.get("/status")["state"] == "ready"
        held.go.set()
        replies = [answer.result(60) for answer in asked]
    refused = [reply for reply in replies if reply.status != 200]
    assert [(reply.status, reply.code) for reply in refused] == [(429, "too_many_requests")] * 4
    assert limit >= 64 + 32


def test_a_late_answer_is_a_503(served: Served, held: Held) -> None:
    """Past the deadline the client gets its error, and the work is given up."""
    set_limits(served, query_deadline_s=0.1)
    reply = served.call("POST", "/query", {"text": "valve"})
    assert (reply.status, reply.code) == (503, "timeout")
    wait_until(lambda: bool(held.given_up), what="the end of the work")


def test_work_ends_when_its_client_goes(served: Served, held: Held) -> None:
    """A client that hangs up frees its worker."""
    with raw(served) as sock:
        sock.sendall(request("POST", "/query", b'{"text": "valve"}'))
        wait_until(lambda: held.waiting == 1, what="the request to arrive")
    wait_until(lambda: held.given_up == ["cancelled"], what="the request to be given up")


class Reading:
    """A searcher whose statement would take hours, on the real database."""

    settings = RetrievalSettings()

    def __init__(self, db: Database) -> None:
        self.db = db
        self.begun = threading.Event()
        self.ended: list[str] = []

    def query(self, spec: QuerySpec, deadline: Deadline) -> Any:
        try:
            with self.db.reader() as reader:
                self.begun.set()
                reader.rows(
                    "SELECT count(*) FROM range(1000000000) a, range(1000000000) b WHERE (a.range + b.range) % 7 = 8"
                )
        except StoreError as error:
            self.ended.append(error.code)
            raise


@pytest.mark.parametrize("late", [True, False])
def test_a_statement_ends_with_its_request(served: Served, late: bool) -> None:
    """Past the deadline, or when the client hangs up, the database stops working for nobody."""
    desk: Any = served.world.desk
    desk._searcher = reading = Reading(served.world.engine.db)
    set_limits(served, query_deadline_s=0.1 if late else 60.0)
    with raw(served) as sock:
        sock.sendall(request("POST", "/query", b'{"text": "valve"}'))
        assert reading.begun.wait(20)
        if late:
            answer = b""
            while b"timeout" not in answer:  # head and body may come one after the other
                part = sock.recv(65536)
                assert part, answer
                answer += part
    wait_until(lambda: reading.ended == ["timeout"], what="the end of the statement")
    with served.world.engine.db.reader() as reader:
        assert reader.rows("SELECT 1") == [(1,)]


class Broken:
    """A searcher whose own fault or whose store's it is."""

    settings = RetrievalSettings()

    def __init__(self, error: Exception) -> None:
        self.error = error

    def query(self, spec: QuerySpec, deadline: Deadline) -> Any:
        raise self.error


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [(ValueError("a bug"), 500, "internal"), (StoreError("the disk is full", code="disk_full"), 503, "disk_full")],
)
def test_faults_have_the_shape_of_errors(served: Served, error: Exception, status: int, code: str) -> None:
    """A fault of ours is a 500 without its text, one of the file a 503; both carry the headers."""
    desk: Any = served.world.desk
    desk._searcher = Broken(error)
    reply = served.call("POST", "/query", {"text": "valve"})
    assert (reply.status, reply.code) == (status, code) and "x-mindnet-revision" in reply.headers
    assert "a bug" not in reply.body.decode()
    assert served.get("/status")["state"] == "ready"


def raw(served: Served) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.settimeout(20)
    sock.connect(str(served.path))
    return sock


def request(method: str, target: str, body: bytes = b"", *headers: str) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", "Host: m", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def read_status(sock: socket.socket) -> int:
    got = b""
    while b"\r\n\r\n" not in got:
        part = sock.recv(65536)
        assert part, "closed without an answer"
        got += part
    return int(got.split(b" ", 2)[1])


def test_a_body_of_one_mebibyte_is_read(served: Served) -> None:
    """Exactly the limit is allowed, one byte more is not."""
    rest = MIB - len(b'{"text": ""}')
    assert served.call("POST", "/query", b'{"text": "' + b"x" * rest + b'"}').status == 200
    assert served.call("POST", "/query", b'{"text": "' + b"x" * (rest + 1) + b'"}').status == 413


def test_a_chunked_body_has_the_same_limit(served: Served) -> None:
    """Without a Content-Length the bytes are counted, and the connection is good for another request."""
    with raw(served) as sock:
        sock.sendall(b"POST /query HTTP/1.1\r\nHost: m\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(17):
            sock.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")
        sock.sendall(b"0\r\n\r\n")
        assert read_status(sock) == 413


def test_a_huge_body_does_not_block_the_client(served: Served) -> None:
    """64 MB sent at once: the answer comes, and other clients are served meanwhile."""
    reply: list[Reply] = []
    big = threading.Thread(target=lambda: reply.append(served.call("POST", "/query", b"x" * (64 * MIB))))
    big.start()
    assert served.query("valve")["results"]
    big.join(30)
    assert reply[0].code == "body_too_large"


def test_broken_requests_do_not_disturb(served: Served) -> None:
    """What is no HTTP gets a 400 or a closed connection; the next client is served."""
    for junk in (b"\x00\xff\xfe\r\n\r\n", b"GET\r\n\r\n", b"POST /query HTTP/1.1\r\nContent-Length: -1\r\n\r\n"):
        with raw(served) as sock:
            sock.sendall(junk)
            sock.shutdown(socket.SHUT_WR)
            sock.recv(65536)
    assert served.query("valve")["results"]


def test_who_sends_no_more_still_gets_the_answer(served: Served, held: Held) -> None:
    """Half a connection is enough to read by, as ``nc -N`` and ``socat`` do; the answer is its last."""
    body = b'{"text": "valve"}'
    with raw(served) as sock:
        sock.sendall(b"POST /query HTTP/1.1\r\nHost: m\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        sock.shutdown(socket.SHUT_WR)
        wait_until(lambda: held.waiting == 1)
        held.go.set()
        with sock.makefile("rb") as reply:
            assert b" 200 " in reply.readline()
            assert b"one.md" in reply.read()
    assert held.given_up == []


def test_a_connection_serves_many_requests(served: Served) -> None:
    """Keep-alive."""
    with raw(served) as sock:
        for _ in range(3):
            sock.sendall(request("GET", "/notes/one"))
            answer = http.client.HTTPResponse(sock)
            answer.begin()
            assert answer.status == 200 and b"one.md" in answer.read()


# ------------------------------------------------------------------------------------------------------------ events


class Listener:
    """Reads ``/events`` on a thread."""

    def __init__(self, served: Served, target: str = "/events") -> None:
        self.sock = raw(served)
        self.sock.sendall(request("GET", target))
        assert read_status(self.sock) == 200
        self.text = b""
        self.ended = threading.Event()
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        while part := self.sock.recv(65536):
            self.text += part
            if part.endswith(b"0\r\n\r\n"):
                break
        self.ended.set()

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text.splitlines() if line.startswith(b"{")]

    def close(self) -> None:
        self.ended.wait(20)
        self._thread.join(20)
        self.sock.close()


def test_a_silent_connection_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that never asks, stops in its head, in its body, or after an answer; one that waits for its answer is not."""
    monkeypatch.setattr(server, "KEEP_ALIVE_S", 0.2)
    world = World(tmp_path)
    running = serve_world(world, tmp_path / "s.sock")
    desk: Any = world.desk
    desk._searcher = held = Held(desk._searcher)
    try:
        whole = request("POST", "/query", b'{"text": "valve"}')
        with raw(running) as waiting:
            waiting.sendall(whole)
            wait_until(lambda: held.waiting == 1, what="the request to arrive")
            for said in (b"", b"GET /status HT", whole[:-3], request("GET", "/status")):
                with raw(running) as sock:
                    sock.sendall(said)
                    while sock.recv(65536):  # in the end it is closed: an empty read, or the time-out of `raw`
                        pass
            held.go.set()
            assert waiting.recv(65536).startswith(b"HTTP/1.1 200")
    finally:
        running.stop()
        world.close()


def test_too_many_connections_are_refused(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand idle ones take no file descriptors: past the limit comes a 503, and a place that is left is given."""
    monkeypatch.setattr(connection, "CONNECTIONS", 8)
    idle = [raw(served) for _ in range(8)]
    with raw(served) as sock:
        answer = b"".join(iter(lambda: sock.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 503") and b'"code":"too_many_connections"' in answer
    assert b"\r\nx-mindnet-vault: " in answer and b"\r\nx-mindnet-revision: " in answer
    for sock in idle:
        sock.close()
    wait_until(lambda: _answers(served), what="a free place")


@pytest.mark.parametrize(
    "said", [b"NONSENSE\r\n\r\n", b"GET /status HTTP/9.9\r\n\r\n", b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n"]
)
def test_what_is_no_http_gets_an_error_like_any_other(served: Served, said: bytes) -> None:
    """Body and headers are those of every reply, though no route was reached."""
    with raw(served) as sock:
        sock.sendall(said)
        answer = http.client.HTTPResponse(sock)
        answer.begin()
        assert answer.status == 400 and json.loads(answer.read())["error"]["code"] == "bad_request"
        assert answer.headers["x-mindnet-vault"] == served.world.desk.vault_id and answer.headers["x-mindnet-revision"]


def _answers(served: Served) -> bool:
    try:
        return served.call("GET", "/status").status == 200
    except OSError:  # refused while it was still asking
        return False


def test_events_come_as_lines_and_end_with_the_daemon(tmp_path: Path) -> None:
    """A note indexed is a line at once; the stream is closed properly when the daemon stops."""
    world = World(tmp_path)
    served = serve_world(world, tmp_path / "s.sock")
    listener = Listener(served)
    world.write("new.md", "text\n")
    world.index()
    wait_until(lambda: any(e["event"] == "note.indexed" for e in listener.events()), what="the event")
    event = next(e for e in listener.events() if e["event"] == "note.indexed")
    assert event["path"] == "new.md" and event["id"] and event["time"]
    served.stop()
    listener.close()
    assert listener.ended.is_set()
    world.close()


def test_events_of_hidden_notes_are_not_shown(served: Served) -> None:
    """Visibility and flags hold for events too."""
    world = served.world
    world.allow("sensitive")
    plain = Listener(served)
    every = Listener(served, "/events?visibility=public,internal,sensitive&include_flags=draft")
    world.write("secret.md", "hidden\n", visibility="sensitive")
    world.write("draft.md", "hidden\n", flags=["draft"])
    world.write("open.md", "text\n")
    world.index()
    wait_until(lambda: {"secret.md", "draft.md", "open.md"} <= {e.get("path") for e in every.events()}, what="events")
    wait_until(lambda: b"open.md" in plain.text, what="the event")
    assert b"secret.md" not in plain.text and b"draft.md" not in plain.text
    for listener in (plain, every):
        listener.sock.shutdown(socket.SHUT_RDWR)
        listener.ended.set()
        listener.close()
    bus = world.desk.events
    wait_until(lambda: bus.readers == 0, what="the server to notice that its listeners have gone")


def test_a_slow_listener_is_dropped(served: Served) -> None:
    """One who never reads costs a bounded backlog, then its stream ends; the publisher is never held up."""
    with raw(served) as sock:
        sock.sendall(request("GET", "/events"))
        assert read_status(sock) == 200
        bus = served.world.desk.events
        wait_until(lambda: bus.readers == 1, what="the listener")
        for _ in range(200_000):
            bus.publish(Event("state", {"filler": "x" * 50}))
            if bus.readers == 0:
                break
        assert bus.readers == 0


# ----------------------------------------------------------------------------------------------------------- the end


def test_stopping_waits_for_requests_and_removes_the_socket(tmp_path: Path) -> None:
    """A request in work when the daemon stops still gets its answer."""
    world = World(tmp_path)
    world.write("one.md", "words about one valve\n")
    world.index()
    served = serve_world(world, tmp_path / "s.sock")
    desk: Any = world.desk
    desk._searcher = searcher = Held(desk._searcher)
    with ThreadPoolExecutor(2) as pool:
        answer = pool.submit(served.call, "POST", "/query", {"text": "valve"})
        wait_until(lambda: searcher.waiting == 1, what="the request")
        ending = pool.submit(served.stop)
        wait_until(lambda: world.desk.events.closed, what="the stop to begin")
        searcher.go.set()
        assert answer.result(20).status == 200
        ending.result(20)
    assert not served.path.exists()
    world.close()
