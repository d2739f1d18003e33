"""What one note says that may name an entity, in German and English."""

from __future__ import annotations

import pytest
from chunking_samples import counter

from mindnetd.core.derive import DeriveOptions, derive
from mindnetd.core.identity import fold
from mindnetd.core.records import Signal
from mindnetd.core.stopnames import is_instruction, names_nothing

ENGLISH = "This is what we have been told about it, and there was more of that than they would have thought.\n\n"
GERMAN = "Das ist, was wir darüber wissen, und es war nicht mehr, als sie sich auch so schon gedacht haben.\n\n"


def said(text: str, path: str = "Note.md") -> list[Signal]:
    return list(derive(path, text.encode(), DeriveOptions(), counter()).signals)


def names(text: str, *kinds: str) -> set[str]:
    return {one.name for one in said(text) if one.kind in kinds}


def test_each_place_gives_its_kind_and_weight() -> None:
    """Headings H1-H3 weigh 2.0, inline code 1.5; H4 and fenced code give nothing."""
    found = said(
        "---\naliases: [Aka]\ntags: [red/deep]\n---\n# One\n## Two words\n### Three\n#### Four\n\nSee `run_it` and "
        "[[Target|shown]], [the Docs](https://e.org/a).\n\n```\n`not_this` OrThis\n```\n"
    )
    by_kind: dict[str, set[tuple[str, float]]] = {}
    for one in found:
        by_kind.setdefault(one.kind, set()).add((one.name, one.weight))
    assert by_kind["title"] == {("Note", 2.0)}
    assert by_kind["alias"] == {("Aka", 1.5)}
    assert by_kind["tag"] == {("red/deep", 1.0)}
    assert by_kind["heading"] == {("One", 2.0), ("Two words", 2.0), ("Three", 2.0)}
    assert by_kind["code"] == {("run_it", 1.5)}
    assert by_kind["link"] == {("Target", 1.5)}
    assert by_kind["url"] == {("the Docs", 1.0)}
    assert "codeword" not in by_kind, "code in a fence, and text of code spans, are no prose"


def test_what_the_whole_note_says_is_in_no_chunk() -> None:
    """Title, aliases, tags and links of properties have chunk -1; the rest the chunk of its line."""
    found = said('---\nup: "[[Above]]"\ntags: [t]\n---\n# Head\n\nText with [[Below]].\n')
    assert {one.name: one.chunk_idx for one in found} == {"Note": -1, "t": -1, "Above": -1, "Head": 0, "Below": 0}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (ENGLISH + "We met Anna Weber and told Docker about it.", {"Anna Weber", "Docker"}),
        (ENGLISH + "The Kyoto Protocol was signed. It says so.", {"Kyoto Protocol"}),
        (ENGLISH + "Nothing here. Something there: Everything again.\n- Item one\n- **Bold** start\n", set()),
        (GERMAN + "Wir trafen Anna Weber im Garten mit der Gießkanne.", {"Anna Weber"}),
        (GERMAN + "Der Garten hat eine Pumpe und einen Filter.", set()),
    ],
)
def test_a_capital_alone(text: str, wanted: set[str]) -> None:
    """In mid-sentence a capital says something in English; in German only two words in a row do."""
    assert names(text, "phrase") == wanted


@pytest.mark.parametrize("text", [ENGLISH, GERMAN])
def test_code_like_words_in_any_language(text: str) -> None:
    """Acronyms, capitals inside a word, numbers at its end; a German compound gives its coded part."""
    found = names(text + "JavaScript, snake_case, camelCase, GPT-4, the CSS-Klasse and C++ here.", "codeword")
    assert found == {"JavaScript", "snake_case", "camelCase", "GPT-4", "CSS", "C++"}


def test_a_phrase_that_opens_a_sentence_weighs_less() -> None:
    """Its first word may have the capital from there, which only the corpus can tell."""
    weights = {one.name: one.weight for one in said(ENGLISH + "Open Obsidian first. We use Apple Notes too.\n")}
    assert weights["Open Obsidian"] < weights["Apple Notes"]


def test_hidden_text_and_comments_say_nothing() -> None:
    """What a reader of the note does not see names nothing."""
    assert names(ENGLISH + "%% secret [[Link]] and Anna Weber %%\n", "phrase", "link") == set()


def test_order_and_keys_are_fixed() -> None:
    """Equal bytes give equal signals, in one order; keys are folded."""
    text = ENGLISH + "Use `B` and `A1`. # no\n\n# Über  Uns\n"
    assert said(text) == said(text)
    assert fold("  Über  UNS ") == "über uns"
    assert fold("\ufb01le") == "file"


def test_any_text_gives_signals() -> None:
    """Lone surrogates, NULs and huge runs are survived."""
    raw = b'---\naliases: ["\\ud800x"]\n---\n# \xff\xfe ' + b"A" * 5000 + b" `" + b"b" * 99 + b"`\n" + b"Ab " * 20_000
    found = derive("a.md", raw, DeriveOptions(), counter()).signals
    assert all(one.name.encode() and len(one.name) < 200 for one in found if one.kind != "heading")


@pytest.mark.parametrize(
    "key",
    [
        *("overview", "siehe auch", "zusammenfassung", "todo", "2024-05-01", "2024-w05", "1.2.3", "v1.2", "ctrl+p"),
        *("strg + c", "https://e.org/a", "pic.png", "true", "monday", "42", "#ff00aa", "a", "a/b/c"),
    ],
)
def test_names_of_nothing(key: str) -> None:
    """Generic headings, dates, numbers, keys, addresses and attachments are no entities."""
    assert names_nothing(key)


@pytest.mark.parametrize("key", ["docker", "anna weber", "c++", "gpt-4", "web clipper", "node.js", "übung"])
def test_names_of_something(key: str) -> None:
    """These are not stopped."""
    assert not names_nothing(key)


def test_instructions_are_no_names() -> None:
    """English ones begin with a verb, German ones with an imperative or end in an infinitive."""
    assert (
        is_instruction("Install the plugin") and is_instruction("Plugin installieren") and is_instruction("Öffne Git")
    )
    assert not is_instruction("Obsidian Sync") and not is_instruction("Tägliche Notizen") and not is_instruction("Open")
