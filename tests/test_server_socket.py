"""The socket file: dead and live ones, other files, other users, and what is left behind."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from server_make import World, call, serve_world

from mindnetd.errors import ConfigError, Conflict
from mindnetd.serving.unix_socket import adopt_socket, bind_socket


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_a_new_socket_is_private(tmp_path: Path) -> None:
    """0600 in a folder of 0700, which is made with its parents; the file goes with the server."""
    path = tmp_path / "run" / "mindnetd" / "notes.sock"
    bound = bind_socket(path)
    assert (mode(path), mode(path.parent)) == (0o600, 0o700)
    bound.close()
    assert not path.exists()


def test_our_folder_is_tightened_but_no_other(tmp_path: Path) -> None:
    """A folder named mindnetd becomes 0700; one of another name keeps its mode."""
    for name, wanted in (("mindnetd", 0o700), ("home", 0o755)):
        folder = tmp_path / name
        folder.mkdir()
        folder.chmod(0o755)
        bind_socket(folder / "s.sock").close()
        assert mode(folder) == wanted


def test_a_dead_socket_is_replaced(tmp_path: Path) -> None:
    """What a killed daemon left behind is probed and taken over."""
    path = tmp_path / "s.sock"
    code = "import os, sys; from pathlib import Path; from mindnetd.serving.unix_socket import bind_socket; "
    subprocess.run([sys.executable, "-c", code + "b = bind_socket(Path(sys.argv[1])); os._exit(9)", path], check=False)
    assert path.is_socket()
    bind_socket(path).close()


def test_a_live_socket_is_refused_and_left_alone(tmp_path: Path) -> None:
    """A second daemon gets a clear message, and the first goes on."""
    path = tmp_path / "s.sock"
    first = bind_socket(path)
    with pytest.raises(Conflict, match="another mindnetd"):
        bind_socket(path)
    assert path.is_socket()
    first.close()


def test_a_foreign_listener_is_refused(tmp_path: Path) -> None:
    """Somebody else's live socket is never unlinked, even without our lock."""
    path = tmp_path / "s.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
        other.bind(str(path))
        other.listen()
        with pytest.raises(Conflict, match="answers"):
            bind_socket(path)
    assert path.is_socket()


@pytest.mark.parametrize("make", ["file", "folder", "link"])
def test_what_is_no_socket_is_left_alone(tmp_path: Path, make: str) -> None:
    """A file, a folder or a link in the place is an error that says what to do."""
    path = tmp_path / "s.sock"
    target = tmp_path / "target"
    target.write_text("precious")
    {"file": lambda: path.write_text("x"), "folder": path.mkdir, "link": lambda: path.symlink_to(target)}[make]()
    with pytest.raises(ConfigError, match="not a socket"):
        bind_socket(path)
    assert path.exists() and target.read_text() == "precious"


def test_a_long_path_is_refused(tmp_path: Path) -> None:
    """107 bytes work, 108 do not, counted as bytes."""
    room = 107 - len(os.fsencode(tmp_path)) - 1
    bind_socket(tmp_path / ("s" * room)).close()
    with pytest.raises(ConfigError, match="too long"):
        bind_socket(tmp_path / ("s" * (room + 1)))
    with pytest.raises(ConfigError, match="too long"):
        bind_socket(tmp_path / ("ä" * (room // 2 + 1)))


def test_only_our_own_file_is_removed(tmp_path: Path) -> None:
    """A socket that has replaced ours stays."""
    path = tmp_path / "s.sock"
    bound = bind_socket(path)
    path.unlink()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
        other.bind(str(path))
        bound.close()
        assert path.is_socket()


def test_an_unusable_folder_is_an_error(tmp_path: Path) -> None:
    """A file where the folder should be: one clear line."""
    (tmp_path / "blocked").write_text("")
    with pytest.raises(ConfigError, match="folder"):
        bind_socket(tmp_path / "blocked" / "s.sock")


def test_an_adopted_socket_keeps_its_file(tmp_path: Path) -> None:
    """A socket from systemd is used, and its file is not ours to remove."""
    path = tmp_path / "s.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as given:
        given.bind(str(path))
        given.listen()
        adopt_socket(os.dup(given.fileno())).close()
    assert path.is_socket()


def test_another_user_is_refused(tmp_path: Path) -> None:
    """A peer of another uid gets no answer even where the file's mode would let it in; its own user is served on."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to become another user")
    world = World(tmp_path)
    served = serve_world(world, tmp_path / "s.sock")
    served.path.chmod(0o777)
    for folder in (tmp_path, *tmp_path.parents):
        if not folder.stat().st_mode & 0o001:
            folder.chmod(folder.stat().st_mode | 0o011)
    assert _as_nobody(served.path) == b""
    assert call(served.path, "GET", "/status").status == 200
    served.stop()
    world.close()


def _as_nobody(path: Path) -> bytes:
    """What a process of uid 65534 reads after a request."""
    code = (
        "import os, socket, sys\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "s = socket.socket(socket.AF_UNIX); s.settimeout(10); s.connect(sys.argv[1])\n"
        "try:\n"
        "    s.sendall(b'GET /status HTTP/1.1\\r\\nHost: m\\r\\n\\r\\n'); got = s.recv(100)\n"
        "except (ConnectionResetError, BrokenPipeError):\n"
        "    got = b''\n"
        "sys.stdout.buffer.write(got)\n"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code, path], capture_output=True, check=True, timeout=30)
    return done.stdout
