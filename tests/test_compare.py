"""``mindnetd compare``: what differs between two folders of notes, and nothing else."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from mindnetd import cli

NOTES = {
    "a.md": b"---\ntitle: A\ntags: [x]\n---\n# One\n\nThe body of the note.\n",
    "deep/b.md": b"Plain.\n",
    "c\xfc.md": b"",
    "board.canvas": b"{}",
    "pic.png": b"\x89PNG",
    "Templates/t.md": b"left out\n",
    "private/p.md": b"left out by Obsidian\n",
    ".obsidian/app.json": b'{"userIgnoreFilters": ["private/"]}',
}


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A vault and a true copy of it."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "MINDNET_VAULT"):
        monkeypatch.delenv(name, raising=False)
    a, b = tmp_path / "a vault", tmp_path / "copy"
    for name, raw in NOTES.items():
        file = a / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(raw)
    shutil.copytree(a, b)
    return a, b


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, list[str]]:
    capsys.readouterr()
    code = cli.main(["compare", *map(str, words)])
    done = capsys.readouterr()
    return code, (done.out + done.err).splitlines()


def test_a_copy_is_the_same(pair: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 0; times and what is left out of the index do not count; other files do where they are asked for."""
    a, b = pair
    (b / "Templates/t.md").write_text("changed")
    (b / "private/p.md").unlink()
    os.utime(b / "a.md", (1, 1))
    assert run(capsys, a, b) == (0, ["3 notes: the same"])
    (b / "pic.png").write_bytes(b"other")
    assert run(capsys, a, b) == (0, ["3 notes: the same"])
    code, lines = run(capsys, a, b, "--files")
    assert code == 1 and lines[0].startswith("pic.png: bytes differ") and lines[-1] == "1 of 5 files differ"


def test_a_line_for_each_difference(pair: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """Body, frontmatter, number of chunks, or only bytes; missing on one side; by path."""
    a, b = pair
    (b / "a.md").write_bytes(b"---\ntitle: B\n---\n# One\n\n" + b"Another body. " * 900 + b"\n")
    (b / "deep/b.md").write_bytes(b"\xef\xbb\xbfPlain.  \r\n")
    (b / "c\xfc.md").unlink()
    (b / "new\x1b.md").write_bytes(b"x")
    code, lines = run(capsys, a, b)
    assert code == 1
    assert [line.split(": ")[0] for line in lines] == ["a.md"] * 3 + ["cü.md", "deep/b.md", "new\ufffd.md"] + lines[-1:]
    assert [line.split(": ")[1].split()[0] for line in lines[:3]] == ["body", "frontmatter", "chunks"]
    assert lines[2].startswith("a.md: chunks differ: 1, ")
    assert lines[3] == "cü.md: only in A" and lines[5].endswith(": only in B")
    assert lines[4].startswith("deep/b.md: bytes differ") and lines[6] == "4 of 4 notes differ"
    assert run(capsys, b, a)[0] == 1


def test_for_a_program(pair: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """--json is one object; hashes in full."""
    a, b = pair
    code, lines = run(capsys, a, b, "--json")
    told = json.loads(lines[0])
    assert code == 0 and told == {"equal": True, "files": {"a": 3, "b": 3}, "differences": []}
    (b / "deep/b.md").write_bytes(b"Other.\n")
    code, lines = run(capsys, a, b, "--json")
    (found,) = json.loads(lines[0])["differences"]
    assert code == 1 and (found["path"], found["what"]) == ("deep/b.md", "body")
    assert len(found["a"]) == len(found["b"]) == 64


def test_a_folder_that_is_not_there(pair: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 2 and one line, on either side; a file is no folder."""
    a, _ = pair
    for words in ((a, a / "none"), (a / "none", a), (a, a / "a.md")):
        code, lines = run(capsys, *words)
        assert code == 2 and len(lines) == 1 and lines[0].endswith("no such folder"), lines
    assert run(capsys, a / "deep", a / "deep") == (0, ["1 note: the same"])


def test_nothing_is_written_and_no_link_leads_out(
    pair: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A link to a note outside is no note; one inside is what the index takes it for; stamps stay as they were."""
    a, b = pair
    (tmp_path / "secret.md").write_text("elsewhere")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/x.md").write_text("elsewhere")
    (a / "out.md").symlink_to(tmp_path / "secret.md")
    (a / "out").symlink_to(tmp_path / "folder")
    (a / "loop").symlink_to(a)
    (a / "in.md").symlink_to("deep/b.md")
    (b / "in.md").write_bytes(NOTES["deep/b.md"])
    stamps = {path: path.lstat().st_mtime_ns for folder in pair for path in folder.rglob("*")}
    assert run(capsys, a, b) == (0, ["4 notes: the same"])
    assert {path: path.lstat().st_mtime_ns for folder in pair for path in folder.rglob("*")} == stamps


def test_what_the_configuration_says_of_reading_holds(
    pair: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first folder's own configuration: what it leaves out, and how a body is brought into its form."""
    a, b = pair
    (b / "deep/b.md").write_bytes(b"Plain.  \n")
    folder = tmp_path / "home/.config/mindnetd"
    folder.mkdir(parents=True)
    (folder / "v.yaml").write_text(f"vault: {a}\nignore: []\nhash: {{normalize: none}}\n")
    (b / "Templates/t.md").write_text("changed\n")
    code, lines = run(capsys, a, b)
    assert code == 1 and [line.split(" differ")[0] for line in lines[:2]] == ["Templates/t.md: body", "deep/b.md: body"]


def test_a_copy_with_the_name_of_the_original(
    pair: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A copy in a folder of the same name is not the vault of that configuration, and may be named first."""
    a, _ = pair
    copy = tmp_path / "backup" / a.name
    shutil.copytree(a, copy)
    folder = tmp_path / "home/.config/mindnetd"
    folder.mkdir(parents=True)
    (folder / "a-vault.yaml").write_text(f"vault: {a}\nignore: []\n")
    assert run(capsys, copy, a) == run(capsys, a, copy) == (0, ["4 notes: the same"])
