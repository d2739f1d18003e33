"""The shared vault `basic`, read as its expected file says: every note, link, tag, alias, title and warning."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mindnetd.core.canvas import read_canvas
from mindnetd.core.exclude import Classifier, Rules, compile_rules
from mindnetd.core.note import read_note
from mindnetd.core.records import Link, ParsedNote
from mindnetd.core.resolve import NameIndex


class Vault:
    """The vault's files, its names and what is expected of each."""

    def __init__(self, shared: Path) -> None:
        self.root = shared / "vaults" / "basic"
        app = json.loads((self.root / ".obsidian" / "app.json").read_text())
        self.rules: Classifier = compile_rules(Rules(user_ignore_filters=tuple(app["userIgnoreFilters"])))
        self.paths = [str(path.relative_to(self.root)) for path in self.root.rglob("*") if path.is_file()]
        self.names = NameIndex(path for path in self.paths if self.rules.kind(path))
        self.expected: dict[str, Any] = json.loads((shared / "vaults" / "basic_expected.json").read_text())["files"]

    def notes(self) -> list[tuple[ParsedNote, dict[str, Any]]]:
        """Every note with what is expected of it."""
        return [
            (read_note(path, (self.root / path).read_bytes()), wanted)
            for path, wanted in self.expected.items()
            if wanted["indexed"]
        ]


@pytest.fixture(scope="module")
def vault(shared: Path) -> Vault:
    return Vault(shared)


def test_every_file_is_what_it_should_be(vault: Vault) -> None:
    """29 notes are notes; backups, copies, the trash and the templates are none."""
    for path, wanted in vault.expected.items():
        assert (vault.rules.kind(path) == "note") == bool(wanted["indexed"]), path
    assert sorted(vault.paths) == sorted(vault.expected)


def test_titles_headings_aliases(vault: Vault) -> None:
    """Titles, first headings, aliases, headings, block ids and inline fields are as expected."""
    for read, wanted in vault.notes():
        assert read.title in (wanted["title"], wanted.get("title_salvage")), read.path
        assert read.h1 == wanted["h1"], read.path
        assert list(read.aliases) == wanted["aliases"], read.path
        if "headings" in wanted:
            assert [[heading.level, heading.text] for heading in read.headings] == wanted["headings"]
        assert list(read.block_ids) == wanted.get("blocks", list(read.block_ids)), read.path
        fields = {field.name: field.value for field in read.fields}
        assert fields == wanted.get("inline_fields", fields), read.path


def test_tags(vault: Vault) -> None:
    """Tags are as expected, the salvaged ones of broken YAML included."""
    for read, wanted in vault.notes():
        assert list(read.tags) == wanted.get("tags_salvage", wanted["tags"]), read.path


def test_warnings(vault: Vault) -> None:
    """Each note has exactly the warnings that are expected."""
    for read, wanted in vault.notes():
        assert sorted(one.code for one in read.diagnostics) == wanted["warnings"], read.path


def test_links_of_notes(vault: Vault) -> None:
    """All links in order, each with its parts, its line and the file it means."""
    for read, wanted in vault.notes():
        _compare(vault, read.path, read.links, wanted["links"])


def test_links_of_the_canvas(vault: Vault) -> None:
    """File cards are links of the canvas; text cards are none."""
    path = "boards/Controller board.canvas"
    links, odd = read_canvas(path, (vault.root / path).read_bytes())
    assert not odd
    _compare(vault, path, links, vault.expected[path]["links"])


def _compare(vault: Vault, source: str, links: tuple[Link, ...], wanted: list[dict[str, Any]]) -> None:
    inner = [link for link in links if link.kind != "url"]
    assert len(inner) == len(wanted), source
    for link, want in zip(inner, wanted, strict=True):
        resolved, ambiguous = vault.names.resolve(link.target, source)
        for name in ("kind", "raw", "target", "heading", "block", "display", "property", "in_comment"):
            if name in want:
                assert getattr(link, name) == want[name], (source, link)
        assert resolved == want["resolved"], (source, link)
        assert ambiguous == want.get("ambiguous", False), (source, link)
        assert want.get("line") in (None, link.line), (source, link)
