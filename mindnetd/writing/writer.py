"""The one thread that changes anything: it owns the settling paths, the bulk work, and every commit.

Others only send it messages (`mark`, `doubt`, `deliver`, `submit`), which never block. One turn does one piece of work,
the most urgent first: a settled save, then vectors, then a scan, then a slice of the bulk work. So a save overtakes a
first index within one slice (about `SLICE_S`), and the thread sleeps when there is nothing to do.
"""

from __future__ import annotations

import logging
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from mindnetd.core.records import VaultFile
from mindnetd.core.settle import MarkKind, SettleOptions, Settler
from mindnetd.errors import StoreError, VaultError
from mindnetd.telemetry import event
from mindnetd.watching.scan import diff, scan
from mindnetd.watching.vaultio import look
from mindnetd.writing.backlog import Vectors
from mindnetd.writing.bulk import Bulk as Bulk
from mindnetd.writing.parts import WriterParts as WriterParts
from mindnetd.writing.runs import Run

log = logging.getLogger(__name__)

LEAST_AT_ONCE, MOST_AT_ONCE = 64, 256
BURST = 48
"""This many dirty paths are a burst: they are committed a few times a second instead of one by one."""
BURST_PAUSE_S = 0.25
RETRY_S = 5.0
"""How soon a scan is tried again after the vault, or a part of it, could not be read."""
LONGEST_SLEEP_S = 10.0
RECENT_S = 15.0
"""A file that a scan finds changed this recently may still be in the middle of its save."""


