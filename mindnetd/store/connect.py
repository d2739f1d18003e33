"""How a database file is opened: limits, hardening, and what is refused before DuckDB touches it."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path

import duckdb

from mindnetd.errors import StoreError
from mindnetd.store.faults import store_error

if importlib.util.find_spec("pandas") is None:
    # duckdb tries to import pandas anew at every bound value; remembering that there is none makes that 15 times faster
    sys.modules.setdefault("pandas", None)  # type: ignore[arg-type]


CHECKPOINT_AT = "64MB"
"""How long the log may grow before a commit moves it into the file. At DuckDB's 16 MB a first index stops for it again
and again (0.2 s each at 6,500 notes), and a save with it; after bulk work, and at the end, we do it ourselves."""


@dataclass(frozen=True, slots=True)
class StoreOptions:
    """How to open: ``allowed_dir`` is a private folder on the same file system, for backups and compaction."""

    memory_limit: str
    threads: int
    allowed_dir: Path


def wal_of(path: Path) -> Path:
    """The write-ahead log of a database file."""
    return path.with_name(path.name + ".wal")


def move_aside(path: Path) -> Path:
    """Move a database that cannot be used, with its log, out of the way; return where it went. The lock stays."""
    number = 1
    while (target := path.with_name(f"{path.name}.aside-{number}")).exists():
        number += 1
    if wal_of(path).exists():
        wal_of(path).rename(wal_of(target))
    if path.exists():
        path.rename(target)
    path.with_name(path.name + ".mark").unlink(missing_ok=True)
    return target


def connect(path: Path, options: StoreOptions) -> duckdb.DuckDBPyConnection:
    """Open or create the file, hardened and with its configuration locked. Raises StoreError."""
    config: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": options.memory_limit,
        "threads": options.threads,
        "checkpoint_threshold": CHECKPOINT_AT,
        "temp_directory": str(path.with_name(path.name + ".tmp")),
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    try:
        _refuse_foreign(path)
        con = duckdb.connect(str(path), config=config)
        folder = str(options.allowed_dir.resolve()).replace("'", "''")
        con.execute(f"SET allowed_directories = ['{folder}/']")
        con.execute("SET preserve_insertion_order = true")
        con.execute("SET enable_external_access = false")
        con.execute("SET lock_configuration = true")
    except (duckdb.Error, OSError) as error:
        raise store_error(path, error) from error
    return con


def _refuse_foreign(path: Path) -> None:
    """A file that is no DuckDB database is somebody else's: never touch it. An empty one is nobody's loss."""
    if not path.exists():
        return
    with path.open("rb") as file:
        head = file.read(12)
    if not head:
        raise StoreError(f"{path}: it is empty and will be rebuilt from the vault", code="damaged")
    if head[8:] != b"DUCK":
        raise StoreError(f"{path}: no DuckDB database: name another --db, or move it away", code="foreign_file")
