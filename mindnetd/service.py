"""The systemd user unit of a vault: install, uninstall, status. Talks to ``systemctl --user`` only.

``deploy/mindnetd@.service`` is installed as it is; what differs from machine to machine (the program's path, the
folders that may be written, the vault that may not) goes into a drop-in beside it, one an instance.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from mindnetd.cli_model import fetch_model
from mindnetd.config import Config, find_config, load_config
from mindnetd.errors import ConfigError, MindnetError, ModelError, VaultError
from mindnetd.settings.init import write_config
from mindnetd.settings.places import config_files, places
from mindnetd.settings.share import shared_file

Say = Callable[[str], None]
TEMPLATE = "mindnetd@.service"
NAMESPACE_FAILED = "226"
"""The exit status of a unit whose file system view could not be made (no user namespaces on this machine)."""
START_S = 150.0


class ServiceError(MindnetError):
    """systemd is not there or did not do what it was asked."""

    code = "service"


@dataclass(frozen=True)
class Instance:
    """One vault's unit: its name and the files that belong to it."""

    name: str
    units: Path

    @property
    def unit(self) -> str:
        """The unit's full name."""
        return f"mindnetd@{self.name}.service"

    @property
    def drop_ins(self) -> Path:
        """The folder of this instance's drop-ins."""
        return self.units / f"{self.unit}.d"


def install(env: Mapping[str, str], say: Say, *, name: str | None, vault: str | None) -> int:
    """Install, enable and start the unit; writes a configuration first where ``vault`` has none. Returns 0."""
    _require_systemd(env)
    file = _config_file(env, say, name, vault)
    # the shell's own MINDNET_ variables are no part of the service: what counts is what the unit will see
    config = load_config(file, {k: v for k, v in env.items() if not k.startswith("MINDNET_")})
    if not config.vault.is_dir():
        raise VaultError(f"{file}: the vault {config.vault} is not there")
    instance = Instance(config.name, _unit_folder(env))
    for folder in (config.db.parent, config.places.models):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    _take_systemd_python(say)
    _take_model(config, say)
    instance.drop_ins.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(shared_file("deploy", TEMPLATE), instance.units / TEMPLATE)
    (instance.drop_ins / "10-paths.conf").write_text(drop_in(config, env), encoding="utf-8")
    (instance.drop_ins / "20-no-namespaces.conf").unlink(missing_ok=True)
    _systemctl(env, "daemon-reload")
    _systemctl(env, "enable", instance.unit)
    _start(env, say, instance)
    say(f"{instance.unit} runs and starts with your session (loginctl enable-linger: with the machine)")
    say(f"ask it: mindnet --vault {instance.name} query 'your question'")
    return 0


def uninstall(env: Mapping[str, str], say: Say, *, name: str | None) -> int:
    """Stop and remove the unit; configuration and database stay. Returns 0, or 1 if it was not installed."""
    _require_systemd(env)
    instance = Instance(_name(env, name), _unit_folder(env))
    if not instance.drop_ins.is_dir():
        say(f"{instance.unit} is not installed")
        return 1
    _systemctl(env, "disable", "--now", instance.unit)
    shutil.rmtree(instance.drop_ins)
    if not any(instance.units.glob("mindnetd@*.service.d")):
        (instance.units / TEMPLATE).unlink(missing_ok=True)
    _systemctl(env, "daemon-reload")
    _systemctl(env, "reset-failed", instance.unit, check=False)
    say(f"{instance.unit} is removed; configuration and database stay where they are")
    return 0


def status(env: Mapping[str, str], say: Say, *, name: str | None) -> int:
    """What systemd says of the unit. Returns 0 if it is active, else 1."""
    _require_systemd(env)
    instance = Instance(_name(env, name), _unit_folder(env))
    fields = "ActiveState,SubState,StatusText,MainPID,UnitFileState,Result,NRestarts"
    shown = _systemctl(env, "show", f"--property={fields}", instance.unit)
    found = dict(line.partition("=")[::2] for line in shown.splitlines())
    enabled = found.get("UnitFileState") or "absent"
    say(f"{instance.unit}: {found.get('ActiveState')} ({found.get('SubState')}), {enabled}")
    for label, field in (("status", "StatusText"), ("pid", "MainPID"), ("restarts", "NRestarts"), ("result", "Result")):
        if found.get(field):
            say(f"  {label}: {found[field]}")
    return 0 if found.get("ActiveState") == "active" else 1


# --- the files --------------------------------------------------------------------------------------------------------


def drop_in(config: Config, env: Mapping[str, str]) -> str:
    """The drop-in of one instance: program, folders, vault, and the variables that the folders depend on."""
    writable = [config.db.parent, config.places.models.parent]
    lines = [
        "# written by `mindnetd service install`; written anew by the next one",
        "[Service]",
        "ExecStart=",
        f"ExecStart={_command_line(*_program(), 'run', '--config', str(config.file), '--name', config.name)}",
        "ReadWritePaths=",
        *(f"ReadWritePaths={_escape(str(path))}" for path in dict.fromkeys(writable)),
        f"ReadOnlyPaths={_escape(str(config.vault.resolve()))}",
    ]
    if config.vault.resolve().is_relative_to("/tmp") or config.vault.resolve().is_relative_to("/var/tmp"):
        lines.append("PrivateTmp=no")  # a private /tmp would hide the vault
    if importlib.util.find_spec("openvino") is not None:
        lines.append("MemoryDenyWriteExecute=no")  # its kernels are compiled at run time
    kept = ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "MINDNET_MODEL_CACHE")
    lines += [f"Environment={_escape(f'{key}={env[key]}')}" for key in kept if env.get(key)]
    return "\n".join(lines) + "\n"


