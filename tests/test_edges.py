"""What becomes an edge, and why: rules, relation keys, frontmatter ids, evidence. Pure, without a store."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reading import note

from mindnetd.core.edge_rules import HINT_WEIGHT, SECTION_WEIGHT, TYPE_WEIGHT
from mindnetd.core.edges import edges_of
from mindnetd.core.evidence import LONGEST
from mindnetd.core.named import named_notes
from mindnetd.core.records import Edge
from mindnetd.core.typetable import DEFAULT_TYPES
from mindnetd.writing.linkbook import LinkBook


def edges(text: str, *files: str, ids: dict[str, str] | None = None) -> list[Edge]:
    """All edges of a note in a vault of `files`, some of which have frontmatter ids."""
    book = LinkBook()
    for path in files:
        book.add_file(path)
    for path, note_id in (ids or {}).items():
        book.set_id(path, note_id)
    read = note(text)
    asked = (*read.links, *named_notes(read.frontmatter, read.property_lines))
    return list(edges_of("p", read, book.resolve(asked, read.path)))


def told(text: str, *files: str, ids: dict[str, str] | None = None) -> set[tuple[str, str, str]]:
    """Relation, origin and far end of the edges of a note."""
    return {(edge.relation, edge.source, edge.dst_label) for edge in edges(text, *files, ids=ids)}


# ------------------------------------------------------------------------------------------------------------- rules


@pytest.mark.parametrize(
    "heading", ["See also", "## siehe auch", "### Bezug:", "🔗 Related", "**Related notes**", "VERWANDTE THEMEN"]
)
def test_a_heading_relates_its_links(heading: str) -> None:
    """German and English, whatever the level, case and marks around it."""
    head = heading if heading.startswith("#") else f"# {heading}"
    assert told(f"[[B]]\n\n{head}\n\n- [[A]]\n", "A.md", "B.md") == {
        ("references", "declared", "A.md"),
        ("references", "declared", "B.md"),
        ("related_to", "rule", "A.md"),
    }


def test_a_section_ends_at_the_next_heading_of_its_level() -> None:
    """A part of it belongs to it, unless its own heading says something else; what follows does not."""
    text = "## See also\n[[A]]\n### Books\n[[B]]\n## History\n[[C]]\n"
    assert {dst for relation, _, dst in told(text, "A.md", "B.md", "C.md") if relation == "related_to"} == {
        "A.md",
        "B.md",
    }
    rules = {**DEFAULT_TYPES.section_rules, "books": "derived_from"}
    read = note(text)
    book = LinkBook()
    found = edges_of("p", read, book.resolve(read.links, read.path), replace(DEFAULT_TYPES, section_rules=rules))
    assert [(edge.relation, edge.dst_label) for edge in found if edge.source == "rule"] == [
        ("related_to", "A"),
        ("derived_from", "B"),
    ]


def test_types_and_hints_speak_for_every_plain_link() -> None:
    """Not for a link that a key or a field has given a relation."""
    text = '---\ntype: Task\nup: "[[B]]"\nedge_hints: [supports]\n---\n[[A]] and supports:: [[C]]\n\nmentions:: [[C]]\n'
    assert told(text, "A.md", "B.md", "C.md") == {
        ("up", "declared", "B.md"),
        ("references", "declared", "A.md"),
        ("references", "declared", "C.md"),
        ("mentions", "declared", "C.md"),
        *(
            (relation, "rule", name)
            for relation in ("depends_on", "belongs_to", "supports")
            for name in ("A.md", "C.md")
        ),
    }


def test_a_rule_repeats_nothing_that_is_declared() -> None:
    """Who declares `depends_on` needs no rule to say so; `references` of a type adds nothing to a link."""
    text = '---\ntype: project\ndepends_on: "[[A]]"\n---\n[[A]] [[B]]\n'
    assert told(text, "A.md", "B.md") == {
        ("depends_on", "declared", "A.md"),
        ("references", "declared", "A.md"),
        ("references", "declared", "B.md"),
        ("depends_on", "rule", "B.md"),
    }


def test_rules_are_about_notes() -> None:
    """Neither attachments nor addresses, there or not; a name without a file may become a note."""
    text = "# Related\n![[there.png]] ![[gone.pdf]] [web](https://e.org) [[Gone]] [[Plan 3.1]]\n"
    assert {dst for _, origin, dst in told(text, "there.png") if origin == "rule"} == {"Gone", "Plan 3.1"}


def test_the_strongest_rule_gives_weight_and_evidence() -> None:
    """Every link that some rule holds for counts once."""
    text = "---\ntype: concept\nedge_hints: related_to\n---\n[[A]] here.\n\n# See also\nLook at [[A]].\n"
    (edge,) = (edge for edge in edges(text, "A.md") if edge.source == "rule")
    assert (edge.relation, edge.weight, edge.occurrences) == ("related_to", SECTION_WEIGHT, 2)
    assert (edge.evidence, edge.line) == ("Look at [[A]].", 8)
    assert TYPE_WEIGHT < HINT_WEIGHT < SECTION_WEIGHT < 1


# ------------------------------------------------------------------------------------------------- declared relations


def test_relates_to_is_related_to() -> None:
    """As a key and as a field, and with the words apart."""
    text = '---\nrelates_to: "[[A]]"\nDepends on: "[[A]]"\n---\n(relates to:: [[B]])\n'
    assert told(text, "A.md", "B.md") == {
        ("related_to", "declared", "A.md"),
        ("depends_on", "declared", "A.md"),
        ("related_to", "declared", "B.md"),
    }


def test_relation_keys_take_plain_text() -> None:
    """An id first, then a file's name; an address is one; prose, placeholders and yes/no are nothing."""
    text = (
        "---\ndepends_on: [A, t-1, nobody]\nassigned_to: B\nreferences: https://e.org/x\nmentions: no\n"
        "supports: '{{x}}'\nproject: A\narea: B\n---\n"
    )
    assert told(text, "A.md", "B.md", "C.md", ids={"C.md": "T-1", "D/B2.md": "B"}) == {
        ("depends_on", "declared", "A.md"),
        ("depends_on", "declared", "C.md"),
        ("depends_on", "declared", "nobody"),
        ("assigned_to", "declared", "D/B2.md"),
        ("references", "declared", "https://e.org/x"),
    }
    found = {edge.dst_label: edge for edge in edges(text, "A.md", ids={"C.md": "T-1"})}
    assert (found["C.md"].resolved_by, found["A.md"].resolved_by) == ("id", None)
    assert (found["C.md"].evidence, found["C.md"].line) == ("depends_on.1: t-1", 2)


