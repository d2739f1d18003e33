"""Two files whose names differ in Unicode form only are one note; the other one is told, and comes back when it may."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine_kit import Bench, make_config

from mindnetd.core.exclude import twins
from mindnetd.store import read
from mindnetd.store.dump import differences
from mindnetd.store.integrity import integrity
from mindnetd.writing.runs import Run

NFC = "Übung.md"
NFD = unicodedata.normalize("NFD", NFC)


class Place:
    """A vault with a bench; the file system must keep both spellings apart."""

    def __init__(self, home: Path) -> None:
        self.home, self.vault = home, home / "vault"
        self.vault.mkdir()
        (self.vault / "from.md").write_text("See [[Übung]].\n")
        self.write(NFC, "x")
        self.write(NFD, "x")
        if len(list(self.vault.iterdir())) < 3:
            pytest.skip("this file system keeps one spelling only")
        for path in (NFC, NFD):
            (self.vault / path).unlink()
        self.bench = self.open("notes")
        self.clock = 1_700_000_000

    def open(self, name: str) -> Bench:
        bench = Bench(make_config(self.home, self.vault, self.home / name / "n.duckdb"), None)
        bench.settle()
        return bench

    def write(self, path: str, text: str) -> None:
        (self.vault / path).write_text(text)

    def saved(self, *paths: str) -> None:
        """What the watcher would do: these paths, nothing else, until nothing is left to read again."""
        todo = list(paths)
        for _ in range(5):
            todo = self.bench.engine.indexer.index(todo, Run("watch", "")) if todo else []
        assert not todo

    def state(self) -> tuple[set[str], list[tuple[str, str]]]:
        """The notes, and the diagnostics of files that are none."""
        notes = {note.path for note in self.bench.engine.hot.snapshot().all_notes()} - {"from.md"}
        found = [(one.path, one.diagnostic.code) for one in read.diagnostics(self.bench.engine.db) if one.owner is None]
        return notes, found

    def check(self) -> None:
        """As if made afresh, one row an id, and a scan finds nothing more to do."""
        assert integrity(self.bench.engine.db) == []
        fresh = self.open("fresh")
        try:
            assert differences(self.bench.dump(), fresh.dump()) == []
        finally:
            fresh.close()
        revision = self.bench.engine.db.revision
        self.bench.settle()
        assert self.bench.engine.db.revision == revision


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    there = Place(tmp_path)
    yield there
    there.bench.close()


def test_the_rule() -> None:
    """The NFC form counts, else the first; a folder in another form counts too."""
    assert twins({"a.md", NFC}) == frozenset()
    assert twins({NFD}) == frozenset()
    assert twins({NFC, NFD, "b.md"}) == {NFD}
    half = "é" + unicodedata.normalize("NFD", "é") + ".md"
    full = unicodedata.normalize("NFD", half)
    assert twins({half, full}) == {max(half, full)}
    assert twins({f"{NFD}/a.md", f"{NFC}/a.md"}) == {f"{NFD}/a.md"}


@pytest.mark.parametrize("by", ["scan", "events"])
@pytest.mark.parametrize("order", [(NFC, NFD), (NFD, NFC), (NFC + NFD,)])
def test_one_note_of_two_files(place: Place, by: str, order: tuple[str, ...]) -> None:
    """Whichever comes first, by events or by a scan: the NFC form is the note, the other is told."""
    for paths in ([NFC, NFD],) if len(order) == 1 else ([path] for path in order):
        for path in paths:
            place.write(path, f"Text of {path}\n")
        if by == "scan":
            place.bench.settle()
        else:
            place.saved(*reversed(paths))
    assert place.state() == ({NFC}, [(NFD, "name_twin")])
    place.check()


@pytest.mark.parametrize("by", ["scan", "events"])
def test_the_other_takes_its_place(place: Place, by: str) -> None:
    """The NFC file goes: the other becomes the note, its diagnostic is gone; it comes back: as before."""
    place.write(NFC, "One.\n")
    place.write(NFD, "Other.\n")
    place.bench.settle()
    for _ in range(2):
        (place.vault / NFC).unlink()
        place.bench.settle() if by == "scan" else place.saved(NFC)
        assert place.state() == ({NFD}, [])
        place.check()
        place.write(NFC, "One again.\n")
        place.bench.settle() if by == "scan" else place.saved(NFC)
        assert place.state() == ({NFC}, [(NFD, "name_twin")])
        place.check()
    place.write(NFD, "Other, saved.\n")
    place.saved(NFD)
    assert place.state() == ({NFC}, [(NFD, "name_twin")])
    (place.vault / NFD).unlink()
    place.saved(NFD)
    assert place.state() == ({NFC}, [])
    place.check()


def test_a_restart_in_between(place: Place) -> None:
    """The better file went while nobody ran, or the daemon ended before the other was read."""
    place.write(NFC, "One.\n")
    place.write(NFD, "Other.\n")
    place.bench.settle()
    (place.vault / NFC).unlink()
    assert place.bench.engine.indexer.index([NFC], Run("watch", "")) == [NFD]
    place.bench.close()
    place.bench = place.open("notes")
    assert place.state() == ({NFD}, [])
    place.check()


def test_a_folder_in_another_form(place: Place) -> None:
    """Two folders of one name: their notes are merged by the same rule, canvases too."""
    for folder in (NFC[:-3], NFD[:-3]):
        (place.vault / folder).mkdir()
        place.write(f"{folder}/a.md", "Text.\n")
        place.write(f"{folder}/b.canvas", "{}")
    place.write(f"{NFD[:-3]}/only.md", "Only here.\n")
    place.bench.settle()
    notes, told = place.state()
    assert notes == {f"{NFC[:-3]}/a.md", f"{NFD[:-3]}/only.md"}
    assert told == [(f"{NFD[:-3]}/a.md", "name_twin"), (f"{NFD[:-3]}/b.canvas", "name_twin")]
    place.check()
    os.utime(place.vault / NFD[:-3] / "a.md", (1_700_000_100, 1_700_000_100))
    place.bench.settle()
    place.check()
