"""Links as written: `obsidian.md` sections 1, 3, 4 and 5, example by example."""

from __future__ import annotations

import pytest
from reading import note, targets

from mindnetd.core.records import Link


def one(text: str) -> Link:
    """The only link of a text."""
    (link,) = note(text).links
    return link


@pytest.mark.parametrize(
    ("text", "target", "heading", "block", "display"),
    [
        ("[[Note]]", "Note", None, None, None),
        ("[[Note.md]]", "Note.md", None, None, None),
        ("[[Note|text]]", "Note", None, None, "text"),
        ("[[Note|]]", "Note", None, None, ""),
        ("[[Note||x]]", "Note", None, None, "|x"),
        ("[[Note#Heading]]", "Note", "Heading", None, None),
        ("[[Note#H1#H2]]", "Note", "H1#H2", None, None),
        ("[[Note#^id]]", "Note", None, "id", None),
        ("[[#Heading]]", "", "Heading", None, None),
        ("[[#^id]]", "", None, "id", None),
        ("[[pa#th/x]]", "pa", "th/x", None, None),
        ("[[Sq]uare]]", "Sq]uare", None, None, None),
        ("[[ Note ]]", "Note", None, None, None),
        ("[[A%20b]]", "A%20b", None, None, None),
        ("[[|x]]", "|x", None, None, None),
        ("[[ADR: use X]]", "ADR: use X", None, None, None),
        ("[[Note#x^2 law]]", "Note", "x^2 law", None, None),
        ("[t](Note%20name.md)", "Note name.md", None, None, "t"),
        ("[t](<Note name.md>)", "Note name.md", None, None, "t"),
        ("[t](Note.md#Head%20ing)", "Note.md", "Head ing", None, "t"),
        ("[t](Note.md#^id)", "Note.md", None, "id", "t"),
        ("[t](#Heading)", "", "Heading", None, "t"),
        ('[t](Note.md "title")', "Note.md", None, None, "t"),
        ("[t](a%23b.md)", "a#b.md", None, None, "t"),
        ("[t](a_(b).md)", "a_(b).md", None, None, "t"),
        ("[t](a\\)b.md)", "a)b.md", None, None, "t"),
        ("[t](A&amp;B.md)", "A&B.md", None, None, "t"),
    ],
)
def test_parts_of_a_link(text: str, target: str, heading: str | None, block: str | None, display: str | None) -> None:
    """The inside splits at the first `|`, then at the first `#`."""
    link = one(text)
    assert (link.target, link.heading, link.block, link.display) == (target, heading, block, display)
    assert link.raw == text


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("[[A]]", "wikilink"),
        ("![[A]]", "embed"),
        ("[t](A.md)", "markdown"),
        ("![alt|200](pic.png)", "embed"),
        ("[t](https://e.org)", "url"),
        ("[t](mailto:a@e.org)", "url"),
        ("[t](obsidian://open?vault=x)", "url"),
        ("[t](//e.org/x)", "url"),
        ("[[https://example.org]]", "url"),
        ("supports:: [[A]]", "inline_field"),
    ],
)
def test_kinds(text: str, kind: str) -> None:
    """Each form has its kind; whatever has a scheme is external."""
    assert one(text).kind == kind


def test_embeds_keep_size_and_subpath() -> None:
    """A size is a display, a page is a heading as written."""
    assert one("![[pic.png|100x145]]").display == "100x145"
    assert one("![[Doc.pdf#page=3]]").heading == "page=3"


def test_escaped_pipe_in_a_table() -> None:
    """In a cell the pipe is escaped; the target never keeps the backslash."""
    link = one("| a | b |\n|---|---|\n| [[Note\\|text]] | c |")
    assert (link.target, link.display, link.line) == ("Note", "text", 3)


@pytest.mark.parametrize(
    "text",
    [
        "[[]]",
        "[[ ]]",
        "[x]()",
        "\\[\\[Note\\]\\]",
        "\\[[Note]]",
        "[t](Note name.md)",
        "[[Note\nname]]",
        "[text]",
        "- [ ] task (x)",
        "![badge](https://img.example/x.svg)",
        "![p](data:image/png;base64,AAAA)",
    ],
)
def test_no_links(text: str) -> None:
    """What only looks like a link is none; a picture on another server is no reference."""
    assert note(text).links == ()


def test_nested_brackets() -> None:
    """Only the inner wikilink counts; a picture inside a link counts beside it; links do not nest."""
    assert targets("[[a [[Inner]] c]]") == ["Inner"]
    assert targets("[![i](pic.png)](Page.md)") == ["Page.md", "pic.png"]
    assert targets("[a [b](C.md) d](E.md)") == ["C.md"]
    assert targets("\\\\[[A]] \\![[B]]") == ["A", "B"]
    assert [link.kind for link in note("\\![[B]]").links] == ["wikilink"]


def test_links_are_in_file_order_and_repeated() -> None:
    """Frontmatter first, then the body; two links to one note are two."""
    read = note('---\nup: "[[A]]"\n---\n[[B]] [c](C.md) [[B]]\n')
    assert [link.target for link in read.links] == ["A", "B", "C.md", "B"]
    assert [link.line for link in read.links] == [2, 4, 4, 4]


