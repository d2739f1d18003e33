"""What holds for the chunks of any note."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from chunking_samples import bullets, check, chunked, counter, long_note, note_of, paragraph
from hypothesis import given, settings
from hypothesis import strategies as st

from mindnetd.core.chunk import chunk_note
from mindnetd.core.note import ReadOptions, read_note
from mindnetd.core.notetypes import PROFILES
from mindnetd.core.records import Profile

MARKDOWN = st.lists(
    st.one_of(
        st.text(max_size=80),
        st.sampled_from(
            [
                "# One\n",
                "## Two ##\n",
                "\n",
                "\n\n",
                "- item\n",
                "> [!note] call\n> out\n",
                "| a | b |\n|---|---|\n| 1 | 2 |\n",
                "```py\nx = 1  \n```\n",
                "%% hidden %%\n",
                "%%\nhidden block\n%%\n",
                "[[A|b]] ",
                "$$\nx\n$$\n",
                "Setext\n---\n",
                "---\n",
                "[SEP] [MASK] ",
                "word " * 300,
                "x" * 400,
                "Ein Satz. Noch einer! ",
                "漢字" * 300,
                "ไทย" * 80,
                "^id\n",
                "<div>\nhtml\n</div>\n",
                "\u00a0\x0b\x1c\x85 ",
                "e\u0301 ",
                "![i](data:image/png;base64," + "Ab+/" * 200 + ")\n",
            ]
        ),
    ),
    max_size=30,
).map("".join)


@settings(max_examples=150, deadline=None)
@given(MARKDOWN, st.sampled_from(sorted(PROFILES)))
def test_laws_hold_for_any_text(text: str, name: str) -> None:
    """Joined texts are the body, bounds and windows hold, offsets and lines are right, counts are the tokenizer's."""
    note = note_of(text)
    check(note, chunk_note(note, PROFILES[name], counter()), PROFILES[name])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(sorted(PROFILES)), st.sampled_from([0, 3, 8]), st.sampled_from([0, 0.4]))
def test_laws_hold_for_long_notes(seed: int, name: str, headings: int, lists: float) -> None:
    """The same for notes of several chunks, with and without headings and lists."""
    text = "\n\n".join(long_note(random.Random(seed), 2500, headings=headings, lists=lists))
    note = note_of(text)
    check(note, chunk_note(note, PROFILES[name], counter()), PROFILES[name])


@settings(max_examples=30, deadline=None)
@given(MARKDOWN, st.integers(64, 512), st.integers(20, 600))
def test_any_window_and_bounds(text: str, window: int, lower: int) -> None:
    """No window and no profile is special: smaller models and other bounds keep the laws."""
    profile = Profile("odd", lower, max(2 * lower, 120), 0.2)
    note = note_of(text)
    check(note, chunk_note(note, profile, counter(), window), profile, window)


@pytest.mark.parametrize("name", sorted(PROFILES))
def test_a_plain_long_note_fills_the_profile(name: str) -> None:
    """Without headings nearly every chunk is within the (soft) bounds, and none far below."""
    profile = PROFILES[name]
    rng = random.Random(7)
    result = chunked("\n\n".join(paragraph(rng, rng.randint(20, 120)) for _ in range(200)), name)
    sizes = [chunk.tokens for chunk in result.chunks]
    assert all(0.85 * profile.lower <= size <= profile.upper for size in sizes)
    soft = profile.soft_upper or profile.upper
    assert sum(profile.lower <= size <= soft for size in sizes) >= 0.9 * len(sizes)


@pytest.mark.parametrize("name", sorted(PROFILES))
def test_overlap_is_the_profiles_share(name: str) -> None:
    """Each side takes at most the profile's share of the chunk, and most of it."""
    profile = PROFILES[name]
    result = chunked("\n\n".join(long_note(random.Random(3), 9000)), name)
    for left, right in zip(result.chunks, result.chunks[1:], strict=False):
        for text, share in ((left.overlap_right, left.tokens), (right.overlap_left, right.tokens)):
            tokens = counter().count([text])[0]
            assert 0.5 * profile.overlap * share <= tokens <= round(profile.overlap * share)
        assert left.text.endswith(right.overlap_left)
        assert right.text.startswith(left.overlap_right)


