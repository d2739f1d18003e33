"""Looking at and reading one file of the vault: never past its border, never half a save, never for writing.

Paths of the program are *vault paths*: relative, ``/``-separated, spelled as on disk, undecodable bytes as ``\\xNN``.
Every road into the vault opens the root first and then one folder after the other without following a link, so that a
link put in place between a check and its use leads nowhere (``O_NOFOLLOW`` at each step, as ``openat2`` would do).
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import signal
import stat as stat_bits
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from mindnetd.core.records import FileStat

ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG})
"""Errors that mean: no such file. Any other error means: cannot tell, and what cannot be told is never a deletion."""
READ_TRIES = 3
_READ_SIZE = 1 << 20
_MOST = (1 << 63) - 1
_SURROGATES = re.compile("[\udc80-\udcff]")
_ESCAPES = re.compile(r"\\x([89a-f][0-9a-f])")
RootId = tuple[int, int]
"""``(st_dev, st_ino)`` of the vault's folder: another pair means another folder, or a mount that came or went."""
NOWHERE: RootId = (-1, -1)
"""The identity of no folder at all."""


@dataclass(frozen=True, slots=True)
class ReadOutcome:
    """The bytes of a file and the stat that held before and after reading them."""

    raw: bytes
    stat: FileStat


@dataclass(frozen=True, slots=True)
class Gone:
    """There is no such regular file inside the vault."""


@dataclass(frozen=True, slots=True)
class Unstable:
    """The file changed while it was read, each time: look again later."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The file may be there but cannot be read: keep what is known of it.

    ``code``: ``denied``, ``io``, ``too_large``, ``vault`` (the root is lost).
    """

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Look:
    """One look at a path. ``stat`` None: absent, unless ``error`` says that nothing can be told.

    ``open_for_write`` None: whether there is a writer cannot be told.
    """

    stat: FileStat | None = None
    open_for_write: bool | None = None
    error: str | None = None


class _VaultLostError(Exception):
    """The root is not there, not readable, or not the folder it was."""


def vault_name(name: str) -> str:
    """A name as ``os`` gives it, in the spelling of a vault path: undecodable bytes become ``\\xNN``."""
    if name.isascii() or not _SURROGATES.search(name):
        return name
    return _SURROGATES.sub(lambda match: f"\\x{ord(match[0]) - 0xDC00:02x}", name)


def disk_name(name: str) -> str:
    """The other way round: the spelling that ``os`` takes for a name whose ``\\xNN`` stand for bytes."""
    return _ESCAPES.sub(lambda match: chr(0xDC00 + int(match[1], 16)), name)


def file_stat(st: os.stat_result) -> FileStat:
    """What we keep of a stat: size, mtime, ctime, inode, each cut to what a column of 64 bits holds.

    A file may say that it is of the year 2446, or 1600: its stamp is then the last, or the first, that can be kept.
    """
    found = (st.st_size, st.st_mtime_ns, st.st_ctime_ns, st.st_ino)
    return FileStat(*(max(-_MOST, min(_MOST, number)) for number in found))


def link_end(top: str, link: str) -> str | None:
    """Where the link at disk path `link` ends, relative to the resolved root `top`.

    None outside the vault, which includes its dot folders: what was moved to the trash does not come back by a link.
    """
    top = top.rstrip("/") + "/"
    end = os.path.realpath(link)
    if not end.startswith(top) or "/." in end[len(top) - 1 :]:
        return None
    return end[len(top) :]


def root_identity(root: Path) -> RootId:
    """Who the vault's folder is now (a link at the root itself is followed). Raises OSError."""
    st = root.stat()
    return st.st_dev, st.st_ino


def root_is_empty(root: Path) -> bool:
    """Whether the vault's folder has no entry at all, dot files included. Raises OSError."""
    with os.scandir(root) as entries:
        return next(entries, None) is None


def look(root: Path, path: str, *, root_id: RootId | None = None) -> Look:
    """Look at vault path `path`: its stat, and whether anyone has it open for writing.

    With `root_id` a root that is another folder now (unmounted, replaced) is an ``error``, never an absence.
    """
    try:
        with _opened(root, path, root_id) as fd:
            st = os.fstat(fd)
            if not stat_bits.S_ISREG(st.st_mode):
                return Look()
            return Look(file_stat(st), _held_for_writing(fd))
    except _VaultLostError as lost:
        return Look(error=str(lost))
    except OSError as error:
        if error.errno in ABSENT:
            return Look()
        return Look(error=f"{path}: {error.strerror}")


