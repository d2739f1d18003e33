"""What DuckDB's exceptions mean to us: one ``StoreError`` with a stable code each.

newer_version   written by a newer mindnetd or DuckDB: leave it alone
foreign_file    no database of ours: leave it alone
locked          another process holds it
read_only       folder or file cannot be written
disk_full       no space left; the connection is dead, ``Database.reopen`` later
memory          the memory limit was too small for a statement (a copy of huge notes): nothing was changed
damaged         a checksum or structure is wrong: move aside, rebuild from the vault
io              the file could not be read or written for another reason: try again, or reopen
dead            the connection was invalidated by an earlier fault: ``Database.reopen``
timeout         interrupted because a deadline passed
statement       a statement of ours failed: a mistake in the program
"""

from __future__ import annotations

from pathlib import Path

import duckdb

from mindnetd.errors import StoreError

_SIGNS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("disk_full", ("no space left", "disk quota", "could not write all bytes", "out of disk", "file too large")),
    ("locked", ("could not set lock", "conflicting lock")),
    ("newer_version", ("with version number", "newer duckdb", "storage version")),
    ("foreign_file", ("not a valid duckdb database",)),
    ("read_only", ("permission denied", "read-only file system", "operation not permitted")),
    ("damaged", ("corrupt", "checksum", "failed to load metadata", "could not read enough", "replaying wal")),
)
_ADVICE = {
    "disk_full": "the disk is full: free some space",
    "locked": "another process has it open: stop that one first",
    "newer_version": "it was written by a newer version: update mindnetd, or name another --db",
    "foreign_file": "it is no database of mindnetd: name another --db",
    "read_only": "it cannot be written: check the rights of the folder",
    "damaged": "it is damaged and will be rebuilt from the vault",
    "memory": "resources.duckdb_memory_limit is too small for this",
    "io": "it could not be read or written",
    "dead": "it was closed after a fault and must be reopened",
    "timeout": "the time for this question is over",
    "statement": "a statement failed",
}


def code_of(error: BaseException) -> str:
    """The code (see above) that an exception of DuckDB or of the file system stands for."""
    if isinstance(error, duckdb.InterruptException):
        return "timeout"
    if isinstance(error, duckdb.OutOfMemoryException):
        return "memory"
    text = str(error).lower()
    for code, signs in _SIGNS:
        if any(sign in text for sign in signs):
            return code
    if isinstance(error, duckdb.SerializationException):
        return "damaged"
    if isinstance(error, duckdb.FatalException | duckdb.InternalException | duckdb.ConnectionException):
        return "dead"
    if isinstance(error, duckdb.IOException | OSError):
        return "io"
    return "statement"


def store_error(path: Path, error: BaseException, code: str | None = None) -> StoreError:
    """A ``StoreError`` with one line: which file, what is wrong, what to do."""
    code = code or code_of(error)
    first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return StoreError(f"{path}: {_ADVICE[code]} ({first})", code=code, detail={"path": str(path)})
