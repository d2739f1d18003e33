"""Corpora by fault: each fault is told by its code, and costs nothing of the body."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from reading import check_shape, documented_codes

from mindnetd.core.canvas import read_canvas
from mindnetd.core.exclude import Rules, compile_rules
from mindnetd.core.note import read_note
from mindnetd.core.typecheck import CODES

CORPORA = Path(__file__).resolve().parent / "corpora"
FILES = sorted(path for path in CORPORA.glob("*/*") if path.is_file())
NOTES = [path for path in FILES if path.suffix == ".md" and path.parent.name != "conflict_copy"]


def label(path: Path) -> str:
    """Folder and name."""
    return str(path.relative_to(CORPORA))


@pytest.mark.parametrize("path", NOTES, ids=label)
def test_notes_of_a_fault(path: Path) -> None:
    """A note has its fault and no other; its body link and tag are found."""
    read = read_note(path.name, path.read_bytes())
    check_shape(read)
    fault = path.parent.name
    wanted = {fault} if fault in documented_codes() else set()
    assert {one.code for one in read.diagnostics} == wanted
    if "empty" not in path.name:
        assert "Body link" in [link.target for link in read.links]
        assert "body-tag" in read.tags
        assert "no" not in read.tags


@pytest.mark.parametrize("path", [path for path in FILES if path.suffix == ".canvas"], ids=label)
def test_canvases_of_a_fault(path: Path) -> None:
    """A broken board has no links and says so."""
    links, odd = read_canvas(path.name, path.read_bytes())
    assert links == ()
    assert [one.code for one in odd] == [path.parent.name]


@pytest.mark.parametrize("path", sorted((CORPORA / "conflict_copy").iterdir()), ids=label)
def test_conflict_copies(path: Path) -> None:
    """A conflict copy is known by its name."""
    assert compile_rules(Rules()).kind(path.name) == "conflict"


def test_every_corpus_has_its_line() -> None:
    """The README has one line for each folder."""
    listed = re.findall(r"^- `(\w+)`: ", (CORPORA / "README.md").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(path.name for path in CORPORA.iterdir() if path.is_dir())


def test_every_fault_of_reading_has_its_corpus() -> None:
    """Each documented code has a corpus, but for those that depend on the rest of the vault."""
    folders = {path.name for path in CORPORA.iterdir()}
    of_the_vault = {"link_unresolved", "link_ambiguous", "unreadable", "id_duplicate", "name_twin"}
    assert documented_codes() - folders == of_the_vault | set(CODES)  # the codes of types.yaml: test_types_notes.py
