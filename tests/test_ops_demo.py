"""The demo vault: clean, linked, in two languages, and worth asking."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from source_tree import REPO

from mindnetd.core.canvas import read_canvas
from mindnetd.core.note import read_note
from mindnetd.core.records import ParsedNote
from mindnetd.core.resolve import NameIndex

DEMO = REPO / "demo"


@pytest.fixture(scope="module")
def notes() -> dict[str, ParsedNote]:
    """Every note of the demo vault but the template, by path."""
    paths = [p.relative_to(DEMO).as_posix() for p in sorted(DEMO.rglob("*.md")) if "templates" not in p.parts]
    return {path: read_note(path, (DEMO / path).read_bytes()) for path in paths}


@pytest.fixture(scope="module")
def names() -> NameIndex:
    """Every file of the demo vault as a link target."""
    index = NameIndex()
    for path in sorted(DEMO.rglob("*")):
        if path.is_file() and ".obsidian" not in path.parts:
            index.add(path.relative_to(DEMO).as_posix())
    return index


def test_size(notes: dict[str, ParsedNote]) -> None:
    """Some forty short notes, several of them German."""
    assert 35 <= len(notes) <= 50
    assert max(len(note.body) for note in notes.values()) < 2500
    assert Counter(note.lang for note in notes.values())["de"] >= 5


def test_no_diagnostics(notes: dict[str, ParsedNote]) -> None:
    """A newcomer's first vault shows how it should look: nothing is wrong with any note."""
    assert {path: note.diagnostics for path, note in notes.items() if note.diagnostics} == {}


def test_links_resolve(notes: dict[str, ParsedNote], names: NameIndex) -> None:
    """Every link leads to a file, but the one that shows what `mindnet unresolved` is for."""
    missing = [
        (path, link.target)
        for path, note in notes.items()
        for link in note.links
        if link.target and link.kind != "url" and names.resolve(link.target, path)[0] is None
    ]
    assert missing == [("journal/2026-03-28.md", "Sextant manual")]


def test_richly_linked(notes: dict[str, ParsedNote], names: NameIndex) -> None:
    """Every note is linked to or links on, and there are relations beside plain links."""
    out = {
        path: {names.resolve(link.target, path)[0] for link in note.links if link.target}
        for path, note in notes.items()
    }
    reached = set().union(*out.values())
    assert {path for path in notes if not out[path] and path not in reached} <= {"deutsch/Anfahrt privat.md"}
    relations = Counter(link.relation for note in notes.values() for link in note.links)
    assert {"depends_on", "derived_from", "supports", "invented", "contradicts"} <= set(relations)
    assert sum(map(len, out.values())) / len(notes) > 2.5


def test_canvas(names: NameIndex) -> None:
    """The canvas is sound and its cards are notes."""
    path = "boards/The longitude story.canvas"
    links, diagnostics = read_canvas(path, (DEMO / path).read_bytes())
    assert diagnostics == ()
    assert len(links) >= 5
    assert all(names.resolve(link.target, path)[0] for link in links)


def test_every_note_says_what_it_is(notes: dict[str, ParsedNote]) -> None:
    """Type, status, id and tags are set everywhere; ids are unique; one note is sensitive, one is a draft."""
    assert all(n.type and n.status and n.note_id and n.tags and n.created for n in notes.values())
    assert len({n.note_id for n in notes.values()}) == len(notes)
    assert [Path(p).stem for p, n in notes.items() if n.visibility == "sensitive"] == ["Anfahrt privat"]
    assert [Path(p).stem for p, n in notes.items() if n.flags] == ["Build a sundial"]
