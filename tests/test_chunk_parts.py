"""The parts of the chunker by themselves: cuts, sentences, overlaps, profiles, language."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from chunking_samples import counter, note_of, paragraph
from hypothesis import given, settings
from hypothesis import strategies as st

from mindnetd.core.clean import without_hidden
from mindnetd.core.cuts import ALWAYS, NEVER, balanced, groups_of, local_cuts, mix
from mindnetd.core.lang import detect
from mindnetd.core.notetypes import PROFILES
from mindnetd.core.overlap import head_of, tail_of
from mindnetd.core.sentences import sentence_spans
from mindnetd.core.typetable import DEFAULT_TYPES

SIZES = st.lists(st.integers(1, 60), min_size=1, max_size=60)


def random_ranks(rng: random.Random, count: int) -> list[int]:
    """Ranks of gaps, now and then a certain or a forbidden one."""
    return [rng.choice((ALWAYS, NEVER)) if rng.random() < 0.05 else rng.randrange(1000) for _ in range(count)]


@given(SIZES, st.integers(0, 99), st.integers(1, 120))
def test_cuts_keep_their_distance(sizes: list[int], seed: int, radius: int) -> None:
    """No two cuts are nearer than the radius, certain ones are all there, forbidden ones never."""
    ranks = random_ranks(random.Random(seed), len(sizes) - 1)
    cuts = local_cuts(sizes, ranks, radius)
    assert cuts == sorted(set(cuts))
    assert {gap for gap, rank in enumerate(ranks) if rank == ALWAYS} <= set(cuts)
    assert not {gap for gap, rank in enumerate(ranks) if rank == NEVER} & set(cuts)
    for first, last in groups_of(len(sizes), cuts):
        ends = {first - 1, last - 1}
        if not any(0 <= end < len(ranks) and ranks[end] == ALWAYS for end in ends):
            assert sum(sizes[first:last]) >= min(radius, sum(sizes))


@settings(max_examples=300)
@given(st.integers(0, 10**6), st.integers(10, 100))
def test_one_changed_piece_makes_at_most_three_new_groups(seed: int, radius: int) -> None:
    """The heart of law 3, exactly: replace, insert or delete one piece of a row without certain cuts."""
    rng = random.Random(seed)
    row = [(rng.randrange(10**9), rng.randint(1, 80)) for _ in range(80)]
    at = rng.randrange(len(row))
    piece = (rng.randrange(10**9), rng.randint(1, 80))
    changed = rng.choice(
        ([*row[:at], piece, *row[at + 1 :]], [*row[:at], piece, *row[at:]], [*row[:at], *row[at + 1 :]])
    )

    def groups(pieces: list[tuple[int, int]]) -> set[tuple[tuple[int, int], ...]]:
        cuts = local_cuts([size for _, size in pieces], [rank for rank, _ in pieces[:-1]], radius)
        return {tuple(pieces[first:last]) for first, last in groups_of(len(pieces), cuts)}

    assert len(groups(changed) - groups(row)) <= 3


@given(SIZES, st.integers(60, 200))
def test_balanced_groups_fit(sizes: list[int], limit: int) -> None:
    """No group is over the limit, and there is at most one more than there must be for each that had to close early."""
    groups = groups_of(len(sizes), balanced(sizes, limit))
    assert all(sum(sizes[first:last]) <= limit for first, last in groups)
    assert [first for first, _ in groups[1:]] == [last for _, last in groups[:-1]]
    assert len(groups) <= 2 * -(-sum(sizes) // limit)


def test_alike_texts_get_unlike_numbers() -> None:
    """The ranks of numbered lines look random: about half of the neighbours rise."""
    numbers = [mix(f"line {n}") for n in range(2000)]
    rises = sum(a < b for a, b in pairwise(numbers))
    assert 900 < rises < 1100
    assert len(set(numbers)) == 2000


@given(st.text(max_size=200))
def test_sentences_tile_the_text(text: str) -> None:
    """In order, without a gap, none of white space alone (but where the text is)."""
    spans = sentence_spans(text)
    assert "".join(text[start:end] for start, end in spans) == text
    assert all(text[start:end].strip() for start, end in spans[:-1])


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("One. Two! Three? Four", 4),
        ("Dr. Who came, e.g. today, z. B. am 3. Mai, at 1.5 bar.", 1),
        ("東京です。大阪です。", 2),
        ("- one\n- two\n- three", 3),
        ("He said \"no.\" Then he left.", 2),
        ("wrapped\nlines\nare one", 1),
    ],
)  # fmt: skip
def test_sentences(text: str, count: int) -> None:
    """Abbreviations, numbers and quotes end none; list items and full stops of any script do."""
    assert len(sentence_spans(text)) == count


@settings(deadline=None)
@given(st.integers(0, 999), st.integers(5, 150))
def test_overlaps_are_within_the_budget(seed: int, budget: int) -> None:
    """An overlap is the end or the start of the text, within its budget and most of it."""
    text = paragraph(random.Random(seed), 300)
    for part, belongs in (
        (tail_of(text, budget, counter()), text.endswith),
        (head_of(text, budget, counter()), text.startswith),
    ):
        assert belongs(part)
        assert 0.5 * budget <= counter().count([part])[0] <= budget


@pytest.mark.parametrize("text", ["漢字" * 500, "x" * 5000, "한국어 " * 300, "a\n\n\n", "🎉" * 300])
def test_overlaps_of_odd_texts(text: str) -> None:
    """There is always something to see, and never all of a long text."""
    for part in (tail_of(text, 20, counter()), head_of(text, 20, counter())):
        assert part.strip()
        assert len(part) <= 320


@given(st.text(alphabet="ab \n", max_size=40), st.lists(st.tuples(st.integers(0, 45), st.integers(0, 6)), max_size=4))
def test_without_hidden(text: str, spans: list[tuple[int, int]]) -> None:
    """Exactly the characters outside the hidden spans remain, for any piece of the body."""
    hidden: list[tuple[int, int]] = []
    for low, length in sorted(spans):
        if length and (not hidden or low > hidden[-1][1]):
            hidden.append((low, low + length))
    for start in (0, len(text) // 3):
        kept = [c for at, c in enumerate(text) if at >= start and not any(low <= at < high for low, high in hidden)]
        assert "".join(without_hidden(text[start:], start, hidden).split()) == "".join("".join(kept).split())


def test_profiles_and_types() -> None:
    """A note's own profile wins, then its type, then the default; names in any case; unknown ones are absent."""
    assert DEFAULT_TYPES.profile_of(note_of("---\ntype: Task\nchunk_profile: long\n---\n")).name == "long"
    assert DEFAULT_TYPES.profile_of(note_of("---\ntype: Task\n---\n")).name == "short"
    assert (
        DEFAULT_TYPES.profile_of(note_of("---\ntype: nothing\nchunk_profile: huge\n---\n"), "classic").name == "classic"
    )
    assert DEFAULT_TYPES.profile_of(note_of(""), overlap=0.15).overlap == 0.15
    assert DEFAULT_TYPES.profile_of(note_of(""), "classic", overlap=0.15).overlap == 0.35
    assert {kind.chunk_profile for kind in DEFAULT_TYPES.types.values()} <= set(PROFILES)
    classic = PROFILES["classic"]
    assert (classic.lower, classic.soft_upper, classic.upper, classic.overlap) == (350, 500, 600, 0.35)


