"""Notes held against ``types.yaml``: each slip is one diagnostic with its line, and the note is indexed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest
from reading import documented_codes, note
from server_make import Served, World, serve_world

from mindnetd.core.derive import DeriveOptions, derive, meta_of
from mindnetd.core.note import property_line
from mindnetd.core.overrides import overrides_of
from mindnetd.core.typecheck import CODES, check_note
from mindnetd.core.typetable import DEFAULT_TYPES, NoteType
from mindnetd.inference.tokenizer import PinnedCounter
from mindnetd.store import read

FULL = "---\ntitle: T\nid: t-1\ntype: task\nstatus: active\ncreated: 2032-05-01\n---\nText.\n"


def told(text: str, path: str = "Note.md", **of_task: object) -> list[tuple[str, int | None]]:
    """Code and line of what is wrong with a note, by the default types with some changes of `task`."""
    table = DEFAULT_TYPES
    if of_task:
        task = dataclasses.replace(table.of("task"), **of_task)  # type: ignore[arg-type]
        table = dataclasses.replace(table, types={**table.types, "task": task})
    read_ = note(text, path)
    return [(one.code, one.line) for one in (*read_.diagnostics, *check_note(read_, table))]


def test_a_whole_note_is_told_nothing() -> None:
    """Everything that is required is there."""
    assert told(FULL) == []


@pytest.mark.parametrize("missing", ["title", "id", "status", "created"])
def test_a_missing_property(missing: str) -> None:
    """One diagnostic, at the line of the type; an empty value counts as missing."""
    lines = FULL.split("\n")
    place = next(n for n, line in enumerate(lines) if line.startswith(f"{missing}:"))
    without = [line for n, line in enumerate(lines) if n != place]
    line_of_type = next(n for n, line in enumerate(without) if line.startswith("type:")) + 1
    assert told("\n".join(without)) == [("field_missing", line_of_type)]
    lines[place] = f"{missing}:"
    assert told("\n".join(lines)) == [("field_missing", 4)]


def test_who_is_asked() -> None:
    """A plain note of Obsidian owes nobody a property; a type or an id takes part; what is broken is not judged."""
    assert told("Text.\n") == told("---\ntitle: T\nstatus: whatever\n---\n") == []
    assert [code for code, _ in told("---\nid: x\n---\n")] == ["field_missing"] * 4
    assert [code for code, _ in told("---\ntype: task\nbad: a: b\n---\n")] == ["yaml_syntax"]
    assert told("---\ntype: journal\n---\n", "2032-05-18.md") == []
    assert told("---\ntitle: P\nid: p\ntype: person\nstatus: active\n---\n") == []
    text = FULL.replace("created: 2032-05-01\n", "")
    assert told(text, "2032-05-18_note.md") == []


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("type: task", "type: taks", [("type_unknown", 4)]),
        ("status: active", "status: actve", [("status_unknown", 5)]),
        ("status: active", "status: ACTIVE", []),
        ("created: 2032-05-01", "created: last May", [("date_invalid", 6)]),
        ("created: 2032-05-01", "created: 2032-05-01\ndue: 2032-02-30", [("date_invalid", 7)]),
        ("title: T", "title: T\npriority: 6", [("value_unknown", 3)]),
        ("title: T", "title: T\npriority: High", []),
        ("title: T", "title: T\neffort_min: -5", [("value_unknown", 3)]),
        ("title: T", "title: T\nrelevance: 1.5", [("value_unknown", 3)]),
        ("title: T", "title: T\nretriever_weight: much", [("value_unknown", 3)]),
        ("title: T", "title: T\ntime_weight_override: 0,5", []),
        ("title: T", "title: T\nchunk_profile: huge", [("value_unknown", 3)]),
        ("title: T", "title: T\nedge_hints: [supports, '3 x']", [("value_unknown", 3)]),
    ],
)
def test_a_wrong_value(old: str, new: str, wanted: list[tuple[str, int]]) -> None:
    """Each with its code and its own line."""
    text = FULL.replace(old, new)
    assert told(text) == wanted


def test_the_nearest_name_is_offered() -> None:
    """So that a slip of the finger is found at once."""
    odd = check_note(note(FULL.replace("type: task", "type: taks").replace("active", "actve")), DEFAULT_TYPES)
    assert ["did you mean task?" in odd[0].message, "did you mean active?" in odd[1].message] == [True, True]


def test_allowed_properties() -> None:
    """Where a type names its properties, others are told; those of the schema are always allowed."""
    text = FULL.replace("title: T", "title: T\nServings: 4\nprep: 10\nrelevance: 0.4")
    assert told(text) == []
    assert told(text, allowed=("servings",)) == [("field_unknown", 4)]
    assert told(text, allowed=("servings", "prep")) == []
    assert told(text, allowed=(), required=("title", "prep")) == [("field_unknown", 3)]


def test_overrides_reach_the_rows() -> None:
    """What a note says of its ranking is on the note, in memory and in its chunks, and in range."""
    text = FULL.replace("title: T", "title: T\nRetriever_Weight: 0.9\nrelevance: .25\ntime_weight_override: 2")
    draft = derive("n.md", (text.replace("task", "task\nedge_hints: [Supports, relates to]")).encode(), DeriveOptions(),
                   PinnedCounter())  # fmt: skip
    assert (draft.note.retriever_weight, draft.note.relevance, draft.note.time_weight_override) == (0.9, 0.25, None)
    assert draft.note.edge_hints == ("supports", "related_to")
    meta = meta_of(draft, 1, 0, DeriveOptions())
    assert (meta.retriever_weight, meta.relevance, meta.time_weight_override) == (0.9, 0.25, None)
    assert overrides_of({"RELEVANCE": ["1"], "relevance": "0"}).relevance == 1.0
    assert property_line(text.encode(), "ID") == 6 and property_line(b"no block", "id") is None


def test_codes_are_documented() -> None:
    """docs/diagnostics.md has a line for each."""
    assert set(CODES) | {"id_duplicate", "name_twin"} <= documented_codes()
    assert NoteType() == DEFAULT_TYPES.of(None)


# --- through the program ----------------------------------------------------------------------------------------------


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    world = World(tmp_path)
    world.write("one.md", "One.\n", title="One", id="same")
    world.write("two.md", "Two.\n", id="SAME")
    world.write("three.md", "Three.\n", id="other", relevance="0.5", retriever_weight="0.7")
    world.write("hidden.md", "Hidden.\n", id="other", visibility="sensitive")
    world.index()
    running = serve_world(world, tmp_path / "s.sock")
    yield running
    running.stop()
    world.close()


def clashes(served: Served, target: str) -> list[tuple[str | None, int]]:
    """Path (where the reply names it) and line of the clashes in a reply."""
    found = served.get(target)["diagnostics"]
    return [(one.get("path"), one["line"]) for one in found if one["code"] == "id_duplicate"]


def test_ids_used_twice_are_told_on_each(served: Served) -> None:
    """Each note, with the line of its id; after the edit that ends it, gone; a hidden note is not told of."""
    assert clashes(served, "/diagnostics") == [("one.md", 3), ("two.md", 2)]
    assert clashes(served, "/diagnostics?note=one") == [("one.md", 3)]
    assert clashes(served, "/notes/two") == [(None, 2)] and clashes(served, "/notes/three") == []
    served.world.allow("sensitive")
    both = "visibility=internal,sensitive"
    assert clashes(served, f"/notes/three?{both}") == [(None, 2)]
    assert len(clashes(served, f"/diagnostics?{both}")) == 4
    served.world.write("two.md", "Two.\n", id="two")
    (served.world.vault / "hidden.md").unlink()
    served.world.index()
    assert clashes(served, f"/diagnostics?{both}") == []


def test_overrides_are_resident_after_a_restart(served: Served) -> None:
    """What is loaded at start is what the commit had put into memory; the chunks have their columns."""
    engine = served.world.engine
    resident = {meta.path: meta for meta in engine.hot.snapshot().all_notes()}
    stored = {meta.path: meta for meta in read.load_hot(engine.db, "", 384).notes}
    assert resident == stored
    assert (stored["three.md"].relevance, stored["three.md"].retriever_weight) == (0.5, 0.7)
    with engine.db.reader() as reader:
        rows = reader.rows(
            "SELECT path, retriever_weight FROM chunks JOIN notes n ON n.key = note_key WHERE retriever_weight > 0"
        )
    assert rows == [("three.md", 0.7)]


def test_the_trouble_of_a_hidden_path_is_not_told(served: Served) -> None:
    """A file beside a hidden note, of the same name in another Unicode form, would name it."""
    world = served.world
    world.write("Über.md", "Secret.\n", visibility="sensitive")
    world.write("U\u0308ber.md", "Copy.\n")
    world.index()
    found = [one["path"] for one in served.get("/diagnostics")["diagnostics"] if one["code"] == "name_twin"]
    assert found == []
    world.allow("sensitive")
    shown = served.get("/diagnostics?visibility=sensitive,internal")["diagnostics"]
    assert [one["path"] for one in shown if one["code"] == "name_twin"] == ["U\u0308ber.md"]
