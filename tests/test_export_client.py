"""``mindnet export``: a whole and checked folder, or none; never in the vault, never outside the folder."""

from __future__ import annotations

import hashlib
import io
import json
import signal
import socket
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from client_make import Mindnet, Ran
from conftest import wait_until
from server_make import Served, World, serve_world
from test_export import fill_odd, notes_on_disk

from mindnetd.client.export import MANIFEST


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("out")
    world = World(folder)
    fill_odd(world)
    running = serve_world(world, folder / "s.sock")
    yield running
    running.stop()
    world.close()


@pytest.fixture
def mindnet(served: Served, capsys: pytest.CaptureFixture[str]) -> Mindnet:
    return Mindnet(served.path, capsys)


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


def test_an_export_is_the_notes(mindnet: Mindnet, served: Served, tmp_path: Path) -> None:
    """Every note, byte for byte and with its time; private to the user; the message says how much and where."""
    target = tmp_path / "out"
    ran = mindnet("export", str(target))
    notes = notes_on_disk(served.world.vault)
    assert ran.code == 0 and ran.out.startswith(f"{len(notes)} notes, ") and f": {target}\n" in ran.out, ran
    assert names(target) == {*notes, MANIFEST}
    for name, path in notes.items():
        made = target / name
        assert made.read_bytes() == path.read_bytes(), name
        assert made.stat().st_mtime_ns == path.stat().st_mtime_ns, name
        assert made.stat().st_mode & 0o777 == 0o600
    assert all(path.stat().st_mode & 0o777 == 0o700 for path in (target, *target.rglob("*")) if path.is_dir())
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_for_a_program(mindnet: Mindnet, served: Served, tmp_path: Path) -> None:
    """--json tells the same as one object; an empty folder may be the target."""
    (tmp_path / "out").mkdir()
    ran = mindnet("export", str(tmp_path / "out") + "/", "--json")
    notes = notes_on_disk(served.world.vault)
    told = json.loads(ran.out)
    assert told.pop("edges") > 0 and told.pop("revision") == served.world.desk.revision
    size = sum(path.stat().st_size for path in notes.values())
    assert told == {"directory": str(tmp_path / "out"), "format": "md", "notes": len(notes), "bytes": size}


@pytest.mark.parametrize(
    ("format", "made"),
    [("jsonl", {"notes.jsonl"}), ("graphml", {"graph.graphml"}),
     ("parquet", {"notes.parquet", "chunks.parquet", "passages.parquet", "edges.parquet"})],
)  # fmt: skip
def test_other_formats(mindnet: Mindnet, tmp_path: Path, format: str, made: set[str]) -> None:
    """Their files, and the message names them."""
    ran = mindnet("export", str(tmp_path / "out"), "--format", format)
    assert ran.code == 0 and names(tmp_path / "out") == {*made, MANIFEST}
    assert all(name in ran.out for name in made)


def test_one_note(mindnet: Mindnet, served: Served, tmp_path: Path) -> None:
    """By any reference, hidden or not; what is not there is exit 1, and so is what is ambiguous, with candidates."""
    ran = mindnet("export", str(tmp_path / "out"), "--note", "secret")
    assert ran.code == 0 and ran.out.startswith("1 note, ")
    assert names(tmp_path / "out") == {"secret.md", MANIFEST}
    assert mindnet("export", str(tmp_path / "none"), "--note", "nobody").code == 1
    ran = mindnet("export", str(tmp_path / "none"), "--note", "same")
    assert ran.code == 1 and "a/Same.md" in ran.err
    assert mindnet("export", str(tmp_path / "none"), "--format", "pdf").code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


# ---------------------------------------------------------------------------------------------------------- the target


def test_never_into_the_vault(mindnet: Mindnet, served: Served, tmp_path: Path) -> None:
    """Not by its path, not by a link to it or into it, not by dots; nothing is made there."""
    vault = served.world.vault
    (tmp_path / "root").symlink_to(vault)
    (tmp_path / "deep").symlink_to(vault / "30_projects")
    (tmp_path / "new").symlink_to(vault / "not-there")
    before = names(vault)
    ways = (vault, vault / "x", vault / "a/x", tmp_path / "root", tmp_path / "root/x", tmp_path / "deep/x",
            tmp_path / "new", f"{tmp_path}/../{tmp_path.name}/deep/../y")  # fmt: skip
    for way in ways:
        ran = mindnet("export", str(way))
        assert ran.code == 2 and "inside the vault; choose another place" in ran.err, (way, ran)
        assert mindnet("backup", f"{way}/x.duckdb").code == 2
    assert names(vault) == before and not (vault / "not-there").exists()


