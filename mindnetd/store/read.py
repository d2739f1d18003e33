"""The one door for reading the store; each function opens a read transaction of its own and may raise StoreError."""

from __future__ import annotations

from mindnetd.store.read_graph import edges_around, unresolved
from mindnetd.store.read_hot import load_canvases, load_files, load_hot, load_meta, vectors_for
from mindnetd.store.read_notes import (
    backlinks,
    canvas_links,
    indexed_body,
    links_of,
    load_link_names,
    note_detail,
    passage_hashes,
    raw_bytes,
    texts,
)
from mindnetd.store.read_runs import config, diagnostics, embeddings_total, query_log, run, runs

__all__ = [
    "backlinks",
    "canvas_links",
    "config",
    "diagnostics",
    "edges_around",
    "embeddings_total",
    "indexed_body",
    "links_of",
    "load_canvases",
    "load_files",
    "load_hot",
    "load_link_names",
    "load_meta",
    "note_detail",
    "passage_hashes",
    "query_log",
    "raw_bytes",
    "run",
    "runs",
    "texts",
    "unresolved",
    "vectors_for",
]
