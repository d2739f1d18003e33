"""How lanes become one score. Pure arithmetic: what is explained is what is added.

`S = sum of the terms` in the order of the explanation; every later ranking rule is one more term, not a new road.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

FIELD_WEIGHTS: Mapping[str, float] = {"title": 2.0, "aliases": 1.0, "headings": 0.5, "tags": 1.0, "body": 1.0}
"""Weights of the BM25 fields. Sums of quarters are exact in floating point: no score depends on the order of adding."""

K1, B = 1.2, 0.75


@dataclass(frozen=True, slots=True)
class RetrievalSettings:
    """``retrieval.yaml`` as far as it is used by now. Swapped whole, never changed."""

    alpha: float = 0.49
    beta: float = 0.21
    fusion: Literal["weighted", "rrf"] = "weighted"
    k_l: int = 100
    k_v: int = 100
    rrf_k: int = 60
    title_weight: float = 2.0
    diversity: float = 0.1
    exclude_flags: tuple[str, ...] = ("draft", "needs_review", "private_journal")
    dense_languages: tuple[str, ...] = ("en",)
    """Languages the embedding model was made for; elsewhere the words lead. Empty: all."""
    foreign_dense_share: float = 0.35
    """Share of alpha + beta that the vectors keep for questions in other languages."""


@dataclass(frozen=True, slots=True)
class Term:
    """One term of a score: ``value`` in [0, 1] (diversity: [-1, 0]) times ``weight``."""

    value: float
    weight: float
    extra: Mapping[str, object] = field(default_factory=dict)

    @property
    def term(self) -> float:
        """What is added to the score."""
        return self.value * self.weight


def total(terms: Mapping[str, Term]) -> float:
    """The score: the terms added in their order, from the left."""
    score = 0.0
    for term in terms.values():
        score += term.term
    return score
