"""The small file beside the database that remembers how far the database had come.

A lost or truncated write-ahead log opens without an error and with fewer rows (libraries.md 2.27). After each commit
the revision is written here too; a database that is behind its side file has lost commits.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Mark:
    """Which database file (``generation``: made anew with each new file) had reached which revision."""

    generation: str
    revision: int


def read_mark(path: Path) -> Mark | None:
    """The mark at ``path``, or None where there is none that can be read."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return Mark(str(data["generation"]), int(data["revision"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_mark(path: Path, mark: Mark) -> None:
    """Replace the mark at ``path`` in one step. Not synced: a mark that is too old only notices less."""
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(json.dumps(asdict(mark)), encoding="utf-8")
    os.replace(fresh, path)  # noqa: PTH105 - one rename, nothing to resolve
