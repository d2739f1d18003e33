"""The property block: where it starts, what it holds, what is broken about it (`obsidian.md` 4, 6, 7, 8)."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import frontmatter as python_frontmatter
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reading import codes, note

from mindnetd.core.frontmatter import MAX_DEPTH, MAX_NODES, parse_block
from mindnetd.core.note import read_note


def values(block: str) -> dict[str, object]:
    """The properties of one block."""
    return dict(parse_block(block).values)


@pytest.mark.parametrize(
    ("text", "body", "body_line"),
    [
        ("---\na: 1\n---\nBody", "Body", 4),
        ("---\r\na: 1\r\n---\r\nBody", "Body", 4),
        ("---\ra: 1\r---\rBody", "Body", 4),
        ("---\na: 1\r\n---  \nBody\r\nx", "Body\nx", 4),
        ("---\n---\nBody", "Body", 3),
        ("---\n# only a comment\n---\n\nBody", "\nBody", 4),
        ("---\na: 1\n---", "", 4),
        ("Body", "Body", 1),
        ("", "", 1),
    ],
)
def test_where_the_block_ends(text: str, body: str, body_line: int) -> None:
    """Fences end a block whatever the line ends; body lines keep their number in the file."""
    read = note(text)
    assert (read.body, read.body_line) == (body, body_line)
    assert read.diagnostics == ()


@pytest.mark.parametrize(
    "text", ["----\na: 1\n---\n", " ---\na: 1\n---\n", "a\n---\na: 1\n---\n", "--- x\na: 1\n---\n"]
)
def test_no_block(text: str) -> None:
    """Four dashes, a space or text before the fence: there are no properties."""
    assert note(text).frontmatter == {}


def test_block_not_at_start() -> None:
    """A blank line before the fence makes it body, and is said."""
    read = note("\n---\na: 1\n---\nx")
    assert [(one.code, one.line) for one in read.diagnostics] == [("fm_not_at_start", 2)]
    assert read.body.startswith("\n---")
    assert codes("\n---\njust a rule: with text\n") == []


def test_unterminated_block() -> None:
    """Without a closing fence the whole file is body; a later rule does close it."""
    read = note("---\ntitle: Unclosed\ntags: [x]\n\n# Head #t\n")
    assert [(one.code, one.line) for one in read.diagnostics] == [("fm_unterminated", 1)]
    assert (read.title, read.tags, read.body_line) == ("Note", ("t",), 1)
    assert note("---\na: 1\n\n---\nrest").body == "rest"


def test_byte_order_mark_and_bad_bytes() -> None:
    """A BOM is skipped, bytes that are no UTF-8 are replaced, NULs go; each is said once, with its line."""
    read = read_note("N.md", b"\xef\xbb\xbf---\na: 1\n---\nx\ny \xff z \xfe\x00w")
    assert read.frontmatter == {"a": "1"}
    assert read.body == "x\ny \ufffd z \ufffdw"
    assert [(one.code, one.line) for one in read.diagnostics] == [("bom", 1), ("encoding", 5)]


@pytest.mark.parametrize(
    ("block", "wanted"),
    [
        ("d: 2024-05-01", "2024-05-01"),
        ("d: 2024-13-45", "2024-13-45"),
        ("d: 12:30", "12:30"),
        ("d: yes", "yes"),
        ("d: NO", "NO"),
        ("d: 0123", "0123"),
        ("d: 1_000", "1_000"),
        ("d: 1.10", "1.10"),
        ("d: !!python/object:os.system x", "x"),
        ("d: ~", None),
        ("d: null", None),
        ("d:", None),
        ('d: "null"', "null"),
        ("d:\tb", "b"),
        ("d: #a", None),
        ("d: [a, no, 1]", ["a", "no", "1"]),
        ("d: {x: {y: z}}", {"x": {"y": "z"}}),
        ("d: |\n  one\n  two", "one\ntwo\n"),
    ],
)
def test_scalars_stay_text(block: str, wanted: object) -> None:
    """Values are what the user wrote: no dates, no booleans, no base-60 numbers."""
    assert values(block) == {"d": wanted}
    assert parse_block(block).diagnostics == ()


def test_json_between_the_fences() -> None:
    """JSON is fine, tabs included; what it types stays text."""
    assert values('{"tags": ["a"], "n": 1}') == {"tags": ["a"], "n": "1"}
    assert values('{\n\t"tags": ["a"],\n\t"on": true, "x": {"y": null}\n}') == {
        "tags": ["a"],
        "on": "true",
        "x": {"y": None},
    }


def test_keys_are_text() -> None:
    """A number or a true word as a key stays the text it is; merge keys fill what is missing."""
    assert values("2024: x\ntrue: y") == {"2024": "x", "true": "y"}
    assert values("base: &b {a: 1, c: 2}\nall: {<<: *b, a: 3}")["all"] == {"a": "3", "c": "2"}


@pytest.mark.parametrize(
    ("block", "kept", "line"),
    [
        ("title: Probe: wiring\ntags: [probe]", {"title": "Probe: wiring", "tags": ["probe"]}, 2),
        ("ok: 1\nwho: @anna\nl:\n  - a\n  - b", {"ok": "1", "who": "@anna", "l": ["a", "b"]}, 3),
        ("a: %x\nb: `x`", {"a": "%x", "b": "`x`"}, 2),
        ("a: *x\nb: 1", {"a": "*x", "b": "1"}, 2),
        ("tags: [#a, b]\nb: 1", {"tags": ["#a", "b"], "b": "1"}, 2),
        ("a: <% tp.x: y %>\nb: 1", {"a": "<% tp.x: y %>", "b": "1"}, 2),
        ("a: 1\n\tb: 2\nc: 3", {"c": "3"}, 3),
        ("date: {{date}}\nb: 1", {"date": "{{date}}", "b": "1"}, 2),
    ],
)
def test_broken_yaml_is_salvaged(block: str, kept: dict[str, object], line: int) -> None:
    """What can be read line by line is kept and named; the diagnostic has the line in the file."""
    parsed = parse_block(block)
    assert {key: parsed.values.get(key) for key in kept} == kept
    (problem,) = parsed.diagnostics
    assert (problem.code, problem.line) == ("yaml_syntax", line)


def test_broken_yaml_never_loses_the_body() -> None:
    """The body behind a broken block is read as ever."""
    read = note("---\n: : :\n\t- [\n---\n# Head\n\n[[A]] #t\n")
    assert read.headings[0].line == 5
    assert (read.links[0].target, read.tags) == ("A", ("t",))


def test_duplicate_keys() -> None:
    """The first value holds; the second is reported with its line, nested or not."""
    parsed = parse_block("status: open\nx: {a: 1, a: 2}\nstatus: done")
    assert parsed.values == {"status": "open", "x": {"a": "1"}}
    assert [(one.code, one.line) for one in parsed.diagnostics] == [("yaml_duplicate_key", 3)]


@pytest.mark.parametrize("block", ["- a\n- b", "just text", "tags:x"])
def test_not_a_mapping(block: str) -> None:
    """A list or a scalar is no property block."""
    parsed = parse_block(block)
    assert parsed.values == {}
    assert [one.code for one in parsed.diagnostics] == ["yaml_not_mapping"]


@pytest.mark.parametrize(
    "block",
    [
        "[" * 30_000,
        "- " * 30_000,
        "a: " + "{a: " * (MAX_DEPTH + 1),
        "l: [" + "1, " * MAX_NODES + "]",
        "a: &x [*x]",
        "a: &a [1,1,1,1,1,1,1,1,1]\n"
        + "".join(
            f"{c}: &{c} [{','.join(f'*{b}' for _ in range(9))}]\n" for b, c in zip("abcdef", "bcdefg", strict=True)
        ),
        "k: v\n" * 20_000,
    ],
)
def test_limits(block: str) -> None:
    """Size, depth, number of values, aliases: past the limits a block is reported and costs nothing."""
    assert "yaml_limit" in [one.code for one in parse_block(block).diagnostics]


def test_tags_in_every_form() -> None:
    """Lists with or without `#`, strings, any case of the key; numbers and nulls are none."""
    assert note('---\nTAGS: ["#a", b, 12, 1a, null]\n---\n#B #c').tags == ("a", "b", "1a", "c")
    assert note("---\ntags:\n  -\n  - x/y\n---\n").tags == ("x/y",)
    assert note("---\ntags: one\n---\n").diagnostics == ()
    assert codes("---\ntag: legacy\ntags: one, two\n---\n") == ["legacy_property"]
    assert note("---\ntag: legacy\ntags: one two\n---\n").tags == ("legacy", "one", "two")


def test_aliases_in_every_form() -> None:
    """Lists as they are; strings and `alias` as before 1.9, and said so."""
    assert note("---\naliases: [A, ' B ', A, 3]\n---\n").aliases == ("A", "B", "3")
    assert codes("---\naliases: [A]\n---\n") == []
    read = note("---\naliases: A, B\nalias: C\n---\n")
    assert read.aliases == ("A", "B", "C")
    assert [one.code for one in read.diagnostics] == ["legacy_property"]


@pytest.mark.parametrize(
    ("head", "path", "title"),
    [
        ("title: A b", "x/N.md", "A b"),
        ("title: ''", "x/N.md", "N"),
        ("title: [a, b]", "x/N.md", "N"),
        ("title: {{title}}", "x/N.md", "N"),
        ("title: 2024", "x/N.md", "2024"),
        ("a: b", "x/U\u0308bung 3.1.MD", "\u00dcbung 3.1"),
    ],
)
def test_title(head: str, path: str, title: str) -> None:
    """The title is the property if it is a scalar that says something, else the file name in NFC."""
    assert note(f"---\n{head}\n---\n# H1", path).title == title


def test_schema_values() -> None:
    """The other keys of the schema are cast; what cannot be used is reported, never fatal."""
    head = (
        "id: n-1\ntype: task\nstatus: open\nvisibility: Public\nlang: de-AT\nhash_mode: FULL\nembedding_exclude: true"
    )
    read = note(
        f"---\n{head}\ncreated: 2032-02-01\nupdated: 2032-02-01 10:30\nflags: [draft]\nneeds_review: yes\n---\n"
    )
    assert (read.note_id, read.type, read.status, read.visibility, read.lang) == ("n-1", "task", "open", "public", "de")
    assert (read.hash_mode, read.embedding_exclude, read.flags) == ("full", True, ("draft", "needs_review"))
    assert (read.created, read.modified, read.diagnostics) == ("2032-02-01", "2032-02-01T10:30", ())


def test_a_type_that_is_a_link() -> None:
    """The word it shows is the type; the link is a link all the same."""
    read = note('---\ntype: "[[Task]]"\nstatus: "[[states/open|open]]"\n---\n')
    assert (read.type, read.status) == ("Task", "open")
    assert [link.relation for link in read.links] == ["references", "references"]


def test_odd_schema_values() -> None:
    """An unknown visibility counts as sensitive; a date that is none is left out."""
    read = note("---\nvisibility: secret\nhash_mode: maybe\ncreated: someday\n---\n", "2032-01-05_x.md")
    assert (read.visibility, read.hash_mode, read.created) == ("sensitive", None, "2032-01-05")
    assert sorted(one.code for one in read.diagnostics) == ["date_invalid", "value_unknown", "value_unknown"]


def test_agrees_with_python_frontmatter_on_the_basic_vault(shared: Path) -> None:
    """On its well-formed notes the other reader finds the same properties, once its dates and numbers are text."""
    compared = 0
    for path in sorted((shared / "vaults" / "basic").glob("*/*.md")):
        read = read_note(path.name, path.read_bytes())
        if read.diagnostics:
            continue
        theirs, body = python_frontmatter.parse(path.read_text())
        assert _as_text(theirs) == read.frontmatter, path.name
        assert body.strip() == read.body.strip(), path.name
        compared += 1
    assert compared >= 20


def _as_text(value: object) -> object:
    if isinstance(value, dict):
        return {str(key): _as_text(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_text(item) for item in value]
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, date) else value if value is None else str(value)


WORD = (
    st.text(alphabet="abcdefghijkäöüß-_ ", min_size=1, max_size=12)
    .map(str.strip)
    .filter(lambda word: word[:1].isalpha() and word.lower() not in ("n", "y", "content", "handler"))
)


@given(st.dictionaries(WORD, st.one_of(WORD, st.lists(WORD, max_size=3)), min_size=1, max_size=5), WORD)
def test_agrees_with_python_frontmatter(properties: dict[str, object], body: str) -> None:
    """On well-formed notes of plain words an independent reader sees the same properties and body."""
    head = "\n".join(
        f"{key}: {value}" if isinstance(value, str) else f"{key}:" + "".join(f"\n  - {item}" for item in value) or " []"
        for key, value in properties.items()
    )
    text = f"---\n{head}\n---\n{body}"
    theirs, their_body = python_frontmatter.parse(text)
    ours = note(text)
    assert ours.diagnostics == ()
    assert dict(ours.frontmatter) == theirs
    assert ours.body == their_body
