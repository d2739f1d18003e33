"""The watcher: turns what inotify says into hints about paths, and what inotify may have lost into doubt.

It calls two functions, from a thread of its own only: ``on_dirty(kind, path)`` for a file that may have changed (kinds
of ``core.settle.MarkKind``), and ``on_doubt(reason)`` where only a scan can tell. Both must be quick; the daemon's put
a message into the writer's inbox. Nothing here reads a note or decides a deletion. The design, in the order of the
data, is ``docs/watching.md``.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileMovedEvent,
    FileSystemEvent,
)

from mindnetd.mailbox import Batch, Mailbox
from mindnetd.mounts import blind_file_system
from mindnetd.observe import EVENTS, Handler, VaultObserver
from mindnetd.scan import Classifier, ScanResult
from mindnetd.vaultio import Gone as Gone
from mindnetd.vaultio import Look as Look
from mindnetd.vaultio import ReadOutcome as ReadOutcome
from mindnetd.vaultio import RootId, vault_name
from mindnetd.vaultio import Unreadable as Unreadable
from mindnetd.vaultio import Unstable as Unstable
from mindnetd.vaultio import look as look
from mindnetd.vaultio import open_for_writing as open_for_writing
from mindnetd.vaultio import read_stable as read_stable
from mindnetd.vaultio import root_is_empty as root_is_empty
from mindnetd.watch_checks import Canary, RootGuard

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
FILE_KINDS: dict[type[FileSystemEvent], str] = {
    FileCreatedEvent: "created",
    FileClosedEvent: "closed",
    FileDeletedEvent: "deleted",
}
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
    says why. ``scan_period_s``: how often the daemon should scan. ``last_event``: Unix time. ``degraded``: a person
    should know. ``root_id`` is for `look` and `read_stable`; None while the root is lost. ``root_empty``: it has no
    entry at all, which with notes known is a lost vault and no deletion of all of them.
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
    root_id: RootId | None = None
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
        self._classifier = classifier
        self._on_dirty = on_dirty
        self._on_doubt = on_doubt
        self._mailbox = Mailbox(self._options.queue_size)
        self._consumer = threading.Thread(target=self._consume, name="watch", daemon=True)
        # Guards the observer and the root. No callback is called and no mail waited for while it is held.
        self._lock = threading.RLock()
        self._guard = RootGuard(root)
        self._canary = Canary(self._options.canary_dir, self._options.canary_s)
        self._observer: VaultObserver | None = None
        self._arm_error: str | None = None
        self._blind: str | None = None
        self._limited = False
        self._short = 0
        self._folders = 0
        self._scan_cost = 0.0
        self._overflows = 0
        self._restarts = 0
        self._events: dict[str, int] = {}
        self._last_event: float | None = None
        self._rules_seen: tuple[int, int] | None = None
        self._armed_at = 0.0
        self._retry_at = 0.0
        self._plans: dict[str, float] = {}
        """Monotonic times of what the consumer has to do later: ``folder``, ``folder again``, ``rearm``."""

    # What the daemon calls.

    def start(self) -> None:
        """Arm inotify and begin to report; scan after it. A missing vault or a limit reached is a status, no error."""
        self._rules_seen = self._rules_stamp()
        with self._lock:
            if self._guard.check() == "back":
                self._arm()
        self._consumer.start()

    def stop(self) -> None:
        """Report nothing more; returns when all threads are gone."""
        self._mailbox.close()
        if self._consumer.is_alive():
            self._consumer.join()
        with self._lock:
            self._disarm()

    def set_classifier(self, classifier: Classifier) -> None:
        """Take other rules (after ``on_doubt("rules")`` or a reload). A scan has to follow."""
        self._classifier = classifier

    def scanned(self, result: ScanResult) -> None:
        """What the latest scan found: the watches are compared with its folders, its cost sets the least period."""
        self._folders = result.folders
        self._scan_cost = result.cost_s

    def tick(self, now: float) -> None:
        """Look whether the root is still the root and inotify still works; heal what is not. `now` is monotonic."""
        with self._lock:
            self._check_root()
            if self._guard.error is None:
                self._check_observer(now)
        stamp = self._rules_stamp()
        if stamp != self._rules_seen and self._guard.error is None:
            self._rules_seen = stamp
            self._mailbox.alarm("rules")

    def status(self) -> WatcherStatus:
        """How things stand."""
        with self._lock:
            observer, root_id, trouble = self._observer, self._guard.id, self._trouble()
        reason = trouble or self._choice()
        period = self._options.scan_s if reason else self._options.reconcile_minutes * 60
        return WatcherStatus(
            kind="scan" if reason else "inotify",
            watches=observer.watches() if observer else 0,
            overflows=self._overflows,
            last_event=self._last_event,
            root_ok=root_id is not None,
            reason=reason,
            scan_period_s=max(period, self._scan_cost * SCAN_SHARE),
            degraded=trouble is not None,
            restarts=self._restarts,
            events=dict(self._events),
            root_id=root_id,
            root_empty=self._guard.empty,
        )

    def _trouble(self) -> str | None:
        short = self._limited or self._short > 1
        return self._guard.error or self._arm_error or ("too few inotify watches for all folders" if short else None)

    def _choice(self) -> str | None:
        if self._options.polling == "on":
            return "polling: on"
        if self._options.polling == "auto" and self._blind:
            return f"changes on a {self._blind} file system can raise no event"
        return None

    # The checks, all under the lock.

    def _check_root(self) -> None:
        verdict = self._guard.check()
        if verdict == "lost":
            _log.warning("vault lost", extra={"error": self._guard.error})
            self._disarm()
            self._mailbox.alarm("vault_lost")
        elif verdict == "back":
            _log.info("vault back", extra={"vault": str(self._root)})
            self._rearm("vault_back")
        elif verdict in ("emptied", "filled"):
            self._mailbox.alarm(f"vault_{verdict}")

    def _check_observer(self, now: float) -> None:
        observer = self._observer
        if observer is not None and not observer.working():
            return self._rearm("watcher_died")
        if observer is not None and self._canary.deaf(now):
            return self._rearm("watcher_deaf")
        self._count_watches()
        if now >= self._retry_at:
            self._retry_at = now + RETRY_S
            self._blind = blind_file_system(self._root)
            if observer is None or self._trouble():
                self._rearm("watcher_retry")
        return None

    def _count_watches(self) -> None:
        """Fewer watches than folders twice in a row: some folder is unwatched (once may be a folder just deleted)."""
        if self._observer is None:
            return
        wanted = self._folders + (self._canary.folder is not None)
        self._short = self._short + 1 if self._observer.watches() < wanted else 0
        if self._short == 2:
            _log.warning("too few inotify watches", extra={"folders": self._folders})
            self._mailbox.alarm("watches")

    def _rules_stamp(self) -> tuple[int, int] | None:
        try:
            st = (self._root / ".obsidian" / "app.json").stat()
        except OSError:
            return None
        return st.st_mtime_ns, st.st_size

    # Arming, under the lock.

    def _arm(self) -> None:
        self._arm_error, self._limited, self._short = None, False, 0
        self._armed_at = time.monotonic()
        self._blind = blind_file_system(self._root)
        root = os.path.realpath(self._root)
        try:
            observer = VaultObserver(root, self._wanted, self._alarm)
            take = partial(self._take, root.rstrip("/") + "/")
            observer.schedule(Handler(take, self._mailbox.alarm), root, recursive=True, event_filter=EVENTS)
            if self._canary.prepare():
                hear = Handler(lambda _event: self._mailbox.alarm("canary"), self._mailbox.alarm)
                observer.schedule(hear, str(self._canary.folder), event_filter=[FileClosedEvent])
            observer.start()
        except OSError as error:
            self._arm_error = f"inotify: {error.strerror}"
            _log.warning("inotify refused", extra={"error": self._arm_error})
            return
        self._observer = observer

    def _alarm(self, reason: str) -> None:
        """Called by any thread of the observer, and while arming by ours."""
        self._limited = self._limited or reason == "limit"
        self._mailbox.alarm(reason)

    def _disarm(self) -> None:
        observer, self._observer = self._observer, None
        if observer is not None:
            observer.stop()
            observer.join(timeout=10)

    def _rearm(self, reason: str) -> None:
        """A new observer, then a doubt: what happened in between is for a scan to find."""
        self._disarm()
        self._arm()
        self._restarts += 1
        _log.info("watcher armed again", extra={"reason": reason, "error": self._arm_error})
        self._mailbox.alarm(reason)

    def _wanted(self, folder: bytes) -> bool:
        return self._classifier.kind(vault_name(os.fsdecode(folder)), True) is not None

    # In watchdog's dispatcher thread.

    def _take(self, top: str, event: FileSystemEvent) -> None:
        """Mark what `event` is about. Nothing is believed yet: the kinds only say how long to wait before looking."""
        src, dest = self._ours(top, event.src_path, event.is_directory), None
        if event.dest_path:
            dest = self._ours(top, event.dest_path, event.is_directory)
        self._last_event = time.time()
        if isinstance(event, DirDeletedEvent) and os.fsdecode(event.src_path) + "/" == top:
            self._mailbox.alarm("root")
        elif isinstance(event, DirCreatedEvent | DirMovedEvent | DirDeletedEvent):
            if src is not None or dest is not None:
                self._count("folder")
                self._mailbox.alarm("folder" if isinstance(event, DirDeletedEvent) else "new folder")
        elif isinstance(event, FileMovedEvent):
            # An editor that moves a note to its backup name has not moved the note: that is a deletion until we look.
            self._mark("moved", dest)
            self._mark("moved" if dest is not None else "deleted", src)
        elif type(event) in FILE_KINDS:
            self._mark(FILE_KINDS[type(event)], src)

    def _ours(self, top: str, raw: bytes | str, is_dir: bool) -> str | None:
        """The vault path of an event's path; None if it is no part of the vault."""
        disk = os.fsdecode(raw)
        if not disk.startswith(top):
            return None
        path = vault_name(disk[len(top) :])
        return path if self._classifier.kind(path, is_dir) is not None else None

    def _mark(self, kind: str, path: str | None) -> None:
        if path is not None:
            self._count(kind)
            self._mailbox.put(kind, path)

    def _count(self, kind: str) -> None:
        self._events[kind] = self._events.get(kind, 0) + 1

    # In our own thread.

    def _consume(self) -> None:
        while True:
            timeout = min(self._plans.values()) - time.monotonic() if self._plans else None
            batch = self._mailbox.take(timeout if timeout is None else max(timeout, 0.0))
            if batch.closed:
                return
            try:
                self._handle(batch)
            except Exception:  # noqa: BLE001  the thread's top: a failing callback must not make the vault deaf
                _log.exception("watcher callback failed")

    def _handle(self, batch: Batch) -> None:
        for path, kind in batch.hints.items():
            self._on_dirty(kind, path)
        doubts = [reason for alarm in batch.alarms if (reason := self._signal(alarm)) is not None]
        now = time.monotonic()
        for plan in [plan for plan, at in self._plans.items() if at <= now]:
            del self._plans[plan]
            if plan == "rearm":
                with self._lock:
                    self._rearm("watcher_broken")
            else:
                doubts.append("folder")
        for reason in dict.fromkeys(doubts):
            self._on_doubt(reason)

    def _signal(self, alarm: str) -> str | None:
        """Act on an alarm; what has no action of its own is a reason for doubt."""
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
                self._plans.setdefault("rearm", max(now, self._armed_at + REARM_PAUSE_S))
            case "root":
                with self._lock:
                    self._check_root()
            case "limit":
                return "watches"
            case "overflow":
                self._overflows += 1
                return alarm
            case _:
                return alarm
        return None
