"""One connection of the server: uvicorn's, but it does not stay for ever, and there are not too many.

uvicorn starts its clock for an idle connection after a reply only: one that never asks, or stops in the middle of its
request, would keep its file descriptor for as long as the daemon lives.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from mindnetd.serving.guard import error_body
from mindnetd.serving.wire import encode

CONNECTIONS = 256
"""At once: twice as many as may ask at once, and far from the 1,024 files that a process may have open."""
TOO_MANY = f"{CONNECTIONS} connections are open already; close some, or try again in a moment"


class Connection(HttpToolsProtocol):
    """A connection that ends after ``timeout_keep_alive`` seconds without a byte that a request was waiting for."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in the base class
        """Take the connection, or answer 503 (``too_many_connections``) at once and close it."""
        super().connection_made(transport)
        if len(self.connections) > CONNECTIONS:
            body = encode(error_body("too_many_connections", TOO_MANY, {}))
            head = "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nconnection: close\r\n"
            transport.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
            transport.close()
        else:
            self._start_clock()

    def data_received(self, data: bytes) -> None:
        """Read on; the clock stands still only while we work on a whole request."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self.parser is not None and (self.cycle is None or self.cycle.response_complete or self.cycle.more_body):
            self._start_clock()

    def _start_clock(self) -> None:
        self._unset_keepalive_if_required()
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)
