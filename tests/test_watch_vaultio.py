"""Looking at and reading one file: never past the vault's border, never half a save."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mindnetd.watching import vaultio
from mindnetd.watching.vaultio import Gone, Look, ReadOutcome, Unreadable, Unstable, look, open_for_writing, read_stable

LIMIT = 1000


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A vault with one note in a folder, and a file beside the vault."""
    (tmp_path / "vault/sub").mkdir(parents=True)
    (tmp_path / "vault/sub/a.md").write_text("text")
    (tmp_path / "secret.md").write_text("secret")
    return tmp_path / "vault"


def test_reads_bytes_and_stat(vault: Path) -> None:
    """The stat is the one of the bytes."""
    outcome = read_stable(vault, "sub/a.md", max_bytes=LIMIT)
    assert isinstance(outcome, ReadOutcome) and outcome.raw == b"text"
    seen = look(vault, "sub/a.md")
    assert seen.stat == outcome.stat and seen.error is None


def test_absence_is_gone(vault: Path) -> None:
    """No file, no folder, a folder called like a note, a pipe: there is no such note."""
    (vault / "dir.md").mkdir()
    os.mkfifo(vault / "pipe.md")
    for path in ("no.md", "no/a.md", "sub/a.md/x.md", "dir.md", "pipe.md", "n" * 300 + ".md"):
        assert read_stable(vault, path, max_bytes=LIMIT) == Gone()
        assert look(vault, path) == Look()


@pytest.mark.parametrize(
    "path", ["../secret.md", "sub/../../secret.md", "/etc/passwd", "", ".", "sub//a.md", "\0.md", "\ud800.md"]
)
def test_a_path_cannot_climb_out(vault: Path, path: str) -> None:
    """Only vault paths lead anywhere."""
    assert read_stable(vault, path, max_bytes=LIMIT) == Gone()


def test_links_out_are_not_followed(vault: Path) -> None:
    """Neither a file link, nor a folder link on the way, nor a chain of links, leaves the vault."""
    (vault / "out.md").symlink_to("../secret.md")
    (vault / "chain.md").symlink_to("out.md")
    (vault / "up").symlink_to("..")
    (vault / "loop.md").symlink_to("loop.md")
    for path in ("out.md", "chain.md", "up/secret.md", "up/vault/sub/a.md", "loop.md"):
        assert read_stable(vault, path, max_bytes=LIMIT) == Gone(), path


def test_a_link_inside_is_followed_but_not_into_dot_folders(vault: Path) -> None:
    """A link to another note is that note's text; what is in the trash does not come back by a link."""
    (vault / ".trash").mkdir()
    (vault / ".trash/old.md").write_text("old")
    (vault / "link.md").symlink_to("sub/a.md")
    (vault / "back.md").symlink_to(".trash/old.md")
    outcome = read_stable(vault, "link.md", max_bytes=LIMIT)
    assert isinstance(outcome, ReadOutcome) and outcome.raw == b"text"
    assert read_stable(vault, "back.md", max_bytes=LIMIT) == Gone()


def test_the_root_may_be_a_link(vault: Path) -> None:
    """Only the vault's own folder may be reached by a link."""
    (vault.parent / "door").symlink_to("vault")
    assert isinstance(read_stable(vault.parent / "door", "sub/a.md", max_bytes=LIMIT), ReadOutcome)


def test_too_large_is_said(vault: Path) -> None:
    """A file over the limit is neither read nor gone."""
    (vault / "big.md").write_bytes(b"x" * (LIMIT + 1))
    outcome = read_stable(vault, "big.md", max_bytes=LIMIT)
    assert isinstance(outcome, Unreadable) and outcome.code == "too_large" and "1001" in outcome.message


