"""What the writer is given: the parts it works with, and work that is done in slices."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mindnetd.core.settle import SettleOptions
from mindnetd.errors import StoreError
from mindnetd.index import Indexer
from mindnetd.jobs import JobBook
from mindnetd.watching.scan import ScanResult
from mindnetd.watching.vaultio import RootId
from mindnetd.writing.ahead import WORTH_IT
from mindnetd.writing.plan import Plan
from mindnetd.writing.runs import Run

ASK_AT_ONCE = 64


@dataclass
class Bulk:
    """Work that is done in slices. ``job`` is told how far it is."""

    run: Run
    items: deque[str]
    force: bool = False
    job: str | None = None
    total: int = 0
    work: Callable[[Sequence[str], Run], None] | None = None
    """What to do with a slice, where it is not indexing."""
    asked: int = 0
    """How many of the items a child was asked to derive ahead."""
    done: Callable[[], None] = lambda: None
    """Called on the writer thread when all of it is done."""

    def __post_init__(self) -> None:
        self.total = len(self.items)
        self.plan = Plan(self.run, self.force)

    def take(self, most: int) -> list[str]:
        """The next paths."""
        return [self.items.popleft() for _ in range(min(most, len(self.items)))]

    def look_ahead(self, indexer: Indexer) -> None:
        """Where there is much to do, a second process derives what comes next (``writing/ahead.py``)."""
        ahead = indexer.ahead
        if ahead is None and len(self.items) >= WORTH_IT:
            ahead = indexer.derive_ahead()
        if ahead is None or ahead.room < ASK_AT_ONCE:
            return
        taken = self.total - len(self.items)
        self.asked = max(self.asked, taken)
        wanted = list(itertools.islice(self.items, self.asked - taken, self.asked - taken + ASK_AT_ONCE))
        self.asked += len(wanted)
        ahead.ask(wanted)

    def renew(self) -> Plan:
        """The plan as far as it is; a new one takes its place."""
        plan, self.plan = self.plan, Plan(self.run, self.force)
        return plan

    def again(self) -> None:
        """What is prepared, and not committed yet, is to be read once more."""
        plan = self.renew()
        troubled = (trouble.path for trouble in plan.troubles)
        self.items.extendleft(dict.fromkeys([*plan.paths(), *plan.unstable, *troubled]))
        self.asked = 0

    def forget(self, paths: Sequence[str]) -> None:
        """A save has overtaken these: what was read of them is older."""
        self.plan.discard(paths)


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
    vectors_stored: Callable[[int], None] = lambda _: None
    chores: Callable[[], bool] = lambda: False
    """Called when there is nothing to do; True if it did something."""
    settle: SettleOptions = field(default_factory=SettleOptions)
