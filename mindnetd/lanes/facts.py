"""What notes are by themselves, whatever is asked: dates, types and overrides as columns by note slot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mindnetd.core.dating import dated_at
from mindnetd.core.records import NoteMeta
from mindnetd.lanes.codes import Codes

if TYPE_CHECKING:
    from mindnetd.core.typetable import TypeTable

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Facts:
    """Immutable columns; NaN where a note does not say."""

    at: Floats
    """Seconds since 1970 (`core.dating`)."""
    type: NDArray[np.int16]
    """Code in ``types``."""
    weight: Floats
    """The note's own retriever weight."""
    relevance: Floats
    fixed_time: Floats
    """``time_weight_override``."""
    types: Codes
    _kept: list[tuple[TypeTable, Floats]] = field(default_factory=list, compare=False)

    def with_notes(self, slots: Sequence[int], notes: Sequence[NoteMeta], size: int) -> Facts:
        """The columns with these notes at these slots, of `size` in all."""
        facts = Facts(
            _grown(self.at, size),
            _grown(self.type, size),
            _grown(self.weight, size),
            _grown(self.relevance, size),
            _grown(self.fixed_time, size),
            self.types,
            self._kept,
        )
        facts.at[slots] = [dated_at(note) for note in notes]
        facts.type[slots] = [self.types.give(note.type or "") for note in notes]
        facts.weight[slots] = [_or_nan(note.retriever_weight) for note in notes]
        facts.relevance[slots] = [_or_nan(note.relevance) for note in notes]
        facts.fixed_time[slots] = [_or_nan(note.time_weight_override) for note in notes]
        return facts

    def type_weights(self, slots: NDArray[np.int32], table: TypeTable) -> Floats:
        """The retriever weight of these notes: their own, else that of their type."""
        own = self.weight[slots]
        return np.where(np.isnan(own), self._by_code(table)[self.type[slots]], own)

    def _by_code(self, table: TypeTable) -> Floats:
        """The weights of all types that notes have; the last answer is kept, since most questions ask for it."""
        names = self.types.texts
        if not self._kept or self._kept[0][0] is not table or len(self._kept[0][1]) < len(names):
            self._kept[:] = [(table, np.array([table.weight_of(name) for name in list(names)]))]
        return self._kept[0][1]


def no_facts() -> Facts:
    """Of no notes."""
    none = np.zeros(0)
    return Facts(none, np.zeros(0, np.int16), none, none, none, Codes())


def _or_nan(value: float | None) -> float:
    return np.nan if value is None else value


def _grown(column: NDArray, size: int) -> NDArray:  # type: ignore[type-arg]
    out = np.zeros(size, column.dtype)
    out[: len(column)] = column
    return out
