"""The one database file: opening, closing, one writer, many readers, and what can go wrong with a file.

One DuckDB connection belongs to the writer; every reader works on a cursor of its own inside one read transaction, so
that it sees one revision and never waits for a commit. The only moments when a reader waits are ``reopen`` and the
swap at the end of a compaction (``store.upkeep``): tens of milliseconds.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import numpy.typing as npt

from mindnetd.deadline import stopped_with_request
from mindnetd.errors import StoreError
from mindnetd.store.connect import StoreOptions, connect, move_aside, wal_of
from mindnetd.store.faults import code_of, store_error
from mindnetd.store.lock import FileLock
from mindnetd.store.schema import migrate
from mindnetd.store.sidefile import Mark, read_mark, write_mark

__all__ = ["Database", "Reader", "Row", "move_aside", "open_database", "set_meta"]

Row = tuple[Any, ...]

SLIM_PATIENCE_S = 0.1
"""How long `slim` waits for readers, and others for it meanwhile."""


class Reader:
    """One read transaction on a cursor of its own: every statement sees the same revision."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection, path: Path, check: Callable[[], None]) -> None:
        self._cursor = cursor
        self._path = path
        self._check = check

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        """All rows of a statement; user text only ever in ``values``. Raises StoreError."""
        self._check()
        try:
            return self._cursor.execute(sql, list(values)).fetchall()
        except (duckdb.Error, RuntimeError) as error:
            raise store_error(self._path, error) from error

    def slices(self, sql: str, values: Sequence[object] = (), *, most: int = 2048) -> Iterator[list[Row]]:
        """The rows of a statement, `most` at a time, for who makes something smaller of them. Raises StoreError."""
        self._check()
        try:
            self._cursor.execute(sql, list(values))
            while part := self._cursor.fetchmany(most):
                yield part
        except (duckdb.Error, RuntimeError) as error:
            raise store_error(self._path, error) from error

    def arrays(self, sql: str, values: Sequence[object] = ()) -> dict[str, npt.NDArray[Any]]:
        """The columns of a statement as numpy arrays (texts as object arrays). Raises StoreError."""
        self._check()
        try:
            return dict(self._cursor.execute(sql, list(values)).fetchnumpy())
        except (duckdb.Error, RuntimeError) as error:
            raise store_error(self._path, error) from error

    def revision(self) -> int:
        """The revision this reader sees."""
        return int(self.rows("SELECT value FROM meta WHERE key = 'revision'")[0][0])

    def interrupt(self) -> None:
        """Stop the running statement from another thread; it raises StoreError ``timeout``."""
        self._cursor.interrupt()


