"""Law 1: after any edits, moves, deletes, crashes and restarts the database is what a fresh build would be.

Real files, the real writer, the real model. `make nightly` runs 500 examples, `make test` a short form.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from engine_kit import Bench, make_config, open_shared
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from mindnetd.community_step import rebuild
from mindnetd.core.community_ids import CommunityRow
from mindnetd.core.identity import nfc
from mindnetd.core.shared_tags import TagTable
from mindnetd.inference.embedder import Embedder
from mindnetd.lanes.hot import HotIndex
from mindnetd.settings.types import types_of
from mindnetd.store import read
from mindnetd.store.dump import differences
from mindnetd.store.integrity import integrity
from mindnetd.store.read_communities import load_inputs
from mindnetd.verify import differences as unlike
from mindnetd.writing.known import load_hot_index
from mindnetd.writing.runs import Run

NAMES = ("Alpha", "beta", "Gamma Ray", "Übung", "2032-05-18", "delta.v2", "U\u0308bung")  # the last is a twin in NFD
FOLDERS = ("", "one/", "two/deep/", "Templates/")
BITS = (
    "[[Alpha]]", "[[beta|b]]", "![[Gamma Ray#Part]]", "[x](two/deep/%C3%9Cbung.md)", "[[delta.v2]]", "[[one/Alpha]]",
    "[[pic.png]]", "#tag/deep", "supports:: [[beta]]", "%% hidden [[Alpha]] %%", "```\n[[Alpha]]\n```", "https://example.org",
    "#rare0", "#RARE1 #Übung", "#u\u0308bung/x",
    "[[id-1]]", "[[ID-1#Part|shown]]", "[[Nowhere|id-2]]", "![[Alpha|id-1]]", "(relates_to:: [[id-2]])", "[web](https://e.org/a)",
)  # fmt: skip
HEADS = (
    "", "---\ntitle: Other\naliases: [Aka]\n---\n", "---\ntags: [a, b]\ntype: task\n---\n",
    "---\nvisibility: sensitive\ndraft: true\n---\n",
    "---\ntags: [rare0, a/b]\n---\n", "---\ntags: Übung\n---\n",
    "---\nup: \"[[Alpha]]\"\n---\n", "---\nbroken: a: b\n---\n", "---\nembedding_exclude: true\n---\n",
    "---\nlang: de\nchunk_profile: short\n---\n",
    "---\nid: id-1\ntype: concept\n---\n", "---\nid: ID-1\ntype: project\n---\n", "---\nid: Alpha\ntype: task\n---\n",
    "---\nid: id-2\ndepends_on: [id-1, Alpha, nobody, \"[[id-2]]\"]\n---\n",
    "---\ntype: task\nassigned_to: id-2\nedge_hints: [supports, mentions]\n---\n",
)  # fmt: skip
TYPES = (
    "version: 1\n",
    "version: 1\nsection_rules: {part: supports, two: contradicts}\n",
    "version: 1\ntypes:\n  concept: {edge_defaults: [mentions]}\n  task: {chunk_profile: long, required: [due]}\n",
    "version: 1\ntypes:\n  task: {edge_defaults: [belongs_to], retriever_weight: 0.1}\n  project: {hash_mode: full}\n"
    'visibility_defaults: {task: sensitive, "one/**": public}\n',
)
WORDS = (
    "apple", "river", "stone", "Gärung", "lantern", "quiet", "Anna Weber", "met Docker", "`run_it`", "GPT-4", "Alpha",
    "the Kyoto Protocol", "[Docker](https://e.org/d)",
)  # fmt: skip

TOPICS = (
    ("Valve", "Pump", "Hose", "Docker"),
    ("Violin", "Cello", "Anna Weber", "Score"),
    ("Oven", "Yeast", "Alpha", "beta"),
)
"""Subjects whose notes name one another, so that there are entities, relations and communities from the start."""

paths = st.builds(lambda folder, name: f"{folder}{name}.md", st.sampled_from(FOLDERS), st.sampled_from(NAMES))
paragraph = st.lists(st.sampled_from(WORDS + BITS), min_size=1, max_size=8).map(" ".join)
texts = st.builds(
    lambda head, parts: head + "\n\n".join(parts) + "\n",
    st.sampled_from(HEADS),
    st.lists(st.one_of(paragraph, st.sampled_from(("# Part", "## Two", "## See also", "- a\n- b"))), max_size=6),
)


class Vault(RuleBasedStateMachine):
    """Random edits of a folder; at the end its index must equal one that is built afresh."""

    embedder: Embedder

    @initialize()
    def begin(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="mindnet-law1-"))
        self.vault = self.home / "vault"
        self.vault.mkdir()
        (self.vault / ".obsidian").mkdir()
        (self.vault / "Keep.md").write_text("Always here. [[Alpha]]\n", encoding="utf-8")
        for topic, names in enumerate(TOPICS):
            for place, name in enumerate(names):
                one, other = names[place - 1], names[place - 2]
                text = f"# {name}\n\n{name} goes with [[{one}]]. #rare{topic}\n\n"
                text += f"## Part\n\nWe met {name}, {one} and {other}.\n"
                (self.vault / f"{name}.md").write_text(text, encoding="utf-8")
        self.types = self.home / "types.yaml"
        self.types.write_text(TYPES[0], encoding="utf-8")
        self.clock = 1_700_000_000
        self.bench = self.open(self.home / "state" / "notes.duckdb")

    def open(self, db: Path) -> Bench:
        bench = Bench(make_config(self.home, self.vault, db, types_file=str(self.types)), self.embedder)
        for work in bench.engine.unfinished():  # what a start does first, when types.yaml was edited while nobody ran
            bench.writer.submit(work)
        return bench

    @rule(path=paths, text=texts)
    def write(self, path: str, text: str) -> None:
        file = self.vault / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        self.stamp(file)

    @rule(path=paths)
    def delete(self, path: str) -> None:
        (self.vault / path).unlink(missing_ok=True)

    @rule(old=paths, new=paths)
    def rename(self, old: str, new: str) -> None:
        if (self.vault / old).exists():
            (self.vault / new).parent.mkdir(parents=True, exist_ok=True)
            (self.vault / old).replace(self.vault / new)

    @rule()
    def move_folder(self) -> None:
        one, other = self.vault / "one", self.vault / "moved"
        source, target = (one, other) if one.is_dir() else (other, one)
        if source.is_dir() and not target.exists():
            source.rename(target)

    @rule(name=st.sampled_from(("pic.png", "one/pic.png", "board.canvas", "Alpha.png")), full=st.booleans())
    def attachment(self, name: str, full: bool) -> None:
        file = self.vault / name
        file.parent.mkdir(parents=True, exist_ok=True)
        nodes = [{"id": "1", "type": "file", "file": "one/Alpha.md"}] if full else []
        file.write_text(json.dumps({"nodes": nodes}), encoding="utf-8")
        self.stamp(file)

    @rule(filters=st.sampled_from(([], ["one/"], ["two/"])))
    def exclude(self, filters: list[str]) -> None:
        (self.vault / ".obsidian/app.json").write_text(json.dumps({"userIgnoreFilters": filters}), encoding="utf-8")
        from mindnetd.engine import read_rules

        self.bench.engine.indexer.classifier = read_rules(self.bench.engine.config)

    @rule(text=st.sampled_from(TYPES), seen=st.booleans())
    def edit_types(self, text: str, seen: bool) -> None:
        """A saved ``types.yaml``; not `seen`: nobody ran, or the reload is still to come."""
        self.types.write_text(text, encoding="utf-8")
        if seen:
            work = self.bench.engine.take_types(types_of(self.bench.engine.config))
            self.bench.writer.start_over()
            for part in work:
                self.bench.writer.submit(part)

    @rule(note=paths, other=paths)
    def trade_names(self, note: str, other: str) -> None:
        """Two linked notes change places: every link to either means the other now."""
        one, two = self.vault / note, self.vault / other
        if one.exists() and two.exists() and one != two:
            spare = self.home / "spare.md"
            one.replace(spare)
            two.replace(one)
            spare.replace(two)

    @rule(seen=st.permutations(range(12)), most=st.integers(1, 4))
    def noticed(self, seen: list[int], most: int) -> None:
        """Events of some of the files that changed, in any order; of the others nobody has heard yet."""
        known = self.bench.engine.indexer.known.files
        there = {str(file.relative_to(self.vault)) for file in self.vault.rglob("*") if file.is_file()}
        named = sorted(path for path in there | known.keys() if not path.startswith("."))
        todo = [named[place] for place in seen if place < len(named)][:most]
        for _ in range(5):
            todo = self.bench.engine.indexer.index(todo, Run("watch", "")) if todo else []
        assert not todo

    @rule()
    def settle(self) -> None:
        self.bench.settle()

    @rule()
    def graph(self) -> None:
        """The corpus-wide stage in the middle: what notes say afterwards has to come out of it again."""
        self.bench.graph()
        rebuild(self.bench.engine, lambda store: store())
        wrong = integrity(self.bench.engine.db)  # names are told before their files are read
        assert [line for line in wrong if not line.startswith(("link to a file that", "edge to a note that"))] == []

    @rule(turns=st.integers(1, 4))
    def crash_in_the_middle(self, turns: int) -> None:
        """A few turns of the writer, then nothing more of what it held in memory."""
        self.bench.writer.doubt("crash")
        for _ in range(turns):
            self.bench.writer._turn(time.monotonic())
        self.bench.crash()
        self.bench = self.open(self.home / "state" / "notes.duckdb")

    @rule()
    def restart(self) -> None:
        self.bench.close()
        self.bench = self.open(self.home / "state" / "notes.duckdb")

    @precondition(lambda self: hasattr(self, "bench"))
    @rule()
    def touch(self) -> None:
        for file in self.vault.rglob("*.md"):
            self.stamp(file)

    def stamp(self, file: Path) -> None:
        """Times that differ by whole seconds, so that a change never hides in one tick of the clock."""
        self.clock += 1
        os.utime(file, (self.clock, self.clock))

    def teardown(self) -> None:
        if not hasattr(self, "bench"):
            return
        try:
            self.edit_types(self.types.read_text(encoding="utf-8"), seen=True)
            self.bench.settle()
            self.bench.graph()
            assert integrity(self.bench.engine.db) == []
            fresh = self.open(self.home / "fresh" / "notes.duckdb")
            try:
                fresh.settle()
                fresh.graph()
                assert differences(self.bench.dump(), fresh.dump()) == []
                assert shared_tags(self.bench) == shared_tags(fresh)
                assert communities(self.bench) == communities(fresh)
                assert resident(self.bench) == []
            finally:
                fresh.close()
        finally:
            self.bench.close()
            shutil.rmtree(self.home)


def shared_tags(bench: Bench) -> set[tuple[str, str, tuple[str, ...], float]]:
    """Every edge of a shared rare tag, at a limit that the small vault gets to both sides of."""
    notes = bench.engine.hot.snapshot().all_notes()
    table = TagTable(notes)
    pairs = (pair for note in notes for pair in table.of(note, lambda _: True, 4))
    return {
        (pair.first.path, pair.second.path, tuple(nfc(tag).casefold() for tag in pair.tags), pair.weight)
        for pair in pairs
    }


def communities(bench: Bench) -> list[CommunityRow]:
    """Those of a rebuild that forgets the last run: they depend on the vault alone (law 13)."""
    rebuild(bench.engine, lambda store: store(), cold=True)
    rows = load_inputs(bench.engine.db).last
    told = [tuple(replace(source, chunk_key=0) for source in row.sources) for row in rows]  # keys are of one file
    return [replace(row, updated=datetime.min, sources=source) for row, source in zip(rows, told, strict=True)]


def resident(bench: Bench) -> list[str]:
    """How the index in memory differs from one that is loaded from the file."""
    fresh, embedder = HotIndex(), bench.engine.model.embedder
    assert embedder is not None
    load_hot_index(fresh, read.load_hot(bench.engine.db, embedder.fingerprint, embedder.dim))
    return unlike(bench.engine.hot.snapshot(), fresh.snapshot())


def converge(cache: Path, examples: int, steps: int) -> None:
    Vault.embedder = open_shared(cache)
    try:
        run_state_machine_as_test(
            Vault,
            settings=settings(
                max_examples=examples,
                stateful_step_count=steps,
                deadline=None,
                suppress_health_check=list(HealthCheck),
                derandomize=False,
            ),
        )
    finally:
        Vault.embedder.close()


@pytest.mark.timeout(600)
def test_any_history_converges_short_form(model_cache: Path) -> None:
    """Law 1, short form: 15 random histories."""
    converge(model_cache, 15, 12)


@pytest.mark.nightly
@pytest.mark.timeout(7200)
def test_any_history_converges(model_cache: Path) -> None:
    """Law 1: 500 random histories of up to 25 steps."""
    converge(model_cache, 500, 25)
