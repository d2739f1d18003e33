"""One batch, one transaction, one revision: the only way rows get into the store.

Top to bottom: rows of keys that go or are replaced are deleted, then everything of the batch is inserted table by
table, then the visibility of edges is settled, since an edge is as hidden as its more hidden end.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import duckdb
import numpy as np

from mindnetd.store.bulk import key_list
from mindnetd.store.db import Database
from mindnetd.store.records import Batch, NoteRows, RunRow
from mindnetd.store.sqltext import statements
from mindnetd.store.write_links import insert_diagnostics, insert_edges, insert_links, settle_visibility
from mindnetd.store.write_notes import insert_canvases, insert_chunks, insert_files, insert_notes, insert_passages
from mindnetd.store.write_vectors import write_vectors
from mindnetd.store.write_words import delete_words, write_words

NOTE_TABLES = ("chunks", "passages")
OWNER_TABLES = ("links", "link_names", "edges", "diagnostics")


def commit(db: Database, batch: Batch) -> int:
    """Make `batch` true in one transaction and return the new revision. Writer thread only.

    Raises StoreError; nothing of the batch is stored then.
    """
    with db.transaction() as con:
        runs = _kept_runs(con, batch.notes)
        touched = {rows.meta.id for rows in batch.notes} | _ids_of(con, batch.removed)
        _delete(con, batch)
        insert_files(con, batch.files_upsert)
        insert_notes(con, batch.notes, runs)
        insert_chunks(con, batch.notes)
        insert_passages(con, batch.notes)
        write_words(db, con, batch.notes)
        insert_canvases(con, batch.canvases)
        insert_links(con, batch)
        insert_edges(con, batch, runs)
        insert_diagnostics(con, batch)
        settle_visibility(con, batch, sorted(touched))
        if batch.vectors is not None:
            write_vectors(con, batch.vectors)
        _write_run(con, batch)
        _write_meta(con, batch)
    return db.revision


# --------------------------------------------------------------------------------------------------- deleting


def _kept_runs(con: duckdb.DuckDBPyConnection, notes: Sequence[NoteRows]) -> dict[int, str]:
    """The run id of each note of the batch: its own, or the stored one where it keeps that."""
    runs = {rows.meta.key: rows.run_id for rows in notes if rows.run_id is not None}
    keep = [rows.meta.key for rows in notes if rows.run_id is None]
    if keep:
        runs.update(con.execute(f"SELECT key, import_run_id FROM notes WHERE key IN ({key_list(keep)})").fetchall())
    return runs


def _ids_of(con: duckdb.DuckDBPyConnection, keys: Sequence[int]) -> set[str]:
    if not keys:
        return set()
    return {row for (row,) in con.execute(f"SELECT id::VARCHAR FROM notes WHERE key IN ({key_list(keys)})").fetchall()}


def _delete(con: duckdb.DuckDBPyConnection, batch: Batch) -> None:
    whole = [*batch.removed, *(rows.meta.key for rows in batch.notes if not rows.keep_chunks)]
    kept = [rows.meta.key for rows in batch.notes if rows.keep_chunks]
    canvases = [rows.key for rows in batch.canvases]
    relinked = [rows.key for rows in batch.relinked]
    delete_words(con, whole, [doc.key for rows in batch.notes if rows.keep_chunks for doc in rows.docs])
    if whole:
        for table in NOTE_TABLES:
            con.execute(f"DELETE FROM {table} WHERE note_key IN ({key_list(whole)})")
    if kept:
        con.execute(f"DELETE FROM passages WHERE owner IN ({key_list(kept)})")
    if whole or kept:
        con.execute(f"DELETE FROM notes WHERE key IN ({key_list(whole + kept)})")
    if batch.removed or canvases:
        con.execute(f"DELETE FROM canvases WHERE key IN ({key_list([*batch.removed, *canvases])})")
    if owners := whole + kept + canvases:
        for table in OWNER_TABLES:
            con.execute(f"DELETE FROM {table} WHERE owner IN ({key_list(owners)})")
    if relinked:
        con.execute(f"DELETE FROM links WHERE owner IN ({key_list(relinked)})")
        con.execute(f"DELETE FROM edges WHERE owner IN ({key_list(relinked)})")
        con.execute(f"DELETE FROM diagnostics WHERE owner IN ({key_list(relinked)}) AND starts_with(code, 'link_')")
    _delete_paths(con, "files", [*batch.files_removed, *(file.path for file in batch.files_upsert)])
    _delete_paths(con, "diagnostics", [row.path for row in batch.path_diagnostics])


def _delete_paths(con: duckdb.DuckDBPyConnection, table: str, paths: Sequence[str]) -> None:
    if not paths:
        return
    con.register("gone", {"path": np.array(paths, dtype=np.str_)})
    try:
        con.execute(f"DELETE FROM {table} WHERE path IN (SELECT path FROM gone)")
    finally:
        con.unregister("gone")


def _write_run(con: duckdb.DuckDBPyConnection, batch: Batch) -> None:
    if batch.run is not None:
        con.execute("DELETE FROM import_runs WHERE id = ?", [batch.run.id])
        con.execute(statements("write")["insert_run"], _run_values(batch.run))
    if batch.config is not None:
        values = [batch.config.config_hash, batch.at, batch.config.config_json, batch.config.config_hash]
        con.execute(statements("write")["insert_config"], values)


def _run_values(run: RunRow) -> list[object]:
    return [
        *(run.id, run.trigger, run.started, run.ended, run.config_hash, run.vault_repo, run.vault_commit),
        *(run.files_seen, run.files_changed, run.files_failed, run.chunks, run.edges),
        *(run.embeddings_made, run.embeddings_reused, json.dumps(run.errors)),
    ]


def _write_meta(con: duckdb.DuckDBPyConnection, batch: Batch) -> None:
    for key, value in batch.meta.items():
        con.execute("DELETE FROM meta WHERE key = ?", [key])
        con.execute("INSERT INTO meta VALUES (?, ?)", [key, value])
