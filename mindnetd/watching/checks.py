"""What the watcher asks itself every few seconds: is the root still the root, and would an event still arrive?"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from mindnetd.watching.vaultio import RootId, root_identity, root_is_empty

RootVerdict = Literal["same", "lost", "still lost", "back", "emptied", "filled"]
CANARY_PATIENCE_S = 10.0
"""How long the canary's own event may take before the watcher counts as deaf."""


class RootGuard:
    """Remembers which folder the vault is. A folder that is gone, or that became another one and is empty, is lost."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.id: RootId | None = None
        """Device and inode of the vault's folder; None while it is lost."""
        self.error: str | None = None
        """Why the vault cannot be used; None while it can."""
        self.empty = False
        """Whether it had no entry at all at the last check: where notes were, that is a vault missing, not deleted."""
        self._last: RootId | None = None

    def check(self) -> RootVerdict:
        """Look now. ``back``: there is a usable root and it is not the one that was watched until now.

        ``emptied`` and ``filled``: the same root has lost its last entry, or has something in it again.
        """
        was_lost = self.error is not None
        try:
            found = root_identity(self._root)
            empty = root_is_empty(self._root)
        except OSError as error:
            return self._lose(f"vault {self._root}: {error.strerror}")
        if empty and self._last is not None and (found != self._last or was_lost):
            return self._lose(f"vault {self._root}: empty, and not the folder it was (unmounted?)")
        same, was_empty = found == self.id, self.empty
        self.id = self._last = found
        self.error, self.empty = None, empty
        if not same:
            return "back"
        return "same" if empty == was_empty else "emptied" if empty else "filled"

    def _lose(self, error: str) -> RootVerdict:
        before, self.error, self.id = self.error, error, None
        return "lost" if before is None else "still lost"


class Canary:
    """A file in a folder of ours on the same observer, touched now and then: its event proves the whole chain."""

    def __init__(self, folder: Path | None, period_s: float) -> None:
        self.folder = folder
        self._period = period_s
        self._sent: float | None = None
        self._heard = True
        self._last: float | None = None

    def prepare(self) -> bool:
        """Make the folder for a new observer and forget what is under way; False if there is none to be had."""
        self._heard, self._sent = True, None
        if self.folder is None:
            return False
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            return False
        return True

    def heard(self) -> None:
        """The event has come."""
        self._heard = True

    def deaf(self, now: float) -> bool:
        """Send one if it is time. True if the last one was never heard."""
        if not self._heard and self._sent is not None:
            return now - self._sent >= CANARY_PATIENCE_S
        if self.folder is not None and (self._last is None or now - self._last >= self._period):
            self._heard, self._sent, self._last = False, now, now
            try:
                (self.folder / "canary").write_bytes(b"")
            except OSError:
                self._heard = True  # a full or read-only disk says nothing about inotify
        return False
