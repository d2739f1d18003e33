"""What a full index reports while it runs and when it is done; shared by the daemon's core and the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Progress = Callable[[str, int, int], None]
"""``progress(stage, done, total)``: stages ``model``, ``notes``, ``vectors``, ``graph``, ``llm``; total 0: unknown."""


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
    llm_calls: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By purpose: calls, retries, failed, reused."""
    llm_pending: int = 0
    """Questions that have no usable reply yet."""

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
            *self._llm_rows(),
            ("Diagnostics", f"{self.diagnostics:,}"),
            ("Notes unreadable", f"{self.failed:,}"),
            ("Seconds", f"{self.seconds:.1f}"),
            ("Database size", f"{self.database_bytes / 1e6:.1f} MB"),
        ]

    def _llm_rows(self) -> list[tuple[str, str]]:
        """All calls, and where there were any those of each purpose. A retry is no call of its own."""
        used = {name: row for name, row in self.llm_calls.items() if any(row.values())}
        total = {key: sum(row[key] for row in used.values()) for key in ("calls", "retries", "failed", "reused")}
        rows = [("LLM calls", _calls(total))]
        if len(used) > 1 or total["calls"]:
            rows += [(f"  {name}", _calls(row)) for name, row in used.items()]
        if self.llm_pending:
            rows.append(("LLM pending", f"{self.llm_pending:,}"))
        return rows


def _calls(row: Mapping[str, int]) -> str:
    """``5 (2 retries, 1 failed, 3 reused)``; what is none is left out."""
    more = [f"{row[name]:,} {name}" for name in ("retries", "failed", "reused") if row.get(name)]
    return f"{row['calls']:,}" + (f" ({', '.join(more)})" if more else "")


def _or_dash(count: int | None) -> str:
    return "-" if count is None else f"{count:,}"
