"""The ways in which plain watchdog goes deaf in silence, each reproduced, and how ours notices and heals.

The numbers are those of the list in ``docs/watching.md``.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from watch_helper import Follower, texts_on_disk
from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

from mindnetd.watch import WatchOptions
from mindnetd.watching.observe import EVENTS

Until = Callable[..., None]
TESTS = Path(__file__).resolve().parent
IN_NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount")


class PlainWatchdog:
    """watchdog in this process, as its manual shows it, and what it told."""

    def __init__(self, root: Path) -> None:
        self.seen: list[tuple[str, str]] = []
        outer = self

        class Handler(FileSystemEventHandler):
            def on_any_event(self, event: FileSystemEvent) -> None:
                outer.seen.append((type(event).__name__, os.path.relpath(os.fsdecode(event.src_path), root)))

        self.observer = Observer()
        self.observer.schedule(Handler(), str(root), recursive=True, event_filter=EVENTS)
        self.observer.start()

    def close(self) -> None:
        self.observer.stop()
        self.observer.join(5)

    @property
    def looks_alive(self) -> bool:
        return self.observer.is_alive() and all(emitter.is_alive() for emitter in self.observer.emitters)


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A vault of one note in one folder, and a trash beside it on the same file system."""
    (tmp_path / "vault/folder").mkdir(parents=True)
    (tmp_path / "trash").mkdir()
    (tmp_path / "vault/folder/note.md").write_text("text")
    return tmp_path / "vault"


@pytest.fixture
def plain(vault: Path) -> Iterator[PlainWatchdog]:
    watchdog = PlainWatchdog(vault)
    yield watchdog
    watchdog.close()


@pytest.fixture
def follower(vault: Path, until: Until) -> Iterator[Follower]:
    with Follower(vault, WatchOptions(canary_dir=vault.parent / "canary")) as follower:
        until(lambda: "folder/note.md" in follower.notes, 10, "the first scan")
        yield follower


