"""One connection of the server: uvicorn's, but it does not stay for ever, and there are not too many.

uvicorn starts its clock for an idle connection after a reply only: one that never asks, or stops in the middle of its
request, would keep its file descriptor for as long as the daemon lives.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import Iterable
from typing import Protocol, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from mindnetd.serving.guard import error_body
from mindnetd.serving.wire import encode

CONNECTIONS = 256
"""At once: twice as many as may ask at once, and far from the 1,024 files that a process may have open."""
TOO_MANY = f"{CONNECTIONS} connections are open already; close some, or try again in a moment"


class Marked(Protocol):
    """An application whose replies all have some headers."""

    def marks(self) -> Iterable[tuple[bytes, bytes]]:
        """Those headers as they are now."""


class Connection(HttpToolsProtocol):
    """A connection that ends after ``timeout_keep_alive`` seconds without a byte that a request was waiting for."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in the base class
        """Take the connection, or answer 503 (``too_many_connections``) at once and close it."""
        super().connection_made(transport)
        if len(self.connections) > CONNECTIONS:
            self._refuse("503 Service Unavailable", "too_many_connections", TOO_MANY)
        else:
            self._start_clock()

    def data_received(self, data: bytes) -> None:
        """Read on; the clock stands still only while we work on a whole request."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self.parser is not None and (self.cycle is None or self.cycle.response_complete or self.cycle.more_body):
            self._start_clock()

    def eof_received(self) -> bool:  # type: ignore[override]  # asyncio reads the answer, the base class has none
        """Who sends no more may still read: a whole request is answered, then the connection closes.

        True keeps it open that long. Who has hung up altogether reads nothing: nobody works on for that.
        """
        working = self.cycle is not None and not self.cycle.response_complete and not self.cycle.more_body
        if not working or _hung_up(self.transport):
            return False
        self.cycle.keep_alive = False
        return True

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP gets the error that every other wrong request gets."""
        self._refuse("400 Bad Request", "bad_request", f"{msg} A request is HTTP/1.1 with a head of at most 64 KiB")

    def _refuse(self, status: str, code: str, message: str) -> None:
        """Answer where no request has come so far that the application could, and close."""
        body = encode(error_body(code, message, {}))
        fields = [(b"content-type", b"application/json"), *cast("Marked", self.app).marks()]
        fields += [(b"connection", b"close"), (b"content-length", str(len(body)).encode())]
        head = b"".join(name + b": " + value + b"\r\n" for name, value in fields)
        self.transport.write(b"HTTP/1.1 " + status.encode() + b"\r\n" + head + b"\r\n" + body)
        self.transport.close()

    def _start_clock(self) -> None:
        self._unset_keepalive_if_required()
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)


def _hung_up(transport: asyncio.Transport) -> bool:
    """Whether the other end is closed for reading too, or that cannot be told."""
    end = transport.get_extra_info("socket")
    if end is None:
        return True
    poll = select.poll()
    poll.register(end.fileno(), select.POLLHUP)
    return bool(poll.poll(0))
