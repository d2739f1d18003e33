"""What belongs to the vault, by name (`obsidian.md` 11)."""

from __future__ import annotations

import pytest

from mindnetd.core.exclude import Rules, compile_rules
from mindnetd.core.records import FileKind

NONE = compile_rules(Rules())


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("Note.md", "note"),
        ("a/X.MD", "note"),
        ("a b/Ünï (1).md", "note"),
        ("N 2.md", "note"),
        ("N-HOSTNAME.md", "note"),
        ("N (copy).md", "note"),
        ("# Heading.md", "note"),
        ("~ tilde.md", "note"),
        ("board.canvas", "canvas"),
        ("list.base", "file"),
        ("img/a.png", "file"),
        ("LICENSE", "file"),
        ("md", "file"),
        ("N.sync-conflict-20240131-101112-ABCDEF7.md", "conflict"),
        ("a/N.sync-conflict-20240131-101112.md", "conflict"),
        ("N (Conflicted copy device 202401311011).md", "conflict"),
        ("N (Conflicted copy).md", "conflict"),
        ("N (x's conflicted copy 2024-01-31).md", "conflict"),
        ("N (conflicted copy 2024-01-31 101112).md", "conflict"),
        ("N (about conflicted copy).md", "note"),
        (".obsidian/app.json", None),
        (".trash/N.md", None),
        ("a/.git/x.md", None),
        (".stversions/N.md", None),
        ("a/.N.md.icloud", None),
        (".syncthing.N.md.tmp", None),
        ("~syncthing~N.md.tmp", None),
        (".N.md.A1b2C3", None),
        ("N.md~", None),
        ("4913", None),
        (".N.md.swp", None),
        (".#N.md", None),
        ("#N.md#", None),
        ("sedAbC123", None),
        (".goutputstream-ABCD", None),
        ("N.tmp", None),
        ("~$Doc.docx", None),
        ("sed notes.md", "note"),
        ("4913.md", "note"),
    ],
)
def test_kinds(path: str, kind: FileKind | None) -> None:
    """Dot paths, backups and temporary files are nothing; conflict copies are reported only."""
    assert NONE.kind(path) == kind


@pytest.mark.parametrize(
    ("pattern", "excluded", "kept"),
    [
        (
            "Templates/**",
            ["Templates/a.md", "Templates/b/c.md"],
            ["a/Templates/a.md", "Templates.md", "templates/a.md"],
        ),
        ("Templates/", ["Templates/a.md", "x/Templates/a.md"], ["Templates.md", "MyTemplates/a.md"]),
        ("*.draft.md", ["a.draft.md", "x/y/a.draft.md"], ["a.md", "draft.md"]),
        ("a/*.md", ["a/x.md"], ["a/b/x.md", "x/a/x.md"]),
        ("a/**/x.md", ["a/x.md", "a/b/c/x.md"], ["x.md", "a/y.md"]),
        ("**/old/**", ["old/x.md", "a/old/b/x.md"], ["bold/x.md"]),
        ("a?c.md", ["abc.md"], ["ac.md", "a/c.md"]),
        ("[ab]*.md", ["a1.md", "b.md"], ["c.md"]),
        ("[!ab]*.md", ["c.md"], ["a1.md"]),
        ("a/x.md", ["a/x.md"], ["a/x.md.md", "b/a/x.md"]),
        ("/root.md", ["root.md"], []),
        ("C++ (x).md", ["C++ (x).md"], ["C (x).md"]),
        ("\u00dc*.md", ["U\u0308bung.md"], ["Ubung.md"]),
    ],
)
def test_globs(pattern: str, excluded: list[str], kept: list[str]) -> None:
    """`*` stays in a folder, `**` does not; a name without a slash matches anywhere."""
    rules = compile_rules(Rules(ignore=(pattern,)))
    assert [rules.kind(path) for path in excluded] == ["ignored"] * len(excluded)
    assert [rules.kind(path) for path in kept] == ["note"] * len(kept)


def test_obsidian_filters() -> None:
    """Prefixes and patterns between slashes; one that is no pattern is told, the others hold."""
    rules = compile_rules(Rules(user_ignore_filters=("templates/", "/^Entwurf .*\\.md$/", "/(/", "x\\/y", "")))
    paths = ("templates/a.md", "a/templates/a.md", "Entwurf 1.md", "a/Entwurf 1.md", "b.canvas", "templates/x.png")
    assert [rules.kind(path) for path in paths] == ["ignored", "note", "ignored", "note", "canvas", "file"]
    assert len(rules.problems) == 1 and "/(/" in rules.problems[0]


def test_folders() -> None:
    """A dot folder is not entered; an excluded one is, since its notes are link targets."""
    rules = compile_rules(Rules(user_ignore_filters=("templates/",)))
    assert rules.kind(".git", is_dir=True) is None
    assert rules.kind("a/.git", is_dir=True) is None
    assert rules.kind("templates", is_dir=True) is not None
    assert rules.kind("N.tmp", is_dir=True) is not None
