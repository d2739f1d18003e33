"""Communities of real vaults: what is kept, what is remade, who sees what, whatever the hash seed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from engine_kit import Bench, make_config
from server_make import Served, World, serve_world

from mindnetd.community_step import rebuild
from mindnetd.core.community_ids import CommunityRow
from mindnetd.store.read_communities import load_inputs
from mindnetd.writing.entity_feed import load_graphs

TOPICS = {
    "garden": ("Valve", "Pump", "Hose", "Sprinkler", "Rain barrel"),
    "music": ("Violin", "Cello", "Orchestra", "Conductor", "Score"),
    "bakery": ("Sourdough", "Oven", "Flour mill", "Baguette", "Yeast"),
}


def fill(vault: Path, names: list[str] | None = None) -> None:
    """Three subjects whose notes link one another."""
    pages = {}
    for topic, things in TOPICS.items():
        for number, thing in enumerate(things):
            others = [other for other in things if other != thing]
            pages[f"{topic}/{thing}.md"] = (
                f"# {thing}\n\n{thing} is a part of the {topic} that nobody wants to miss.\n\n"
                f"The {thing} is used with [[{others[number % 4]}]] and [[{others[(number + 1) % 4]}]] every day.\n"
            )
    for path in names or sorted(pages):
        file = vault / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(pages[path], encoding="utf-8")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    vault = tmp_path / "vault"
    vault.mkdir()
    fill(vault)
    bench = Bench(make_config(tmp_path, vault, tmp_path / "x" / "notes.duckdb"), None)
    make(bench)
    yield bench
    bench.close()


def make(bench: Bench, *, cold: bool = False) -> dict[str, object]:
    bench.settle()
    bench.graph()
    return rebuild(bench.engine, lambda store: store(), cold=cold)


def stored(bench: Bench) -> dict[str, CommunityRow]:
    return {row.id: row for row in load_inputs(bench.engine.db).last}


def of(bench: Bench, word: str) -> CommunityRow:
    return next(row for row in stored(bench).values() if word in row.summary or word in row.title)


def test_each_subject_is_a_community_with_sentences_of_its_notes(bench: Bench) -> None:
    rows = stored(bench)
    assert len(rows) == 3
    assert {row.label for row in rows.values()} == {"c_0_0", "c_0_1", "c_0_2"}
    names = bench.engine.entities.snapshot
    for row in rows.values():
        inside = {names.name[names.numbers[member]] for member in row.members}
        assert any(inside >= set(things) for things in TOPICS.values())
        assert row.summary == " ".join(one.sentence for one in row.sources)
        assert row.sources


def test_nothing_is_made_where_nothing_changed(bench: Bench) -> None:
    before = stored(bench)
    assert make(bench)["communities_changed"] is False
    assert stored(bench) == before


def test_what_a_purge_took_is_made_again(bench: Bench) -> None:
    before = stored(bench)
    with bench.engine.db.transaction() as con:
        for table in ("communities", "community_members", "community_sources"):
            con.execute(f"DELETE FROM {table}")
    assert make(bench)["communities_changed"] is True
    assert stored(bench).keys() == before.keys()


def test_an_edit_remakes_only_what_it_touches(bench: Bench) -> None:
    """The others keep id, members, title, summary and the time when it was made."""
    before, touched = stored(bench), of(bench, "garden")
    note = bench.engine.config.vault / "garden/Pump.md"
    note.write_text(note.read_text() + "\nThe Pump of the garden is blue since the last winter was over.\n")
    figures = make(bench)
    after = stored(bench)
    assert figures["summaries_remade"] == 1
    assert after.keys() == before.keys()
    changed = {row.id for row in after.values() if row != before[row.id]}
    assert changed == {touched.id}
    assert after[touched.id].texts_hash != touched.texts_hash
    assert after[touched.id].members_hash == touched.members_hash


def test_a_new_note_keeps_the_id_of_the_community_that_it_joins(bench: Bench) -> None:
    before, touched = stored(bench), of(bench, "music")
    (bench.engine.config.vault / "music/Viola.md").write_text(
        "# Viola\n\nLike [[Violin]] and [[Cello]] it has strings.\n"
    )
    make(bench)
    after = stored(bench)
    assert after.keys() == before.keys()
    assert set(after[touched.id].members) > set(touched.members)
    others = [row for row in after.values() if row.id != touched.id]
    assert others == [replace(before[row.id], label=row.label) for row in others]  # labels go by size


def test_a_subject_that_goes_takes_its_community_along(bench: Bench) -> None:
    before, gone = stored(bench), of(bench, "bakery")
    for file in (bench.engine.config.vault / "bakery").iterdir():
        file.unlink()
    make(bench)
    assert stored(bench).keys() == before.keys() - {gone.id}


def test_cold_depends_on_the_vault_alone(bench: Bench, tmp_path: Path) -> None:
    """After edits, back and forth: what a fresh database has, ids and summaries included."""
    vault = bench.engine.config.vault
    (vault / "music/Viola.md").write_text("# Viola\n\nLike [[Violin]] it has strings.\n")
    make(bench)
    (vault / "music/Viola.md").unlink()
    note = vault / "garden/Pump.md"
    note.write_text(note.read_text() + "\nThe Pump of the garden is blue since the last winter was over.\n")
    make(bench, cold=True)
    fresh = Bench(make_config(tmp_path, vault, tmp_path / "y" / "notes.duckdb"), None)
    try:
        make(fresh)
        assert plain(bench) == plain(fresh)
    finally:
        fresh.close()


def plain(bench: Bench) -> list[tuple[object, ...]]:
    """What does not depend on a file's own keys and clock."""
    return sorted(
        (row.id, row.label, row.level, row.parent or "", row.title, row.summary, row.members, row.texts_hash)
        for row in stored(bench).values()
    )


SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from engine_kit import Bench, make_config
from test_communities import fill, make, plain
home = Path(sys.argv[1])
vault = home / "vault"
vault.mkdir(parents=True)
bench = Bench(make_config(home, vault, home / "x" / "notes.duckdb"), None)
fill(vault, sys.argv[2:9])
bench.settle()
fill(vault, sys.argv[9:])
make(bench)
print(plain(bench))
bench.close()
"""


def test_hash_seed_and_order_of_the_notes_change_nothing(tmp_path: Path) -> None:
    """Demand 22: other seeds of Python's hashes, notes that came in another order."""
    paths = [f"{topic}/{thing}.md" for topic, things in TOPICS.items() for thing in things]
    script = SCRIPT.format(tests=str(Path(__file__).parent))
    answers = set()
    for seed, order in (("0", paths), ("1", paths[::-1]), ("77", paths[1::2] + paths[::2])):
        command = [sys.executable, "-c", script, str(tmp_path / seed), *order]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        answers.add(ran.stdout)
    assert len(answers) == 1
    assert "garden" in answers.pop()


def test_the_resident_graph_is_what_a_restart_loads(bench: Bench) -> None:
    assert bench.engine.entities.snapshot.communities == load_graphs(bench.engine.db).main.communities


# ----------------------------------------------------------------------------------------------------------- visibility


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    world = World(tmp_path)
    fill(world.vault)
    world.write(
        "secret/Vault door.md", "# Vault door\n\nThe Zanzibar code of the [[Oven]] opens it.\n", visibility="sensitive"
    )
    world.write("secret/Draft.md", "# Draft\n\nThe Oven is a Quokka of the bakery.\n", flags=["draft"])
    world.index()
    world.build_graph()
    running = serve_world(world, tmp_path / "s.sock")
    yield running
    running.stop()
    world.close()


def test_communities_are_listed_and_shown(served: Served) -> None:
    listed = served.get("/communities")
    assert (listed["count"], listed["stale"], listed["next"]) == (3, False, None)
    first = listed["communities"][0]
    one = served.get(f"/communities/{first['label']}")
    assert one == served.get(f"/communities/{first['id']}")
    assert one["community"] == first
    assert len(one["members"]) == first["size"]
    assert " ".join(source["sentence"] for source in one["sources"]) == first["summary"]
    assert (one["parent"], one["children"]) == (None, [])
    for source in one["sources"]:
        lines = (served.world.vault / source["path"]).read_text().splitlines()
        assert source["sentence"].split(" is ")[0] in "\n".join(lines[source["start_line"] - 1 : source["end_line"]])
    assert served.get("/communities?level=1")["communities"] == []
    assert served.call("GET", "/communities/none").code == "community_not_found"


def test_hidden_notes_are_in_no_community(served: Served) -> None:
    """Not in its summary, title, members, counts, at any level that must not see them; flagged ones at none."""
    for view in ("", "?visibility=public", "?visibility=internal", "?include_flags=draft"):
        reply = served.call("GET", f"/communities{view}").body.decode()
        assert "Zanzibar" not in reply
        assert "Vault door" not in reply
        assert "Quokka" not in reply
    served.world.allow("sensitive")
    served.world.build_graph()
    assert "Vault door" not in str(served.get("/communities"))
    wide = served.get("/communities?visibility=public,internal,sensitive")
    names = [
        member["name"]
        for one in wide["communities"]
        for member in served.get(f"/communities/{one['id']}?visibility=public,internal,sensitive")["members"]
    ]
    assert "Vault door" in names
    assert "Quokka" not in str(wide)


def test_a_note_that_is_hidden_later_is_told_no_more(served: Served) -> None:
    """Before the next rebuild: its sentences go at once, and `stale` says that there is more to do."""
    told = served.get("/communities/c_0_0")
    source = told["sources"][0]
    page = served.world.vault / source["path"]
    page.write_text("---\nvisibility: sensitive\n---\n" + page.read_text(), encoding="utf-8")
    served.world.index()
    now = served.get(f"/communities/{told['community']['id']}")
    assert source["sentence"] in told["community"]["summary"]
    assert source["sentence"] not in now["community"]["summary"]
    assert all(one["path"] != source["path"] for one in now["sources"])
    assert served.get("/communities")["stale"] is True
    served.world.build_graph()
    assert served.get("/communities")["stale"] is False
