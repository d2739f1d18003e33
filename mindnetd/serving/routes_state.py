"""Status, runs, jobs, events, metrics; and the calls that make the daemon work."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from fastapi import FastAPI, Request, Response

from mindnetd import metrics
from mindnetd.errors import BadRequest, Conflict, NotFound
from mindnetd.jobs import Job
from mindnetd.serving import wire, wire_replies
from mindnetd.serving.browse import offset_of
from mindnetd.serving.kit import ERRORS, Kit, Page, Paged, Seen
from mindnetd.serving.redact import Redactor, may_read
from mindnetd.serving.streams import NDJSON, Pieces, event_lines, file_pieces, open_unlinked
from mindnetd.serving.view import View
from mindnetd.store import read
from mindnetd.store.records import RunRow

TEXT_REPLY: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}
LINES_REPLY: dict[int | str, dict[str, Any]] = {200: {"content": {NDJSON: {"schema": {"type": "string"}}}}}
FILE = "application/octet-stream"
FILE_REPLY: dict[int | str, dict[str, Any]] = {
    200: {"content": {FILE: {"schema": {"type": "string", "format": "binary"}}}}
}
BACKUP_S = 600.0
LOG_ROWS = 500
"""Rows of the query log that are read together."""


def add_state_routes(app: FastAPI, kit: Kit) -> None:
    """Add the routes that only tell."""
    services = kit.services

    @app.get("/status", response_model=wire_replies.StatusReply, responses=ERRORS)
    async def status(request: Request) -> Response:
        """What the daemon does."""
        return await kit.quickly(request, services.status)

    @app.get("/runs", response_model=wire_replies.RunsReply, responses=ERRORS)
    async def runs(request: Request, view: Seen, paged: Paged) -> Response:
        """Import runs, newest first; errors about notes that are not shown are left out."""
        return await kit.reply(request, lambda: _page("runs", paged, lambda n, at: _runs(kit, view, n, at)))

    @app.get("/runs/{run_id}", response_model=wire_replies.RunReply, responses=ERRORS)
    async def run(request: Request, view: Seen, run_id: str) -> Response:
        """One import run."""

        def one() -> dict[str, Any]:
            row = _found(read.run(services.db, run_id), run_id)
            return {"run": run_out(row, kit.redactor(view))}

        return await kit.reply(request, one)

    @app.get("/query-log", response_model=wire_replies.QueryLogReply, responses=ERRORS)
    async def query_log(request: Request, view: Seen, paged: Paged) -> Response:
        """Logged questions, newest first, if ``privacy.query_log`` is on.

        Those asked with a wider view than this call's are left out, and hidden notes of the traces.
        """
        return await kit.reply(request, lambda: _page("query_log", paged, lambda n, at: _log(kit, view, n, at)))

    @app.get("/jobs/{job_id}", response_model=wire_replies.JobReply, responses=ERRORS)
    async def job(request: Request, job_id: str) -> Response:
        """A job as it stands."""
        return await kit.quickly(request, lambda: job_out(services.jobs.get(job_id)))

    @app.get("/events", responses={**LINES_REPLY, **ERRORS}, response_class=Response)
    async def events(view: Seen) -> Response:
        """What happens, a line per event, until the daemon stops."""
        return Pieces(event_lines(services.events, view), NDJSON)

    @app.get("/metrics", responses=TEXT_REPLY, response_class=Response)
    async def metrics_text(request: Request) -> Response:
        """Numbers in Prometheus' text format."""
        seconds = services.settings.query_deadline_s
        text = await kit.quick.run(request, lambda _: services.metrics.render(), seconds)
        return Response(text, headers={"content-type": metrics.CONTENT_TYPE})


