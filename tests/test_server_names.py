"""Names that a file may have and a path of a URL does not expect."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from server_make import World, serve_world


@pytest.mark.parametrize("call", ["/notes/{}", "/notes/{}/related", "/notes/{}/suggestions", "/neighbors/{}"])
def test_a_name_may_hold_a_line_break(tmp_path: Path, call: str) -> None:
    """Whatever a file is called, it is reached by its path, as the list of notes spells it."""
    world = World(tmp_path)
    world.write("two\nlines\n.md", "A valve.\n")
    world.index()
    running = serve_world(world, tmp_path / "s.sock")
    try:
        (note,) = running.get("/notes")["notes"]
        assert running.call("GET", call.format(quote(note["path"], safe=""))).status == 200
    finally:
        running.stop()
        world.close()
