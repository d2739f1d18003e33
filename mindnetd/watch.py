"""The watcher: turns what inotify says into hints about paths, and what inotify may have lost into doubt.

It calls two functions, from a thread of its own only: ``on_dirty(kind, path)`` for a file that may have changed (kinds
of ``core.settle.MarkKind``), and ``on_doubt(reason)`` where only a scan can tell. Both must be quick; the daemon's put
a message into the writer's inbox. Nothing here reads a note or decides a deletion. The design, in the order of the
data, is ``docs/watching.md``.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from mindnetd.watching.arming import Arming
from mindnetd.watching.checks import Canary, RootGuard
from mindnetd.watching.handling import EventTaker
from mindnetd.watching.mailbox import Batch, Mailbox
from mindnetd.watching.mounts import blind_file_system
from mindnetd.watching.scan import Classifier, ScanResult
from mindnetd.watching.vaultio import NOWHERE, RootId

FOLDER_DOUBT_S = 0.1
"""Folder events within this time make one doubt."""
FOLDER_AGAIN_S = 1.0
"""A new or moved folder is doubted again so much later: files can slip in between watchdog's walk and its watch."""
REARM_PAUSE_S = 1.0
"""The least time between two new observers made on alarms (folder churn can break one after the other)."""
RETRY_S = 60.0
"""How often arming is tried again where the system refused, and the mounts are read anew."""
SCAN_SHARE = 200
"""A repeated scan has a period of at least this many times its cost: half a percent of one core."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """Seconds and minutes as in the configuration's ``watch``.

    ``polling``: ``auto`` scans often where inotify is blind; ``on`` and ``off`` say so by hand (a broken
    inotify is made up for in any case). ``canary_dir``: a folder of ours outside the vault; None: no canary.
    """

    scan_s: float = 5.0
    reconcile_minutes: float = 10.0
    polling: Literal["auto", "on", "off"] = "auto"
    canary_dir: Path | None = None
    canary_s: float = 60.0
    queue_size: int = 8192


@dataclass(frozen=True, slots=True)
class WatcherStatus:
    """How the vault is watched.

    ``kind`` ``scan``: it is the scans that find the changes (inotify helps beside them where it can); ``reason`` then
    says why, and `tick` asks for each by ``on_doubt("polling")``, every ``scan_period_s``. ``last_event``: Unix time.
    ``degraded``: a person should know. ``root_empty``: it has no entry at all, which with notes known is a lost vault
    and no deletion.
    """

    kind: Literal["inotify", "scan"]
    watches: int
    overflows: int
    last_event: float | None
    root_ok: bool
    reason: str | None
    scan_period_s: float
    degraded: bool = False
    restarts: int = 0
    events: dict[str, int] = field(default_factory=dict)
    root_empty: bool = False


class Watcher:
    """Watches one vault from `start` to `stop`.

    `tick` has to be called every few seconds; all else is done by threads that wait without a timeout, so an idle
    vault costs nothing.
    """

    def __init__(
        self,
        root: Path,
        classifier: Classifier,
        on_dirty: Callable[[str, str], None],
        on_doubt: Callable[[str], None],
        options: WatchOptions | None = None,
    ) -> None:
        self._options = options or WatchOptions()
        self._root = root
        self._on_dirty = on_dirty
        self._on_doubt = on_doubt
        self._mailbox = Mailbox(self._options.queue_size)
        self._taker = EventTaker(classifier, self._mailbox)
        self._guard = RootGuard(root)
        self._canary = Canary(self._options.canary_dir, self._options.canary_s)
        self._arming = Arming(root, self._taker, self._mailbox, self._canary)
        self._consumer = threading.Thread(target=self._consume, name="watch", daemon=True)
        # Guards root and observer. No callback is called and no mail waited for while it is held.
        self._lock = threading.RLock()
        self._blind: str | None = None
        self._folders = 0
        self._scan_cost = 0.0
        self._scan_at: float | None = None
        self._ticked: float | None = None
        self._retry_at = 0.0
        self._rules_seen: tuple[int, int] | None = None
        self._overflows = 0
        self._plans: dict[str, float] = {}
        """Monotonic times of what the consumer has to do later: ``folder``, ``folder again``, ``rearm``."""

    # What the daemon calls.

    def start(self) -> None:
        """Arm inotify and begin to report; scan after it. A missing vault or a limit reached is a status, no error."""
        self._rules_seen = self._rules_stamp()
        self._blind = blind_file_system(self._root)
        with self._lock:
            if self._guard.check() == "back":
                self._arming.arm()
        self._consumer.start()

    def stop(self) -> None:
        """Report nothing more; returns when all threads are gone."""
        self._mailbox.close()
        if self._consumer.is_alive():
            self._consumer.join()
        with self._lock:
            self._arming.disarm()

    def set_classifier(self, classifier: Classifier) -> None:
        """Take other rules (after ``on_doubt("rules")`` or a reload). A scan has to follow."""
        self._taker.classifier = classifier

    def scanned(self, result: ScanResult) -> None:
        """What the latest scan found: the watches are compared with its folders, its cost sets the least period."""
        with self._lock:
            self._folders = result.folders
            self._scan_cost = result.cost_s
            self._plan_scan()

    @property
    def root_id(self) -> RootId:
        """Who the vault's folder is, for `look` and `read_stable`; while it is lost, nobody (so that they refuse)."""
        return self._guard.id or NOWHERE

    def tick(self, now: float) -> None:
        """Look whether the root is still the root and inotify still works; heal what is not. `now` is monotonic."""
        with self._lock:
            self._ticked = now
            self._check_root()
            if self._guard.error is None:
                self._check_observer(now)
            self._check_scan(now)
        stamp = self._rules_stamp()
        if stamp != self._rules_seen and self._guard.error is None:
            self._rules_seen = stamp
            self._mailbox.alarm("rules")

    def status(self) -> WatcherStatus:
        """How things stand."""
        with self._lock:
            return WatcherStatus(
                kind="scan" if self._reason() else "inotify",
                watches=self._arming.watches,
                overflows=self._overflows,
                last_event=self._taker.last_event,
                root_ok=self._guard.error is None,
                reason=self._reason(),
                scan_period_s=self._scan_period(),
                degraded=self._trouble() is not None,
                restarts=self._arming.restarts,
                events=dict(self._taker.counts),
                root_empty=self._guard.empty,
            )

    # Why and how often to scan, under the lock.

    def _trouble(self) -> str | None:
        return self._guard.error or self._arming.trouble

    def _choice(self) -> str | None:
        if self._options.polling == "on":
            return "polling: on"
        if self._options.polling == "auto" and self._blind:
            return f"changes on a {self._blind} file system can raise no event"
        return None

    def _reason(self) -> str | None:
        """Why events alone are not enough; None if they are."""
        return self._trouble() or self._choice()

    def _scan_period(self) -> float:
        period = self._options.scan_s if self._reason() else self._options.reconcile_minutes * 60
        return max(period, self._scan_cost * SCAN_SHARE)

    def _plan_scan(self) -> None:
        wanted = self._reason() is not None and self._ticked is not None
        self._scan_at = (self._ticked or 0.0) + self._scan_period() if wanted else None

    def _check_scan(self, now: float) -> None:
        """Ask for the next scan where inotify is not enough; the regular reconcile is the scheduler's."""
        due = self._scan_at is not None and now >= self._scan_at
        if due and self._reason() is not None:
            self._mailbox.alarm("polling")
        if due or self._scan_at is None or self._reason() is None:
            self._plan_scan()

    # The checks, under the lock.

    def _check_root(self) -> None:
        verdict = self._guard.check()
        if verdict == "lost":
            _log.warning("vault lost", extra={"error": self._guard.error})
            self._arming.disarm()
            self._mailbox.alarm("vault_lost")
        elif verdict == "back":
            _log.info("vault back", extra={"vault": str(self._root)})
            self._arming.rearm("vault_back")
        elif verdict in ("emptied", "filled"):
            self._mailbox.alarm(f"vault_{verdict}")

    def _check_observer(self, now: float) -> None:
        if self._arming.broken:
            self._arming.rearm("watcher_died")
        elif self._arming.observer is not None and self._canary.deaf(now):
            self._arming.rearm("watcher_deaf")
        else:
            self._arming.compare(self._folders)
        if now >= self._retry_at:
            self._retry_at = now + RETRY_S
            self._blind = blind_file_system(self._root)
            if self._arming.trouble:
                self._arming.rearm("watcher_retry")

    def _rules_stamp(self) -> tuple[int, int] | None:
        try:
            st = (self._root / ".obsidian" / "app.json").stat()
        except OSError:
            return None
        return st.st_mtime_ns, st.st_size

    # The watcher's own thread.

    def _consume(self) -> None:
        while True:
            timeout = max(min(self._plans.values()) - time.monotonic(), 0.0) if self._plans else None
            batch = self._mailbox.take(timeout)
            if batch.closed:
                return
            try:
                self._handle(batch)
            except Exception:  # noqa: BLE001  the thread's top: a failing callback must not make the vault deaf
                _log.exception("watcher callback failed")

    def _handle(self, batch: Batch) -> None:
        for path, kind in batch.hints.items():
            self._on_dirty(kind, path)
        doubts = [reason for alarm in batch.alarms if (reason := self._act(alarm)) is not None]
        now = time.monotonic()
        for plan in [plan for plan, at in self._plans.items() if at <= now]:
            del self._plans[plan]
            if plan == "rearm":
                with self._lock:
                    if self._guard.error is None:
                        self._arming.rearm("watcher_broken")
            else:
                doubts.append("folder")
        for reason in dict.fromkeys(doubts):
            self._on_doubt(reason)

    def _act(self, alarm: str) -> str | None:
        """Act on an alarm; what has no action of its own, or not only, is a reason for doubt."""
        now = time.monotonic()
        match alarm:
            case "canary":
                self._canary.heard()
            case "folder":
                self._plans.setdefault("folder", now + FOLDER_DOUBT_S)
            case "new folder":
                self._plans.setdefault("folder", now + FOLDER_DOUBT_S)
                self._plans["folder again"] = now + FOLDER_AGAIN_S
            case "broken":
                self._plans.setdefault("rearm", max(now, self._arming.armed_at + REARM_PAUSE_S))
            case "root":
                with self._lock:
                    self._check_root()
            case _:
                self._overflows += alarm == "overflow"
                return alarm
        return None
