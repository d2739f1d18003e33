"""The HTTP server on the Unix socket: the routes of ``api.md`` put together, and the life of the server.

Not for: finding answers (``search``, ``browse``), what a reply looks like (``wire``), who may connect
(``server_socket``).
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterable, Iterator

import uvicorn
from fastapi import FastAPI
from starlette.routing import BaseRoute
from starlette.types import Receive, Scope, Send

from mindnetd.serving.connection import Connection
from mindnetd.serving.guard import Guard, add_error_handlers
from mindnetd.serving.kit import Kit, make_kit
from mindnetd.serving.routes_browse import add_browse_routes
from mindnetd.serving.routes_communities import add_community_routes
from mindnetd.serving.routes_context import add_context_routes
from mindnetd.serving.routes_entities import add_entity_routes
from mindnetd.serving.routes_explain import add_explain_routes
from mindnetd.serving.routes_export import add_export_routes
from mindnetd.serving.routes_graph import add_graph_routes
from mindnetd.serving.routes_query import add_query_routes
from mindnetd.serving.routes_state import add_admin_routes, add_state_routes
from mindnetd.serving.routes_suggest import add_suggest_routes
from mindnetd.serving.services import Services
from mindnetd.serving.unix_socket import BACKLOG, BoundSocket

API_VERSION = "1"
KEEP_ALIVE_S: int = 75
"""How long a connection may keep silent while we wait for it."""
DRAIN_S = 5
"""How long requests in work may take to finish when the daemon stops."""


class App:
    """The ASGI application: ``api`` behind its guard. ``close`` ends its streams and threads."""

    def __init__(self, api: FastAPI, guard: Guard, kit: Kit) -> None:
        self.api = api
        self._guard = guard
        self._kit = kit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        await self._guard(scope, receive, send)

    def marks(self) -> Iterable[tuple[bytes, bytes]]:
        """The headers of every reply, for those that are made before there is a request."""
        return self._guard.marks()

    def end_streams(self) -> None:
        """The daemon stops: readers of ``/events`` are let go."""
        self._kit.services.events.close()

    def close(self) -> None:
        """Release the worker threads."""
        self._kit.workers.close()
        self._kit.quick.close()


def build_app(services: Services) -> App:
    """The application over ``services``. Call it inside the event loop that will serve it."""
    api = FastAPI(title="mindnetd", version=API_VERSION, docs_url=None, redoc_url=None, redirect_slashes=False)
    kit = api.state.kit = make_kit(services)
    add_query_routes(api, kit)
    add_explain_routes(api, kit)
    add_context_routes(api, kit)
    add_suggest_routes(api, kit)
    add_browse_routes(api, kit)
    add_graph_routes(api, kit)
    add_entity_routes(api, kit)
    add_community_routes(api, kit)
    add_state_routes(api, kit)
    add_admin_routes(api, kit)
    add_export_routes(api, kit)
    add_error_handlers(api)
    services.metrics.add_routes(_paths(api.routes))
    return App(api, Guard(api, services), kit)


def _paths(routes: list[BaseRoute]) -> Iterator[str]:
    for route in routes:
        if getattr(route, "include_in_schema", False):
            yield route.path_format  # type: ignore[attr-defined]  # every route that has a schema has a path


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers (the daemon owns those), its clock ticks and its own idea of when to stop."""

    def __init__(self, config: uvicorn.Config, app: App, ready: Callable[[], None], stop: asyncio.Event) -> None:
        super().__init__(config)
        self._app = app
        self._ready = ready
        self._stop = stop

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    async def main_loop(self) -> None:
        await self._stop.wait()
        self._app.end_streams()


async def serve(app: App, bound: BoundSocket, *, ready: Callable[[], None], stop: asyncio.Event) -> None:
    """Serve on ``bound`` until ``stop`` is set; ``ready`` is called once requests are answered.

    Then no new connections, requests in work get ``DRAIN_S`` to finish, and the socket file is removed.
    """
    config = uvicorn.Config(
        app,
        loop="asyncio",
        http=Connection,
        ws="none",
        interface="asgi3",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=DRAIN_S,
        backlog=BACKLOG,
    )
    try:
        await _Server(config, app, ready, stop).serve([bound.sock])
    finally:
        bound.close()
        app.close()
