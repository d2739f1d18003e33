"""Links, edges and diagnostics into their tables, for notes, canvases and relinked owners alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import duckdb

from mindnetd.core.records import VISIBILITIES, Diagnostic, Edge, ResolvedLink, Visibility
from mindnetd.store.bulk import insert, word_list
from mindnetd.store.records import Batch, CanvasRows, RelinkRows
from mindnetd.store.sqltext import statements

LINK_FIELDS = ("kind", "raw", "target", "heading", "block", "display", "line", "property", "in_comment", "relation")
EDGE_FIELDS = (
    *("id", "src_id", "dst_id", "src_kind", "dst_kind", "dst_label", "relation", "scope", "source", "weight"),
    *("occurrences", "evidence", "line", "resolved_by"),
)


def insert_links(con: duckdb.DuckDBPyConnection, batch: Batch) -> None:
    """The links, and the names they wait under."""
    owners: list[tuple[int, Sequence[ResolvedLink]]] = [(rows.meta.key, rows.links) for rows in batch.notes]
    owners += [(other.key, other.links) for other in _others(batch)]
    found = [(owner, ord_, link) for owner, links in owners for ord_, link in enumerate(links)]
    insert(
        con,
        "links",
        {
            "owner": [owner for owner, _, _ in found],
            "ord": [ord_ for _, ord_, _ in found],
            **{name: [getattr(row.link, name) for _, _, row in found] for name in LINK_FIELDS},
            "resolved": [row.resolved for _, _, row in found],
            "ambiguous": [row.ambiguous for _, _, row in found],
            "by_id": [row.by_id for _, _, row in found],
        },
    )
    names = [(rows.meta.key, name) for rows in batch.notes for name in rows.link_names]
    names += [(other.key, name) for other in _others(batch) for name in other.link_names or ()]
    owner = [key for key, _ in names]
    insert(con, "link_names", {"owner": owner, "name": [name for _, name in names]})


def insert_edges(con: duckdb.DuckDBPyConnection, batch: Batch, runs: Mapping[int, str]) -> None:
    """The edges, each as hidden as its more hidden end; `runs` are the run ids of notes. The notes are in already."""
    found: list[tuple[int, str, str, Edge]] = []
    for rows in batch.notes:
        found += [(rows.meta.key, rows.meta.id, runs.get(rows.meta.key, ""), edge) for edge in rows.edges]
    for other in _others(batch):
        found += [(other.key, other.id, other.run_id, edge) for edge in other.edges]
    if not found:
        return
    edges = [row[3] for row in found]
    hidden = _visibilities(con, {row[1] for row in found} | {edge.dst_id for edge in edges})
    ends = [(hidden.get(row[1], "public"), hidden.get(row[3].dst_id, "public")) for row in found]
    insert(
        con,
        "edges",
        {
            "owner": [row[0] for row in found],
            "note_id": [row[1] for row in found],
            "import_run_id": [row[2] for row in found],
            **{name: [getattr(edge, name) for edge in edges] for name in EDGE_FIELDS},
            "visibility": [max(pair, key=VISIBILITIES.index) for pair in ends],
            "created": [batch.at.isoformat(sep=" ")] * len(found),
        },
    )


def _visibilities(con: duckdb.DuckDBPyConnection, ids: Iterable[str]) -> dict[str, Visibility]:
    """How hidden the notes among `ids` are."""
    return dict(con.execute(statements("write")["visibilities"], [word_list(ids)]).fetchall())


def _others(batch: Batch) -> list[CanvasRows | RelinkRows]:
    return [*batch.canvases, *batch.relinked]


def settle_incoming(con: duckdb.DuckDBPyConnection, ids: Sequence[str]) -> None:
    """Edges that lead to notes `ids`, which are new, gone or of another visibility than before."""
    if ids:
        con.execute(statements("write")["settle_incoming"], [word_list(ids)])


def insert_diagnostics(con: duckdb.DuckDBPyConnection, batch: Batch) -> None:
    """The diagnostics; those about links come after those about the text."""
    found: list[tuple[str, int | None, int, Diagnostic]] = []

    def add(path: str, owner: int | None, diagnostics: Iterable[Diagnostic], first: int = 0) -> None:
        found.extend((path, owner, first + place, diagnostic) for place, diagnostic in enumerate(diagnostics))

    for rows in batch.notes:
        add(rows.meta.path, rows.meta.key, rows.diagnostics)
    for canvas in batch.canvases:
        add(canvas.path, canvas.key, canvas.diagnostics)
    for relinked in batch.relinked:
        add(relinked.path, relinked.key, relinked.link_diagnostics, first=1_000_000)
    for checked in batch.rechecked:
        add(checked.path, checked.key, checked.diagnostics, first=500_000)
    for row in batch.path_diagnostics:
        add(row.path, None, row.diagnostics)
    insert(
        con,
        "diagnostics",
        {
            "path": [row[0] for row in found],
            "owner": [row[1] for row in found],
            "ord": [row[2] for row in found],
            "code": [row[3].code for row in found],
            "message": [row[3].message for row in found],
            "line": [row[3].line for row in found],
        },
    )
