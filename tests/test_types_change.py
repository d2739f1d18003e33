"""A changed ``types.yaml`` re-does only what it touches: the rows that were written are counted, table by table."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine_kit import Bench, make_config, open_shared

from mindnetd.core.typetable import DEFAULT_TYPES
from mindnetd.errors import StoreError
from mindnetd.inference.embedder import Embedder
from mindnetd.settings.types import types_of
from mindnetd.store import read
from mindnetd.store.dump import differences
from mindnetd.writing import bulk

TABLES = ("notes", "chunks", "passages", "postings", "links", "edges", "diagnostics")
HEAD = "---\ntitle: {0}\nid: {0}\ntype: {1}\nstatus: active\ncreated: 2032-05-01\n---\n# {0}\n\n"


class Place:
    """A vault, its types file and a bench over both."""

    def __init__(self, home: Path, embedder: Embedder) -> None:
        self.home, self.embedder = home, embedder
        self.vault, self.file = home / "vault", home / "types.yaml"
        self.vault.mkdir()
        self.file.write_text("version: 1\n")
        for name, kind, text in (
            ("buy", "task", "Buy flour. [[oven]]\n"),
            ("bake", "task", "Bake bread. [[buy]]\n\n## See also\n\n[[rise]]\n"),
            ("oven", "project", "The oven. [[rise]]\n"),
            ("rise", "concept", "Dough rises.\n"),
        ):
            (self.vault / f"{name}.md").write_text(HEAD.format(name, kind) + text)
        (self.vault / "plain.md").write_text("No properties at all. [[buy]]\n")
        self.bench = self.open("notes")

    def open(self, name: str) -> Bench:
        """A bench of its own on the same vault and types."""
        config = make_config(self.home, self.vault, self.home / name / "n.duckdb", types_file=str(self.file))
        bench = Bench(config, self.embedder)
        for part in bench.engine.unfinished():
            bench.writer.submit(part)
        bench.settle()
        return bench

    def restart(self) -> None:
        """A clean stop and a start."""
        self.bench.close()
        self.bench = self.open("notes")

    def types(self, text: str, *, wait: bool = True) -> None:
        """Save the file, and let the daemon's reload take it over."""
        self.file.write_text(text)
        work = self.bench.engine.take_types(types_of(self.bench.engine.config))
        self.bench.writer.start_over()
        for part in work:
            self.bench.writer.submit(part)
        if wait:
            self.bench.settle()

    def rows(self) -> dict[str, list[tuple[object, ...]]]:
        """Every row with its keys and runs, by table."""
        with self.bench.engine.db.reader() as reader:
            return {name: sorted(map(repr, reader.rows(f"SELECT * FROM {name}"))) for name in TABLES}

    def runs(self) -> list[tuple[str, int]]:
        """Trigger and notes changed, newest first, of the runs of the types."""
        return [
            (run.trigger, run.files_changed) for run in read.runs(self.bench.engine.db, 50, 0) if run.trigger == "types"
        ]

    def check(self) -> None:
        """Law 1: as if made afresh with the file of now."""
        fresh = self.open("fresh")
        try:
            assert differences(self.bench.dump(), fresh.dump()) == []
        finally:
            fresh.close()


@pytest.fixture(scope="module")
def embedder(model_cache: Path) -> Iterator[Embedder]:
    model = open_shared(model_cache)
    yield model
    model.close()


@pytest.fixture
def place(tmp_path: Path, embedder: Embedder) -> Iterator[Place]:
    there = Place(tmp_path, embedder)
    yield there
    there.bench.close()


def written(before: dict[str, list[tuple[object, ...]]], after: dict[str, list[tuple[object, ...]]]) -> dict[str, int]:
    """How many rows of each table are new or other than before; tables without any are left out."""
    counts = {name: len(set(after[name]) - set(before[name])) for name in TABLES}
    counts |= {f"-{name}": len(set(before[name]) - set(after[name])) for name in TABLES}
    return {name: count for name, count in counts.items() if count}


