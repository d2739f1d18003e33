"""An answer made of the notes' own sentences: which of them, and in what order. No model needed.

Sentences are ranked by how much of the question they cover (each word by its rarity, BM25's IDF), by nearness in
meaning where it is known, and by the rank of their source; then taken greedily, each for what it adds: a word of the
question that is still open counts again, likeness to what is taken counts against (maximal marginal relevance,
Carbonell and Goldstein 1998). What was taken is told source by source, in the order of the text.

Not for: Markdown (``core.statements``), finding the sources (``search``), the wording of a model (``core.prompts``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mindnetd.core.analyze import slots, tokens
from mindnetd.core.results import ChunkText
from mindnetd.core.statements import Statement, statements

Vector = NDArray[np.float32]
Embed = Callable[[str], Vector]

EMBEDDED = 24
"""So many sentences, the best by words, are compared with the question in meaning (about 3 ms each)."""
COVERED = 0.3
"""A sentence that covers less of the question, its heading and title included, ..."""
NEAR = 0.45
"""... and is not as near as this in meaning either, is no answer (cosine of all-MiniLM-L6-v2)."""
THIN = 250
"""Characters; an answer that is shorter takes less to be added to."""
_KEPT_IN_THIN = 0.5
_WORDS, _MEANING, _RANK = 0.5, 0.35, 0.15
_CONTEXT = 0.5
"""A word of the question in the heading or title instead of the sentence counts so much."""
_NEW, _LIKE = 0.35, 0.6
_POINTS = re.compile(
    r"^(?:see|learn|to learn|for more|for (?:further|other)|read more|refer to|please refer|for details|visit"
    r"|siehe|vgl|mehr (?:dazu|über|zu)|näheres|weitere informationen)\b",
    re.IGNORECASE,
)
"""A sentence that sends the reader elsewhere answers nothing."""
_REFERS = re.compile(r"\b(?:please (?:refer|see|visit)|, see [A-Z]|, siehe [A-Z])")
_QUANTITY = re.compile(
    r"\b(?:how (?:many|much|long|big|large|often|old)|limits?|maximum|minimum|price|costs?|size"
    r"|wie (?:viele?|lange|groß|oft|hoch|alt)|grenzen?|höchste[nrs]?|preis|kostet|kosten|größe)\b",
    re.IGNORECASE,
)
_WAY = re.compile(r"^(?:to |you can |use |um |du kannst |man kann )|\bby \w+ing\b|, indem\b", re.IGNORECASE)
_DIGIT = re.compile(r"\d")
_SHORT = 7
_DEFINES = re.compile(r"^(?:what(?: is| are|'s)|define|was (?:ist|sind|bedeutet|heißt))\b", re.IGNORECASE)
_STEPS = re.compile(
    r"^(?:how (?:do|can|to|would|should)\b|wie (?!viel|oft|lange|hoch|groß|heißt|viele))", re.IGNORECASE
)
_NUMBERED = re.compile(r"\[(\d{1,3})\]")
"""What a sentence itself has in brackets must not look like a citation."""
_IS = re.compile(r"\b(?:is|are|lets|allows?|ist|sind|bezeichnet|ermöglicht|bedeutet)\b")


@dataclass(frozen=True, slots=True)
class Wanted:
    """One thing that a question asks for: any of `terms` (as ``core.analyze`` gives them), worth `weight` (> 0)."""

    terms: frozenset[str]
    weight: float


@dataclass(frozen=True, slots=True)
class Source:
    """A chunk that sentences may be taken from; `rank` counts from 0."""

    chunk: ChunkText
    path: str
    title: str
    lang: str
    rank: int


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: `wanted` gives its things for notes of a language; `vector` is None where there is no model."""

    text: str
    wanted: Callable[[str], Sequence[Wanted]]
    vector: Vector | None = None
    embed: Embed | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """A chosen sentence; `source` counts in the list of sources, `at` orders within it, `line` is the file's."""

    source: int
    at: int
    text: str
    line: int
    score: float
    covered: float
    near: float


