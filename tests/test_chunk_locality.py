"""Small edits stay small (law 3): what a changed paragraph may embed, and which boundaries may move."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from chunking_samples import bullets, chunked, long_note, paragraph, text_hashes

MOST_NEW = 3
"""Passages that one changed or inserted paragraph may embed."""


def edited(rng: random.Random, parts: list[str]) -> list[str]:
    """The same note with one block changed, inserted, deleted, or one word changed."""
    new = list(parts)
    at = rng.choice([index for index, part in enumerate(parts) if not part.startswith("#")])
    kind = rng.choice(("change", "insert", "delete", "word"))
    fresh = paragraph(rng, rng.randint(5, 200))
    if kind == "insert":
        new.insert(at, fresh)
    elif kind == "delete":
        del new[at]
    elif kind == "word" or parts[at].startswith("- "):
        words = parts[at].split(" ")
        words[rng.randrange(1, len(words))] = "changed"
        new[at] = " ".join(words)
    else:
        new[at] = fresh
    return new


def trial_counts(seed: int, notes: int, edits: int, words: int) -> Counter[int]:
    """How many trials embed how many new passages, over random notes and edits."""
    rng = random.Random(seed)
    counts: Counter[int] = Counter()
    for _ in range(notes):
        parts = long_note(rng, words, headings=rng.choice((0, 3, 8)), lists=rng.choice((0, 0, 0.2, 0.6)))
        before = text_hashes(chunked("\n\n".join(parts)))
        for _ in range(edits):
            counts[len(text_hashes(chunked("\n\n".join(edited(rng, parts)))) - before)] += 1
    return counts


def test_an_edit_embeds_at_most_three_passages() -> None:
    """240 edits of 12 random notes: paragraphs of 5 to 200 words, lists, with and without headings."""
    counts = trial_counts(seed=1, notes=12, edits=20, words=3000)
    assert max(counts) <= MOST_NEW, counts


@pytest.mark.nightly
def test_an_edit_embeds_at_most_three_passages_long_form() -> None:
    """2,000 edits: not one is over."""
    counts = trial_counts(seed=11, notes=80, edits=25, words=5000)
    assert max(counts) <= MOST_NEW, counts


@pytest.mark.parametrize("headings", [0, 6])
def test_a_note_of_sixty_chunks(headings: int) -> None:
    """The demand itself: a changed and an inserted paragraph in a note of more than 60 chunks, at several places."""
    rng = random.Random(60 + headings)
    parts = long_note(rng, 46_000, headings=headings)
    first = chunked("\n\n".join(parts))
    assert len(first.chunks) >= 60
    before = text_hashes(first)
    for at in (1, len(parts) // 3, len(parts) // 2, len(parts) - 1):
        at = next(index for index in range(at, 0, -1) if not parts[index].startswith("#"))
        changed = [*parts[:at], paragraph(rng, 90), *parts[at + 1 :]]
        inserted = [*parts[:at], paragraph(rng, 90), *parts[at:]]
        for new in (changed, inserted):
            assert len(text_hashes(chunked("\n\n".join(new))) - before) <= MOST_NEW


@pytest.mark.parametrize("headings", [0, 6])
def test_boundaries_of_far_sections_stay(headings: int) -> None:
    """After an edit near the start, the chunks from the middle on are the same texts with the same windows."""
    rng = random.Random(headings)
    parts = long_note(rng, 30_000, headings=headings)
    before = chunked("\n\n".join(parts)).chunks
    for at in (2, 9, 17):
        new = [*parts[:at], paragraph(rng, 180), paragraph(rng, 20), *parts[at:]]
        after = chunked("\n\n".join(new)).chunks
        half = len(before) // 2
        assert [chunk.window for chunk in after[-half:]] == [chunk.window for chunk in before[-half:]]


def test_a_new_heading_embeds_its_section_only() -> None:
    """Renaming a heading re-embeds what stands under it, nothing else."""
    rng = random.Random(4)
    sections = [[f"## Part {n}", *(paragraph(rng, 60) for _ in range(4))] for n in range(40)]
    before = chunked("\n\n".join(part for section in sections for part in section))
    sections[20][0] = "## Another name"
    after = chunked("\n\n".join(part for section in sections for part in section))
    new = [p for chunk in after.chunks for p in chunk.passages if p.text_hash not in text_hashes(before)]
    assert new
    assert all(passage.text.startswith("Another name\n") for passage in new)


def test_rewrapped_text_and_markup_embed_nothing() -> None:
    """White space, emphasis, link targets and block ids are not what the model reads."""
    words = (
        "The stone heats slowly, see [[Thermal Mass|the note]] and [docs](https://example.org/a). It is **important**."
    )
    again = "The stone heats slowly,\nsee [[Other|the note]] and\n[docs](https://example.org/b). It is important. ^ref"
    assert text_hashes(chunked(f"# A\n\n{words}\n")) == text_hashes(chunked(f"# A\n\n{again}\n"))


def test_a_move_of_the_file_embeds_nothing_but_its_title() -> None:
    """The passages of the body do not know the note's name or its frontmatter."""
    rng = random.Random(9)
    body = "\n\n".join([paragraph(rng, 80), bullets(rng)])
    assert text_hashes(chunked(body)) == text_hashes(chunked(f"---\ntitle: New name\ntags: [a]\n---\n{body}"))
