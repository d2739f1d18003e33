"""Block structure: kinds, extents, nesting, and that the blocks of any lines tile them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindnetd.core.markdown import scan_blocks


def shape(text: str) -> list[tuple[str, int]]:
    """(kind, number of lines) of each block."""
    return [(block.kind, block.last - block.first) for block in scan_blocks(text.split("\n"))]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a\nb\n\nc", [("paragraph", 3), ("paragraph", 1)]),
        ("\n\na", [("paragraph", 3)]),
        ("\n \n", [("paragraph", 3)]),
        ("# a\nb\n## c ##", [("heading", 1), ("paragraph", 1), ("heading", 1)]),
        ("a\nb\n===\nc", [("heading", 3), ("paragraph", 1)]),
        ("- a\n  more\n- b\n\n  para\n\nend", [("item", 2), ("item", 2), ("paragraph", 2), ("paragraph", 1)]),
        ("text\n- a\n1. b", [("paragraph", 1), ("item", 1), ("item", 1)]),
        ("text\n14. no list", [("paragraph", 2)]),
        ("text\n-\n", [("heading", 3)]),
        ("- a\n    - b\n        - c", [("item", 1), ("item", 1), ("item", 1)]),
        ("> a\nlazy\n\nb", [("quote", 3), ("paragraph", 1)]),
        ("> # a\nb", [("quote", 1), ("paragraph", 1)]),
        ("> [!note] x\n> y\n# h", [("quote", 2), ("heading", 1)]),
        ("```\n# a\n\n- b\n```\nc", [("code", 5), ("paragraph", 1)]),
        ("~~~ x\n```\n~~~~\nc", [("code", 3), ("paragraph", 1)]),
        ("``` a`b\nc", [("paragraph", 2)]),
        ("```\nopen\n\nend", [("code", 4)]),
        ("- a\n  ```\n  x\n  ```\n  b\n- c", [("item", 1), ("code", 3), ("paragraph", 1), ("item", 1)]),
        ("- ```\n  x\n\ny", [("code", 3), ("paragraph", 1)]),
        ("a\n\n    code\n\n    code\n\nb", [("paragraph", 2), ("code", 4), ("paragraph", 1)]),
        ("a\n    b", [("paragraph", 2)]),
        ("- a\n\n      code", [("item", 2), ("code", 1)]),
        ("- a\n\n    text", [("item", 2), ("paragraph", 1)]),
        ("| a |\n|---|\n| b |\nrow\n\nc", [("table", 5), ("paragraph", 1)]),
        ("text\na | b\n--- | :-:\n1 | 2", [("paragraph", 1), ("table", 3)]),
        ("a\n\n---\n***\n_ _ _", [("paragraph", 2), ("rule", 1), ("rule", 1), ("rule", 1)]),
        ("<div>\na\n</div>\n\nb", [("html", 4), ("paragraph", 1)]),
        ("<!-- a\n\n-->\nb", [("html", 3), ("paragraph", 1)]),
        ("<script>\n\nx</script>\nb", [("html", 3), ("paragraph", 1)]),
        ("<x-tag a='1'>\nb", [("html", 2)]),
        ("a\n<x-tag>\nb", [("paragraph", 3)]),
        ("<https://e.org>\nb", [("paragraph", 2)]),
        ("$$\na\n\nb\n$$\nc", [("math", 5), ("paragraph", 1)]),
        ("$$a$$\nb", [("math", 1), ("paragraph", 1)]),
        ("$$a$$ b", [("paragraph", 1)]),
        ("$$ open\nb", [("paragraph", 2)]),
        ("%%\na\n\n# b\n%%\nc", [("comment", 5), ("paragraph", 1)]),
        ("a\n%% b %%\nc", [("paragraph", 1), ("comment", 1), ("paragraph", 1)]),
        ("%% open\n\n# b", [("paragraph", 2), ("heading", 1)]),
        ("[^1]: a\n\n    b\n\nc", [("paragraph", 2), ("paragraph", 2), ("paragraph", 1)]),
        ("", [("paragraph", 1)]),
    ],
)
def test_shapes(text: str, wanted: list[tuple[str, int]]) -> None:
    """Each kind starts and ends where CommonMark, and Obsidian on top of it, say."""
    assert shape(text) == wanted


def test_heading_levels() -> None:
    """Levels count the marks; seven are text."""
    blocks = scan_blocks(["# a", "###### b", "####### c", "", "d", "---"])
    assert [(block.kind, block.level) for block in blocks] == [
        ("heading", 1),
        ("heading", 6),
        ("paragraph", 0),
        ("heading", 2),
    ]


def test_no_lines_no_blocks() -> None:
    """Nothing in, nothing out."""
    assert scan_blocks([]) == ()


LINE = st.one_of(
    st.text(max_size=12),
    st.lists(
        st.sampled_from(
            [
                "#",
                "```",
                "~~~",
                "$$",
                "%%",
                "> ",
                "- ",
                "1. ",
                "    ",
                "\t",
                "<div>",
                "<!--",
                "-->",
                "|",
                "---",
                "===",
                "a",
                " ",
            ]
        ),
        max_size=5,
    ).map("".join),
)


@given(st.lists(LINE, max_size=25))
def test_blocks_tile_all_lines(lines: list[str]) -> None:
    """Whatever the lines say, the blocks cover each exactly once, in order."""
    at = 0
    for block in scan_blocks(lines):
        assert block.first == at < block.last
        assert (block.level > 0) == (block.kind == "heading")
        at = block.last
    assert at == len(lines)


@given(st.lists(LINE, max_size=12), st.lists(LINE, max_size=12))
def test_a_heading_cuts_locally(before: list[str], after: list[str]) -> None:
    """Blocks after plain text do not change when text before it does, unless something was left open."""
    closed = [line for line in before if line.strip() and line.strip()[0].isalpha()]
    whole = scan_blocks([*closed, "", "# cut", *after])
    alone = scan_blocks(["# cut", *after])
    shift = len(closed) + 1
    tail = whole[len(whole) - len(alone) :]
    assert [(block.kind, block.last - shift) for block in tail] == [(block.kind, block.last) for block in alone]
