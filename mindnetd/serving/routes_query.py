"""``POST /query``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.routing import APIRoute
from pydantic import ValidationError

from mindnetd.core.filters import DateRange, Filters
from mindnetd.core.query import LANES, QuerySpec
from mindnetd.deadline import Deadline
from mindnetd.errors import BadRequest
from mindnetd.serving.kit import ERRORS, Kit
from mindnetd.serving.streams import NDJSON, Pieces
from mindnetd.serving.view import View
from mindnetd.serving.wire import DateRange as DateRangeIn
from mindnetd.serving.wire import FiltersIn, QueryReply, QueryRequest, encode


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
        """Ask the vault. With ``stream`` the reply is NDJSON: an event ``results``, then ``done``."""
        spec = spec_of(body, kit)

        def answer(deadline: Deadline) -> dict[str, Any]:
            result = kit.services.searcher.query(spec, deadline)
            kit.services.log_query(spec, result)
            return result.as_dict()

        if not body.stream:
            return await kit.reply_until(request, answer)
        seconds = kit.services.settings.query_deadline_s
        return Pieces(_stream(await kit.workers.run(request, answer, seconds)), NDJSON)

    app.include_router(router)


async def _stream(reply: dict[str, Any]) -> AsyncIterator[bytes]:
    yield encode({"event": "results", **reply}) + b"\n"
    yield encode({"event": "done", "query_id": reply["query_id"]}) + b"\n"


def spec_of(body: QueryRequest, kit: Kit) -> QuerySpec:
    """The question as the searcher takes it. Raises BadRequest, Denied."""
    if not body.text.strip():
        raise BadRequest("text: must not be empty")
    if body.answer:
        raise BadRequest("answer: answers come with a later version; ask with answer false", code="answer_unavailable")
    view = kit.view(list(body.filters.visibility or ()), list(body.filters.include_flags))
    return QuerySpec(
        text=body.text,
        mode=body.mode,
        top_k=kit.services.searcher.settings.top_k if body.top_k is None else body.top_k,
        lanes=tuple(dict.fromkeys(body.lanes or LANES)),
        filters=filters_of(body.filters, view),
        graph_hops=body.graph_hops,
        explain=body.explain,
        prefix=body.prefix,
    )


def filters_of(given: FiltersIn, view: View) -> Filters:
    """The filters as the lanes take them."""
    return Filters(
        visibility=tuple(sorted(view.levels)),  # type: ignore[arg-type]  # view_of let only levels through
        include_flags=tuple(sorted(given.include_flags)),
        types=tuple(given.types),
        tags=tuple(given.tags),
        status=tuple(given.status),
        paths=tuple(given.paths),
        lang=given.lang,
        created=_range(given.created),
        modified=_range(given.modified),
        frontmatter=tuple(sorted((key, text_of(value)) for key, value in given.frontmatter.items())),
    )


def _range(given: DateRangeIn | None) -> DateRange:
    return DateRange(given.from_, given.to) if given else DateRange()


def text_of(value: object) -> str:
    """A frontmatter value to look for, as text. Raises BadRequest for a list or mapping."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    raise BadRequest("filters.frontmatter: values are texts, numbers or booleans")
