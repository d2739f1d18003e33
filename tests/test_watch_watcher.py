"""The watcher's own parts: mailbox, mounts, canary, root, and what it does when something fails."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from watch_helper import Follower, SimpleRules, texts_on_disk

from mindnetd.core.records import FileKind
from mindnetd.watch import Watcher, WatchOptions
from mindnetd.watching.checks import CANARY_PATIENCE_S, Canary, RootGuard
from mindnetd.watching.mailbox import Mailbox
from mindnetd.watching.mounts import blind_file_system
from mindnetd.watching.scan import ScanResult
from mindnetd.watching.vaultio import root_identity

Until = Callable[..., None]


class Recorder:
    """A watcher and what it called back; `fail` makes the next hint's callback raise."""

    def __init__(self, root: Path, options: WatchOptions | None = None, rules: SimpleRules | None = None) -> None:
        self.hints: list[tuple[str, str]] = []
        self.doubts: list[str] = []
        self.threads: set[str] = set()
        self.fail = False
        self.watcher = Watcher(root, rules or SimpleRules(), self._dirty, self._doubt, options)

    def _dirty(self, kind: str, path: str) -> None:
        self.threads.add(threading.current_thread().name)
        if self.fail:
            self.fail = False
            raise RuntimeError("callback")
        self.hints.append((kind, path))

    def _doubt(self, reason: str) -> None:
        self.threads.add(threading.current_thread().name)
        self.doubts.append(reason)


@pytest.fixture
def record(tmp_path: Path) -> Iterator[Callable[..., Recorder]]:
    """`record(options, rules)`: a running watcher of ``tmp_path / "vault"``, stopped at the end."""
    running: list[Recorder] = []
    (tmp_path / "vault").mkdir()

    def start(options: WatchOptions | None = None, rules: SimpleRules | None = None) -> Recorder:
        recorder = Recorder(tmp_path / "vault", options, rules)
        recorder.watcher.start()
        running.append(recorder)
        return recorder

    yield start
    for recorder in running:
        recorder.watcher.stop()


# The mailbox.


def test_mailbox_keeps_the_last_hint_of_each_path() -> None:
    """In the order of coming, a newer hint at the end of the line; alarms once each."""
    box = Mailbox(10)
    for kind, path in [("created", "a"), ("created", "b"), ("closed", "a")]:
        box.put(kind, path)
    box.alarm("folder")
    box.alarm("folder")
    batch = box.take(0)
    assert list(batch.hints.items()) == [("b", "created"), ("a", "closed")] and batch.alarms == ("folder",)
    assert not box.take(0).hints


def test_a_full_mailbox_says_so() -> None:
    """Hints over the limit are lost, known paths are not, and one alarm tells."""
    box = Mailbox(2)
    for path in "abcab":
        box.put("closed", path)
    batch = box.take(0)
    assert sorted(batch.hints) == ["a", "b"] and batch.alarms == ("full",)


def test_taking_ends_when_the_mailbox_is_closed() -> None:
    """A waiting taker is woken."""
    box = Mailbox(2)
    closed: list[bool] = []
    taker = threading.Thread(target=lambda: closed.append(box.take(None).closed))
    taker.start()
    box.close()
    taker.join(5)
    assert closed == [True]


# Mounts.

MOUNTS = r"""
22 27 0:21 / /proc rw - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 27 0:30 / /home/x/My\040Drive rw - fuse.rclone remote: rw
31 27 0:31 / /net rw - nfs4 server:/ rw
32 31 0:32 / /net/local rw shared:1 - xfs /dev/vdb rw
33 27 0:33 / /home/x/Notes/Shared rw - cifs //nas/notes rw
34 27 0:34 / /two rw - ext4 /dev/vdc rw
35 34 0:35 / /two rw - overlay overlay rw
"""


@pytest.mark.parametrize(
    ("root", "expected"),
    [
        ("/home/x/My Drive/Vault", "fuse.rclone"),
        ("/home/x/My Drive 2", None),
        ("/net/vault", "nfs4"),
        ("/net/local/vault", None),
        ("/home/x/Notes", "cifs"),
        ("/home/x/Other", None),
        ("/two/vault", "overlay"),
    ],
)
def test_blind_file_systems(root: str, expected: str | None) -> None:
    """The innermost mount counts, the later of two on one point, and a blind one inside the vault."""
    assert blind_file_system(Path(root), MOUNTS) == expected


