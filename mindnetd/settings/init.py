"""Writing the first configuration of a vault. Never overwrites, never touches the vault."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mindnetd.errors import BadRequest, ConfigError
from mindnetd.settings.places import config_files, places, slug
from mindnetd.settings.share import shared_file


@dataclass(frozen=True)
class Written:
    """What `write_config` did: the file, the name of the instance, and Obsidian's exclusions that will be honoured.

    ``types`` is the file with the note types, None where it was there before.
    """

    file: Path
    name: str
    excluded: tuple[str, ...]
    types: Path | None = None


def write_config(vault: Path, env: Mapping[str, str], name: str | None = None) -> Written:
    """Write ``NAME.yaml`` for ``vault`` from the template, with vault and database spelled out, and ``types.yaml``.

    Raises BadRequest where the folder is missing, ConfigError where the name is taken.
    """
    if not vault.is_dir():
        raise BadRequest(f"{vault}: no such folder; give the folder of your notes")
    vault = Path(os.path.abspath(vault))  # noqa: PTH100 - `.` has no name; a link as vault keeps its own
    where = places(env)
    name = name or slug(vault.name)
    if name != slug(name):
        raise ConfigError(f"--name {name}: use lower-case letters, digits and -, for example {slug(name)}")
    taken = [p for p in config_files(where.config) if p.stem == name]
    if taken:
        raise ConfigError(f"{taken[0]} exists and is left as it is; edit it, or give another --name")
    excluded = obsidian_exclusions(vault)
    file = where.config / f"{name}.yaml"
    where.config.mkdir(parents=True, exist_ok=True, mode=0o700)
    db = where.state / f"{name}.duckdb"
    if db.resolve().is_relative_to(vault.resolve()):
        raise ConfigError(
            f"{vault}: mindnetd's own {where.state} is inside this folder, so this is no vault; "
            "give the folder of your notes: mindnetd init DIR (or set XDG_STATE_HOME elsewhere)"
        )
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write(fill_template(vault, db, excluded))
    except FileExistsError as error:
        raise ConfigError(f"{file} exists and is left as it is; edit it, or give another --name") from error
    return Written(file, name, excluded, _write_types(where.config))


def _write_types(folder: Path) -> Path | None:
    """Put the shipped ``types.yaml`` beside the configuration; None where one is there already, of whatever vault."""
    file = folder / "types.yaml"
    text = shared_file("config", "types.yaml").read_text("utf-8")
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write(text)
    except FileExistsError:
        return None
    return file


def fill_template(vault: Path, db: Path, excluded: tuple[str, ...]) -> str:
    """The template with its two lines filled in, and Obsidian's exclusions noted beside ``ignore``."""
    lines = []
    for line in shared_file("config", "mindnetd.yaml").read_text("utf-8").splitlines():
        if line.startswith("vault: "):
            line = f"vault: {_quoted(vault)}"
        elif line.startswith("db: "):
            line = f"db: {_quoted(db)}"
        elif line.startswith("#ignore: ") and excluded:
            lines.append(f"# Obsidian excludes here (read live from .obsidian/app.json): {json.dumps(list(excluded))}")
        lines.append(line)
    return "\n".join(lines) + "\n"


def _quoted(path: Path) -> str:
    """A path as YAML: as it is where that is safe, else in quotes as JSON writes it."""
    text = str(path)
    plain = all(c.isalnum() or c in "/._-" for c in text)
    return text if plain else json.dumps(text, ensure_ascii=False)


def obsidian_exclusions(vault: Path) -> tuple[str, ...]:
    """``userIgnoreFilters`` of ``.obsidian/app.json``; empty where there are none or the file cannot be read."""
    try:
        settings = json.loads((vault / ".obsidian/app.json").read_text("utf-8-sig"))
    except (OSError, ValueError):
        return ()
    found = settings.get("userIgnoreFilters") if isinstance(settings, dict) else None
    return tuple(f for f in found if isinstance(f, str)) if isinstance(found, list) else ()
