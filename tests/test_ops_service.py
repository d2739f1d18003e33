"""`mindnetd service`: the files it writes and the calls it makes; the real manager is in test_service_systemd.py."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from mindnetd import service
from mindnetd.config import load_config
from mindnetd.errors import ConfigError, MindnetError, VaultError
from mindnetd.settings.init import write_config

FAKE = """#!/bin/sh
echo "$@" >> "{log}"
case "$*" in
  *"restart mindnetd@"*) [ -f "{broken}" ] && rm "{broken}" && exit 1 ;;
  *ExecMainStatus*) echo 226 ;;
  *show*) printf 'ActiveState={state}\\nSubState=running\\nStatusText=ready\\nMainPID=7\\nUnitFileState=enabled\\n' ;;
esac
exit 0
"""


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A user whose systemctl writes down how it was called, and who has a model already."""
    (tmp_path / "bin").mkdir()
    fake_systemctl(tmp_path, "active")
    monkeypatch.setattr(service, "_take_model", lambda config, say: None)
    monkeypatch.setattr(service, "_take_systemd_python", lambda say: None)
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)
    return {"HOME": str(tmp_path / "home"), "XDG_RUNTIME_DIR": str(tmp_path), "PATH": path}


def fake_systemctl(tmp_path: Path, state: str) -> None:
    script = tmp_path / "bin/systemctl"
    script.write_text(FAKE.format(log=tmp_path / "calls", broken=tmp_path / "broken", state=state))
    script.chmod(script.stat().st_mode | stat.S_IXUSR)


def calls(tmp_path: Path) -> list[str]:
    return [line.removeprefix("--user ") for line in (tmp_path / "calls").read_text().splitlines()]


def vault(tmp_path: Path, name: str = "My Notes") -> Path:
    folder = tmp_path / name
    folder.mkdir()
    return folder


def test_install_and_uninstall(tmp_path: Path, env: dict[str, str]) -> None:
    """Install writes configuration, unit and drop-in, makes the folders, starts; uninstall keeps the user's own."""
    said: list[str] = []
    notes = vault(tmp_path)
    assert service.install(env, said.append, name=None, vault=str(notes)) == 0
    units = tmp_path / "home/.config/systemd/user"
    assert (units / "mindnetd@.service").is_file()
    text = (units / "mindnetd@my-notes.service.d/10-paths.conf").read_text()
    assert "$$c" not in text
    assert f'ReadOnlyPaths="{notes}"' in text
    assert f"ReadWritePaths={tmp_path}/home/.local/state/mindnetd\n" in text
    assert f"run --config {tmp_path}/home/.config/mindnetd/my-notes.yaml --name my-notes" in text
    assert (tmp_path / "home/.local/state/mindnetd").is_dir()
    assert (tmp_path / "home/.cache/mindnetd/models").is_dir()
    assert calls(tmp_path) == ["daemon-reload", "enable mindnetd@my-notes.service", "restart mindnetd@my-notes.service"]
    assert any("mindnet --vault my-notes query" in line for line in said)
    assert service.uninstall(env, said.append, name=None) == 0
    assert list(units.iterdir()) == []
    assert (tmp_path / "home/.config/mindnetd/my-notes.yaml").is_file()
    assert service.uninstall(env, said.append, name="my-notes") == 1
    assert list(notes.iterdir()) == []


def test_uninstall_keeps_the_template_of_others(tmp_path: Path, env: dict[str, str]) -> None:
    """The shared unit file goes with its last instance."""
    for name in ("one", "two"):
        service.install(env, lambda _: None, name=None, vault=str(vault(tmp_path, name)))
    units = tmp_path / "home/.config/systemd/user"
    service.uninstall(env, lambda _: None, name="one")
    assert (units / "mindnetd@.service").is_file()
    service.uninstall(env, lambda _: None, name="two")
    assert not (units / "mindnetd@.service").exists()


def test_no_user_namespaces(tmp_path: Path, env: dict[str, str]) -> None:
    """Where the unit fails with 226, it is started once more without the file system view, and that is said."""
    (tmp_path / "broken").touch()
    said: list[str] = []
    service.install(env, said.append, name=None, vault=str(vault(tmp_path, "x")))
    assert (tmp_path / "home/.config/systemd/user/mindnetd@x.service.d/20-no-namespaces.conf").is_file()
    assert any("without the read-only file system" in line for line in said)


def test_the_shells_variables_are_no_part_of_it(tmp_path: Path, env: dict[str, str]) -> None:
    """The database that the unit will use comes from the file, whatever the shell says."""
    service.install(
        env | {"MINDNET_DB": "/elsewhere/x.duckdb"}, lambda _: None, name=None, vault=str(vault(tmp_path, "x"))
    )
    text = (tmp_path / "home/.config/systemd/user/mindnetd@x.service.d/10-paths.conf").read_text()
    assert "elsewhere" not in text


@pytest.mark.parametrize(("state", "code"), [("active", 0), ("failed", 1)])
def test_status(tmp_path: Path, env: dict[str, str], state: str, code: int) -> None:
    """Status is a yes or a no, with what systemd says."""
    fake_systemctl(tmp_path, state)
    said: list[str] = []
    assert service.status(env, said.append, name="x") == code
    assert said[0] == f"mindnetd@x.service: {state} (running), enabled"
    assert "  status: ready" in said


def test_what_is_missing_is_said(tmp_path: Path, env: dict[str, str]) -> None:
    """No configuration, no vault, no session, no systemd: each a clear error."""
    with pytest.raises(ConfigError, match="mindnetd init"):
        service.install(env, lambda _: None, name=None, vault=None)
    with pytest.raises(ConfigError, match="no vault is configured; `mindnetd service install"):
        service.status(env, lambda _: None, name=None)
    notes = vault(tmp_path, "x")
    write_config(notes, env)
    notes.rmdir()
    with pytest.raises(VaultError, match="is not there"):
        service.install(env, lambda _: None, name="x", vault=None)
    with pytest.raises(MindnetError, match="XDG_RUNTIME_DIR"):
        service.status({k: v for k, v in env.items() if k != "XDG_RUNTIME_DIR"}, lambda _: None, name="x")
    fake_systemctl(tmp_path, "active")
    (tmp_path / "bin/systemctl").write_text("#!/bin/sh\necho Failed to connect to bus: No medium found >&2; exit 1\n")
    with pytest.raises(MindnetError, match=r"no session for this user .* or use mindnetd run"):
        service.status(env, lambda _: None, name="x")
    with pytest.raises(MindnetError, match="systemctl is not here"):
        service.status(env | {"PATH": "/nowhere"}, lambda _: None, name="x")


def test_strange_paths_survive(tmp_path: Path, env: dict[str, str]) -> None:
    """Spaces, quotes, percent and dollar signs in a path reach systemd literally."""
    file = write_config(vault(tmp_path, 'a "b" %h $c'), env).file
    text = service.drop_in(load_config(file, env), env)
    assert "$$c" not in text
    assert f'ReadOnlyPaths="{tmp_path}/a \\"b\\" %%h $c"' in text


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not here")
def test_unit_file_is_understood(tmp_path: Path) -> None:
    """systemd knows every key and value of the shipped unit."""
    from mindnetd.settings.share import shared_file

    text = shared_file("deploy", "mindnetd@.service").read_text().replace("%h/.local/bin/mindnetd", "/bin/true")
    (tmp_path / "mindnetd@.service").write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", str(tmp_path / "mindnetd@.service")],
        env={"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path), "PATH": os.environ["PATH"]},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert "mindnetd" not in done.stderr, done.stderr
