"""HTTP/1.1 over a Unix socket, as little of it as the daemon's replies need.

Written by hand because ``http.client`` costs more to import than the rest of the client together.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

HEX = "0123456789ABCDEF"
UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
LONGEST_LINE = 65536
LONG_S = 660.0
"""A copy of the database, or an export, is written before the first byte comes; the daemon gives up after 600 s."""


class UnreachableError(Exception):
    """No daemon answers on the socket, or it went away in the middle of its answer."""


class RefusedError(Exception):
    """The daemon answered with an error."""

    def __init__(self, status: int, code: str, message: str, detail: Mapping[str, Any], body: bytes) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.detail = detail
        self.body = body


class Head(NamedTuple):
    """Status and headers (names in lower case) of a reply."""

    status: int
    headers: dict[str, str]


def quote(text: str) -> str:
    """Percent-encode everything but unreserved characters: one path segment or query value."""
    raw = text.encode("utf-8", "surrogateescape")
    return "".join(chr(b) if b in UNRESERVED else f"%{HEX[b >> 4]}{HEX[b & 15]}" for b in raw)


def query_string(values: Mapping[str, Any]) -> str:
    """``?a=1&b=2``; None and empty lists are left out, lists are repeated, booleans are true or false."""
    pairs: list[str] = []
    for name, value in values.items():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is not None:
                text = str(one).lower() if isinstance(one, bool) else str(one)
                pairs.append(f"{name}={quote(text)}")
    return "?" + "&".join(pairs) if pairs else ""


class Client:
    """Calls to one daemon, a connection each."""

    def __init__(self, path: str, timeout_s: float | None = 60.0) -> None:
        self.path = path
        self._timeout_s = timeout_s
        self._open: socket.socket | None = None
        self._aborted = False

    def abort(self) -> None:
        """End the call in work, and any later one, from another thread: it raises UnreachableError, and the daemon
        stops working for it."""
        self._aborted = True
        sock = self._open
        if sock is not None:
            with suppress(OSError):  # it may have ended by itself
                sock.shutdown(socket.SHUT_RDWR)

    def get(self, target: str, **values: Any) -> bytes:
        """The body of a GET. Raises UnreachableError, RefusedError."""
        return b"".join(self.stream("GET", target + query_string(values)))

    def post(self, target: str, body: Mapping[str, Any]) -> bytes:
        """The body of a POST. Raises UnreachableError, RefusedError."""
        return b"".join(self.stream("POST", target, body))

    def stream(
        self, method: str, target: str, body: Mapping[str, Any] | None = None, *, wait: bool = False
    ) -> Iterator[bytes]:
        """The pieces of a reply's body as they come.

        With ``wait`` the daemon may take its time: `LONG_S` before the first piece, and any time between two.
        """
        try:
            with self._connect() as sock, sock.makefile("rb") as reader:
                if wait:
                    sock.settimeout(LONG_S)
                sock.sendall(_request(method, target, body))
                head = _read_head(reader)
                if head.status >= 400:
                    raise _refusal(head.status, b"".join(_body(reader, head)))
                if wait:
                    sock.settimeout(None)
                yield from _body(reader, head)
        except TimeoutError as error:
            seconds = LONG_S if wait else self._timeout_s
            raise UnreachableError(f"no answer on {self.path} within {seconds:g} s") from error
        except (OSError, ValueError) as error:
            raise UnreachableError(f"the daemon on {self.path} broke off: {error}") from error

    def _connect(self) -> socket.socket:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.settimeout(self._timeout_s)
        try:
            sock.connect(self.path)
        except OSError as error:
            sock.close()
            reason = error.strerror or str(error)
            raise UnreachableError(
                f"no daemon answers on {self.path} ({reason}); start it with `mindnetd run`"
            ) from error
        self._open = sock
        if self._aborted:
            sock.close()
            raise UnreachableError(f"the call to {self.path} was given up")
        return sock


def answers(path: str) -> bool:
    """True when somebody listens on this socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(1.0)
        try:
            sock.connect(path)
        except OSError:
            return False
    return True


def _request(method: str, target: str, body: Mapping[str, Any] | None) -> bytes:
    content = b"" if body is None else json.dumps(body, ensure_ascii=True).encode()
    lines = [f"{method} {target} HTTP/1.1", "Host: mindnet", "Connection: close"]
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(content)}"]
    return "\r\n".join([*lines, "", ""]).encode("ascii") + content


def _read_head(reader: Any) -> Head:
    status_line = reader.readline(LONGEST_LINE).split(None, 2)
    if len(status_line) < 2:
        raise ValueError("it closed the connection without an answer")
    headers: dict[str, str] = {}
    while (line := reader.readline(LONGEST_LINE)) not in (b"\r\n", b"\n", b""):
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    return Head(int(status_line[1]), headers)


def _body(reader: Any, head: Head) -> Iterator[bytes]:
    if head.headers.get("transfer-encoding", "").lower() == "chunked":
        while size := _chunk_size(reader.readline(LONGEST_LINE)):
            yield _exactly(reader, size)
            reader.readline(LONGEST_LINE)
    elif "content-length" in head.headers:
        left = int(head.headers["content-length"])
        while left:
            part = _exactly(reader, min(left, LONGEST_LINE))
            left -= len(part)
            yield part
    else:
        while part := reader.read1(LONGEST_LINE):
            yield part


def _chunk_size(line: bytes) -> int:
    try:
        return int(line.split(b";")[0], 16)
    except ValueError:  # an early end is no number
        raise ValueError("the answer ended too early") from None


def _exactly(reader: Any, size: int) -> bytes:
    part: bytes = reader.read(size)
    if len(part) < size:
        raise ValueError("the answer ended too early")
    return part


def _refusal(status: int, body: bytes) -> RefusedError:
    try:
        error = json.loads(body)["error"]
        return RefusedError(status, error["code"], error["message"], error.get("detail") or {}, body)
    except (ValueError, KeyError, TypeError):
        return RefusedError(status, "unknown", f"HTTP {status}", {}, body)
