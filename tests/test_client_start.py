"""``mindnet`` before it talks to anybody: which socket, wrong use, what it imports, completion."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from client_make import run_process

from mindnetd.client.commands import COMMANDS
from mindnetd.client.completion import bash, fish, zsh
from mindnetd.client.locate import UnclearError, find_socket
from mindnetd.client.transport import UnreachableError, query_string, quote

HEAVY = {"asyncio", "http.client", "urllib.parse", "pathlib", "dataclasses", "inspect", "pydantic", "fastapi", "numpy",
         "duckdb", "logging", "ssl", "email"}  # fmt: skip


def listening(path: Path) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.bind(str(path))
    sock.listen()
    return sock


@pytest.fixture
def runtime(tmp_path: Path) -> Path:
    folder = tmp_path / "mindnetd"
    folder.mkdir()
    return folder


def env_of(runtime: Path, **more: str) -> dict[str, str]:
    return {"XDG_RUNTIME_DIR": str(runtime.parent), **more}


def test_what_is_given_wins(runtime: Path) -> None:
    """--socket, then --vault, then $MINDNETD_SOCKET."""
    env = env_of(runtime, MINDNETD_SOCKET="/env.sock")
    assert find_socket("/a.sock", "notes", env) == "/a.sock"
    assert find_socket(None, "notes", env) == str(runtime / "notes.sock")
    assert find_socket(None, None, env) == "/env.sock"


def test_the_one_socket_is_taken(runtime: Path) -> None:
    """One socket needs no option; among several the one that answers."""
    with listening(runtime / "a.sock"):
        assert find_socket(None, None, env_of(runtime)) == str(runtime / "a.sock")
        listening(runtime / "dead.sock").close()
        assert find_socket(None, None, env_of(runtime)) == str(runtime / "a.sock")


def test_several_daemons_are_listed(runtime: Path) -> None:
    """Two live sockets are exit 2 with their names."""
    with listening(runtime / "work.sock"), listening(runtime / "home.sock"):
        with pytest.raises(UnclearError, match="home, work"):
            find_socket(None, None, env_of(runtime))
        ran = run_process("status", env=env_of(runtime))
    assert ran.returncode == 2 and "home, work" in ran.stderr and ran.stderr.count("\n") == 1


def test_a_name_that_nobody_has_lists_those_there_are(runtime: Path) -> None:
    """A mistyped --vault is exit 3 and says which names there are."""
    with listening(runtime / "home.sock"):
        ran = run_process("status", "--vault", "hoem", env=env_of(runtime))
    assert ran.returncode == 3 and "hoem" in ran.stderr and "there are: home" in ran.stderr


def test_wrong_use_is_one_line_and_exit_2(runtime: Path) -> None:
    """A missing argument, an unknown command, a value of the wrong kind: one line that says where to read more."""
    for words in ([], ["nonsense"], ["query"], ["query", "x", "-k", "many"], ["status", "--nope"]):
        ran = run_process(*words, env=env_of(runtime))
        assert ran.returncode == 2 and ran.stdout == "", words
        assert ran.stderr.startswith("mindnet: ") and "--help" in ran.stderr and ran.stderr.count("\n") == 1, words


def test_no_daemon_is_exit_3(runtime: Path) -> None:
    """No socket, a dead one, a missing one: exit 3 and what to do."""
    with pytest.raises(UnreachableError, match="mindnetd run"):
        find_socket(None, None, env_of(runtime))
    assert run_process("status", env=env_of(runtime)).returncode == 3
    listening(runtime / "dead.sock").close()
    for words in (["status"], ["status", "--vault", "dead"], ["status", "--socket", str(runtime / "none.sock")]):
        ran = run_process(*words, env=env_of(runtime))
        assert ran.returncode == 3 and ran.stderr.startswith("mindnet: ") and ran.stderr.count("\n") == 1


def test_without_a_runtime_folder_the_state_folder_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """XDG_RUNTIME_DIR unset and no /run/user/UID: the state folder."""
    from mindnetd.client import locate

    monkeypatch.setattr(locate.os.path, "isdir", lambda _: False)
    assert find_socket(None, "n", {"XDG_STATE_HOME": str(tmp_path)}) == str(tmp_path / "mindnetd" / "n.sock")
    monkeypatch.setattr(locate.os.path, "isdir", lambda _: True)
    assert find_socket(None, "n", {}).startswith("/run/user/")


def test_client_and_daemon_agree_on_the_place(tmp_path: Path) -> None:
    """The two sides, which share no code, name the same folder."""
    from mindnetd.client.locate import folder
    from mindnetd.settings.places import places

    for env in ({"XDG_RUNTIME_DIR": str(tmp_path)}, {"XDG_STATE_HOME": str(tmp_path)}, {}):
        assert folder(env) == str(places({"HOME": str(Path.home()), **env}).runtime)


@pytest.mark.parametrize(
    "words", [["frob"], [], ["query"], ["query", "x", "-k", "many"], ["note"], ["--color", "odd", "stats"]]
)
def test_wrong_use_is_exit_2(words: list[str]) -> None:
    """Unknown commands and bad values."""
    ran = run_process(*words)
    assert ran.returncode == 2 and "Traceback" not in ran.stderr


def test_version_and_help() -> None:
    """Both commands have them; help lists every command."""
    assert run_process("--version").stdout.startswith("mindnet 0.")
    text = run_process("--help").stdout
    assert all(command.name in text for command in COMMANDS)
    assert "--explain" in run_process("query", "--help").stdout


def test_a_server_that_breaks_off_is_exit_3(tmp_path: Path) -> None:
    """An answer that ends too early, or is none, is never shown as an answer."""
    import threading

    for answer in (b"", b"junk\r\n\r\n", b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{",
                   b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{\r\n"):  # fmt: skip
        path = tmp_path / "s.sock"
        path.unlink(missing_ok=True)
        with listening(path) as sock:

            def serve(sock: socket.socket = sock, answer: bytes = answer) -> None:
                connection, _ = sock.accept()
                connection.recv(65536)
                connection.sendall(answer)
                connection.close()

            thread = threading.Thread(target=serve)
            thread.start()
            ran = run_process("stats", "--socket", str(path))
            thread.join(20)
        assert ran.returncode == 3 and "Traceback" not in ran.stderr, answer


def test_it_imports_nothing_heavy() -> None:
    """The start costs a few modules; not one of the daemon's."""
    code = (
        "import sys; before = set(sys.modules)\n"  # an editable installation brings modules of its own
        "from mindnetd.client import main, ask, browse, explain, graph, state; print(*set(sys.modules) - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not loaded & HEAVY
    assert {name for name in loaded if name.startswith("mindnetd.")} <= {
        f"mindnetd.client{part}" for part in
        ("", ".main", ".ask", ".browse", ".explain", ".graph", ".state", ".commands", ".locate", ".paint", ".transport")
    }  # fmt: skip


def test_quoting_is_percent_encoding() -> None:
    """As urllib does it, for any text."""
    from urllib.parse import quote as reference

    for text in ("a/b c", "ä?#%&=+", "日本", "a\\xffb", "~._-"):
        assert quote(text) == reference(text, safe="")
    assert query_string({"a": None, "b": [], "c": ["x", "y"], "d": True}) == "?c=x&c=y&d=true"


# -------------------------------------------------------------------------------------------------------- completion


@pytest.mark.parametrize("script", [bash, zsh, fish])
def test_completion_knows_every_command_and_option(script: object) -> None:
    """Whatever the shell, no command and no option is forgotten."""
    text = script()  # type: ignore[operator]
    for command in COMMANDS:
        assert command.name in text
        for opt in command.opts:
            assert all(flag.lstrip("-") in text for flag in opt.flags)


def complete(*words: str) -> set[str]:
    """What bash would offer for the last of ``words``."""
    quoted = " ".join(f"'{word}'" for word in words)
    code = (
        f"{bash()}\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _mindnet; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    assert not done.stderr
    return set(done.stdout.split())


def test_bash_completes() -> None:
    """Commands, options of the command at hand, and the values of an option."""
    assert complete("mindnet", "sta") == {"stats", "status"}
    assert "--explain" in complete("mindnet", "query", "--ex")
    assert complete("mindnet", "--json", "subgraph", "x", "--format", "m") == {"mermaid"}
    assert complete("mindnet", "completion", "z") == {"zsh"}
    assert complete("mindnet", "query", "--type", "") == set()


@pytest.mark.parametrize(("shell", "script"), [("zsh", zsh), ("fish", fish)])
def test_other_shells_accept_their_script(shell: str, script: object, tmp_path: Path) -> None:
    """The shell itself reads it without an error."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    file = tmp_path / "script"
    file.write_text(script())  # type: ignore[operator]
    subprocess.run([shell, "-n", file], check=True, timeout=20)