def test_no_overlap_no_window() -> None:
    """With overlap 0 a window is its text."""
    note = note_of("\n\n".join(long_note(random.Random(3), 3000)))
    result = chunk_note(note, replace(PROFILES["short"], overlap=0.0), counter())
    assert len(result.chunks) > 3
    assert all(chunk.window == chunk.text for chunk in result.chunks)


def test_chunks_end_at_headings_where_they_can() -> None:
    """Sections that fill the profile stand alone; small ones are packed whole."""
    rng = random.Random(5)
    big = "\n\n".join(f"## Big {n}\n\n" + "\n\n".join(paragraph(rng, 100) for _ in range(6)) for n in range(6))
    result = chunked(big)
    assert [chunk.section for chunk in result.chunks] == [(f"Big {n}",) for n in range(6)]
    small = "\n\n".join(f"## Small {n}\n\n" + paragraph(rng, 150) for n in range(30))
    result = chunked(small)
    assert all(chunk.text.startswith("## Small") for chunk in result.chunks)
    assert all(chunk.tokens >= 500 for chunk in result.chunks)


def test_an_empty_body_has_a_title_passage_only() -> None:
    """A note of frontmatter alone is found by its title."""
    for body in ("", "\n", "  \n\t\n\n"):
        result = chunked(f"---\ntitle: Only a head\naliases: [Alone]\ntags: [x/y]\n---\n{body}")
        assert result.chunks == ()
        assert result.title_passage is not None
        assert result.title_passage.text == "Only a head\nAlone\nx/y"
        assert (result.title_passage.idx, result.title_passage.tokens) == (-1, 7)


def test_embedding_exclude_has_no_passages() -> None:
    """Such a note keeps its chunks for the words and gives nothing to the model."""
    result = chunked("---\nembedding_exclude: true\n---\n# A\n\ntext")
    assert [chunk.text for chunk in result.chunks] == ["# A\n\ntext"]
    assert result.chunks[0].passages == ()
    assert result.title_passage is None


def test_same_bytes_same_chunks() -> None:
    """A fresh counter, another path, CRLF and NFD give the same chunks; another order of notes does not matter."""
    from mindnetd.inference.tokenizer import PinnedCounter

    text = (
        "# Übung\n\n" + "\n\n".join(long_note(random.Random(1), 1500, headings=4)) + "\n\n" + bullets(random.Random(2))
    )
    first = chunk_note(note_of(text), PROFILES["short"], counter())
    fresh = chunk_note(note_of(text, "other/place/Note.md"), PROFILES["short"], PinnedCounter())
    assert first == fresh
    crlf = read_note("Note.md", text.replace("Ü", "U\u0308").replace("\n", "\r\n").encode())
    assert chunk_note(crlf, PROFILES["short"], counter()) == first


def test_unnormalised_body_is_chunked_as_it_is() -> None:
    """With ``normalize: none`` the joined texts are the decoded text, trailing blanks and all."""
    text = "#  A  ##\n\nline  \n\n\n"
    note = read_note("Note.md", text.encode(), ReadOptions(normalize="none"))
    assert "".join(chunk.text for chunk in chunk_note(note, PROFILES["medium"], counter()).chunks) == text


def test_windows_differ_in_the_basic_vault(shared: Path) -> None:
    """More than 60 % of the chunks that have a neighbour see something of it (all of them do)."""
    found = [
        (len(result.chunks) > 1, chunk.window != chunk.text)
        for path in sorted((shared / "vaults" / "basic").rglob("*.md"))
        for result in [chunk_note(read_note(path.name, path.read_bytes()), Profile("tiny", 20, 60, 0.35), counter())]
        for chunk in result.chunks
    ]
    differs = [differs for has_neighbour, differs in found if has_neighbour]
    assert len(differs) > 20
    assert sum(differs) > 0.6 * len(differs)
