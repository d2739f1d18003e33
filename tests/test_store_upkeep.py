"""Copies, compaction, garbage, purge, the dump and the rules between tables."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from store_make import DIM, FINGERPRINT, batch_of, canvas, file, note, open_store, sha, vectors

from mindnetd.errors import StoreError
from mindnetd.store.db import Database
from mindnetd.store.dump import differences, dump
from mindnetd.store.integrity import integrity
from mindnetd.store.read_hot import load_hot, load_vectors
from mindnetd.store.records import Batch
from mindnetd.store.upkeep import SPARE_LEAST, backup, bound_garbage, collect_garbage, compact, compact_if_needed, purge
from mindnetd.store.write import commit

NOW = datetime(2026, 11, 30)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A database with three notes and a canvas, everything embedded."""
    found = open_store(tmp_path)
    notes = [note(found, f"{name}.md", [f"{name} one", f"{name} two"], links=("a.md",)) for name in "abc"]
    commit(found, batch_of(*notes, embed=True))
    commit(found, Batch(canvases=(canvas(found, "x.canvas", ("a.md",)),), files_upsert=(file("x.canvas"),)))
    yield found
    found.close()


def same_again(folder: Path) -> Database:
    """The same content as in `db`, made in another order and with detours."""
    found = open_store(folder, "other.duckdb")
    commit(found, Batch(canvases=(canvas(found, "x.canvas", ("a.md",)),), files_upsert=(file("x.canvas"),)))
    gone = note(found, "gone.md", ["other words"])
    commit(found, batch_of(gone, embed=True))
    for name in "cab":
        first = note(found, f"{name}.md", ["draft"], links=("?zzz",), visibility="sensitive")
        commit(found, batch_of(first))
        again = note(found, f"{name}.md", [f"{name} one", f"{name} two"], links=("a.md",), key=first.meta.key)
        commit(found, batch_of(again, embed=True))
    commit(found, Batch(removed=(gone.meta.key,), files_removed=("gone.md",)))
    return found


def test_equal_vaults_give_equal_dumps(db: Database, tmp_path: Path) -> None:
    """Keys, order of edits, detours and unused vectors do not show (law 1)."""
    other = same_again(tmp_path)
    assert differences(dump(db), dump(other)) == []
    commit(other, batch_of(note(other, "d.md", ["more"])))
    assert any("d.md" in line for line in differences(dump(db), dump(other)))
    other.close()


def test_a_sound_database_breaks_no_rule(db: Database, tmp_path: Path) -> None:
    """Neither one that was written at once nor one that took detours."""
    assert integrity(db) == []
    other = same_again(tmp_path)
    assert integrity(other) == []
    other.close()


@pytest.mark.parametrize(
    ("damage", "rule"),
    [
        ("DELETE FROM chunks WHERE chunk_idx = 0", "chunks of a note not numbered in order"),
        ("DELETE FROM files", "note without a file"),
        ("DELETE FROM lengths", "chunk without a document"),
        ("DELETE FROM terms WHERE id = 0", "posting without a document or term"),
        ("INSERT INTO postings SELECT * FROM postings LIMIT 1", "posting twice"),
        ("UPDATE edges SET visibility = 'public'", "edge less hidden than an end"),
        ("DELETE FROM notes WHERE path = 'b.md'", "chunk without its note"),
        ("INSERT INTO embeddings SELECT * FROM embeddings LIMIT 1", "vector twice"),
    ],
)
def test_a_broken_rule_is_named(db: Database, damage: str, rule: str) -> None:
    """Each kind of damage is reported under its rule."""
    with db.unrevised() as con:
        con.execute(damage)
    assert any(line.startswith(rule) for line in integrity(db))


def test_a_backup_is_a_whole_database(db: Database, tmp_path: Path) -> None:
    """It opens as a database of its own with the same content, and only in the allowed folder."""
    target = db.options.allowed_dir / "copy.duckdb"
    backup(db, target)
    assert target.stat().st_mode & 0o777 == 0o600
    target.rename(tmp_path / "restored.duckdb")
    restored = open_store(tmp_path, "restored.duckdb")
    assert differences(dump(db), dump(restored)) == []
    assert (restored.revision, restored.doubt) == (db.revision, False)
    restored.close()
    with pytest.raises(StoreError):
        backup(db, tmp_path / "elsewhere.duckdb")


