"""Why a note is where it is in the answer to a question, or why it is not there: ``POST /explain``.

The same lanes and the same scoring as the search itself, with the note's documents among the candidates whatever kept
them out. Not for: making anything up that the search does not do.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mindnetd.core.filters import DateRange, Filters, compile_filters
from mindnetd.core.query import QuerySpec
from mindnetd.core.records import NoteMeta
from mindnetd.core.results import Hit
from mindnetd.deadline import Deadline
from mindnetd.lanes import lexical
from mindnetd.lanes.candidates import Asked, Lanes, Ranked, score
from mindnetd.modes import LOOKED_AT
from mindnetd.search import Searcher, Weighed

Json = dict[str, Any]
Slots = NDArray[np.int64]
NARROWING = ("types", "tags", "status", "paths", "lang", "created", "modified", "frontmatter")


class Explaining:
    """One question about one note, which the asker may see (``note``: its key)."""

    def __init__(self, searcher: Searcher, spec: QuerySpec, note: int, deadline: Deadline) -> None:
        self._searcher, self._key, self._deadline, self._top_k = searcher, note, deadline, spec.top_k
        looked_at = max(spec.top_k, LOOKED_AT)  # as the search itself
        self._spec = dataclasses.replace(spec, mode="local", top_k=looked_at, explain=True)
        self._warnings: list[str] = []
        if spec.mode == "global":
            self._warnings.append("mode global answers from communities; this is about the search below it")

    def run(self) -> Json | None:
        """The body of the reply; None where the note has gone meanwhile. Raises BadRequest, Unavailable."""
        weighed = self._searcher.weigh(self._spec, self._deadline, self._warnings)
        asked = weighed.asked
        meta = asked.snapshot.note(self._key)
        own = np.flatnonzero(asked.scope.docs & (asked.snapshot.doc_note == asked.snapshot.slot_of.get(self._key, -1)))
        if meta is None or not len(own):
            return None
        real = score(asked, weighed.lanes(asked.docs))
        filters = [] if asked.docs[own].any() else self._filters(asked, meta, own)
        lanes, would = self._would_be(weighed, own, lifted=bool(filters))
        mine = set(own.tolist())
        best = next(i for i in would.order if int(would.at[i]) in mine)
        told = self._told(asked, lanes, own)
        shown = real.order[: self._top_k]
        place = next((n for n, i in enumerate(shown, 1) if int(real.at[i]) in mine), None)
        candidate = not mine.isdisjoint(real.at.tolist())
        reply = {
            "revision": asked.snapshot.revision,
            **self._shown(would, best, meta),
            "found": place is not None,
            "rank": place,
            "would_rank": would.order.index(best) + 1,
            "results": {
                "top_k": self._top_k,
                "shown": len(shown),
                "candidates": len(real.at),
                "last_score": float(real.scores[shown[-1]]) if shown else None,
            },
            "filters": filters,
            "lanes": told,
            "brought_by_graph": candidate and not any(lane["within"] for lane in told.values()),
            "warnings": list(dict.fromkeys(self._warnings)),
        }
        return {**reply, "reasons": reasons(reply, candidate=candidate)}

    def _would_be(self, weighed: Weighed, own: Slots, *, lifted: bool) -> tuple[Lanes, Ranked]:
        """The order with the documents `own` among the candidates; ``lifted``: though filters keep them out."""
        docs = weighed.asked.docs
        if lifted:
            docs = docs.copy()
            docs[own] = True
        lanes = weighed.lanes(docs)
        asked = dataclasses.replace(weighed.asked, docs=docs)
        return lanes, score(asked, lanes, also=own[docs[own]].tolist())

    def _shown(self, would: Ranked, best: int, meta: NoteMeta) -> Json:
        """Note, part, score and terms as a result of ``POST /query`` has them; the part without its text."""
        place = would.place(best)
        chunk = None if place.bare else self._searcher.texts(would.asked.snapshot, [place.key]).get(place.key)
        hit = Hit(0, place.score, meta, chunk, "", (), place.terms, place.lanes).as_dict(explain=True)
        part = chunk and {name: hit["chunk"][name] for name in ("id", "idx", "section", "start_line", "end_line")}
        return {"note": hit["note"], "chunk": part, "score": hit["score"], "explain": hit["explain"]}

    # ------------------------------------------------------------------------------------------------------- filters

    def _filters(self, asked: Asked, meta: NoteMeta, own: Slots) -> list[Json]:
        """What of the question keeps the note out, each by its name and what was asked for."""
        given, found = self._spec.filters, list[Json]()
        scope = Filters(given.visibility, given.include_flags)
        for name in NARROWING:
            one = dataclasses.replace(scope, **{name: getattr(given, name)})
            if one.narrows and not compile_filters(one)(meta):
                found.append({"filter": name, "asked": _plain(getattr(given, name)), "note": _of_note(meta, name)})
        left = np.zeros(len(asked.docs), bool)
        left[own] = True
        for word in asked.parsed.not_words:
            slots = lexical.slots_of(word, asked.scope.langs, keep_stops=True)
            left &= ~lexical.holding(asked.snapshot, asked.scope, slots)
            if not left.any():
                found.append({"filter": "not", "asked": word, "note": "has the word"})
                return found
        reading = self._searcher.reading(asked, self._deadline)
        for name, phrases in (("phrase", asked.parsed.phrases), ("not_phrase", asked.parsed.not_phrases)):
            for phrase in phrases:
                only = dataclasses.replace(
                    asked.parsed,
                    phrases=(phrase,) if name == "phrase" else (),
                    not_phrases=(phrase,) if name != "phrase" else (),
                )
                if not reading.verified(left, only)[0].any():
                    says = "does not have the phrase" if name == "phrase" else "has the phrase"
                    found.append({"filter": name, "asked": " ".join(phrase), "note": says})
        return found or [
            {"filter": "parts", "asked": self._spec.text, "note": "no part of it has all that is asked for"}
        ]

    # --------------------------------------------------------------------------------------------------------- lanes

    def _told(self, asked: Asked, lanes: Lanes, own: Slots) -> Json:
        """Of each lane that takes part: where the best part of the note stands, how far the lane looks, and why."""
        found: Json = {}
        if lanes.words is not None:
            limit = max(asked.settings.k_l, self._spec.top_k)
            found["lexical"] = {**_standing(lanes.words, own, limit, 0.0), **self._words(asked, own)}
        snapshot = asked.snapshot
        ends = np.append(snapshot.passage_start, len(snapshot.passage_rows))
        rows = np.concatenate([snapshot.passage_rows[ends[doc] : ends[doc + 1]] for doc in own])
        vectors = {"ready": int((rows >= 0).sum()), "pending": int((rows == -1).sum())}
        if lanes.near is not None:
            limit = max(asked.settings.k_v, self._spec.top_k)
            found["dense"] = {**_standing(lanes.near, own, limit, -np.inf), **vectors}
        if "title" in self._spec.lanes:
            named = any(np.isin(places, own).any() for _, places in lanes.named)
            found["title"] = {
                "rank": 1 if named else None,
                "score": 1.0 if named else None,
                "limit": 1,
                "within": named,
            }
        return found

    def _words(self, asked: Asked, own: Slots) -> Json:
        """The words of the question that the note has and those that it lacks."""
        has: list[str] = []
        lacks: list[str] = []
        for word in dict.fromkeys(asked.parsed.words):
            slots = lexical.slots_of(word, asked.scope.langs, keep_stops=False)
            if slots:
                there = lexical.holding(asked.snapshot, asked.scope, slots)[own].any()
                (has if there else lacks).append(word)
        return {"has": has, "lacks": lacks}


def _standing(scores: NDArray[Any], own: Slots, limit: int, floor: float) -> Json:
    """Rank and score of the best of `own` in a lane, None where it does not match at all."""
    best = float(scores[own].max())
    if best <= floor:
        return {"rank": None, "score": None, "limit": limit, "within": False}
    rank = int(np.count_nonzero(scores > scores[own].max())) + 1
    return {"rank": rank, "score": best, "limit": limit, "within": rank <= limit}


def reasons(reply: Mapping[str, Any], *, candidate: bool) -> list[Json]:
    """In words, the most important first; ``candidate``: it was looked at at all."""
    lanes, results, score_of = reply["lanes"], reply["results"], reply["score"]
    found: list[Json] = []

    def say(code: str, message: str) -> None:
        found.append({"code": code, "message": message})

    for one in reply["filters"]:
        say("filtered", f"{one['filter']}: asked for {_listed(one['asked'])}; the note: {_listed(one['note'])}")
    if reply["found"]:
        say("found", f"it is number {reply['rank']} of {results['shown']} results")
    elif not reply["filters"] and not candidate:
        cut = [f"{lane}: {_place(told)}" for lane, told in lanes.items() if lane != "title"]
        say("cut", f"no lane has it among its candidates ({'; '.join(cut)}), and no edge leads to it from the best")
    elif not reply["filters"]:
        last = results["last_score"]
        say("low", f"it scores {score_of:.4f}, number {reply['would_rank']}; the last that is shown has {last:.4f}")
    if reply["brought_by_graph"]:
        say(
            "graph",
            "no lane has it among its candidates; it was looked at because a note among the best is linked to it",
        )
    dense, words = lanes.get("dense"), lanes.get("lexical")
    if dense is not None and dense["pending"]:
        say(
            "no_vector" if not dense["ready"] else "pending", f"{dense['pending']} passages of it wait for their vector"
        )
    elif dense is not None and not dense["ready"]:
        say("no_vector", "it has no vector (embedding_exclude): only its words can find it")
    if words is not None and words["lacks"]:
        say("words", f"it lacks {_listed(words['lacks'])}")
    return found


def _place(told: Mapping[str, Any]) -> str:
    if told["rank"] is None:
        return "does not match"
    return f"rank {told['rank']}, the first {told['limit']} are looked at"


def _listed(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{name} {one}" for name, one in value.items() if one is not None) or "none"
    return "none" if value is None else str(value)


def _plain(value: Any) -> Any:
    """A filter as JSON has it."""
    if isinstance(value, DateRange):
        return {"from": value.start, "to": value.end}
    if isinstance(value, tuple):
        return [f"{one[0]}: {one[1]}" if isinstance(one, tuple) else one for one in value]
    return value


def _of_note(meta: NoteMeta, name: str) -> Any:
    """What the note says to a filter."""
    if name == "frontmatter":
        return "says something else"
    value = getattr(meta, {"types": "type", "paths": "path"}.get(name, name))
    return list(value) if isinstance(value, tuple) else value