def open_for_writing(path: Path) -> bool | None:
    """Whether any process has the file at `path` open for writing; None where that cannot be told.

    A read lease is asked for and given back at once: the kernel refuses it while a writer exists. It is refused for
    other reasons too (not our file, a file system without leases), and then nothing is known.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return _held_for_writing(fd)
    finally:
        os.close(fd)


def read_stable(
    root: Path, path: str, *, max_bytes: int, root_id: RootId | None = None
) -> ReadOutcome | Gone | Unstable | Unreadable:
    """Read vault path `path` whole, at most `max_bytes`, and only if it did not change meanwhile (three tries).

    A file that cannot be reached for any other reason than absence is ``Unreadable``, so that an unreadable folder
    or a lost mount is never taken for a deletion.
    """
    try:
        for _ in range(READ_TRIES):
            with _opened(root, path, root_id) as fd:
                before = os.fstat(fd)
                if not stat_bits.S_ISREG(before.st_mode):
                    return Gone()
                if before.st_size > max_bytes:
                    return Unreadable("too_large", f"{path}: {before.st_size} bytes, over the limit of {max_bytes}")
                raw = _read_all(fd, max_bytes)
                after = file_stat(os.fstat(fd))
            if file_stat(before) == after and len(raw) == after.size and _still_there(root, path, root_id, after):
                return ReadOutcome(raw, after)
    except _VaultLostError as lost:
        return Unreadable("vault", str(lost))
    except OSError as error:
        if error.errno in ABSENT:
            return Gone()
        code = "denied" if error.errno in (errno.EACCES, errno.EPERM) else "io"
        return Unreadable(code, f"{path}: {error.strerror}")
    return Unstable()


def _still_there(root: Path, path: str, root_id: RootId | None, stat: FileStat) -> bool:
    """Whether `path` still leads to the file just read: an editor may have put a newer one in its place."""
    with _opened(root, path, root_id) as fd:
        return file_stat(os.fstat(fd)) == stat


def _read_all(fd: int, max_bytes: int) -> bytes:
    parts: list[bytes] = []
    total = 0
    while total <= max_bytes:
        part = os.read(fd, _READ_SIZE)
        if not part:
            break
        parts.append(part)
        total += len(part)
    return b"".join(parts)


def _held_for_writing(fd: int) -> bool | None:
    try:
        # Should a writer come in this very moment, the kernel tells the lease's owner by a signal. The default one,
        # SIGIO, ends a process; SIGURG is ignored unless somebody asks for it.
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        return True if error.errno == errno.EAGAIN else None
    with suppress(OSError):
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return False


@contextmanager
def _opened(root: Path, path: str, root_id: RootId | None) -> Iterator[int]:
    """A descriptor for reading vault path `path`. A link as last step is followed if its end is inside the vault."""
    root_fd = _open_root(root, root_id)
    try:
        try:
            fd = _open_below(root_fd, path)
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            fd = _open_below(root_fd, _end_of(root, path))
    finally:
        os.close(root_fd)
    try:
        yield fd
    finally:
        os.close(fd)


def _open_root(root: Path, root_id: RootId | None) -> int:
    try:
        fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise _VaultLostError(f"vault {root}: {error.strerror}") from error
    st = os.fstat(fd)
    if root_id is not None and (st.st_dev, st.st_ino) != root_id:
        os.close(fd)
        raise _VaultLostError(f"vault {root}: not the folder it was (replaced, mounted or unmounted)")
    return fd


def _is_a_name(path: str) -> bool:
    """Whether the system could have a file so called: no NUL, no half of a character (which only requests bring)."""
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False


def _open_below(root_fd: int, path: str) -> int:
    *folders, name = path.split("/")
    if any(part in ("", ".", "..") for part in (*folders, name)) or not _is_a_name(path):
        raise FileNotFoundError(errno.ENOENT, "not a vault path", path)
    at = root_fd
    try:
        for folder in folders:
            below = _open_step(at, folder, os.O_PATH | os.O_DIRECTORY)
            if at != root_fd:
                os.close(at)
            at = below
        return _open_step(at, name, os.O_RDONLY | os.O_NONBLOCK)
    finally:
        if at != root_fd:
            os.close(at)


def _open_step(at: int, name: str, flags: int) -> int:
    flags |= os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(name, flags, dir_fd=at)
    except FileNotFoundError:
        if "\\x" not in name:
            raise
        return os.open(disk_name(name), flags, dir_fd=at)


def _end_of(root: Path, path: str) -> str:
    top = os.path.realpath(root)
    literal = f"{top}/{path}"
    end = link_end(top, literal if os.path.lexists(literal) else f"{top}/{disk_name(path)}")
    if end is None:
        raise FileNotFoundError(errno.ENOENT, "the link leaves the vault", path)
    return end
