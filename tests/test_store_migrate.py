"""A file of an older schema is brought to this one, rows and all; what older stages made is made anew."""

from __future__ import annotations

from pathlib import Path

import pytest
from server_make import World
from store_make import open_store

from mindnetd.store import schema
from mindnetd.store.sqltext import migrations
from mindnetd.writing import stages

OLD_EDGE = """
    INSERT INTO edges (id, owner, src_id, dst_id, src_kind, dst_kind, dst_label, relation, scope, note_id, weight,
                       source, occurrences, evidence, line, visibility, created, import_run_id)
                      VALUES (uuid(), 1, uuid(), uuid(), 'note', 'note', 'b.md', 'supports', 'note', uuid(), 1.0,
                              'declared', 1, 'as b says', 3, 'internal', now()::TIMESTAMP, 'run')
"""
OLD_LINK = """
    INSERT INTO links (owner, ord, kind, raw, target, heading, block, display, line, property, in_comment, relation,
                       resolved, ambiguous)
                      VALUES (1, 0, 'wikilink', '[[b]]', 'b', NULL, NULL, NULL, 3, NULL, false,
                              'supports', 'b.md', false)
"""


@pytest.mark.parametrize("version", range(1, schema.SCHEMA_VERSION))
def test_an_older_file_is_migrated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int) -> None:
    """Its rows stay, its columns are those of a fresh file, in the same order; its views give what a fresh one's do."""
    with monkeypatch.context() as before:
        before.setattr(schema, "migrations", lambda: migrations()[:version])
        before.setattr(schema, "SCHEMA_VERSION", version)
        old = open_store(tmp_path, "old.duckdb")
        with old.transaction() as con:
            con.execute(OLD_EDGE)
            con.execute(OLD_LINK)
        old.close()
    for name in ("old.duckdb", "fresh.duckdb"):  # DuckDB spells a view otherwise once it was read from a file
        open_store(tmp_path, name).close()
    columns = "SELECT table_name, column_name, data_type FROM duckdb_columns() ORDER BY table_name, column_index"
    views = "SELECT view_name, sql FROM duckdb_views() WHERE NOT internal ORDER BY view_name"
    found = []
    for name in ("old.duckdb", "fresh.duckdb"):
        db = open_store(tmp_path, name)
        with db.reader() as reader:
            found.append((reader.rows(columns), reader.rows(views)))
            if name == "old.duckdb":
                assert reader.rows("SELECT evidence, resolved_by FROM edges") == [("as b says", None)]
                assert reader.rows("SELECT resolved, by_id FROM links") == [("b.md", None)]
                assert reader.rows("SELECT relation FROM structural_edges") == [], "only references have backlinks"
        db.close()
    assert found[0] == found[1]


def test_other_edges_are_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The version of the edges is part of what made the rows: another one re-does every note at the next start."""
    with monkeypatch.context() as before:
        before.setattr(stages, "EDGES_VERSION", 0)
        old = World(tmp_path)
        old.write("a.md", "# See also\n[[b]]\n")
        old.index()
        with old.engine.db.transaction() as con:
            con.execute("DELETE FROM edges WHERE source = 'rule'")
        old.close()
    world = World(tmp_path)
    try:
        for work in world.engine.unfinished():
            world.writer.submit(work)
        world.index()
        with world.engine.db.reader() as reader:
            rows = reader.rows("SELECT relation, source FROM edges ORDER BY ALL")
        assert rows == [("references", "declared"), ("related_to", "rule")]
    finally:
        world.close()
