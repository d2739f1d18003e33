"""What was made fast answers as the plain way of saying it: marks, snippets, order, diversity, exact cosines, texts."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search_make import DIM, Vault, rows_of, text_hash, vector

from mindnetd.core import analyze
from mindnetd.core.analyze import Marker, slots, tokens
from mindnetd.core.rank import spread
from mindnetd.core.results import ChunkText
from mindnetd.core.snippet import _HEADING, _word_end, _word_start, make_snippet
from mindnetd.lanes import dense, sweep
from mindnetd.lanes.candidates import best_first
from mindnetd.lanes.feed import HotDelta
from mindnetd.lanes.sweep import Sweep
from mindnetd.lanes.texts import RecentTexts
from mindnetd.lanes.vectors import VectorView

PARTS = [
    "valve", "Valves", "VALVE", "opening", "opened", "dying", "die", "Aepfel", "Äpfel", "a", "real-time", "realtime",
    "unreal", "time", "time-real", "snake_case", "_case_", "C++", "c#", "C#x", "a/b", "a/b/c", "1.0.21", "O'Brien",
    "Bob's", "jane@example.org", "größe", "GROESSE", "ﬁle", "東京都", "京都", "iPhone用ケース", "книги", "naïve",
    "I\u0307", "so\u00adft", "e\u0301te\u0301", "R&D", "--", "++", "#tag", "x" * 70, "[[valve|time]]", "`snake_case`",
    "é×À", "(opened)", "e-mail", "email", "re-enter", "reenter", "open", "gehad", "ts", "t", "essay", "Sky", "skies",
]  # fmt: skip
GLUE = [" ", "  ", "\n", "\n\n", ". ", ",", "-", "/", "#", "_", "", "’", "“", "\u00a0", "\u200b", "é", ";"]
TEXTS = st.lists(st.tuples(st.sampled_from(PARTS) | st.text(max_size=4), st.sampled_from(GLUE)), max_size=40).map(
    lambda pairs: "".join(part + glue for part, glue in pairs)
)
WANTED = st.tuples(
    st.lists(st.sampled_from(PARTS), max_size=4), st.sampled_from(["en", "de", "ru", "und", "xx", "nl", "fi", "fr"])
)


def terms_of(words: Sequence[str], lang: str) -> frozenset[str]:
    return frozenset(t for word in words for token in tokens(word) for slot in slots(token, lang).slots for t in slot)


def slow_spans(text: str, wanted: frozenset[str], lang: str) -> list[tuple[int, int]]:
    """Every token of the text analysed, every place of a wanted one looked for character by character."""
    pattern = analyze._ASCII_TOKEN if text.isascii() else analyze._TOKEN
    found = []
    for raw in set(pattern.findall(text)):
        if wanted.isdisjoint(term for token in tokens(raw) for slot in slots(token, lang).slots for term in slot):
            continue
        paired = analyze._PAIRED.search(raw) is not None
        needles = [term for term in wanted if term in raw and analyze._PAIRED.search(term)] if paired else []
        for needle in needles or [raw]:
            for at in range(len(text)):
                end = at + len(needle)
                around = text[at - 1 : at] + text[end : end + 1]
                if text.startswith(needle, at) and (paired or not analyze._WORD_CHAR.search(around)):
                    found.append((at, end))
    return analyze._merged(found)


def slow_window(text: str, marks: list[tuple[int, int]], width: int) -> tuple[int, int]:
    """Every mark as the first of a piece, all that it holds counted anew."""
    heading = _HEADING.match(text)
    best, start = (0, 0), heading.end() if heading and heading.end() < len(text) else 0
    for i, (at, _) in enumerate(marks):
        inside = [text[a:b].casefold() for a, b in marks[i : i + 40] if b <= at + width]
        if (len(set(inside)), len(inside)) > best:
            best, start = (len(set(inside)), len(inside)), max(0, at - width // 6)
    if len(text) <= width:
        return 0, len(text)
    return _word_start(text, start), _word_end(text, min(len(text), start + width))


@settings(max_examples=300, deadline=None)
@given(texts=st.lists(TEXTS, min_size=1, max_size=4), asked=WANTED)
def test_marks(texts: list[str], asked: tuple[list[str], str]) -> None:
    """One marker for several texts finds in each what analysing every token finds."""
    words, lang = asked
    wanted = terms_of(words, lang)
    marker = Marker(wanted, lang)
    for text in texts:
        assert marker.spans(text) == (slow_spans(text, wanted, lang) if wanted else [])


@settings(max_examples=200, deadline=None)
@given(text=TEXTS, asked=WANTED, width=st.integers(1, 90))
def test_snippets(text: str, asked: tuple[list[str], str], width: int) -> None:
    """The piece with the most of them, found in one walk."""
    words, lang = asked
    marker = Marker(terms_of(words, lang), lang)
    marks = marker.spans(text)
    start, end = slow_window(text, marks, width)
    cut = make_snippet(text, marker, width)
    assert cut.text == text[start:end]
    assert cut.highlights == tuple((a - start, b - start) for a, b in marks if a >= start and b <= end)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=25))
def test_order_of_equal_scores(values: list[int]) -> None:
    """By score, then path, then key, whatever the order of the slots."""
    vault = Vault()
    for number in range(len(values)):
        vault.add(f"{(number * 7) % 5}/{number % 3}.md", f"text {number}")
    snapshot = vault.hot.snapshot()
    at = np.flatnonzero(snapshot.alive).astype(np.int32)
    scores = np.array([values[n % len(values)] / 3 for n in range(len(at))])

    def key(i: int) -> tuple[float, str, int]:
        note = snapshot.notes[snapshot.doc_note[at[i]]]
        assert note is not None
        return -scores[i], note.path, int(snapshot.doc_key[at[i]])

    assert best_first(snapshot, at, scores) == sorted(range(len(at)), key=key)


@given(st.lists(st.integers(0, 5), max_size=40), st.randoms(use_true_random=False))
def test_diversity(notes: list[int], rng: object) -> None:
    """0, -1/2, -2/3, ... by note, to the last bit and without a negative zero."""
    order = list(range(len(notes)))
    rng.shuffle(order)  # type: ignore[attr-defined]
    seen: dict[int, int] = {}
    wanted = [0.0] * len(notes)
    for i in order:
        before = seen.get(notes[i], 0)
        wanted[i] = -before / (before + 1.0)
        seen[notes[i]] = before + 1
    assert repr(spread(np.array(notes, np.int32), order).tolist()) == repr(wanted)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32), noise=st.sampled_from([0.0, 1e-8, 1e-6, 1e-3, 1.0]))
def test_exact_cosines(seed: int, noise: float) -> None:
    """Leaving out passages that cannot be the best changes no bit, however near the best ones are to each other."""
    rng = np.random.default_rng(seed)
    vault = Vault()
    texts = [[f"{n} {i}" for i in range(int(rng.integers(1, 6)))] for n in range(12)]
    vault.put(*(vault.make(f"{n}.md", ". ".join(parts)) for n, parts in enumerate(texts)), vectors=False)
    hashes = [text_hash(part) for parts in texts[1:] for part in parts]  # those of the first note are not there yet
    rows = vector("base") + noise * rng.normal(size=(len(hashes), DIM))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    vault.hot.apply(HotDelta(99, vectors=(hashes, rows.astype(np.float32))))
    snapshot, query = vault.hot.snapshot(), vector("base")
    slots_of = np.arange(len(snapshot.doc_key), dtype=np.int32)
    about = dense.near(snapshot, query).rows
    whole = dense.exact(snapshot, slots_of, query)
    assert dense.exact(snapshot, slots_of, query, about).tobytes() == whole.tobytes()
    assert np.isinf(whole).any() and np.isfinite(whole).any()


# ---- texts at hand


class Counting(Vault):
    """A source that says what it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[list[int]] = []

    def texts(self, keys: Sequence[int]) -> dict[int, ChunkText]:
        self.asked.append(list(keys))
        return dict(super().texts(keys))


