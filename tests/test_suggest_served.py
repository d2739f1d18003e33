"""``GET /notes/{ref}/suggestions`` over the socket, and ``mindnet suggest``; hidden notes leave no trace."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from server_make import Served, World, serve_world

from mindnetd.client.main import main


def fill(world: World, *, hidden: bool) -> None:
    """A small vault; with ``hidden`` notes, which must change nothing."""
    world.write("Level sensor.md", "Measures water.\n", aliases=["Float switch"], tags=["garden/water"], type="concept")
    world.write("Valve.md", "The [[Level sensor]] tells it.\n", tags=["garden/water", "brass"], type="concept")
    world.write("Log.md", "Cleaned the float switch today.\n\nSee [[Valve]] and [[Levl sensor]]. All brass.\n")
    world.write("Other.md", "A level sensor again, and `Level sensor` as code.\n", type="concept", status="done")
    world.write("sub/suggestions.md", "Named as the call.\n")
    if hidden:
        world.write("Secret.md", "level sensor, [[Log]]\n", visibility="sensitive", tags=["secret"], type="project")
        world.write("Cleaned the float switch.md", "x\n", visibility="sensitive")
        world.write("Levl sensors.md", "float switch\n", visibility="sensitive", aliases=["brass"])
    world.index()


def serve(folder: Path, *, hidden: bool) -> Iterator[Served]:
    world = World(folder)
    fill(world, hidden=hidden)
    running = serve_world(world, folder / "s.sock")
    yield running
    running.stop()
    world.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    yield from serve(tmp_path_factory.mktemp("with"), hidden=True)


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    yield from serve(tmp_path_factory.mktemp("without"), hidden=False)


def ask(served: Served, ref: str, more: str = "") -> Any:
    return served.get(f"/notes/{quote(ref, safe='')}/suggestions?limit=50{more}")


def test_links_tags_and_type(served: Served) -> None:
    """What the note names, what a broken link may mean, tags of linked notes and of the text, with the lines."""
    reply = ask(served, "Log.md")
    links = {(one["kind"], one["note"]["path"]): one for one in reply["links"]}
    mention = links["mention", "Level sensor.md"]
    assert (mention["text"], mention["line"]) == ("float switch", 1)
    assert mention["evidence"] == "Cleaned the float switch today." and 0 < mention["confidence"] <= 1
    broken = links["unresolved", "Level sensor.md"]
    assert (broken["text"], broken["line"]) == ("[[Levl sensor]]", 3)
    tags = {one["tag"]: one for one in reply["tags"]}
    assert tags["brass"]["evidence"][-1] == {"why": "a word of the text", "line": 3}
    assert tags["garden/water"]["evidence"][0]["path"] == "Valve.md"
    assert reply["type"]["value"] == "concept" and reply["status"] is None


def test_who_mentions_a_note(served: Served) -> None:
    """Notes that name it and do not link to it; code is no mention, a linked note is none."""
    links = [one for one in ask(served, "Level sensor.md")["links"] if one["kind"] == "mentioned_by"]
    assert {one["note"]["path"]: one["line"] for one in links} == {"Other.md": 5, "Log.md": 1}


def test_hidden_notes_change_nothing(served: Served, without: Served) -> None:
    """The replies equal those of a vault that never had them; whoever may see them sees them."""

    def same(one: Any) -> Any:
        return {k: same(v) for k, v in one.items() if k not in ("modified", "id")} if isinstance(one, dict) else (
            [same(part) for part in one] if isinstance(one, list) else one
        )  # fmt: skip

    for path in ("Log.md", "Level sensor.md", "Valve.md", "Other.md"):
        assert same(ask(served, path)) == same(ask(without, path))
    served.world.allow("sensitive")
    seen = ask(served, "Log.md", "&visibility=public,internal,sensitive")["links"]
    served.world.allow("internal")
    assert "Cleaned the float switch.md" in {one["note"]["path"] for one in seen}


def test_a_note_called_as_the_call(served: Served) -> None:
    """An encoded slash belongs to the reference; limits are kept; an unknown note is a 404."""
    assert served.get("/notes/sub%2Fsuggestions")["note"]["path"] == "sub/suggestions.md"
    assert len(served.get("/notes/Log.md/suggestions?limit=1")["links"]) == 1
    assert served.call("GET", "/notes/nobody/suggestions").code == "note_not_found"


def test_the_client(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    """Readable, and 1 where there is nothing to suggest."""
    assert main(["--socket", str(served.path), "suggest", "Log.md", "--color", "never"]) == 0
    out = capsys.readouterr().out
    assert "Named here, not linked" in out and "line 1: float switch" in out and "#brass" in out
    assert main(["--socket", str(served.path), "suggest", "Log.md", "--json"]) == 0
    assert '"links"' in capsys.readouterr().out
