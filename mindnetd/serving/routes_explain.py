"""``POST /explain``: why a note is where it is in the answer to a question, or why it is not there."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from pydantic import Field

from mindnetd.core.records import NoteMeta
from mindnetd.deadline import Deadline
from mindnetd.explanation import Explaining
from mindnetd.serving.kit import ERRORS, Kit
from mindnetd.serving.refs import no_note
from mindnetd.serving.specs import spec_of
from mindnetd.serving.wire import QueryNote, QueryRequest, Reply


class ExplainRequest(QueryRequest):
    """``POST /explain``: the fields of ``POST /query``, and the note that is asked about."""

    note: str = Field(min_length=1, description="id, path, title or alias")


class ExplainChunk(Reply):
    """The part of the note that scores best."""

    id: str
    idx: int
    section: list[str]
    start_line: int
    end_line: int


class Reason(Reply):
    """``code``: found, filtered, cut, low, graph, no_vector, pending or words; ``message`` says it in a sentence."""

    code: str
    message: str


class ExplainReply(Reply):
    """``POST /explain``. ``score`` and ``explain`` are those of the note's best part, as if nothing kept it out."""

    revision: int
    note: QueryNote
    chunk: ExplainChunk | None
    score: float
    explain: dict[str, Any]
    found: bool
    rank: int | None
    would_rank: int
    results: dict[str, Any]
    filters: list[dict[str, Any]]
    lanes: dict[str, dict[str, Any]]
    brought_by_graph: bool
    warnings: list[str]
    reasons: list[Reason]


def add_explain_routes(app: FastAPI, kit: Kit) -> None:
    """Add the route."""
    router = APIRouter()

    @router.post("/explain", response_model=ExplainReply, responses=ERRORS)
    async def explain(request: Request, body: ExplainRequest) -> Response:
        """Why a note is among the results of a question, or not: filters, lanes, terms, the score that was needed."""
        spec = spec_of(body, kit)
        view = kit.view(list(body.filters.visibility or ()), list(body.filters.include_flags))

        def work(deadline: Deadline) -> dict[str, Any]:
            found = kit.browser.find(body.note, view)
            told = None
            if isinstance(found, NoteMeta):  # a canvas is no result of any question
                told = Explaining(kit.services.searcher, spec, found.key, deadline).run()
            if told is None:
                raise no_note(body.note)
            return told

        return await kit.reply_until(request, work)

    app.include_router(router)
