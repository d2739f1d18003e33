"""The edges of the shared vault `basic`, held against a table that was derived by hand (`golden/basic_edges.txt`)."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from server_make import Served, World, serve_world

Row = tuple[str, str, str, str, int]
GOLDEN = Path(__file__).parent / "golden" / "basic_edges.txt"
SHARED_TAGS = {
    ("concepts/PID Loop.md", "decisions/ADR-002 Clamp the integral.md", "control"),
    ("concepts/PID Loop.md", "projects/Oven Controller.md", "firmware"),
    ("concepts/Thermal Mass.md", "experiences/Preheat trial.md", "heat"),
    ("decisions/ADR-001 Use a two-zone oven.md", "decisions/ADR-002 Clamp the integral.md", "adr"),
    ("journal/2032-05-18.md", "journal/2032-05-19.md", "daily"),
    ("meetings/2032-05-11 Weekly sync.md", "meetings/2032-05-18 Weekly sync.md", "meeting"),
    ("projects/Flour Library.md", "projects/Oven Controller.md", "project"),
}
"""By hand as well. `task/purchase`, `task/hardware`, `task/firmware` are three tags: a parent is shared by too many."""


@pytest.fixture(scope="module")
def served(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("edges")
    shutil.copytree(shared / "vaults" / "basic", folder / "vault")
    for path in [folder / "vault", *(folder / "vault").rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    world = World(folder)
    world.index()
    running = serve_world(world, folder / "s.sock")
    yield running
    running.stop()
    world.close()


def by_hand() -> list[Row]:
    rows = []
    for line in GOLDEN.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            source, relation, origin, target, count = line.split(" | ")
            rows.append((source, relation, origin, target, int(count)))
    return rows


def stored(served: Served) -> list[Row]:
    sql = """
        SELECT coalesce(n.path, c.path), relation, source,
               if(dst_kind = 'unresolved', '? ' || dst_label, dst_label), occurrences
        FROM edges e LEFT JOIN notes n ON n.key = e.owner LEFT JOIN canvases c ON c.key = e.owner
    """
    with served.world.engine.db.reader() as reader:
        return [tuple(row) for row in reader.rows(sql)]


def test_every_edge_is_the_expected_one(served: Served) -> None:
    """Source, relation, origin, target and occurrences of every edge; none twice, none else."""
    assert sorted(stored(served)) == sorted(by_hand())


def test_counts_by_relation_and_source(served: Served) -> None:
    """`/stats` counts the table; structural edges are as many as chunks and references make."""
    stats = served.get("/stats")
    wanted = Counter((relation, origin) for _, relation, origin, _, _ in by_hand())
    found = {(relation, origin): n for relation, by in stats["edges"].items() for origin, n in by.items()}
    structural = {
        relation: found.pop((relation, "structural")) for relation in ("belongs_to", "next", "prev", "backlink")
    }
    assert {key: count for key, count in found.items() if count} == wanted
    assert sum(wanted.values()) == 132
    chunks = [len(served.get(f"/notes/{note['id']}")["chunks"]) for note in served.get("/notes?limit=500")["notes"]]
    assert structural["belongs_to"] == stats["chunks"] == sum(chunks)
    assert structural["next"] == structural["prev"] == sum(chunks) - sum(map(bool, chunks))
    to_notes = [row for row in by_hand() if row[1] == "references" and row[3].endswith(".md")]
    assert structural["backlink"] == len(to_notes) == 52
    assert stats["unresolved"] == len({row[3] for row in by_hand() if row[3].startswith("? ")}) == 4
    assert stats["shared_tags"] == len(SHARED_TAGS)


def test_the_view_says_the_same_as_the_counts(served: Served) -> None:
    """Whoever opens a backup with SQL finds the structural edges, and the shared tags, too."""
    with served.world.engine.db.reader() as reader:
        rows = reader.rows("SELECT relation, source, count(*) FROM structural_edges GROUP BY 1, 2")
        tags = reader.rows(
            "SELECT a.path, b.path, evidence, weight FROM shared_tag_edges "
            "JOIN notes a ON a.id = src_id JOIN notes b ON b.id = dst_id"
        )
    edges = served.get("/stats")["edges"]
    counted = {(relation, "structural"): 0 for relation in ("next", "prev")}  # every note of this vault is one chunk
    assert counted | {(relation, source): count for relation, source, count in rows} == {
        (relation, "structural"): edges[relation]["structural"]
        for relation in ("belongs_to", "next", "prev", "backlink")
    }
    assert {(one, other, tag.removeprefix("#")) for one, other, tag, _ in tags} == SHARED_TAGS
    assert {weight for *_, weight in tags} == {0.5}


def test_shared_tags_are_neighbours_by_rule(served: Served) -> None:
    """A pair that shares a rare tag is related, with the tag as evidence, unless a stored edge says so already."""

    def tied(ref: str) -> set[tuple[str, str]]:
        reply = served.get(f"/neighbors/{ref}?kind=related_to")
        paths = {node["id"]: node["path"] for node in reply["nodes"]}
        return {
            (paths[edge["src"]], paths[edge["dst"]])
            for edge in reply["edges"]
            if edge["evidence"].startswith("#") and edge["source"] == "rule"
        }

    assert tied("emb-301") == {
        ("concepts/PID Loop.md", "projects/Oven Controller.md"),
        ("projects/Flour Library.md", "projects/Oven Controller.md"),
    }
    assert tied("emb-701") == set(), "the two meetings link to each other, so they are related by their type"


def test_evidence_is_the_sentence_and_its_line(served: Served) -> None:
    """Not the paragraph, not the markup around it; a property as key and value."""
    edges = served.get("/neighbors/emb-501?direction=out")["edges"]
    told = {(edge["relation"], edge["evidence"], edge["line"]) for edge in edges if edge["source"] == "declared"}
    assert told == {
        ("project", "project: [[Oven Controller]]", 9),
        ("references", "The fix became [[ADR-002 Clamp the integral]].", 21),
        ("references", "[^1]: Same result as in [[2032-05-18 Weekly sync]].", 27),
    }


def test_unresolved_is_a_kind_to_ask_for(served: Served) -> None:
    """The edges to names that no file has, whatever their relation; an edge keeps the name that was asked for."""
    reply = served.get("/neighbors/emb-302?kind=unresolved")
    labels = {node["id"]: node["label"] for node in reply["nodes"] if node["kind"] == "unresolved"}
    assert sorted((edge["relation"], edge["source"], labels[edge["dst"]]) for edge in reply["edges"]) == [
        ("assigned_to", "declared", "Mill Partner"),
        ("depends_on", "rule", "Samples/Rye 1150"),
        ("references", "declared", "Samples/Rye 1150"),
    ]
