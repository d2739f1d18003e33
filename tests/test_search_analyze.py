"""Demand 19: words of many scripts and odd tokens, the same for notes and questions."""

from __future__ import annotations

import itertools
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from search_make import Vault

from mindnetd.core.analyze import Marker, analyze, slots, tokens

WORDS = [
    ("two-character Chinese", "zh", "我们在北京大学学习中文。", ["北京", "大学", "北京大学", "中文"], ["上海"]),
    ("one Chinese character", "zh", "水が流れる", ["水"], ["火"]),
    ("unspaced Japanese", "ja", "東京都に住んでいます", ["東京", "京都", "住んで"], ["大阪"]),
    ("Japanese words in Latin and kana", "ja", "iPhone用ケースを買う", ["iphone", "ケース", "買う"], ["android"]),
    ("Korean with particles", "ko", "서울에서 만나요", ["서울", "만나"], ["부산"]),
    ("Cyrillic", "ru", "Мы читали новые книги о Москве", ["книга", "Москва", "КНИГИ"], ["журнал"]),
    ("Cyrillic in a note of another language", "en", "The word книги means books", ["книга", "book"], ["журнал"]),
    ("yo and ye", "ru", "зелёный чай", ["зеленый", "зелёный"], ["чёрный"]),
    ("Thai", "th", "ฉันรักภาษาไทยมาก", ["ภาษา", "ไทย", "ภาษาไทย"], ["ญี่ปุ่น"]),
    ("Devanagari", "hi", "मुझे हिन्दी किताबें पसंद हैं", ["हिन्दी", "किताब", "किताबें"], ["अंग्रेज़ी"]),
    ("umlauts", "de", "Die Größe der Käsefabrik", ["Größe", "Groesse", "Grosse", "KÄSEFABRIK", "Kaesefabrik"], ["Kuh"]),
    ("umlauts in a note taken for English", "en", "Größe Käse", ["Groesse", "grosse", "Kaese", "kase"], ["Kuh"]),
    ("plain forms in the note", "de", "Mueller und Strasse", ["Müller", "Straße"], ["Meier"]),
    ("accents", "fr", "Le café à l'hôtel", ["cafe", "café", "hotel", "hôtel"], ["thé"]),
    ("Nordic letters", "da", "Smørrebrød på Ærø", ["smorrebrod", "smoerrebroed", "smørrebrød", "aero"], ["kage"]),
    ("a version", "en", "Upgrade to 1.0.21 now", ["1.0.21", "21"], ["2.3.4"]),
    ("a hyphenated word", "en", "A real-time system", ["real-time", "realtime", "real", "time"], ["unreal"]),
    ("the joined form in the note", "en", "A realtime system", ["real-time", "realtime"], ["unreal"]),
    ("snake case", "en", "Call snake_case_name() here", ["snake_case_name", "snake", "case name"], ["camel"]),
    ("C++ and C#", "en", "Written in C++, not in C#.", ["C++", "c++", "C#"], ["F#"]),
    ("a nested tag", "en", "About #a/b and #topic/sub/deep", ["#a/b", "a/b", "topic", "topic/sub", "deep"], ["#x/y"]),
    ("possessives", "en", "Bob's and Alice’s dogs; O'Brien", ["bob", "alice", "dog", "O'Brien", "obrien"], ["carol"]),
    ("an address", "en", "Write to jane@example.org", ["jane@example.org", "jane", "example"], ["john"]),
    ("stems", "en", "The valves were opened", ["valve", "opening", "opens"], ["closed"]),
    ("full width", "ja", "ＡＢＣ１２３", ["abc123"], ["abd"]),
]  # fmt: skip


@pytest.mark.parametrize(("lang", "text", "found", "absent"), [case[1:] for case in WORDS], ids=[c[0] for c in WORDS])
def test_words_are_found(lang: str, text: str, found: list[str], absent: list[str]) -> None:
    """A note is found by each way of writing its words, and not by others."""
    vault = Vault()
    vault.add("other.md", "Something else entirely", lang="en")
    vault.add("note.md", text, lang=lang)
    vault.add("german.md", "Ein ganz anderer Text", lang="de")
    for question in found:
        assert vault.words(question)[:1] == ["note.md"], question
    for question in absent:
        assert "note.md" not in vault.words(question), question


@pytest.mark.parametrize("case", WORDS, ids=[c[0] for c in WORDS])
def test_composed_and_decomposed_agree(case: tuple[str, str, str, list[str], list[str]]) -> None:
    """NFC and NFD of one text have the same terms."""
    _, lang, text, _, _ = case
    composed, decomposed = (analyze({"body": unicodedata.normalize(form, text)}, lang) for form in ("NFC", "NFD"))
    assert composed == decomposed


def test_whole_forms_rank_first() -> None:
    """The version that was asked for comes before others that share its numbers."""
    vault = Vault()
    vault.add("a.md", "Release 1.0.2 and 21 fixes, 0 open, 1 known, and 21 more")
    vault.add("b.md", "Release 1.0.21 is out with many fixes and some more words to make it long")
    assert vault.words("1.0.21")[0] == "b.md"


def test_stop_words_count_only_alone() -> None:
    """A question of nothing but stop words still has an answer; in another they do not matter."""
    vault = Vault()
    vault.add("hamlet.md", "To be or not to be")
    vault.add("valve.md", "The valve is not the pump")
    assert vault.words("to be or not to be")[0] == "hamlet.md"
    assert vault.words("the valve") == ["valve.md"]


def test_a_stop_word_of_one_language_is_a_word_of_another() -> None:
    """``war`` is asked for in English notes and is grammar in German ones."""
    vault = Vault()
    vault.add("en.md", "The war was long")
    vault.add("en2.md", "The history of England")
    vault.add("de.md", "Es war einmal ein König", lang="de")
    assert vault.words("history of the war") == ["en.md", "en2.md"]


def test_lengths_leave_out_stop_words() -> None:
    """Lengths count words, not grammar, and not the extra forms of a word."""
    found = analyze({"title": "", "body": "The valve is a real-time Größe"}, "en")
    assert found.lengths == {"body": 4}
    assert "title" not in found.counts


@given(st.text(max_size=200), st.sampled_from(["en", "de", "zh", "ru", "und", "xx"]))
def test_any_text_has_terms(text: str, lang: str) -> None:
    """No text breaks it, terms are short, and a token that is asked for again gives a term of the note."""
    found = analyze({"body": text}, lang)
    terms = found.counts.get("body", {})
    assert all(0 < len(term) <= 64 and count > 0 for term, count in terms.items())
    for token in tokens(text):
        assert all(term in terms for slot in slots(token, lang).slots for term in slot)
    marks = Marker(frozenset(terms), lang).spans(text)
    assert all(0 <= start < end <= len(text) for start, end in marks)
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(marks))


def test_long_words_are_cut() -> None:
    """A base64 tail is no term of its own."""
    assert max(map(len, analyze({"body": "A" * 50_000}, "en").counts["body"])) == 64
