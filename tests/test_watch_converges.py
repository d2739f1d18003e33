"""Whatever happens to the tree: once quiet, we know exactly what is there; and while idle, we do nothing."""

from __future__ import annotations

import random
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from watch_helper import Follower, SimpleRules, texts_on_disk

from mindnetd.watch import Watcher, WatchOptions

Until = Callable[..., None]
NAMES = ("a.md", "b.md", "c.md", "x/a.md", "x/y/b.md", "z/c.md", "z/d.md")
FOLDERS = ("x", "x/y", "z", "w", ".trash")


class Tree:
    """A vault that random operations change as programs and people do."""

    def __init__(self, root: Path, beside: Path, seed: int) -> None:
        self.root, self.beside, self.random = root, beside, random.Random(seed)
        self.count = 0

    def step(self) -> None:
        """One operation; one that is not possible just now is none."""
        operation = self.random.choice(
            [self.save, self.save, self.replace, self.move, self.move, self.delete, self.away]
        )
        try:
            operation()
        except (OSError, shutil.Error):
            return

    def file(self) -> Path:
        return self.root / self.random.choice(NAMES)

    def folder(self) -> Path:
        return self.root / self.random.choice(FOLDERS)

    def text(self) -> str:
        self.count += 1
        return f"text {self.count}" * self.random.choice([0, 1, 1, 50])

    def save(self) -> None:
        path = self.file()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.text())

    def replace(self) -> None:
        temp = self.root / "new.tmp"
        temp.write_text(self.text())
        temp.rename(self.file())

    def move(self) -> None:
        pick = self.random.choice([self.file, self.folder])
        pick().rename(pick())

    def delete(self) -> None:
        if self.random.random() < 0.6:
            self.file().unlink()
        else:
            shutil.rmtree(self.folder())

    def away(self) -> None:
        """A folder leaves the vault, or one that left comes back under another name."""
        parked = sorted(self.beside.iterdir())
        if parked and self.random.random() < 0.5:
            parked[0].rename(self.root / self.random.choice(["back", "x", "w"]))
        else:
            self.count += 1
            self.folder().rename(self.beside / f"{self.count}")


def run(tmp_path: Path, until: Until, seed: int, steps: int) -> None:
    """Operations at random speed, then quiet: the notes known are the ones on disk; and later edits are still seen."""
    root, beside, pause = tmp_path / "vault", tmp_path / "beside", threading.Event()
    root.mkdir()
    beside.mkdir()
    (root / ".obsidian").mkdir()
    tree = Tree(root, beside, seed)
    with Follower(root) as follower:
        for _ in range(steps):
            tree.step()
            if tree.random.random() < 0.1:
                pause.wait(tree.random.random() * 0.1)
        until(lambda: follower.notes == texts_on_disk(root), 30, f"seed {seed}: the vault as it is")
        (root / "last.md").write_text("last")
        until(lambda: follower.notes == texts_on_disk(root), 30, f"seed {seed}: the last edit")


@pytest.mark.parametrize("seed", range(4))
def test_random_operations_converge(tmp_path: Path, until: Until, seed: int) -> None:
    """Short form: 150 operations."""
    run(tmp_path, until, seed, 150)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(100, 160))
def test_many_random_operations_converge(tmp_path: Path, until: Until, seed: int) -> None:
    """Long form: 600 operations each."""
    run(tmp_path, until, seed, 600)


def switches(threads: set[threading.Thread]) -> int:
    """How often these threads have gone to sleep so far."""
    total = 0
    for thread in threads:
        status = Path(f"/proc/self/task/{thread.native_id}/status").read_text()
        total += int(status.split("voluntary_ctxt_switches:")[1].split()[0])
    return total


def test_an_idle_watcher_does_not_even_wake_up(tmp_path: Path, until: Until) -> None:
    """No thread of it wakes while nothing happens: all wait without a timeout."""
    before = set(threading.enumerate())
    (tmp_path / "vault").mkdir()
    heard: list[str] = []
    watcher = Watcher(
        tmp_path / "vault",
        SimpleRules(),
        lambda kind, path: heard.append(kind),
        heard.append,
        WatchOptions(canary_dir=tmp_path / "canary"),
    )
    watcher.start()
    (tmp_path / "vault/a.md").write_text("x")
    until(lambda: "closed" in heard, 10, "the event")
    threads = set(threading.enumerate()) - before
    assert len(threads) == 5
    idle, quiet = threading.Event(), [switches(threads)]
    for _ in range(10):
        idle.wait(0.2)
        quiet.append(switches(threads))
        if quiet[-1] == quiet[-2]:
            break
    assert quiet[-1] == quiet[-2]
    watcher.stop()
