"""The walk over the vault, and the difference to what is known."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from watch_helper import SimpleRules

from mindnetd.core.records import FileStat, VaultFile
from mindnetd.errors import VaultError
from mindnetd.watching import scan as scan_module
from mindnetd.watching.scan import ScanResult, diff, scan

RULES = SimpleRules()


def make(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)


def test_finds_every_file_of_the_vault(tmp_path: Path) -> None:
    """Notes and attachments in all folders; dot folders and temporary files are left out."""
    make(tmp_path, "a.md", "x/y/b.md", "x/pic.png", ".obsidian/app.json", ".trash/old.md", "x/.git/c.md", "a.md~")
    result = scan(tmp_path, RULES)
    assert {path: file.kind for path, file in result.files.items()} == {
        "a.md": "note",
        "x/y/b.md": "note",
        "x/pic.png": "file",
    }
    assert result.folders == 3 and result.unreadable == [] and result.entries == 5
    st_ = (tmp_path / "a.md").stat()
    assert result.files["a.md"].stat == FileStat(4, st_.st_mtime_ns, st_.st_ctime_ns, st_.st_ino)
    assert result.root_id == (tmp_path.stat().st_dev, tmp_path.stat().st_ino)


def test_links_are_not_entered_and_cannot_loop(tmp_path: Path) -> None:
    """Folder links are left alone; a file link counts only if it ends inside."""
    root = tmp_path / "v"
    make(tmp_path, "v/a.md", "v/sub/b.md", "out/secret.md")
    (root / "loop").symlink_to(root)
    (root / "sub/up").symlink_to("..")
    (root / "outside").symlink_to(tmp_path / "out")
    (root / "secret.md").symlink_to(tmp_path / "out/secret.md")
    (root / "broken.md").symlink_to("nowhere.md")
    (root / "inside.md").symlink_to("sub/b.md")
    os.mkfifo(root / "pipe.md")
    assert sorted(scan(root, RULES).files) == ["a.md", "inside.md", "sub/b.md"]


def test_a_root_link_is_followed(tmp_path: Path) -> None:
    """The vault's own folder may be given as a link."""
    make(tmp_path, "v/a.md")
    (tmp_path / "door").symlink_to("v")
    assert list(scan(tmp_path / "door", RULES).files) == ["a.md"]


def test_odd_names(tmp_path: Path) -> None:
    """Undecodable names, newlines and the root's own odd name are no trouble."""
    root = tmp_path / os.fsdecode(b"v\xff.x")
    root.mkdir()
    for name in (b"caf\xe9.md", "café.md".encode(), b"two\nlines.md"):
        (root / os.fsdecode(name)).write_text("")
    assert sorted(scan(root, RULES).files) == [r"caf\xe9.md", "café.md", "two\nlines.md"]


def test_a_missing_root_is_an_error(tmp_path: Path) -> None:
    """No folder, no scan, and the message names it."""
    make(tmp_path, "file.md")
    for path in (tmp_path / "no", tmp_path / "file.md"):
        with pytest.raises(VaultError, match=path.name):
            scan(path, RULES)


def failing(monkeypatch: pytest.MonkeyPatch, *bad: Path) -> None:
    """Make entering the folders `bad` fail, also for root, as a dying disk or a lost right would."""
    real = os.scandir

    def scandir(path: str) -> object:
        if Path(path) in bad:
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(scan_module.os, "scandir", scandir)


def test_nothing_below_an_unreadable_folder_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be seen is not gone; what is really gone elsewhere is."""
    make(tmp_path, "a.md", "b.md", "closed/c.md", "closed/deep/d.md", "closed2/e.md")
    known = scan(tmp_path, RULES).files
    (tmp_path / "b.md").unlink()
    failing(monkeypatch, tmp_path / "closed")
    found = scan(tmp_path, RULES)
    assert found.unreadable == ["closed"]
    assert diff(known, found).removed == ["b.md"]
    failing(monkeypatch, tmp_path)
    assert diff(known, scan(tmp_path, RULES)).removed == []


def test_a_vanished_folder_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder deleted between listing and entering it is an absence, no error."""
    make(tmp_path, "a.md", "x/b.md")
    known = scan(tmp_path, RULES).files
    real = os.scandir

    def scandir(path: str) -> object:
        if path.endswith("/x"):
            raise FileNotFoundError(2, "No such file", path)
        return real(path)

    monkeypatch.setattr(scan_module.os, "scandir", scandir)
    assert diff(known, scan(tmp_path, RULES)).removed == ["x/b.md"]


def test_an_empty_root_is_a_missing_vault(tmp_path: Path) -> None:
    """A mount that is not there leaves an empty folder: nothing is removed. With `.obsidian` left it is a deletion."""
    make(tmp_path, "a.md")
    known = scan(tmp_path, RULES).files
    (tmp_path / "a.md").unlink()
    difference = diff(known, scan(tmp_path, RULES))
    assert difference.vault_missing and difference.empty
    (tmp_path / ".obsidian").mkdir()
    difference = diff(known, scan(tmp_path, RULES))
    assert difference.removed == ["a.md"] and not difference.vault_missing


def test_each_part_of_the_stat_counts(tmp_path: Path) -> None:
    """Size, mtime, ctime, inode, and what we make of the file: a difference in one of them is a change."""
    make(tmp_path, "a.md", "b.md")
    known = scan(tmp_path, RULES).files
    file = known["a.md"]
    for stat in (
        replace(file.stat, size=1),
        replace(file.stat, mtime_ns=1),
        replace(file.stat, ctime_ns=1),
        replace(file.stat, inode=1),
    ):
        found = ScanResult({**known, "a.md": replace(file, stat=stat)}, 1, [], (0, 0), 2)
        assert diff(known, found).changed == [replace(file, stat=stat)]
        assert diff(known, found).same == 1
    found = ScanResult({**known, "a.md": replace(file, kind="ignored")}, 1, [], (0, 0), 2)
    assert [f.kind for f in diff(known, found).changed] == ["ignored"]


FILES = st.dictionaries(
    st.sampled_from(["a.md", "b.md", "x/a.md", "x/y/b.md", "xx/c.md"]),
    st.integers(0, 2).map(lambda n: FileStat(n, n, n, n)),
)


@given(FILES, FILES, st.lists(st.sampled_from(["x", "x/y", "xx", "a.md", ""]), max_size=2, unique=True))
def test_a_diff_applied_gives_the_tree(
    before: dict[str, FileStat], after: dict[str, FileStat], blind: list[str]
) -> None:
    """Known, changed by the diff, is what the scan found, plus what lies in the dark."""
    known = {path: VaultFile(path, "note", stat) for path, stat in before.items()}
    files = {path: VaultFile(path, "note", stat) for path, stat in after.items()}
    difference = diff(known, ScanResult(files, 1, blind, (0, 0), entries=1))
    result = {path: file for path, file in known.items() if path not in difference.removed}
    result |= {file.path: file for file in (*difference.added, *difference.changed)}

    def dark(path: str) -> bool:
        return any(path == part or not part or path.startswith(part + "/") for part in blind)

    assert result == files | {path: file for path, file in known.items() if path not in files and dark(path)}
    assert difference.same + len(difference.added) + len(difference.changed) == len(files)
