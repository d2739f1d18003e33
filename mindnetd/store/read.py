"""The one door for reading the store; each function opens a read transaction of its own and may raise StoreError."""

from __future__ import annotations

from mindnetd.store.read_graph import backlink_count, edge_counts, edges_around, load_edges, unresolved
from mindnetd.store.read_hot import load_canvases, load_files, load_hot, load_meta, load_vectors
from mindnetd.store.read_notes import (
    StoreTexts,
    backlinks,
    canvas_links,
    doubtful_links,
    indexed_body,
    load_link_names,
    load_links,
    note_detail,
    passage_hashes,
    read_raw,
    stored_note,
    texts,
)
from mindnetd.store.read_runs import config, diagnostics, embeddings_total, query_log, run, runs, troubled_paths

__all__ = [
    "StoreTexts",
    "backlink_count",
    "backlinks",
    "canvas_links",
    "config",
    "diagnostics",
    "doubtful_links",
    "edge_counts",
    "edges_around",
    "embeddings_total",
    "indexed_body",
    "load_canvases",
    "load_edges",
    "load_files",
    "load_hot",
    "load_link_names",
    "load_links",
    "load_meta",
    "load_vectors",
    "note_detail",
    "passage_hashes",
    "query_log",
    "read_raw",
    "run",
    "runs",
    "stored_note",
    "texts",
    "troubled_paths",
    "unresolved",
]
