"""A question as it travels from the socket to the store."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from mindnetd.core.filters import Filters

Lane = Literal["lexical", "dense", "title"]
LANES: tuple[Lane, ...] = ("lexical", "dense", "title")
MAX_TOP_K = 1000
MAX_HOPS = 4


@dataclass(frozen=True, slots=True)
class QuerySpec:
    """One question, from socket to store: the fields of ``POST /query``."""

    text: str
    mode: str = "auto"
    top_k: int = 10
    lanes: tuple[str, ...] = LANES
    filters: Filters = field(default_factory=Filters)
    graph_hops: int | None = None
    """How far the graph term walks, 0: not at all; None: as `RetrievalSettings.hops` says."""
    explain: bool = True
    prefix: bool = False
    """Take the last word as the beginning of a word."""
