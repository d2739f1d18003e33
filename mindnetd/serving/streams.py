"""Replies that come in pieces, and end when their client goes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from fastapi import Response
from starlette.types import Receive, Scope, Send

from mindnetd.events import Event, EventBus
from mindnetd.serving.view import View
from mindnetd.serving.wire import encode

NDJSON = "application/x-ndjson"
PIECE = 1 << 18
UNREAD_S = 30.0
"""How long a client may leave a piece unread before its stream ends."""


class Pieces(Response):
    """A response of pieces. Unlike Starlette's it notices at once when the client of a quiet stream has gone."""

    def __init__(self, pieces: AsyncIterator[bytes], media_type: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(None, 200, headers, media_type)
        self._pieces = pieces
        if "content-length" in self.headers and not (headers and "content-length" in headers):
            del self.headers["content-length"]  # the length of the empty body that the base class was given

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the pieces until they or the client end."""
        sending = asyncio.create_task(self._send(send))
        gone = asyncio.create_task(_gone(receive))
        try:
            await asyncio.wait({sending, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sending, gone):
                task.cancel()
            await asyncio.gather(sending, gone, return_exceptions=True)
        if sending.done() and not sending.cancelled() and not isinstance(sending.exception(), TimeoutError):
            sending.result()

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async for piece in self._pieces:
            async with asyncio.timeout(UNREAD_S):  # a client that never reads must not hold this task for ever
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def event_lines(bus: EventBus, view: View) -> AsyncIterator[bytes]:
    """The events that ``view`` shows, a line each, from now until the bus closes."""
    reader = bus.subscribe()
    try:
        yield b""  # the client learns at once that it is listening
        while (batch := await reader.next()) is not None:
            lines = [event_line(event) for event in batch if _shown(event, view)]
            if lines:
                yield b"".join(lines)
    finally:
        bus.unsubscribe(reader)


def _shown(event: Event, view: View) -> bool:
    return event.visibility is None or view.allows(event.visibility, event.flags)


def event_line(event: Event) -> bytes:
    """An event as a line of NDJSON."""
    line: dict[str, Any] = {"event": event.name, "time": datetime.fromtimestamp(time.time(), UTC).isoformat()}
    return encode({**line, **event.data}) + b"\n"


async def file_pieces(file: BinaryIO) -> AsyncIterator[bytes]:
    """An open file, read off the event loop; closed at the end."""
    try:
        while piece := await asyncio.to_thread(file.read, PIECE):
            yield piece
    finally:
        file.close()


def open_unlinked(path: Path) -> tuple[BinaryIO, int]:
    """The file, already without a name so that nothing is left whatever happens, and its size."""
    file = path.open("rb")
    path.unlink()
    return file, path_size(file)


def path_size(file: BinaryIO) -> int:
    """The size of an open file."""
    size = file.seek(0, 2)
    file.seek(0)
    return size
