"""What a question gets back: the records behind the reply to ``POST /query``, and how they look as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from mindnetd.core.rank import Term
from mindnetd.core.records import NoteMeta


@dataclass(frozen=True, slots=True)
class ChunkText:
    """The texts of one chunk, as the store has them."""

    key: int
    id: str
    idx: int
    section: tuple[str, ...]
    start_line: int
    end_line: int
    text: str
    overlap_left: str
    overlap_right: str


class TextSource(Protocol):
    """Where chunk texts come from."""

    def texts(self, keys: Sequence[int]) -> Mapping[int, ChunkText]:
        """The chunks of these keys; a key that is missing was rewritten meanwhile."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One result. ``chunk`` is None for a note without text. ``terms`` sum to ``score``."""

    rank: int
    score: float
    note: NoteMeta
    chunk: ChunkText | None
    snippet: str
    highlights: tuple[tuple[int, int], ...]
    terms: Mapping[str, Term]
    lanes: Mapping[str, tuple[int, float]]
    """lane -> (rank, score) there."""

    def as_dict(self, *, explain: bool) -> dict[str, Any]:
        """The entry of ``results``."""
        note, chunk = self.note, self.chunk
        shown: dict[str, Any] = {"rank": self.rank, "score": self.score}
        shown["note"] = {
            "id": note.id,
            "note_id": note.note_id,
            "path": note.path,
            "title": note.title,
            "type": note.type,
            "status": note.status,
            "tags": list(note.tags),
            "visibility": note.visibility,
            "modified": note.modified,
        }
        shown["chunk"] = chunk and {
            "id": chunk.id,
            "idx": chunk.idx,
            "section": list(chunk.section),
            "start_line": chunk.start_line,
            "end_line": chunk.end_line,
            "text": chunk.text,
            "window": chunk.overlap_left + chunk.text + chunk.overlap_right,
            "snippet": self.snippet,
            "highlights": [list(span) for span in self.highlights],
        }
        if explain:
            terms = {
                n: {"value": t.value, "weight": t.weight, "term": t.term, **t.extra} for n, t in self.terms.items()
            }
            lanes = {name: {"rank": rank, "score": score} for name, (rank, score) in self.lanes.items()}
            shown["explain"] = {**terms, "lanes": lanes}
        return shown


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The reply to a question."""

    query_id: str
    mode: str
    mode_reason: str
    revision: int
    took_ms: Mapping[str, float]
    ready: int
    pending: int
    warnings: tuple[str, ...]
    hits: tuple[Hit, ...]
    explain: bool = True
    entities: tuple[Mapping[str, Any], ...] = ()
    relationships: tuple[Mapping[str, Any], ...] = ()
    communities: tuple[Mapping[str, Any], ...] = ()
    follow_ups: tuple[Mapping[str, Any], ...] = ()
    """What mode drift searched for besides: ``text``, and the ids of the ``chunks`` found."""
    answer: Mapping[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        """The body of the reply to ``POST /query``."""
        return {
            "query_id": self.query_id,
            "mode": self.mode,
            "mode_reason": self.mode_reason,
            "revision": self.revision,
            "took_ms": {name: round(ms, 3) for name, ms in self.took_ms.items()},
            "vectors": {"ready": self.ready, "pending": self.pending},
            "warnings": list(self.warnings),
            "results": [hit.as_dict(explain=self.explain) for hit in self.hits],
            "entities": list(self.entities),
            "relationships": list(self.relationships),
            "communities": list(self.communities),
            "follow_ups": list(self.follow_ups),
            "answer": self.answer,
        }
