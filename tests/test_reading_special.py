"""Drawings, boards, canvases, blobs (`obsidian.md` 10), and the edges that links declare."""

from __future__ import annotations

import json

import pytest
from reading import note

from mindnetd.core import identity
from mindnetd.core.canvas import read_canvas
from mindnetd.core.edges import edges_of, edges_of_links
from mindnetd.core.records import Edge, ParsedNote, ResolvedLink
from mindnetd.core.resolve import NameIndex

DRAWING = """---
excalidraw-plugin: parsed
tags: [excalidraw]
---
==⚠  Switch to EXCALIDRAW VIEW in the MORE OPTIONS menu of this document. ⚠==
{before}
# Excalidraw Data

## Text Elements
Boiler pressure [[Valve]] ^aBcD1234

second line ^x_y-Z9

## Embedded Files
6f3c: [[photo.png]]

%%
## Drawing
```compressed-json
N4KAkARALgngDgUwgLgAQQQDwMYEMA2AlgCYBOuA7hADTgQBuCpAzoQPYB2KqATLZMzYBXUtiRoIACyhQ4zZAHoFAc0JRJQgEYA6bGwC2CgF7N6hbEcK4OCtptbErHALRY8RMpWdx8Q1TdIEfARcZgRmBShcZQUebQBGbR4aOiCEfQQOKGZuAG1wMFAwYogSbghsfABrAHEAMUIkfABhXHoUkshYRAqAMxDhZUCWggBGLGwGgCUAdhSUgBY4AHYUgFYU
```
%%
"""


def words(read: ParsedNote) -> str:
    """The body without its hidden spans."""
    parts, at = [], 0
    for start, end in read.hidden:
        parts.append(read.body[at:start])
        at = end
    return "".join((*parts, read.body[at:]))


@pytest.mark.parametrize("before", ["", "%%"])
def test_drawing(before: str) -> None:
    """Only the text elements are words; links there and among the embedded files count, wherever `%%` stands."""
    read = note(DRAWING.format(before=before), "Pump.excalidraw.md")
    assert words(read).split() == ["Boiler", "pressure", "[[Valve]]", "second", "line"]
    assert [(link.target, link.in_comment) for link in read.links] == [("Valve", False), ("photo.png", False)]
    assert read.tags == ("excalidraw",)


def test_drawing_by_its_property() -> None:
    """The property alone makes a drawing too; without text elements there are no words."""
    assert words(note("---\nexcalidraw-plugin: raw\n---\n# Drawing\nabc")) == ""


def test_kanban() -> None:
    """Lanes are headings, cards are items; the settings are no words."""
    read = note(
        "---\nkanban-plugin: board\n---\n\n## Todo\n\n- [ ] card [[A]]\n\n\n%% kanban:settings\n```\n"
        '{"kanban-plugin":"board"}\n```\n%%\n'
    )
    assert [heading.text for heading in read.headings] == ["Todo"]
    assert words(read).split() == ["##", "Todo", "-", "[", "]", "card", "[[A]]"]


@pytest.mark.parametrize(
    "text",
    [
        "a ![x](data:image/png;base64,iVBORw0KGgo=) b",
        "a " + "QUJD" * 100 + " b",
        "a\n\n```dataview\nLIST FROM #x\n```\nb",
        "\n```dataview\nLIST\n```\nab",
        "\n%%\n```\nx\n```\n%%\nab",
        "a <!-- hidden --> b",
        "a\n<!-- hidden\n\n-->\nb",
        "a %% hidden %% b",
    ],
)
def test_what_is_no_words(text: str) -> None:
    """Encoded data, queries and comments stay in the body but out of the words."""
    read = note(text)
    assert read.body == text
    assert "".join(c for c in words(read) if c.isalpha()) in ("ab", "axb")


@pytest.mark.parametrize(
    "text",
    ["```python\nprint(1)\n```", "```ad-note\nprose\n```", "漢" * 400, "https://e.org/" + "a/" * 100, "<div>x</div>"],
)
def test_what_stays_words(text: str) -> None:
    """Code, old callouts, unspaced scripts, addresses and HTML are text of the note."""
    assert note(text).hidden == ()


