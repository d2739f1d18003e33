"""Nearness in meaning, over the resident index alone: what is near, by which passage, and for whom."""

from __future__ import annotations

import numpy as np
import pytest
from search_make import Vault, vector

from mindnetd.core.records import NoteMeta
from mindnetd.serving.browse_related import FLOOR, mean_vector, near_notes
from mindnetd.serving.view import View

SHOWN = View(frozenset({"public", "internal"}), frozenset({"draft"}))


@pytest.fixture
def vault() -> Vault:
    vault = Vault()
    vault.add("asked.md", "valve pump water. garden hose")
    vault.add("near.md", "a harbour at night", "valve pump water")
    vault.add("hidden.md", "valve pump water", visibility="sensitive")
    vault.add("draft.md", "valve pump water", flags=("draft",))
    vault.add("far.md", "meridian chronometer")
    return vault


def key_of(vault: Vault, path: str) -> int:
    meta = next(meta for meta in vault.hot.snapshot().notes if meta is not None and meta.path == path)
    assert isinstance(meta, NoteMeta)
    return meta.key


def test_the_best_passage_counts_and_hidden_notes_do_not(vault: Vault) -> None:
    """The other note's nearest passage gives the cosine and the place; itself and what is hidden are left out."""
    snapshot = vault.hot.snapshot()
    asked = key_of(vault, "asked.md")
    query = mean_vector(snapshot, asked)
    assert query is not None and np.linalg.norm(query) == pytest.approx(1, abs=1e-6)
    found = near_notes(snapshot, query, asked, SHOWN)
    near = key_of(vault, "near.md")
    assert near in found and found[near][0] == pytest.approx(float(query @ vector("valve pump water")), abs=1e-6)
    assert all(cosine >= FLOOR for cosine, _ in found.values())
    assert not {key_of(vault, name) for name in ("asked.md", "hidden.md", "draft.md")} & found.keys()
    everything = near_notes(snapshot, query, asked, View(frozenset({"public", "internal", "sensitive"}), frozenset()))
    assert {key_of(vault, "hidden.md"), key_of(vault, "draft.md")} <= everything.keys()


def test_without_vectors_there_is_no_meaning() -> None:
    """A note whose vectors are still to come has no mean; nor has one that is not there."""
    vault = Vault()
    note = vault.make("asked.md", "valve pump")
    vault.put(note, vectors=False)
    assert mean_vector(vault.hot.snapshot(), key_of(vault, "asked.md")) is None
    assert mean_vector(vault.hot.snapshot(), 10_000) is None
