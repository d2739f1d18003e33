"""The answer to a question: by an LLM where there is one, else, or where it fails, of the notes' own sentences.

Either way its citations are numbered from 1 and every one is a source that the answer was made from. An LLM that is
away, slow or wrong costs a warning and nothing else: the extractive answer is always there.

Not for: finding sources (``modes``), how Ollama is spoken to (``inference.llm``), the wire (``serving``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from mindnetd.core import answer_prompt as prompt
from mindnetd.core.citations import checked, citation, renumbered
from mindnetd.core.extract_answer import BROAD, Said, Source, choose, composed, in_order, opening
from mindnetd.core.lang import detect
from mindnetd.core.reports import Report
from mindnetd.core.stopwords import STOP_WORDS
from mindnetd.core.tokens import TokenCounter
from mindnetd.deadline import Deadline
from mindnetd.errors import MindnetError, ModelError
from mindnetd.modes import Found

PER_REPORT = 2
"""Sentences of its summary that a community has in an answer about everything."""
SHARE = 0.8
"""The share of what is left of a question's time that an LLM may use; then its answer is given up."""
FIRST_S = 24.0
"""So long an LLM may take for its first word, however long a stream may last."""
NOT_CALLED = ("llm_off", "llm_away", "llm_busy")
"""Errors of calls that were never made."""
MAPPED = 4
"""So many reports are read by an LLM for one question; each is a call."""
NOTHING = {"en": "Nothing in these notes answers this.", "de": "In diesen Notizen steht darauf keine Antwort."}

OnText = Callable[[str], None]


class AnswerError(ModelError):
    """An LLM's answer that is of no use: too late, empty or without a source."""


class AnswerModel(Protocol):
    """What an answer needs of ``inference.llm.Llm``."""

    def available(self) -> bool:
        """Whether a call may be made now. Must not block."""

    def stream(
        self, messages: Sequence[Mapping[str, str]], *, purpose: str, max_tokens: int, stop: Callable[[], bool]
    ) -> Iterator[str]:
        """The reply in pieces. Raises MindnetError."""

    def room(self, reply_tokens: int, parts: int = 1) -> int:
        """Tokens of sources that each of so many calls may hold; 0: it is too slow for an answer."""

    @property
    def model(self) -> str:
        """Its name."""


@dataclass
class Answer:
    """The reply's ``answer``, growing. ``calls`` counts requests to the LLM, failed ones too."""

    text: str
    source: str
    citations: list[dict[str, Any]]
    model: str | None = None
    calls: int = 0
    removed: int = 0
    warnings: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """The value of ``answer``."""
        return {
            "text": self.text,
            "source": self.source,
            "model": self.model,
            "citations": self.citations,
            "llm_calls": self.calls,
            "citations_removed": self.removed,
        }


class Answerer:
    """One for the whole process; any thread."""

    def __init__(self, counter: TokenCounter, llm: Callable[[], AnswerModel | None]) -> None:
        self._counter, self._llm = counter, llm

    def answer(self, found: Found, deadline: Deadline, on_text: OnText = lambda _: None) -> Answer:
        """Answer from `found`. `on_text` gets the text in pieces as it comes; what an LLM that failed said is void
        (``Answer.text`` holds). Raises Unavailable past the deadline."""
        llm = self._llm()
        if llm is None or not found.sources or not llm.available():
            return self._extractive(found, deadline, on_text)
        asking = _AskingLlm(llm, self._counter, found, deadline, on_text)
        try:
            return asking.answer()
        except MindnetError as error:
            deadline.check()
            answer = self._extractive(found, deadline, lambda _: None)
            answer.calls = asking.calls - (error.code in NOT_CALLED)
            answer.warnings.append(f"the LLM did not answer ({error.message}): answered from the notes' own sentences")
            return answer

    def _extractive(self, found: Found, deadline: Deadline, on_text: OnText) -> Answer:
        answer = extractive(found, deadline)
        for piece in answer.text.splitlines(keepends=True):
            on_text(piece)
        return answer


def extractive(found: Found, deadline: Deadline) -> Answer:
    """The answer of the notes' own sentences; says so where there is none."""
    if found.groups:
        return _by_report(found, deadline)
    said = choose(found.question, found.sources, deadline.check)
    first = _subjects(found, said)
    if not said and not (found.subjects and first):
        return _nothing(found)
    return _told([(None, one) for one in first] + [(None, said)] if first else [(None, said)], found.sources)


def _subjects(found: Found, said: Sequence[Said]) -> list[list[Said]]:
    """What each thing that the question relates is, in a sentence of its own note; not what is said anyway."""
    known = {one.text for one in said}
    told = []
    for at in found.subjects:
        one = opening(found.sources[at], at)
        if one is not None and one.text not in known:
            told.append([one])
    return told


def _by_report(found: Found, deadline: Deadline) -> Answer:
    """A paragraph a community: its title, and what it says about the question. Asked about everything: its summary."""
    sources = [source for _, mine in found.groups for source in mine]
    said = [] if found.whole else choose(found.question, sources, deadline.check, BROAD)
    parts: list[tuple[str | None, list[Said]]] = []
    first = 0
    for report, mine in found.groups:
        places = range(first, first + len(mine))
        own = summary_of(report, mine, first) if found.whole else [one for one in said if one.source in places]
        parts += [(report.title, own)] if own else []
        first += len(mine)
    return _told(parts, sources) if parts else _nothing(found)


