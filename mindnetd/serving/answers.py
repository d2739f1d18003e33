"""The answer of a question on the wire: as a part of the reply, or in pieces as it is made."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mindnetd.answer import Answer
from mindnetd.errors import MindnetError
from mindnetd.modes import Found
from mindnetd.serving.wire import encode

if TYPE_CHECKING:
    from mindnetd.serving.kit import Kit


def answered(found: Found, answer: Answer) -> dict[str, Any]:
    """The body of the reply with its answer."""
    result = replace(found.result, answer=answer.as_dict())
    return replace(result, warnings=(*result.warnings, *answer.warnings)).as_dict()


async def stream_answer(kit: Kit, found: Found) -> AsyncIterator[bytes]:
    """The events of a question with an answer: ``results``, ``token``..., ``done`` with the answer as it holds.

    Where an LLM failed in the middle, what was said is void: the ``text`` of ``done`` differs from the tokens then, and
    a ``warnings`` entry says why. An error after the beginning is an event ``error``, the last one. When the client
    goes, the generator is closed and the work stops at its next check.
    """
    yield encode({"event": "results", **found.result.as_dict()}) + b"\n"
    loop, pieces = asyncio.get_running_loop(), asyncio.Queue[str | None]()

    def put(piece: str | None) -> None:
        loop.call_soon_threadsafe(pieces.put_nowait, piece)

    seconds = kit.services.settings.query_deadline_s
    work = asyncio.ensure_future(
        kit.workers.run_apart(lambda deadline: kit.services.answerer.answer(found, deadline, put), seconds)
    )
    work.add_done_callback(lambda _: pieces.put_nowait(None))
    try:
        while (piece := await pieces.get()) is not None:
            yield encode({"event": "token", "text": piece}) + b"\n"
        yield _last(found, work)
    finally:
        work.cancel()


def _last(found: Found, work: asyncio.Future[Answer]) -> bytes:
    """The event that ends the stream."""
    try:
        answer = work.result()
    except MindnetError as error:
        body = {"code": error.code, "message": error.message, "detail": dict(error.detail)}
        return encode({"event": "error", "query_id": found.result.query_id, "error": body}) + b"\n"
    done = {"event": "done", "query_id": found.result.query_id, "answer": answer.as_dict()}
    return encode({**done, "warnings": answer.warnings}) + b"\n"
