"""``POST /query``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.routing import APIRoute
from pydantic import ValidationError

from mindnetd.deadline import Deadline
from mindnetd.modes import Found
from mindnetd.serving.answers import answered, stream_answer
from mindnetd.serving.kit import ERRORS, Kit
from mindnetd.serving.specs import spec_of
from mindnetd.serving.streams import NDJSON, Pieces
from mindnetd.serving.wire import QueryReply, QueryRequest, encode


def add_query_routes(app: FastAPI, kit: Kit) -> None:
    """Add the route."""

    class Direct(APIRoute):
        """The route as FastAPI documents it; a body that is in order is read without its detours (0.2 ms a question).

        Any other body goes FastAPI's way, which finds the same fault and says it as everywhere.
        """

        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            plain = super().get_route_handler()

            async def handle(request: Request) -> Response:
                try:
                    body = QueryRequest.model_validate_json(await request.body())
                except ValidationError:
                    return await plain(request)
                return await query(request, body)

            return handle

    router = APIRouter(route_class=Direct)

    @router.post("/query", response_model=QueryReply, responses=ERRORS)
    async def query(request: Request, body: QueryRequest) -> Response:
        """Ask the vault. With ``stream`` the reply is NDJSON: ``results``, ``token``s of the answer, then ``done``."""
        spec, services = spec_of(body, kit), kit.services

        def search(deadline: Deadline) -> Found:
            found = services.modes.query(spec, deadline, answer=body.answer)
            services.log_query(spec, found.result)
            return found

        def whole(deadline: Deadline) -> dict[str, Any]:
            found = search(deadline)
            return answered(found, services.answerer.answer(found, deadline)) if body.answer else found.result.as_dict()

        if not body.stream:
            return await kit.reply_until(request, whole)
        found = await kit.workers.run(request, search, services.settings.query_deadline_s)
        return Pieces(stream_answer(kit, found) if body.answer else _stream(found), NDJSON)

    app.include_router(router)


async def _stream(found: Found) -> AsyncIterator[bytes]:
    yield encode({"event": "results", **found.result.as_dict()}) + b"\n"
    yield encode({"event": "done", "query_id": found.result.query_id}) + b"\n"