def test_nothing_is_overwritten(mindnet: Mindnet, tmp_path: Path) -> None:
    """A file, a folder with something in it, a folder that cannot be made: exit 2, and all is as it was."""
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full/mine.md").write_text("mine")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / MANIFEST).write_text("{}")
    said = {"file": "is no folder", "full": "is not empty and no former export", "broken": "no former export",
            "no/such": "No such file or directory"}  # fmt: skip
    for name, words in said.items():
        ran = mindnet("export", str(tmp_path / name))
        assert ran.code == 2 and words in ran.err and ran.err.count("\n") == 1, ran
    assert names(tmp_path) == {"file", "full/mine.md", f"broken/{MANIFEST}"}


def test_a_former_export_is_replaced(mindnet: Mindnet, served: Served, tmp_path: Path) -> None:
    """All of it, also by one of another format; the old files are gone, and no other folder is left."""
    target = tmp_path / "out"
    for words in (["--note", "secret"], [], ["--format", "graphml"], []):
        assert mindnet("export", str(target), *words).code == 0
    assert names(target) == {*notes_on_disk(served.world.vault), MANIFEST}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("change", ["added", "edited", "linked", "folder"])
def test_what_was_done_in_a_former_export_is_kept(mindnet: Mindnet, tmp_path: Path, change: str) -> None:
    """A file that is not as it was exported would be lost: refused."""
    target = tmp_path / "out"
    assert mindnet("export", str(target), "--note", "pump").code == 0
    outside = tmp_path / "outside"
    outside.mkdir()
    if change == "added":
        (target / "mine.md").write_text("mine")
    elif change == "edited":
        (target / "pump.md").write_text("mine")
    elif change == "linked":
        (target / "mine").symlink_to(outside)
    else:
        (target / "sub/deeper").mkdir(parents=True)
        (target / "sub/deeper/.hidden").write_text("mine")
    before = names(target)
    ran = mindnet("export", str(target))
    assert ran.code == 2 and "is not as it was exported; choose another folder" in ran.err, ran
    assert names(target) == before and outside.is_dir()


def test_completion_knows_the_formats(mindnet: Mindnet) -> None:
    """--format of export is not that of subgraph."""
    script = mindnet("completion", "bash").out
    assert 'export:--format) words="md jsonl graphml parquet"' in script
    assert script.index("export:--format)") < script.index("*:--format)")
    asked = f'{script}\nCOMP_WORDS=(mindnet export --format ""); COMP_CWORD=3; _mindnet; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["md", "jsonl", "graphml", "parquet"]


# ------------------------------------------------------------------------------------------------- a daemon that lies


STATUS = {"vault": {"path": "/nowhere/at/all"}, "state": "ready"}


def archive(*extra: tarfile.TarInfo, note: bytes = b"text", manifest: bool = True, cut: int = 0) -> bytes:
    """An export with one note, and whatever else a daemon that is not ours might send."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        info = tarfile.TarInfo("note.md")
        info.size = len(note)
        tar.addfile(info, io.BytesIO(note))
        for one in extra:
            tar.addfile(one, io.BytesIO(b"evil") if one.isreg() else None)
        listed = [{"path": "note.md", "size": 4, "sha256": hashlib.sha256(b"text").hexdigest()}]
        content = {"manifest": "mindnet-export", "format": "md", "revision": 1, "notes": listed}
        raw = json.dumps({**content, "counts": {"notes": 1, "edges": 0}, "files": []}).encode()
        if manifest:
            info = tarfile.TarInfo(MANIFEST)
            info.size = len(raw)
            tar.addfile(info, io.BytesIO(raw))
    return out.getvalue()[: len(out.getvalue()) - cut]


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, 4 if kind == tarfile.REGTYPE else 0
    return info


@contextmanager
def lying(path: Path, body: bytes, length: int | None = None, state: str = "ready") -> Iterator[None]:
    """A socket that answers /status, and /export with `body`; a `length` beyond it is never fulfilled."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen()
    held: list[socket.socket] = []

    def serve() -> None:
        while True:
            try:
                peer, _ = server.accept()
            except OSError:
                return
            head = peer.recv(65536)
            content = json.dumps({**STATUS, "state": state}).encode() if b"/status" in head else body
            size = length if length is not None and b"/export" in head else len(content)
            peer.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n".encode() + content)
            if size != len(content) and length != len(body) + 1:
                held.append(peer)  # and says no more
            else:
                peer.close()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        for peer in held:
            peer.close()