@pytest.mark.parametrize("before", [65_000, 65_400, 65_535, 131_000])
def test_blobs_are_found_wherever_they_stand(before: int) -> None:
    """A blob that lies across two looks at a long note is hidden as a whole."""
    read = note("x" + " y" * (before // 2) + " " + "A" * 256 + " end")
    assert [end - start for start, end in read.hidden] == [256]


def test_canvas() -> None:
    """File cards with their subpath and addresses of link cards; text cards and groups make no links."""
    board = {
        "nodes": [
            {"type": "file", "file": "a/N.md", "subpath": "#Head"},
            {"type": "file", "file": "a/N.md", "subpath": "#^id"},
            {"type": "text", "text": "[[A]]"},
            {"type": "link", "url": "https://e.org"},
            {"type": "group", "label": "g"},
            {"type": "file"},
            7,
        ]
    }
    links, odd = read_canvas("b.canvas", json.dumps(board).encode())
    assert [(link.kind, link.target, link.heading, link.block) for link in links] == [
        ("canvas", "a/N.md", "Head", None),
        ("canvas", "a/N.md", None, "id"),
        ("url", "https://e.org", None, None),
    ]
    assert odd == ()


@pytest.mark.parametrize(
    ("raw", "codes"),
    [
        (b"", []),
        (b" \n", []),
        (b"{}", []),
        (b'{"nodes": 7}', []),
        (b"\xef\xbb\xbf{}", []),
        (b"[]", ["canvas_invalid_json"]),
        (b'{"nodes": [', ["canvas_invalid_json"]),
        (b"[" * 100_000, ["canvas_invalid_json"]),
        (b'{"a": "\xff"}', ["encoding"]),
        (b"\xff", ["encoding", "canvas_invalid_json"]),
    ],
)
def test_odd_canvases(raw: bytes, codes: list[str]) -> None:
    """Whatever a canvas holds, it is read or reported, and never stops a run."""
    links, odd = read_canvas("b.canvas", raw)
    assert links == ()
    assert [one.code for one in odd] == codes


def edges(text: str, *files: str, comment_links: bool = False) -> list[Edge]:
    """The declared edges of a note among `files`."""
    read = note(text)
    names = NameIndex(files)
    answers = [
        ResolvedLink(link, *((None, False) if link.kind == "url" else names.resolve(link.target, read.path)))
        for link in read.links
    ]
    return list(edges_of("p", read, answers, comment_links=comment_links))


def test_one_edge_for_each_target_and_relation() -> None:
    """Occurrences count up; another relation or target is another edge; the ids are those of the ends."""
    found = edges(
        '---\nup: "[[A]]"\n---\nsee [[A]], [[A|again]]\n[x](https://e.org) ![[i.png]] [[Gone]]', "A.md", "i.png"
    )
    assert [(edge.relation, edge.dst_kind, edge.dst_label, edge.occurrences) for edge in found] == [
        ("up", "note", "A.md", 1),
        ("references", "note", "A.md", 2),
        ("references", "url", "https://e.org", 1),
        ("references", "file", "i.png", 1),
        ("references", "unresolved", "Gone", 1),
    ]
    assert found[0].src_id == identity.note_uuid("p", "Note.md")
    assert found[0].dst_id == found[1].dst_id == identity.note_uuid("p", "A.md")
    assert len({edge.id for edge in found}) == 5
    assert (found[0].evidence, found[0].line) == ("up: [[A]]", 2)
    assert (found[1].evidence, found[1].line) == (
        "see [[A]], [[A|again]] [x](https://e.org) ![[i.png]] [[Gone]]",
        4,
    )


def test_comments_make_edges_only_when_asked() -> None:
    """The user chooses whether what stands in `%%` links."""
    assert edges("%% [[A]] %%", "A.md") == []
    assert len(edges("%% [[A]] %%", "A.md", comment_links=True)) == 1


def test_evidence_is_short_and_shows_the_link() -> None:
    """A long line is cut around the link."""
    (edge,) = edges("word " * 100 + "[[A]]" + " word" * 100, "A.md")
    assert len(edge.evidence) <= 200 and "[[A]]" in edge.evidence


def test_edges_of_a_canvas() -> None:
    """A canvas is a file that refers to its cards."""
    links, _ = read_canvas("b.canvas", b'{"nodes": [{"type": "file", "file": "N.md"}]}')
    (edge,) = edges_of_links("p", "b.canvas", [ResolvedLink(links[0], "N.md")])
    assert (edge.src_kind, edge.src_id, edge.evidence) == ("file", identity.file_uuid("p", "b.canvas"), "N.md")
