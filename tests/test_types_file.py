"""``types.yaml``: the shipped file is the defaults, mistakes are named with their line, rules of the table."""

from __future__ import annotations

import dataclasses
import pickle
from pathlib import Path

import pytest

from mindnetd.cli import main
from mindnetd.config import load_config
from mindnetd.core.typetable import DEFAULT_TYPES, NoteType, TypeTable, from_json, heading_key
from mindnetd.errors import ConfigError
from mindnetd.settings.init import write_config
from mindnetd.settings.share import shared_file
from mindnetd.settings.types import TYPE_KEYS, load_types, types_of


def load(tmp_path: Path, text: str) -> TypeTable:
    file = tmp_path / "types.yaml"
    file.write_text(text, encoding="utf-8")
    return load_types(file, required=True, home=tmp_path)


def test_the_shipped_file_is_the_defaults(tmp_path: Path) -> None:
    """What ships says what the code does without it, in every value and in the order of the types."""
    shipped = load_types(shared_file("config", "types.yaml"), required=True, home=tmp_path)
    assert shipped == DEFAULT_TYPES
    assert list(shipped.types) == list(DEFAULT_TYPES.types) and len(shipped.types) == 12
    assert load_types(tmp_path / "none.yaml", required=False, home=tmp_path) is DEFAULT_TYPES
    text = shared_file("config", "types.yaml").read_text()
    assert all(f"# {key}:" in text or f"    {key}:" in text for key in TYPE_KEYS), "every key is explained"


def test_the_four_types_of_the_source() -> None:
    """Design, section 9, word for word; and no known type: default profile, no edge defaults, 0.5."""
    four = {
        "concept": ("medium", ("references", "related_to"), 0.33),
        "task": ("short", ("depends_on", "belongs_to"), 0.80),
        "experience": ("medium", ("derived_from", "inspired_by"), 0.90),
        "project": ("long", ("references", "depends_on"), 0.95),
    }
    for name, (profile, relations, weight) in four.items():
        kind = DEFAULT_TYPES.of(name)
        assert (kind.chunk_profile, kind.edge_defaults, kind.retriever_weight) == (profile, relations, weight)
        assert kind.required == ("title", "id", "type", "status", "created")
    assert set(DEFAULT_TYPES.types) - set(four) == {
        "thought", "journal", "person", "meeting", "milestone", "decision", "resource", "recommendation",
    }  # fmt: skip
    for name in ("nothing", "", None):
        assert (DEFAULT_TYPES.weight_of(name), DEFAULT_TYPES.edge_defaults(name)) == (0.5, ())
    assert DEFAULT_TYPES.weight_of(" Task ") == 0.80
    assert DEFAULT_TYPES.status[:4] == ("draft", "active", "done", "archived")


def test_sections_replace_whole_and_types_are_neutral(tmp_path: Path) -> None:
    """A section that is given replaces the default's; a type without a word is neutral; new relations need nothing."""
    table = load(
        tmp_path,
        "types:\n  Recipe Card:\n    edge_defaults: [uses, Uses]\n    edge_weight_offsets: {uses: 0.2}\n"
        "    allowed: [Servings]\n  plain:\nstatus: [Raw, cooked]\nsection_rules: {'Zutaten:': uses}\n",
    )
    assert set(table.types) == {"recipe card", "plain"} and table.of("plain") == NoteType()
    assert table.edge_defaults("Recipe card") == ("uses",) and table.edge_weight_offset("recipe card", "uses") == 0.2
    assert table.of("recipe card").allowed == ("servings",) and table.weight_of("task") == 0.5
    assert table.status == ("raw", "cooked") and table.section_relation("🥕 ZUTATEN") == "uses"
    assert load(tmp_path, "version: 1\n") == load(tmp_path, "") == DEFAULT_TYPES
    assert load(tmp_path, "types:\n").types == DEFAULT_TYPES.types


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("version: 2\n", ":1: version expects a whole number from 1 to 1"),
        ("typs: {}\n", ":1: unknown key typs; did you mean types?"),
        (
            "types:\n  task:\n    chunk_profil: short\n",
            ":3: unknown key types.task.chunk_profil; did you mean types.",
        ),
        ("types:\n  task:\n    chunk_profile: mediun\n", ":3: types.task.chunk_profile expects one of short, medium"),
        ("types:\n  task: {chunk_profile: mediun}\n", "did you mean medium?"),
        ("types:\n  task:\n    hash_mode: bodyy\n", "did you mean body?"),
        ("types:\n  task:\n    retriever_weight: 2\n", ":3: types.task.retriever_weight expects a number from 0 to 1"),
        ("types:\n  task:\n    edge_defaults: [a b]\n", ":3: types.task.edge_defaults expects a relation"),
        ("types:\n  task:\n    edge_weight_offsets: {uses: 9}\n", "uses (line 3) expects a number from -5 to 5"),
        ("types:\n  task: {}\n  Task: {}\n", ":3: types.task is there in another case"),
        ("types:\n  task: {}\n  task: {}\n", ":3: types.task stands here a second time"),
        ("types:\n  - task\n", ":1: types expects `name: value` lines"),
        ("types:\n  2nd: {}\n", ":2: types expects a type's name"),
        ("status: draft\n", ":1: status expects a list"),
        ("section_rules:\n  '!': uses\n", ":2: section_rules: '!' holds no word"),
        ("section_rules:\n  See also: [a]\n", ":2: section_rules.See also expects a relation"),
        ("visibility_defaults:\n  jurnal: sensitive\n", ":2: visibility_defaults.jurnal is no type, and no folder"),
        ("visibility_defaults:\n  jurnal: sensitive\n", "did you mean journal?"),
        ("visibility_defaults:\n  journal: secret\n", ":2: visibility_defaults.journal expects one of public"),
        ("types: {\n", ": not valid YAML"),
    ],
)
def test_mistakes_have_a_line(tmp_path: Path, text: str, expected: str) -> None:
    """Every mistake is refused with file, line and the nearest name that is one."""
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path / 'types.yaml'}:")
    assert expected in str(caught.value)


