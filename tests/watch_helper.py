"""A vault with the smallest writer there can be: it keeps what the daemon would have indexed, version by version."""

from __future__ import annotations

import queue
import threading
import time
from pathlib import Path

from mindnetd.core.records import FileKind, VaultFile
from mindnetd.core.settle import SettleOptions, Settler
from mindnetd.errors import VaultError
from mindnetd.watch import Watcher, WatchOptions
from mindnetd.watching.scan import diff, scan
from mindnetd.watching.vaultio import Gone, ReadOutcome, Unstable, look, read_stable, root_is_empty

LIMIT = 10_000_000


class SimpleRules:
    """Dot folders, editors' backups and temporary files are no part of the vault; ``.md`` is a note."""

    def kind(self, path: str, is_dir: bool = False) -> FileKind | None:
        if any(part.startswith(".") for part in path.split("/")):
            return None
        if not is_dir and (path.endswith(("~", ".tmp", ".swp")) or path.rsplit("/", 1)[-1] == "4913"):
            return None
        return "note" if path.endswith(".md") else "file"


class Follower:
    """Follows `root` inside a `with`. ``history`` is (path, text or None for a deletion) in the order of reading."""

    def __init__(self, root: Path, options: WatchOptions | None = None, settle: SettleOptions | None = None) -> None:
        self.root = root
        self.rules = SimpleRules()
        self.notes: dict[str, str] = {}
        self.history: list[tuple[str, str | None]] = []
        self.doubts: list[str] = []
        self.hints: list[tuple[str, str]] = []
        self.errors: list[str] = []
        self.vault_missing = False
        self._known: dict[str, VaultFile] = {}
        self._inbox: queue.SimpleQueue[tuple[str, str] | None] = queue.SimpleQueue()
        self._settler = Settler(settle or SettleOptions(settle_ms=40, max_wait_ms=1000, unstable_max_s=10))
        self.watcher = Watcher(root, self.rules, self._dirty, self.doubt, options)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Follower:
        self.watcher.start()
        self._thread.start()
        self.doubt("start")
        return self

    def __exit__(self, *_: object) -> None:
        self.watcher.stop()
        self._inbox.put(None)
        self._thread.join()

    def versions(self, path: str) -> list[str | None]:
        return [text for name, text in self.history if name == path]

    def _dirty(self, kind: str, path: str) -> None:
        self.hints.append((kind, path))
        self._inbox.put((kind, path))

    def doubt(self, reason: str) -> None:
        self.doubts.append(reason)
        self._inbox.put(("doubt", reason))

    def _run(self) -> None:
        while True:
            at = self._settler.next_due()
            try:
                message = self._inbox.get(timeout=None if at is None else max(at - time.monotonic(), 0))
            except queue.Empty:
                message = ("due", "")
            if message is None:
                return
            kind, path = message
            if kind == "doubt":
                self._scan()
            elif kind != "due":
                self._settler.mark(path, kind, time.monotonic())  # type: ignore[arg-type]
            for path in self._settler.due(time.monotonic()):
                self._look(path)

    def _scan(self) -> None:
        try:
            found = scan(self.root, self.rules)
        except VaultError as error:
            self.errors.append(error.message)
            return
        self.watcher.scanned(found)
        difference = diff(self._known, found)
        self.vault_missing = difference.vault_missing
        now = time.monotonic()
        for file in (*difference.added, *difference.changed):
            self._settler.mark(file.path, "scan", now, file.stat)
        for path in difference.removed:
            self._settler.mark(path, "scan", now)

    def _look(self, path: str) -> None:
        root_id = self.watcher.root_id
        seen = look(self.root, path, root_id=root_id)
        if seen.error:
            self._settler.drop(path)
            return
        if self._settler.look(path, seen.stat, seen.open_for_write, time.monotonic()) == "wait":
            return
        outcome = read_stable(self.root, path, max_bytes=LIMIT, root_id=root_id)
        if isinstance(outcome, ReadOutcome):
            kind = self.rules.kind(path)
            assert kind is not None
            self._known[path] = VaultFile(path, kind, outcome.stat)
            text = outcome.raw.decode()
            if self.notes.get(path) != text:
                self.notes[path] = text
                self.history.append((path, text))
        elif isinstance(outcome, Gone) and len(self._known) > 1 and root_is_empty(self.root):
            self.vault_missing = True  # all of them at once is no deletion; a scan decides when something is there
        elif isinstance(outcome, Gone):
            self._known.pop(path, None)
            if self.notes.pop(path, None) is not None:
                self.history.append((path, None))
        elif isinstance(outcome, Unstable):
            self._settler.mark(path, "scan", time.monotonic())
        else:
            self.errors.append(outcome.message)


def texts_on_disk(root: Path) -> dict[str, str]:
    """What a fresh reading of all of `root` gives."""
    return {path: (root / path).read_text() for path in scan(root, SimpleRules()).files}
