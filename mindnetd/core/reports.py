"""Which community reports a question over the whole is answered from: rules over plain records.

Relevance of a community is what the search found of it: every hit that mentions a member counts by its rank, a member
or title that the question names counts most; large communities need more to be as relevant. A question that names no
topic gets the largest communities of the coarsest level. A community that mostly repeats a chosen one is left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

REPEATS = 0.5
"""Share of the members of the smaller of two communities that makes them one subject."""
NAMED = 1.5
"""A member that the question names counts as much as one and a half best hits."""


@dataclass(frozen=True, slots=True)
class Report:
    """A community as one asker may see it. ``sentences`` are (chunk key, sentence) of its summary, in order."""

    id: str
    label: str
    level: int
    title: str
    summary: str
    summary_source: str
    updated: str
    members: frozenset[int]
    sentences: tuple[tuple[int, str], ...]

    def as_dict(self) -> dict[str, object]:
        """The entry of ``communities``."""
        return {
            "id": self.id,
            "label": self.label,
            "level": self.level,
            "title": self.title,
            "size": len(self.members),
            "summary": self.summary,
            "summary_source": self.summary_source,
            "updated": self.updated,
        }


class Reports:
    """All communities as one asker may see them, ready to be chosen from. Made once, never changed."""

    def __init__(self, reports: Sequence[Report]) -> None:
        self.all = tuple(reports)
        self._of: dict[int, list[Report]] = {}
        for report in self.all:
            for member in report.members:
                self._of.setdefault(member, []).append(report)

    def chosen(self, worth: Mapping[int, float], count: int, *, whole: bool) -> list[Report]:
        """At most `count` reports, the best first; `worth` is what each entity counts, `whole` asks for no topic."""
        if whole:
            top = min((report.level for report in self.all), default=0)
            ranked = sorted((r for r in self.all if r.level == top), key=lambda r: (-len(r.members), r.title, r.id))
        else:
            scores = self._relevant(worth)
            found = [report for report, score in scores.values() if score > 0]
            ranked = sorted(found, key=lambda r: (-scores[r.id][1], r.level, r.title, r.id))
        taken: list[Report] = []
        for report in ranked:
            if len(taken) == count:
                break
            if all(not _repeats(report, other) for other in taken):
                taken.append(report)
        return taken

    def _relevant(self, worth: Mapping[int, float]) -> dict[str, tuple[Report, float]]:
        """The reports with a member that counts, and how relevant they are. Most reports have none: not looked at."""
        near = {report.id: report for member in worth for report in self._of.get(member, ())}
        return {key: (report, relevance(report, worth)) for key, report in near.items()}


def relevance(report: Report, worth: Mapping[int, float]) -> float:
    """What the members count, over the root of how many there are (so that neither one name nor sheer size decides)."""
    found = sum(value for member, value in worth.items() if member in report.members)
    return found / math.sqrt(len(report.members) + 4.0)


def _repeats(one: Report, other: Report) -> bool:
    smaller = min(len(one.members), len(other.members)) or 1
    return len(one.members & other.members) > REPEATS * smaller
