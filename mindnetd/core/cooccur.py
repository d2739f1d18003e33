"""Which entities belong together: pairs that share more chunks than chance would give them.

The test is the log-likelihood ratio of a two-by-two table (T. Dunning, Accurate Methods for the Statistics of Surprise
and Coincidence, Computational Linguistics 19(1), 1993), which unlike the chi-square holds for rare events. The weight
is the normalised pointwise mutual information (G. Bouma, Normalized (Pointwise) Mutual Information in Collocation
Extraction, GSCL 2009) times the logarithm of the count, so that neither one chance meeting nor mere frequency wins.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

SIGNIFICANT = 10.83
"""The chi-square of one degree of freedom at p = 0.001."""
LEAST = 2
"""Chunks that a pair must share."""
MOST_IN_A_CHUNK = 48
"""A list of five hundred links says little about any pair of them: the rarest so many count."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs ``one`` < ``other`` with the chunks they share; ``support`` is the pair of each ``chunk``, both sorted."""

    one: Ints
    other: Ints
    count: Ints
    weight: Floats
    support: Ints
    chunk: Ints


def pairs_of(entity: Ints, chunk: Ints, entities: int, chunks: int) -> Pairs:
    """Significant pairs. `entity` and `chunk` are the mentions, each once; `chunks` is how many there are at all.

    Deterministic: depends on the set of mentions, not on their order.
    """
    order = np.lexsort((entity, chunk))
    entity, chunk = entity[order], chunk[order]
    df = np.bincount(entity, minlength=entities).astype(np.int64)
    codes, places = _joint(entity, chunk, df, entities)
    order = np.lexsort((places, codes))
    codes, places = codes[order], places[order]
    unique, support, count = np.unique(codes, return_inverse=True, return_counts=True)
    one, other = unique // entities, unique % entities
    score = log_likelihood(count, df[one], df[other], chunks)
    expected = df[one] * df[other] / max(chunks, 1)
    kept = (count >= LEAST) & (score >= SIGNIFICANT) & (count > expected)
    numbers = np.cumsum(kept) - 1
    mine = kept[support]
    weight = npmi(count[kept], df[one[kept]], df[other[kept]], chunks) * (1 + np.log(count[kept]))
    return Pairs(
        one[kept], other[kept], count[kept].astype(np.int64), np.round(weight, 6), numbers[support[mine]], places[mine]
    )


def _joint(entity: Ints, chunk: Ints, df: Ints, entities: int) -> tuple[Ints, Ints]:
    """Every pair in every chunk: its code (one * entities + other) and the chunk."""
    codes, places = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    bounds = np.flatnonzero(np.r_[True, chunk[1:] != chunk[:-1], True]).tolist() if len(chunk) else []
    for start, end in pairwise(bounds):
        members = entity[start:end]
        if len(members) > MOST_IN_A_CHUNK:
            rarest = np.lexsort((members, df[members]))[:MOST_IN_A_CHUNK]
            members = np.sort(members[rarest])
        if len(members) > 1:
            rows, columns = np.triu_indices(len(members), 1)
            codes.append(members[rows] * entities + members[columns])
            places.append(np.full(len(rows), chunk[start], dtype=np.int64))
    return np.concatenate(codes), np.concatenate(places)


def log_likelihood(both: Ints, one: Ints, other: Ints, total: int) -> Floats:
    """Dunning's G2 of pairs: `both` chunks with both, `one` and `other` with each, of `total`."""
    k11 = both.astype(np.float64)
    k12, k21 = one - k11, other - k11
    k22 = np.maximum(total - k11 - k12 - k21, 0.0)
    table = (_xlogx(k11) + _xlogx(k12) + _xlogx(k21) + _xlogx(k22)) + _xlogx(k11 + k12 + k21 + k22)
    margins = _xlogx(k11 + k12) + _xlogx(k21 + k22) + _xlogx(k11 + k21) + _xlogx(k12 + k22)
    return np.asarray(np.maximum(2 * (table - margins), 0.0))


def _xlogx(x: Floats) -> Floats:
    return np.asarray(np.where(x > 0, x * np.log(np.maximum(x, 1.0)), 0.0))


def npmi(both: Ints, one: Ints, other: Ints, total: int) -> Floats:
    """Normalised pointwise mutual information in [-1, 1]; 1 where the two are always together."""
    share = both / max(total, 1)
    always = share >= 1
    pmi = np.log(np.maximum(both * float(total), 1.0) / np.maximum(one * other.astype(np.float64), 1.0))
    return np.asarray(np.where(always, 1.0, pmi / np.where(always, 1.0, -np.log(np.maximum(share, 1e-12)))))