def test_a_lost_root_is_no_deletion(vault: Path) -> None:
    """Missing, or another folder than the one watched: unreadable, never gone."""
    known = vaultio.root_identity(vault)
    vault.rename(vault.parent / "away")
    for outcome in (read_stable(vault, "sub/a.md", max_bytes=LIMIT), read_stable(vault, "no.md", max_bytes=LIMIT)):
        assert isinstance(outcome, Unreadable) and outcome.code == "vault"
    vault.mkdir()
    assert look(vault, "sub/a.md", root_id=known).error is not None
    assert read_stable(vault, "sub/a.md", max_bytes=LIMIT) == Gone()


@pytest.mark.parametrize(
    ("number", "code"), [(errno.EACCES, "denied"), (errno.EIO, "io"), (errno.ESTALE, "io"), (errno.ENOTCONN, "io")]
)
def test_an_unreadable_folder_is_no_deletion(
    vault: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: str
) -> None:
    """Where entering a folder is denied or fails, a file below is unreadable and not gone."""
    real = os.open

    def denying(path: str, flags: int, **kwargs: int) -> int:
        if path == "sub":
            raise OSError(number, os.strerror(number), path)  # root is denied nothing, so it is said for it
        return real(path, flags, **kwargs)

    monkeypatch.setattr(vaultio.os, "open", denying)
    for path in ("sub/a.md", "sub/no.md"):
        outcome = read_stable(vault, path, max_bytes=LIMIT)
        assert isinstance(outcome, Unreadable) and outcome.code == code and path in outcome.message
        assert look(vault, path).error is not None


def test_a_writer_is_seen(vault: Path) -> None:
    """A file that someone has open for writing is told from one that only readers have open."""
    path = vault / "sub/a.md"
    assert open_for_writing(path) is False
    with path.open("rb"):
        assert open_for_writing(path) is False
    with path.open("ab"):
        assert open_for_writing(path) is True
        assert look(vault, "sub/a.md").open_for_write is True
    assert open_for_writing(path) is False
    assert open_for_writing(vault / "no.md") is None


def test_asking_for_writers_disturbs_nobody(vault: Path) -> None:
    """Many questions while another process opens and writes: it is not stopped, and no signal ends us."""
    path = vault / "sub/a.md"
    code = "import sys\nfor n in range(2000): open(sys.argv[1], 'w').write(str(n))"
    with subprocess.Popen([sys.executable, "-c", code, str(path)]) as writer:
        while writer.poll() is None:
            open_for_writing(path)
    assert writer.returncode == 0 and path.read_text() == "1999"


def test_a_file_that_changes_under_the_reader_is_unstable(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes are given out only if the file is the same before and after reading, and still at its path."""
    path = vault / "sub/a.md"
    real = os.read

    def saving(fd: int, size: int) -> bytes:
        path.write_text("save")
        return real(fd, size)

    monkeypatch.setattr(vaultio.os, "read", saving)
    assert read_stable(vault, "sub/a.md", max_bytes=LIMIT) == Unstable()

    def replacing(fd: int, size: int) -> bytes:
        (vault / "new").write_text("new text")
        (vault / "new").rename(path)
        return real(fd, size)

    monkeypatch.setattr(vaultio.os, "read", replacing)
    assert read_stable(vault, "sub/a.md", max_bytes=LIMIT) == Unstable()


def test_names_that_are_no_text(vault: Path) -> None:
    """Undecodable bytes are written as ``\\xNN`` and found again; a name that really reads so is found too."""
    name = os.fsdecode(b"caf\xe9.md")
    (vault / name).write_text("latin")
    (vault / r"real\xe9.md").write_text("literal")
    assert vaultio.vault_name(name) == r"caf\xe9.md" and vaultio.disk_name(r"caf\xe9.md") == name
    for path, text in ((r"caf\xe9.md", b"latin"), (r"real\xe9.md", b"literal")):
        outcome = read_stable(vault, path, max_bytes=LIMIT)
        assert isinstance(outcome, ReadOutcome) and outcome.raw == text
