"""The command ``mindnetd`` as a person meets it: help, errors of one line, exit codes, first steps."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mindnetd import __version__, cli


def run(tmp_path: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a user of his own."""
    environment = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": str(tmp_path), **env}
    return subprocess.run(
        [sys.executable, "-m", "mindnetd.cli", *words],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("module", ["mindnetd.cli", "mindnetd.client.main"])
@pytest.mark.parametrize(
    ("where", "code", "told"), [(">/dev/full", 2, "cannot be written: No space left"), (">&-", 0, "")]
)
def test_nowhere_to_write(tmp_path: Path, module: str, where: str, code: int, told: str) -> None:
    """A full disk is told in one line; a closed output is nobody who listens."""
    words = "config show --vault notes" if module.endswith("cli") else "completion bash"
    line = f'"{sys.executable}" -c "import sys; from {module} import main; sys.exit(main())" {words} {where}'
    env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": str(tmp_path)}
    done = subprocess.run(
        line, shell=True, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr.count("\n")) == (code, bool(told))
    assert told in done.stderr


def test_version_and_help(tmp_path: Path) -> None:
    """Both answer at once and on stdout; the help names every command of the contract."""
    assert run(tmp_path, "--version").stdout == f"mindnetd {__version__}\n"
    done = run(tmp_path, "--help")
    assert done.returncode == 0
    for command in ("run", "index", "init", "service", "model", "config", "compare"):
        assert f"    {command} " in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "required: COMMAND"),
        (("fly",), "invalid choice: 'fly'"),
        (("run", "--wings"), "unrecognized arguments: --wings"),
        (("run",), "no vault: give --vault DIR, or write a configuration with `mindnetd init DIR`"),
        (("config", "show", "--config", "none.yaml"), "--config none.yaml: no such file"),
        (("config", "show", "--vault", "/v", "--set", "watch"), "--set watch: expects KEY=VALUE"),
        (
            ("config", "show", "--vault", "/v", "--hash-compare", "bdy"),
            "hash.compare expects one of body, frontmatter, full",
        ),
        (("index", "/no/such/folder"), "/no/such/folder: no such folder"),
        (("init", "/no/such/folder"), "/no/such/folder: no such folder"),
        (("service", "install", "--name", "x"), "mindnetd: "),
    ],
)
def test_wrong_use_is_one_line(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    """Wrong use is one line on stderr that says what and what to do, and exit code 2 (1 where a part is missing)."""
    done = run(tmp_path, *words)
    assert done.returncode == 2 or (words[:1] == ("service",) and done.returncode == 1)
    assert done.stderr.count("\n") == 1, done.stderr
    assert said in done.stderr
    assert done.stdout == ""


def test_first_steps(tmp_path: Path) -> None:
    """init, config check and config show lead from nothing to a configuration whose values are known."""
    vault = tmp_path / "My Notes"
    vault.mkdir()
    done = run(tmp_path, "init", str(vault))
    assert done.returncode == 0, done.stderr
    file = tmp_path / "home/.config/mindnetd/my-notes.yaml"
    assert f"wrote {file}" in done.stdout
    assert run(tmp_path, "init", str(vault)).returncode == 2
    done = run(tmp_path, "config", "check")
    assert done.stdout.startswith(
        f"{file}: correct; vault {vault}, database {tmp_path}/home/.local/state/mindnetd/my-notes"
    )
    shown = run(tmp_path, "config", "show", "--set", "watch.scan_s=7", MINDNET_RESOURCES__NICE="3").stdout
    assert "  scan_s: 7.0 " in shown
    assert "# --set watch.scan_s" in shown
    assert "# $MINDNET_RESOURCES__NICE" in shown
    assert list(vault.iterdir()) == []


def test_config_check_lists_every_problem(tmp_path: Path) -> None:
    """`config check` prints a line for each mistake, with its line in the file, and exits 2."""
    file = tmp_path / "x.yaml"
    file.write_text("vault: /v\nwotch: 1\nhash: {compare: 1}\n")
    done = run(tmp_path, "config", "check", "--config", str(file))
    assert done.returncode == 2
    assert [line.split(": ")[0] for line in done.stderr.splitlines()] == [f"{file}:2", f"{file}:3"]


def test_model_list_works_with_nothing(tmp_path: Path) -> None:
    """An empty cache still lists what could be fetched; verifying what is not there is a no."""
    assert "all-MiniLM-L6-v2  not fetched, pinned" in run(tmp_path, "model", "list").stdout
    done = run(tmp_path, "model", "verify")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)


def test_init_in_the_folder_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without DIR the folder one stands in is meant, and gives the name; the home folder is no vault."""
    notes = tmp_path / "My Notes"
    notes.mkdir()
    monkeypatch.chdir(notes)
    assert "/my-notes.yaml\n" in run(tmp_path, "init").stdout
    assert f'vault: "{notes}"' in (tmp_path / "home/.config/mindnetd/my-notes.yaml").read_text()
    monkeypatch.chdir(tmp_path / "home")
    assert "give the folder of your notes: mindnetd init DIR" in run(tmp_path, "init").stderr


def test_model_use(tmp_path: Path) -> None:
    """A back end is written into the only configuration; without one, or without a name, it is said what is missing."""
    assert run(tmp_path, "model", "use").returncode == 2
    assert "no vault" in run(tmp_path, "model", "use", "onnx").stderr
    vault = tmp_path / "notes"
    vault.mkdir()
    run(tmp_path, "init", str(vault))
    assert "embedding.backend is onnx" in run(tmp_path, "model", "use", "onnx").stdout
    assert "  backend: onnx " in run(tmp_path, "config", "show").stdout


def test_interrupt_and_closed_pipe(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """Ctrl-C is 130, and a reader that has gone is no error."""

    def interrupt(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_config", interrupt)
    assert cli.main(["config", "show"]) == 130
    done = subprocess.run(
        f"{sys.executable} -m mindnetd.cli --help | true; exit ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        check=False,
    )
    assert done.returncode in (0, 120)
    assert "Traceback" not in capfd.readouterr().err
