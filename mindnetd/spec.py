"""A question as it travels from the socket to the store."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from mindnetd.core.filters import Filters
from mindnetd.errors import Unavailable

LANES = ("lexical", "dense", "title")
MAX_TOP_K = 1000


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment of the monotonic clock after which a request is given up."""

    at: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """The moment `seconds` from now."""
        return cls(time.monotonic() + seconds)

    def check(self) -> None:
        """Raise Unavailable (``timeout``) when it has passed."""
        if time.monotonic() > self.at:
            raise Unavailable("the query took longer than its deadline; ask for less or try again", code="timeout")


@dataclass(frozen=True, slots=True)
class QuerySpec:
    """One question, from socket to store: the fields of ``POST /query``."""

    text: str
    mode: str = "auto"
    top_k: int = 10
    lanes: tuple[str, ...] = LANES
    filters: Filters = field(default_factory=Filters)
    graph_hops: int = 1
    explain: bool = True
    prefix: bool = False
    """Take the last word as the beginning of a word."""
