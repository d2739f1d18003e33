"""Law 9 for edges: whatever leads to a hidden note looks as it would in an index that never held the note."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from server_make import Served, World, serve_world

ASKS = """[[Secret]] and [[s-1]], then [[Nowhere|s-1]].

supports:: [[Secret]]

# See also
- [[Secret]], [[Open]]
- [[Nowhere]]
"""
SEEN = ("asks", "Open", "tagged")
TARGETS = tuple(
    target
    for ref in SEEN
    for target in (
        f"/neighbors/{ref}",
        f"/neighbors/{ref}?kind=unresolved",
        f"/subgraph/{ref}?depth=3",
        f"/notes/{ref}",
    )
)


def make(folder: Path, *, hidden: bool) -> Served:
    """The vault with or without its hidden notes, served."""
    folder.mkdir()
    world = World(folder)
    world.write(
        "asks.md", ASKS, type="task", edge_hints=["inspired_by"], depends_on=["s-1", "Secret"], tags=["rare", "two"]
    )
    world.write("Open.md", "Seen. [[asks]]\n", tags=["two"])
    world.write("tagged.md", "Seen.\n", tags=["rare"])
    if hidden:
        for number in range(9):  # with these the tag `two` is common, for who may see them
            world.write(f"hidden/{number}.md", "[[asks]] [[Open]]\n", visibility="sensitive", tags=["two"])
        world.write("hidden/Secret.md", "[[asks]] [[Gone]]\n", visibility="sensitive", id="s-1", tags=["rare", "odd"])
    world.index()
    return serve_world(world, folder / "s.sock")


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Served]]:
    home = tmp_path_factory.mktemp("hidden")
    pair = make(home / "with", hidden=True), make(home / "without", hidden=False)
    yield pair
    for one in pair:
        one.stop()
        one.world.close()


def plain(reply: Any) -> Any:
    """A reply without what may differ: the chunk ids are equal, the order of equals and stamps may not be."""
    if isinstance(reply, dict):
        kept = {key: plain(value) for key, value in reply.items() if key not in ("modified", "database_bytes", "next")}
        return {key: sorted(value, key=repr) if isinstance(value, list) else value for key, value in kept.items()}
    return [plain(one) for one in reply] if isinstance(reply, list) else reply


@pytest.mark.parametrize("target", [*TARGETS, "/unresolved", "/stats", "/diagnostics", "/orphans"])
def test_no_reply_tells_the_hidden_notes(both: tuple[Served, Served], target: str) -> None:
    """Ids, counts, occurrences, evidence and lines of every edge; rules and shared tags included."""
    assert plain(both[0].get(target)) == plain(both[1].get(target))


def test_the_hidden_note_is_there_for_who_may_see_it(both: tuple[Served, Served]) -> None:
    """The comparison above compares something."""
    served = both[0]
    served.world.allow("sensitive")
    try:
        edges = served.get("/neighbors/asks?visibility=public,internal,sensitive&direction=out")["edges"]
    finally:
        served.world.allow("internal")
    by_id = {edge["relation"] for edge in edges if edge["by"] == "id"}
    assert by_id == set(), "the same note is called by its name as well"
    assert {edge["relation"] for edge in edges} >= {"references", "depends_on", "supports", "related_to", "inspired_by"}