def _nothing(found: Found) -> Answer:
    lang = detect(found.question.text)
    words = set(found.question.text.casefold().split())
    german = lang == "de" or (lang == "und" and bool(words & (STOP_WORDS["de"] - STOP_WORDS["en"])))
    return Answer(NOTHING["de" if german else "en"], "extractive", [])


def summary_of(report: Report, sources: Sequence[Source], first: int) -> list[Said]:
    """The first sentences of a community's summary; its sources are numbered from `first`."""
    at = {source.chunk.key: n for n, source in enumerate(sources)}
    kept = [(at[key], text) for key, text in report.sentences if key in at and text.strip()][:PER_REPORT]
    return [Said(first + n, place, text, _line(sources[n], text), 0, 0, 0) for place, (n, text) in enumerate(kept)]


def _line(source: Source, sentence: str) -> int:
    """The line that a sentence of a chunk stands in, as near as its first words tell."""
    start = " ".join(sentence.split()[:3])
    before, found, _ = source.chunk.text.partition(start)
    return source.chunk.start_line + (before.count("\n") if found else 0)


def _told(parts: Sequence[tuple[str | None, Sequence[Said]]], sources: Sequence[Source]) -> Answer:
    """Text and citations of what was chosen, part by part; a source has one number."""
    numbers: dict[int, int] = {}
    lines: dict[int, int] = {}
    texts = []
    for title, said in parts:
        for group in in_order(said):
            numbers.setdefault(group[0].source, len(numbers) + 1)
            lines.setdefault(group[0].source, group[0].line)
        text = composed(said, numbers)
        texts.append(f"{title}\n{text}" if title else text)
    citations = [citation(n, sources[at], lines[at]) for at, n in numbers.items()]
    return Answer("\n\n".join(texts), "extractive", citations)


class _AskingLlm:
    """One answer by an LLM. ``calls`` counts as they are made."""

    def __init__(
        self, llm: AnswerModel, counter: TokenCounter, found: Found, deadline: Deadline, on_text: OnText
    ) -> None:
        self._llm, self._counter, self._found, self._deadline, self._on_text = llm, counter, found, deadline, on_text
        self._until = time.monotonic() + min(deadline.remaining * SHARE, FIRST_S)
        self.calls = 0

    def answer(self) -> Answer:
        """Raises MindnetError where the LLM fails or is too slow."""
        found = self._found
        if found.groups:
            return self._reduced()
        messages, count = prompt.answer_messages(found.question.text, found.sources, self._counter, self._room(1))
        return self._checked(self._ask(messages, "answer", self._on_text), found.sources[:count])

    def _reduced(self) -> Answer:
        """Map over the reports, then reduce; numbers are those of the sources of all reports together."""
        points, sources = list[str](), list[Source]()
        groups = self._found.groups[:MAPPED]
        room = self._room(len(groups))
        for report, mine in groups:
            messages, count = prompt.map_messages(self._found.question.text, report, mine, self._counter, room)
            said = checked(self._ask(messages, "map"), count)
            if said.cited and not said.text.strip().upper().startswith("NOTHING"):
                base = len(sources)
                text, _ = renumbered(said.text, list(range(1, count + 1)), base)
                points.append(f"{report.title}: {text}")
            sources += mine[:count]
        if not points:
            raise AnswerError("no community says anything about it", code="llm_empty")
        messages = prompt.reduce_messages(self._found.question.text, points)
        return self._checked(self._ask(messages, "reduce", self._on_text), sources)

    def _room(self, parts: int) -> int:
        room = self._llm.room(prompt.REPLY_TOKENS, parts)
        if not room:
            raise AnswerError("it reads too slowly to answer in time", code="llm_slow")
        return min(room, prompt.SOURCE_TOKENS)

    def _ask(self, messages: prompt.Messages, purpose: str, on_text: OnText = lambda _: None) -> str:
        """One call. The text comes in pieces; the time is looked at between them and by the call itself."""
        self.calls += 1
        pieces: list[str] = []
        for piece in self._llm.stream(messages, purpose=purpose, max_tokens=prompt.REPLY_TOKENS, stop=self._over):
            self._deadline.check()
            if self._over():
                raise AnswerError("it is too slow", code="llm_slow")
            if not pieces:  # it speaks: now it may take the time that is left
                self._until = time.monotonic() + self._deadline.remaining * SHARE
            pieces.append(piece)
            on_text(piece)
        text = "".join(pieces).strip()
        if not text:
            raise AnswerError("an empty reply", code="llm_empty")
        return text

    def _over(self) -> bool:
        return self._deadline.over or time.monotonic() > self._until

    def _checked(self, text: str, sources: Sequence[Source]) -> Answer:
        """The answer with citations that exist, numbered in the order of the text."""
        good = checked(text, len(sources))
        if not good.cited:  # nobody could tell what it was made from; seen of small models, which then invent
            raise AnswerError("its answer cites no source that exists", code="llm_uncited")
        told, numbers = renumbered(good.text, good.cited)
        citations = [citation(n, sources[old - 1]) for old, n in numbers.items()]
        answer = Answer(told, "llm", citations, self._llm.model, self.calls, good.removed)
        if good.removed:
            answer.warnings.append(f"{good.removed} citations of sources that do not exist were taken out")
        return answer