def test_polling_option_and_blind_mounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`auto` scans often on a blind file system, `off` does not, `on` does anywhere; a costly scan is less often."""
    monkeypatch.setattr("mindnetd.watch.blind_file_system", lambda _root: "fuse")
    for polling, kind, period in (("auto", "scan", 5.0), ("off", "inotify", 600.0), ("on", "scan", 5.0)):
        recorder = Recorder(tmp_path, WatchOptions(polling=polling))  # type: ignore[arg-type]
        recorder.watcher.start()
        status = recorder.watcher.status()
        assert (status.kind, status.scan_period_s, status.degraded) == (kind, period, False)
        assert (status.reason is None) == (kind == "inotify")
        recorder.watcher.scanned(ScanResult({}, 1, [], (0, 0), cost_s=0.5))
        assert recorder.watcher.status().scan_period_s == max(period, 100.0)
        recorder.watcher.stop()


def test_scans_are_asked_for_where_inotify_is_not_enough(record: Callable[..., Recorder], until: Until) -> None:
    """In `scan` mode each period once, counted from the latest scan; otherwise never."""
    polled, watched = record(WatchOptions(polling="on")), record(WatchOptions(polling="off"))
    for now in (0.0, 4.0, 5.0, 6.0, 10.0):
        polled.watcher.tick(now)
        watched.watcher.tick(now)
        expected = {0.0: 0, 4.0: 0, 5.0: 1, 6.0: 1, 10.0: 2}[now]
        until(lambda: polled.doubts.count("polling") == expected, 10, "the doubt")  # noqa: B023
    assert "polling" not in watched.doubts
    polled.doubts.clear()
    polled.watcher.scanned(ScanResult({}, 1, [], (0, 0)))
    for now in (12.0, 14.9, 15.0, 19.0):
        polled.watcher.tick(now)
    until(lambda: polled.doubts == ["polling"], 10, "the doubt")


# The root.


def test_root_guard(tmp_path: Path) -> None:
    """Same, lost, still lost, back; emptied and filled while it is the same folder."""
    root = tmp_path / "v"
    guard = RootGuard(root)
    assert guard.check() == "lost" and guard.check() == "still lost" and guard.id is None
    root.mkdir()
    assert guard.check() == "back" and guard.id == root_identity(root) and guard.error is None
    (root / "a.md").touch()
    assert guard.check() == "filled" and guard.check() == "same"
    (root / "a.md").unlink()
    assert guard.check() == "emptied" and guard.check() == "same"
    root.rename(tmp_path / "old")
    root.mkdir()
    assert guard.check() == "lost" and "unmounted" in (guard.error or "")
    (root / "b.md").touch()
    assert guard.check() == "back"


def test_a_vault_that_comes_later(tmp_path: Path, until: Until) -> None:
    """Started without a vault: degraded, no error; as soon as it is there it is watched."""
    recorder = Recorder(tmp_path / "vault")
    recorder.watcher.start()
    assert not recorder.watcher.status().root_ok and recorder.watcher.status().degraded
    (tmp_path / "vault").mkdir()
    recorder.watcher.tick(1.0)
    until(lambda: "vault_back" in recorder.doubts, 10, "the doubt")
    (tmp_path / "vault/a.md").write_text("x")
    until(lambda: ("closed", "a.md") in recorder.hints, 10, "the event")
    recorder.watcher.stop()


# The canary.


def test_canary_timing(tmp_path: Path) -> None:
    """One a minute; not heard within the patience is deaf; without a folder there is none."""
    canary = Canary(tmp_path / "c", 60)
    assert canary.prepare() and not canary.deaf(0.0)
    assert not canary.deaf(CANARY_PATIENCE_S - 1) and canary.deaf(CANARY_PATIENCE_S)
    canary.heard()
    assert not canary.deaf(59.0) and not canary.deaf(60.0) and canary.deaf(60.0 + CANARY_PATIENCE_S)
    assert not Canary(None, 60).prepare() and not Canary(None, 60).deaf(1000.0)


def test_a_deaf_observer_is_replaced(tmp_path: Path, until: Until, record: Callable[..., Recorder]) -> None:
    """The canary is heard while all works; when its events stay away a new observer is made and a scan asked for."""
    canary = tmp_path / "state/canary"
    recorder = record(WatchOptions(canary_dir=canary))
    recorder.watcher.tick(0.0)
    until(lambda: recorder.watcher._canary._heard, 10, "the canary")
    recorder.watcher.tick(50.0)
    assert recorder.watcher.status().restarts == 0
    canary.rename(tmp_path / "state/gone")  # its watch goes with it: from now on the reader is deaf for us
    canary.mkdir()
    recorder.watcher.tick(61.0)
    recorder.watcher.tick(61.0 + CANARY_PATIENCE_S)
    until(lambda: "watcher_deaf" in recorder.doubts, 10, "the new observer")
    recorder.watcher.tick(200.0)
    until(lambda: recorder.watcher._canary._heard, 10, "the canary")


def test_a_dead_thread_is_noticed(record: Callable[..., Recorder], until: Until) -> None:
    """An emitter that has ended while the observer is alive: a new observer at the next tick."""
    recorder = record()
    observer = recorder.watcher._arming.observer
    assert observer is not None
    next(iter(observer.emitters)).stop()
    until(lambda: not observer.working(), 10, "the end of the emitter")
    recorder.watcher.tick(1.0)
    until(lambda: "watcher_died" in recorder.doubts, 10, "the new observer")
    assert recorder.watcher.status().kind == "inotify"


# Failures and limits.


def test_callbacks_come_from_the_watchers_own_thread(
    tmp_path: Path, record: Callable[..., Recorder], until: Until
) -> None:
    """Hints and doubts, the ones from `tick` too."""
    recorder = record()
    (tmp_path / "vault/.obsidian").mkdir()
    (tmp_path / "vault/.obsidian/app.json").write_text("{}")
    (tmp_path / "vault/a.md").write_text("x")
    recorder.watcher.tick(1.0)
    until(lambda: "rules" in recorder.doubts and recorder.hints, 10, "hint and doubt")
    assert recorder.threads == {"watch"}


def test_a_raising_callback_does_not_deafen(
    tmp_path: Path, record: Callable[..., Recorder], until: Until, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged, and the next event arrives."""
    recorder = record()
    recorder.fail = True
    with caplog.at_level(logging.ERROR):
        (tmp_path / "vault/a.md").write_text("x")
        until(lambda: not recorder.fail, 10, "the failure")
    (tmp_path / "vault/b.md").write_text("x")
    until(lambda: any(path == "b.md" for _, path in recorder.hints), 10, "the next event")
    assert "callback failed" in caplog.text


