"""What a changed configuration asks of a running daemon: most keys are taken over by the parts as they are, some parts
must be built anew, and `resources` waits for a restart by hand.

Building anew means: drain, close, and run the same command in the same process once more. The process id stays, so a
service manager sees a reload; the new beginning reads the configuration as any start does and needs no code of its own.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NoReturn

from mindnetd.errors import MindnetError
from mindnetd.telemetry import event

log = logging.getLogger(__name__)

BY_HAND = ("resources.",)
ANEW = (
    "vault",
    "db",
    "socket",
    "embedding.",
    "vector_index",
    "watch.reconcile_minutes",
    "watch.scan_s",
    "watch.polling",
    "maintenance.backup",
    "llm.",
)
"""Keys, or sections with a dot at the end, that a part takes at its making only."""


def among(keys: Iterable[str], wanted: tuple[str, ...]) -> tuple[str, ...]:
    """Those of ``keys`` that ``wanted`` names, by themselves or by their section."""
    return tuple(key for key in keys if key in wanted or key.startswith(tuple(w for w in wanted if w.endswith("."))))


class Followed:
    """A settings file beside the configuration: `look` calls `take` when it was saved, made or deleted.

    `take` reads it; what cannot be used is logged with its line, and what was in force stays.
    """

    def __init__(self, file: Path, take: Callable[[], None]) -> None:
        self._file, self._take = file, take
        self._seen = self._stamp()

    def look(self) -> None:
        """Compare it with the last look."""
        stamp = self._stamp()
        if stamp == self._seen:
            return
        self._seen = stamp
        try:
            self._take()
        except MindnetError as error:
            event(log, f"{self._file.name} not taken over", logging.ERROR, reason=error.message)
        else:
            event(log, f"{self._file.name} taken over", file=str(self._file))

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            found = self._file.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino


def begin_anew() -> NoReturn:
    """Replace this process by a new run of its own command line; everything must be closed."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
