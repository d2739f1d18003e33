"""The further questions of mode drift: made of what was found and how it hangs together, few, and always the same.

Between two things that the question names the way leads over what both are related to; from one it leads to its
heaviest relations. Names only: a follow-up is a search, nobody reads it as a sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

MAX_FOLLOW_UPS = 3

Weights = Mapping[int, float]
"""Entity -> weight of the heaviest relation to it."""


def follow_ups(
    named: Sequence[int], found: Sequence[int], related: Callable[[int], Weights], name: Callable[[int], str]
) -> list[str]:
    """At most MAX_FOLLOW_UPS texts. `named` are the entities of the question, `found` those of its results in order."""
    asked = list(named) or list(found[:2])
    texts: dict[str, None] = {}
    for one, other in combinations(asked[:3], 2):
        first, second = related(one), related(other)
        shared = [(min(first[n], second[n]), n) for n in first.keys() & second.keys() if n not in asked]
        for _, between in sorted(shared, key=lambda pair: (-pair[0], name(pair[1]), pair[1]))[:2]:
            texts[f"{name(one)} {name(between)} {name(other)}"] = None
    of_results = set(found)
    for one in asked[:3]:
        weights = related(one)
        order = sorted(weights, key=lambda n: (n not in of_results, -weights[n], name(n), n))
        for other in [n for n in order if n not in asked][:1]:
            texts[f"{name(one)} {name(other)}"] = None
    return list(texts)[:MAX_FOLLOW_UPS]
