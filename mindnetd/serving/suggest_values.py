"""Tags, type and status by what the notes around one have. All notes that come in here are shown ones."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mindnetd.core.records import NoteMeta
from mindnetd.core.suggest import Voter, vote
from mindnetd.core.suggest_names import fold

Json = dict[str, Any]
LEAST_TAG, LEAST_VALUE = 0.2, 0.4
IN_TEXT = 0.4
"""Of a tag whose name is a word of the text."""
SHORTEST_TAG = 4
MOST_SHOWN = 5
FOLDER, SHAPE = 0.5, 0.5
"""Weight of a note of the same folder, and what equal frontmatter keys add to it."""
MOST_OF_FOLDER = 50
_WORD = re.compile(r"[^\W_]+(?:[-_][^\W_]+)*")


class ShownNotes:
    """All notes that somebody may see, with their tags by folded name, and by folder in the order of paths."""

    def __init__(self, notes: Sequence[NoteMeta]) -> None:
        self.notes = notes
        self.tags: dict[str, str] = {}
        self.folders: dict[str, list[NoteMeta]] = {}
        for meta in sorted(notes, key=lambda one: one.path):
            self.folders.setdefault(meta.path.rpartition("/")[0], []).append(meta)
            for tag in meta.tags:
                self.tags.setdefault(fold(tag), tag)


@dataclass(frozen=True, slots=True)
class Neighbours:
    """A note, the notes linked with it, those near it with how near, and all that are shown."""

    meta: NoteMeta
    linked: Sequence[NoteMeta]
    near: Sequence[tuple[NoteMeta, float]]
    shown: ShownNotes


def suggest_tags(meta: NoteMeta, text: str, body_line: int, around: Neighbours) -> list[Json]:
    """Tags that neighbours have or the text names and the note lacks, surest first."""
    has = {fold(tag) for tag in meta.tags}
    has |= {tag[:at] for tag in has for at, c in enumerate(tag) if c == "/"}
    voters = [Voter(one.path, 1.0, "linked", one.tags) for one in around.linked]
    voters += [Voter(one.path, weight, "near", one.tags) for one, weight in around.near]
    rows: dict[str, Json] = {}
    for one in vote(voters):
        evidence = [{"path": v.path, "why": v.why} for v in one.voters[:MOST_SHOWN]]
        rows[fold(one.value)] = {"tag": one.value, "confidence": one.confidence, "evidence": evidence}
    first: dict[str, int] = {}
    for match in _WORD.finditer(text):
        first.setdefault(fold(match[0]), match.start())
    for key, tag in around.shown.tags.items():
        at = first.get(key.rpartition("/")[2], -1)
        if at >= 0 and len(key.rpartition("/")[2]) >= SHORTEST_TAG:
            row = rows.setdefault(key, {"tag": tag, "confidence": 0.0, "evidence": []})
            row["confidence"] = 1 - (1 - row["confidence"]) * (1 - IN_TEXT)
            row["evidence"].append({"why": "a word of the text", "line": body_line + text.count("\n", 0, at)})
    kept = [row for key, row in rows.items() if key not in has and row["confidence"] >= LEAST_TAG]
    kept.sort(key=lambda row: (-row["confidence"], row["tag"]))
    return [{**row, "confidence": round(row["confidence"], 4)} for row in kept]


def suggest_value(around: Neighbours, value_of: Callable[[NoteMeta], str | None]) -> Json | None:
    """The type or status that most of the notes around have, with who has it; None where they do not agree."""
    folder = around.meta.path.rpartition("/")[0]
    keys = _keys(around.meta)
    linked = {one.id for one in around.linked}
    voters = [_voter(one, 1.0, "linked", value_of) for one in around.linked]
    voters += [_voter(one, weight, "near", value_of) for one, weight in around.near]
    others = linked | {around.meta.id}
    beside = [meta for meta in around.shown.folders.get(folder, ())[: MOST_OF_FOLDER * 2] if meta.id not in others]
    for one in beside[:MOST_OF_FOLDER]:
        alike = bool(keys) and _keys(one) >= keys
        voters.append(_voter(one, FOLDER + SHAPE * alike, "same folder" + ", same keys" * alike, value_of))
    elected = vote(voters)
    if not elected or elected[0].confidence < LEAST_VALUE:
        return None
    best = elected[0]
    evidence = [{"path": voter.path, "why": voter.why} for voter in best.voters[:MOST_SHOWN]]
    return {"value": best.value, "confidence": round(best.confidence, 4), "evidence": evidence}


def _voter(meta: NoteMeta, weight: float, why: str, value_of: Callable[[NoteMeta], str | None]) -> Voter:
    value = value_of(meta)
    return Voter(meta.path, weight, why, (value,) if value else ())


def _keys(meta: NoteMeta) -> frozenset[str]:
    return frozenset(key.lower() for key in json.loads(meta.frontmatter_json or "{}"))