def test_raising_rules_are_a_doubt(tmp_path: Path, record: Callable[..., Recorder], until: Until) -> None:
    """A failure in our own handler loses an event, so a scan is asked for; inotify itself is not to blame."""

    class Bad(SimpleRules):
        def kind(self, path: str, is_dir: bool = False) -> FileKind | None:
            if path == "bad.md":
                raise ValueError(path)
            return super().kind(path, is_dir)

    recorder = record(rules=Bad())
    (tmp_path / "vault/bad.md").write_text("x")
    until(lambda: "handler" in recorder.doubts, 10, "the doubt")
    (tmp_path / "vault/good.md").write_text("x")
    until(lambda: ("closed", "good.md") in recorder.hints, 10, "the next event")
    assert recorder.watcher.status().restarts == 0


def test_a_full_queue_becomes_a_scan(tmp_path: Path, until: Until) -> None:
    """More dirty files than the queue holds: what was dropped is found by the scan that follows."""
    (tmp_path / "vault").mkdir()
    with Follower(tmp_path / "vault", WatchOptions(queue_size=5)) as follower:
        until(lambda: "start" in follower.doubts, 10, "the start")
        for n in range(400):
            (tmp_path / f"vault/{n}.md").write_text(str(n))
        until(lambda: follower.notes == texts_on_disk(tmp_path / "vault"), 20, "the vault as it is")


def test_events_outside_the_vault_are_dropped(tmp_path: Path, record: Callable[..., Recorder], until: Until) -> None:
    """Dot folders are not even watched; backups and temporary files make no hint."""
    (tmp_path / "vault/.git/objects/ab").mkdir(parents=True)
    (tmp_path / "vault/sub").mkdir()
    recorder = record()
    assert recorder.watcher.status().watches == 2
    (tmp_path / "vault/.git/objects/ab/x.md").write_text("x")
    (tmp_path / "vault/.hidden.md").write_text("x")
    (tmp_path / "vault/a.md~").write_text("x")
    (tmp_path / "vault/sub/a.md").write_text("x")
    until(lambda: ("closed", "sub/a.md") in recorder.hints, 10, "the event")
    assert {path for _, path in recorder.hints} == {"sub/a.md"}


def test_new_rules_are_asked_for_and_taken(tmp_path: Path, record: Callable[..., Recorder], until: Until) -> None:
    """A changed ``.obsidian/app.json`` is one doubt; the rules given then hold from the next event on."""
    recorder = record()
    app = tmp_path / "vault/.obsidian/app.json"
    app.parent.mkdir()
    app.write_text("{}")
    recorder.watcher.tick(1.0)
    recorder.watcher.tick(2.0)
    until(lambda: recorder.doubts.count("rules") == 1, 10, "the doubt")

    class Nothing(SimpleRules):
        def kind(self, path: str, is_dir: bool = False) -> FileKind | None:
            return "note" if path == "only.md" else None

    recorder.watcher.set_classifier(Nothing())
    (tmp_path / "vault/a.md").write_text("x")
    (tmp_path / "vault/only.md").write_text("x")
    until(lambda: ("closed", "only.md") in recorder.hints, 10, "the event")
    assert not [path for _, path in recorder.hints if path == "a.md"]


def test_stop_leaves_no_thread(tmp_path: Path) -> None:
    """All threads are gone, also of observers that were replaced; stopping an unarmed watcher is fine."""
    before = set(threading.enumerate())
    (tmp_path / "vault").mkdir()
    recorder = Recorder(tmp_path / "vault", WatchOptions(canary_dir=tmp_path / "canary"))
    recorder.watcher.start()
    for n in range(3):
        (tmp_path / "vault").rename(tmp_path / f"old{n}")
        (tmp_path / "vault").mkdir()
        (tmp_path / "vault/a.md").touch()
        recorder.watcher.tick(float(n))
    recorder.watcher.stop()
    assert set(threading.enumerate()) == before
