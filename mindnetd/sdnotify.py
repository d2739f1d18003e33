"""Telling systemd how the daemon is: READY, STATUS, RELOADING, STOPPING, WATCHDOG. Silent where nobody listens.

Uses systemd-python where it is installed (extra ``systemd``), else the same datagram by hand. A dead notify socket
never harms the daemon: `Notifier.send` says False and that is all.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass

try:
    from systemd import daemon as _systemd  # type: ignore[import-not-found,unused-ignore]
except ImportError:  # no headers when it was installed, or no systemd at all
    _systemd = None


@dataclass(frozen=True)
class Notifier:
    """The line to the service manager. ``address`` None: there is none, every call does nothing and says False."""

    address: str | None = None
    watchdog_s: float | None = None
    """Seconds within which a ping must come, or None. Ping about three times as often."""

    @classmethod
    def from_env(cls, env: Mapping[str, str], pid: int | None = None) -> Notifier:
        """Read NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID."""
        usec = env.get("WATCHDOG_USEC", "")
        for_us = env.get("WATCHDOG_PID", "") in ("", str(pid if pid is not None else os.getpid()))
        watchdog = int(usec) / 1e6 if usec.isdecimal() and int(usec) > 0 and for_us else None
        return cls(env.get("NOTIFY_SOCKET") or None, watchdog)

    def send(self, *lines: str) -> bool:
        """Send assignments such as ``READY=1`` in one message; True if the manager got it."""
        if self.address is None:
            return False
        message = "\n".join(line.replace("\n", " ") for line in lines)
        try:
            if _systemd is not None and self.address == os.environ.get("NOTIFY_SOCKET"):
                return bool(_systemd.notify(message))
            return _datagram(self.address, message)
        except OSError:
            return False

    def ready(self, status: str = "") -> bool:
        """The socket listens and the database is open."""
        return self.send("READY=1", f"STATUS={status}")

    def status(self, text: str) -> bool:
        """One line for ``systemctl status``."""
        return self.send(f"STATUS={text}")

    def reloading(self) -> bool:
        """A reload begins; `ready` ends it. The clock value is what Type=notify-reload asks for."""
        return self.send("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def stopping(self, status: str = "stopping") -> bool:
        """The daemon drains and will exit."""
        return self.send("STOPPING=1", f"STATUS={status}")

    def watchdog(self) -> bool:
        """Writer and loop are alive: send only after both made progress."""
        return self.send("WATCHDOG=1")

    def extend_timeout(self, seconds: float) -> bool:
        """Starting or stopping takes up to this much longer."""
        return self.send(f"EXTEND_TIMEOUT_USEC={int(seconds * 1e6)}")


def _datagram(address: str, message: str) -> bool:
    # a leading @ stands for the NUL of an abstract socket
    target = "\0" + address[1:] if address.startswith("@") else address
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sock:
        sock.setblocking(False)
        sock.sendto(message.encode(), target)
    return True
