"""Links, edges and diagnostics into their tables, for notes, canvases and relinked owners alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import duckdb
import numpy as np

from mindnetd.core.records import Diagnostic, Edge, ResolvedLink
from mindnetd.store.bulk import insert, key_list
from mindnetd.store.records import Batch, CanvasRows, RelinkRows
from mindnetd.store.sqltext import statements

LINK_TEXTS = ("kind", "raw", "target", "heading", "block", "display", "property", "relation")
EDGE_TEXTS = ("id", "src_id", "dst_id", "src_kind", "dst_kind", "dst_label", "relation", "scope", "source", "evidence")


def insert_links(con: duckdb.DuckDBPyConnection, batch: Batch) -> None:
    """The links, and the names they wait under."""
    owners: list[tuple[int, Sequence[ResolvedLink]]] = [(rows.meta.key, rows.links) for rows in batch.notes]
    owners += [(other.key, other.links) for other in _others(batch)]
    found = [(owner, ord_, link) for owner, links in owners for ord_, link in enumerate(links)]
    insert(
        con,
        "links",
        {
            "owner": np.array([owner for owner, _, _ in found], dtype=np.int32),
            "ord": np.array([ord_ for _, ord_, _ in found], dtype=np.int32),
            **{name: [getattr(row.link, name) for _, _, row in found] for name in LINK_TEXTS},
            "line": np.array([_line(row.link.line) for _, _, row in found], dtype=np.int32),
            "in_comment": np.array([row.link.in_comment for _, _, row in found], dtype=np.bool_),
            "resolved": [row.resolved for _, _, row in found],
            "ambiguous": np.array([row.ambiguous for _, _, row in found], dtype=np.bool_),
        },
        nullable=("line",),
    )
    names = [(rows.meta.key, name) for rows in batch.notes for name in rows.link_names]
    names += [(canvas.key, name) for canvas in batch.canvases for name in canvas.link_names]
    owner = np.array([key for key, _ in names], dtype=np.int32)
    insert(con, "link_names", {"owner": owner, "name": [name for _, name in names]})


def _line(line: int | None) -> int:
    return -1 if line is None else line


def insert_edges(con: duckdb.DuckDBPyConnection, batch: Batch, runs: dict[int, str]) -> None:
    """The edges, public until ``settle_visibility``; `runs` are the run ids of notes."""
    found: list[tuple[int, str, str, Edge]] = []
    for rows in batch.notes:
        found += [(rows.meta.key, rows.meta.id, runs.get(rows.meta.key, ""), edge) for edge in rows.edges]
    for other in _others(batch):
        found += [(other.key, other.id, other.run_id, edge) for edge in other.edges]
    if not found:
        return
    edges = [row[3] for row in found]
    insert(
        con,
        "edges",
        {
            "owner": np.array([row[0] for row in found], dtype=np.int32),
            "note_id": [row[1] for row in found],
            "import_run_id": [row[2] for row in found],
            **{name: [getattr(edge, name) for edge in edges] for name in EDGE_TEXTS},
            "weight": np.array([edge.weight for edge in edges], dtype=np.float64),
            "occurrences": np.array([edge.occurrences for edge in edges], dtype=np.int32),
            "line": np.array([_line(edge.line) for edge in edges], dtype=np.int32),
            "visibility": ["public"] * len(found),
            "created": [batch.at.isoformat(sep=" ")] * len(found),
        },
        nullable=("line",),
    )


def _others(batch: Batch) -> list[CanvasRows | RelinkRows]:
    return [*batch.canvases, *batch.relinked]


def settle_visibility(con: duckdb.DuckDBPyConnection, batch: Batch, ids: Sequence[str]) -> None:
    """An edge is as hidden as its more hidden end: those the batch wrote, and those that lead to notes `ids`."""
    owners = [rows.meta.key for rows in batch.notes] + [other.key for other in _others(batch)]
    if not owners and not ids:
        return
    con.register("touched", {"id": np.array(ids, dtype=np.str_)})
    try:
        con.execute(statements("write")["settle_edges"].format(owners=key_list(owners)))
    finally:
        con.unregister("touched")


def insert_diagnostics(con: duckdb.DuckDBPyConnection, batch: Batch) -> None:
    """The diagnostics; those about links come after those about the text."""
    found: list[tuple[str, int, int, Diagnostic]] = []

    def add(path: str, owner: int, diagnostics: Iterable[Diagnostic], first: int = 0) -> None:
        found.extend((path, owner, first + place, diagnostic) for place, diagnostic in enumerate(diagnostics))

    for rows in batch.notes:
        add(rows.meta.path, rows.meta.key, rows.diagnostics)
    for canvas in batch.canvases:
        add(canvas.path, canvas.key, canvas.diagnostics)
    for relinked in batch.relinked:
        add(relinked.path, relinked.key, relinked.link_diagnostics, first=1_000_000)
    for row in batch.path_diagnostics:
        add(row.path, -1, row.diagnostics)
    insert(
        con,
        "diagnostics",
        {
            "path": [row[0] for row in found],
            "owner": np.array([row[1] for row in found], dtype=np.int32),
            "ord": np.array([row[2] for row in found], dtype=np.int32),
            "code": [row[3].code for row in found],
            "message": [row[3].message for row in found],
            "line": np.array([_line(row[3].line) for row in found], dtype=np.int32),
        },
        nullable=("owner", "line"),
    )
