"""The answer of the notes' own sentences: which, how they read, and that what they cite is there."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindnetd.core.analyze import slots, tokens
from mindnetd.core.citations import checked, renumbered
from mindnetd.core.extract_answer import Question, Source, Wanted, choose, composed, in_order
from mindnetd.core.results import ChunkText
from mindnetd.core.statements import statements


def chunk(text: str, n: int = 1, section: tuple[str, ...] = ()) -> ChunkText:
    """A chunk that begins at line 10."""
    return ChunkText(n, f"c{n}", n, section, 10, 10 + text.count("\n"), text, "", "")


def source(text: str, n: int = 1, title: str = "Note", lang: str = "en") -> Source:
    return Source(chunk(text, n), f"{title}.md", title, lang, n - 1)


def question(text: str, lang: str = "en") -> Question:
    """Every word that is no grammar counts the same."""
    wanted = [
        Wanted(frozenset(t for slot in slots(word, lang).slots for t in slot), 1.0)
        for word in tokens(text)
        if not slots(word, lang).stop
    ]
    return Question(text, lambda _: wanted)


def told(text: str, *sources: Source, lang: str = "en") -> list[str]:
    return [one.text for one in choose(question(text, lang), sources)]


@pytest.mark.parametrize(
    ("markdown", "said"),
    [
        ("# A\n\nThe **valve** is [[Main|open]] now. It leaks a lot.", ["The valve is open now.", "It leaks a lot."]),
        ("Before.\n\n```\ncode is no statement at all\n```\n", []),
        ("To open it:\n1. Turn the wheel.\n2. Pull.\n", ["To open it:\n1. Turn the wheel.\n2. Pull."]),
        ("> [!tip] Title\n> The body of a callout counts.", ["The body of a callout counts."]),
        ("%% The hidden remark is not said. %%", []),
        ("The word %%which nobody reads%% is left out.", ["The word is left out."]),
        ("Write `<name>` and `https://x.org/a` there now.", ["Write <name> and https://x.org/a there now."]),
        ("[[One note]] [[Another note]] ![[A picture.png]]", []),
        ("| Key | Does what |\n| --- | --- |\n| F5 | starts a new slide show |", ["F5: starts a new slide show"]),
        ("Der Hahn ist z. B. am Montag offen. Er tropft seit Mai.",
         ["Der Hahn ist z. B. am Montag offen.", "Er tropft seit Mai."]),
        ("1. Write this text:\n   ```\n   x\n   ```\n2. Then save the file.",
         ["1. Write this text:\n2. Then save the file."]),
    ],
)  # fmt: skip
def test_statements_read_as_text(markdown: str, said: list[str]) -> None:
    """Without Markdown, in whole sentences; code, comments and bare links say nothing."""
    assert [one.text for one in statements(markdown) if len(one.text.split()) > 1] == said


def test_a_long_list_ends_between_items() -> None:
    """And says that it goes on."""
    text = "These belong to it:\n" + "".join(f"- item number {n} of a list that is long\n" for n in range(40))
    one = statements(text)[0].text
    assert one.endswith("\n…") and len(one) < 600 and "item number 1 of a list that is long\n" in one


def test_the_sentence_that_answers_comes_first() -> None:
    """Rarity and coverage decide, not the place."""
    first = source("The pump runs all day. Nothing else happens here today.", 1, "Pump")
    second = source("Rain fell. The valve is opened with the red wheel. Birds sang in the trees.", 2, "Diary")
    assert told("How is the valve opened", first, second)[0] == "The valve is opened with the red wheel."


def test_steps_answer_how() -> None:
    """A question for a way gets the list of steps with its lead."""
    one = source(
        "Opening the valve is a matter of taste.\n\nTo open the valve:\n1. Turn the wheel.\n2. Pull the lever.\n"
    )
    assert told("How do I open the valve?", one)[0].startswith("To open the valve:\n1. Turn")


def test_what_leans_on_a_sentence_is_told_with_it() -> None:
    """A chosen sentence that begins with *It* brings the one before."""
    one = source("The cistern stands behind the house. It holds ninety litres of rain water.")
    assert told("litres of rain water", one) == [
        "It holds ninety litres of rain water.",
        "The cistern stands behind the house.",
    ]
    said = choose(question("litres of rain water"), [one])
    assert composed(said, {0: 1}) == "The cistern stands behind the house. It holds ninety litres of rain water. [1]"


def test_nothing_is_said_where_nothing_answers() -> None:
    """Sources without the words of the question give no answer, and no sources none either."""
    assert told("quantum chromodynamics lattice", source("The valve is opened with the red wheel.")) == []
    assert told("anything") == []


def test_the_same_sentence_is_not_said_twice() -> None:
    """Whatever the source."""
    same = "The valve is opened with the red wheel."
    assert told("how is the valve opened", source(same, 1, "A"), source(same, 2, "B")) == [same]


def test_lines_are_those_of_the_file() -> None:
    """Each sentence knows its line: the chunk of these tests begins at 10."""
    said = choose(question("red wheel valve"), [source("# Head\n\nRain fell.\n\nThe valve has a red wheel today.")])
    assert said[0].line == 14


def test_brackets_of_a_note_are_no_citation() -> None:
    """A number in brackets in a sentence must not look like one of ours."""
    said = choose(question("valve stands in book"), [source("The valve stands in the book [7] of the house.")])
    assert composed(said, {0: 1}) == "The valve stands in the book (7) of the house. [1]"


@given(st.lists(st.text(max_size=200), max_size=5), st.text(max_size=60))
def test_any_text_is_answered_the_same_way_twice(texts: list[str], asked: str) -> None:
    """Never raises; every chosen sentence is of a source and its line inside the chunk; numbers are in the text."""
    sources = [source(text, n) for n, text in enumerate(texts, 1)]
    said = choose(question(asked), sources)
    assert said == choose(question(asked), sources)
    numbers = {group[0].source: n for n, group in enumerate(in_order(said), 1)}
    text = composed(said, numbers)
    for one in said:
        inside = sources[one.source].chunk
        assert inside.start_line <= one.line <= inside.end_line
        assert f"[{numbers[one.source]}]" in text
    assert set(re.findall(r"\[(\d{1,3})\]", text)) <= {str(n) for n in numbers.values()}


@pytest.mark.parametrize(
    ("text", "kept", "cited", "removed"),
    [
        ("A [1]. B [2].", "A [1]. B [2].", (1, 2), 0),
        ("A [2]. B [9].", "A [2]. B.", (2,), 1),
        ("A [1, 2, 7].", "A [1] [2].", (1, 2), 1),
        ("A[1] and 【2】.", "A [1] and [2].", (1, 2), 0),
        ("A [Source 2].", "A [2].", (2,), 0),
        ("See [1](http://x).", "See [1](http://x).", (), 0),
        ("[0] none", "none", (), 1),
    ],
)
def test_citations_that_do_not_exist_are_taken_out(text: str, kept: str, cited: tuple[int, ...], removed: int) -> None:
    """Of two sources; whatever a model writes for brackets."""
    assert checked(text, 2) == (kept, cited, removed)


def test_citations_are_numbered_in_the_order_of_the_text() -> None:
    """The first one named is 1."""
    good = checked("B [2]. A [1]. B [2].", 2)
    assert renumbered(good.text, good.cited) == ("B [1]. A [2]. B [1].", {2: 1, 1: 2})
