"""How sure a suggestion is, and what neighbours vote for. Figures: docs/decisions/0015-suggestions.md.

All confidences are in [0, 1] and rank suggestions; they are no probabilities of anything.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from mindnetd.core.suggest_names import Mention, words_of

TOO_COMMON = 0.1
"""A name of one word that stands in more than this share of the notes (and in over `FEW` of them) is no mention."""
FEW = 5
NEAR_FLOOR = 0.5
"""Cosines of the closest passages below are no suggestion."""
NEAR_BEST = 0.6
"""The confidence that nearness alone reaches: no word says that one means the other."""
NEAR_MARGIN = 0.15
"""By how much a cosine is above that of the farther neighbours where it counts in full."""
VOTE_PRIOR = 1.0
"""Weight of neighbours nobody has seen that have none of it: one voter alone is not sure (additive smoothing)."""


def mention_confidence(mention: Mention, holders: int, notes: int) -> float:
    """Of a mention whose words stand in `holders` of `notes` notes; 0 where the words are too common to say anything.

    Rarity is the inverse document frequency (Spärck Jones 1972), relative to that of a word in one note.
    """
    words = len(words_of(mention.name).split())
    if not holders or (words == 1 and holders > max(FEW, TOO_COMMON * notes)):
        return 0.0
    rarity = math.log((notes + 1) / (holders + 0.5)) / math.log((notes + 1) / 0.5) if notes else 0.0
    value = 0.35 + 0.4 * max(0.0, min(rarity, 1.0)) + (0.2 if words > 1 else 0.0)
    if not mention.same_case:
        value *= 0.75 if words > 1 else 0.5
    if not mention.exact:
        value *= 0.85
    if len(mention.notes) > 1:
        value *= 0.8
    return min(value, 1.0)


def near_confidence(cosine: float, usual: float) -> float:
    """Of a note whose closest passage has this cosine, where that of the farther neighbours is `usual`.

    Nearness that many notes have is that of a template, not of a subject: only what stands out counts, as in CSLS
    (Conneau and others 2018), of one side.
    """
    if cosine < NEAR_FLOOR:
        return 0.0
    return NEAR_BEST * min(cosine, 1.0) * max(0.0, min((cosine - usual) / NEAR_MARGIN, 1.0))


@dataclass(frozen=True, slots=True)
class Voter:
    """A note whose values count: its weight, and why it has a say."""

    path: str
    weight: float
    why: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Elected:
    """A value, how sure, and who has it, heaviest first."""

    value: str
    confidence: float
    voters: tuple[Voter, ...]


def vote(voters: Iterable[Voter]) -> list[Elected]:
    """Every value by its share of all weight, best first; values are compared without case, spelled as most do."""
    total = VOTE_PRIOR
    held: dict[str, list[Voter]] = defaultdict(list)
    spelled: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for voter in voters:
        total += voter.weight
        for value in dict.fromkeys(voter.values):
            key = value.casefold()
            if not held[key] or held[key][-1] is not voter:
                held[key].append(voter)
            spelled[key][value] += voter.weight
    elected = []
    for key, having in held.items():
        name = min(spelled[key], key=lambda one: (-spelled[key][one], one))
        having = sorted(having, key=lambda voter: (-voter.weight, voter.path))
        elected.append(Elected(name, sum(voter.weight for voter in having) / total, tuple(having)))
    return sorted(elected, key=lambda one: (-one.confidence, one.value))
