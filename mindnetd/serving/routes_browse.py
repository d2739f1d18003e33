"""The GET calls about notes, links and problems."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, FastAPI, Query, Request, Response

from mindnetd.serving import wire_graph, wire_replies
from mindnetd.serving.browse import NoteQuery
from mindnetd.serving.kit import ERRORS, Kit, Paged, Seen, raw_tail, wanted_ref


async def narrowing(
    prefix: str | None = None, type: str | None = None, tag: str | None = None
) -> tuple[str | None, str | None, str | None]:
    """Path prefix, type and tag of ``GET /notes``."""
    return prefix, type, tag


Related = Annotated[int, Query(ge=1, le=100, description="notes at most")]
Narrowed = Annotated[tuple[str | None, str | None, str | None], Depends(narrowing)]


def add_browse_routes(app: FastAPI, kit: Kit) -> None:
    """Add the routes of notes and lists."""

    @app.get("/notes", response_model=wire_replies.NotesReply, responses=ERRORS)
    async def notes(request: Request, view: Seen, paged: Paged, narrowing: Narrowed) -> Response:
        """Every indexed note, by path."""
        query = NoteQuery(*narrowing, paged.limit, paged.cursor)
        return await kit.reply(request, lambda: kit.browser.notes(query, view))

    @app.get("/notes/{ref:ref}/related", response_model=wire_graph.RelatedReply, responses=ERRORS)
    async def related(request: Request, ref: str, view: Seen, limit: Related = 10) -> Response:
        """Notes near in meaning and in the graph, best first, each with the reasons."""
        if not raw_tail(request, "/notes/").endswith("/related"):  # an encoded slash: `a%2Frelated` is a note
            return await note(request, ref, view)
        wanted = wanted_ref(request, "/notes/", "/related")
        return await kit.reply(request, lambda: kit.related.related(wanted, view, limit))

    @app.get("/notes/{ref:ref}", response_model=wire_replies.NoteReply, responses=ERRORS)
    async def note(request: Request, ref: str, view: Seen) -> Response:
        """One note: metadata, links, backlinks, chunks, problems."""
        wanted = wanted_ref(request, "/notes/")
        return await kit.reply(request, lambda: kit.browser.note(wanted, view))

    @app.get("/unresolved", response_model=wire_replies.UnresolvedReply, responses=ERRORS)
    async def unresolved(request: Request, view: Seen, paged: Paged) -> Response:
        """Link targets that no file answers to, most wanted first."""
        return await kit.reply(request, lambda: kit.browser.unresolved(view, paged.limit, paged.cursor))

    @app.get("/diagnostics", response_model=wire_replies.DiagnosticsReply, responses=ERRORS)
    async def diagnostics(request: Request, view: Seen, paged: Paged, note: str | None = None) -> Response:
        """What is wrong in the notes, worst first; ``note`` (a reference) asks about one."""
        return await kit.reply(request, lambda: kit.browser.diagnostics(view, note, paged.limit, paged.cursor))
