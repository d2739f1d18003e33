"""Runs, diagnostics, the query log, and the counts of ``stats``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

import duckdb

from mindnetd.core.records import Diagnostic
from mindnetd.store.db import Database, Row
from mindnetd.store.faults import store_error
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


def query_log(db: Database, limit: int = 100, offset: int = 0) -> tuple[QueryRow, ...]:
    """Logged queries, newest first."""
    with db.reader() as reader:
        return tuple(QueryRow(*row) for row in reader.rows(statements("read")["query_log"], [limit, offset]))


def embeddings_total(db: Database) -> tuple[int, int]:
    """Embeddings made and reused, over all runs that are kept."""
    with db.reader() as reader:
        made, reused = reader.rows("SELECT sum(embeddings_made), sum(embeddings_reused) FROM import_runs")[0]
    return int(made or 0), int(reused or 0)


def log_queries(db: Database, rows: Sequence[QueryRow]) -> None:
    """Append to the query log, outside of any revision. Writer thread only. Raises StoreError."""
    _aside(db, statements("write")["insert_query"], [list(_query_values(row)) for row in rows])


def trim_logs(db: Database, before: datetime) -> None:
    """Forget queries and finished runs from before a time (UTC); the newest run and configurations in use stay."""
    _aside(db, 'DELETE FROM query_log WHERE "timestamp" < ?', [[before]])
    _aside(db, statements("write")["trim_runs"], [[before]])
    _aside(db, statements("write")["trim_configs"], [[]])


def _query_values(row: QueryRow) -> tuple[object, ...]:
    return (row.id, row.at, row.query, row.filters_json, row.top_k, row.took_ms, row.decision_trace_json)


def _aside(db: Database, sql: str, values: list[list[object]]) -> None:
    """A change that is no revision: nothing that a query shows depends on it."""
    with db.unrevised() as con:
        try:
            for row in values:
                con.execute(sql, row)
        except duckdb.Error as error:
            raise store_error(db.path, error) from error
