"""A scripted Ollama server that fails in every way that demand 24 names, and is well again when told so."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

from tiny_model import http_server, send

WAYS = (
    *("hang", "slow load", "junk", "not json", "truncated", "empty with length", "empty", "white space"),
    *("thinking only", "404", "500", "400", "cut stream", "unfinished", "error line"),
)
Chat = Callable[[dict[str, Any]], str]


def polite(_payload: dict[str, Any]) -> str:
    """What a good server says."""
    return "All is well."


class BadLlm:
    """`way` is how the next calls fail; None: they work, and `chat` says what the reply is."""

    def __init__(self, chat: Chat = polite) -> None:
        self.way: str | None = None
        self.chat = chat
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.headers: list[dict[str, str]] = []
        self.release = threading.Event()
        """Set at the end of a test, so that hanging handlers go."""
        self.arrived = threading.Event()
        """A request that hangs has come in."""
        self.hung_up = threading.Event()
        """The client of a hanging call has gone."""
        self.digest = "sha256:one"
        self.capabilities = ["completion"]
        self.url = ""

    def __call__(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        payload = json.loads(body or b"{}")
        self.calls.append((handler.path, payload))
        self.headers.append({key.lower(): value for key, value in handler.headers.items()})
        if handler.path == "/api/version":
            send(handler, 200, {"version": "0.33.0"})
        elif handler.path == "/api/tags":
            models = [] if self.way == "404" else [{"name": "tiny:latest", "digest": self.digest}]
            send(handler, 200, {"models": models})
        elif handler.path == "/api/show":
            send(handler, 200, {"capabilities": self.capabilities})
        else:
            self._chat(handler, payload)

    def chats(self) -> list[dict[str, Any]]:
        """The real chat calls, without loads."""
        return [payload for path, payload in self.calls if path == "/api/chat" and payload["messages"]]

    def loads(self) -> list[dict[str, Any]]:
        """The calls that only load."""
        return [payload for path, payload in self.calls if path == "/api/chat" and not payload["messages"]]

    def _chat(self, handler: BaseHTTPRequestHandler, payload: dict[str, Any]) -> None:
        if not payload["messages"]:
            if self.way == "slow load":
                self._hang(handler)
                return
            send(handler, 200, message("", done_reason="load"))
        elif self.way == "hang":
            self._hang(handler)
        elif self.way in ("404", "500", "400"):
            send(handler, int(self.way), {"error": f"status {self.way}"})
        elif self.way == "not json":
            send(handler, 200, b"<html>a proxy</html>")
        elif payload.get("stream"):
            self._stream(handler, payload)
        elif self.way == "cut stream":
            send(handler, 200, b'{"model": "tiny", "mess', announced=500)
        else:
            send(handler, 200, self._whole(payload))

    def _whole(self, payload: dict[str, Any]) -> dict[str, Any]:
        said = self.chat(payload)
        bad: dict[str | None, dict[str, Any]] = {
            "junk": message("Sure! Here are the entities you asked for: Docker, and"),
            "truncated": message(said[: len(said) // 2], done_reason="length"),
            "empty with length": message("", done_reason="length"),
            "empty": message(""),
            "white space": message(" \n\n  "),
            "thinking only": message("", thinking="Let me see what this note says"),
            "unfinished": {**message(said), "done": False, "done_reason": None},
            "error line": {"error": "the runner crashed"},
        }
        return bad.get(self.way) or message(said)

    def _stream(self, handler: BaseHTTPRequestHandler, payload: dict[str, Any]) -> None:
        said = self.chat(payload)
        lines = [{**message(word + " "), "done": False, "done_reason": None} for word in said.split()]
        last = self._whole(payload)
        if self.way == "unfinished":
            lines = lines[:2]
        elif self.way == "error line":
            lines = [*lines[:1], {"error": "the runner crashed"}]
        elif self.way in ("empty", "white space", "thinking only", "empty with length"):
            lines = [last]
        else:
            lines.append({**last, "message": {"role": "assistant", "content": ""}})
        text = "".join(json.dumps(line) + "\n" for line in lines).encode()
        if self.way == "cut stream":
            send(handler, 200, text[: len(text) // 2 + 3], announced=len(text))
        else:
            send(handler, 200, text)

    def _hang(self, handler: BaseHTTPRequestHandler) -> None:
        """Say nothing until released or until the client has gone."""
        self.arrived.set()
        handler.connection.settimeout(0.02)
        while not self.release.is_set():
            try:
                if not handler.connection.recv(1):
                    self.hung_up.set()
                    return
            except TimeoutError:
                continue
            except OSError:
                self.hung_up.set()
                return


def message(text: str, *, thinking: str | None = None, done_reason: str = "stop") -> dict[str, Any]:
    """A complete reply object of ``/api/chat``."""
    said: dict[str, Any] = {"role": "assistant", "content": text}
    if thinking is not None:
        said["thinking"] = thinking
    return {"model": "tiny", "created_at": "2026-01-01T00:00:00Z", "message": said, "done": True} | {
        "done_reason": done_reason
    }


@contextmanager
def bad_llm(chat: Chat = polite) -> Iterator[BadLlm]:
    """A server on loopback; ``url`` is its address."""
    server = BadLlm(chat)
    with http_server(server) as url:
        server.url = url
        try:
            yield server
        finally:
            server.release.set()
