"""watchdog's inotify observer, made to speak up: what it keeps silent about arrives here as an alarm.

watchdog 7.1 loses track in silence in several ways (``docs/watching.md`` lists them with the tests that show each).
This module subclasses its public parts, changes nothing in them, and turns each way into a call of ``alarm(reason)``:

``broken``    a thread of it met an exception; the reader goes on reading where it can
``overflow``  the kernel's queue ran over, events are lost
``limit``     no watch could be set on a folder: the user's limit is reached
``warning``   it logged a warning of its own
``handler``   our own handler raised
"""

from __future__ import annotations

import errno
import logging
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers.api import BaseObserver
from watchdog.observers.inotify import InotifyEmitter
from watchdog.observers.inotify_c import CallbackId, InotifyEvent, InotifyFD, Mask, WatchCallback, WatchDescriptor
from watchdog.observers.inotify_move_event_grouper import InotifyMoveEventGrouper

Alarm = Callable[[str], None]
EVENTS: list[type[FileSystemEvent]] = [
    FileCreatedEvent,
    FileMovedEvent,
    FileDeletedEvent,
    FileClosedEvent,
    DirCreatedEvent,
    DirMovedEvent,
    DirDeletedEvent,
]
"""No opened, no modified, no closed-unwritten: our own reading makes no event, a long write makes one at its end."""
MOVE_PAIRING_S = 0.05
"""How long watchdog holds back one half of a rename, and all that came after it, for the other half. Its own half
second would be felt at each save by rename, whenever the two halves are read apart."""
_LOGGER = logging.getLogger("watchdog.observers")
_NOWHERE = logging.NullHandler()
_log = logging.getLogger(__name__)


class _Reader(InotifyFD):
    """The thread that reads from the kernel. It survives watchdog's book-keeping errors and skips folders not ours."""

    def __init__(self, root: bytes, wanted: Callable[[bytes], bool], alarm: Alarm) -> None:
        self._root = root.rstrip(b"/") + b"/"
        self._wanted = wanted
        self._alarm = alarm
        super().__init__()

    def run(self) -> None:
        _guarded(super().run, self._alarm)

    def handle_event(self, event: InotifyEvent) -> None:
        if event.is_queue_overflow:
            self._alarm("overflow")
        # watchdog's maps of folder churn go wrong at times (KeyError). Reading on loses less than dying here, and the
        # alarm brings a new observer and a scan.
        _guarded(lambda: super(_Reader, self).handle_event(event), self._alarm)

    def add_callback(self, path: bytes, mask: Mask, callback: WatchCallback, id_: CallbackId) -> WatchDescriptor:
        """Watch `path`. An OSError is what watchdog expects for a folder that cannot be watched, and skips it."""
        if path.startswith(self._root) and not self._wanted(path[len(self._root) :]):
            raise OSError(errno.ENOENT, "no part of the vault")
        if not os.access(path, os.R_OK):
            raise OSError(errno.EACCES, "not readable")  # watchdog would take the failure for descriptor -1
        try:
            return super().add_callback(path, mask, callback, id_)
        except OSError as error:
            if error.errno == errno.ENOSPC:
                self._alarm("limit")
            raise

    def watches(self) -> int:
        """How many watches the kernel really holds for us."""
        try:
            info = Path(f"/proc/self/fdinfo/{self._inotify_fd}").read_text(encoding="ascii")
        except OSError:
            return 0
        return info.count("inotify wd:")


class _Emitter(InotifyEmitter):
    """The thread that makes events of what was read, one for each scheduled folder."""

    def __init__(self, *args: Any, alarm: Alarm, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._alarm = alarm

    def run(self) -> None:
        _guarded(super().run, self._alarm)

    def on_thread_stop(self) -> None:
        # The broken maps that are the reason to stop it may break the stopping too, half-way: before the queue is
        # closed on which the thread waits.
        group = self._inotify
        _guarded(super().on_thread_stop, self._alarm)
        if group is not None:
            group._move_event_grouper.close()


class VaultObserver(BaseObserver):
    """One arming of inotify: a reader, emitters and a dispatcher. Stopped once, it is not started again."""

    def __init__(self, root: str, wanted: Callable[[bytes], bool], alarm: Alarm) -> None:
        """`wanted(relative path)` says which folders below `root` to watch. OSError: no inotify instance left."""
        # Raised in ordinary moves, each with the whole table of paths in it.
        warnings.filterwarnings("ignore", message="Callback with id '", category=RuntimeWarning)
        InotifyMoveEventGrouper.delay = MOVE_PAIRING_S
        self._alarm = alarm
        self._log_ears = _Ears(alarm)
        # Its messages are of use to nobody but us: tables of paths, complaints about being stopped.
        _LOGGER.addHandler(_NOWHERE)
        _LOGGER.propagate = False
        self._reader = _Reader(os.fsencode(root), wanted, alarm)
        super().__init__(_Emitter, inotify_fd=self._reader, alarm=alarm)

    def on_thread_start(self) -> None:
        """Start reading, then set the watches. Raises OSError if the root cannot be watched."""
        _LOGGER.addHandler(self._log_ears)
        self._reader.start()
        try:
            super().on_thread_start()
        except OSError:
            _LOGGER.removeHandler(self._log_ears)
            self._close_reader()
            raise

    def on_thread_stop(self) -> None:
        """Give all watches back and end the threads."""
        _LOGGER.removeHandler(self._log_ears)
        super().on_thread_stop()
        self._close_reader()

    def run(self) -> None:
        """Dispatch until stopped."""
        _guarded(super().run, self._alarm)

    def working(self) -> bool:
        """Whether all threads of it are alive. A live thread may be deaf all the same: see the canary."""
        return self.is_alive() and self._reader.is_alive() and all(emitter.is_alive() for emitter in self.emitters)

    def watches(self) -> int:
        """How many folders are watched, the canary's included."""
        return self._reader.watches()

    def _close_reader(self) -> None:
        _guarded(self._reader.stop, self._alarm)
        if self._reader.is_alive():
            self._reader.join(timeout=5)


class Handler(FileSystemEventHandler):
    """Passes events on, and does nothing else: a slow or raising handler stops all."""

    def __init__(self, take: Callable[[FileSystemEvent], None], alarm: Alarm) -> None:
        self._take = take
        self._alarm = alarm

    def dispatch(self, event: FileSystemEvent) -> None:
        """Called by watchdog's dispatcher thread."""
        _guarded(lambda: self._take(event), lambda _reason: self._alarm("handler"))


class _Ears(logging.Handler):
    """Hears watchdog's own warnings: an overflow it handled, a watch it could not set."""

    def __init__(self, alarm: Alarm) -> None:
        super().__init__(logging.WARNING)
        self._alarm = alarm

    def emit(self, record: logging.LogRecord) -> None:
        _log.warning("watchdog warns", extra={"warning": record.getMessage()[:200]})
        self._alarm("warning")


def _guarded(step: Callable[[], None], alarm: Alarm) -> None:
    try:
        step()
    except Exception as error:  # noqa: BLE001  the top of a thread of watchdog's: it would die unseen
        _log.warning("watchdog failed", extra={"error": repr(error)})
        alarm("broken")
