"""Where files go: the XDG folders, and the name of an instance. Creates nothing."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

CONFIG_SUFFIXES = (".yaml", ".yml", ".json")


@dataclass(frozen=True)
class Places:
    """The folders of mindnetd for one user; none of them need exist."""

    home: Path = Path()
    config: Path = Path()
    state: Path = Path()
    models: Path = Path()
    runtime: Path = Path()


def places(env: Mapping[str, str]) -> Places:
    """The folders that an environment stands for. Relative XDG values are ignored, as the standard asks."""
    home = Path(env.get("HOME") or Path.home())

    def xdg(variable: str, default: Path) -> Path:
        value = env.get(variable, "")
        return Path(value) if value.startswith("/") else default

    # a user unit of systemd 252 puts its StateDirectory elsewhere than newer ones do; where it says so, believe it
    state = env.get("STATE_DIRECTORY", "").split(":")[0]
    state_folder = Path(state) if state.startswith("/") else xdg("XDG_STATE_HOME", home / ".local/state") / "mindnetd"
    cache = env.get("MINDNET_MODEL_CACHE") or xdg("XDG_CACHE_HOME", home / ".cache") / "mindnetd/models"
    return Places(
        home=home,
        config=xdg("XDG_CONFIG_HOME", home / ".config") / "mindnetd",
        state=state_folder,
        models=Path(cache).absolute(),
        runtime=_runtime(env, state_folder),
    )


def _runtime(env: Mapping[str, str], state: Path) -> Path:
    """Where sockets lie: the runtime folder, else /run/user/UID where that exists, else the state folder."""
    if env.get("XDG_RUNTIME_DIR", "").startswith("/"):
        return Path(env["XDG_RUNTIME_DIR"]) / "mindnetd"
    user = Path(f"/run/user/{os.getuid()}")
    return user / "mindnetd" if user.is_dir() else state


def slug(name: str) -> str:
    """A name for files and units: Latin letters, digits and ``-``; ``vault`` where nothing is left."""
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss")).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-") or "vault"


def config_files(folder: Path) -> list[Path]:
    """The configuration files of all instances, sorted; retrieval and types files are not among them."""
    if not folder.is_dir():
        return []
    return sorted(
        p
        for p in folder.iterdir()
        if p.suffix in CONFIG_SUFFIXES and p.stem not in ("retrieval", "types") and p.is_file()
    )
