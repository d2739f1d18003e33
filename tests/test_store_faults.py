"""Files that cannot be used as they are: each a clear message with a code, and nothing of anybody's is destroyed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from small_disk import small_disk_at
from store_make import DIM, FINGERPRINT, batch_of, note, open_store

from mindnetd.errors import StoreError
from mindnetd.store.connect import wal_of
from mindnetd.store.db import Database, move_aside
from mindnetd.store.read_hot import load_hot
from mindnetd.store.records import Batch
from mindnetd.store.schema import SCHEMA_VERSION
from mindnetd.store.sqltext import migrations, statements
from mindnetd.store.upkeep import compact
from mindnetd.store.write import commit


def filled(folder: Path, commits: int = 3) -> Database:
    """A database with one note a commit."""
    db = open_store(folder)
    for number in range(commits):
        commit(db, batch_of(note(db, f"{number}.md", ["some words " * 200] * 3), embed=True))
    return db


def abandoned(folder: Path, commits: int = 3) -> Path:
    """A database file whose process died: with its log, without a checkpoint."""
    db = filled(folder, commits)
    dead = folder / "dead"
    dead.mkdir(mode=0o700)
    for path in (db.path, wal_of(db.path), db.path.with_name("v.duckdb.mark")):
        shutil.copy(path, dead / path.name)
    db.close()
    return dead


def code_when_opened(folder: Path) -> str:
    """The code of the error that opening raises; its message is one line with the path."""
    with pytest.raises(StoreError) as info:
        open_store(folder)
    assert "\n" not in info.value.message
    assert str(folder) in info.value.message
    return info.value.code


def test_a_file_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    """And stays as it is."""
    db = filled(tmp_path)
    with db.unrevised() as con:
        con.execute("UPDATE meta SET value = '999' WHERE key = 'schema_version'")
    db.close()
    before = db.path.read_bytes()
    assert code_when_opened(tmp_path) == "newer_version"
    assert db.path.read_bytes() == before


@pytest.mark.parametrize("content", [b"x", b"\0" * 5000, b"hello world\n" * 1000, b"SQLite format 3\0" + b"x" * 5000])
def test_a_foreign_file_is_refused(tmp_path: Path, content: bytes) -> None:
    """Text or another database: it stays as it is."""
    path = tmp_path / "v.duckdb"
    path.write_bytes(content)
    assert code_when_opened(tmp_path) == "foreign_file"
    assert path.read_bytes() == content


def test_another_programs_duckdb_file_is_refused(tmp_path: Path) -> None:
    """A database with tables that are not ours is left alone."""
    with duckdb.connect(str(tmp_path / "v.duckdb")) as con:
        con.execute("CREATE TABLE customers (name VARCHAR)")
    assert code_when_opened(tmp_path) == "foreign_file"
    with duckdb.connect(str(tmp_path / "v.duckdb")) as con:
        assert con.execute("SELECT count(*) FROM duckdb_tables()").fetchone() == (1,)


@pytest.mark.parametrize("place", [100, 4096 + 60, 8192 + 60, 12288 + 60])
def test_a_damaged_file_is_noticed_moved_aside_and_made_anew(tmp_path: Path, place: int) -> None:
    """A flipped byte in a header or in the first block."""
    db = filled(tmp_path)
    db.close()
    data = bytearray(db.path.read_bytes())
    data[place] ^= 0xFF
    db.path.write_bytes(data)
    assert code_when_opened(tmp_path) == "damaged"
    aside = move_aside(db.path)
    assert aside.exists()
    assert not db.path.exists()
    fresh = open_store(tmp_path)
    assert (fresh.revision, fresh.doubt) == (0, False)
    fresh.close()


def test_damage_in_the_data_is_never_read_as_data(tmp_path: Path) -> None:
    """Wherever a byte is flipped, opening and loading either notice it or give exactly what was stored."""
    db = filled(tmp_path)
    good = load_hot(db, FINGERPRINT, DIM)
    db.close()
    data = db.path.read_bytes()
    for place in range(16_000, len(data), len(data) // 12):
        db.path.write_bytes(data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :])
        try:
            again = open_store(tmp_path)
        except StoreError as error:
            assert error.code == "damaged"
            continue
        try:
            hot = load_hot(again, FINGERPRINT, DIM)
            assert hot.notes == good.notes
            assert (hot.matrix == good.matrix).all()
        except StoreError as error:
            assert error.code in {"damaged", "dead"}
        finally:
            again.close()


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.7, 0.99])
def test_a_cut_file_is_noticed(tmp_path: Path, share: float) -> None:
    """Whatever is left of it; an empty file too."""
    db = filled(tmp_path)
    db.close()
    os.truncate(db.path, int(db.path.stat().st_size * share))
    with pytest.raises(StoreError) as info:
        again = open_store(tmp_path)
        try:
            load_hot(again, FINGERPRINT, DIM)
            read_everything(again)
        finally:
            again.close()
    assert info.value.code == "damaged"
    move_aside(db.path)
    open_store(tmp_path).close()


def read_everything(db: Database) -> None:
    """Each value of each table."""
    with db.reader() as reader:
        for (table,) in reader.rows("SELECT table_name FROM duckdb_tables()"):
            reader.rows(f"SELECT count(columns(*)), sum(length(columns(*)::VARCHAR)) FROM {table}")


@pytest.mark.parametrize("place", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_a_damaged_log_is_noticed(tmp_path: Path, place: float) -> None:
    """A flipped byte in the write-ahead log: refused, or the commits after it are seen to be missing."""
    dead = abandoned(tmp_path)
    log = wal_of(dead / "v.duckdb")
    data = bytearray(log.read_bytes())
    data[int(len(data) * place)] ^= 0xFF
    log.write_bytes(data)
    try:
        db = open_store(dead)
    except StoreError as error:
        assert error.code == "damaged"
    else:
        assert db.doubt
        db.close()


def test_a_missing_log_raises_doubt(tmp_path: Path) -> None:
    """The file opens with fewer rows and without an error, but the mark beside it knows better."""
    dead = abandoned(tmp_path, commits=3)
    wal_of(dead / "v.duckdb").unlink()
    db = open_store(dead)
    assert db.doubt
    assert db.revision == 3
    assert not load_hot(db, FINGERPRINT, DIM).notes
    assert commit(db, Batch()) == 4
    db.close()
    db = open_store(dead)
    assert db.doubt  # a restart does not forget it
    db.settle_doubt()
    db.close()
    assert not open_and_close(dead)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8, 0.99])
def test_a_truncated_log_raises_doubt(tmp_path: Path, share: float) -> None:
    """However much of the log is gone."""
    db = filled(tmp_path, commits=1)
    db.checkpoint()
    for number in range(5):
        commit(db, batch_of(note(db, f"later-{number}.md", ["words " * 50])))
    dead = tmp_path / "dead"
    dead.mkdir(mode=0o700)
    for path in (db.path, wal_of(db.path), db.path.with_name("v.duckdb.mark")):
        shutil.copy(path, dead / path.name)
    db.close()
    log = wal_of(dead / "v.duckdb")
    os.truncate(log, int(log.stat().st_size * share))
    try:
        again = open_store(dead)
    except StoreError as error:
        assert error.code == "damaged"
        return
    assert again.doubt
    assert again.revision == 6
    again.close()


def open_and_close(folder: Path) -> bool:
    """Whether opening raises doubt."""
    db = open_store(folder)
    db.close()
    return db.doubt


def test_a_whole_log_raises_no_doubt(tmp_path: Path) -> None:
    """Dying without a checkpoint is no loss."""
    dead = abandoned(tmp_path)
    db = open_store(dead)
    assert (db.doubt, db.revision) == (False, 3)
    assert len(load_hot(db, FINGERPRINT, DIM).notes) == 3
    db.close()


def test_a_second_process_is_told_who_holds_the_file(tmp_path: Path) -> None:
    """The message names the process; the same in one process."""
    db = filled(tmp_path)
    assert code_when_opened(tmp_path) == "locked"
    script = (
        "import sys; from pathlib import Path; from mindnetd.store.db import open_database\n"
        "p = Path(sys.argv[1]); open_database(p / 'v.duckdb', memory_limit='64MB', threads=1, allowed_dir=p / 'work')"
    )
    run = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=False)
    assert run.returncode != 0
    assert f"in use by process {os.getpid()}" in run.stderr
    db.close()
    assert not open_and_close(tmp_path)


def test_a_foreign_lock_of_duckdb_is_told_too(tmp_path: Path) -> None:
    """Somebody looks into the file with DuckDB's own tool."""
    filled(tmp_path).close()
    script = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    path = str(tmp_path / "v.duckdb")
    with subprocess.Popen([sys.executable, "-c", script, path], stdin=-1, stdout=-1, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        assert code_when_opened(tmp_path) == "locked"
        other.communicate("")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 24 MB; skips where it cannot be mounted."""
    with small_disk_at(tmp_path / "small") as folder:
        yield folder


def test_a_full_disk_loses_nothing_and_heals(small_disk: Path) -> None:
    """The batch fails with a code; after space is made and the file reopened, all earlier commits are there."""
    db = open_store(small_disk)
    done, codes = 0, []
    for number in range(200):
        try:
            commit(db, batch_of(note(db, f"{number}.md", [os.urandom(150_000).hex()])))
            done += 1
        except StoreError as error:
            codes.append(error.code)
            break
    assert codes
    assert codes[0] in {"disk_full", "dead"}
    subprocess.run(["mount", "-o", "remount,size=200m", small_disk], check=True)
    db.reopen()
    assert len(load_hot(db, FINGERPRINT, DIM).notes) == done
    assert db.revision == done
    assert commit(db, batch_of(note(db, "after.md", ["fits"]))) == done + 1
    db.close()


def test_a_read_only_folder_is_told(small_disk: Path) -> None:
    """Not a crash, and not a database elsewhere."""
    filled(small_disk).close()
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    assert code_when_opened(small_disk) == "read_only"


def test_a_state_folder_that_was_emptied_comes_back_whole(tmp_path: Path) -> None:
    """The next commit says so; reopened it is a database like any new one, and can be compacted as before."""
    db = filled(tmp_path / "state")
    shutil.rmtree(tmp_path / "state")
    with pytest.raises(StoreError) as failed:
        commit(db, batch_of(note(db, "late.md", ["words"])))
    assert failed.value.code == "io" and "\n" not in failed.value.message
    db.reopen()
    commit(db, batch_of(note(db, "new.md", ["words"])))
    compact(db)
    with db.reader() as reader:
        assert reader.rows("SELECT path FROM notes") == [("new.md",)]
    db.close()


def test_files_are_private(tmp_path: Path) -> None:
    """Database, log, lock and mark are 0600, folders made on the way 0700."""
    db = filled(tmp_path / "state" / "x")
    files = [path for path in db.path.parent.rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"v.duckdb", "v.duckdb.wal", "v.duckdb.lock", "v.duckdb.mark"}
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    assert (tmp_path / "state").stat().st_mode & 0o077 == 0
    db.close()


def test_sql_reaches_no_other_file(tmp_path: Path) -> None:
    """Hardening: no file but the database, no setting, no extension."""
    db = filled(tmp_path)
    for sql in (
        "SELECT * FROM read_csv('/etc/passwd')",
        f"COPY notes TO '{tmp_path}/out.csv'",
        f"ATTACH '{tmp_path}/other.duckdb'",
        "SET memory_limit = '10GB'",
        "INSTALL vss",
        "LOAD vss",
    ):
        with pytest.raises(StoreError), db.reader() as reader:
            reader.rows(sql)
    assert not (tmp_path / "out.csv").exists()
    db.close()


def test_a_failed_batch_changes_nothing(tmp_path: Path) -> None:
    """An error in the middle rolls back; the next commit works and the revision has no gap."""
    db = filled(tmp_path)
    with pytest.raises(RuntimeError), db.transaction() as con:
        con.execute("DELETE FROM notes")
        raise RuntimeError
    assert len(load_hot(db, FINGERPRINT, DIM).notes) == 3
    rows = note(db, "x.md", ["y"])
    twice = Batch(notes=(rows, rows))
    with pytest.raises(StoreError) as info:
        commit(db, twice)
    assert info.value.code == "statement"
    assert commit(db, batch_of(rows)) == 4
    db.close()


def test_readers_see_one_revision_and_never_wait(tmp_path: Path) -> None:
    """A reader that began before a commit sees the old state to its end; one beside an open transaction goes on."""
    db = filled(tmp_path)
    with db.reader() as reader:
        before = reader.rows("SELECT count(*) FROM notes")
        commit(db, batch_of(note(db, "new.md", ["z"])))
        assert reader.rows("SELECT count(*) FROM notes") == before
        assert reader.revision() == 3
    with db.transaction() as con:
        con.execute("DELETE FROM notes")
        seen: list[object] = []

        def ask() -> None:
            with db.reader() as reader:
                seen.append((reader.revision(), reader.rows("SELECT count(*) FROM notes")))

        thread = threading.Thread(target=ask, daemon=True)  # another one: the writer's own may enter its lock again
        thread.start()
        thread.join(20)
        assert seen == [(4, [(4,)])]
        con.execute("ROLLBACK")
        con.execute("BEGIN TRANSACTION")
    db.close()


def test_thirty_two_readers_while_writing(tmp_path: Path) -> None:
    """No error, no lock, no row of somebody else (demand 9)."""
    db = filled(tmp_path)
    wrong: list[object] = []

    def ask(number: int) -> None:
        try:
            for _ in range(20):
                with db.reader() as reader:
                    if reader.rows("SELECT ?::INTEGER, count(*) > 2 FROM notes", [number]) != [(number, True)]:
                        wrong.append(number)
        except StoreError as error:
            wrong.append(error)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(32)]
    for thread in threads:
        thread.start()
    for number in range(10):
        commit(db, batch_of(note(db, f"new-{number}.md", ["z"])))
    for thread in threads:
        thread.join()
    assert wrong == []
    db.close()


def test_a_reader_can_be_interrupted(tmp_path: Path) -> None:
    """A deadline stops a running statement with the code timeout; the next reader works."""
    db = filled(tmp_path)
    with pytest.raises(StoreError) as info, db.reader() as reader:
        threading.Timer(0.05, reader.interrupt).start()
        reader.rows("SELECT count(*) FROM range(100000) a, range(100000) b")
    assert info.value.code == "timeout"
    with db.reader() as reader:
        assert reader.revision() == 3
    db.close()


def test_a_long_reader_delays_no_swap_and_is_interrupted_by_an_end(tmp_path: Path) -> None:
    """A compaction gives up rather than keep everybody waiting; closing interrupts the statement."""
    db = filled(tmp_path)
    started, codes = threading.Event(), []

    def ask() -> None:
        try:
            with db.reader() as reader:
                started.set()
                reader.rows("SELECT count(*) FROM range(1000000) a, range(1000000) b")
        except StoreError as error:
            codes.append(error.code)

    thread = threading.Thread(target=ask)
    thread.start()
    started.wait(10)
    with pytest.raises(StoreError) as info:
        compact(db)
    assert info.value.code == "busy"
    with db.reader() as reader:
        assert reader.revision() == 3
    assert commit(db, Batch()) == 4
    db.close()
    thread.join()
    assert codes == ["timeout"]


def test_a_closed_database_says_so(tmp_path: Path) -> None:
    """Closing twice is fine, reading is not."""
    db = filled(tmp_path)
    db.close()
    db.close()
    with pytest.raises(StoreError) as info, db.reader():
        pass
    assert info.value.code == "dead"


def test_migrations_are_numbered_without_gaps() -> None:
    """And every named statement has a text."""
    numbers = [number for number, _ in migrations()]
    assert numbers == list(range(1, SCHEMA_VERSION + 1))
    for file in ("read", "write", "upkeep", "dump", "integrity"):
        assert all(re.search(r"\w", sql) for sql in statements(file).values())
