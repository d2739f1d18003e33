"""How files are really saved (``docs/watching.md``): one final version is read, the old one serves until then."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from watch_helper import Follower, texts_on_disk

Until = Callable[..., None]
OLD, NEW = "old text\n", "new text\n" * 2000


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A vault with one note, and a folder beside it on the same file system."""
    (tmp_path / "vault").mkdir()
    (tmp_path / "beside").mkdir()
    (tmp_path / "vault/note.md").write_text(OLD)
    return tmp_path / "vault"


@pytest.fixture
def follower(vault: Path, until: Until) -> Iterator[Follower]:
    """A follower that has read the vault as it is."""
    with Follower(vault) as follower:
        until(lambda: follower.notes == {"note.md": OLD}, 10, "the first scan")
        yield follower


def in_place(note: Path) -> None:
    """Obsidian, VS Code, nano, shell redirection; then the mtime is set."""
    note.write_text(NEW)
    os.utime(note, (1, 1))


def vim(note: Path) -> None:
    """A probe file, the note moved to its backup, written anew, the backup deleted."""
    probe, backup = note.parent / "4913", note.parent / "note.md~"
    probe.touch()
    probe.unlink()
    note.rename(backup)
    note.write_text(NEW)
    backup.unlink()


def emacs(note: Path) -> None:
    """As vim, but the backup stays."""
    note.rename(note.parent / "note.md~")
    note.write_text(NEW)


def rename_over(note: Path) -> None:
    """rsync, Syncthing, GNOME editors, sed -i, most Python tools."""
    temp = note.parent / ".note.md.x7Gd2a"
    temp.write_text(NEW)
    temp.rename(note)


def visible_temp(note: Path) -> None:
    """The same with a temporary file that looks like a part of the vault."""
    temp = note.parent / "sedQx81k"
    temp.write_text(NEW)
    temp.rename(note)


def from_outside(note: Path) -> None:
    """Written elsewhere, renamed into the vault."""
    temp = note.parent.parent / "beside/note.md"
    temp.write_text(NEW)
    temp.rename(note)


def git(note: Path) -> None:
    """Deleted and made anew."""
    note.unlink()
    note.write_text(NEW)


def old_mtime(note: Path) -> None:
    """A sync tool that brings a file with a time in the past and the same size."""
    temp = note.parent / ".syncthing.note.md.tmp"
    temp.write_text(NEW)
    os.utime(temp, (5, 5))
    temp.rename(note)


@pytest.mark.parametrize("save", [in_place, vim, emacs, rename_over, visible_temp, from_outside, git, old_mtime])
def test_a_save_is_one_version(vault: Path, follower: Follower, until: Until, save: Callable[[Path], None]) -> None:
    """However an editor saves: the note is read once, whole, and never looks deleted or empty in between."""
    save(vault / "note.md")
    until(lambda: follower.notes.get("note.md") == NEW, 10, "the new text")
    until(lambda: follower.notes == texts_on_disk(vault), 10, "the vault as it is")
    assert follower.versions("note.md") == [OLD, NEW]


def test_a_slow_write_is_read_at_its_end(vault: Path, follower: Follower, until: Until) -> None:
    """Truncated and written piece by piece, with scans in between: the old text, then the whole new one."""
    done = threading.Event()
    with (vault / "note.md").open("w") as file, (vault / "fresh.md").open("w") as fresh:
        for n in range(4):
            file.write(f"part {n}\n")
            fresh.write(f"part {n}\n")
            file.flush()
            fresh.flush()
            follower.doubt("test")
            done.wait(0.15)
        assert follower.notes == {"note.md": OLD}
    whole = "part 0\npart 1\npart 2\npart 3\n"
    until(lambda: follower.notes == {"note.md": whole, "fresh.md": whole}, 10, "the whole texts")
    assert follower.versions("note.md") == [OLD, whole] and follower.versions("fresh.md") == [whole]


def test_a_note_saved_again_and_again_is_not_put_off_for_ever(vault: Path, follower: Follower, until: Until) -> None:
    """Autosave faster than the quiet time: some version is read after `max_wait_ms`, the last one at last."""
    note, pause, n = vault / "note.md", threading.Event(), 0
    while len(follower.versions("note.md")) < 2:
        n += 1
        assert n < 1000
        note.write_text(f"{n}\n" * n)
        pause.wait(0.02)
    until(lambda: follower.notes["note.md"] == note.read_text(), 10, "the last text")


