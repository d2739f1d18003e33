"""Bulk work: a first index, a reconcile, a reindex. Done in slices, so that a save never waits for it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mindnetd.index import Indexer
from mindnetd.writing.ahead import ASK_AT_ONCE, PATIENCE_S, WORTH_IT, Ahead, Result
from mindnetd.writing.plan import Plan
from mindnetd.writing.runs import Run

SLICE_S = 0.05
"""What a slice of reading in bulk should take: all that a save has to wait for."""
COMMIT_AT = 192
"""Notes that a commit of bulk work holds: a commit has a price of its own, and a save may have to wait for one."""
READ_AT_MOST = 1024
"""Files that may be read and not committed yet, because a save is about to settle."""
COMMIT_S = 0.25
"""What a commit of bulk work may take: none is begun when a save settles sooner than that."""


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
    ahead: Ahead | None = None
    """Set while there is so much to do that a second process derives a part of it."""
    done: Callable[[], None] = lambda: None
    """Called on the writer thread when all of it is done."""

    def __post_init__(self) -> None:
        self.total = len(self.items)
        self.plan = Plan(self.run, self.force)

    def __len__(self) -> int:
        """How many items are not done yet."""
        return len(self.items) + (len(self.ahead) if self.ahead else 0)

    def take(self, most: int) -> list[str]:
        """The next paths."""
        return [self.items.popleft() for _ in range(min(most, len(self.items)))]

    def next_note(self, indexer: Indexer) -> Result:
        """The next item, derived by the child already where one has come; only at the very end it is waited for."""
        ahead = self.ahead
        if ahead is None:
            if len(self.items) < WORTH_IT or not indexer.may_derive_ahead:
                return Result(self.items.popleft(), None)
            ahead = self.ahead = indexer.derive_ahead()
            if ahead is None:
                return Result(self.items.popleft(), None)
        if self.items and ahead.room >= ASK_AT_ONCE:
            ahead.ask(self.take(ASK_AT_ONCE))
        found = ahead.arrived(0.0 if self.items else PATIENCE_S)
        if found is None and not self.items:
            self.stop_ahead()  # it does not answer
        return found or Result(self.items.popleft(), None)

    @property
    def needs_all_cores(self) -> bool:
        """Whether old notes should wait for their vectors until it is done: words first."""
        return self.work is None and self.total >= WORTH_IT

    def wants_commit(self, save_in_s: float) -> bool:
        """Whether what is read should be committed now; a save is about to settle in `save_in_s` (or infinity)."""
        if not len(self) or len(self.plan) >= READ_AT_MOST:
            return True
        return len(self.plan) >= COMMIT_AT and save_in_s >= COMMIT_S

    def read(self, indexer: Indexer, most_s: float, being_written: Callable[[str], bool]) -> None:
        """Read and derive for a slice, at most about `most_s`; what is `being_written` is left to whom asked."""
        end = time.monotonic() + min(SLICE_S, most_s)
        while len(self) and len(self.plan) < READ_AT_MOST:
            note = self.next_note(indexer)
            if not being_written(note.path):
                indexer.prepare_derived(self.plan, note)
            if time.monotonic() >= end:
                break

    def stop_ahead(self) -> None:
        """End the child, if there is one; what it was asked for is to be done again."""
        if self.ahead is not None:
            self.items.extendleft(reversed(self.ahead.asked))
            self.ahead.close()
            self.ahead = None

    def part(self) -> Plan:
        """What of the plan is to be committed next."""
        return self.plan.split(COMMIT_AT)

    def again(self) -> None:
        """What is prepared, and not committed yet, is to be read once more."""
        plan, self.plan = self.plan, Plan(self.run, self.force)
        troubled = (trouble.path for trouble in plan.troubles)
        self.stop_ahead()
        self.items.extendleft(dict.fromkeys([*plan.paths(), *plan.unstable, *troubled]))

    def forget(self, paths: Sequence[str]) -> None:
        """A save has overtaken these: what was read of them is older."""
        self.plan.discard(paths)
