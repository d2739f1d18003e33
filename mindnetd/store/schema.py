"""From any file to a database of this schema version, or a reason why not."""

from __future__ import annotations

import uuid

import duckdb

from mindnetd.errors import StoreError
from mindnetd.store.sqltext import migrations

FORMAT = "mindnetd"
SCHEMA_VERSION = migrations()[-1][0]
_META = "CREATE TABLE meta (key VARCHAR NOT NULL, value VARCHAR NOT NULL)"


def read_meta(con: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """The table ``meta``. Raises StoreError ``foreign_file`` where a database has tables, but not ours."""
    tables = {name for (name,) in con.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    if not tables:
        return {}
    meta = dict(con.execute("SELECT key, value FROM meta").fetchall()) if "meta" in tables else {}
    if meta.get("format") != FORMAT:
        raise StoreError("a DuckDB database, but not one of mindnetd: name another --db", code="foreign_file")
    return meta


def migrate(con: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Bring the open database to SCHEMA_VERSION, each step in its own transaction; return its meta entries.

    A migration whose first line is ``-- reindex`` leaves ``reindex_wanted`` in ``meta``: the indexer reads every note
    anew, keeping vectors. Raises StoreError ``newer_version`` or ``foreign_file``, and then has changed nothing.
    """
    meta = read_meta(con)
    have = int(meta.get("schema_version", "0"))
    if have > SCHEMA_VERSION:
        raise StoreError(
            f"schema version {have}, this program knows {SCHEMA_VERSION}: update mindnetd, or name another --db",
            code="newer_version",
        )
    for number, sql in migrations():
        if number > have:
            _step(con, number, sql, fresh=have == 0)
    if have < SCHEMA_VERSION:
        con.execute("CHECKPOINT")  # a schema only in the log would be lost with it: as if it had never been
    return read_meta(con)


def _step(con: duckdb.DuckDBPyConnection, number: int, sql: str, *, fresh: bool) -> None:
    con.execute("BEGIN TRANSACTION")
    try:
        if number == 1:
            con.execute(_META)
            first = {
                "format": FORMAT,
                "vault_id": str(uuid.uuid4()),
                "generation": str(uuid.uuid4()),
                "revision": "0",
                "next_key": "1",
                "schema_version": "1",
            }
            con.executemany("INSERT INTO meta VALUES (?, ?)", list(first.items()))
        con.execute(sql)
        con.execute("UPDATE meta SET value = ? WHERE key = 'schema_version'", [str(number)])
        if sql.startswith("-- reindex") and not fresh:
            con.execute("INSERT INTO meta VALUES ('reindex_wanted', ?)", [str(number)])
        con.execute("COMMIT")
    except duckdb.Error:
        con.execute("ROLLBACK")
        raise