def _program() -> list[str]:
    """How this very installation is started."""
    return [sys.executable, "-m", "mindnetd.cli"]


def _escape(word: str) -> str:
    """A word of a unit file, in quotes where needed, specifiers taken literally."""
    text = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return text if all(c.isalnum() or c in "/._-=:@+" for c in text) else f'"{text}"'


def _command_line(*words: str) -> str:
    """A command of a unit file; only there a dollar sign is something special."""
    return " ".join(_escape(word).replace("$", "$$") for word in words)


def _unit_folder(env: Mapping[str, str]) -> Path:
    return places(env).config.parent / "systemd/user"


def _config_file(env: Mapping[str, str], say: Say, name: str | None, vault: str | None) -> Path:
    """The configuration to serve; written now where only the vault is named."""
    file = find_config(env, file=None, name=name, vault=vault)
    if file is None and vault is not None:
        file = write_config(Path(vault).expanduser(), env, name).file
        say(f"wrote {file}")
    if file is None:
        raise ConfigError("no configuration: `mindnetd init DIR` first, or give --vault DIR")
    return file


def _name(env: Mapping[str, str], name: str | None) -> str:
    if name is not None:
        return name
    files = config_files(places(env).config)
    if len(files) != 1:
        known = ", ".join(p.stem for p in files)
        raise ConfigError(
            f"several vaults are configured; choose with --name: {known}"
            if files
            else "no vault is configured; `mindnetd service install --vault DIR` does it"
        )
    return files[0].stem


# --- systemd ----------------------------------------------------------------------------------------------------------


def _require_systemd(env: Mapping[str, str]) -> None:
    if shutil.which("systemctl", path=env.get("PATH", os.defpath)) is None:
        raise ServiceError("systemctl is not here; run `mindnetd run` from your own supervisor instead")
    if not env.get("XDG_RUNTIME_DIR"):
        raise ServiceError("XDG_RUNTIME_DIR is not set: log in as the user himself (not by su or sudo) and try again")


def _systemctl(env: Mapping[str, str], *words: str, check: bool = True) -> str:
    """Run ``systemctl --user``; its output. Raises ServiceError with what it said."""
    try:
        done = subprocess.run(
            ["systemctl", "--user", *words], env=dict(env), capture_output=True, text=True, timeout=START_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise ServiceError(f"systemctl --user {' '.join(words)} did not end within {START_S:g} s") from error
    if check and done.returncode != 0:
        said = " ".join((done.stderr or done.stdout).split()) or f"exit status {done.returncode}"
        if "connect to bus" in said:
            raise ServiceError(
                f"systemd has no session for this user ({said}); log in as the user, or use mindnetd run"
            )
        raise ServiceError(f"systemctl --user {' '.join(words)}: {said}")
    return done.stdout


def _start(env: Mapping[str, str], say: Say, instance: Instance) -> None:
    """Start the unit; where the machine cannot make its file system view, once more without it, and say so."""
    try:
        _systemctl(env, "restart", instance.unit)
    except ServiceError:
        shown = _systemctl(env, "show", "--property=ExecMainStatus", "--value", instance.unit, check=False)
        if shown.strip() != NAMESPACE_FAILED:
            raise
        shutil.copyfile(shared_file("deploy", "no-namespaces.conf"), instance.drop_ins / "20-no-namespaces.conf")
        _systemctl(env, "daemon-reload")
        _systemctl(env, "reset-failed", instance.unit, check=False)
        _systemctl(env, "restart", instance.unit)
        say("this machine has no user namespaces: the unit runs without the read-only file system")


def _take_model(config: Config, say: Say) -> None:
    """Fetch the model now, so that the service need not; without it the daemon serves the words and tries again."""
    if config.embedding.backend == "ollama":
        return
    try:
        fetch_model(config.embedding.model, config.places.models, say)
    except ModelError as error:
        say(f"no model yet, the words are searchable meanwhile: {error.message}")


def _take_systemd_python(say: Say) -> None:
    """Install the optional binding where its headers are and this is a virtual environment; without it ours serves."""
    if importlib.util.find_spec("systemd") is not None or sys.prefix == sys.base_prefix:
        return
    if shutil.which("pkg-config") is None or subprocess.run(["pkg-config", "--exists", "libsystemd"]).returncode != 0:
        return
    command = [sys.executable, "-m", "pip", "install", "--quiet", "systemd-python==235"]
    done = subprocess.run(command, capture_output=True, check=False, timeout=300)
    say("installed systemd-python" if done.returncode == 0 else "systemd-python cannot be built here; not needed")
