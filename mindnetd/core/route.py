"""Which mode answers a question. One small function, to be replaced as modes arrive."""

from __future__ import annotations

from mindnetd.errors import BadRequest

MODES = ("auto", "local", "global", "drift")


def route(mode: str) -> tuple[str, str]:
    """(mode, reason) for a request. Raises BadRequest for a mode that is unknown or not in this version."""
    if mode not in MODES:
        raise BadRequest(f"mode {mode!r} is not one of {', '.join(MODES)}")
    if mode in ("global", "drift"):
        raise BadRequest(f"mode {mode!r} needs the entity graph, which this version lacks", code="mode_unavailable")
    return "local", "asked for" if mode == "local" else "no entity"
