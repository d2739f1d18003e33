"""Runs, diagnostics, the query log, and the totals of ``stats``."""

from __future__ import annotations

import json
from collections.abc import Sequence

from mindnetd.core.records import Diagnostic
from mindnetd.store.db import Database, Row
from mindnetd.store.records import QueryRow, RunRow, StoredDiagnostic
from mindnetd.store.sqltext import statements


def runs(db: Database, limit: int = 100, offset: int = 0) -> tuple[RunRow, ...]:
    """Import runs, newest first."""
    with db.reader() as reader:
        rows = reader.rows(statements("read")["runs"], [limit, offset])
    return tuple(map(_run_row, rows))


def run(db: Database, run_id: str) -> RunRow | None:
    """One import run, or None."""
    with db.reader() as reader:
        rows = reader.rows(statements("read")["run"], [run_id])
    return _run_row(rows[0]) if rows else None


def _run_row(row: Row) -> RunRow:
    *values, errors = row
    return RunRow(*(*values, tuple(json.loads(errors))))


def config(db: Database, config_hash: str) -> str | None:
    """A configuration snapshot as JSON text, or None."""
    with db.reader() as reader:
        rows = reader.rows("SELECT config FROM configs WHERE config_hash = ?", [config_hash])
    return str(rows[0][0]) if rows else None


def diagnostics(db: Database, keys: Sequence[int] | None = None) -> tuple[StoredDiagnostic, ...]:
    """All diagnostics, or those of the notes and canvases `keys`, by path and place."""
    with db.reader() as reader:
        rows = reader.rows(statements("read")["diagnostics"], [keys is None, list(keys or [])])
    return tuple(StoredDiagnostic(path, owner, Diagnostic(*rest)) for path, owner, *rest in rows)


def troubled_paths(db: Database) -> set[str]:
    """The files with diagnostics of their own, being no notes: conflict copies, unreadable files."""
    with db.reader() as reader:
        return {path for (path,) in reader.rows("SELECT DISTINCT path FROM diagnostics WHERE owner IS NULL")}


def query_log(db: Database, limit: int = 100, offset: int = 0) -> tuple[QueryRow, ...]:
    """Logged queries, newest first."""
    with db.reader() as reader:
        return tuple(QueryRow(*row) for row in reader.rows(statements("read")["query_log"], [limit, offset]))


def embeddings_total(db: Database) -> tuple[int, int]:
    """Embeddings made and reused since the database was made."""
    with db.reader() as reader:
        made, reused = reader.rows(statements("read")["embeddings_total"])[0]
    return int(made), int(reused)
