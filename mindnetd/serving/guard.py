"""What holds for every request and every reply, before and after any route.

Body limit, the two headers of every reply, the time by route, and one shape for every error.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mindnetd.errors import MindnetError, TooLarge
from mindnetd.serving.services import Services
from mindnetd.serving.wire import encode

log = logging.getLogger(__name__)

BAD_VALUES = (
    "greater_than",
    "greater_than_equal",
    "less_than",
    "less_than_equal",
    "literal_error",
    "string_too_short",
    "too_short",
    "value_error",
)
"""Validation errors that mean: the right kind of thing, but a value that cannot be used (400). All else is 422."""
JSON_TYPE = (b"content-type", b"application/json")
HTTP_CODES = {404: "not_found", 405: "method_not_allowed"}


class Guard:
    """The outermost ASGI layer."""

    def __init__(self, app: ASGIApp, services: Services) -> None:
        self._app = app
        self._services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = time.perf_counter()

        async def send_marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *self.marks()]
            await send(message)

        try:
            if scope["method"] == "POST":
                scope["headers"] = [*(h for h in scope["headers"] if h[0] != JSON_TYPE[0]), JSON_TYPE]
                receive = await self._limited(scope, receive)
            await self._app(scope, receive, send_marked)
        except TooLarge as error:
            await error_reply(error)(scope, receive, send_marked)
        finally:
            route = getattr(scope.get("route"), "path_format", "other")
            self._services.metrics.request_seconds.labels(route=route).observe(time.perf_counter() - begun)

    def marks(self) -> Iterable[tuple[bytes, bytes]]:
        """The headers of every reply."""
        yield b"x-mindnet-vault", self._services.vault_id.encode()
        yield b"x-mindnet-revision", str(self._services.revision).encode()

    async def _limited(self, scope: Scope, receive: Receive) -> Receive:
        """Read the body, at most as much as is allowed; returns what replays it. Raises TooLarge."""
        limit = self._services.settings.body_limit
        parts: list[bytes] = []
        size = _declared(scope)
        more = size <= limit
        if more:
            size = 0
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                break
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            more = message.get("more_body", False) and size <= limit
        if size > limit:
            raise TooLarge(f"the body is over {limit} bytes; send less")
        whole: list[Message] = [{"type": "http.request", "body": b"".join(parts), "more_body": False}]

        async def replay() -> Message:
            return whole.pop() if whole else await receive()

        return replay


def _declared(scope: Scope) -> int:
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value)
    return 0


def error_body(code: str, message: str, detail: dict[str, Any]) -> dict[str, Any]:
    """The body of every error. It repeats what was asked, which may hold halves of characters that are no UTF-8."""
    return {"error": {"code": code, "message": whole(message), "detail": whole(detail)}}


def whole(value: Any) -> Any:
    """The value with ``?`` for every lone surrogate in its texts."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {whole(key): whole(item) for key, item in value.items()}
    return [whole(item) for item in value] if isinstance(value, list | tuple) else value


def error_reply(error: MindnetError) -> Response:
    """An error of ours as a reply."""
    return Response(encode(error_body(error.code, error.message, error.detail)), error.status, None, "application/json")


def add_error_handlers(app: FastAPI) -> None:
    """Give every error the one shape."""

    async def known(request: Request, error: Exception) -> Response:
        assert isinstance(error, MindnetError)
        if error.status >= 500:
            log.warning("request failed", extra={"code": error.code, "route": request.url.path})
        return error_reply(error)

    async def invalid(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return _invalid_reply(error)

    async def http(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        code = HTTP_CODES.get(error.status_code, "bad_request")
        body = encode(error_body(code, f"{error.detail}; the calls are listed at /openapi.json", {}))
        return Response(body, error.status_code, error.headers, "application/json")

    async def unknown(request: Request, error: Exception) -> Response:
        # Starlette re-raises after this reply, so uvicorn logs the traceback; nothing is swallowed here
        body = error_body("internal", f"{type(error).__name__} in the daemon; its log has the details", {})
        return Response(encode(body), 500, None, "application/json")

    app.add_exception_handler(MindnetError, known)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(Exception, unknown)


def _invalid(item: dict[str, Any]) -> dict[str, str]:
    if item["type"] == "json_invalid":
        why, at = item.get("ctx", {}).get("error", item["msg"]), item["loc"][-1]
        return {"field": "body", "message": f"no JSON ({why}, at character {at})"}
    return {"field": ".".join(str(part) for part in item["loc"][1:]) or "body", "message": item["msg"]}


def _invalid_reply(error: RequestValidationError) -> Response:
    found = [_invalid(item) for item in error.errors()]
    bad_value = all(item["type"] in BAD_VALUES for item in error.errors())
    message = "; ".join(f"{item['field']}: {item['message']}" for item in found[:3])
    body = error_body("bad_value" if bad_value else "schema", message, {"errors": found})
    return Response(encode(body), 400 if bad_value else 422, None, "application/json")
