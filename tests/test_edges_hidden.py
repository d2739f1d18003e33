"""Law 9 for edges: whatever leads to a hidden note looks as it would in an index that never held the note."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from server_make import Served, World, serve_world

from mindnetd.core.records import FLAGS
from mindnetd.serving.browse import Browser
from mindnetd.serving.browse_graph import GraphBrowser, Walk
from mindnetd.serving.view import view_of

ASKS = """[[Secret]] and [[s-1]], then [[Nowhere|s-1]].

supports:: [[Secret]]

# See also
- [[Secret]], [[Open]]
- [[Nowhere]]
"""
SEEN = ("asks", "Open", "tagged")
TARGETS = tuple(
    target
    for ref in SEEN
    for target in (
        f"/neighbors/{ref}",
        f"/neighbors/{ref}?kind=unresolved",
        f"/subgraph/{ref}?depth=3",
        f"/notes/{ref}",
    )
)


def make(folder: Path, *, hidden: bool) -> Served:
    """The vault with or without its hidden notes, served."""
    folder.mkdir()
    world = World(folder)
    world.write(
        "asks.md", ASKS, type="task", edge_hints=["inspired_by"], depends_on=["s-1", "Secret"], tags=["rare", "two"]
    )
    world.write("Open.md", "Seen. [[asks]]\n", tags=["two"])
    world.write("tagged.md", "Seen.\n", tags=["rare"])
    if hidden:
        for number in range(9):  # with these the tag `two` is common, for who may see them
            world.write(f"hidden/{number}.md", "[[asks]] [[Open]]\n", visibility="sensitive", tags=["two"])
        world.write("hidden/Secret.md", "[[asks]] [[Gone]]\n", visibility="sensitive", id="s-1", tags=["rare", "odd"])
    world.index()
    return serve_world(world, folder / "s.sock")


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Served]]:
    home = tmp_path_factory.mktemp("hidden")
    pair = make(home / "with", hidden=True), make(home / "without", hidden=False)
    yield pair
    for one in pair:
        one.stop()
        one.world.close()


def plain(reply: Any) -> Any:
    """A reply without what may differ: the chunk ids are equal, the order of equals and stamps may not be."""
    if isinstance(reply, dict):
        kept = {key: plain(value) for key, value in reply.items() if key not in ("modified", "database_bytes", "next")}
        return {key: sorted(value, key=repr) if isinstance(value, list) else value for key, value in kept.items()}
    return [plain(one) for one in reply] if isinstance(reply, list) else reply


@pytest.mark.parametrize("target", [*TARGETS, "/unresolved", "/stats", "/diagnostics", "/orphans"])
def test_no_reply_tells_the_hidden_notes(both: tuple[Served, Served], target: str) -> None:
    """Ids, counts, occurrences, evidence and lines of every edge; rules and shared tags included."""
    assert plain(both[0].get(target)) == plain(both[1].get(target))


def test_the_hidden_note_is_there_for_who_may_see_it(both: tuple[Served, Served]) -> None:
    """The comparison above compares something."""
    served = both[0]
    served.world.allow("sensitive")
    try:
        edges = served.get("/neighbors/asks?visibility=public,internal,sensitive&direction=out")["edges"]
    finally:
        served.world.allow("internal")
    by_id = {edge["relation"] for edge in edges if edge["by"] == "id"}
    assert by_id == set(), "the same note is called by its name as well"
    assert {edge["relation"] for edge in edges} >= {"references", "depends_on", "supports", "related_to", "inspired_by"}


# ------------------------------------------------------------------------------------------------------ random vaults

NAMES = ("alpha", "beta", "gamma", "delta", "eps", "zeta")
FORMS = (
    "See [[{0}]]. And more.", "supports:: [[{0}]]", "- [[{0}|id-{1}]]", "![[{0}]] and [[{1}]]", "%% [[{0}]] %%",
    "# See also\n\n[[{0}]]", "(relates to:: [[{0}]])", "[[id-{1}]]",
)  # fmt: skip
Note = tuple[str, str, dict[str, Any], dict[str, Any]]
"""Path, text, properties, and what hides it."""


def random_notes(rng: random.Random) -> list[Note]:
    """A small vault in which everything may mean everything."""
    notes: list[Note] = []
    for name in NAMES:
        text = [
            rng.choice(FORMS).format(rng.choice([*NAMES, "gone", "x.png"]), rng.choice(NAMES))
            for _ in range(rng.randrange(5))
        ]
        head: dict[str, Any] = {}
        if rng.random() < 0.6:
            head["type"] = rng.choice(["task", "concept", "project", "experience"])
        if rng.random() < 0.5:
            head["id"] = f"id-{name}"
        if rng.random() < 0.3:
            head["depends_on"] = [rng.choice([f"id-{rng.choice(NAMES)}", "gone"]) for _ in range(2)]
        if rng.random() < 0.3:
            head["edge_hints"] = ["supports"]
        if rng.random() < 0.5:
            head["tags"] = rng.sample(["t1", "t2", "t3"], 2)
        hiding = rng.choice([{}, {}, {}, {"visibility": "sensitive"}, {"draft": True}])
        notes.append((f"{name}.md", "\n\n".join(text) + "\n", head, hiding))
    return notes


def all_replies(folder: Path, notes: list[Note], shown: list[str]) -> dict[str, Any]:
    """What a vault of these notes answers about the shown ones and as a whole."""
    folder.mkdir()
    world = World(folder)
    try:
        for path, text, head, hiding in notes:
            world.write(path, text, **head, **hiding)
        world.index()
        view = view_of(None, (), highest="internal", hidden_flags=FLAGS)
        browser = Browser(world.desk)
        graph = GraphBrowser(world.desk, browser)
        found: dict[str, Any] = {
            "stats": graph.stats(view),
            "orphans": graph.orphans(view, 500, None),
            "unresolved": browser.unresolved(view, 500, None),
            "diagnostics": browser.diagnostics(view, None, 500, None),
        }
        for path in shown:
            found[f"neighbours of {path}"] = graph.neighbours(path, Walk(), view)
            found[f"around {path}"] = graph.around(path, Walk(depth=2), view)
            found[f"note {path}"] = browser.note(path, view)
        return {name: plain(reply) for name, reply in found.items()}
    finally:
        world.close()


def compare(folder: Path, seed: int) -> None:
    notes = random_notes(random.Random(seed))
    seen = [note for note in notes if not note[3]]
    shown = [note[0] for note in seen]
    whole, without = (
        all_replies(folder / f"{seed}-{name}", some, shown) for name, some in (("whole", notes), ("seen", seen))
    )
    assert {name for name in whole if whole[name] != without[name]} == set()


@pytest.mark.parametrize("seed", range(5))
def test_random_vaults_short_form(tmp_path: Path, seed: int) -> None:
    """Names, ids, plain texts, rules, tags and flags at random: every reply is that of a vault without the hidden."""
    compare(tmp_path, seed)


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_random_vaults(tmp_path: Path) -> None:
    """The same for 300 vaults."""
    for seed in range(100, 400):
        compare(tmp_path, seed)
