"""The SQL files: numbered migrations and named statements.

A file of statements is cut at lines ``-- name: NAME``; what stands before the first is a comment of the file.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

_FOLDER = files("mindnetd.store.sql")


@cache
def statements(file: str) -> dict[str, str]:
    """The named statements of ``sql/<file>.sql``."""
    text = _FOLDER.joinpath(f"{file}.sql").read_text(encoding="utf-8")
    parts = text.split("-- name: ")[1:]
    return {head.strip(): body.strip() for head, _, body in (part.partition("\n") for part in parts)}


@cache
def migrations() -> tuple[tuple[int, str], ...]:
    """All migrations as ``(number, SQL)``, in order; the last number is the schema version of this program."""
    names = sorted(entry.name for entry in _FOLDER.iterdir() if entry.name[:4].isdigit())
    return tuple((int(name[:4]), _FOLDER.joinpath(name).read_text(encoding="utf-8")) for name in names)
