"""What a changed configuration asks of a running daemon: most keys are taken over by the parts as they are, some parts
must be built anew, and `resources` waits for a restart by hand.

Building anew means: drain, close, and run the same command in the same process once more. The process id stays, so a
service manager sees a reload; the new beginning reads the configuration as any start does and needs no code of its own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import NoReturn

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
    "llm.host",
    "llm.num_ctx",
)
"""Keys, or sections with a dot at the end, that a part takes at its making only."""


def among(keys: Iterable[str], wanted: tuple[str, ...]) -> tuple[str, ...]:
    """Those of ``keys`` that ``wanted`` names, by themselves or by their section."""
    return tuple(key for key in keys if key in wanted or key.startswith(tuple(w for w in wanted if w.endswith("."))))


def begin_anew() -> NoReturn:
    """Replace this process by a new run of its own command line; everything must be closed."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
