"""Golden chunks: a changed count or cut fails until `update_golden.py --reason` has said why."""

from __future__ import annotations

from pathlib import Path

import pytest
import update_golden


@pytest.mark.parametrize("name", update_golden.SETS)
def test_chunks_are_the_golden_ones(name: str, request: pytest.FixtureRequest) -> None:
    """Every cut, count, overlap and passage of the shared vault and of our own notes, as set and as `classic`."""
    expected = update_golden.load(name)
    shared: Path = request.getfixturevalue("shared") if name.startswith("basic") else Path()
    found = update_golden.golden(name, shared)
    assert found == expected["notes"]
    assert expected["chunks"] == sum(map(len, found.values()))
    assert expected["reason"].strip()


@pytest.mark.parametrize("name", update_golden.SETS)
def test_windows_reach_into_the_neighbours(name: str) -> None:
    """More than 60 % of the chunks that have a neighbour see something of it."""
    notes = update_golden.load(name)["notes"].values()
    differs = [any(chunk["overlap"]) for chunks in notes if len(chunks) > 1 for chunk in chunks]
    assert sum(differs) >= 0.6 * len(differs)
    assert len(differs) > 10 or name.startswith("basic")
