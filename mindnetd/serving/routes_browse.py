"""The GET calls about notes, links and problems."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Depends, FastAPI, Query, Request, Response

from mindnetd.errors import NotFound
from mindnetd.serving import wire_replies
from mindnetd.serving.browse import NoteQuery
from mindnetd.serving.browse_graph import Walk
from mindnetd.serving.kit import ERRORS, Kit, Paged, Seen, listed, raw_tail, ref_of
from mindnetd.serving.refs import no_note

EDGE_LIMIT = 500
LATER = (
    "/entities",
    "/entities/{id:path}",
    "/communities",
    "/communities/{id:path}",
    "/context",
    "/explain",
    "/path",
    "/orphans",
    "/admin/communities",
)
"""Calls of the contract whose feature this version does not have."""


Relations = Annotated[list[str], Query(default_factory=list, description="relations; all if none is given")]
Edges = Annotated[int, Query(ge=1, le=5000, description="edges at most")]


async def narrowing(
    prefix: str | None = None, type: str | None = None, tag: str | None = None
) -> tuple[str | None, str | None, str | None]:
    """Path prefix, type and tag of ``GET /notes``."""
    return prefix, type, tag


async def neighbours(
    kind: Relations, direction: Literal["in", "out", "both"] = "both", limit: Edges = EDGE_LIMIT
) -> Walk:
    """One step."""
    return Walk(1, direction, tuple(listed(kind)), limit)


async def around(relation: Relations, depth: Annotated[int, Query(ge=1, le=4)] = 2, limit: Edges = EDGE_LIMIT) -> Walk:
    """Several steps in both directions."""
    return Walk(depth, "both", tuple(listed(relation)), limit)


Narrowed = Annotated[tuple[str | None, str | None, str | None], Depends(narrowing)]
Neighbours = Annotated[Walk, Depends(neighbours)]
Around = Annotated[Walk, Depends(around)]


def add_browse_routes(app: FastAPI, kit: Kit) -> None:
    """Add the routes of notes and lists."""

    @app.get("/notes", response_model=wire_replies.NotesReply, responses=ERRORS)
    async def notes(request: Request, view: Seen, paged: Paged, narrowing: Narrowed) -> Response:
        """Every indexed note, by path."""
        query = NoteQuery(*narrowing, paged.limit, paged.cursor)
        return await kit.reply(request, lambda: kit.browser.notes(query, view))

    @app.get("/notes/{ref:path}", response_model=wire_replies.NoteReply, responses=ERRORS)
    async def note(request: Request, ref: str, view: Seen) -> Response:
        """One note: metadata, links, backlinks, chunks, problems."""
        tail = raw_tail(request, "/notes/")
        for later in ("/related", "/suggestions"):
            if tail.endswith(later):  # an encoded slash would be %2F: `a%2Frelated` is a note
                raise not_here(f"GET /notes/{{ref}}{later}")
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


def add_graph_routes(app: FastAPI, kit: Kit) -> None:
    """Add the routes of the graph and its counts."""

    @app.get("/neighbors/{ref:path}", response_model=wire_replies.GraphReply, responses=ERRORS)
    async def neighbors(request: Request, ref: str, view: Seen, walk: Neighbours) -> Response:
        """The edges of a note."""
        wanted = wanted_ref(request, "/neighbors/")
        return await kit.reply(request, lambda: kit.graph.around(wanted, walk, view))

    @app.get("/subgraph/{ref:path}", response_model=wire_replies.GraphReply, responses=ERRORS)
    async def subgraph(request: Request, ref: str, view: Seen, walk: Around) -> Response:
        """The graph around a note, walked in both directions."""
        wanted = wanted_ref(request, "/subgraph/")
        return await kit.reply(request, lambda: kit.graph.around(wanted, walk, view))

    @app.get("/stats", response_model=wire_replies.StatsReply, responses=ERRORS)
    async def stats(request: Request, view: Seen) -> Response:
        """Counts of what the request may see."""
        return await kit.reply(request, lambda: kit.graph.stats(view))


def add_later_routes(app: FastAPI) -> None:
    """Calls that a later version has: a clear 404 instead of an unknown path."""

    async def later(request: Request) -> Response:
        raise not_here(f"{request.method} {request.url.path}")

    for path in LATER:
        app.add_api_route(path, later, methods=["GET", "POST"], include_in_schema=False, response_model=None)


def not_here(what: str) -> NotFound:
    """The error of a call that this version does not have."""
    return NotFound(f"{what} comes with a later version of mindnetd", code="not_available")


def wanted_ref(request: Request, prefix: str) -> str:
    """The reference in the path. Raises NotFound for an empty one."""
    ref = ref_of(request, prefix)
    if not ref:
        raise no_note(ref)
    return ref
