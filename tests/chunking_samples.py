"""Notes for the chunking tests: text from a seed, and what must hold for any note."""

from __future__ import annotations

import random
from functools import cache

from mindnetd.core.chunk import chunk_note
from mindnetd.core.note import read_note
from mindnetd.core.notetypes import PROFILES
from mindnetd.core.records import Chunked, ParsedNote, Profile
from mindnetd.inference.tokenizer import PinnedCounter

_WORDS = tuple(
    """the of and to in a is that for it as was with be by on not he this are or his from at which but have an had
they you were their one all we can her has there been if more when will would who so no oven stone heat flour water
dough rest starter baker controller valve probe zone timer loop error steam crust rye wheat hydration percent minute
hour morning batch schedule garden irrigation pump filter pressure sensor reading drift calibration notebook entry
decision meeting project budget supplier delivery invoice warehouse shelf sample test result graph slope average limit
threshold alarm reset firmware update branch release review comment question answer example reason because however
although therefore between before after during without within across under over slowly quickly carefully measured
repeated observed noted compared written changed removed added replaced installed tightened cleaned heated cooled
weighed mixed folded shaped proofed scored baked sliced tasted described""".split()  # noqa: SIM905
)


@cache
def counter() -> PinnedCounter:
    """One counter with the real tokenizer for all tests."""
    return PinnedCounter()


def sentence(rng: random.Random, words: int) -> str:
    """A sentence of so many words."""
    return " ".join(rng.choices(_WORDS, k=words)).capitalize() + "."


def paragraph(rng: random.Random, words: int) -> str:
    """Sentences of 4 to 22 words, together about `words` long."""
    sentences: list[str] = []
    while words > 0:
        count = min(words, rng.randint(4, 22))
        sentences.append(sentence(rng, count))
        words -= count
    return " ".join(sentences)


def bullets(rng: random.Random) -> str:
    """A list of 3 to 25 short items."""
    return "\n".join("- " + sentence(rng, rng.randint(2, 15)) for _ in range(rng.randint(3, 25)))


def long_note(rng: random.Random, words: int, *, headings: int = 0, lists: float = 0.0) -> list[str]:
    """Blocks of a note of about `words` words; a heading after up to `headings` blocks, `lists` the share of lists."""
    parts: list[str] = []
    until_heading = 0
    while words > 0:
        if headings and until_heading == 0:
            parts.append("#" * rng.choice((2, 2, 3, 3, 4)) + " " + sentence(rng, rng.randint(2, 6)).rstrip("."))
            until_heading = rng.randint(1, headings)
        until_heading -= 1
        block = bullets(rng) if rng.random() < lists else paragraph(rng, rng.randint(5, 200))
        parts.append(block)
        words -= len(block.split())
    return parts


def note_of(text: str, path: str = "Note.md") -> ParsedNote:
    """Read a note from its text."""
    return read_note(path, text.encode("utf-8", "surrogatepass"))


def chunked(text: str, profile: str = "medium") -> Chunked:
    """Read and chunk a note with the real tokenizer."""
    return chunk_note(note_of(text), PROFILES[profile], counter())


def text_hashes(result: Chunked) -> set[str]:
    """The hashes of all passages of the body."""
    return {passage.text_hash for chunk in result.chunks for passage in chunk.passages}


def check(note: ParsedNote, result: Chunked, profile: Profile, window: int = 256) -> None:
    """Assert every law that holds for any note."""
    body, count = note.body, counter().count
    assert "".join(chunk.text for chunk in result.chunks) == (body if body.strip() else "")
    assert count([chunk.text for chunk in result.chunks]) == [chunk.tokens for chunk in result.chunks]
    for idx, chunk in enumerate(result.chunks):
        assert chunk.idx == idx
        assert chunk.text.strip()
        assert chunk.tokens <= profile.upper
        assert body[chunk.start : chunk.end] == chunk.text
        assert body[chunk.start - len(chunk.overlap_left) : chunk.end + len(chunk.overlap_right)] == chunk.window
        assert bool(chunk.overlap_left) == (idx > 0)
        assert bool(chunk.overlap_right) == (idx + 1 < len(result.chunks))
        assert chunk.start_line == note.body_line + body[: chunk.start].count("\n")
        assert chunk.end_line == note.body_line + body[: chunk.end - 1].count("\n")
        at = chunk.start
        for number, passage in enumerate(chunk.passages):
            assert passage.idx == number
            assert at <= passage.start < passage.end <= chunk.end
            at = passage.end
    passages = [passage for chunk in result.chunks for passage in chunk.passages]
    assert count([passage.text for passage in passages]) == [passage.tokens for passage in passages]
    assert all(passage.tokens <= window - 2 and passage.text for passage in passages)
