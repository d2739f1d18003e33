"""From watchdog's events to hints about vault paths. All of it runs in watchdog's dispatcher thread and is quick."""

from __future__ import annotations

import os
import time

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

from mindnetd.watching.mailbox import Mailbox
from mindnetd.watching.scan import Classifier
from mindnetd.watching.vaultio import vault_name

FILE_KINDS: dict[type[FileSystemEvent], str] = {
    FileCreatedEvent: "created",
    FileClosedEvent: "closed",
    FileDeletedEvent: "deleted",
}


class EventTaker:
    """Puts hints and alarms into the mailbox. Nothing is believed here: kinds only say how long to wait before looking.

    ``classifier`` may be exchanged at any time. ``counts`` are events by kind, ``last_event`` is Unix time.
    """

    def __init__(self, classifier: Classifier, mailbox: Mailbox) -> None:
        self.classifier = classifier
        self.counts: dict[str, int] = {}
        self.last_event: float | None = None
        self._mailbox = mailbox

    def wanted(self, folder: bytes) -> bool:
        """Whether a folder, given relative to the root, is to be watched."""
        return self.classifier.kind(vault_name(os.fsdecode(folder)), True) is not None

    def take(self, top: str, event: FileSystemEvent) -> None:
        """Mark what `event` is about; `top` is the root's path with its final slash."""
        self.last_event = time.time()
        src = self._ours(top, event.src_path, event.is_directory)
        dest = self._ours(top, event.dest_path, event.is_directory) if event.dest_path else None
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
        return path if self.classifier.kind(path, is_dir) is not None else None

    def _mark(self, kind: str, path: str | None) -> None:
        if path is not None:
            self._count(kind)
            self._mailbox.put(kind, path)

    def _count(self, kind: str) -> None:
        self.counts[kind] = self.counts.get(kind, 0) + 1