def test_hash_modes() -> None:
    """The note's mode, else the configured one."""
    assert DEFAULT_TYPES.hash_mode_of(note_of("---\nhash_mode: FULL\n---\n")) == "full"
    assert DEFAULT_TYPES.hash_mode_of(note_of("---\ntype: task\n---\n"), "frontmatter") == "frontmatter"
    assert DEFAULT_TYPES.hash_mode_of(note_of("")) == "body"


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("en", "The oven is hot and the stone stores the heat for an hour."),
        ("de", "Notiz ohne Kopfdaten. Ruhe entspannt den Kleber."),
        ("fr", "Le four est chaud et la pierre garde la chaleur pendant une heure."),
        ("es", "El horno está caliente y la piedra guarda el calor durante una hora."),
        ("it", "Il forno è caldo e la pietra trattiene il calore per un'ora della giornata."),
        ("nl", "De oven is heet en de steen houdt de warmte een uur lang vast, maar niet het deeg."),
        ("ru", "Печь горячая, и камень держит тепло."), ("uk", "Піч гаряча, і камінь тримає тепло."),
        ("zh", "烤箱很热，石头储存热量。"), ("ja", "オーブンは熱いです。石が熱を蓄えます。"),
        ("ko", "오븐이 뜨겁습니다."),
        ("th", "เตาอบร้อน"), ("hi", "ओवन गरम है"), ("ar", "الفرن ساخن"), ("fa", "این پنجره گرم است"),
        ("he", "התנור חם"), ("el", "Ο φούρνος"),
        ("und", ""), ("und", "ABC-123"), ("und", "```\nif for while in the of and\n```"),
    ],
)  # fmt: skip
def test_languages(lang: str, text: str) -> None:
    """Script first, small words then; nothing to go by is "und"; code is no evidence."""
    assert detect(text) == lang
