"""One batch, one transaction, one revision: the only way rows get into the store.

Top to bottom: rows of keys that go or are replaced are deleted, then everything of the batch is inserted table by
table, then the visibility of edges is settled, since an edge is as hidden as its more hidden end.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import duckdb

from mindnetd.store.bulk import Packed, key_list
from mindnetd.store.db import Database, set_meta
from mindnetd.store.llm import forget_notes
from mindnetd.store.records import Batch, RunRow
from mindnetd.store.sqltext import statements
from mindnetd.store.write_entities import delete_kept_signals, insert_signals
from mindnetd.store.write_links import insert_diagnostics, insert_edges, insert_links, settle_incoming
from mindnetd.store.write_notes import insert_canvases, insert_chunks, insert_files, insert_notes, insert_passages
from mindnetd.store.write_vectors import write_vectors
from mindnetd.store.write_words import delete_words, write_words

NOTE_TABLES = ("chunks", "passages", "entity_mentions", "entity_spellings", "relationship_mentions")
OWNER_TABLES = ("links", "link_names", "edges", "diagnostics")


def commit(db: Database, batch: Batch) -> int:
    """Make `batch` true in one transaction and return the new revision. Writer thread only.

    Raises StoreError; nothing of the batch is stored then.
    """
    with db.transaction() as con:
        before = _stored(con, batch)
        runs = {key: run_id for key, (_, _, run_id) in before.items()}
        runs |= {rows.meta.key: rows.run_id for rows in batch.notes if rows.run_id is not None}
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
        insert_signals(con, batch.notes)
        settle_incoming(con, _newly_visible(batch, before))
        if batch.vectors is not None:
            write_vectors(con, batch.vectors)
        _write_run(con, batch)
        _write_meta(con, batch)
    return db.revision


_Before = dict[int, tuple[str, str, str]]


def _stored(con: duckdb.DuckDBPyConnection, batch: Batch) -> _Before:
    """The notes of the batch that are stored already: key -> (id, visibility, run id)."""
    keys = [*batch.removed, *(rows.meta.key for rows in batch.notes)]
    if not keys:
        return {}
    sql = f"SELECT key, id::VARCHAR, visibility, import_run_id FROM notes WHERE key IN ({key_list(keys)})"
    return {key: (note_id, visibility, run_id) for key, note_id, visibility, run_id in con.execute(sql).fetchall()}


def _newly_visible(batch: Batch, before: _Before) -> list[str]:
    """Ids of the notes whose visibility is not what edges to them were stored with."""
    was = {note_id: visibility for note_id, visibility, _ in before.values()}
    now = {rows.meta.id: rows.meta.visibility for rows in batch.notes}
    return [note_id for note_id in sorted(was.keys() | now.keys()) if was.get(note_id) != now.get(note_id)]


# --------------------------------------------------------------------------------------------------- deleting


def _delete(con: duckdb.DuckDBPyConnection, batch: Batch) -> None:
    whole = [*batch.removed, *(rows.meta.key for rows in batch.notes if not rows.keep_chunks)]
    kept = [rows.meta.key for rows in batch.notes if rows.keep_chunks]
    canvases = [rows.key for rows in batch.canvases]
    relinked = [rows.key for rows in batch.relinked]
    delete_words(con, whole, [doc.key for rows in batch.notes if rows.keep_chunks for doc in rows.docs])
    if whole:
        con.execute(f"DELETE FROM note_signals WHERE owner IN ({key_list(whole)})")
        for table in NOTE_TABLES:
            con.execute(f"DELETE FROM {table} WHERE note_key IN ({key_list(whole)})")
    if kept:
        con.execute(f"DELETE FROM passages WHERE owner IN ({key_list(kept)})")
        delete_kept_signals(con, kept)
    if whole or kept:
        con.execute(f"DELETE FROM notes WHERE key IN ({key_list(whole + kept)})")
    if batch.removed:
        forget_notes(con, batch.removed)
    if batch.removed or canvases:
        con.execute(f"DELETE FROM canvases WHERE key IN ({key_list([*batch.removed, *canvases])})")
    if owners := whole + kept + canvases:
        for table in OWNER_TABLES:
            con.execute(f"DELETE FROM {table} WHERE owner IN ({key_list(owners)})")
    if relinked:
        con.execute(f"DELETE FROM links WHERE owner IN ({key_list(relinked)})")
        con.execute(f"DELETE FROM edges WHERE owner IN ({key_list(relinked)})")
        con.execute(f"DELETE FROM diagnostics WHERE owner IN ({key_list(relinked)}) AND starts_with(code, 'link_')")
    if renamed := [rows.key for rows in batch.relinked if rows.link_names is not None]:
        con.execute(f"DELETE FROM link_names WHERE owner IN ({key_list(renamed)})")
    for rows in batch.rechecked:
        codes = ", ".join(["?"] * len(rows.codes))
        con.execute(f"DELETE FROM diagnostics WHERE owner = ? AND code IN ({codes})", [rows.key, *rows.codes])
    _delete_paths(con, "files", [*batch.files_removed, *(file.path for file in batch.files_upsert)])
    _delete_paths(con, "diagnostics", [row.path for row in batch.path_diagnostics])


def _delete_paths(con: duckdb.DuckDBPyConnection, table: str, paths: Sequence[str]) -> None:
    if paths:
        packed = Packed({"path": paths})
        con.execute(f"DELETE FROM {table} WHERE path IN ({packed.select})", packed.values)


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
        set_meta(con, key, value)