def add_admin_routes(app: FastAPI, kit: Kit) -> None:
    """Add the routes that make the daemon work; all act on every note."""
    services = kit.services
    accepted: dict[str, Any] = {"response_model": wire_replies.JobReply, "status_code": 202, "responses": ERRORS}

    async def start(request: Request, work: Callable[[], Job]) -> Response:
        return await kit.reply(request, lambda: job_out(work()), 202)

    @app.post("/admin/reindex", **accepted)
    async def reindex(request: Request, body: wire.ReindexRequest | None = None) -> Response:
        """Read notes again: ``paths`` (files, folders or references), or ``all``."""
        body = body or wire.ReindexRequest()
        if not body.all and not body.paths:
            raise BadRequest("reindex: give paths, or all: true")
        paths, everything = body.paths, body.all
        return await start(request, lambda: services.request_reindex(kit.browser.paths_of(paths), everything))

    @app.post("/admin/reconcile", **accepted)
    @app.post("/admin/import", **accepted)
    async def reconcile(request: Request, body: wire.EmptyRequest | None = None) -> Response:
        """Compare the vault with the database now."""
        return await start(request, services.request_reconcile)

    @app.post("/admin/resolve", **accepted)
    async def resolve(request: Request, body: wire.EmptyRequest | None = None) -> Response:
        """Resolve every link again."""
        return await start(request, services.request_resolve)

    @app.post("/admin/verify", **accepted)
    async def verify(request: Request, body: wire.VerifyRequest | None = None) -> Response:
        """Check the index against the vault, and the resident index against the file."""
        hashes = body is not None and body.hashes
        return await start(request, lambda: services.request_verify(hashes))

    @app.post("/admin/communities", **accepted)
    async def communities(request: Request, body: wire.CommunitiesRequest | None = None) -> Response:
        """Make the entity graph and its communities anew, though nothing may have changed."""
        cold = body is not None and body.cold
        return await start(request, lambda: services.request_communities(cold))

    writing = asyncio.Lock()

    @app.get("/backup", responses={**FILE_REPLY, **ERRORS}, response_class=Response)
    async def backup(request: Request) -> Response:
        """A consistent copy of the database, to be used with ``mindnetd run --db``."""
        if writing.locked():
            raise Conflict("a backup is being written already; wait for it")
        async with writing:
            file, size = await kit.workers.run(request, lambda _: open_unlinked(services.backup()), BACKUP_S)
        return Pieces(file_pieces(file), FILE, {"content-length": str(size)})


def _page(name: str, paged: Page, rows: Callable[[int, int], list[Any]]) -> dict[str, Any]:
    """A page of a list that the store cuts: one more is asked for to know whether there is a next page."""
    start = offset_of(paged.cursor)
    end = start + paged.limit
    found = rows(paged.limit + 1, start)
    return {name: found[: paged.limit], "next": str(end) if len(found) > paged.limit else None}


def _runs(kit: Kit, view: View, limit: int, offset: int) -> list[dict[str, Any]]:
    rows = read.runs(kit.services.db, limit, offset)
    redactor = kit.redactor(view)
    return [run_out(row, redactor) for row in rows]


def _log(kit: Kit, view: View, limit: int, offset: int) -> list[dict[str, Any]]:
    new = kit.services.unwritten_queries()  # an answer is in the log at once, though the writer has other work
    ids = {row.id for row in new}
    found = [row for row in new if may_read(view, row.filters_json)]
    read_so_far = 0
    while len(found) < offset + limit and (rows := read.query_log(kit.services.db, LOG_ROWS, read_so_far)):
        found += [row for row in rows if row.id not in ids and may_read(view, row.filters_json)]
        read_so_far += len(rows)
    redactor = kit.redactor(view)
    return [
        timed({**asdict(row), "decision_trace_json": redactor.trace(row.decision_trace_json)})
        for row in found[offset : offset + limit]
    ]


def _found(row: RunRow | None, run_id: str) -> RunRow:
    if row is None:
        raise NotFound(f"no run {run_id}; see GET /runs", code="run_not_found")
    return row


def run_out(row: RunRow, redactor: Redactor) -> dict[str, Any]:
    """A run as the API shows it."""
    return timed({**asdict(row), "errors": redactor.errors(row.errors)})


def timed(row: dict[str, Any]) -> dict[str, Any]:
    """The row with its times (UTC, without zone) as RFC 3339."""
    return {name: value.isoformat() + "Z" if isinstance(value, datetime) else value for name, value in row.items()}


def job_out(job: Job) -> dict[str, Any]:
    """A job as the API shows it."""
    return {
        "id": job.id,
        "kind": job.kind,
        "state": job.state,
        "progress": {"done": job.done, "total": job.total},
        "created": _time(job.created),
        "started": _time(job.started),
        "finished": _time(job.finished),
        "result": job.result,
        "error": job.error,
    }


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