class Writer(threading.Thread):
    """See the module. `start` it, send it messages, `stop` it."""

    def __init__(self, parts: WriterParts) -> None:
        super().__init__(name="mindnetd-writer", daemon=True)
        self._parts = parts
        self._settler = Settler(parts.settle)
        self._wake = threading.Condition()
        self._marks: deque[tuple[str, MarkKind, float]] = deque()
        self._vectors: deque[Vectors] = deque()
        self._calls: deque[Callable[[], None]] = deque()
        self._doubts: dict[str, str | None] = {}
        self._stop_asked = self._held = False
        self._bulks: deque[Bulk] = deque()
        self._scan_at: float | None = None
        self._burst_at = 0.0
        self._failures = self._at_work = 0
        self.died: str | None = None
        """Why the thread has ended though nobody asked it to."""
        self._on_death: Callable[[], None] = lambda: None
        self._on_state: Callable[[], None] = lambda: None
        self._told: tuple[bool, str | None, bool] | None = None
        self.last_run: Run | None = None
        """The run that ended last."""
        self.first_run: Run | None = None
        """The run of the first scan, once it has begun."""
        self._vault_trouble: str | None = None
        self._store_trouble: str | None = None
        self._shut: StoreError | None = None
        self.reconciled = False
        """The first scan and all that it found are done."""
        self.beat = time.monotonic()
        """When the thread last came round; the watchdog's ping depends on it."""

    # ------------------------------------------------------------------------------------------ messages (any thread)

    def mark(self, kind: MarkKind, path: str) -> None:
        """`path` may have changed."""
        now = time.monotonic()  # the quiet time runs from here, not from when the thread comes round
        self._send(lambda: self._marks.append((path, kind, now)))

    def doubt(self, reason: str, job: str | None = None) -> None:
        """Only a scan can tell. Many doubts before it make one scan; `job` ends with what it finds."""
        self._send(lambda: self._doubts.__setitem__(reason, job))

    def deliver(self, vectors: Vectors) -> None:
        """Vectors are made."""
        self._send(lambda: self._vectors.append(vectors))

    def submit(self, bulk: Bulk) -> None:
        """Do this in slices, after what was submitted before."""
        self._send(lambda: self._bulks.append(bulk))

    def on_death(self, died: Callable[[], None]) -> None:
        """Call `died` when the thread ends by an error: a process that cannot write must not look alive."""
        self._on_death = died

    def on_state(self, changed: Callable[[], None]) -> None:
        """Call `changed` on the writer thread when it became busy or quiet, or met or lost a trouble."""
        self._on_state = changed

    def start_over(self) -> None:
        """What bulk work has prepared was prepared by rules that hold no longer: read it again. Writer thread."""
        for bulk in self._bulks:
            bulk.again()

    def configure(self, settle: SettleOptions) -> None:
        """Take over other settle times. Writer thread."""
        self._settler.configure(settle)

    def call(self, function: Callable[[], None]) -> None:
        """Run `function` on the writer thread, between two pieces of work."""
        self._send(lambda: self._calls.append(function))

    def stop(self, timeout_s: float) -> bool:
        """End after the piece of work at hand; what is left is found again by the next start. False: still running."""
        self._send(lambda: setattr(self, "_stop_asked", True))
        if self.is_alive():
            self.join(timeout_s)
        return not self.is_alive()

    def queued(self) -> int:
        """Paths that wait, settle, or are being indexed at this moment."""
        return len(self._marks) + len(self._settler) + self._at_work + sum(map(len, self._bulks))

    @property
    def trouble(self) -> str | None:
        """Why the vault or the database cannot be used now, or None; of a failed commit until all is stored."""
        return self._store_trouble or self._vault_trouble

    @property
    def settled(self) -> bool:
        """Nothing is dirty, queued, settling, doubted, and the first scan is done."""
        return self.reconciled and not self.queued() and not self._doubts and not self._bulks and self.trouble is None

    def bulk_progress(self) -> tuple[int, int]:
        """(done, total) notes of the bulk work at hand; (0, 0) without any."""
        bulks = list(self._bulks)
        total = sum(bulk.total for bulk in bulks)
        return total - sum(map(len, bulks)), total

    def wait_for_message(self, most_s: float) -> None:
        """Sleep until there is a message, or `most_s`. For `run_until_settled`'s caller."""
        with self._wake:
            if not self._anything_sent():
                self._wake.wait(most_s)

    def _send(self, put: Callable[[], None]) -> None:
        with self._wake:
            put()
            self._wake.notify()

    # -------------------------------------------------------------------------------------------------------- the loop
    def run(self) -> None:
        """Turn after turn until stopped. An error that nobody expects ends the thread, and with it the daemon."""
        try:
            self._run()
        except Exception as error:  # noqa: BLE001 - the top of a thread: told, and the daemon ends
            event(log, "writer died", logging.CRITICAL, error=repr(error), trace=traceback.format_exc(limit=-6))
            self.died = f"the writer met an error that it does not know ({error!r}); see the log"
            self._on_death()

    def _run(self) -> None:
        while not self._stop_asked:
            self.beat = time.monotonic()
            wanted = self._anything_sent
            try:
                if self._shut is not None:
                    raise self._shut
                pause = self._turn(self.beat)
            except StoreError as error:
                pause, wanted = self._store_failed(error), lambda: self._stop_asked  # no message mends a full disk
            self._tell_state()
            with self._wake:
                self._wake.wait_for(wanted, pause)
        for bulk in self._bulks:
            bulk.stop_ahead()
            if bulk.job:
                self._parts.jobs.fail(bulk.job, "the daemon stopped")

    def run_until_settled(self, progress: Callable[[], None]) -> None:
        """The same loop on the caller's thread, for ``mindnetd index``: ends when there is nothing left to do.

        Raises StoreError and VaultError instead of waiting for better times.
        """
        while not self.settled or self._vectors:
            pause = self._turn(time.monotonic())
            if self._vault_trouble:
                raise VaultError(self._vault_trouble)
            progress()
            if pause:
                self.wait_for_message(min(pause, 0.2))
        self._hold_vectors()  # bulk work that ended with the last turn keeps nothing back any more

    def _tell_state(self) -> None:
        state = (self.settled, self.trouble, self.reconciled)
        if state != self._told:
            self._told = state
            self._on_state()

    def _anything_sent(self) -> bool:
        return bool(self._marks or self._vectors or self._calls or self._doubts or self._stop_asked)

    def _turn(self, now: float) -> float:
        """One piece of work, the most urgent; returns how long to sleep if there is none (0: come again at once)."""
        self._hold_vectors()
        while self._marks:
            self._settler.mark(*self._marks.popleft())
        if self._calls:
            self._calls.popleft()()
        elif self._ready_paths(now):
            pass
        elif self._vectors:
            self._parts.indexer.store_vectors(self._vectors[0], self.last_run)
            self._parts.vectors_stored(len(self._vectors[0].hashes))
            self._vectors.popleft()
        elif self._doubts or (self._scan_at is not None and now >= self._scan_at):
            self._scan()
        elif self._bulks:
            self._slice_of(self._bulks[0])
        elif len(self._settler) or not self._parts.chores():
            if not len(self._settler):  # all that was found is stored
                self._failures, self._store_trouble = 0, None
            return self._pause(now)
        return 0.0

    def _hold_vectors(self) -> None:
        """Words first: while there is much to read, old notes wait for their vectors (those saved now do not)."""
        held = any(bulk.needs_all_cores for bulk in self._bulks)
        if held != self._held:
            self._held = held
            self._parts.hold_vectors(held)

    def _pause(self, now: float) -> float:
        due = [at for at in (self._settler.next_due(), self._scan_at) if at is not None]
        if self._burst_at > now and len(self._settler) > BURST:
            due = [self._burst_at]
        return max(0.001, min([LONGEST_SLEEP_S, *(at - now for at in due)]))

    # --------------------------------------------------------------------------------------------------------- a save

    def _ready_paths(self, now: float) -> bool:
        """Look at the paths that have settled and index those that are ready; False if there were none."""
        if len(self._settler) > BURST and now < self._burst_at:
            return False
        ready = []
        for path in self._settler.due(now, MOST_AT_ONCE):
            seen = look(self._parts.vault, path, root_id=self._parts.root_id())
            if seen.error is not None:
                self._settler.drop(path)
                self._scan_soon(now)
            elif self._settler.look(path, seen.stat, seen.open_for_write, now) == "ready":
                ready.append(path)
        if ready:
            self._burst_at, self._at_work = now + BURST_PAUSE_S, len(ready)
            for bulk in self._bulks:
                bulk.forget(ready)
            run = self._parts.new_run("watch")
            run.end()  # so that its last figures are part of its one commit
            unstable = ready
            try:
                unstable = self._parts.indexer.index(ready, run)
            finally:
                self._again(unstable)
                self._at_work = 0
            self._end(run)
        return bool(ready)

    def _again(self, paths: Iterable[str]) -> None:
        """These were changing while they were read, or could not be stored."""
        for path in paths:
            self._settler.mark(path, "scan", time.monotonic())

    # --------------------------------------------------------------------------------------------------------- a scan

    def _scan(self) -> None:
        """Compare the vault with what is known; what differs becomes settling paths or bulk work."""
        with self._wake:
            doubts, self._doubts = self._doubts, {}
        self._scan_at = None
        jobs = [job for job in doubts.values() if job]
        try:
            found = scan(self._parts.vault, self._parts.indexer.classifier)
            changes = diff(self._parts.indexer.known.files, found)
            if changes.vault_missing:
                raise VaultError(f"vault {self._parts.vault}: empty now, but it had notes; nothing is deleted")
        except VaultError as error:
            self._vault_lost(error, jobs)
            return
        self._parts.scanned(found)
        self._vault_trouble = None
        if found.unreadable:
            self._vault_trouble = f"{found.unreadable[0] or 'the vault'}: cannot be read; nothing in it is deleted"
            self._scan_soon(time.monotonic())
        run = self._parts.new_run("start" if not self.reconciled else "+".join(sorted(doubts)) or "retry")
        self.first_run = self.first_run or run
        fresh = [*changes.added, *changes.changed]
        self._parts.indexer.register(fresh, run)
        self._take_on(fresh, changes.removed, run, jobs)

    def _take_on(self, fresh: Iterable[VaultFile], removed: Sequence[str], run: Run, jobs: Sequence[str]) -> None:
        """Files are read in bulk, newest first; one that may be in mid-save settles as if by an event."""
        now, wall = time.monotonic(), time.time()
        files = sorted(self._parts.indexer.pending(fresh), key=lambda file: (-file.stat.mtime_ns, file.path))
        bulk = []
        for file in files:
            changed = max(file.stat.mtime_ns, file.stat.ctime_ns) / 1e9
            if self.reconciled and 0 <= wall - changed < RECENT_S:
                self._settler.mark(file.path, "scan", now, file.stat)
            else:
                bulk.append(file.path)
        for path in removed:
            self._settler.mark(path, "deleted", now)
        self._bulks.append(Bulk(run, deque(bulk), job=jobs[0] if jobs else None))
        self._bulks.extend(Bulk(run, deque(), job=job) for job in jobs[1:])

    def _vault_lost(self, error: VaultError, jobs: Sequence[str]) -> None:
        if self._vault_trouble != error.message:
            event(log, "vault cannot be read", logging.WARNING, reason=error.message)
        self._vault_trouble = error.message
        self._settler.clear()
        for job in jobs:
            self._parts.jobs.fail(job, error.message)
        self._scan_soon(time.monotonic())

    def _scan_soon(self, now: float) -> None:
        at = now + RETRY_S
        self._scan_at = at if self._scan_at is None else min(self._scan_at, at)

    # ------------------------------------------------------------------------------------------------------- bulk work

    def _slice_of(self, bulk: Bulk) -> None:
        """A little of it: files are derived in short slices and committed many at a time."""
        if bulk.work is not None:
            part = bulk.take(LEAST_AT_ONCE)
            bulk.work(part, bulk.run)
        elif bulk.wants_commit(save_in_s := self._save_in_s()):
            self._commit(bulk)
        else:
            bulk.read(self._parts.indexer, save_in_s, self._being_written)
        if bulk.job:
            self._parts.jobs.progress(bulk.job, bulk.total - len(bulk), bulk.total)
        if not len(bulk) and not len(bulk.plan):
            self._bulk_done(bulk)

    def _save_in_s(self) -> float:
        """How soon the next settling path has to be looked at; infinity if there is none."""
        due = self._settler.next_due()
        return float("inf") if due is None else max(0.0, due - time.monotonic())

    def _commit(self, bulk: Bulk) -> None:
        plan = bulk.part()
        try:
            self._again(self._parts.indexer.finish(plan))
        except StoreError:
            bulk.items.extendleft(plan.paths())
            raise

    def _being_written(self, path: str) -> bool:
        """Whether somebody is in the middle of writing it: then it settles, and is read at its end."""
        seen = look(self._parts.vault, path, root_id=self._parts.root_id())
        if seen.open_for_write:
            self._settler.mark(path, "scan", time.monotonic(), seen.stat)
        return bool(seen.open_for_write)

    def _bulk_done(self, bulk: Bulk) -> None:
        self._bulks.popleft().stop_ahead()
        self._end(bulk.run)
        if bulk.job:
            result = {"run": bulk.run.id, "changed": bulk.run.changed, "failed": bulk.run.failed}
            self._parts.jobs.finish(bulk.job, result)
        bulk.done()
        if not self._bulks:
            self.reconciled = self.reconciled or self._vault_trouble is None
            if bulk.total:
                self._parts.housekeep()

    def _end(self, run: Run) -> None:
        """A run that did nothing leaves no trace."""
        run.end()
        if run.changed or run.failed or run.seen:
            self.last_run = run
            self._parts.run_ended(run)

    # -------------------------------------------------------------------------------------------------------- failures

    def _store_failed(self, error: StoreError) -> float:
        """A commit failed, so nothing of it happened: reopen, load anew, look at the whole vault again."""
        self._failures, self._store_trouble, self._shut = self._failures + 1, error.message, None
        event(log, "database failed", logging.ERROR, code=error.code, reason=error.message, tries=self._failures)
        try:
            self._parts.recover(error)
        except StoreError as again:
            self._store_trouble, self._shut = again.message, again
        else:
            self._vectors.clear()
            self.doubt("recovered")
        return min(60.0, 0.25 * 2.0 ** min(self._failures, 8))
