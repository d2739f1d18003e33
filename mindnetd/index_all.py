"""One full index on the caller's thread: what ``mindnetd index`` waits for, and the figures it prints."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from mindnetd.community_step import rebuild
from mindnetd.corpus_runner import build_graph
from mindnetd.llm_side import LlmSide
from mindnetd.progress import IndexSummary, Progress
from mindnetd.store import read
from mindnetd.store.read_entities import graph_counts

if TYPE_CHECKING:
    from mindnetd.engine import Engine
    from mindnetd.writing.writer import Writer


def index_all(engine: Engine, writer: Writer, progress: Progress, started: float) -> IndexSummary:
    """Drive `writer`, which was told to begin, until notes, vectors and the entity graph are there.

    `started` is the monotonic time when it all began. Raises StoreError, VaultError.
    """

    def show() -> None:
        done, total = writer.bulk_progress()
        if total:
            progress("notes", done, total)
        counts = engine.counts()
        progress("vectors", counts.ready, counts.ready + counts.pending)

    writer.run_until_settled(show)
    while engine.model.embedder is not None and engine.model.error is None and engine.queue.pending():
        writer.wait_for_message(1.0)
        writer.run_until_settled(show)
    side = LlmSide(engine, _here)
    try:
        _graph(engine, side, progress)
    finally:
        side.stop()
    engine.housekeep()
    entities, relationships, communities = graph_counts(engine.db)
    counts, run = engine.counts(), writer.first_run
    if run is not None:
        engine.end_run(run)
    return IndexSummary(
        documents=counts.notes,
        chunks=counts.chunks,
        passages=counts.ready + counts.pending,
        embeddings_made=run.made if run else 0,
        embeddings_reused=run.reused if run else 0,
        failed=run.failed if run else 0,
        diagnostics=len(read.diagnostics(engine.db)),
        seconds=time.monotonic() - started,
        database_bytes=engine.db.size_bytes(),
        vectors_missing=counts.pending,
        entities=entities,
        relationships=relationships,
        communities=communities,
        llm_calls=side.calls.table(),
        llm_pending=len(side.pending()),
    )


def _graph(engine: Engine, side: LlmSide, progress: Progress) -> None:
    """Entities and communities; then with what the model says of them, until it has nothing new to say."""
    side.llm.look()
    while True:
        progress("graph", 0, 0)
        build_graph(engine, _here, force=False, stop=lambda: False, refiner=side.extraction)
        rebuild(engine, _here, summaries=side.extraction)
        if not side.extraction.run(told=lambda done: progress("llm", done, 0)).replies:
            return


def _here(store: Callable[[], int]) -> int:
    """There is no writer thread: this is it."""
    return store()
