"""What is written beside the revisions, since nothing that a query shows depends on it: query log, trimming."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from mindnetd.store.db import Database, set_meta
from mindnetd.store.records import QueryRow
from mindnetd.store.sqltext import statements


def log_queries(db: Database, rows: Sequence[QueryRow]) -> None:
    """Append to the query log. Writer thread only. Raises StoreError."""
    with db.unrevised() as con:
        for row in rows:
            values = [row.id, row.at, row.query, row.filters_json, row.top_k, row.took_ms, row.decision_trace_json]
            con.execute(statements("write")["insert_query"], values)


def trim_logs(db: Database, before: datetime) -> None:
    """Forget queries and finished runs from before a time (UTC, no zone). Writer thread only. Raises StoreError.

    The newest run, runs that rows point to and configurations in use stay; the totals of forgotten runs are kept.
    """
    with db.unrevised() as con:
        con.execute('DELETE FROM query_log WHERE "timestamp" < ?', [before])
        gone = con.execute(statements("write")["trim_runs"], [before]).fetchall()
        totals = dict(con.execute("SELECT key, value FROM meta WHERE starts_with(key, 'forgotten_')").fetchall())
        for place, key in enumerate(("forgotten_made", "forgotten_reused")):
            total = int(totals.get(key, "0")) + sum(row[place] for row in gone)
            set_meta(con, key, str(total))
        con.execute(statements("write")["trim_configs"])
