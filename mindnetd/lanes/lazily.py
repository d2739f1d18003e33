"""A mapping of numbers whose values are made when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

V = TypeVar("V")


class Lazily(dict[int, V]):
    """number -> what `make` gives for it. Any thread: two that ask at once make equal values."""

    def __init__(self, make: Callable[[int], V]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, number: int) -> V:
        made = self[number] = self._make(number)
        return made
