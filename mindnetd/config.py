"""The configuration: every key with its default and what it may be, and how flags, environment and file are merged.

Flags win over the environment (``MINDNET_SECTION__KEY``, and ``MINDNET_HASH_COMPARE|SOURCE|NORMALIZE``), that over the
file, that over the defaults. Only the daemon's composition root reads this; below it, values come in as arguments.
"""

# ruff: noqa: RUF009 -- `_key` and `_section` only describe a field; the values in them are immutable
from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from mindnetd.errors import ConfigError
from mindnetd.settings import read
from mindnetd.settings.places import Places, config_files, places, slug
from mindnetd.settings.read import Given, Problem

T = TypeVar("T")
SCHEDULE = r"off|every [1-9]\d{0,5}[mhd]( if changed)?|cron:( \S+){5}"
SCHEDULE_WORDS = "`every <n>m|h|d [if changed]`, `cron: <5 fields, UTC>` or `off`"
HIDING_FLAGS = ("draft", "needs_review", "private_journal")
"""The flags that exist; another word in ``exclude_flags`` would hide nothing, which its writer must be told."""
MAX_SOCKET_BYTES = 107  # sun_path of Linux holds 108 bytes with its NUL


def _key(default: T, cast: read.Cast) -> T:
    return field(default=default, metadata={"cast": cast})


def _schedule(given: Given) -> str:
    value = read.choice("off")(given) if _says_off(given) else read.text(SCHEDULE, SCHEDULE_WORDS)(given)
    return str(value)


def _says_off(given: Given) -> bool:
    return str(given.node.value).lower() in ("off", "false", "no")


@dataclass(frozen=True)
class Watch:
    """When a saved file is read: times in ms and s as their names say."""

    settle_ms: int = _key(200, read.whole(0, 60_000))
    max_wait_ms: int = _key(2000, read.whole(0, 600_000))
    unstable_max_s: float = _key(15.0, read.number(0, 3600))
    reconcile_minutes: float = _key(10.0, read.number(0.01, 100_000))
    scan_s: float = _key(5.0, read.number(0.05, 3600))
    polling: str = _key("auto", read.choice("auto", "on", "off"))


@dataclass(frozen=True)
class Hash:
    """Which hash decides that a note has changed, and what is hashed."""

    compare: str = _key("body", read.choice("body", "frontmatter", "full"))
    source: str = _key("parsed", read.choice("parsed", "raw"))
    normalize: str = _key("canonical", read.choice("canonical", "none"))


@dataclass(frozen=True)
class Chunking:
    """How notes are cut where neither they nor their type say."""

    default_profile: str = _key("medium", read.choice("short", "medium", "long", "classic"))
    overlap: float = _key(0.12, read.number(0, 0.5))


@dataclass(frozen=True)
class Embedding:
    """The model and how it is run. ``dim`` None: the model's own; ``threads`` None: as many as fit the machine."""

    backend: str = _key("auto", read.choice("auto", "onnx", "openvino", "ollama"))
    model: str = _key("all-MiniLM-L6-v2", read.text())
    dim: int | None = _key(None, read.optional(read.whole(1, 65_536)))
    query_prefix: str = _key("", read.text(empty=True))
    passage_prefix: str = _key("", read.text(empty=True))
    threads: int | None = _key(None, read.optional(read.whole(1, 256)))
    batch_tokens: int = _key(1024, read.whole(64, 65_536))


@dataclass(frozen=True)
class Graph:
    """The entity graph: how entities are found and when the corpus-wide stage runs."""

    extraction_mode: str = _key("heuristic", read.choice("heuristic", "hybrid", "llm"))
    rebuild: str = _key("every 30m if changed", _schedule)
    dedup_threshold: float = _key(0.85, read.number(0, 1))
    max_cluster_size: int = _key(50, read.whole(2, 100_000))


