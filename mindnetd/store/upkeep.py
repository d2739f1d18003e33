"""Keeping the file small and safe: copies, compaction, garbage, purge. Writer thread, except ``backup``.

DuckDB gives no space back: deleted rows stay in the file, and their text with them, until the file is copied
(libraries.md 2.25). A compaction copies into a fresh file beside the database and swaps it in between two revisions;
readers go on during the copy and wait only for the swap.
"""

from __future__ import annotations

import logging
import os
import uuid
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

import duckdb

from mindnetd.errors import StoreError
from mindnetd.store.connect import wal_of
from mindnetd.store.db import Database, set_meta
from mindnetd.store.faults import store_error
from mindnetd.store.sqltext import statements
from mindnetd.store.write_vectors import TABLES, vector_tables

_log = logging.getLogger(__name__)

GROWTH = 1.5
"""A file that has grown past this many times its last compacted size is compacted."""

SPARE_SHARE = 0.5
"""Unused vectors that may stay, as a share of the used ones: with `GROWTH` the file stays below twice a fresh one."""
SPARE_LEAST = 256

CURRENT = "coalesce((SELECT value FROM meta WHERE key = 'fingerprint'), fingerprint)"
"""SQL: the fingerprint of the model that makes vectors now."""

FLOOR_BYTES = 4 << 20
"""A file smaller than this is left alone."""

UNSAID = tuple(
    f"unsaid_{what}"
    for what in (
        *("entities", "names", "aliases", "relations", "descriptions", "evidence", "communities", "members"),
        *("sentences", "replies", "traces", "errors"),
    )
)
"""Statements that delete what no note says any more, in their order. Texts that were made from several notes at once
(communities, descriptions) cannot be told apart: all go, and the next corpus-wide stage makes them anew."""


def backup(db: Database, to: Path) -> None:
    """Write a consistent copy of one revision to `to`, a new file inside the allowed folder. Any thread.

    Raises StoreError; nothing is left at `to` then.
    """
    try:
        with db.working_cursor() as cursor:
            _copy(cursor, to)
    except duckdb.Error as error:
        _remove(to)
        raise store_error(to, error) from error


def _copy(cursor: duckdb.DuckDBPyConnection, to: Path) -> None:
    """COPY FROM DATABASE reads one snapshot and takes indexes, views and types along."""
    source = cursor.execute("SELECT current_database()").fetchall()[0][0]
    place = str(to.resolve()).replace("'", "''")
    name = f"copy_{uuid.uuid4().hex}"  # names of attached files are shared by all cursors, and copies may overlap
    cursor.execute(f"ATTACH '{place}' AS {name}")
    try:
        cursor.execute(f'COPY FROM DATABASE "{source}" TO {name}')
        cursor.execute(f"CHECKPOINT {name}")
    except duckdb.Error:
        with suppress(duckdb.Error):  # what failed is told, not what could not be tidied up after it
            cursor.execute("ROLLBACK")
        raise
    finally:
        with suppress(duckdb.Error):
            cursor.execute(f"DETACH {name}")
    with to.open("rb") as file:
        os.fsync(file.fileno())


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
    wal_of(path).unlink(missing_ok=True)


def compact_if_needed(db: Database) -> bool:
    """Checkpoint; compact a file that has grown too much since the last time; say whether it was. Raises StoreError.

    For after bulk work and before the end: a checkpoint of a small file writes most of it anew beside the old blocks.
    """
    with db.reader() as reader:
        found = reader.rows("SELECT value FROM meta WHERE key = 'compacted_bytes'")
    last = int(found[0][0]) if found else 0
    if wal_of(db.path).exists():
        db.checkpoint()  # what the log brings into the file is only seen then
    if not _too_big(db.size_bytes(), last):
        return False
    try:
        compact(db)
    except StoreError as error:
        if error.code not in {"memory", "busy"}:
            raise
        _log.warning("not compacted this time", extra={"error": error.message})
        return False
    return True


def _too_big(size: int, last: int) -> bool:
    return size > max(last * GROWTH, FLOOR_BYTES)


def compact(db: Database) -> None:
    """Copy the file into a fresh one and put that in its place. Raises StoreError; the old file stays then."""
    fresh = db.options.allowed_dir / f"{db.path.stem}.compact.duckdb"
    _remove(fresh)
    with db.exclusive():
        try:
            with db.working_cursor() as cursor:
                _copy(cursor, fresh)
        except duckdb.Error as error:
            _remove(fresh)
            raise store_error(db.path, error) from error
        with db.swapped():
            if wal_of(db.path).exists():  # it would be replayed into a file it does not belong to
                raise StoreError(f"{db.path}: the log could not be emptied, so the file was not compacted", code="busy")
            fresh.replace(db.path)
            _sync_folder(db.path.parent)
        with db.unrevised() as con:
            set_meta(con, "compacted_bytes", str(db.path.stat().st_size))


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def collect_garbage(db: Database, now: datetime, days: float) -> int:
    """Delete vectors that no passage has needed for `days`, and terms without postings; return how many vectors.

    A vector found unused for the first time is marked with `now` (UTC, without zone) and kept, so that a text that
    comes back within `days` is not embedded again. Those of a former model are unused from the day that another one
    began: who goes back to it within `days` finds them.
    """
    before = now - timedelta(days=days)
    deleted = 0
    with db.unrevised() as con:
        for table in _marked(con, now):
            deleted += con.execute(f"DELETE FROM {table} WHERE unused_since <= ?", [before]).fetchall()[0][0]
        con.execute(statements("upkeep")["delete_unused_terms"])
    return deleted


def bound_garbage(db: Database, now: datetime) -> list[str]:
    """Delete the vectors that have been unused longest; return their text hashes (hex).

    Unused ones may be `SPARE_SHARE` of the used ones, and at least `SPARE_LEAST`.

    A vault that is rewritten again and again would fill the file with vectors of texts that never come back. What a
    switch of branches or an undo needs stays: it is younger, and less than half of the vault. Vectors of a former model
    are no part of this: they are as many as they were, and go with `collect_garbage`.
    """
    gone: list[str] = []
    with db.unrevised() as con:
        for table in _marked(con, now):
            rows, unused = con.execute(_upkeep("count_unused", table)).fetchall()[0]
            over = unused - max(SPARE_LEAST, int((rows - unused) * SPARE_SHARE))
            if over > 0:
                found = con.execute(_upkeep("delete_oldest_unused", table), [over]).fetchall()
                gone += [text_hash for (text_hash,) in found]
    return gone


def _marked(con: duckdb.DuckDBPyConnection, now: datetime) -> list[str]:
    """The tables of vectors, once `unused_since` says in each of them what is of use and what is not."""
    tables = [table for table, _ in vector_tables(con.execute(TABLES).fetchall())]
    for table in tables:
        con.execute(_upkeep("mark_used", table))
        con.execute(_upkeep("mark_unused", table), [now])
    return tables


def _upkeep(name: str, table: str) -> str:
    return statements("upkeep")[name].format(table=table, current=CURRENT)


def purge(db: Database, now: datetime) -> None:
    """Make sure that nothing of what was removed is left in the file: garbage of any age goes, then a compaction.

    With the notes go what they alone named or told (entities, communities, replies of a model), traces of questions
    that name them, and the errors of earlier runs, which may quote anything.
    """
    collect_garbage(db, now, 0)
    with db.unrevised() as con:
        for name in UNSAID:
            con.execute(statements("upkeep")[name])
    compact(db)
