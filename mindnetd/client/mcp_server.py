"""The server behind ``mindnet mcp``: the official SDK's low-level server, one handler for all tools.

The only module that imports ``mcp``. The low-level server, not the decorated one: the schemas are ours (strict, with
the API's names), an error is a result with the API's message, and a cancelled call ends its request to the daemon.
Standard output belongs to the protocol: the SDK serves it from a private descriptor and points fd 1 at standard error,
so that a stray ``print`` cannot break a message.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from mindnetd import __version__
from mindnetd.client.locate import UnclearError, find_socket
from mindnetd.client.mcp_calls import CALLS, Asking
from mindnetd.client.mcp_fit import SIZES, Fitted, fitted, lines_of, pruned
from mindnetd.client.mcp_text import write
from mindnetd.client.mcp_tools import BY_NAME, INSTRUCTIONS, TOOLS, ArgumentError, Tool, checked
from mindnetd.client.transport import Client, RefusedError, UnreachableError

if TYPE_CHECKING:
    from mindnetd.client.main import Call

Context = ServerRequestContext[Any]
Find = Callable[[], str]
"""Where the daemon's socket is now. Raises UnclearError, UnreachableError."""
THREADS = 8
"""Calls that run at once; more wait their turn."""
READ_ONLY = types.ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
HINTS = {
    "note_not_found": "Look for it with mindnet_query, or name it by the path of a result.",
    "ambiguous": "Call again with the path or id of one of these:",
    "community_not_found": "List the groups with mindnet_communities without id; ids may change when they are remade.",
    "visibility_denied": "Leave visibility out: what may be seen is shown.",
    "timeout": "Ask a narrower question, or try again.",
    "too_many_requests": "Try again in a moment.",
}


class Bridge:
    """The tools over a daemon. ``levels`` are the visibility levels that the user lets agents see; empty: all that the
    daemon allows."""

    def __init__(self, find: Find, levels: tuple[str, ...] = ()) -> None:
        self._find, self._levels = find, levels
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="tool")

    async def list_tools(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """All tools."""
        return types.ListToolsResult(tools=[_described(tool) for tool in TOOLS])

    async def call_tool(self, _: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        """Run one. What goes wrong in it is a result that says so; an unknown tool is an error of the protocol."""
        tool = BY_NAME.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"no tool {params.name!r}; there are: {', '.join(BY_NAME)}")
        running = _Running(self._find)
        try:
            given = checked(tool, params.arguments or {})
            seen = self._seen(given)
            loop = asyncio.get_running_loop()
            done = await loop.run_in_executor(self._threads, running.run, tool.name, given, seen)
        except asyncio.CancelledError:
            running.abort()
            raise
        except ArgumentError as error:
            return _failed("bad_argument", str(error))
        except RefusedError as error:
            return _failed(error.code, error.message, error.detail)
        except UnclearError as error:
            return _failed("daemon_unclear", f"{error} (an option of `mindnet mcp`)")
        except UnreachableError as error:
            return _failed("daemon_unreachable", f"{error}. Ask the user to start it; then the same call works again.")
        return types.CallToolResult(content=[_text(done.text)], structured_content=done.structured)

    def _seen(self, given: dict[str, Any]) -> dict[str, Any]:
        """Take the visibility parameters out of the arguments; what holds. Raises ArgumentError above the levels."""
        asked = given.pop("visibility", None) or given.get("filters", {}).get("visibility")
        above = [level for level in asked or () if self._levels and level not in self._levels]
        if above:
            raise ArgumentError(f"visibility: {', '.join(above)} is not shown to agents here; leave visibility out")
        levels = asked or list(self._levels)
        if "filters" in given:
            return {"visibility": levels}
        return {"visibility": levels, "include_flags": given.pop("include_flags", [])}

    def close(self) -> None:
        """No more calls."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class _Running:
    """One call on its way: run on a thread, aborted from the event loop."""

    def __init__(self, find: Find) -> None:
        self._find = find
        self._client: Client | None = None
        self._aborted = False

    def run(self, name: str, given: dict[str, Any], seen: Mapping[str, Any]) -> Fitted:
        """The result. Raises UnclearError, UnreachableError, RefusedError."""
        self._client = client = Client(self._find())
        if self._aborted:
            client.abort()
        return fitted(CALLS[name](Asking(client, seen), given), write(name))

    def abort(self) -> None:
        """Nobody waits any more: the daemon's work ends too."""
        self._aborted = True
        if self._client is not None:
            self._client.abort()


def make_server(bridge: Bridge) -> Server[Any]:
    """The server with all tools."""
    return Server(
        "mindnet",
        version=__version__,
        title="mindnet: the user's notes",
        instructions=INSTRUCTIONS,
        on_list_tools=bridge.list_tools,
        on_call_tool=bridge.call_tool,
    )


def serve_until_closed(call: Call) -> int:
    """Serve on standard input and output until the input ends."""
    args, env = call.args, call.env
    bridge = Bridge(lambda: find_socket(args.socket, args.vault, env), tuple(_levels(args.visibility)))
    asyncio.run(_serve(bridge))
    return 0


def _levels(given: list[str] | None) -> list[str]:
    return [part.strip() for value in given or () for part in value.split(",") if part.strip()]


async def _serve(bridge: Bridge) -> None:
    server = make_server(bridge)
    try:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())
    finally:
        bridge.close()


def _described(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=READ_ONLY,
    )


def _text(text: str) -> types.TextContent:
    return types.TextContent(type="text", text=text)


def _failed(code: str, message: str, detail: Mapping[str, Any] | None = None) -> types.CallToolResult:
    """An error as a result: an agent reads it and mends its call."""
    error = pruned({"code": code, "message": message, "detail": dict(detail or {})}, SIZES[1])
    lines = [f"{error['message']} ({code})", *([HINTS[code]] if code in HINTS else [])]
    lines += [f"- {one.get('path')} ({one.get('title')}), id {one.get('id')}" for one in _candidates(error["detail"])]
    return types.CallToolResult(
        content=[_text(lines_of(iter(lines)))], structured_content={"error": error}, is_error=True
    )


def _candidates(detail: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [one for one in detail.get("candidates", ()) if isinstance(one, dict)]