def test_all_mistakes_are_listed(tmp_path: Path) -> None:
    """`mindnetd config check` shows every one."""
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, "version: 3\ntypes:\n  task: {weight: 1}\nstatus: 4\nother: 1\n")
    assert len(caught.value.detail["problems"]) == 4


def test_headings_of_section_rules() -> None:
    """In any case, with marks around, German and English; other headings have no relation."""
    wanted = (
        "See also",
        "SEE ALSO:",
        "Siehe auch",
        "Related",
        "🔗 Related notes",
        "Bezug",
        "bezüge",
        "Verwandte Themen",
    )
    assert {DEFAULT_TYPES.section_relation(heading) for heading in wanted} == {"related_to"}
    assert {DEFAULT_TYPES.section_relation(heading) for heading in ("Links", "See", "", "Relations", "!!")} == {None}
    assert heading_key("  Bezu\u0308ge  ") == "bezüge"


def test_the_most_hidden_default_holds() -> None:
    """By type or by folder; of several the most hidden; of none the configured one."""
    rules = {"resource": "public", "journal": "sensitive", "private/**": "sensitive", "blog/": "public"}
    table = dataclasses.replace(DEFAULT_TYPES, visibility_defaults=rules)
    assert table.visibility_default("Resource", "a.md") == "public"
    assert table.visibility_default("resource", "private/deep/a.md") == "sensitive"
    assert table.visibility_default(None, "blog/a.md", "internal") == "public"
    assert table.visibility_default("journal", "blog/a.md") == "sensitive"
    assert table.visibility_default("task", "a.md", "sensitive") == "sensitive"


def test_a_table_survives_snapshots_and_processes(tmp_path: Path) -> None:
    """As JSON and as a pickle, with everything in it."""
    table = load(
        tmp_path,
        "types:\n  a: {allowed: [x], required: [], hash_mode: full, edge_weight_offsets: {uses: 1}}\n"
        "visibility_defaults: {a: public}\n",
    )
    assert from_json(table.as_json()) == pickle.loads(pickle.dumps(table)) == table


def test_init_writes_the_types_once(tmp_path: Path) -> None:
    """The file of one vault is that of the next; an edited one stays; a configuration reads the one beside it."""
    env = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    for name in ("One", "Two"):
        (tmp_path / name).mkdir()
    first = write_config(tmp_path / "One", env)
    assert first.types == first.file.with_name("types.yaml")
    assert types_of(load_config(first.file, env)) == DEFAULT_TYPES
    first.types.write_text("types: {mine: {}}\n")
    second = write_config(tmp_path / "Two", env)
    assert second.types is None and set(types_of(load_config(second.file, env)).types) == {"mine"}


def test_a_types_file_that_is_asked_for_must_be_there(tmp_path: Path) -> None:
    """A relative ``types_file`` starts at the configuration; a missing one is an error then."""
    env = {"HOME": str(tmp_path)}
    file = tmp_path / "notes.yaml"
    file.write_text("vault: ~/N\ntypes_file: other.yaml\n")
    with pytest.raises(ConfigError, match=r"other\.yaml: cannot be read"):
        types_of(load_config(file, env))
    (tmp_path / "other.yaml").write_text("status: [one]\n")
    assert types_of(load_config(file, env)).status == ("one",)


def test_config_check_reads_the_types_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every mistake in the file beside the configuration is a line; a right one is not spoken of."""
    monkeypatch.setenv("HOME", str(tmp_path))
    file = tmp_path / "notes.yaml"
    file.write_text("vault: ~/N\n")
    assert main(["config", "check", "--config", str(file)]) == 0
    (tmp_path / "types.yaml").write_text("version: 3\nstatus: 4\n")
    capsys.readouterr()
    assert main(["config", "check", "--config", str(file)]) != 0
    lines = capsys.readouterr().err.splitlines()
    assert [line.rpartition("types.yaml")[2].split(" ")[0] for line in lines] == [":1:", ":2:"]
