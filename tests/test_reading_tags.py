"""Tags in the body, headings, block ids, inline fields (`obsidian.md` 6 and 9)."""

from __future__ import annotations

import pytest
from reading import note


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("#a b", ("a",)),
        ("x #a\u00a0#b\u3000#c", ("a", "b", "c")),
        ('(#a) "#a" x#a —#a \\#a', ()),
        ("#straße/maß #言葉 #fest🎉 #kebab-case #_x", ("straße/maß", "言葉", "fest🎉", "kebab-case", "_x")),
        ("#1984 #y1984 #123a #123-", ("y1984", "123a", "123-")),
        ("#a/b/c", ("a/b/c",)),
        ("#Tag #tag #TAG", ("Tag",)),
        ("#no space", ("no",)),
        ("# x", ()),
        ("#a, #b. #c: #d; #e! #f? #g's", ("a", "b", "c", "d", "e", "f", "g")),
        ("[[N#H]] [x](N.md#H) https://e.org/#x [[N #H]] [[N|see #y]]", ()),
        ("[ask #support](https://e.org)", ("support",)),
        ("[x](<My note #y.md>)", ()),
        ("#task<br>", ("task",)),
        ("#a–b #c…", ("a", "c")),
        ("## head #tag", ("tag",)),
        ("- #a\n- [ ] b #c\n> #d", ("a", "c", "d")),
        ("## #a\n#b", ("a", "b")),
        ("text ^id #a", ("a",)),
        ("`x`#a", ()),
    ],
)
def test_tags(text: str, tags: tuple[str, ...]) -> None:
    """A tag starts after white space and ends at punctuation; one non-digit is needed."""
    assert note(text).tags == tags


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        ("# A\n## B ##\n###C\n#", [(1, "A", 1), (2, "B", 2), (1, "", 4)]),
        ("A\n===\n\nB\nb\n---\n", [(1, "A", 1), (2, "B b", 4)]),
        ("# [[N|shown]] and [t](u.md) **b** `c`", [(1, "shown and t b c", 1)]),
        ("# [[N#h]] ^id", [(1, "N#h", 1)]),
        ("```\n# no\n```\n    # no\n<div>\n# no\n</div>\n\n%%\n# no\n%%", []),
        ("\n \n# A\n\n", [(1, "A", 3)]),
        ("\nA\n---", [(2, "A", 2)]),
        ("---\na: b\n---\n\n## C# ##\n", [(2, "C#", 5)]),
        ("#\n## #", [(1, "", 1), (2, "", 2)]),
        ("para\n# A\ntext\n---", [(1, "A", 2), (2, "text", 3)]),
        ("- item\n---\n\n---\n***\n_ _ _", []),
        ("a | b\n---|---\n1 | 2", []),
    ],
)
def test_headings(text: str, headings: list[tuple[int, str, int]]) -> None:
    """ATX and setext, with plain text and file line; none in code, HTML or comments."""
    assert [(one.level, one.text, one.line) for one in note(text).headings] == headings


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("para ^a-1\n", ["a-1"]),
        ("- item ^x\n- item ^y\n", ["x", "y"]),
        ("| a |\n|---|\n| b |\n\n^tab\n", ["tab"]),
        ("> quote\n> ^q\n", ["q"]),
        ("para\nmore ^z\n\nx^2 is no id\n", ["z"]),
        ("`^a`\n\n```\nx ^a\n```\n\n^under_score\n", []),
    ],
)
def test_block_ids(text: str, ids: list[str]) -> None:
    """An id ends its block, or stands alone after a table or quote."""
    assert list(note(text).block_ids) == ids


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("Key:: value", {"Key": "value"}),
        ("**Key Two**:: value", {"Key Two": "value"}),
        ("text [k:: v] more (l:: w)", {"k": "v", "l": "w"}),
        ("[k:: v [x] (y)]", {"k": "v [x] (y)"}),
        ("- item:: no", {}),
        ("- item [k:: v]", {"k": "v"}),
        ("Whole:: line [k:: v]", {"k": "v"}),
        ("in mid. line:: no", {}),
        ("`[k:: v]` and\n```\na:: b\n```", {}),
        ("[due:: 2032-06-01", {}),
        ("Über uns:: ja", {"Über uns": "ja"}),
        ("a/b_c-d:: x", {"a/b_c-d": "x"}),
        ("empty::", {"empty": ""}),
        ("std::vector<int>", {"std": "vector<int>"}),
    ],
)
def test_inline_fields(text: str, fields: dict[str, str]) -> None:
    """Whole lines outside lists, brackets anywhere; code has none."""
    assert {one.name: one.value for one in note(text).fields} == fields


def test_field_keys_are_canonical() -> None:
    """Lower case, spaces to `-`; the name stays as written."""
    (field,) = note("x\n\nDepends  On:: [[A]]").fields
    assert (field.key, field.name, field.line) == ("depends-on", "Depends  On", 3)
