"""What a community is called and what it says of itself: its central entities, and the best sentences about them.

No model needed. A title is made of the names that hold a community together, none that says what another says already.
A summary takes sentences greedily by what they cover, how rare their words are in the community, where they stand and
how long they are, less their likeness to what is taken (maximal marginal relevance, Carbonell and Goldstein 1998).

Not for: Markdown (``core.statements``), finding communities (``core.leiden_graph``).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from mindnetd.core.analyze import slots, tokens
from mindnetd.core.identity import fold
from mindnetd.core.statements import statements
from mindnetd.core.stopwords import STOP_WORDS

IN_TITLE = 3
"""Names in a title at most, more only where two communities would be called the same."""
SENTENCES = 5
CHARS = 1000
"""A summary ends with the sentence that passes this."""
_LONG_NAME = 45
_SHORT, _LONG = 8, 40
"""Words of a sentence that reads well."""
_LEAST = 0.35
"""A further sentence must be worth this share of the first."""
_LIKE = 0.7
_SAME_NOTE = 0.25
_WORD = re.compile(r"[^\W_]+")
_GRAMMAR = STOP_WORDS["en"] | STOP_WORDS["de"]
_OPENS = re.compile(
    r"^(?:(?:an )?introduction to|intro to|about|overview of|getting started with"
    r"|(?:eine )?einführung (?:in|zu)(?: (?:die|das|den|der))?|über|überblick über|erste schritte mit)\s+(?=\S)",
    re.IGNORECASE,
)
"""What a title note says before the name of its subject."""
_CODE_LIKE = re.compile(r"[`{}<>=\\|$]|::|^[-./#@&]|\(\)|\w/\w|^\d[\d\W]*$|\.\w{1,4}$|^[a-z]+[-_][a-z_-]+$|_")
_GENERIC = re.compile(
    r"faq|frequently asked questions|häufig gestellte fragen|overview|übersicht|introduction|einführung|index|home"
    r"|start|start ?seite|readme|notes|notizen|examples?|beispiele?|resources|see also|siehe auch|todo|misc|links",
    re.IGNORECASE,
)
_LINKED = re.compile(r"https?:|\]\(|\[\[|\{\{")
_LEANS = re.compile(
    r"(?:this|these|that|those|it|they|he|she|but|and|or|so|also|however|then|here|below|above|note that|see|click"
    r"|for more|if you|to learn|learn more|refer"
    r"|dies|diese[rs]?|es|sie|er|aber|und|oder|auch|dann|hier|siehe|klicke?|weitere)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Member:
    """A member as its readers know it: ``central`` is its weight inside the community, ``share`` what part of all its
    weight that is (0 to 1). ``own`` is true for an entity that is a note."""

    name: str
    aliases: tuple[str, ...]
    central: float
    share: float
    own: bool
    type: str


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk to take sentences from. ``about`` is the member whose note it begins, else -1."""

    chunk_id: str
    chunk_key: int
    note: int
    lang: str
    text: str
    about: int


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a summary; ``source`` is the index of its passage."""

    source: int
    text: str


# ---------------------------------------------------------------------------------------------------------------- title


def ranked(members: Sequence[Member]) -> list[int]:
    """Members by how well they name the community: central to it, at home in it, and called like a thing."""
    return sorted(range(len(members)), key=lambda n: (-_naming(members[n]), fold(members[n].name), n))


def _naming(member: Member) -> float:
    worth = member.central * math.sqrt(member.share)
    if member.own:
        worth *= 1.5
    if member.type in ("tag", "url", "date", "file"):
        worth *= 0.4
    if _CODE_LIKE.search(member.name) or len(member.name) > _LONG_NAME:
        worth *= 0.3
    if _GENERIC.fullmatch(member.name):
        worth *= 0.2
    return worth


def title_of(members: Sequence[Member], order: Sequence[int], count: int = IN_TITLE) -> str:
    """The first `count` names of `order` (as of `ranked`) that say something new, joined by commas.

    Where all names are alike (``file.size``, ``file.name``) only those are left out that another one holds whole.
    """
    names = [_OPENS.sub("", " ".join(members[number].name.split())).strip("# ") for number in order]
    taken = _unlike(names, count, 0.5)
    return ", ".join(taken if len(taken) > 1 else _unlike(names, count, 1.0))


def _unlike(names: Sequence[str], count: int, most: float) -> list[str]:
    taken: list[str] = []
    for name in names:
        if name and not any(_repeats(name, other, most) for other in taken):
            taken.append(name)
            if len(taken) == count:
                break
    return taken


def _repeats(one: str, other: str, most: float) -> bool:
    """Whether one name says what the other says: `most` of the longer one's words, or all of the shorter one's."""
    first, second = _telling(one), _telling(other)
    if not first or not second:
        return fold(one) == fold(other)
    shorter, longer = sorted((first, second), key=len)
    both = sum(any(_alike(word, theirs) for theirs in longer) for word in shorter)
    return both == len(shorter) or both >= most * len(longer)


def _telling(name: str) -> list[str]:
    """The words of a name but for those that carry grammar; all where there are no others."""
    words = _WORD.findall(name.casefold())
    return [word for word in words if word not in _GRAMMAR] or words


def _alike(one: str, other: str) -> bool:
    """The same word but for its ending, or one inside the other as German compounds have it."""
    shorter, longer = sorted((one, other), key=len)
    if shorter == longer:
        return True
    if len(shorter) >= 4 and longer.startswith(shorter[: max(4, len(shorter) - 1)]) and len(longer) - len(shorter) <= 3:
        return True
    return len(shorter) >= 5 and (longer.endswith(shorter) or longer.startswith(shorter))


# -------------------------------------------------------------------------------------------------------------- summary


@dataclass(slots=True)
class _Candidate:
    source: int
    at: int
    text: str
    names: frozenset[int]
    words: frozenset[str]
    score: float


def summary_of(members: Sequence[Member], order: Sequence[int], passages: Sequence[Passage]) -> list[Sentence]:
    """At most `SENTENCES` sentences of `passages` about the first of `order`, the best first."""
    spotter = _Spotter(members, order)
    found = _candidates(spotter, passages)
    if not found:
        return []
    _weigh(found, members, order, passages)
    return _greedy(found, passages)


class _Spotter:
    """Finds the members that a sentence names."""

    def __init__(self, members: Sequence[Member], order: Sequence[int]) -> None:
        self._by_name: dict[str, int] = {}
        for number in order[:40]:
            for name in (members[number].name, *members[number].aliases[:4]):
                key = fold(name)
                if len(key) > 2:
                    self._by_name.setdefault(key, number)
        names = sorted(self._by_name, key=lambda name: (-len(name), name))
        inside = "|".join(re.escape(name) for name in names) or "(?!)"
        self._pattern = re.compile(rf"(?<!\w)(?:{inside})(?:s|n|en|es)?(?!\w)")

    def named(self, text: str) -> frozenset[int]:
        hits = (match[0] for match in self._pattern.finditer(fold(text)))
        return frozenset(self._member(hit) for hit in hits)

    def _member(self, hit: str) -> int:
        for cut in (0, 1, 2):
            number = self._by_name.get(hit[: len(hit) - cut])
            if number is not None:
                return number
        raise KeyError(hit)  # the pattern has no other ending


def _candidates(spotter: _Spotter, passages: Sequence[Passage]) -> list[_Candidate]:
    found: list[_Candidate] = []
    seen: set[str] = set()
    for number, passage in enumerate(passages):
        for at, text, lead in _fit_to_tell(passage.text):
            if text in seen:
                continue
            seen.add(text)
            names = set(spotter.named(text))
            if passage.about >= 0 and lead and at < 2:
                names.add(passage.about)
            if names:
                found.append(_Candidate(number, at, text, frozenset(names), _terms(text, passage.lang), 0.0))
    return found


@lru_cache(maxsize=256)
def _fit_to_tell(text: str) -> tuple[tuple[int, str, bool], ...]:
    """The sentences of a chunk that can stand alone: place among its statements, text, whether it leads.

    Remembered for a while: a community and its parts look at the same chunks.
    """
    found = []
    for at, one in enumerate(statements(text)):
        said = " ".join(one.text.split())
        if one.kind != "sentence" or one.follows or _LINKED.search(said):
            continue
        if not said.endswith(("?", ":")) and said[:1] not in "-*|>" and any(c.isalpha() for c in said[:3]):
            found.append((at, said, one.lead))
    return tuple(found)


@lru_cache(maxsize=2048)
def _terms(text: str, lang: str) -> frozenset[str]:
    found: set[str] = set()
    for token in tokens(text):
        slot = slots(token, lang)
        if not slot.stop:
            found.add(token.casefold()[:6])
    return frozenset(found)


def _weigh(
    found: Sequence[_Candidate], members: Sequence[Member], order: Sequence[int], passages: Sequence[Passage]
) -> None:
    worth = {number: _naming(members[number]) for number in order}
    total = sum(sorted(worth.values(), reverse=True)[:5]) or 1.0
    holding = Counter(word for one in found for word in one.words)
    for one in found:
        covered = min(1.0, sum(sorted((worth.get(n, 0.0) for n in one.names), reverse=True)[:4]) / total)
        rarity = _rarity(one.words, holding, len(found))
        words = len(one.text.split())
        length = 1.0 if _SHORT <= words <= _LONG else (0.5 if words < _SHORT else max(0.2, _LONG / words - 0.2))
        place = 1.0 / (1 + one.at / 3)
        first = 1.0 if passages[one.source].about in one.names and one.at < 2 else 0.0
        one.score = (
            0.5 * covered + 0.15 * rarity + 0.15 * place + 0.35 * first * _fraction(worth, passages[one.source].about)
        ) * length
        if _LEANS.match(one.text):
            one.score *= 0.5
        if not one.text.endswith((".", "!", "。", "…")):
            one.score *= 0.6


def _fraction(worth: Mapping[int, float], number: int) -> float:
    return worth.get(number, 0.0) / (max(worth.values()) or 1.0)


def _rarity(words: frozenset[str], holding: Mapping[str, int], count: int) -> float:
    """Words that many sentences of the community share make one typical of it, words of all of them make it empty."""
    if not words:
        return 0.0
    shared = [math.log(1 + holding[word]) * math.log(1 + count / holding[word]) for word in words]
    return min(1.0, sum(shared) / len(shared) / (math.log(1 + count) ** 2 / 2 + 1))


def _greedy(found: list[_Candidate], passages: Sequence[Passage]) -> list[Sentence]:
    taken: list[_Candidate] = []
    size = 0
    rest = sorted(found, key=lambda one: (-one.score, one.source, one.at))
    while rest and len(taken) < SENTENCES and size < CHARS:
        worth = [one.score - _likeness(one, taken, passages) for one in rest]
        best = max(range(len(rest)), key=lambda n: (worth[n], -n))
        if taken and worth[best] < _LEAST * taken[0].score:
            break
        one = rest.pop(best)
        taken.append(one)
        size += len(one.text)
    return [Sentence(one.source, one.text) for one in taken]


def _likeness(one: _Candidate, taken: Sequence[_Candidate], passages: Sequence[Passage]) -> float:
    if not taken:
        return 0.0
    words = max(len(one.words & other.words) / (min(len(one.words), len(other.words)) or 1) for other in taken)
    names = max(len(one.names & other.names) / len(one.names) for other in taken)
    near = any(passages[one.source].note == passages[other.source].note for other in taken)
    return _LIKE * one.score * (0.6 * words + 0.4 * names) + (_SAME_NOTE * one.score if near else 0.0)