def take(tmp_path: Path, capsys: pytest.CaptureFixture[str], body: bytes, **more: object) -> Ran:
    (tmp_path / "in").mkdir()
    with lying(tmp_path / "s.sock", body, **more):  # type: ignore[arg-type]
        return Mindnet(tmp_path / "s.sock", capsys)("export", str(tmp_path / "in/out"))


EVIL = [
    member("/abs.md"), member("../up.md"), member("a/../../up.md"), member("a//b.md"), member("./a.md"),
    member("note.md"), member("note.md/below.md"), member("link", tarfile.SYMTYPE, "/etc"),
    member("hard", tarfile.LNKTYPE, "note.md"), member("folder", tarfile.DIRTYPE), member("pipe", tarfile.FIFOTYPE),
    member("device", tarfile.CHRTYPE), member("more.md"), member("x" * 300 + ".md"),
]  # fmt: skip


@pytest.mark.parametrize("evil", EVIL, ids=lambda info: f"{info.name[:12]}-{info.type.decode()}")
def test_nothing_outside_the_folder_whatever_comes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], evil: tarfile.TarInfo
) -> None:
    """Paths that lead out, links, devices, names that come twice, files the manifest does not know: nothing is kept."""
    ran = take(tmp_path, capsys, archive(evil))
    assert ran.code in (2, 3) and ran.err.count("\n") == 1, ran
    assert names(tmp_path) == {"s.sock"} and list((tmp_path / "in").iterdir()) == []


@pytest.mark.parametrize(
    ("body", "length"),
    [(archive(manifest=False), None), (archive(note=b"tex!"), None), (archive(note=b"longer"), None), (b"", None),
     (archive(cut=9000), None), (archive()[:700], None), (b"no tar at all" * 100, None),
     (archive(), len(archive()) + 1)],
    ids=["no-manifest", "other-bytes", "longer", "empty", "cut", "cut-short", "no-tar", "broken-off"],
)  # fmt: skip
def test_half_an_export_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], body: bytes, length: int | None
) -> None:
    """What ends too early or is not what its manifest says is exit 3 with one line, and leaves nothing."""
    ran = take(tmp_path, capsys, body, length=length)
    assert ran.code == 3 and ran.err.count("\n") == 1, ran
    assert names(tmp_path) == {"s.sock"} and list((tmp_path / "in").iterdir()) == []


def test_an_export_of_a_daemon_that_is_not_done_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Notes may be missing while it still reads: a person must know."""
    ran = take(tmp_path, capsys, archive(), state="indexing")
    assert ran.code == 0 and "is indexing: notes may be missing" in ran.err
    assert names(tmp_path / "in/out") == {"note.md", MANIFEST}


def test_an_interrupt_leaves_nothing(tmp_path: Path) -> None:
    """Ctrl-C in the middle: exit 130, and no folder that could be taken for an export."""
    body = archive()[:1024]
    (tmp_path / "in").mkdir()
    with lying(tmp_path / "s.sock", body, length=10_000):
        command = [sys.executable, "-m", "mindnetd.client.main", "--socket", str(tmp_path / "s.sock"), "export"]
        with subprocess.Popen([*command, str(tmp_path / "in/out")], stderr=subprocess.PIPE) as process:
            wait_until(lambda: any((tmp_path / "in").iterdir()), what="it has begun")
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 130
    assert list((tmp_path / "in").iterdir()) == []