@dataclass(frozen=True)
class Llm:
    """The optional language model. ``enabled: auto`` uses it where it answers."""

    enabled: str = _key("auto", read.choice("auto", "on", "off"))
    host: str = _key("http://127.0.0.1:11434", read.text(r"https?://\S+", "a URL such as http://127.0.0.1:11434"))
    model: str = _key("llama3.2:3b", read.text())
    timeout_s: float = _key(120.0, read.number(0.1, 86_400))
    load_timeout_s: float = _key(300.0, read.number(0.1, 86_400))
    max_in_flight: int = _key(1, read.whole(1, 64))
    num_ctx: int = _key(8192, read.whole(256, 10_000_000))
    keep_alive: str = _key("5m", read.text(r"-?\d+(ms|s|m|h)?", "a time such as 5m, 0 or -1"))
    think: str = _key("off", read.choice("off", "on", "low", "medium", "high"))


@dataclass(frozen=True)
class Privacy:
    """Who may see what. ``max_query_visibility`` is the most that any request may ask for."""

    default_visibility: str = _key("internal", read.choice("public", "internal", "sensitive"))
    max_query_visibility: str = _key("internal", read.choice("public", "internal", "sensitive"))
    exclude_flags: tuple[str, ...] = _key(HIDING_FLAGS, read.words(*HIDING_FLAGS))
    query_log: str = _key("off", read.choice("off", "on"))


@dataclass(frozen=True)
class Resources:
    """What the daemon may use; a change needs a restart."""

    duckdb_memory_limit: str = _key("192MB", read.text(r"\d+(\.\d+)? ?([KMGT]i?B|B)", "a size such as 192MB"))
    duckdb_threads: int = _key(2, read.whole(1, 256))
    nice: int = _key(10, read.whole(0, 19))


@dataclass(frozen=True)
class Maintenance:
    """How long unused vectors and logs stay, and when copies of the database are made."""

    gc_days: float = _key(30.0, read.number(0, 36_500))
    backup: str = _key("off", _schedule)
    keep: int = _key(3, read.whole(1, 1000))
    log_days: float = _key(30.0, read.number(0, 36_500))


def _section(kind: type[T]) -> T:
    return field(default_factory=kind, metadata={"section": kind})


@dataclass(frozen=True)
class Config:
    """Every effective value. Paths are absolute. Make it with `load_config`."""

    vault: Path = _key(Path(), read.path)
    db: Path = _key(Path(), read.path)
    socket: Path = _key(Path(), read.optional(read.path))
    id_prefix: str = _key("mindnet", read.text(r"[^\s:]{1,64}", "a short word without spaces and colons"))
    ignore: tuple[str, ...] = _key(("Templates/**",), read.words())
    watch: Watch = _section(Watch)
    hash: Hash = _section(Hash)
    chunking: Chunking = _section(Chunking)
    embedding: Embedding = _section(Embedding)
    vector_index: str = _key("exact", read.choice("exact", "hnsw"))
    retrieval_file: Path = _key(Path("retrieval.yaml"), read.path)
    types_file: Path = _key(Path("types.yaml"), read.path)
    graph: Graph = _section(Graph)
    llm: Llm = _section(Llm)
    privacy: Privacy = _section(Privacy)
    resources: Resources = _section(Resources)
    maintenance: Maintenance = _section(Maintenance)
    name: str = field(default="")
    file: Path | None = field(default=None)
    places: Places = field(default_factory=Places)
    offline: bool = field(default=False)
    """Never fetch a model; only the command line says so."""
    origins: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    def origin(self, key: str) -> str:
        """Where the value of a dotted key came from: ``default``, ``FILE:LINE``, ``$VARIABLE`` or ``--flag``."""
        return self.origins.get(key, "default")

    def values(self) -> dict[str, Any]:
        """Dotted key -> value as JSON can hold it; the snapshot that a run keeps."""
        return {key: _as_json(value_of(self, key)) for key in KEYS}

    def digest(self) -> str:
        """SHA-256 hex over `values`: two runs with one digest had the same settings."""
        return hashlib.sha256(json.dumps(self.values(), sort_keys=True).encode()).hexdigest()


