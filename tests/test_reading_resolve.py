"""Which file a link means (`obsidian.md` 2), and that the incremental index equals one built anew."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reading import resolve

from mindnetd.core.records import Link
from mindnetd.core.resolve import NameIndex, file_keys, name_keys
from mindnetd.writing.linkbook import LinkBook, waiting_keys


@pytest.mark.parametrize(
    ("target", "source", "files", "wanted"),
    [
        ("Note", "b/src.md", ["Note.md", "b/Note.md"], "Note.md"),
        ("Note.md", "b/src.md", ["Note.md", "b/Note.md"], "Note.md"),
        ("Note", "b/src.md", ["a/Note.md", "b/Note.md"], "b/Note.md"),
        ("Note", "b/c/src.md", ["a/Note.md", "b/Note.md"], "a/Note.md"),
        ("Note", "src.md", ["a/b/Note.md", "Archive/Note.md"], "a/b/Note.md"),
        ("Note", "src.md", ["b/Note.md", "a/Note.md"], "a/Note.md"),
        ("b/Note", "src.md", ["a/b/Note.md", "c/Note.md"], "a/b/Note.md"),
        ("b/Note", "x/src.md", ["a/b/Note.md", "x/b/Note.md", "b/Note.md"], "b/Note.md"),
        ("b/Note", "xx/src.md", ["a/b/Note.md", "xx/b/Note.md"], "xx/b/Note.md"),
        ("/Note", "b/src.md", ["Note.md", "b/Note.md"], "Note.md"),
        ("/x/Note", "src.md", ["a/x/Note.md"], None),
        ("./Note", "b/src.md", ["Note.md", "b/Note.md"], "b/Note.md"),
        ("../Note", "b/src.md", ["Note.md", "b/Note.md"], "Note.md"),
        ("../../Note", "b/src.md", ["Note.md"], None),
        ("../Home.md", "projects/x.md", ["Home.md"], "Home.md"),
        ("liNk_in_YaMl", "a.md", ["link_in_yaml.md"], "link_in_yaml.md"),
        ("Ext.MD", "a.md", ["Ext.md"], "Ext.md"),
        ("note", "a.md", ["Note.md", "note.md"], "note.md"),
        ("Note", "a.md", ["Note.md", "note.md"], "Note.md"),
        ("x/note", "a.md", ["y/x/Note.md", "y/x/note.md"], "y/x/note.md"),
        ("Plan 3.1", "a.md", ["Plan 3.1.md"], "Plan 3.1.md"),
        ("007.jpg", "a.md", ["007.jpg.md", "img/007.jpg"], "img/007.jpg"),
        ("007.jpg.md", "a.md", ["007.jpg.md", "img/007.jpg"], "007.jpg.md"),
        ("Figure 1.png", "a.md", ["img/Figure 1.png"], "img/Figure 1.png"),
        ("Figure 1", "a.md", ["img/Figure 1.png"], None),
        ("\u00dcbung", "a.md", ["U\u0308bung.md"], "U\u0308bung.md"),
        ("U\u0308bung", "a.md", ["\u00dcbung.md"], "\u00dcbung.md"),
        ("A\u00a0b", "a.md", ["A b.md"], "A b.md"),
        ("A b", "a.md", ["A\u00a0b.md"], "A\u00a0b.md"),
        ("My Note.md", "a.md", ["Sub/My Note.md"], "Sub/My Note.md"),
        ("Sub/My Note.md", "Sub/x.md", ["Sub/My Note.md"], "Sub/My Note.md"),
        ("b//Note", "a.md", ["b/Note.md"], "b/Note.md"),
        ("README", "archive/README.md", ["inbox/README.md", "archive/README.md"], "archive/README.md"),
        ("", "a.md", [], "a.md"),
        ("folder/", "a.md", ["folder/.md", "folder/x.md"], None),
        ("Missing", "a.md", ["a.md"], None),
        ("AI", "a.md", ["Artificial Intelligence.md"], None),
        ("X", "a.md", ["d/X.MD"], "d/X.MD"),
    ],
)
def test_order(target: str, source: str, files: list[str], wanted: str | None) -> None:
    """Root and relative paths, exact path, own folder, shortest path string, then lexical order."""
    assert resolve(target, source, *files) == wanted
    assert resolve(target, source, *reversed(files)) == wanted


@pytest.mark.parametrize(
    ("target", "source", "files", "ambiguous"),
    [
        ("README", "a/x.md", ["a/README.md", "b/README.md"], True),
        ("README", "x.md", ["README.md", "b/README.md"], True),
        ("a/README", "x.md", ["a/README.md", "b/README.md"], False),
        ("a/README", "x.md", ["1/a/README.md", "2/a/README.md"], True),
        ("/README", "x.md", ["README.md", "b/README.md"], False),
        ("./README", "x.md", ["README.md", "b/README.md"], False),
        ("Home", "x.md", ["Home.md", "Home.md.md"], False),
        ("Gone", "x.md", ["Home.md"], False),
    ],
)
def test_ambiguity_is_told(target: str, source: str, files: list[str], ambiguous: bool) -> None:
    """More than one file of that name: the link has its answer, and says that there are others."""
    assert NameIndex(files).resolve(target, source)[1] is ambiguous


def test_index_forgets_and_ignores_repeats() -> None:
    """Adding twice is once, removing what is not there is no error."""
    names = NameIndex(["a/N.md", "b/N.md"])
    names.add("a/N.md")
    assert (len(names), "a/N.md" in names, sorted(names.paths())) == (2, True, ["a/N.md", "b/N.md"])
    names.remove("a/N.md")
    names.remove("a/N.md")
    assert names.resolve("N", "x.md") == ("b/N.md", False)
    names.remove("b/N.md")
    assert names.resolve("N", "x.md") == (None, False)


NAME = st.sampled_from(
    ["A", "a", "A.md", "B", "u\u0308", "\u00fc", "a b", "a\u00a0b", "A.png", "\u0130x", "ß", "SS", ".."]
)
FOLDER = st.sampled_from(["", "", "x/", "X/", "x/y/", "longer/"])
FILE = st.builds(
    lambda folder, name, end: f"{folder}{name}{end}", FOLDER, NAME, st.sampled_from([".md", ".MD", "", ".png"])
)
TARGET = st.builds(
    lambda start, folder, name, end: f"{start}{folder}{name}{end}",
    st.sampled_from(["", "", "", "./", "../", "/"]),
    FOLDER,
    NAME,
    st.sampled_from(["", "", ".md", "/"]),
)
STEPS = st.lists(st.tuples(st.booleans(), FILE), max_size=20)


@given(STEPS, TARGET, FILE)
def test_incremental_equals_anew(steps: list[tuple[bool, str]], target: str, source: str) -> None:
    """After any adds and removes the answer is that of an index built from what is there, in any order."""
    names = NameIndex()
    there: set[str] = set()
    for add, path in steps:
        names.resolve(target, source)
        (names.add if add else names.remove)(path)
        (there.add if add else there.discard)(path)
    assert names.resolve(target, source) == NameIndex(sorted(there)).resolve(target, source)
    assert names.resolve(target, source) == NameIndex(sorted(there, reverse=True)).resolve(target, source)


@given(STEPS, FILE, TARGET, FILE)
def test_only_shared_keys_change_an_answer(
    steps: list[tuple[bool, str]], changed: str, target: str, source: str
) -> None:
    """A file can change the answer of those links only that wait under one of its keys."""
    names = NameIndex(path for add, path in steps if add)
    names.remove(changed)
    before = names.resolve(target, source)
    names.add(changed)
    after = names.resolve(target, source)
    if not set(name_keys(target)) & set(file_keys(changed)):
        assert before == after


ID = st.sampled_from(["A", "b-1", "B-1", "x/B", "ß", "a b"])
WANTED = st.one_of(
    st.builds(lambda target: Link("markdown", target, target), TARGET),
    st.builds(lambda target: Link("wikilink", f"[[{target}]]", target), st.one_of(TARGET, ID)),
    st.builds(lambda target, shown: Link("wikilink", f"[[{target}|{shown}]]", target, display=shown), TARGET, ID),
    st.builds(lambda target: Link("plain", target, target), st.one_of(TARGET, ID)),
)
ID_STEPS = st.lists(st.one_of(st.tuples(st.booleans(), FILE), st.tuples(st.one_of(st.none(), ID), FILE)), max_size=20)


@given(ID_STEPS, st.lists(st.tuples(FILE, st.lists(WANTED, max_size=3)), max_size=4))
def test_waiting_links_are_all_that_must_be_asked_again(
    steps: list[tuple[bool | str | None, str]], sources: list[tuple[str, list[Link]]]
) -> None:
    """Asking again only the sources that a change touches leaves every answer as a full recompute gives it."""
    book, ids = LinkBook(), {}
    answers = {}

    def ask(keys: Iterable[int]) -> None:
        for key in keys:
            answers[key] = book.resolve(sources[key][1], sources[key][0])
            book.set_links(key, waiting_keys(answers[key]))

    ask(range(len(sources)))
    for change, path in steps:
        if isinstance(change, bool):
            ask(book.add_file(path) if change else book.remove_file(path))
        else:
            ids[path] = change
            ask(book.set_id(path, change))
    anew = LinkBook()
    for path, note_id in reversed(ids.items()):
        anew.set_id(path, note_id)
    for path in book.names.paths():
        anew.add_file(path)
    assert answers == {key: anew.resolve(wanted, path) for key, (path, wanted) in enumerate(sources)}
