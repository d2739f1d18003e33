"""Every error of mindnetd, in one tree.

MindnetError                 code, message, status, exit_code
├── BadRequest      400  2   a value that cannot be used (``bad_value`` and finer codes)
├── Denied          403  4   above ``max_query_visibility``
├── NotFound        404  1   ``note_not_found``, ``job_not_found``, ...
├── Conflict        409  4   ``busy``, ``ambiguous``
├── TooLarge        413  4   ``body_too_large``
├── TooMany         429  4   ``too_many_requests``
├── Unavailable     503  4   ``starting``, ``degraded``, ``timeout``
├── ConfigError      -   2   configuration, with file and line
├── StoreError      503  1   the database file (``locked``: 4)
├── ModelError      503  1   weights, tokenizer, back end
└── VaultError      503  1   the vault's folder

A message is one line: what happened, to which file or key, and what to do.
"""

from __future__ import annotations

from typing import Any


class MindnetError(Exception):
    """An error a person or a client can act on."""

    code = "internal"
    status = 500
    exit_code = 1

    def __init__(self, message: str, *, code: str | None = None, detail: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail or {}
        if code is not None:
            self.code = code


class BadRequest(MindnetError):
    """A value that cannot be used."""

    code, status, exit_code = "bad_value", 400, 2


class Denied(MindnetError):
    """More was asked for than this daemon may show."""

    code, status, exit_code = "visibility_denied", 403, 4


class NotFound(MindnetError):
    """The thing asked for is not there."""

    code, status, exit_code = "note_not_found", 404, 1


class Conflict(MindnetError):
    """Busy, or several things answer to one name."""

    code, status, exit_code = "busy", 409, 4


class TooLarge(MindnetError):
    """A request body over the limit."""

    code, status, exit_code = "body_too_large", 413, 4


class TooMany(MindnetError):
    """Too many requests wait."""

    code, status, exit_code = "too_many_requests", 429, 4


class Unavailable(MindnetError):
    """Not now: starting, degraded, or past its deadline."""

    code, status, exit_code = "unavailable", 503, 4


class ConfigError(MindnetError):
    """A configuration that cannot be used; the message names file and line."""

    code, exit_code = "config", 2


class StoreError(MindnetError):
    """The database file cannot be used as it is."""

    code, status = "store", 503

    def __init__(self, message: str, *, code: str | None = None, detail: dict[str, Any] | None = None) -> None:
        super().__init__(message, code=code, detail=detail)
        if code == "locked":  # the answer is not "no": somebody else is at work
            self.exit_code = Conflict.exit_code


class ModelError(MindnetError):
    """Weights, tokenizer or back end cannot be used."""

    code, status = "model", 503


class VaultError(MindnetError):
    """The vault's folder is not there or cannot be read."""

    code, status = "vault", 503
