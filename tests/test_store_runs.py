"""Runs, configurations, the query log, counts."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from store_make import batch_of, note, open_store, uid

from mindnetd.store import read
from mindnetd.store.db import Database
from mindnetd.store.records import Batch, ConfigRow, QueryRow, RunRow
from mindnetd.store.write import commit
from mindnetd.store.write_logs import log_queries, trim_logs

DAY = timedelta(days=1)
NOW = datetime(2026, 11, 30, 12)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """An empty database."""
    found = open_store(tmp_path)
    yield found
    found.close()


def run(number: int, **changes: object) -> RunRow:
    """A finished run that started `number` days ago."""
    made = RunRow(f"run-{number}", "watch", NOW - number * DAY, f"config-{number}", ended=NOW - number * DAY)
    return dataclasses.replace(made, **changes)  # type: ignore[arg-type]


def test_a_run_is_written_over_as_it_goes_on(db: Database) -> None:
    """One row a run, newest first, everything as it went in."""
    commit(db, Batch(run=run(1, ended=None)))
    last = run(1, files_seen=3, errors=("a.md: bad", "b"), vault_repo="r", vault_commit="c+dirty", chunks=4, edges=5)
    commit(db, Batch(run=last))
    commit(db, Batch(run=run(0)))
    assert read.runs(db) == (run(0), last)
    assert read.runs(db, limit=1, offset=1) == (last,)
    assert read.run(db, "run-1") == last
    assert read.run(db, "none") is None


def test_a_configuration_is_kept_once(db: Database) -> None:
    """By its hash."""
    for text in ("{}", '{"other": 1}'):
        commit(db, Batch(config=ConfigRow("h", text)))
    assert read.config(db, "h") == "{}"
    assert read.config(db, "none") is None


def test_trimming_forgets_old_runs_but_not_what_they_made(db: Database) -> None:
    """Runs in use and the newest stay; totals never fall; configurations go with their runs."""
    rows = note(db, "n.md", ["x"])  # its rows point to run-1
    commit(db, batch_of(rows))
    for number in (3, 2, 1):
        config = ConfigRow(f"config-{number}", "{}")
        commit(db, Batch(run=run(number, embeddings_made=10, embeddings_reused=1), config=config))
    for _ in range(2):
        trim_logs(db, NOW)
        assert [row.id for row in read.runs(db)] == ["run-1"]
        assert read.embeddings_total(db) == (30, 3)
    assert read.config(db, "config-3") is None
    assert read.config(db, "config-1") == "{}"


def test_the_query_log_is_no_revision(db: Database) -> None:
    """It is read newest first and trimmed by age."""
    rows = [QueryRow(f"q{day}", NOW - day * DAY, "what", "{}", 10, 1.5, None) for day in range(3)]
    log_queries(db, rows)
    assert db.revision == 0
    assert read.query_log(db) == tuple(rows)
    trim_logs(db, NOW - DAY - timedelta(seconds=1))
    assert read.query_log(db) == tuple(rows[:2])


def test_counts_leave_out_what_is_hidden(db: Database) -> None:
    """Edges by relation and source, distinct unresolved targets."""
    commit(db, batch_of(note(db, "a.md", ["x"], links=("b.md", "?gone"))))
    commit(db, batch_of(note(db, "b.md", ["x"], links=("?gone", "?other"))))
    assert read.edge_counts(db).by_relation == {("references", "declared"): 4}
    assert read.edge_counts(db).unresolved == 2
    hidden = read.edge_counts(db, [uid("b.md")])
    assert (hidden.by_relation, hidden.unresolved) == ({("references", "declared"): 1}, 1)