class Database:
    """An open database. Make it with ``open_database``.

    ``doubt`` is set when the file is behind its side file: commits are lost, so nothing that the table ``files`` says
    may be trusted without reading (a full reconcile clears it with ``settle_doubt``).
    """

    def __init__(self, path: Path, options: StoreOptions) -> None:
        self.path = path
        self.options = options
        self.doubt = False
        self.on_commit: Callable[[float], None] = lambda _: None
        """Called with the seconds that a transaction took, on the thread that committed it."""
        self._gate = threading.Condition()
        self._active: list[duckdb.DuckDBPyConnection] = []
        self._shut = True
        self._write_lock = threading.RLock()
        self._idle_cursors: list[duckdb.DuckDBPyConnection] = []
        self._lock = FileLock(path.with_name(path.name + ".lock"))
        try:
            self._open()
        except BaseException:
            self._lock.release()
            raise

    # ------------------------------------------------------------------------------------------ open and close

    def _open(self) -> None:
        try:
            self.options.allowed_dir.mkdir(parents=True, exist_ok=True, mode=0o700)  # somebody may have emptied all
        except OSError as error:
            raise store_error(self.path, error, "read_only") from error
        con = connect(self.path, self.options)
        try:
            meta = migrate(con)
            self._next_term = con.execute("SELECT coalesce(max(id), -1) + 1 FROM terms").fetchall()[0][0]
        except StoreError as error:
            con.close()
            raise StoreError(
                f"{self.path}: {error.message}", code=error.code, detail={"path": str(self.path)}
            ) from None
        except duckdb.Error as error:
            con.close()
            raise store_error(self.path, error) from error
        self._con = con
        self.vault_id = meta["vault_id"]
        self._generation = meta["generation"]
        self.revision = int(meta["revision"])
        self._next_key = int(meta["next_key"])
        self._compare_mark("doubt" in meta)
        with self._gate:
            self._shut = False
            self._gate.notify_all()

    @property
    def _mark_path(self) -> Path:
        return self.path.with_name(self.path.name + ".mark")

    def _compare_mark(self, doubted: bool) -> None:
        mark = read_mark(self._mark_path)
        self.doubt = doubted
        if mark is not None and mark.generation == self._generation and mark.revision > self.revision:
            self.doubt = True
            self.revision = mark.revision  # a revision never goes back; the next commit writes a higher one
        if self.doubt and not doubted:
            with self.unrevised() as con:  # a crash before the vault was compared must not forget it
                set_meta(con, "doubt", "1")

    def _close_connections(self, patience_s: float, interrupt: bool) -> None:
        """Wait for the readers, then interrupt them or give up (StoreError ``busy``); close everything."""
        with self._gate:
            self._shut = True
            drained = self._gate.wait_for(lambda: not self._active, timeout=patience_s)
            if not drained and interrupt:
                for cursor in self._active:
                    cursor.interrupt()
                drained = self._gate.wait_for(lambda: not self._active, timeout=patience_s)
            if not drained:
                self._shut = False
                self._gate.notify_all()
                raise StoreError(f"{self.path}: it is being read for so long that it cannot be closed", code="busy")
            for cursor in self._idle_cursors:
                cursor.close()
            self._idle_cursors.clear()
        self._con.close()

    def close(self) -> None:
        """Write everything into the file, close it and release the lock. A second call does nothing."""
        with self._write_lock:
            if self._lock.held:
                try:
                    if not self._shut:
                        self._con.execute("CHECKPOINT")
                except duckdb.Error:
                    pass  # the log keeps what the file lacks: the next start replays it
                finally:
                    self._close_connections(5, interrupt=True)
                    self._lock.release()

    def reopen(self) -> None:
        """Close every connection, open the file anew: the way out of a full disk. Raises StoreError as opening does."""
        with self._write_lock:
            self._close_connections(5, interrupt=True)
            self._open()

    def slim(self) -> bool:
        """Give back what DuckDB keeps of the pages it has read: close and open the file. False while somebody reads.

        After bulk work that is up to the whole memory limit, and DuckDB has no other way. Raises StoreError.
        """
        with self._write_lock:
            try:
                self._close_connections(SLIM_PATIENCE_S, interrupt=False)
            except StoreError:
                return False
            self._open()
            return True

    @contextmanager
    def swapped(self, *, force: bool = False) -> Iterator[None]:
        """Close all connections, let the body replace the file, open it again; readers wait meanwhile.

        With `force` readers that do not finish are interrupted.

        Raises StoreError ``busy`` where a reader does not finish within a second.
        """
        with self._write_lock:
            self._close_connections(5 if force else 1, interrupt=force)
            try:
                yield
            finally:
                self._open()

    # ------------------------------------------------------------------------------------------------- reading

    @contextmanager
    def reader(self) -> Iterator[Reader]:
        """A read transaction for the calling thread. Raises StoreError ``dead`` while the file is closed.

        ``timeout`` when the request that the thread works for is given up: its statement is interrupted, and no other
        begins (Unavailable).
        """
        cursor = self._take_cursor()
        sound = False
        try:
            try:
                cursor.execute("BEGIN TRANSACTION READ ONLY")
            except duckdb.Error as error:
                raise store_error(self.path, error) from error
            with stopped_with_request(cursor.interrupt) as check:
                yield Reader(cursor, self.path, check)
            sound = True
        finally:
            self._give_cursor(cursor, sound)

    @contextmanager
    def working_cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor without a transaction, counted as a reader: for a copy of the whole file."""
        cursor = self._take_cursor()
        try:
            yield cursor
        finally:
            self._give_cursor(cursor, sound=False)

    def _take_cursor(self) -> duckdb.DuckDBPyConnection:
        with self._gate:
            if not self._lock.held or not self._gate.wait_for(lambda: not self._shut, timeout=5):
                raise StoreError(f"{self.path}: closed", code="dead")
            cursor = self._idle_cursors.pop() if self._idle_cursors else self._con.cursor()
            self._active.append(cursor)
            return cursor

    def _give_cursor(self, cursor: duckdb.DuckDBPyConnection, sound: bool) -> None:
        try:
            cursor.execute("COMMIT" if sound else "ROLLBACK")
        except duckdb.Error:
            sound = False
        with self._gate:
            self._active.remove(cursor)
            if sound:
                self._idle_cursors.append(cursor)
            else:
                cursor.close()
            self._gate.notify_all()

    # ------------------------------------------------------------------------------------------------- writing

    @contextmanager
    def transaction(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """The writer's connection inside one transaction that ends one revision higher.

        Commits when the body ends, rolls back when it raises (a failed statement must never be caught inside: the
        transaction would end half done). Raises StoreError; ``disk_full`` and ``dead`` mean that ``reopen`` is needed.
        """
        with self._write_lock:
            con, key, term = self._con, self._next_key, self._next_term
            begun = time.perf_counter()
            try:
                con.execute("BEGIN TRANSACTION")
                yield con
                self._write_counters(con)
                con.execute("COMMIT")
            except BaseException as error:
                self._next_key, self._next_term = max(key, self._next_key), term
                _roll_back(con)
                if isinstance(error, duckdb.Error):
                    raise store_error(self.path, error) from error
                raise
            self.revision += 1
            self._save_mark()
            self.on_commit(time.perf_counter() - begun)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """No commit of another thread between what the body does."""
        with self._write_lock:
            yield

    @contextmanager
    def unrevised(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """The writer's connection in a transaction for what is no part of a revision: logs, unused marks."""
        with self._write_lock:
            try:
                self._con.execute("BEGIN TRANSACTION")
                yield self._con
                self._con.execute("COMMIT")
            except BaseException as error:
                _roll_back(self._con)
                if isinstance(error, duckdb.Error):
                    raise store_error(self.path, error) from error
                raise

    def _write_counters(self, con: duckdb.DuckDBPyConnection) -> None:
        values = [str(self.revision + 1), str(self._next_key)]
        con.execute(
            "UPDATE meta SET value = CASE key WHEN 'revision' THEN ? ELSE ? END WHERE key IN ('revision', 'next_key')",
            values,
        )

    def _save_mark(self) -> None:
        try:
            write_mark(self._mark_path, Mark(self._generation, self.revision))
        except OSError as error:
            raise store_error(self.path, error) from error

    def allocate_keys(self, count: int) -> range:
        """`count` fresh keys, ascending, never used before and never again. Writer thread only."""
        with self._write_lock:
            first = self._next_key
            self._next_key += count
            return range(first, self._next_key)

    def allocate_terms(self, count: int) -> range:
        """`count` fresh term ids, inside a transaction; they fall back if it does."""
        first = self._next_term
        self._next_term += count
        return range(first, self._next_term)

    def settle_doubt(self) -> None:
        """Everything was compared with the vault: trust the file again. Writer thread only; raises StoreError."""
        if self.doubt:
            with self.unrevised() as con:
                con.execute("DELETE FROM meta WHERE key = 'doubt'")
            self.doubt = False

    def checkpoint(self) -> None:
        """Move the write-ahead log into the file. Raises StoreError."""
        with self._write_lock:
            try:
                self._con.execute("CHECKPOINT")
            except duckdb.Error as error:
                raise store_error(self.path, error) from error

    def size_bytes(self) -> int:
        """Bytes of the file and its write-ahead log."""
        return sum(part.stat().st_size for part in (self.path, wal_of(self.path)) if part.exists())


def set_meta(con: duckdb.DuckDBPyConnection, key: str, value: str) -> None:
    """Write one entry of the table ``meta`` inside a transaction."""
    con.execute("DELETE FROM meta WHERE key = ?", [key])
    con.execute("INSERT INTO meta VALUES (?, ?)", [key, value])


def open_database(path: Path, *, memory_limit: str, threads: int, allowed_dir: Path) -> Database:
    """Open or create the database at `path`, its folder included; private to this user.

    Sets the umask of the process to 0077: DuckDB makes its log and spill files whenever it likes.
    Raises StoreError with a code of ``store.faults``.
    """
    os.umask(0o077)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        for leftover in allowed_dir.glob(f"{path.stem}.compact.duckdb*"):
            leftover.unlink()
    except OSError as error:
        raise store_error(path, error, "read_only") from error
    return Database(path, StoreOptions(memory_limit, threads, allowed_dir))


def _roll_back(con: duckdb.DuckDBPyConnection) -> None:
    try:
        con.execute("ROLLBACK")
    except duckdb.Error as error:
        if code_of(error) == "statement" and "no transaction" not in str(error).lower():
            raise