def _as_json(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else list(value) if isinstance(value, tuple) else value


def _spec(kind: type[Any], prefix: str = "") -> Iterator[tuple[str, read.Cast | None]]:
    """Every dotted key with its caster, sections (with None) before their keys, in the order of the file."""
    for item in dataclasses.fields(kind):
        if "section" in item.metadata:
            yield item.name, None
            yield from _spec(item.metadata["section"], item.name + ".")
        elif "cast" in item.metadata:
            yield prefix + item.name, item.metadata["cast"]


CASTS: Mapping[str, read.Cast] = {key: cast for key, cast in _spec(Config) if cast is not None}
SECTIONS: tuple[str, ...] = tuple(key for key, cast in _spec(Config) if cast is None)
KEYS: tuple[str, ...] = tuple(CASTS)
ALIASES: Mapping[str, str] = {
    f"MINDNET_HASH_{name.upper()}": f"hash.{name}" for name in ("compare", "source", "normalize")
}
VARIABLES: Mapping[str, str] = {**ALIASES, **{"MINDNET_" + key.upper().replace(".", "__"): key for key in KEYS}}


def value_of(config: Config, key: str) -> Any:
    """The value of a dotted key."""
    value: Any = config
    for part in key.split("."):
        value = getattr(value, part)
    return value


def load_config(
    file: Path | None, env: Mapping[str, str], flags: Mapping[str, str] | None = None, *, name: str | None = None
) -> Config:
    """Merge the layers. ``flags`` maps dotted keys to text. Raises ConfigError; its detail lists every problem."""
    found, problems = _gather(file, env, flags or {})
    values: dict[str, Any] = {}
    for key, given in found.items():
        try:
            values[key] = CASTS[key](given)
        except ValueError as error:
            problems.append(Problem(given.where, f"{key} {error}"))
    if "vault" not in values and not any("vault" in str(p) for p in problems):
        problems.append(
            Problem(str(file), "no vault: give `vault:` there, or --vault DIR")
            if file
            else Problem("no vault", "give --vault DIR, or write a configuration with `mindnetd init DIR`")
        )
    _refuse(problems)
    config = _build(values, {key: given.where for key, given in found.items()}, (file, env, name))
    _refuse(list(_cross_checks(config)))
    return config


def _refuse(problems: list[Problem]) -> None:
    if not problems:
        return
    more = f" (and {len(problems) - 1} more, see `mindnetd config check`)" if len(problems) > 1 else ""
    raise ConfigError(f"{problems[0]}{more}", detail={"problems": [str(p) for p in problems]})


def _gather(
    file: Path | None, env: Mapping[str, str], flags: Mapping[str, str]
) -> tuple[dict[str, Given], list[Problem]]:
    """The value of each key that is given anywhere, the strongest layer last."""
    home, cwd = places(env).home, Path.cwd()
    found: dict[str, Given] = {}
    problems: list[Problem] = []
    if file is not None:
        tree, problems = read.read_tree(file)
        if tree is not None:
            found, more = read.flatten(tree, file.absolute(), SECTIONS, home)
            problems += more
    problems += [read.unknown(given.where, key, KEYS) for key, given in found.items() if key not in CASTS]
    found = {key: given for key, given in found.items() if key in CASTS}
    for variable in (*ALIASES, *VARIABLES):
        if env.get(variable):
            found[VARIABLES[variable]] = read.plain(env[variable], f"${variable}", cwd, home)
    for variable in sorted(env):
        if variable.startswith("MINDNET_") and "__" in variable and variable not in VARIABLES:
            key = variable.removeprefix("MINDNET_").lower().replace("__", ".")
            problems.append(read.unknown(f"${variable}", key, KEYS))
    for key, value in flags.items():
        where = f"--{key}" if "." not in key else f"--set {key}"
        if key in CASTS:
            found[key] = read.plain(value, where, cwd, home)
        else:
            problems.append(read.unknown(where, key, KEYS))
    return found, problems


def _build(
    values: dict[str, Any], origins: dict[str, str], source: tuple[Path | None, Mapping[str, str], str | None]
) -> Config:
    file, env, given_name = source
    where = places(env)
    name = given_name or (file.stem if file else "") or slug(values["vault"].absolute().name)
    folder = file.absolute().parent if file else where.config
    values.setdefault("db", where.state / f"{name}.duckdb")
    values["socket"] = values.get("socket") or where.runtime / f"{name}.sock"
    values.setdefault("retrieval_file", folder / "retrieval.yaml")
    values.setdefault("types_file", folder / "types.yaml")
    sections: dict[str, Any] = {}
    for item in dataclasses.fields(Config):
        if "section" in item.metadata:
            prefix = item.name + "."
            own = {key.removeprefix(prefix): value for key, value in values.items() if key.startswith(prefix)}
            sections[item.name] = item.metadata["section"](**own)
    top = {key: value for key, value in values.items() if "." not in key}
    for key in ("vault", "db", "socket"):
        top[key] = Path(top[key]).absolute()
    return Config(**top, **sections, name=name, file=file, places=where, origins=origins)


def _cross_checks(config: Config) -> Iterator[Problem]:
    """What one value alone cannot tell."""
    vault = config.vault.resolve()
    for key, path in (("db", config.db), ("socket", config.socket)):
        if path.resolve().is_relative_to(vault):
            yield Problem(config.origin(key), f"{key} {path} is inside the vault, which is never written; move it out")
    if len(bytes(config.socket)) > MAX_SOCKET_BYTES:
        yield Problem(
            config.origin("socket"), f"socket {config.socket} is longer than {MAX_SOCKET_BYTES} bytes; shorten it"
        )


def find_config(env: Mapping[str, str], *, file: str | None, name: str | None, vault: str | None) -> Path | None:
    """The configuration file that is meant: the given one, that of the name, that of the vault, or the only one.

    None where none is needed: a vault is given and has no file. Raises ConfigError where it cannot be told.
    """
    folder = places(env).config
    if file is not None:
        return _existing(Path(file), "--config")
    if name is not None:
        own = [p for p in config_files(folder) if p.stem == name]
        if not own and vault is None and not env.get("MINDNET_VAULT"):
            raise ConfigError(
                f"{folder / name}.yaml: no such configuration; make it with `mindnetd init DIR --name {name}`"
            )
        return own[0] if own else None
    wanted = vault or env.get("MINDNET_VAULT")
    if wanted is not None:
        return _file_of_vault(env, Path(wanted).expanduser().resolve(), folder)
    files = config_files(folder)
    if len(files) > 1:
        names = ", ".join(p.stem for p in files)
        raise ConfigError(f"{folder}: several vaults are configured ({names}); choose one with --name")
    return files[0] if files else None


def _existing(path: Path, flag: str) -> Path:
    if not path.is_file():
        raise ConfigError(f"{flag} {path}: no such file; `mindnetd init DIR` makes one")
    return path


def _file_of_vault(env: Mapping[str, str], vault: Path, folder: Path) -> Path | None:
    """The file whose ``vault`` is this one; a file with the vault's name but another vault is an error."""
    for path in config_files(folder):
        given = _vault_in(path, places(env).home)
        if given is not None and given.resolve() == vault:
            return path
        if path.stem == slug(vault.name) and given is not None:
            raise ConfigError(f"{path} is for the vault {given}; give another --name, or --config FILE")
    return None


def _vault_in(path: Path, home: Path) -> Path | None:
    tree, _ = read.read_tree(path)
    if tree is None:
        return None
    given = read.flatten(tree, path.absolute(), SECTIONS, home)[0].get("vault")
    try:
        return Path(CASTS["vault"](given)) if given is not None else None
    except ValueError:
        return None


def differences(old: Config, new: Config) -> tuple[str, ...]:
    """The dotted keys whose values differ, for a reload to say what it took over and what needs a restart."""
    return tuple(key for key in KEYS if value_of(old, key) != value_of(new, key))
