"""The lock file beside the database: one process at a time, and a message that names the other one."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from mindnetd.errors import StoreError


class FileLock:
    """An advisory lock on ``path``, held until ``release`` or the end of the process, however it ends.

    The file stays: removing it would let two processes lock two files of one name.
    """

    def __init__(self, path: Path) -> None:
        """Take the lock. Raises StoreError ``locked`` with the holder's process id, or ``read_only``."""
        self.path = path
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise StoreError(f"{path}: the folder cannot be written ({error.strerror})", code="read_only") from error
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(self._fd, 32).decode("ascii", "replace").strip() or "unknown"
            os.close(self._fd)
            raise StoreError(
                f"{path.with_suffix('')}: in use by process {holder}: stop it first, or name another --db",
                code="locked",
                detail={"pid": holder},
            ) from error
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, f"{os.getpid()}\n".encode(), 0)

    @property
    def held(self) -> bool:
        """Whether the lock is still ours."""
        return self._fd >= 0

    def release(self) -> None:
        """Give the lock back; a second call does nothing."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