class Child:
    """`watch_child.py` in a process of its own, by way of `prefix`; ``said`` is what it printed."""

    def __init__(self, mode: str, root: Path, until: Until, prefix: tuple[str, ...] = (), shell: str = "") -> None:
        command = [sys.executable, str(TESTS / "watch_child.py"), mode, str(root), str(root.parent / f"canary-{mode}")]
        if shell:
            command = ["sh", "-ec", shell + '; exec "$@"', "sh", *command]
        environment = os.environ | {"PYTHONPATH": str(TESTS.parent), "PYTHONWARNINGS": "ignore"}
        self.until = until
        self.said: list[list[Any]] = []
        self.process = subprocess.Popen(
            [*prefix, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        self.wait_for(["ready"])

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(json.loads(line))

    def wait_for(self, *lines: list[Any]) -> None:
        self.until(lambda: any(line in self.said for line in lines), 30, f"{lines[0]} among {self.said[-5:]}")

    def tell(self, command: str) -> None:
        """Have a command obeyed."""
        assert self.process.stdin is not None
        done = ["done", command.split()[0]]
        before = self.said.count(done)
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        self.until(lambda: self.said.count(done) > before, 30, command)

    def status(self) -> dict[str, Any]:
        self.tell("status")
        return next(line[1] for line in reversed(self.said) if line[0] == "status")

    def doubts(self) -> list[str]:
        return [line[1] for line in self.said if line[0] == "doubt"]

    def files(self) -> set[str]:
        """The files that it was told about by events."""
        return {line[2] for line in self.said if line[0] in ("event", "dirty")}

    def close(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(10)
        self._reader.join(10)
        self.process.stdout.close()


@pytest.fixture
def child(until: Until) -> Iterator[Callable[..., Child]]:
    with contextlib.ExitStack() as stack:

        def start(mode: str, root: Path, prefix: tuple[str, ...] = (), shell: str = "") -> Child:
            started = Child(mode, root, until, prefix, shell)
            stack.callback(started.close)
            return started

        yield start


@pytest.fixture
def namespace() -> tuple[str, ...]:
    """The prefix of a command that may set limits of its own and mount; skips where that is not allowed."""
    if shutil.which("unshare") is None or subprocess.run([*IN_NAMESPACE, "true"], capture_output=True).returncode:
        pytest.skip("user namespaces are not available here")
    return IN_NAMESPACE


def churn(vault: Path, trash: Path, heard: Callable[[str, Path], None]) -> None:
    """The recipe of 1.1, each step after the one before was `heard`: the reader meets a path that it forgot."""
    folder = vault / "folder"
    folder.rename(trash / "folder")
    heard("DirDeletedEvent", folder)
    folder.mkdir()
    heard("DirCreatedEvent", folder)
    folder.rename(vault / "other")
    heard("DirMovedEvent", folder)
    shutil.rmtree(trash / "folder")


def test_1_1_plain_reader_dies_and_looks_alive(
    vault: Path, plain: PlainWatchdog, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Folder churn kills watchdog's reader with a KeyError; observer and emitter go on saying that they are alive."""
    deaths: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", deaths.append)
    seen = plain.seen
    churn(vault, vault.parent / "trash", lambda kind, path: until(lambda: (kind, path.name) in seen, 10, kind))
    until(lambda: bool(deaths), 10, "the death of the reader")
    assert deaths[0].exc_type is KeyError and plain.looks_alive
    (vault / "unseen.md").write_text("x")
    threading.Event().wait(0.3)
    assert ("FileCreatedEvent", "unseen.md") not in plain.seen


def test_1_1_ours_goes_on_and_arms_anew(vault: Path, follower: Follower, until: Until) -> None:
    """The same churn: the reader survives, a new observer is made, a scan follows, later edits are seen."""
    watcher = follower.watcher

    def heard(_kind: str, _path: Path) -> None:
        events = watcher.status().events.get("folder", 0)
        until(lambda: watcher.status().events.get("folder", 0) > heard_before[0], 10, "a folder event")
        heard_before[0] = max(events, heard_before[0] + 1)

    heard_before = [watcher.status().events.get("folder", 0)]
    churn(vault, vault.parent / "trash", heard)
    until(lambda: "watcher_broken" in follower.doubts, 10, "the new observer")
    assert watcher.status().restarts == 1 and watcher.status().kind == "inotify"
    (vault / "seen.md").write_text("x")
    until(lambda: ("closed", "seen.md") in follower.hints, 10, "the event of the new file")
    until(lambda: follower.notes == texts_on_disk(vault), 10, "the vault as it is")


def test_1_1_fast_churn_converges(vault: Path, follower: Follower, until: Until) -> None:
    """Hundreds of renames, moves out and deletions as fast as they go: in the end we know exactly what is there."""
    trash = vault.parent / "trash"
    for n in range(150):
        folder = vault / "churn"
        folder.mkdir()
        (folder / "a.md").write_text(f"{n}")
        folder.rename(vault / f"f{n % 7}")
        (vault / f"f{n % 7}").rename(trash / f"{n}")
        if n % 5 == 0:
            shutil.rmtree(trash / f"{n}")
    (vault / "last.md").write_text("x")
    until(lambda: follower.notes == texts_on_disk(vault), 20, "the vault as it is")
    until(lambda: "rearm" not in follower.watcher._plans, 20, "healing")
    (vault / "after.md").write_text("x")
    until(lambda: "after.md" in follower.notes, 10, "a later edit")


def test_1_2_overflow(vault: Path, until: Until, child: Callable[..., Child]) -> None:
    """More events than the kernel's queue holds while the process is stopped: plain loses files without a word; ours
    loses events too, says so, and its scan finds every file."""
    plain, ours = child("plain", vault), child("ours", vault)
    count = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text()) // 2 + 500
    for process in (plain.process, ours.process):
        os.kill(process.pid, signal.SIGSTOP)
        stat = Path(f"/proc/{process.pid}/stat")
        until(lambda: stat.read_text().rsplit(")", 1)[1].split()[0] == "T", 10, "the stop")  # noqa: B023
    names = {f"{n}.md" for n in range(count)}
    for name in names:
        (vault / name).write_text("x")
    for process in (plain.process, ours.process):
        os.kill(process.pid, signal.SIGCONT)
    ours.wait_for(["doubt", "overflow"])
    until(lambda: plain.files() and (vault / "end.md").write_text("x") and "end.md" in plain.files(), 30, "the rest")
    assert len(names - plain.files()) > 400 and plain.status() == {"alive": True}
    assert ours.status()["overflows"] >= 1
    ours.tell("scan")
    assert names <= set(next(line[1] for line in reversed(ours.said) if line[0] == "scan"))


def test_1_3_watch_limit(tmp_path: Path, until: Until, child: Callable[..., Child], namespace: tuple[str, ...]) -> None:
    """With fewer watches than folders plain watchdog misses changes in silence; ours says so and scans more often."""
    root = tmp_path / "vault"
    for n in range(50):
        (root / f"{n}").mkdir(parents=True)
    limit = "echo 20 > /proc/sys/user/max_inotify_watches"
    plain, ours = child("plain", root, namespace, limit), child("ours", root, namespace, limit)
    ours.wait_for(["doubt", "watches"])
    for n in range(50):
        (root / f"{n}/new.md").write_text("x")
    (root / "end.md").write_text("x")
    plain.wait_for(["event", "FileClosedEvent", "end.md"])
    assert sum(path.endswith("new.md") for path in plain.files()) < 25
    status = ours.status()
    assert status["kind"] == "scan" and status["degraded"] and "too few" in status["reason"]
    assert status["scan_period_s"] == 5 and status["watches"] <= 20
    ours.tell("run echo 1000 > /proc/sys/user/max_inotify_watches")
    ours.tell("tick 100")
    ours.wait_for(["doubt", "watcher_retry"])
    ours.tell("scan")
    ours.tell("tick 101")
    assert ours.status()["kind"] == "inotify" and ours.status()["watches"] == 52


def test_1_3_no_instance(tmp_path: Path, child: Callable[..., Child], namespace: tuple[str, ...]) -> None:
    """With no inotify instance to be had the watcher scans, says why, and takes inotify as soon as there is one."""
    (tmp_path / "vault").mkdir()
    ours = child("ours", tmp_path / "vault", namespace, "echo 0 > /proc/sys/user/max_inotify_instances")
    assert ours.status()["kind"] == "scan" and "inotify" in ours.status()["reason"]
    ours.tell("run echo 10 > /proc/sys/user/max_inotify_instances")
    ours.tell("tick 100")
    ours.wait_for(["doubt", "watcher_retry"])
    assert ours.status()["kind"] == "inotify" and ours.status()["reason"] is None


def test_1_6_plain_says_nothing_of_the_notes_and_then_sees_ghosts(
    vault: Path, plain: PlainWatchdog, until: Until
) -> None:
    """A folder moved out is one event for hundreds of notes, and later edits out there come under the old path."""
    (vault / "folder").rename(vault.parent / "trash/folder")
    until(lambda: ("DirDeletedEvent", "folder") in plain.seen, 10, "the folder's event")
    assert not [path for kind, path in plain.seen if kind == "FileDeletedEvent"]
    (vault.parent / "trash/folder/note.md").write_text("edited outside")
    until(lambda: ("FileClosedEvent", "folder/note.md") in plain.seen, 10, "the ghost")


def test_1_6_ours_forgets_the_notes_and_believes_no_ghost(vault: Path, follower: Follower, until: Until) -> None:
    """The notes of a folder moved out are gone, and an edit out there brings nothing back."""
    (vault / "stay.md").write_text("s")
    until(lambda: "stay.md" in follower.notes, 10, "the note that stays")
    (vault / "folder").rename(vault.parent / "trash/folder")
    until(lambda: follower.notes == {"stay.md": "s"}, 10, "the deletions")
    (vault.parent / "trash/folder/note.md").write_text("edited outside")
    until(lambda: ("closed", "folder/note.md") in follower.hints, 10, "the ghost")
    (vault / "mark.md").write_text("x")
    until(lambda: follower.notes == {"stay.md": "s", "mark.md": "x"}, 10, "the mark")
    assert follower.versions("folder/note.md") == ["text", None]


def test_1_14_ours_keeps_quiet_about_ordinary_moves(
    recwarn: pytest.WarningsRecorder, vault: Path, follower: Follower, until: Until, caplog: pytest.LogCaptureFixture
) -> None:
    """A folder moved out and in again makes watchdog warn with its whole table of paths: not a word of it is heard."""
    (vault / "stay.md").write_text("s")
    (vault / "folder").rename(vault / "other")
    until(lambda: "other/note.md" in follower.notes and "stay.md" in follower.notes, 10, "the new name")
    (vault / "other").rename(vault.parent / "trash/folder")
    until(lambda: follower.notes == {"stay.md": "s"}, 10, "the deletion")
    (vault.parent / "trash/folder").rename(vault / "folder")
    until(lambda: follower.notes == {"stay.md": "s", "folder/note.md": "text"}, 10, "the return")
    assert follower.watcher.status().restarts == 0
    assert "broken" not in follower.doubts and "warning" not in follower.doubts
    assert not recwarn.list and "watchdog" not in caplog.text


def test_1_10_plain_never_sees_a_new_vault(vault: Path, plain: PlainWatchdog, until: Until) -> None:
    """Another vault put in the place of a renamed one: not seen, while the old one's events come under its path."""
    vault.rename(vault.parent / "old")
    (vault / "folder").mkdir(parents=True)
    (vault / "folder/new.md").write_text("x")
    (vault.parent / "old/folder/old.md").write_text("x")
    until(lambda: ("FileClosedEvent", "folder/old.md") in plain.seen, 10, "the ghost")
    assert not [path for _, path in plain.seen if path == "folder/new.md"] and plain.looks_alive


def test_1_10_plain_is_deaf_after_the_vault_was_made_anew(vault: Path, plain: PlainWatchdog, until: Until) -> None:
    """Deleted and made again: one event, then nothing, and the observer is alive."""
    shutil.rmtree(vault)
    until(lambda: ("DirDeletedEvent", ".") in plain.seen, 10, "the root's event")
    vault.mkdir()
    (vault / "new.md").write_text("x")
    threading.Event().wait(0.3)
    assert plain.observer.is_alive() and ("FileCreatedEvent", "new.md") not in plain.seen


def test_1_10_ours_a_replaced_vault(vault: Path, follower: Follower, until: Until) -> None:
    """The next look at the root finds another folder: armed anew, scanned, followed."""
    vault.rename(vault.parent / "old")
    (vault / "folder").mkdir(parents=True)
    (vault / "folder/new.md").write_text("x")
    follower.watcher.tick(1.0)
    until(lambda: follower.notes == {"folder/new.md": "x"}, 10, "the new vault")
    (vault.parent / "old/folder/old.md").write_text("x")
    (vault / "folder/later.md").write_text("y")
    until(lambda: follower.notes == {"folder/new.md": "x", "folder/later.md": "y"}, 10, "a later edit")


def test_1_10_ours_a_missing_vault(vault: Path, follower: Follower, until: Until) -> None:
    """While the vault is away nothing is deleted and the status says so; back again, it is followed again."""
    away = vault.parent / "away"
    vault.rename(away)
    follower.watcher.tick(1.0)
    until(lambda: "vault_lost" in follower.doubts, 10, "the loss")
    status = follower.watcher.status()
    assert not status.root_ok and status.degraded and status.reason is not None and str(vault) in status.reason
    until(lambda: bool(follower.errors), 10, "the failed scan")
    vault.mkdir()  # as a mount point whose disk is not there
    follower.watcher.tick(2.0)
    assert not follower.watcher.status().root_ok and follower.notes == {"folder/note.md": "text"}
    vault.rmdir()
    away.rename(vault)
    (vault / "folder/meanwhile.md").write_text("x")
    follower.watcher.tick(3.0)
    until(lambda: follower.notes == {"folder/note.md": "text", "folder/meanwhile.md": "x"}, 10, "the vault")
    assert follower.watcher.status().root_ok and follower.versions("folder/note.md") == ["text"]
    (vault / "folder/later.md").write_text("y")
    until(lambda: "folder/later.md" in follower.notes, 10, "a later edit")


def test_1_10_ours_a_deleted_vault(vault: Path, follower: Follower, until: Until) -> None:
    """Deleted as a whole: noticed at once by the root's own event; made again, it is watched again."""
    shutil.rmtree(vault)
    until(lambda: not follower.watcher.status().root_ok, 10, "the loss")
    (vault / "sub").mkdir(parents=True)
    (vault / "sub/new.md").write_text("x")
    follower.watcher.tick(1.0)
    until(lambda: follower.notes == {"sub/new.md": "x"}, 10, "the new vault")


def test_1_10_an_emptied_root_is_missing(vault: Path, follower: Follower, until: Until) -> None:
    """All gone at once: nothing is deleted until something is there again. One note by one is a deletion."""
    (vault / "other.md").write_text("o")
    until(lambda: len(follower.notes) == 2, 10, "both notes")
    (vault / "folder").rename(vault.parent / "trash/folder")
    (vault / "other.md").rename(vault.parent / "trash/other.md")
    follower.watcher.tick(1.0)
    until(lambda: "vault_emptied" in follower.doubts and follower.vault_missing, 10, "the verdict")
    assert len(follower.notes) == 2 and follower.watcher.status().root_empty
    (vault.parent / "trash/folder").rename(vault / "folder")
    follower.watcher.tick(2.0)
    until(lambda: "vault_filled" in follower.doubts, 10, "the scan")
    until(lambda: follower.notes == {"folder/note.md": "text"}, 10, "the vault as it is")
    (vault / "folder/note.md").unlink()
    until(lambda: not follower.notes, 10, "the deletion of the last note")


def test_1_10_unmounted(tmp_path: Path, child: Callable[..., Child], namespace: tuple[str, ...]) -> None:
    """A mount that goes and comes raises no event; the next look at the root notices both."""
    root = tmp_path / "vault"
    root.mkdir()
    mount = f"mount -t tmpfs none '{root}'"
    ours = child("ours", root, namespace, f"{mount}; echo x > '{root}/a.md'")
    ours.tell(f"run umount --lazy '{root}'")
    ours.tell("tick 1")
    ours.wait_for(["doubt", "vault_lost"])
    assert "unmounted" in ours.status()["reason"]
    ours.tell(f"run {mount}; echo y > '{root}/b.md'")
    ours.tell("tick 2")
    ours.wait_for(["doubt", "vault_back"])
    ours.tell(f"run echo z > '{root}/c.md'")
    ours.wait_for(["dirty", "closed", "c.md"])
