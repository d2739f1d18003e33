"""One JSON call to an Ollama server: no proxy, no environment, a deadline for the whole call, one kind of error.

The standard library is enough for that, and unlike the `ollama` client it has no proxy variables, no import-time
client and no six kinds of exception (``ollama.md`` 4, ``libraries.md`` 5).
"""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
import urllib.parse
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from mindnetd.errors import ModelError

_DEFAULT_PORT = 11434
_LONGEST_REPLY = 64 << 20
_EVERYWHERE = ("", "0.0.0.0", "::")  # what a server listens on, and no client can call


class OllamaError(ModelError):
    """A call that brought nothing. Codes: ``ollama_unreachable``, ``ollama_timeout``, ``ollama_model_missing``,
    ``ollama_refused`` (``reply_status`` says which HTTP status), ``ollama_bad_reply``.
    """

    def __init__(self, message: str, code: str, reply_status: int | None = None) -> None:
        super().__init__(message, code=code)
        self.reply_status = reply_status


class OllamaServer:
    """Calls to one server. Safe for several threads; `close` ends calls that are under way."""

    def __init__(self, host: str) -> None:
        parts = urllib.parse.urlsplit(host if "://" in host else f"http://{host}")
        try:
            name, port = parts.hostname or "", parts.port
        except ValueError as error:
            raise ModelError(f"llm.host {host!r} is no address: {error}", code="bad_host") from error
        if parts.scheme not in ("http", "https"):
            raise ModelError(f"llm.host {host!r} has to begin with http:// or https://", code="bad_host")
        self._secure = parts.scheme == "https"
        self._name = "127.0.0.1" if name in _EVERYWHERE else name
        self._port = port or (443 if self._secure else _DEFAULT_PORT)
        self._base = parts.path.rstrip("/")
        self.address = f"{parts.scheme}://{self._name}:{self._port}{self._base}"
        self._live: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._closed = False

    def call(self, path: str, payload: Mapping[str, Any] | None, timeout_s: float) -> dict[str, Any]:
        """POST `payload` to `path` (GET without one); return the JSON object. Raises OllamaError."""
        deadline = _Deadline(timeout_s)
        connection = self._connection(timeout_s)
        try:
            connection.connect()
            with self._watched(connection.sock, deadline):
                status, body = self._exchange(connection, path, payload)
        except (OSError, http.client.HTTPException) as error:
            if deadline.missed.is_set() or isinstance(error, TimeoutError):
                raise OllamaError(
                    f"Ollama at {self.address} gave no answer within {timeout_s:g} s", "ollama_timeout"
                ) from error
            raise OllamaError(f"Ollama at {self.address} is not reachable ({error!r})", "ollama_unreachable") from error
        finally:
            deadline.cancel()
            connection.close()
        return self._read(path, status, body)

    def close(self) -> None:
        """End every call; later ones fail."""
        with self._lock:
            self._closed = True
            live = list(self._live)
        for sock in live:
            _hang_up(sock)

    def _connection(self, timeout_s: float) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        return kind(self._name, self._port, timeout=timeout_s)

    @contextmanager
    def _watched(self, sock: socket.socket, deadline: _Deadline) -> Iterator[None]:
        """Let the deadline and `close` end the exchange; a call after `close` fails."""
        with self._lock:
            if self._closed:
                raise ModelError("the model was closed", code="closed")
            self._live.add(sock)
        try:
            deadline.start(sock)
            yield
        finally:
            with self._lock:
                self._live.discard(sock)

    def _exchange(
        self, connection: http.client.HTTPConnection, path: str, payload: Mapping[str, Any] | None
    ) -> tuple[int, bytes]:
        if payload is None:
            connection.request("GET", self._base + path)
        else:
            headers = {"Content-Type": "application/json"}
            connection.request("POST", self._base + path, json.dumps(payload).encode(), headers)
        reply = connection.getresponse()
        body = reply.read(_LONGEST_REPLY + 1)
        if len(body) > _LONGEST_REPLY:
            raise OllamaError(f"Ollama at {self.address} sent more than 64 MB", "ollama_bad_reply")
        if reply.length:
            # The standard library gives a short body without a word when an amount was asked for.
            raise http.client.IncompleteRead(body, reply.length)
        return reply.status, body

    def _read(self, path: str, status: int, body: bytes) -> dict[str, Any]:
        try:
            content = json.loads(body)
        except ValueError:
            content = None
        said = content.get("error") if isinstance(content, dict) else None
        if status != 200:
            reason = str(said or body[:120].decode("utf-8", "replace")).strip()[:200]
            code = "ollama_model_missing" if status == 404 and said else "ollama_refused"
            raise OllamaError(f"Ollama at {self.address} refused {path}: HTTP {status} {reason}", code, status)
        if not isinstance(content, dict):
            raise OllamaError(
                f"what answers {path} at {self.address} is not Ollama (no JSON object)", "ollama_bad_reply"
            )
        return content


class _Deadline:
    """Ends an exchange as a whole: the socket's own timeout starts anew with every byte."""

    def __init__(self, timeout_s: float) -> None:
        self._end = time.monotonic() + timeout_s
        self._timer: threading.Timer | None = None
        self.missed = threading.Event()

    def start(self, sock: socket.socket) -> None:
        """Hang up at the deadline, unless cancelled."""
        self._timer = threading.Timer(max(0.0, self._end - time.monotonic()), self._miss, (sock,))
        self._timer.daemon = True
        self._timer.start()

    def cancel(self) -> None:
        """Forget the deadline."""
        if self._timer is not None:
            self._timer.cancel()

    def _miss(self, sock: socket.socket) -> None:
        self.missed.set()
        _hang_up(sock)


def _hang_up(sock: socket.socket) -> None:
    """Wake whoever waits on the socket, from another thread."""
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # closed meanwhile: nobody waits any more
