"""The corpus-wide stage over real files: notes are entities, a save acts at once, hidden stays hidden."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from server_make import World

from mindnetd.core.identity import note_uuid
from mindnetd.corpus import CorpusOptions, commit, prepare
from mindnetd.inference.embedder import Embedder
from mindnetd.lanes.entities import EntityView
from mindnetd.store.dump import dump
from mindnetd.store.integrity import integrity
from mindnetd.store.read_entities import load_corpus
from mindnetd.writing import bulk

ENGLISH = "This is what we have been told about it, and there was more of that than they would have thought.\n\n"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A vault without a model: names are joined by spelling alone."""
    made = World(tmp_path)
    yield made
    assert integrity(made.engine.db) == []
    made.close()


def view_of(world: World, *visibility: str) -> EntityView:
    """What somebody sees who may see notes of these levels (the default, unless given)."""
    levels = visibility or ("public", "internal")
    keys = [note.key for note in world.engine.hot.snapshot().all_notes() if note.visibility in levels]
    return world.engine.entities.of(levels).visible(keys)


def counts(view: EntityView) -> dict[str, int]:
    return {view.names[n]: int(view.mention_counts[n]) for n in view.entities.tolist()}


def remove(world: World, path: str) -> None:
    (world.vault / path).unlink()


def number(view: EntityView, name: str) -> int:
    return next(n for n in range(len(view.snapshot.id)) if view.names[n] == name)


def test_equal_texts_of_what_the_stage_reads_are_one_object(world: World) -> None:
    """135,000 signals of a big vault are a third of the memory so; numbers keep their kind, though 1 equals 1.0."""
    for name in "abc":
        world.write(f"{name}.md", f"{ENGLISH}We met Anna Weber there. Anna Weber was late.\n")
    world.index()
    rows = load_corpus(world.engine.db)
    found = [signal for signal in rows.signals if signal.name == "Anna Weber"]
    assert len(found) > 2
    assert len({id(signal.name) for signal in found}) == len({id(signal.kind) for signal in found}) == 1
    assert {type(signal.weight) for signal in rows.signals} == {float}
    assert {type(signal.count) for signal in rows.signals} == {int}


def test_memory_that_a_reader_kept_goes_back_at_the_next_quiet_moment(world: World) -> None:
    """Giving back means to close the file, which nobody who reads is made to notice."""
    world.write("a.md", "Some text.\n")
    world.index()
    db = world.engine.db
    before = db._con  # another connection is another opening of the file
    with db.reader() as reader:
        world.engine.slim()
        assert db._con is before and reader.rows("SELECT path FROM notes") == [("a.md",)]
    world.engine.chores()
    assert db._con is not before
    with db.reader() as reader:
        assert reader.rows("SELECT path FROM notes") == [("a.md",)]


def test_a_note_and_what_links_to_it_are_one_entity(world: World) -> None:
    """Title, alias, file name, wikilink, heading and phrase of one name; a missing note is an entity too."""
    world.write("Anna Weber.md", "---\naliases: [Annie]\ntype: colleague\n---\nShe works.\n")
    world.write(
        "a.md", f"# Anna Weber\n\n{ENGLISH}We asked Anna Weber and [[Annie]] and [[Anna Weber|her]].\n\n[[Nowhere]]\n"
    )
    world.write("b.md", "[[nowhere]] and [[folder/Nowhere#Part]]\n")
    world.index()
    world.build_graph()
    view = view_of(world)
    anna = number(view, "Anna Weber")
    # title, alias, heading, phrase, link; [[Annie]] is a name that no file has: an alias resolves by name only
    assert view.mention_counts[anna] == 6
    assert view.type(anna) == "colleague"
    assert view.is_note(anna) == note_uuid("mindnet", "Anna Weber.md")
    assert view.find("who is annie?") == [anna]
    assert view.mention_counts[number(view, "Nowhere")] == 3


def test_relations_bear_their_names(world: World) -> None:
    """A link is a relation of both notes' entities, with its relation, its chunk, and how often it is said."""
    world.write("a.md", "supports:: [[b]]\n\n[[b]] again [[b]], [[missing]]\n")
    world.write("b.md", "---\ndepends_on: [[[a]]]\n---\nText.\n")
    world.index()
    world.build_graph()
    view = view_of(world)
    found = {(one.type, view.names[one.entity], one.outgoing) for one in view.neighbours(number(view, "a"))}
    assert {("supports", "b", True), ("references", "b", True), ("references", "missing", True)} <= found
    one = next(one for one in view.neighbours(number(view, "a")) if one.type == "supports")
    assert view.relation_chunks(one.relation).tolist() == [view.chunks(number(view, "a"))[-1]]


