"""The GET calls about the graph: what is around a note, the way between two, what nothing links, what is related."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Depends, FastAPI, Query, Request, Response

from mindnetd.core.graph import DECAY
from mindnetd.serving import wire_graph, wire_replies
from mindnetd.serving.browse_graph import Walk
from mindnetd.serving.community_replies import CommunityBrowser
from mindnetd.serving.kit import ERRORS, Kit, Paged, Seen, listed, wanted_ref

EDGE_LIMIT = 500

Relations = Annotated[list[str], Query(default_factory=list, description="relations; all if none is given")]
Edges = Annotated[int, Query(ge=1, le=5000, description="edges at most")]
Decay = Annotated[float, Query(gt=0, le=1, description="what a hop leaves of a score")]


async def neighbours(
    kind: Relations, direction: Literal["in", "out", "both"] = "both", limit: Edges = EDGE_LIMIT
) -> Walk:
    """One hop."""
    return Walk(1, direction, tuple(listed(kind)), limit)


async def around(
    relation: Relations,
    depth: Annotated[int, Query(ge=1, le=4)] = 2,
    limit: Edges = EDGE_LIMIT,
    decay: Decay = DECAY,
) -> Walk:
    """Several hops in both directions."""
    return Walk(depth, "both", tuple(listed(relation)), limit, decay)


async def two_notes(
    from_: Annotated[str, Query(alias="from", description="a reference")] = "",
    to: Annotated[str, Query(description="a reference")] = "",
) -> tuple[str, str]:
    """The ends of ``GET /path``."""
    return from_, to


Neighbours = Annotated[Walk, Depends(neighbours)]
Around = Annotated[Walk, Depends(around)]
Ends = Annotated[tuple[str, str], Depends(two_notes)]


def add_graph_routes(app: FastAPI, kit: Kit) -> None:
    """Add the routes of the graph and its counts."""
    communities = CommunityBrowser(kit.services, kit.browser)

    @app.get("/neighbors/{ref:ref}", response_model=wire_graph.GraphReply, responses=ERRORS)
    async def neighbors(request: Request, ref: str, view: Seen, walk: Neighbours) -> Response:
        """The edges of a note, heaviest first; ``kind=backlink`` gives references reversed."""
        wanted = wanted_ref(request, "/neighbors/")
        return await kit.reply(request, lambda: kit.graph.neighbours(wanted, walk, view))

    @app.get("/subgraph/{ref:ref}", response_model=wire_graph.GraphReply, responses=ERRORS)
    async def subgraph(request: Request, ref: str, view: Seen, walk: Around) -> Response:
        """The graph around a note, walked in both directions; each node with its best way and score."""
        wanted = wanted_ref(request, "/subgraph/")
        return await kit.reply(request, lambda: kit.graph.around(wanted, walk, view))

    @app.get("/path", response_model=wire_graph.PathReply, responses=ERRORS)
    async def path(request: Request, view: Seen, ends: Ends, relation: Relations) -> Response:
        """A shortest way between two notes, with the evidence of each edge."""
        relations = tuple(listed(relation))
        return await kit.reply(request, lambda: kit.graph.path(ends, relations, view))

    @app.get("/orphans", response_model=wire_graph.OrphansReply, responses=ERRORS)
    async def orphans(request: Request, view: Seen, paged: Paged) -> Response:
        """Notes without an edge from or to another note."""
        return await kit.reply(request, lambda: kit.graph.orphans(view, paged.limit, paged.cursor))

    @app.get("/stats", response_model=wire_replies.StatsReply, responses=ERRORS)
    async def stats(request: Request, view: Seen) -> Response:
        """Counts of what the request may see."""
        return await kit.reply(request, lambda: kit.graph.stats(view) | communities.counts(view))
