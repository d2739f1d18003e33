"""Where a command may write: never into the vault, whatever links lie on the way."""

from __future__ import annotations

import os

from mindnetd.client.main import WrongUseError


def outside(target: str, vault: str) -> str:
    """The real path of `target`, which need not exist. Raises WrongUseError where it is in the vault."""
    real = os.path.realpath(target)
    if _within(real, os.path.realpath(vault)):
        raise WrongUseError(f"{target} is inside the vault; choose another place")
    return real


def _within(path: str, folder: str) -> bool:
    """By name, and by what the folders are: a bind mount has two names."""
    if path == folder or path.startswith(folder.rstrip("/") + "/"):
        return True
    try:
        wanted = os.stat(folder)
    except OSError:
        return False
    while True:
        if os.path.exists(path) and os.path.samestat(os.stat(path), wanted):
            return True
        above = os.path.dirname(path)
        if above == path:
            return False
        path = above