def test_an_id_answers_where_no_file_does() -> None:
    """The target, then the display part; a file's name goes first; a Markdown link means files only."""
    ids = {"C.md": "c-1", "A2.md": "A"}
    text = "[[c-1]] [[Gone|c-1]] [[A]] [x](c-1) [[Gone|words]]"
    found = {(edge.dst_label, edge.resolved_by, edge.occurrences) for edge in edges(text, "A.md", ids=ids)}
    assert found == {("C.md", "id", 2), ("A.md", None, 1), ("c-1", None, 1), ("Gone", None, 1)}


def test_a_name_beats_an_id_for_the_mark() -> None:
    """A target that is called by its name once is resolved by its name, in whatever order."""
    for text in ("[[C]] [[c-1]]", "[[c-1]] [[C]]"):
        (edge,) = edges(text, "C.md", ids={"C.md": "c-1"})
        assert (edge.resolved_by, edge.occurrences) == (None, 2)


@given(st.permutations([("b.md", "x"), ("a.md", "X"), ("c/a.md", "x"), ("a.md", None), ("c.md", "x"), ("b.md", "y")]))
def test_an_id_used_twice_means_the_first_path(steps: list[tuple[str, str | None]]) -> None:
    """Whatever the order of events."""
    book, have = LinkBook(), {}
    for path, note_id in steps:
        book.set_id(path, note_id)
        have[path] = note_id
    wanted = min((path for path, note_id in have.items() if note_id in ("x", "X")), default=None)
    assert book.ids.find("x") == book.ids.find("X") == wanted


# ---------------------------------------------------------------------------------------------------------- evidence


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("First one. Then [[A]] comes. Last.", "Then [[A]] comes."),
        ("A sentence over\ntwo lines with [[A]] in\nit. And another.", "A sentence over two lines with [[A]] in it."),
        ("> quoted [[A]] text", "quoted [[A]] text"),
        ("- [ ] ask [[A]]\n- other", "[ ] ask [[A]]"),
        ("| a | b |\n|---|---|\n| x | [[A]] |", "x | [[A]] |"),
        ("## About [[A]]", "About [[A]]"),
        ("Kein Punkt vor z. B. dem Link [[A]]. Doch.", "Kein Punkt vor z. B. dem Link [[A]]."),
        ("See [[A|what? why. so]] now. Next.", "See [[A|what? why. so]] now."),
        ("supports:: [[A]]", "supports:: [[A]]"),
    ],
)
def test_evidence_is_the_sentence(text: str, wanted: str) -> None:
    """Without the marks of list, quote and heading; a line that goes on in the next is one sentence with it."""
    assert edges(text, "A.md")[0].evidence == wanted


@given(st.text(alphabet="ab. \n|>#", max_size=900), st.text(alphabet="ab. \n", max_size=900))
def test_evidence_is_short_and_holds_the_link(before: str, after: str) -> None:
    """At most 200 characters on one line, whatever is around the link."""
    found = edges(f"x{before} y [[A]] z{after}", "A.md")
    for edge in found:
        assert len(edge.evidence) <= LONGEST and "\n" not in edge.evidence and "[[A]]" in edge.evidence
