"""``vector_index: hnsw``: finds what the exact lane finds, lags without lying, filters without losing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from search_make import Made, Vault, note_meta, rows_of, text_hash

from mindnetd.core.filters import Filters
from mindnetd.core.query import QuerySpec
from mindnetd.deadline import Deadline
from mindnetd.lanes import dense
from mindnetd.lanes.hnsw import HnswLane
from mindnetd.lanes.hot import HotDelta
from mindnetd.search import Searcher

pytest.importorskip("duckdb_extension_vss", reason="the extra hnsw is not installed")
DIM = 64
COUNT = 3000


def clustered(count: int, seed: int) -> np.ndarray:
    """Unit vectors around 40 centres."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(0).normal(size=(40, DIM))
    rows = centres[rng.integers(40, size=count)] + rng.normal(size=(count, DIM))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def vault() -> Vault:
    """Notes of one passage each."""
    made = Vault(keys=2 * COUNT)
    notes = [
        Made(note_meta(2 * n, f"n{n}.md", tags=("few",) if n % 100 == 0 else ()), [(2 * n + 1, f"t{n}")])
        for n in range(COUNT)
    ]
    for note in notes:
        made._keep(note)
        made.notes[note.meta.path] = note
    made.hot.load(rows_of(notes, {text_hash(f"t{n}"): v for n, v in enumerate(clustered(COUNT, 1))}))
    return made


def test_recall_against_exact(vault: Vault) -> None:
    """Of the exact best 50, at least 95 % are proposed; their scores are the exact ones."""
    lane = HnswLane()
    snapshot = vault.hot.snapshot()
    lane.follow(snapshot.vectors)
    assert lane.rows == COUNT
    found = 0
    for query in clustered(40, 2):
        exact = dense.cosines(snapshot, query)
        near = lane.cosines(snapshot, query, snapshot.alive, 50)
        best = set(np.argsort(-exact)[:50].tolist())
        found += len(best & set(np.argsort(-near)[:50].tolist()))
        hit = np.isfinite(near)
        np.testing.assert_allclose(near[hit], exact[hit], rtol=1e-5)
    assert found >= 0.95 * 40 * 50


def test_rows_that_it_does_not_hold_are_scored_exactly(vault: Vault) -> None:
    """Before the index has followed, and after new vectors came, nothing is missed."""
    lane = HnswLane()
    snapshot = vault.hot.snapshot()
    query = clustered(1, 3)[0]
    np.testing.assert_array_equal(lane.cosines(snapshot, query, snapshot.alive, 5), dense.cosines(snapshot, query))
    lane.follow(snapshot.vectors, stop=lambda: lane.rows >= 0)
    lane.follow(snapshot.vectors)
    vault.hot.apply(HotDelta(2, vectors=([text_hash("new")], query[None])))
    made = vault.make("new.md", "new")
    vault.put(made, vectors=False)
    newer = vault.hot.snapshot()
    near = lane.cosines(newer, query, newer.alive, 5)
    assert newer.doc_key[int(near.argmax())] == made.docs[0][0]
    vault.remove("new.md")


def test_filters_fall_back_to_exact(vault: Vault) -> None:
    """A filter that leaves 1 in 100 still gives its ten best."""
    lane = HnswLane()
    lane.follow(vault.hot.snapshot().vectors)
    spec = QuerySpec("anything", lanes=("dense",), filters=Filters(tags=("few",)))
    query = clustered(1, 4)[0]
    plain, approximate = (
        Searcher(vault.hot, vault, lambda: lambda _text: query, approximate=index).query(spec, Deadline(30))
        for index in (None, lane)
    )
    assert len(plain.hits) == 10
    assert [h.note.path for h in plain.hits] == [h.note.path for h in approximate.hits]


def test_renumbered_rows_are_taken_anew(vault: Vault) -> None:
    """After all vectors were dropped (another model) the index is not used until it has followed."""
    lane = HnswLane()
    small = Vault()
    small.add("a.md", "red valve. blue pump")
    lane.follow(small.hot.snapshot().vectors)
    small.hot.clear_vectors()
    small.put(small.make("b.md", "green door. black box"))
    snapshot = small.hot.snapshot()
    query = np.asarray(snapshot.vectors.rows(0, 1)[0])
    np.testing.assert_array_equal(lane.cosines(snapshot, query, snapshot.alive, 5), dense.cosines(snapshot, query))
    lane.follow(snapshot.vectors)
    assert lane.rows == snapshot.vectors.count
    assert np.isfinite(lane.cosines(snapshot, query, snapshot.alive, 5)).any()


def test_it_keeps_up_in_the_background(vault: Vault, until: Callable[..., None]) -> None:
    """A thread of its own follows; closing stops it."""
    lane = HnswLane()
    for _ in range(3):
        lane.keep_up(vault.hot.snapshot().vectors)
    until(lambda: lane.rows == vault.hot.snapshot().vectors.count, 60, "the index has all rows")
    lane.close()
    lane.keep_up(vault.hot.snapshot().vectors)
