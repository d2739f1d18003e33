"""The classifier behind mode auto: the design's phrases to the letter, and a list of questions that people ask."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindnetd.core.route import classify

QUESTIONS = Path(__file__).parent / "golden" / "route_questions.tsv"
KNOWN_WRONG = {
    "Which ideas tie together memory and attention?": "local",
    "How do I connect my phone to the printer?": "drift",
    "Where is the setting for related notes?": "drift",
    "Wie verbinde ich das Handy mit dem Drucker?": "drift",
}
"""The design's phrases hold as they are, so a question about connecting cables is taken for one about connections."""


def questions() -> list[tuple[str, str]]:
    lines = QUESTIONS.read_text(encoding="utf-8").splitlines()
    return [(mode, text) for mode, text in (line.split("\t") for line in lines if not line.startswith("#"))]


def test_questions_that_people_ask() -> None:
    """Right but for the known confusions; a changed one fails, for better or worse."""
    asked = questions()
    assert len(asked) >= 60
    assert min(Counter(mode for mode, _ in asked).values()) >= 20
    wrong = {text: classify(text).mode for mode, text in asked if classify(text).mode != mode}
    assert wrong == KNOWN_WRONG


@pytest.mark.parametrize(
    ("phrase", "mode"),
    [
        ("main theme", "global"), ("summarize", "global"), ("overview", "global"),
        ("relate", "drift"), ("connect", "drift"), ("compare", "drift"),
        ("Hauptthema", "global"), ("Zusammenfassung", "global"), ("Überblick", "global"),
        ("Zusammenhang", "drift"), ("verbinden", "drift"), ("vergleichen", "drift"),
    ],
)  # fmt: skip
def test_the_design_s_phrases_come_before_anything_else(phrase: str, mode: str) -> None:
    """Whatever the case and whatever is named."""
    for text in (f"the {phrase} of it", phrase.upper(), f"Docker {phrase}s"):
        assert classify(text, ["Docker"]) == (mode, f"phrase: {classify(text).reason.removeprefix('phrase: ')}")


def test_reasons() -> None:
    """What is named, at most three names; nothing named is the plain search."""
    assert classify("how much water for tomatoes", ["Tomatoes"]) == ("local", "entity: Tomatoes")
    assert classify("a b c d", ["a", "b", "c", "d"]).reason == "entity: a, b, c"
    assert classify("how much water") == ("local", "no entity")


@given(st.text(), st.lists(st.text(), max_size=3))
def test_any_text_has_a_mode(text: str, names: list[str]) -> None:
    """No text raises, and the same text has the same mode."""
    assert classify(text, names) == classify(text, names)
    assert classify(text, names).mode in ("local", "global", "drift")