@dataclass(slots=True)
class _Candidate:
    source: int
    at: int
    one: Statement
    own: NDArray[np.float64]
    """What of the question it covers itself, by weight; sums to at most 1."""
    around: NDArray[np.float64]
    """The same with heading and title."""
    words: frozenset[str]
    near: float = 0.0
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Bounds:
    """At most `count` sentences of about `chars` characters; a further one is worth `kept` of the first at least."""

    count: int = 5
    chars: int = 1000
    kept: float = 0.65


BOUNDS = Bounds()
BROAD = Bounds(10, 1800, 0.62)
"""For a question over the whole."""


def choose(
    question: Question,
    sources: Sequence[Source],
    stop: Callable[[], None] = lambda: None,
    bounds: Bounds = BOUNDS,
) -> list[Said]:
    """At most `bounds.count` sentences that answer (and those they lean on), the best first; none where the sources do
    not answer. `stop` may raise."""
    found = _candidates(question, sources)
    if not found:
        return []
    _weigh(question, found, sources, stop)
    good = [one for one in found if one.around.sum() >= COVERED or one.near >= NEAR]
    if not good:
        return []
    return [_said(one, sources) for one in _complete(_greedy(good, bounds), found)]


def opening(source: Source, number: int) -> Said | None:
    """The sentence that a note begins with: what the note is about; None where it begins with no sentence."""
    for at, one in enumerate(statements(source.chunk.text)[:3]):
        if one.kind == "sentence" and len(one.text.split()) >= _SHORT - 1 and not _POINTS.match(one.text):
            return Said(number, at, one.text, source.chunk.start_line + one.line, 0.0, 0.0, 0.0)
    return None


def in_order(said: Sequence[Said]) -> list[list[Said]]:
    """The chosen sentences by source, that of the best sentence first; within a source as they stand there."""
    by_source: dict[int, list[Said]] = {}
    for one in said:
        by_source.setdefault(one.source, []).append(one)
    return [sorted(group, key=lambda one: one.at) for group in by_source.values()]


def _candidates(question: Question, sources: Sequence[Source]) -> list[_Candidate]:
    found: list[_Candidate] = []
    seen: set[str] = set()
    for number, source in enumerate(sources):
        wanted = question.wanted(source.lang)
        total = sum(one.weight for one in wanted) or 1.0
        weights = np.array([one.weight / total for one in wanted])
        title = terms_of(source.title, source.lang)
        section = title | terms_of(" ".join(source.chunk.section), source.lang)
        for at, one in enumerate(statements(source.chunk.text)):
            if one.text in seen or one.text.endswith("?"):
                continue
            seen.add(one.text)
            words = terms_of(one.text.partition("\n")[0] if one.kind == "index" else one.text, source.lang)
            above = title | terms_of(one.heading, source.lang) if one.heading else section
            own = np.array([not part.terms.isdisjoint(words) for part in wanted], bool)
            context = np.array([not part.terms.isdisjoint(above) for part in wanted], bool)
            covered = weights * own if len(weights) else np.zeros(0)
            around = np.maximum(covered, weights * context * _CONTEXT) if len(weights) else np.zeros(0)
            found.append(_Candidate(number, at, one, covered, around, words))
    return found


def terms_of(text: str, lang: str) -> frozenset[str]:
    """All terms of a text in a language, as the lexical index would have them."""
    return frozenset(
        term
        for token in tokens(text)
        for slot in slots(token, lang).slots
        if not slots(token, lang).stop
        for term in slot
    )


def _weigh(
    question: Question, found: Sequence[_Candidate], sources: Sequence[Source], stop: Callable[[], None]
) -> None:
    """Give every candidate its score; the best by words and rank are compared in meaning."""
    for one in found:
        one.score = _WORDS * float(one.around.sum()) + _RANK / (1.0 + sources[one.source].rank) + _cue(question, one)
    if question.embed is None or question.vector is None:
        return
    for one in sorted(found, key=lambda one: (-one.score, one.source, one.at))[:EMBEDDED]:
        stop()
        vector = question.embed(f"{one.one.heading}: {one.one.text}" if one.one.heading else one.one.text)
        one.near = float(vector @ question.vector)
        one.score += _MEANING * max(one.near, 0.0)