def four(**changes: str) -> str:
    """The source's four types, with what is changed of each."""
    lines = ["types:"]
    for name in ("concept", "task", "experience", "project"):
        kind = DEFAULT_TYPES.of(name)
        values = {
            "chunk_profile": str(kind.chunk_profile),
            "edge_defaults": f"[{', '.join(kind.edge_defaults)}]",
            "retriever_weight": str(kind.retriever_weight),
        }
        for part in filter(None, changes.get(name, "").split("; ")):
            key, value = part.split(": ", 1)
            values[key] = value
        lines += [f"  {name}:", *(f"    {key}: {value}" for key, value in values.items())]
    return "\n".join(lines) + "\n"


def test_a_weight_writes_no_row(place: Place) -> None:
    """A new retriever weight only ranks otherwise: no row of any note, one configuration snapshot, one run."""
    place.types(four())
    before, config = place.rows(), place.bench.engine.config_hash
    runs = len(place.runs())
    place.types(four(task="retriever_weight: 0.1; edge_weight_offsets: {depends_on: 0.5}"))
    assert written(before, place.rows()) == {}
    assert len(place.runs()) == runs + 1 and place.runs()[0] == ("types", 0)
    newest = read.runs(place.bench.engine.db, 1, 0)[0]
    assert newest.config_hash == place.bench.engine.config_hash != config
    assert place.bench.engine.indexer.options.types.weight_of("task") == 0.1
    stored = read.config(place.bench.engine.db, newest.config_hash)
    assert stored is not None and '"retriever_weight": 0.1' in str(stored)
    place.check()


def test_a_profile_cuts_notes_of_its_type_only(place: Place) -> None:
    """Two tasks are cut anew, the other three notes are not touched; equal texts are not embedded again."""
    place.types(four())
    before, made = place.rows(), place.bench.made
    place.types(four(task="chunk_profile: long"))
    counts = written(before, place.rows())
    assert counts["notes"] == counts["-notes"] == 2
    assert counts["chunks"] == counts["-chunks"] == 2
    assert place.bench.made == made
    assert place.runs()[0] == ("types", 2)
    with place.bench.engine.db.reader() as reader:
        profiles = dict(reader.rows("SELECT n.path, chunk_profile FROM chunks JOIN notes n ON n.key = note_key"))
    assert {path for path, profile in profiles.items() if profile == "long"} == {"buy.md", "bake.md", "oven.md"}
    place.check()


def test_a_note_with_its_own_profile_is_left_alone(place: Place) -> None:
    """What the note says itself does not change with its type."""
    place.types(four())
    file = place.vault / "buy.md"
    file.write_text(file.read_text().replace("type: task", "type: task\nchunk_profile: short\nhash_mode: full"))
    place.bench.settle()
    before = place.rows()
    place.types(four(task="chunk_profile: long; hash_mode: frontmatter"))
    assert written(before, place.rows())["notes"] == 1
    place.check()


def test_required_properties_write_diagnostics_only(place: Place) -> None:
    """One more required property: one diagnostic for each note of that type, and no other row."""
    place.types(four())
    before = place.rows()
    place.types(four(task="required: [title, area]"))
    assert written(before, place.rows()) == {"diagnostics": 2}
    place.types(four(task="required: [title, area]; allowed: [area, created]"))
    assert written(before, place.rows()) == {"diagnostics": 2}
    place.types(four())
    assert written(before, place.rows()) == {}
    place.check()


def test_words_of_status_and_other_types(place: Place) -> None:
    """A word that is no status any more, a type that is gone, a new one: only diagnostics, only where they differ."""
    place.types(four())
    before = place.rows()
    place.types(four() + "status: [done]\n")
    assert written(before, place.rows()) == {"diagnostics": 4}
    place.types(four().replace("concept:", "idea:") + "status: [done, active]\n")
    counts = written(before, place.rows())
    assert counts["diagnostics"] == 1 and counts.get("chunks", 0) <= 1
    place.check()


