"""``mindnet mcp``: a Model Context Protocol server on standard input and output, over the daemon's socket.

The one part of the client that needs a package (``mcp``); it is imported when the command runs, and by nothing else.
"""

from __future__ import annotations

import signal
from importlib import import_module
from typing import TYPE_CHECKING

from mindnetd.client.main import WrongUseError

if TYPE_CHECKING:
    from mindnetd.client.main import Call


def run_mcp(call: Call) -> int:
    """Serve until the agent closes our input. The daemon need not run yet: each call looks for it anew."""
    try:
        server = import_module("mindnetd.client.mcp_server")
    except ImportError as error:
        raise WrongUseError(
            f"mcp: the package `mcp` cannot be imported ({error}); install mindnetd with its dependencies"
        ) from error
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a thread waits for input and would hold the interpreter back
    serve_until_closed = server.serve_until_closed
    code: int = serve_until_closed(call)
    return code
