"""Names in texts, likeness, votes: the pure part of suggestions."""

from __future__ import annotations

import pytest
from search_make import Vault

from mindnetd.core.note import read_note
from mindnetd.core.records import NoteMeta
from mindnetd.core.suggest import Voter, mention_confidence, near_confidence, vote
from mindnetd.core.suggest_names import Mention, NameTable, anywhere, edit_distance, likeness, plain_form
from mindnetd.core.suggest_text import line_of, prose, sentence_at


def everything(_: NoteMeta) -> bool:
    return True


@pytest.fixture
def vault() -> Vault:
    vault = Vault()
    for path in ("Pumpe.md", "Pumpe Nord.md", "Größe.md", "a/Twin.md", "b/Twin.md", "ab.md", "2024.md"):
        vault.add(path, "x")
    vault.add("hidden/Pumpe Nord Alt.md", "x", visibility="sensitive")
    return vault


def found(vault: Vault, text: str) -> list[tuple[str, list[str], bool]]:
    table = NameTable()
    table.follow(vault.hot.snapshot().notes)
    shown = table.mentions(text, lambda meta: meta.visibility != "sensitive")
    return [(text[one.start : one.end], [meta.path for meta in one.notes], one.exact) for one in shown]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Die Pumpe läuft.", [("Pumpe", ["Pumpe.md"], True)]),
        ("die pumpen laufen", [("pumpen", ["Pumpe.md"], False)]),
        ("Die Pumpe Nord.", [("Pumpe Nord", ["Pumpe Nord.md"], True)]),
        (
            "Die Pumpe\nNord und Pumpe\n\nNord",
            [("Pumpe\nNord", ["Pumpe Nord.md"], True), ("Pumpe", ["Pumpe.md"], True)],
        ),
        ("Pumpe Nord Alt", [("Pumpe Nord", ["Pumpe Nord.md"], True)]),
        ("Gro\u0308ße", []),
        ("GRÖSSE", [("GRÖSSE", ["Größe.md"], True)]),
        ("twin", [("twin", ["a/Twin.md", "b/Twin.md"], True)]),
        ("Pumpenhaus, Notpumpe, ab, 2024", []),
        ("Pumpe\0Nord", [("Pumpe", ["Pumpe.md"], True)]),
    ],
)
def test_names_in_a_text(vault: Vault, text: str, expected: list[tuple[str, list[str], bool]]) -> None:
    """Whole words in any case and inflection; the longest shown name wins; short names and numbers are none."""
    assert found(vault, text) == expected


def test_the_table_follows_the_notes(vault: Vault) -> None:
    """What has gone is no name any more, and what came is one; as in a table made anew."""
    table = NameTable()
    table.follow(vault.hot.snapshot().notes)
    notes = [meta if meta is None or meta.path != "Pumpe Nord.md" else None for meta in vault.hot.snapshot().notes]
    table.follow(notes)
    fresh = NameTable()
    fresh.follow(notes)
    for one in (table, fresh):
        assert [mention.name for mention in one.mentions("Pumpe Nord", everything)] == ["Pumpe"]
        assert [row[0] for row in one.like("Pumpe Nord", lambda meta: meta.visibility != "sensitive", 5)] == []


def test_what_is_no_prose() -> None:
    """Code, math, links, addresses, tags, comments and HTML are blanked; places and lines stay."""
    body = "A `Pump` $Pump$ [[Pump]] [Pump](Pump.md) https://x.org/Pump #Pump %%Pump%% <b Pump> <!-- Pump -->\n\n"
    body += "# Pump\n```\nPump\n```\n\nThe first. See the Pump here. The last.\n"
    note = read_note("a.md", ("---\nx: 1\n---\n" + body).encode())
    text = prose(note)
    assert len(text) == len(note.body) and text.count("Pump") == 1
    at = text.index("Pump")
    assert sentence_at(note.body, at, at + 4) == "See the Pump here." and line_of(note, at) == 11


def test_likeness() -> None:
    """Umlauts in both spellings are one; edits and swaps are few; words in another order are alike; others are not."""
    assert plain_form("Größe – Übung") == "groesse uebung" == plain_form("Groesse Uebung")
    assert edit_distance("abcd", "abdc", 2) == 1 and edit_distance("abc", "xyz", 1) == 3
    assert likeness("valve timing", "timing valve") == pytest.approx(0.95)
    assert likeness("irrigation", "irigation") > 0.85 and likeness("cat", "dog") < 0.5


def test_any_form_is_found_before_reading() -> None:
    """The pattern finds at least what the table would."""
    pattern = anywhere(["Pumpe Nord"])
    assert pattern and pattern.search("der pumpen-nord") and not pattern.search("Pumpenhaus Nord")
    assert anywhere(["ab"]) is None


def test_confidence(vault: Vault) -> None:
    """Rare before common, common single words never, as written before other cases and forms, one note before two."""
    meta = next(meta for meta in vault.hot.snapshot().notes if meta is not None)
    one = Mention(0, 5, "Pump", (meta,), exact=True, same_case=True)
    rare, known = mention_confidence(one, 1, 1000), mention_confidence(one, 50, 1000)
    assert 1 >= rare > known > 0 == mention_confidence(one, 101, 1000)
    lower = Mention(0, 5, "Pump", (meta,), exact=True, same_case=False)
    twice = Mention(0, 5, "Pump", (meta, meta), exact=True, same_case=True)
    assert rare > mention_confidence(lower, 1, 1000) and rare > mention_confidence(twice, 1, 1000)
    assert near_confidence(0.9, 0.9) == 0 == near_confidence(0.4, 0) and near_confidence(0.9, 0.5) == pytest.approx(
        0.54
    )


def test_votes() -> None:
    """Shares of all weight; case does not part values; nobody is sure with one voter."""
    voters = [
        Voter("a", 1, "linked", ("Garden",)),
        Voter("b", 1, "linked", ("garden", "x")),
        Voter("c", 0.5, "near", ()),
    ]
    first, second = vote(voters)
    assert (first.value, first.confidence) == ("Garden", pytest.approx(2 / 3.5))
    assert (second.value, [voter.path for voter in second.voters]) == ("x", ["b"])
    assert vote([Voter("a", 1, "linked", ("t",))])[0].confidence == 0.5