def test_rule_edges_follow_their_type_and_section(place: Place) -> None:
    """Other edge defaults: edges of that type's notes. Another section rule: edges of notes with that heading."""
    place.types(four())
    before = place.rows()
    place.types(four(project="edge_defaults: [uses]"))
    counts = written(before, place.rows())
    assert set(counts) == {"edges", "-edges"}
    with place.bench.engine.db.reader() as reader:
        touched = reader.rows(
            "SELECT DISTINCT n.path FROM edges e JOIN import_runs r ON r.id = e.import_run_id "
            "JOIN notes n ON n.key = e.owner WHERE r.trigger = 'types' AND relation = 'uses'"
        )
    assert touched == [("oven.md",)]
    before = place.rows()
    place.types(four(project="edge_defaults: [uses]") + "section_rules: {See also: inspired_by}\n")
    counts = written(before, place.rows())
    assert set(counts) == {"edges", "-edges"}
    assert place.runs()[0] == ("types", 1), "only bake.md has such a heading"
    place.check()


def test_hidden_by_default_at_once(place: Place) -> None:
    """Another visibility default hides the notes it means, in rows, edges and memory, and shows them again."""
    place.types(four() + 'visibility_defaults: {task: sensitive, "deep/**": public}\n')
    hidden = {note.path for note in place.bench.engine.hot.snapshot().all_notes() if note.visibility == "sensitive"}
    assert hidden == {"buy.md", "bake.md"}
    place.check()
    place.types(four())
    assert not any(note.visibility == "sensitive" for note in place.bench.engine.hot.snapshot().all_notes())
    place.check()


def test_a_restart_does_the_same(place: Place) -> None:
    """Edited while nobody ran: the next start re-does the same rows and no other; a further one nothing."""
    place.types(four())
    before, made = place.rows(), place.bench.made
    place.file.write_text(four(task="chunk_profile: long; retriever_weight: 0.3"))
    place.restart()
    assert written(before, place.rows())["notes"] == 2 and made and place.bench.made == 0
    assert place.runs()[0] == ("types", 2)
    place.check()
    before, runs = place.rows(), place.runs()
    place.restart()
    assert written(before, place.rows()) == {} and place.runs() == runs


def test_changed_back_in_the_middle(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed while a change is half done, and the file is then as it was before: nothing of the change is left."""
    for number in range(150):
        (place.vault / f"task {number}.md").write_text(HEAD.format(f"t{number}", "task") + "Text.\n")
    place.types(four())
    place.types(four(task="chunk_profile: long"), wait=False)
    monkeypatch.setattr(bulk, "COMMIT_AT", 20)

    def cut_anew() -> int:
        with place.bench.engine.db.reader() as reader:
            return int(reader.rows("SELECT count(*) FROM chunks WHERE chunk_profile = 'long'")[0][0])

    before = cut_anew()
    while cut_anew() == before:
        place.bench.writer._turn(time.monotonic())
    assert cut_anew() < 100
    place.bench.crash()
    place.file.write_text(four())
    place.bench = place.open("notes")
    place.check()


def test_other_options_changed_back_in_the_middle(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for an option of the configuration: reloaded, killed half way, and the old value at the next start."""
    for number in range(150):
        (place.vault / f"plain {number}.md").write_text("Text.\n")
    place.bench.settle()
    monkeypatch.setattr(bulk, "COMMIT_AT", 20)
    engine = place.bench.engine
    for part in engine.take_options(dataclasses.replace(engine.indexer.options, default_profile="long")):
        place.bench.writer.submit(part)
    revision = engine.db.revision
    while engine.db.revision < revision + 2:
        place.bench.writer._turn(time.monotonic())
    assert 10 < sum("'long'" in str(row) for row in place.bench.dump()["chunks"]) < 140
    place.bench.crash()
    place.bench = place.open("notes")
    place.check()


def test_one_change_overtakes_another(place: Place) -> None:
    """A second change before the first is done: the end is the second's, whichever notes the first had reached."""
    place.types(four())
    place.types(four(task="chunk_profile: long", concept="chunk_profile: short"), wait=False)
    place.bench.writer._turn(time.monotonic())
    place.types(four(project="chunk_profile: short") + "status: [done]\n", wait=False)
    place.types(four(task="hash_mode: full"))
    place.check()


def test_a_file_made_anew_at_work_knows_its_types(place: Place) -> None:
    """The database is put aside at work: the new one says by which types it was made."""
    place.types(four())
    place.bench.writer._store_failed(StoreError("a block is damaged", code="damaged"))
    place.bench.settle()
    place.file.write_text(four(task="chunk_profile: long"))
    before = place.rows()
    place.restart()
    assert written(before, place.rows())["notes"] == 2
    place.check()
