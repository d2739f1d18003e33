"""What a full index reports while it runs and when it is done; shared by the daemon's core and the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Progress = Callable[[str, int, int], None]
"""``progress(stage, done, total)``: stages ``model``, ``notes``, ``vectors``, ``graph``; total 0 while unknown."""


@dataclass(frozen=True)
class IndexSummary:
    """The figures of one full index. None: this version has no such thing."""

    documents: int
    chunks: int
    passages: int
    embeddings_made: int
    embeddings_reused: int
    failed: int
    """Notes that could not be read at all."""
    diagnostics: int
    seconds: float
    database_bytes: int
    vectors_missing: int = 0
    """Passages without a vector, because there was no model."""
    entities: int | None = None
    relationships: int | None = None
    communities: int | None = None
    llm_calls: int = 0

    def rows(self) -> list[tuple[str, str]]:
        """The table that ``mindnetd index`` prints: label and figure."""
        return [
            ("Documents", f"{self.documents:,}"),
            ("Chunks", f"{self.chunks:,}"),
            ("Passages", f"{self.passages:,}"),
            ("Entities", _or_dash(self.entities)),
            ("Relationships", _or_dash(self.relationships)),
            ("Communities", _or_dash(self.communities)),
            ("Embeddings made", f"{self.embeddings_made:,}"),
            ("Embeddings reused", f"{self.embeddings_reused:,}"),
            ("LLM calls", f"{self.llm_calls:,}"),
            ("Diagnostics", f"{self.diagnostics:,}"),
            ("Notes unreadable", f"{self.failed:,}"),
            ("Seconds", f"{self.seconds:.1f}"),
            ("Database size", f"{self.database_bytes / 1e6:.1f} MB"),
        ]


def _or_dash(count: int | None) -> str:
    return "-" if count is None else f"{count:,}"