def test_what_is_said_together_is_related(world: World) -> None:
    """Two names in the same five of forty notes are; two that met once are not."""
    for at in range(40):
        body = "We saw Docker with Kubernetes. " if at < 5 else "We saw nothing. "
        world.write(
            f"n{at:02}.md", ENGLISH + body + ("And Prometheus too, yes Prometheus. " if at in (3, 20, 21) else "")
        )
    world.index()
    world.build_graph()
    view = view_of(world)
    docker = number(view, "Docker")
    related = [(one.type, view.names[one.entity], one.count) for one in view.neighbours(docker)]
    assert related == [("related_to", "Kubernetes", 5)]


def test_a_save_acts_at_once(world: World) -> None:
    """Before the stage runs again: a note says what it says now, and what only it said is gone, relations too."""
    for at in range(3):
        world.write(f"n{at}.md", ENGLISH + "We saw Docker and met Anna Weber.")
    world.write("only.md", ENGLISH + "We asked Kubernetes. Then Kubernetes and also Kubernetes. [[n1]]")
    world.index()
    world.build_graph()
    assert counts(view_of(world))["Kubernetes"] == 3
    world.write("only.md", ENGLISH + "We saw Docker.")
    world.write("n0.md", ENGLISH + "We met Anna Weber, and Anna Weber again.")
    remove(world, "n2.md")
    world.index()
    view = view_of(world)
    assert "Kubernetes" not in counts(view)
    assert (counts(view)["Docker"], counts(view)["Anna Weber"]) == (2, 3)
    assert [one.type for one in view.neighbours(number(view, "only"))] == []
    assert "n2" not in counts(view)
    before = counts(view)
    world.engine.reload()
    assert counts(view_of(world)) == before, "the file says the same as memory"


def test_a_commit_between_reading_and_writing_the_graph_holds(world: World) -> None:
    """What the stage has not seen: a note that changed and one that went meanwhile."""
    for at in range(3):
        world.write(f"n{at}.md", ENGLISH + "We saw Docker and met Anna Weber.")
    world.index()
    engine = world.engine
    prepared = prepare(engine.db, CorpusOptions(), None)
    world.write("n0.md", ENGLISH + "We met Anna Weber.")
    remove(world, "n1.md")
    world.index()
    commit(engine.db, prepared, engine.entities)
    assert integrity(engine.db) == []
    assert (counts(view_of(world))["Docker"], counts(view_of(world))["Anna Weber"]) == (1, 2)
    assert prepare(engine.db, CorpusOptions(), None).rows is not None, "and the graph is due again"


def test_nothing_is_made_twice(world: World) -> None:
    """A graph whose inputs have not changed stays, until it is asked for."""
    world.write("a.md", "# Docker\n")
    world.index()
    world.build_graph()
    assert prepare(world.engine.db, CorpusOptions(), None).rows is None
    assert prepare(world.engine.db, CorpusOptions(), None, force=True).rows is not None
    assert prepare(world.engine.db, CorpusOptions(threshold=0.9), None).rows is not None


def test_hidden_notes_are_in_no_count_name_or_relation(world: World) -> None:
    """A view of public notes: no entity, spelling, type, alias or relation that only a hidden note gives."""
    world.write("shown.md", f"---\nvisibility: public\n---\n{ENGLISH}We saw Docker, and [[Plan]]. It was Docker.\n")
    world.write(
        "Plan.md", "---\nvisibility: sensitive\ntype: conspiracy\naliases: [Falcon]\n---\nsupports:: [[shown]]\n"
    )
    world.write(
        "more.md",
        f"---\nvisibility: sensitive\n---\n{ENGLISH}We saw `Docker`, DOCKER, and Anna Weber, Anna Weber, Anna Weber.\n",
    )
    world.allow("sensitive")
    world.index()
    world.build_graph()
    everything, public = view_of(world, "public", "internal", "sensitive"), view_of(world, "public")
    assert counts(everything)["Docker"] > 2 and "Anna Weber" in counts(everything)
    assert counts(public) == {"shown": 1, "Plan": 1}, "it was a hidden note that made Docker an entity"
    plan, whole_plan = number(public, "Plan"), number(everything, "Plan")
    assert public.is_note(plan) is None and public.type(plan) != "conspiracy" and public.aliases(plan) == ()
    assert public.find("the falcon of anna weber") == []
    assert {one.type for one in public.neighbours(plan)} == {"references"}
    assert {one.type for one in everything.neighbours(whole_plan)} == {"references", "supports"}
    assert counts(view_of(world, "internal")) == {}


def test_deleting_a_note_undoes_its_alias(world: World) -> None:
    """After the stage the name that only the alias gave is no name of anything."""
    world.write("Docker.md", "---\naliases: [Moby]\n---\nText\n")
    world.write("a.md", "[[Docker]]\n")
    world.index()
    world.build_graph()
    assert view_of(world).find("moby") == [number(view_of(world), "Docker")]
    remove(world, "Docker.md")
    world.index()
    assert view_of(world).find("moby") == []
    world.build_graph()
    assert "moby" not in world.engine.entities.snapshot.aliases
    assert counts(view_of(world)) == {"a": 1, "Docker": 1}


