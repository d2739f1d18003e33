"""Which daemon to ask: the socket given, the vault named, or the one that there is."""

from __future__ import annotations

import os
from collections.abc import Mapping

from mindnetd.client.transport import UnreachableError, answers


class UnclearError(Exception):
    """Several daemons run and none was named."""


def folder(env: Mapping[str, str]) -> str:
    """Where sockets lie: the runtime folder, else /run/user/UID where that exists, else the state folder."""
    runtime = env.get("XDG_RUNTIME_DIR", "")
    if runtime.startswith("/"):
        return os.path.join(runtime, "mindnetd")
    user = f"/run/user/{os.getuid()}"
    if os.path.isdir(user):
        return os.path.join(user, "mindnetd")
    state = env.get("XDG_STATE_HOME", "")
    if not state.startswith("/"):
        state = os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(state, "mindnetd")


def find_socket(given: str | None, vault: str | None, env: Mapping[str, str]) -> str:
    """The socket's path. Raises UnclearError when several daemons answer, UnreachableError when there is none."""
    if given:
        return given
    if vault:
        path = os.path.join(folder(env), f"{vault}.sock")
        others = [name_of(other) for other in sockets(folder(env)) if other != path]
        if others and not os.path.exists(path):
            raise UnreachableError(f"no daemon is called {vault}; there are: {', '.join(others)}")
        return path
    if env.get("MINDNETD_SOCKET"):
        return env["MINDNETD_SOCKET"]
    found = sockets(folder(env))
    if len(found) > 1:
        found = [path for path in found if answers(path)] or found[:1]
    if len(found) > 1:
        raise UnclearError(f"several daemons run: {', '.join(map(name_of, found))}; choose one with --vault NAME")
    if not found:
        raise UnreachableError(f"no daemon's socket in {folder(env)}; start one with `mindnetd run --vault DIR`")
    return found[0]


def name_of(path: str) -> str:
    """The instance that a socket belongs to."""
    return os.path.basename(path).removesuffix(".sock")


def sockets(place: str) -> list[str]:
    """All socket files of a folder, sorted."""
    try:
        return sorted(os.path.join(place, name) for name in os.listdir(place) if name.endswith(".sock"))
    except OSError:
        return []