def _cue(question: Question, one: _Candidate) -> float:
    """What the form of question and sentence say: steps for *how*, *X is ...* for *what is X*."""
    said = one.one
    bonus = 0.04 if said.lead else 0.0
    if _STEPS.match(question.text):
        bonus += {"steps": 0.12, "list": 0.05}.get(said.kind, 0.05 if _WAY.search(said.text) else 0.0)
    if _DEFINES.match(question.text) and said.lead and said.kind == "sentence":
        bonus += 0.15 if _IS.search(said.text) else 0.1
    if said.kind != "steps" and _QUANTITY.search(question.text) and _DIGIT.search(said.text):
        bonus += 0.2
    if _POINTS.match(said.text) or _REFERS.search(said.text):
        bonus -= 0.3
    if said.kind == "sentence" and len(said.text.split()) < _SHORT:
        bonus -= 0.1
    return bonus - {"index": 0.12, "row": 0.03}.get(said.kind, 0.0) - (0.05 if said.follows else 0.0)


def _greedy(good: Sequence[_Candidate], bounds: Bounds) -> list[_Candidate]:
    """The best, then by what each adds."""
    left = sorted(good, key=lambda one: (-one.score, one.source, one.at))
    best, chosen, size = left[0].score, [left[0]], len(left[0].one.text)
    open_ = _open(left[0])
    left = left[1:]
    while left and len(chosen) < bounds.count and size < bounds.chars:
        value, one = max(
            ((_gain(one, chosen, open_), one) for one in left), key=lambda pair: (pair[0], -pair[1].source, -pair[1].at)
        )
        if value < (bounds.kept if size >= THIN else _KEPT_IN_THIN) * best:
            break
        left.remove(one)
        if size + len(one.one.text) <= bounds.chars:
            chosen.append(one)
            size += len(one.one.text)
            if len(open_) == len(one.own):
                open_ = np.where(one.own > 0, 0.0, open_)
    return chosen


def _open(one: _Candidate) -> NDArray[np.float64]:
    """The things of the question that are not said yet: 1, else 0."""
    return np.where(one.own > 0, 0.0, 1.0)


def _gain(one: _Candidate, chosen: Sequence[_Candidate], open_: NDArray[np.float64]) -> float:
    new = float((one.own * open_).sum()) if len(open_) == len(one.own) else 0.0
    return one.score + _NEW * new - _LIKE * max(_likeness(one.words, other.words) for other in chosen)


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """Jaccard."""
    return len(one & other) / (len(one | other) or 1)


def _complete(chosen: list[_Candidate], found: Sequence[_Candidate]) -> list[_Candidate]:
    """A sentence that leans on the one before it is told with that one."""
    at = {(one.source, one.at): one for one in found}
    told = list(chosen)
    for one in chosen:
        before = at.get((one.source, one.at - 1))
        if one.one.follows and before is not None and before not in told and not before.one.follows:
            told.append(before)
    return told


def _said(one: _Candidate, sources: Sequence[Source]) -> Said:
    line = sources[one.source].chunk.start_line + one.one.line
    return Said(one.source, one.at, one.one.text, line, one.score, float(one.around.sum()), one.near)


def composed(said: Sequence[Said], numbers: Mapping[int, int]) -> str:
    """The answer's text: a paragraph a source, each ending in its number, which `numbers` gives by source."""
    parts = []
    for group in in_order(said):
        text = ""
        for one in group:
            text += ("\n" if "\n" in one.text or text.count("\n") else " ") * bool(text) + _NUMBERED.sub(
                r"(\1)", one.text
            )
        parts.append(f"{text} [{numbers[group[0].source]}]")
    return "\n\n".join(parts)
