"""What the writer is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from mindnetd.core.settle import SettleOptions
from mindnetd.errors import StoreError
from mindnetd.index import Indexer
from mindnetd.jobs import JobBook
from mindnetd.watching.scan import ScanResult
from mindnetd.watching.vaultio import RootId
from mindnetd.writing.runs import Run


@dataclass
class WriterParts:
    """What the writer works with; made by the composition root."""

    vault: Path
    indexer: Indexer
    jobs: JobBook
    new_run: Callable[[str], Run]
    scanned: Callable[[ScanResult], None]
    root_id: Callable[[], RootId | None]
    recover: Callable[[StoreError], None]
    """After a failed commit: reopen the database, load everything anew. Raises StoreError while that fails."""
    run_ended: Callable[[Run], None]
    housekeep: Callable[[], None]
    """Called when the bulk work has just ended: compaction, giving memory back."""
    hold_vectors: Callable[[bool], None] = lambda _: None
    """Called with True when work begins that needs all cores, with False when it is over."""
    vectors_stored: Callable[[int], None] = lambda _: None
    chores: Callable[[], bool] = lambda: False
    """Called when there is nothing to do; True if it did something."""
    settle: SettleOptions = field(default_factory=SettleOptions)