def test_deleted_trashed_and_back(vault: Path, follower: Follower, until: Until) -> None:
    """A deletion and Obsidian's move to ``.trash`` are deletions; recreating brings the note back."""
    note = vault / "note.md"
    note.unlink()
    until(lambda: not follower.notes, 10, "the deletion")
    note.write_text(OLD)
    until(lambda: follower.notes == {"note.md": OLD}, 10, "the note")
    (vault / ".trash").mkdir()
    note.rename(vault / ".trash/note.md")
    until(lambda: not follower.notes, 10, "the deletion")


def test_case_only_rename(vault: Path, follower: Follower, until: Until) -> None:
    """``note.md`` to ``Note.md``: the new spelling and only it."""
    (vault / "note.md").rename(vault / "Note.md")
    until(lambda: follower.notes == {"Note.md": OLD}, 10, "the new name")


def test_trees(vault: Path, follower: Follower, until: Until) -> None:
    """Copied in, moved in, renamed, moved out, deleted: each time the whole tree and nothing stale."""
    beside = vault.parent / "beside"
    for n in range(30):
        (beside / f"tree/{n % 5}/deep").mkdir(parents=True, exist_ok=True)
        (beside / f"tree/{n % 5}/deep/{n}.md").write_text(f"{n}")
    steps: list[Callable[[], object]] = [
        lambda: shutil.copytree(beside / "tree", vault / "copied"),
        lambda: (beside / "tree").rename(vault / "moved"),
        lambda: (vault / "moved").rename(vault / "renamed"),
        lambda: (vault / "renamed/1").rename(vault / "copied/inside"),
        lambda: (vault / "renamed").rename(beside / "out"),
        lambda: shutil.rmtree(vault / "copied"),
    ]
    for count, step in zip((31, 61, 61, 61, 37, 1), steps, strict=True):
        step()
        until(lambda: follower.notes == texts_on_disk(vault), 15, "the vault as it is")
        assert len(follower.notes) == count


def test_our_own_reading_raises_no_event(vault: Path, follower: Follower, until: Until) -> None:
    """Scanning and reading every note makes no hint: the watcher does not feed itself."""
    before = list(follower.hints)
    for _ in range(3):
        follower.doubt("test")
    texts_on_disk(vault)
    (vault / "mark.md").write_text("x")
    until(lambda: "mark.md" in follower.notes, 10, "the mark")
    assert [hint for hint in follower.hints[len(before) :] if hint[1] != "mark.md"] == []


def test_touch_and_chmod_are_no_work(vault: Path, follower: Follower, until: Until) -> None:
    """Attribute changes make no hint; a scan that sees the new mtime reads once and finds the same text."""
    os.utime(vault / "note.md", (7, 7))
    (vault / "note.md").chmod(0o600)
    follower.doubt("test")
    (vault / "mark.md").write_text("x")
    until(lambda: "mark.md" in follower.notes, 10, "the mark")
    assert follower.versions("note.md") == [OLD] and not [h for h in follower.hints if h[1] == "note.md"]


def test_links_out_of_the_vault_stay_out(vault: Path, follower: Follower, until: Until) -> None:
    """A link that appears while we watch is followed only inside, and a folder link not at all."""
    (vault.parent / "beside/secret.md").write_text("secret")
    (vault / "secret.md").symlink_to(vault.parent / "beside/secret.md")
    (vault / "folder").symlink_to(vault.parent / "beside")
    (vault / "loop").symlink_to(vault)
    (vault / "alias.md").symlink_to("note.md")
    until(lambda: follower.notes == {"note.md": OLD, "alias.md": OLD}, 10, "the alias")
    (vault.parent / "beside/secret.md").write_text("more secret")
    follower.doubt("test")
    (vault / "mark.md").write_text("x")
    until(lambda: "mark.md" in follower.notes, 10, "the mark")
    assert set(follower.notes) == {"note.md", "alias.md", "mark.md"}


def test_a_burst_is_read_once_each(vault: Path, follower: Follower, until: Until) -> None:
    """A thousand notes written twice: each has its last text, read once or twice, and no event was lost."""
    for version in ("first", "second"):
        for n in range(1000):
            (vault / f"{n}.md").write_text(f"{version} {n}")
    until(lambda: follower.notes == texts_on_disk(vault), 30, "the vault as it is")
    assert len(follower.history) <= 1 + 2000 and follower.watcher.status().overflows == 0
