"""Passages: nothing over the window, nothing visible left out, each under its heading path."""

from __future__ import annotations

import base64
import random

import pytest
from chunking_samples import check, chunked, counter, note_of, paragraph

from mindnetd.core.chunk import chunk_note
from mindnetd.core.clean import plain_text
from mindnetd.core.notetypes import PROFILES
from mindnetd.core.records import Passage

MEDIUM = PROFILES["medium"]


def passages(text: str) -> list[Passage]:
    """All passages of the body of a note."""
    return [passage for chunk in chunked(text).chunks for passage in chunk.passages]


def test_heading_path_is_in_front() -> None:
    """A passage starts with the headings above it; a heading without text joins its first child."""
    text = "intro\n\n# Oven\n\n## Valve\n\n### Timing\n\nopen early\n\n## Pump\n\nruns late\n"
    assert [passage.text for passage in passages(text)] == [
        "intro", "Oven > Valve > Timing\nopen early", "Oven > Pump\nruns late",
    ]  # fmt: skip


def test_a_heading_without_child_is_a_passage() -> None:
    """Sibling headings without text, and one at the end, are found by their own words."""
    assert [passage.text for passage in passages("# A\n## B\n## C\ntext\n## D")] == ["A > B", "A > C\ntext", "A > D"]


def test_a_long_path_loses_its_outer_headings_and_no_words() -> None:
    """What the prefix has no room for stands in the text of the first passage."""
    names = [paragraph(random.Random(n), 14).rstrip(".") for n in range(4)]
    text = "\n\n".join(f"{'#' * (n + 1)} {name}" for n, name in enumerate(names)) + "\n\ntext"
    (only,) = passages(text)
    assert all(name in only.text for name in names)
    giant = passages("# " + paragraph(random.Random(1), 900) + "\n\ntext")
    assert len(giant) > 4
    assert all(passage.tokens <= 254 for passage in giant)


@pytest.mark.parametrize(
    "text",
    [
        "![x](data:image/png;base64," + base64.b64encode(random.Random(1).randbytes(40_000)).decode() + ")",
        base64.b64encode(random.Random(2).randbytes(30_000)).decode(),
        "x" * 50_000,
        "x." * 25_000,
        "supercalifragilistic" * 3_000,
        "word " * 20_000,
        "漢字仮名" * 5_000,
        "한국어" * 5_000,
        "ภาษาไทย" * 5_000,
        "[[" * 5_000,
        "- " * 5_000,
        "| " * 5_000 + "\n|---|\n",
        "```\n" + "code line of some words;\n" * 3_000,
        "> quoted words of a long quote\n" * 3_000,
        "[MASK] [SEP] " * 3_000,
        "\u0301" * 5_000,
        "🎉" * 5_000,
    ],
    ids=lambda text: repr(text[:12]),
)
def test_nothing_is_over_the_window(text: str) -> None:
    """Blobs, endless words, scripts without spaces, huge blocks: every law holds, and what follows is embedded."""
    note = note_of(f"# Head\n\n{text}\n\nThe last sentence is unique.\n")
    result = chunk_note(note, MEDIUM, counter())
    check(note, result, MEDIUM)
    assert result.chunks[-1].passages[-1].text.endswith("The last sentence is unique.")


@pytest.mark.parametrize("joint", ["\n\n", "\n", " "])
def test_the_last_sentence_of_a_megabyte(joint: str) -> None:
    """A unique last sentence of a 1 MB note is in its last passage, whether of paragraphs, lines or one paragraph."""
    rng = random.Random(1)
    block = [paragraph(rng, 80) for _ in range(100)]
    text = joint.join(block * 20) + joint + "Quetzals nest in rotting trunks."
    assert len(text) > 1_000_000
    note = note_of(text)
    result = chunk_note(note, MEDIUM, counter())
    check(note, result, MEDIUM)
    assert "Quetzals nest in rotting trunks." in result.chunks[-1].passages[-1].text


def test_every_visible_word_is_embedded() -> None:
    """All words of a long note are in its passages, in order, once."""
    rng = random.Random(8)
    text = "\n\n".join(paragraph(rng, rng.randint(3, 900)) for _ in range(40))
    assert " ".join(" ".join(passage.text for passage in passages(text)).split()) == " ".join(text.split())


def test_hidden_text_is_in_no_passage_but_in_the_chunk() -> None:
    """Comments and blobs stay in the text, and out of words and vectors."""
    (chunk,) = chunked("# A\n\nseen %%unseen%% again\n\n%%\nblock\n%%\n\nlast\n").chunks
    assert "unseen" in chunk.text
    assert "unseen" not in chunk.words
    assert [passage.text for passage in chunk.passages] == ["A\nseen again\nlast"]


def test_special_tokens_are_text() -> None:
    """Literal special tokens cannot cut or mask what the model reads."""
    assert [passage.text for passage in passages("before [SEP] after [MASK]")] == ["before (SEP) after (MASK)"]


def test_a_title_longer_than_the_window_is_cut() -> None:
    """Hundreds of aliases do not break the title passage."""
    result = chunked("---\naliases: [" + ", ".join(f"alias {n}" for n in range(500)) + "]\n---\nbody")
    assert result.title_passage is not None
    assert 200 < result.title_passage.tokens <= 254
    assert counter().count([result.title_passage.text]) == [result.title_passage.tokens]


@pytest.mark.parametrize(
    ("kind", "text", "plain"),
    [
        ("paragraph", "See [[Note]], [[Note|its name]], [[Note#Part]], [[Note#^id]] and ![[pic.png|320]].",
         "See Note, its name, Note Part, Note and pic.png."),
        ("paragraph",
         "A [link](https://e.org/x_(y) \"t\"), https://e.org/z, <https://e.org>, www.e.org and ![alt](p.png).",
         "A link, , and alt."),
        ("paragraph", "**bold** _it_ ==mark== ~~gone~~ `code` snake_case 2*3 \\*star\\* &amp; #tag/a",
         "bold it mark gone code snake_case 2*3 *star* & tag/a"),
        ("item", "- [x] done\n  - 1. nested ^abc", "done nested"),
        ("quote", "> [!warning]- Title\n> > deep", "Title deep"),
        ("table", "| a | b |\n|:--|---|\n| [[N\\|n]] | 2 |", "a b n 2"),
        ("code", "```python\nx = a[0]  # **kept**\n```", "x = a[0] # **kept**"),
        ("math", "$$\nx_1 + y\n$$", "x_1 + y"),
        ("html", "<div class=\"a\">text</div><!-- no -->", "text"),
        ("rule", "---", ""),
        ("paragraph", "due:: tomorrow[^1] and [text][ref]\n[ref]: https://e.org", "due: tomorrow and text"),
    ],
)  # fmt: skip
def test_plain_text(kind: str, text: str, plain: str) -> None:
    """Markdown as a reader sees it."""
    assert plain_text(kind, text) == plain
