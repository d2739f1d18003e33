"""Notification of the service manager: what is sent, and that nothing it does can harm the daemon."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from mindnetd.sdnotify import Notifier


@pytest.fixture(params=["path", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[socket.socket, str]]:
    """A listening manager and its address as NOTIFY_SOCKET would give it."""
    name = str(tmp_path / "notify") if request.param == "path" else f"@mindnetd-test-{os.getpid()}-{tmp_path.name}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(name.replace("@", "\0", 1) if name[0] == "@" else name)
        sock.settimeout(5)
        yield sock, name


def test_messages(manager: tuple[socket.socket, str]) -> None:
    """Each call is one datagram of assignments; a line break in a status cannot smuggle in another one."""
    sock, address = manager
    notifier = Notifier.from_env({"NOTIFY_SOCKET": address})
    assert notifier.ready("12 notes")
    assert sock.recv(999) == b"READY=1\nSTATUS=12 notes"
    assert notifier.status("a\nSTOPPING=1")
    assert sock.recv(999) == b"STATUS=a STOPPING=1"
    assert notifier.reloading()
    first, second = sock.recv(999).split(b"\n")
    assert first == b"RELOADING=1"
    assert second.startswith(b"MONOTONIC_USEC=")
    for call, want in (
        (notifier.stopping, b"STOPPING=1\nSTATUS=stopping"),
        (notifier.watchdog, b"WATCHDOG=1"),
        (lambda: notifier.extend_timeout(1.5), b"EXTEND_TIMEOUT_USEC=1500000"),
    ):
        assert call()
        assert sock.recv(999) == want


def test_nobody_listens(tmp_path: Path) -> None:
    """Without a manager, or with a dead one, a call says False and raises nothing."""
    assert not Notifier.from_env({}).ready()
    assert not Notifier(str(tmp_path / "gone")).ready()
    assert not Notifier("@mindnetd-nobody").watchdog()


def test_a_full_queue_does_not_block(tmp_path: Path) -> None:
    """A manager that does not read cannot stop the daemon."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(str(tmp_path / "notify"))
        notifier = Notifier(str(tmp_path / "notify"))
        assert not all(notifier.status("x" * 1000) for _ in range(5000))


@pytest.mark.parametrize(
    ("env", "seconds"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "3000000"}, 3.0),
        ({"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "7"}, 3.0),
        ({"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "8"}, None),
        ({"WATCHDOG_USEC": "x"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
    ],
)
def test_watchdog_interval(env: dict[str, str], seconds: float | None) -> None:
    """The watchdog counts only if it is set, and set for this process."""
    assert Notifier.from_env(env, pid=7).watchdog_s == seconds