@pytest.fixture
def source() -> Counting:
    vault = Counting()
    for number in range(4):
        vault.add(f"{number}.md", f"valve number {number} " * 50)
    return vault


def test_texts_are_fetched_once(source: Counting) -> None:
    """What was read is at hand, what was not is asked for, what is gone is missing and asked for again."""
    recent, snapshot = RecentTexts(source), source.hot.snapshot()
    keys = sorted(source.chunks)
    assert recent.texts(snapshot, keys[:2]) == {key: source.chunks[key] for key in keys[:2]}
    assert recent.texts(snapshot, keys[:3]) == {key: source.chunks[key] for key in keys[:3]}
    assert recent.texts(snapshot, [keys[0], 999]) == {keys[0]: source.chunks[keys[0]]}
    assert recent.texts(snapshot, [999]) == {}
    assert source.asked == [keys[:2], keys[2:3], [999], [999]]


def test_texts_are_forgotten_with_a_new_load(source: Counting) -> None:
    """A file opened anew may give out a key twice: nothing from before the load is served after it."""
    recent, key = RecentTexts(source), min(source.chunks)
    recent.texts(source.hot.snapshot(), [key])
    known = {h: vector("x") for note in source.notes.values() for doc in note.hot_docs() for h in doc.passages}
    source.hot.load(rows_of(list(source.notes.values()), known))
    source.chunks[key] = ChunkText(key, "new", 0, (), 1, 1, "another text", "", "")
    assert recent.texts(source.hot.snapshot(), [key])[key].text == "another text"


