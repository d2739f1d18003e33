"""``POST /context``: what the vault knows of a text, packed for a prompt of the caller's own."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from pydantic import Field

from mindnetd.core.budget import pack
from mindnetd.core.citations import citation
from mindnetd.core.query import LANES, QuerySpec
from mindnetd.deadline import Deadline
from mindnetd.errors import BadRequest
from mindnetd.modes import sources_of
from mindnetd.serving.filters_in import filters_of
from mindnetd.serving.kit import ERRORS, Kit
from mindnetd.serving.wire import Citation, FiltersIn, Reply, Strict

MAX_TOKENS = 100_000
DEFAULT_TOKENS = 2000
_TOKENS_OF_CHUNK = 100
"""Chunks are seldom smaller: so many are asked for as fill the budget then."""


class ContextRequest(Strict):
    """``POST /context``."""

    text: str = Field(min_length=1)
    tokens: int = Field(default=DEFAULT_TOKENS, ge=1, le=MAX_TOKENS, description="by the pinned MiniLM tokenizer")
    filters: FiltersIn = Field(default_factory=FiltersIn)


class ContextReply(Reply):
    """``POST /context``: ``text`` counts ``tokens`` tokens, never more than were allowed."""

    text: str
    tokens: int
    sources: list[Citation]
    left_out: int
    revision: int
    warnings: list[str]


def add_context_routes(app: FastAPI, kit: Kit) -> None:
    """Add the route."""
    router = APIRouter()

    @router.post("/context", response_model=ContextReply, responses=ERRORS)
    async def context(request: Request, body: ContextRequest) -> Response:
        """The best windows under a token budget, by note and in the order of the text, with their sources."""
        spec = _spec(body, kit)

        def work(deadline: Deadline) -> dict[str, Any]:
            result = kit.services.searcher.query(spec, deadline)
            packed = pack(sources_of(result.hits), body.tokens, kit.services.counter)
            return {
                "text": packed.text,
                "tokens": packed.tokens,
                "sources": [citation(n, source) for n, source in enumerate(packed.sources, 1)],
                "left_out": packed.left_out,
                "revision": result.revision,
                "warnings": list(result.warnings),
            }

        return await kit.reply_until(request, work)

    app.include_router(router)


def _spec(body: ContextRequest, kit: Kit) -> QuerySpec:
    """The search behind it. Raises BadRequest, Denied."""
    if not body.text.strip():
        raise BadRequest("text: must not be empty")
    view = kit.view(list(body.filters.visibility or ()), list(body.filters.include_flags))
    count = min(200, max(10, body.tokens // _TOKENS_OF_CHUNK))
    return QuerySpec(
        body.text, mode="local", top_k=count, lanes=LANES, filters=filters_of(body.filters, view), explain=False
    )