def test_names_near_in_meaning_are_one(tmp_path: Path, model_cache: Path) -> None:
    """With the model: other spellings become aliases, versions and different notes stay apart; each name costs once."""
    from engine_kit import open_shared

    embedder: Embedder = open_shared(model_cache)
    world = World(tmp_path, embedder)
    try:
        world.write("Graph view.md", "Text\n")
        world.write("Graph views.md", "Text\n")
        for at in range(3):
            world.write(
                f"n{at}.md", ENGLISH + "We use the Web Clipper and Web Clippers. Release Plan 1.2 and Release Plan 1.3."
            )
        world.index()
        world.build_graph()
        view = view_of(world)
        clipper = number(view, "Web Clipper")
        assert view.aliases(clipper) == ("Web Clippers",)
        assert {"Graph view", "Graph views", "Release Plan 1.2", "Release Plan 1.3"} <= counts(view).keys()
        made = world.engine.metrics.other_embeddings._value.get()
        assert made > 0
        world.write("n0.md", ENGLISH + "Nothing.")
        world.index()
        world.build_graph()
        assert world.engine.metrics.other_embeddings._value.get() == made
    finally:
        world.close()
        embedder.close()


def test_a_long_index_ends_with_its_vectors_and_graph(
    tmp_path: Path, model_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bulk work that keeps vectors waiting lets them go when it is over (`mindnetd index` of 400 notes never ended)."""
    from engine_kit import Bench, make_config, open_shared

    from mindnetd.daemon import begin
    from mindnetd.index_all import index_all

    monkeypatch.setattr(bulk, "WORTH_IT", 2)
    vault = tmp_path / "vault"
    vault.mkdir()
    for at in range(4):
        (vault / f"n{at}.md").write_text(ENGLISH + f"# Docker {at}\n", encoding="utf-8")
    embedder = open_shared(model_cache)
    bench = Bench(make_config(tmp_path, vault, tmp_path / "db.duckdb"), embedder)
    try:
        begin(bench.engine, bench.writer, "index")
        summary = index_all(bench.engine, bench.writer, lambda *_: None, 0.0)
        assert summary.vectors_missing == 0 and summary.entities is not None and summary.entities >= 4
    finally:
        bench.close()
        embedder.close()


CHILD = """
import hashlib, json, random, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from server_make import World
from mindnetd.store.dump import dump
home = Path(sys.argv[1])
world = World(home)
texts = json.loads((home / "texts.json").read_text())
names = sorted(texts)
random.Random(sys.argv[3]).shuffle(names)
for name in names:  # one commit each, in another order each time
    world.write(name, texts[name])
    world.index()
world.build_graph()
found = dump(world.engine.db)
keep = {name: rows for name, rows in found.items() if name.startswith(("entit", "relation", "note_signals"))}
print(hashlib.sha256(repr(sorted(keep.items())).encode()).hexdigest(), sum(map(len, keep.values())))
world.close()
"""


def test_no_order_and_no_hash_seed_matters(tmp_path: Path) -> None:
    """Demands 21, 22: one dump of the entity graph, whatever the order of reading and the seed of Python's hashes."""
    texts = {
        f"{folder}n{at}.md": f"# Topic {at % 3}\n\n{ENGLISH}We saw Docker, Anna Weber and Kubernetes Cluster. "
        f"[[n{(at * 7) % 12}]] [[gone {at % 4}]] `run_{at % 2}` #tag/{at % 3}\n\nrelates_to:: [[n{at // 2}]]\n"
        for at in range(12)
        for folder in ("", "deep/")
    }
    found = set()
    for seed in ("1", "2", "3"):
        home = tmp_path / seed
        home.mkdir()
        (home / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
        result = subprocess.run(
            [sys.executable, "-c", CHILD, str(home), str(Path(__file__).parent), seed],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert result.returncode == 0, result.stderr
        found.add(result.stdout.split("\n")[-2])
    assert len(found) == 1 and int(found.pop().split()[1]) > 100


def test_what_is_excluded_leaves_the_file(world: World) -> None:
    """A purge takes names and relations along that nobody else says."""
    world.write("keep.md", ENGLISH + "We saw Docker. Docker and Docker.")
    world.write(
        "secret/x.md", ENGLISH + "We met Xanthippe, and gave Xanthippe to Xanthippe in `xan_thippe` and `xan_thippe`."
    )
    world.index()
    world.build_graph()
    assert "Xanthippe" in counts(view_of(world))
    (world.vault / ".obsidian").mkdir(exist_ok=True)
    (world.vault / ".obsidian/app.json").write_text('{"userIgnoreFilters": ["secret/"]}', encoding="utf-8")
    from mindnetd.engine import read_rules

    world.engine.indexer.classifier = read_rules(world.engine.config)
    world.index()
    assert world.engine.chores()
    tables = dump(world.engine.db)
    assert not [rows for rows in tables.values() if "anthippe" in repr(rows)]
    assert b"anthippe" not in world.engine.config.db.read_bytes()