def test_texts_stay_within_their_bytes(source: Counting) -> None:
    """The oldest go first; one that is too big by itself is served and not kept."""
    snapshot, keys = source.hot.snapshot(), sorted(source.chunks)
    recent = RecentTexts(source, 850)  # each takes a little more than 300
    for key in (keys[0], keys[1], keys[0], keys[2], keys[0], keys[1]):
        recent.texts(snapshot, [key])
    assert source.asked == [[keys[0]], [keys[1]], [keys[2]], [keys[1]]]
    tiny = RecentTexts(source, 10)
    assert tiny.texts(snapshot, keys[:2]) == tiny.texts(snapshot, keys[:2])
    assert source.asked[-2:] == [keys[:2], keys[:2]]


def test_texts_are_fetched_ahead(source: Counting) -> None:
    """After a fill nobody waits for the source; what an edit has replaced goes, and what is new comes, by the next."""
    source.add("bare.md")
    recent, keys = RecentTexts(source), sorted(source.chunks)
    recent.fill(source.hot.snapshot())
    recent.fill(source.hot.snapshot())
    assert source.asked == [keys]
    assert recent.texts(source.hot.snapshot(), keys) == source.chunks
    source.add("0.md", "another text")
    recent.fill(source.hot.snapshot())
    assert source.asked[1:] == [[max(source.chunks)]]
    old = source.chunks.pop(keys[0])
    assert old.text.startswith("valve") and recent.texts(source.hot.snapshot(), [keys[0]]) == {}


def test_a_fill_drives_out_nothing(source: Counting) -> None:
    """Where there is no room for all, what somebody asked for stays."""
    snapshot, keys = source.hot.snapshot(), sorted(source.chunks)
    recent = RecentTexts(source, 850)
    recent.texts(snapshot, keys[2:])
    recent.fill(snapshot)
    recent.texts(snapshot, keys[2:])
    assert source.asked[0] == keys[2:] and keys[2] not in source.asked[-1] and keys[3] not in source.asked[-1]


def test_a_sweep_with_help_and_without(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bits as one product of each row, whoever did it; a busy or a stuck helper does no harm."""
    rng = np.random.default_rng(7)
    blocks = tuple(rng.normal(size=(rows, DIM)).astype(np.float32) for rows in (5000, 1, 4096))
    view = VectorView(blocks, (0, 5000, 5001), 9097, DIM)
    query = vector("base")
    plain = np.concatenate([*(np.vecdot(block, query) for block in blocks), [-np.inf, -np.inf]]).astype(np.float32)
    threads = [threading.Thread(target=lambda: results.append(Sweep(view, query).scores())) for _ in range(8)]
    results: list[np.ndarray] = []
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    monkeypatch.setattr(sweep, "_helper", _Idle())
    results.append(Sweep(view, query).scores())
    monkeypatch.setattr(sweep, "_helper", None)
    results.append(Sweep(view, query).scores())
    assert len(results) == 10 and all(found.tobytes() == plain.tobytes() for found in results)


class _Idle:
    """A helper that takes a piece and is never heard of again."""

    def help(self, work: Sweep) -> None:
        work._left.pop()