def test_copies_may_overlap(db: Database, tmp_path: Path) -> None:
    """Backups on two threads and compactions meanwhile: each copy is whole, none is in the way of another."""
    expected, failures = dump(db), list[str]()
    start = threading.Barrier(3)

    def copy(name: str) -> None:
        start.wait(10)
        for number in range(4):
            try:
                backup(db, db.options.allowed_dir / f"{name}{number}.duckdb")
            except StoreError as error:
                failures.append(error.message)

    threads = [threading.Thread(target=copy, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    start.wait(10)
    for _ in range(4):
        try:
            compact(db)
        except StoreError as error:
            assert error.code == "busy", error.message  # a backup took its time; the next compaction comes
    for thread in threads:
        thread.join(60)
    assert failures == [] and differences(dump(db), expected) == []
    for name in ("one0", "one3", "two0", "two3"):
        (db.options.allowed_dir / f"{name}.duckdb").rename(tmp_path / f"{name}.duckdb")
        copied = open_store(tmp_path, f"{name}.duckdb")
        assert differences(dump(copied), expected) == []
        copied.close()


def test_compaction_keeps_the_content_and_the_readers(db: Database) -> None:
    """A reader in another thread goes on asking while the file is swapped and sees no error and no loss."""
    before, stop, seen, faults = dump(db), threading.Event(), set(), []

    def ask() -> None:
        while not stop.is_set():
            try:
                with db.reader() as reader:
                    seen.add(reader.rows("SELECT count(*) FROM chunks")[0][0])
            except StoreError as error:
                faults.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    for _ in range(5):
        compact(db)
    stop.set()
    thread.join()
    assert (faults, seen) == ([], {6})
    assert differences(before, dump(db)) == []
    revision = commit(db, batch_of(note(db, "d.md", ["more"])))
    assert load_hot(db, FINGERPRINT, DIM).revision == revision


def test_the_file_stays_small_over_a_hundred_rewrites(tmp_path: Path) -> None:
    """Rewriting every note again and again leaves at most twice a fresh file (demand 10)."""
    texts = [[f"{i} {j} " + "some words of a text " * 60 for j in range(4)] for i in range(12)]

    def rewrite(db: Database, keys: dict[int, int]) -> None:
        rows = [note(db, f"{i}.md", text, key=keys.get(i)) for i, text in enumerate(texts)]
        commit(db, batch_of(*rows, embed=not keys))
        keys |= {i: row.meta.key for i, row in enumerate(rows)}

    fresh = open_store(tmp_path, "fresh.duckdb")
    rewrite(fresh, {})
    compact(fresh)
    fresh.close()
    db, keys = open_store(tmp_path), dict[int, int]()
    for number in range(100):
        rewrite(db, keys)
        if number % 10 == 9:
            compact_if_needed(db)
    db.close()
    assert db.size_bytes() <= 2 * fresh.size_bytes()


def test_garbage_waits_for_its_days(db: Database) -> None:
    """An unused vector is kept for the days asked for; a text that comes back needs no new one."""
    commit(db, Batch(vectors=vectors(["old text"])))
    assert collect_garbage(db, NOW, 30) == 0
    assert collect_garbage(db, NOW + timedelta(days=29), 30) == 0
    commit(db, batch_of(note(db, "d.md", ["old text"])))
    assert collect_garbage(db, NOW + timedelta(days=31), 30) == 0
    assert load_vectors(db, [sha("old text")], FINGERPRINT, DIM).hashes == (sha("old text"),)
    commit(db, Batch(vectors=vectors(["never used"])))
    collect_garbage(db, NOW, 30)
    assert collect_garbage(db, NOW + timedelta(days=30), 30) == 1


def test_vectors_of_a_former_model_go_after_their_days(db: Database) -> None:
    """Though their texts are still there. Who goes back to it before finds them; the bound of garbage leaves them."""
    texts = [f"{name} {word}" for name in "abc" for word in ("one", "two")]
    hashes = [sha(text) for text in texts]

    def use(model: str) -> None:
        commit(db, Batch(meta={"fingerprint": model}, vectors=vectors(texts, model)))

    def kept(model: str) -> int:
        return len(load_vectors(db, hashes, model, DIM).hashes)

    use(FINGERPRINT)
    use("another")
    assert collect_garbage(db, NOW, 30) == 0
    use(FINGERPRINT)
    assert collect_garbage(db, NOW + timedelta(days=29), 30) == 0, "back in time"
    use("another")
    assert collect_garbage(db, NOW + timedelta(days=31), 30) == 0, "its days begin anew"
    assert bound_garbage(db, NOW + timedelta(days=32)) == []
    assert (kept(FINGERPRINT), kept("another")) == (6, 6)
    assert collect_garbage(db, NOW + timedelta(days=61), 30) >= 6
    assert (kept(FINGERPRINT), kept("another")) == (0, 6)


def test_a_former_model_does_not_crowd_out_what_this_one_keeps(db: Database) -> None:
    """Nor are hashes told as gone whose vectors by the model of now are there: the resident index would forget them."""
    many = [f"text {number}" for number in range(SPARE_LEAST + 2)]
    commit(db, batch_of(note(db, "many.md", many)))
    commit(db, Batch(meta={"fingerprint": "another"}, vectors=vectors(many, FINGERPRINT)))
    commit(db, Batch(vectors=vectors(many, "another")))
    assert bound_garbage(db, NOW) == []
    assert len(load_vectors(db, [sha(text) for text in many], "another", DIM).hashes) == len(many)


def test_unused_vectors_are_bounded_and_the_oldest_go_first(db: Database) -> None:
    """Texts that never come back fill no file: half as many as the used ones stay, at least `SPARE_LEAST`."""
    old = [f"old {number}" for number in range(SPARE_LEAST)]
    commit(db, Batch(vectors=vectors(old)))
    assert bound_garbage(db, NOW) == []
    commit(db, Batch(vectors=vectors(["new 1", "new 2"])))
    gone = bound_garbage(db, NOW + timedelta(days=1))
    assert len(gone) == 2
    assert set(gone) <= {sha(text) for text in old}
    kept = load_vectors(db, [sha("new 1"), sha("a one"), *gone], FINGERPRINT, DIM).hashes
    assert set(kept) == {sha("new 1"), sha("a one")}


def test_what_duckdb_keeps_of_its_pages_is_given_back(db: Database) -> None:
    """After a look at everything; not while somebody reads, who goes on undisturbed."""
    commit(db, Batch(vectors=vectors([f"text {number}" for number in range(3000)])))
    db.checkpoint()

    def kept() -> int:
        with db.working_cursor() as cursor:
            cursor.execute("SELECT sum(list_sum(embedding)) FROM embeddings").fetchall()
            return int(cursor.execute("SELECT sum(memory_usage_bytes) FROM duckdb_memory()").fetchall()[0][0])

    def now() -> int:
        with db.working_cursor() as cursor:
            return int(cursor.execute("SELECT sum(memory_usage_bytes) FROM duckdb_memory()").fetchall()[0][0])

    full = kept()
    with db.reader() as reader:
        before = reader.rows("SELECT count(*) FROM embeddings")
        assert not db.slim()
        assert reader.rows("SELECT count(*) FROM embeddings") == before
    assert now() > full / 2
    assert db.slim()
    assert now() < full / 4
    assert kept() > full / 2, "and it reads again"


def test_a_purge_leaves_no_trace_in_the_file(db: Database) -> None:
    """After removal and purge no byte of the text is in the file, nor a word of it in the terms."""
    secret = "xylophonequartz"
    rows = note(db, f"{secret}.md", [f"the word {secret} twice {secret}"], links=(f"?{secret}",))
    commit(db, batch_of(rows, embed=True))
    db.checkpoint()
    assert secret.encode() in db.path.read_bytes()
    commit(db, Batch(removed=(rows.meta.key,), files_removed=(f"{secret}.md",)))
    purge(db, NOW)
    db.close()
    left = [path for path in db.path.parent.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]
    assert left == []
