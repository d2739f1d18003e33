"""Arming inotify: one observer after the other over the same root, and what can be told about the present one."""

from __future__ import annotations

import logging
import os
import time
from functools import partial
from pathlib import Path

from watchdog.events import FileClosedEvent

from mindnetd.watching.checks import Canary
from mindnetd.watching.handling import EventTaker
from mindnetd.watching.mailbox import Mailbox
from mindnetd.watching.observe import EVENTS, Handler, VaultObserver

_log = logging.getLogger(__name__)


class Arming:
    """The observer at work, if there is one. Not thread-safe: the watcher calls it under its lock."""

    def __init__(self, root: Path, taker: EventTaker, mailbox: Mailbox, canary: Canary) -> None:
        self._root = root
        self._taker = taker
        self._mailbox = mailbox
        self._canary = canary
        self.observer: VaultObserver | None = None
        self.error: str | None = None
        """Why there is no observer although there should be one."""
        self.armed_at = 0.0
        self.restarts = 0
        self._limited = False
        self._short = 0

    @property
    def trouble(self) -> str | None:
        """Why inotify does not see all of the vault; None if it does as far as can be told."""
        short = self._limited or self._short > 1
        return self.error or ("too few inotify watches for all folders" if short else None)

    @property
    def broken(self) -> bool:
        """Whether there is neither a working observer nor a known reason why there is none."""
        return not self.observer.working() if self.observer else self.error is None

    @property
    def watches(self) -> int:
        """How many folders are watched, the canary's included."""
        return self.observer.watches() if self.observer else 0

    def arm(self) -> None:
        """Start an observer; where the system refuses, ``error`` says why."""
        self.error, self._limited, self._short = None, False, 0
        self.armed_at = time.monotonic()
        root = os.path.realpath(self._root)
        try:
            observer = VaultObserver(root, self._taker.wanted, self._alarm)
            if self._canary.prepare():  # first, as there may be no watch left after the vault's folders
                hear = Handler(lambda _event: self._mailbox.alarm("canary"), self._mailbox.alarm)
                observer.schedule(hear, str(self._canary.folder), event_filter=[FileClosedEvent])
            observer.start()
            self.observer = observer
            take = partial(self._taker.take, root.rstrip("/") + "/")
            observer.schedule(Handler(take, self._mailbox.alarm), root, recursive=True, event_filter=EVENTS)
        except OSError as error:
            self.disarm()
            self.error = f"inotify: {error.strerror}"
            _log.warning("inotify refused", extra={"error": self.error})

    def disarm(self) -> None:
        """Stop the observer, if there is one."""
        observer, self.observer = self.observer, None
        if observer is not None:
            observer.stop()
            observer.join(timeout=10)

    def rearm(self, reason: str) -> None:
        """A new observer, then a doubt: what happened in between is for a scan to find."""
        self.disarm()
        self.arm()
        self.restarts += 1
        _log.info("watcher armed again", extra={"reason": reason, "error": self.error})
        self._mailbox.alarm(reason)

    def compare(self, folders: int) -> None:
        """Fewer watches than folders twice in a row: some folder is unwatched (once may be a folder just deleted)."""
        if self.observer is None:
            return
        wanted = folders + (self._canary.folder is not None)
        self._short = self._short + 1 if self.watches < wanted else 0
        if self._short == 2:
            _log.warning("too few inotify watches", extra={"folders": folders})
            self._mailbox.alarm("watches")

    def _alarm(self, reason: str) -> None:
        """Called by any thread of the observer, and while arming by ours."""
        self._limited = self._limited or reason == "limit"
        self._mailbox.alarm("watches" if reason == "limit" else reason)
