"""Law 9 where it is easy to forget: what is said *about* a link must not name the hidden note that it leads to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from server_make import Served, World, serve_world

GETS = ("/notes?limit=500", "/notes/asks", "/neighbors/asks", "/subgraph/asks?depth=4", "/unresolved", "/stats")
GETS += ("/diagnostics?limit=500", "/diagnostics?note=asks", "/runs?limit=500")


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    world = World(tmp_path)
    world.write("asks.md", "Which one is it: [[Twin]], or ![[Twin#Part]], or [that](Twin.md)?\n")
    for folder in ("attic", "cellar"):
        world.write(f"{folder}/Twin.md", "# Part\n\nSilence.\n", visibility="sensitive")
    world.index()
    running = serve_world(world, tmp_path / "s.sock")
    yield running
    running.stop()
    world.close()


@pytest.mark.parametrize("target", GETS)
def test_no_message_names_a_hidden_note(served: Served, target: str) -> None:
    """Two hidden notes of one name: no list, link, edge, run or diagnostic says where they are."""
    text = json.dumps(served.get(target))
    assert "attic" not in text and "cellar" not in text


def test_a_link_to_a_hidden_note_looks_like_one_to_nothing(served: Served) -> None:
    """``resolved`` is null, and it is not called ambiguous either; asked with the level, both are told."""
    assert [(link["resolved"], link["ambiguous"]) for link in served.get("/notes/asks")["links"]] == [(None, False)] * 3
    served.world.allow("sensitive")
    links = served.get("/notes/asks?visibility=internal,sensitive")["links"]
    assert [(link["resolved"], link["ambiguous"]) for link in links] == [("attic/Twin.md", True)] * 3
