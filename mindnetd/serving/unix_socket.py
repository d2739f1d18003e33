"""The socket file: who may have it, and who may connect.

A private folder (0700), a file of mode 0600, and peers of another uid turned away. A lock beside the socket makes
"probe, unlink, bind" one step, so that two daemons that start at once cannot unlink each other's socket.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import stat
import struct
from pathlib import Path
from typing import Any

from mindnetd.errors import ConfigError, Conflict

MAX_PATH_BYTES = 107
BACKLOG = 512
PROBE_S = 1.0
PEER = struct.Struct("3i")  # struct ucred: pid, uid, gid


class PrivateSocket(socket.socket):
    """A listening Unix socket that accepts only peers of ``uid``."""

    uid: int

    def accept(self) -> tuple[socket.socket, Any]:
        """As ``socket.accept``; a peer of another uid gets its connection closed and is never seen by the server."""
        connection, address = super().accept()
        _, uid, _ = PEER.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, PEER.size))
        if uid != self.uid:
            connection.close()
            raise ConnectionAbortedError(errno.ECONNABORTED, "peer of another uid")  # the loop goes on listening
        return connection, address


class BoundSocket:
    """A listening socket; ``close`` removes its file if it is still ours."""

    def __init__(self, sock: PrivateSocket, path: Path | None, lock: int | None) -> None:
        self.sock = sock
        self.path = path
        self._lock = lock
        self._identity = _identity(path) if path else None

    def close(self) -> None:
        """Stop listening, unlink the file that we bound (never one that replaced it), release the lock."""
        self.sock.close()
        if self.path is not None and self._identity is not None and _identity(self.path) == self._identity:
            self.path.unlink(missing_ok=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def bind_socket(path: Path) -> BoundSocket:
    """Listen on ``path``; a dead socket file there is replaced.

    Raises ConfigError when the path cannot be a socket, Conflict (``busy``) when another daemon has it.
    """
    if len(os.fsencode(path)) > MAX_PATH_BYTES:
        raise ConfigError(f"socket path too long (at most {MAX_PATH_BYTES} bytes), set a shorter `socket`: {path}")
    try:
        _private_folder(path.parent)
        lock = _lock(path)
    except OSError as error:
        raise ConfigError(f"cannot use the socket's folder {path.parent}: {error.strerror}; set `socket`") from error
    try:
        _clear(path)
        return BoundSocket(_listen(path), path, lock)
    except OSError as error:
        os.close(lock)
        raise ConfigError(f"cannot listen on {path}: {error.strerror}; set `socket`") from error
    except BaseException:
        os.close(lock)
        raise


def adopt_socket(fd: int) -> BoundSocket:
    """Use a listening socket that systemd has opened; its file is systemd's to remove."""
    return BoundSocket(_ready(PrivateSocket(fileno=fd)), None, None)


def _listen(path: Path) -> PrivateSocket:
    sock = PrivateSocket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        sock.bind(os.fspath(path))
    except BaseException:
        sock.close()
        raise
    finally:
        os.umask(before)
    sock.listen(BACKLOG)
    return _ready(sock)


def _ready(sock: PrivateSocket) -> PrivateSocket:
    sock.uid = os.geteuid()
    sock.setblocking(False)
    return sock


def _private_folder(folder: Path) -> None:
    """Make the folder 0700. One that exists keeps its mode unless it bears our name: it may be anybody's."""
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.stat()
    if folder.name == "mindnetd" and found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) & 0o077:
        folder.chmod(0o700)


def _lock(path: Path) -> int:
    fd = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        raise Conflict(f"another mindnetd is using {path}; stop it first or set another `socket`") from None
    return fd


def _clear(path: Path) -> None:
    """Remove a socket file that nobody listens on; refuse anything else."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise ConfigError(f"{path} is not a socket; move it away or set another `socket`")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(PROBE_S)
        try:
            probe.connect(os.fspath(path))
        except ConnectionRefusedError:
            path.unlink()
            return
        except FileNotFoundError:
            return
        except OSError:
            pass  # a full queue or a slow peer: somebody is there
    raise Conflict(f"another mindnetd answers on {path}; stop it first or set another `socket`")


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