@pytest.mark.parametrize(
    "text",
    [
        "`[[A]]`",
        "``a ` [[A]]``",
        "```\n[[A]]\n```",
        "````\n```\n[[A]]\n````",
        "~~~\n[[A]]\n~~~",
        "```\n[[A]]",
        "``` js\n[[A]]\n``` js\n[[A]]\n```",
        "para\n\n    [[A]]",
        "para\n\n\t[[A]]",
        "$x [[A]] y$",
        "$$\n[[A]]\n\n[[A]]\n$$",
        "a $$[[A]]$$ b",
        "<!-- [[A]] -->",
        "text <!-- [[A]]\nmore --> text",
        "<!--\n[[A]]\n\n[[A]]\n-->",
        "<div>\n[[A]]\n</div>",
        "<pre>\n\n[[A]]\n</pre>",
        "```dataview\nLIST FROM [[A]]\n```",
        "```mermaid\ngraph [[A]]\n```",
        "```ad-note\n[[A]]\n```",
        "> ```\n> [[A]]\n> ```",
        "> > ~~~\n> > [[A]]\n> > ~~~",
        "- item\n  ```\n  [[A]]\n  ```",
        "- ```\n  [[A]]\n  ```",
    ],
)
def test_places_where_links_do_not_count(text: str) -> None:
    """Code, math and HTML hide links and tags, in quotes and lists too."""
    read = note(text.replace("[[A]]", "[[A]] #tag"))
    assert read.links == ()
    assert read.tags == ()


@pytest.mark.parametrize(
    "text",
    [
        "> [!note] title [[A]]",
        "> [[A]]",
        "> quote\nlazy [[A]]",
        "- [[A]]",
        "- a\n    - b\n        - [[A]]",
        "- a\n\n    [[A]]",
        "1. [x] [[A]]",
        "# head [[A]]",
        "head [[A]]\n===",
        "| [[A]] |\n|---|\n| x |",
        "[^1]: note [[A]]",
        "[^1]: note\n\n    more [[A]]",
        "==**[[A]]**==",
        "para\n    [[A]]",
        "cost $5 and [[A]] is $6",
        "`` a ` b",
        "<div>\nx\n</div>\n\n[[A]]",
        "\\`[[A]]\\`",
        "$$ open and [[A]]",
        "`open and [[A]]",
        "<span>x</span> [[A]]",
    ],
)
def test_places_where_links_count(text: str) -> None:
    """Quotes, callouts, lists, tables, headings, footnotes: the text of a note, and what is never closed."""
    if "[[A]]" in text:
        assert targets(text) == ["A"]
    else:
        assert targets(text + " [[A]]") == ["A"]


def test_comments_are_flagged_and_hidden() -> None:
    """Links and tags inside `%%` are recorded as such and kept out of the words."""
    read = note("before [[A]] %% in [[B]] #t %% after [[C]]\n\n%%\n[[D]]\n%% [[E]]\n")
    assert [(link.target, link.in_comment) for link in read.links] == [
        ("A", False),
        ("B", True),
        ("C", False),
        ("D", True),
        ("E", False),
    ]
    assert read.tags == ("t",)
    words = "".join(c for i, c in enumerate(read.body) if not any(a <= i < b for a, b in read.hidden))
    assert "[[B]]" not in words and "[[D]]" not in words and "[[E]]" in words


def test_an_open_comment_hides_nothing() -> None:
    """A `%%` that is never closed is text: a note being typed stays findable."""
    read = note("%% todo\n\n# Head\n\n[[A]]")
    assert read.hidden == ()
    assert read.headings[0].text == "Head"
    assert not read.links[0].in_comment


def test_property_links() -> None:
    """A property value that is a link counts with its key path; text around it makes it none."""
    head = 'up: "[[A]]"\nsee:\n  - "[[B|b]]"\n  - plain\nnested: {deep: "[[C#h]]"}\nown: "[[#H]]"\nt: "x [[D]]"'
    links = note(f"---\n{head}\n---\n").links
    assert [(link.property, link.target, link.relation) for link in links] == [
        ("up", "A", "up"),
        ("see.0", "B", "see"),
        ("nested.deep", "C", "deep"),
        ("own", "", "own"),
    ]
    assert all(link.kind == "frontmatter" for link in links)


def test_unquoted_property_links() -> None:
    """The list-in-a-list form is taken as the link that was meant, and said so."""
    read = note("---\nrelated: [[Home|h]]\nup: [[A]], [[B]]\n---\n")
    assert [(link.property, link.target) for link in read.links] == [("related", "Home"), ("up.0", "A"), ("up.1", "B")]
    assert {one.code for one in read.diagnostics} == {"yaml_syntax", "unquoted_link"}


@pytest.mark.parametrize(
    ("key", "relation"),
    [
        ("supports", "supports"),
        ("Depends on", "depends_on"),
        ("relates_to", "related_to"),
        ("derived-from", "derived_from"),
        ("aliases", "references"),
    ],
)
def test_relations(key: str, relation: str) -> None:
    """A key names the relation; schema keys are plain references."""
    assert note(f'---\n{key}: "[[A]]"\n---\n').links[0].relation == relation
    if relation != "references":
        link = note(f"{key}:: [[A]], [[B]]").links[1]
        assert (link.target, link.relation, link.kind) == ("B", relation, "inline_field")
