"""What comes after the search: the mode of a question, and what each mode adds to the results.

local: the hits with their entities, relations and communities. global: community reports chosen by relevance. drift:
local, then follow-up searches made of what was found. Everything here sees the entity graph through the view of the
notes that the question may see; nothing is chosen before that.

Not for: finding chunks (``search``), the answer's text (``answer``), HTTP (``serving``).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mindnetd.core.analyze import question_lang, slots
from mindnetd.core.extract_answer import Question, Source, Wanted
from mindnetd.core.followups import follow_ups
from mindnetd.core.query import QuerySpec
from mindnetd.core.querytext import parse_query
from mindnetd.core.reports import NAMED, Report, relevance
from mindnetd.core.results import ChunkText, Hit, QueryResult
from mindnetd.core.route import Route, classify, topic
from mindnetd.deadline import Deadline
from mindnetd.errors import ModelError
from mindnetd.lanes import lexical
from mindnetd.lanes.entities import EntitySnapshot, EntityView
from mindnetd.lanes.snapshot import HotSnapshot
from mindnetd.search import EmbedQuery, Searcher, Vector, check
from mindnetd.sight import Seen, Sight, entity_of, relation_of

GIVEN_ENTITIES = 20
GIVEN_RELATIONS = 20
GIVEN_COMMUNITIES = 5
LOOKED_AT = 10
"""So many hits are what an answer and the graph look at, however few are asked for."""
WIDE = 40
"""So many hits say which communities a question over the whole is about."""
REPORTS = 6
OF_FOLLOW_UP = 3
"""Hits that a follow-up question adds at most."""
SUBJECTS = 3
"""Things that a question of mode drift relates, at most."""
_CHUNKS_OF_NOTE = 64
_SOURCES_OF_REPORT = 8
_ATTEMPTS = 3


@dataclass(frozen=True)
class Found:
    """A question's results, and what its answer is made from. ``groups`` are the reports of mode global with theirs."""

    result: QueryResult
    question: Question
    sources: tuple[Source, ...]
    groups: tuple[tuple[Report, tuple[Source, ...]], ...] = ()
    subjects: tuple[int, ...] = ()
    """Mode drift: the places in ``sources`` where the notes of what the question names begin."""
    whole: bool = False
    """Asked about everything, no topic named."""


class Modes:
    """One for the whole process; any thread."""

    def __init__(
        self,
        searcher: Callable[[], Searcher],
        snapshot: Callable[[], HotSnapshot],
        entities: Callable[[Sequence[str]], EntitySnapshot],
    ) -> None:
        self._searcher, self._snapshot, self._entities = searcher, snapshot, entities
        self._seen = Seen()

    def query(self, spec: QuerySpec, deadline: Deadline, *, answer: bool = False) -> Found:
        """Answer as ``spec.mode`` says. Raises BadRequest, Unavailable (``timeout``, ``cancelled``).

        Where a commit comes between two searches of one question, it is asked again: a reply has one revision.
        """
        check(spec)
        for _ in range(_ATTEMPTS):
            searcher, graph = self._searcher(), self._entities(spec.filters.visibility)
            sight = self._seen.of(spec, searcher.settings.exclude_flags, self._snapshot(), graph)
            asking = Asking(searcher, spec, deadline, sight)
            found = asking.run(answer=answer)
            if len(asking.revisions) == 1:
                break
        return found


class Asking:
    """One question on its way; made for one attempt."""

    def __init__(self, searcher: Searcher, spec: QuerySpec, deadline: Deadline, sight: Sight) -> None:
        self._searcher, self._spec, self._deadline = searcher, spec, deadline
        self._snapshot, self._scope, self._chunks, self.view = sight.snapshot, sight.scope, sight.chunks, sight.view
        self._reports = sight.reports
        self.revisions: set[int] = set()
        self._named = self.view.find(spec.text) if self.view else []

    def run(self, *, answer: bool) -> Found:
        """The whole road."""
        route = self._route()
        if route.mode == "global":
            return self._global(route)
        found = self._search(self._spec.text, LOOKED_AT)
        if route.mode == "drift":
            return self._drift(route, found)
        kept = found.hits[: self._spec.top_k]
        result = self._enriched(route, found, kept, kept)
        return Found(result, self._question(answer=answer), sources_of(found.hits[:LOOKED_AT]))

    def _route(self) -> Route:
        if self._spec.mode == "auto":
            view = self.view
            return classify(self._spec.text, [view.names[n] for n in self._named] if view else [])
        return Route(self._spec.mode, "asked for")  # type: ignore[arg-type]  # `check` let only modes through

    def _search(self, text: str, least: int) -> QueryResult:
        """The hits for `text`, at least so many as the answer looks at."""
        spec = dataclasses.replace(self._spec, text=text, mode="local", top_k=max(self._spec.top_k, least))
        result = self._searcher.query(spec, self._deadline)
        self.revisions.add(result.revision)
        return result

    # ----------------------------------------------------------------------------------------------------------- local

    def _enriched(self, route: Route, found: QueryResult, shown: Sequence[Hit], about: Sequence[Hit]) -> QueryResult:
        """The result with what the graph knows of the chunks of `about`."""
        view = self.view
        result = dataclasses.replace(found, mode=route.mode, mode_reason=route.reason, hits=tuple(shown))
        if view is None:
            return result
        keys = [hit.chunk.key for hit in about if hit.chunk]
        entities = list(dict.fromkeys([*self._named, *view.of_chunks(keys)]))
        worth = {n: 1.0 / (1.0 + rank / 5) for rank, n in enumerate(entities[:GIVEN_ENTITIES])}
        return dataclasses.replace(
            result,
            entities=tuple(entity_of(view, n) for n in entities[:GIVEN_ENTITIES]),
            relationships=tuple(self._relations(view, keys)),
            communities=tuple(r.as_dict() for r in self._reports.chosen(worth, GIVEN_COMMUNITIES, whole=False)),
        )

    def _relations(self, view: EntityView, keys: Sequence[int]) -> list[dict[str, Any]]:
        """The relations that these chunks say, heaviest first."""
        relations = view.snapshot.relations
        shown = view.relations_of(keys)
        weight = relations.weight[shown]
        if len(shown) > GIVEN_RELATIONS:  # several hundred: only those that can be among the heaviest are sorted
            shown = shown[weight >= np.partition(weight, -GIVEN_RELATIONS)[-GIVEN_RELATIONS]]
        heaviest = sorted(shown.tolist(), key=lambda n: (-float(relations.weight[n]), relations.id[n]))
        return [relation_of(view, n) for n in heaviest[:GIVEN_RELATIONS]]

    # ---------------------------------------------------------------------------------------------------------- global

    def _global(self, route: Route) -> Found:
        found = self._search(self._spec.text, WIDE)
        about = topic(self._spec.text)
        whole = not self._content(about)
        worth: dict[int, float] = dict.fromkeys(self._named, NAMED)
        for rank, hit in enumerate(() if self.view is None or whole else found.hits[:WIDE]):
            for n in self.view.of_chunks([hit.chunk.key]) if self.view and hit.chunk else ():
                worth[n] = worth.get(n, 0.0) + 1.0 / (1.0 + rank / 3)
        reports = self._reports.chosen(worth, REPORTS, whole=whole)
        self._deadline.check()
        result = self._enriched(route, found, found.hits[: self._spec.top_k], found.hits[:LOOKED_AT])
        question = self._question(answer=True, text=about)
        if not reports:
            warning = "there are no communities yet: answered from the notes found"
            result = dataclasses.replace(result, warnings=(*result.warnings, warning))
            return Found(result, question, sources_of(found.hits[:LOOKED_AT]))
        result = dataclasses.replace(result, communities=tuple(report.as_dict() for report in reports))
        groups = self._grouped(reports, found.hits, whole=whole)
        return Found(result, question, tuple(s for _, sources in groups for s in sources), tuple(groups), whole=whole)

    def _grouped(
        self, reports: Sequence[Report], hits: Sequence[Hit], *, whole: bool
    ) -> list[tuple[Report, tuple[Source, ...]]]:
        """Each report with the chunks that it is told from: those of its summary, and hits about its members."""
        assert self.view is not None
        found = {hit.chunk.key: hit.chunk for hit in hits if hit.chunk and not whole}
        of_summary = {key: report for report in reversed(reports) for key, _ in reversed(report.sentences)}
        texts = {**self._searcher.texts(self._snapshot, list(of_summary)), **found}
        keys = {report.id: list[int]() for report in reports}
        for key in dict.fromkeys((*found, *(key for report in reports for key, _ in report.sentences))):
            mine = of_summary[key] if whole else self._about(key, reports)
            if mine is not None and key in texts and len(keys[mine.id]) < _SOURCES_OF_REPORT:
                keys[mine.id].append(key)
        groups = []
        for report in reports:
            sources = [self._source(texts[key], n) for n, key in enumerate(keys[report.id])]
            groups.append((report, tuple(source for source in sources if source is not None)))
        return [(report, sources) for report, sources in groups if sources]

    def _about(self, key: int, reports: Sequence[Report]) -> Report | None:
        """The report that a chunk is about: most members among what it mentions, for their number."""
        assert self.view is not None
        mentioned = self.view.of_chunks([key])
        worth = {n: 1.0 / (1.0 + place) for place, n in enumerate(mentioned)}
        best = max(reports, key=lambda report: (relevance(report, worth), -reports.index(report)))
        return best if relevance(best, worth) > 0 else None

    def _source(self, chunk: ChunkText | None, rank: int) -> Source | None:
        """A source of a chunk by its note as this revision has it."""
        if chunk is None:
            return None
        at = np.flatnonzero(self._snapshot.doc_key == chunk.key)
        note = self._snapshot.notes[int(self._snapshot.doc_note[at[0]])] if len(at) else None
        return Source(chunk, note.path, note.title, note.lang, rank) if note else None

    # ----------------------------------------------------------------------------------------------------------- drift

    def _drift(self, route: Route, found: QueryResult) -> Found:
        """Local first; then what was found asks on, within bounds, and its best hits join the first ones."""
        shown = list(found.hits[: self._spec.top_k])
        sources = list(sources_of(found.hits[:LOOKED_AT]))
        told: list[dict[str, Any]] = []
        for text in self._follow_ups(found.hits[:LOOKED_AT]):
            if self._deadline.over:
                break
            hits = self._search(text, OF_FOLLOW_UP).hits[:OF_FOLLOW_UP]
            known = {source.chunk.key for source in sources}
            fresh = [hit for hit in hits if hit.chunk and hit.chunk.key not in known]
            sources += [dataclasses.replace(s, rank=LOOKED_AT + s.rank) for s in sources_of(fresh)]
            told.append({"text": text, "chunks": [hit.chunk.id for hit in hits if hit.chunk]})
            shown += [dataclasses.replace(hit, rank=0) for hit in fresh]
        ranked = [dataclasses.replace(hit, rank=n) for n, hit in enumerate(shown[: self._spec.top_k], 1)]
        result = self._enriched(route, found, ranked, [*found.hits[:LOOKED_AT], *shown])
        warnings = result.warnings
        if self.view is None:
            warnings = (*warnings, "there is no entity graph yet: answered as mode local")
        result = dataclasses.replace(result, follow_ups=tuple(told), warnings=warnings)
        question = self._question(answer=True, text=topic(self._spec.text))
        subjects: list[int] = []
        for source in self._openings():
            same = [n for n, other in enumerate(sources) if other.chunk.key == source.chunk.key]
            subjects += same or [len(sources)]
            sources += [] if same else [source]
        return Found(result, question, tuple(sources), subjects=tuple(subjects))

    def _openings(self) -> list[Source]:
        """The first chunks of the notes that the question names."""
        view, snapshot = self.view, self._snapshot
        found: list[Source] = []
        for n in self._named[:SUBJECTS] if view else ():
            key = int(view.snapshot.note_key[n]) if view and view.is_note(n) else -1
            slot = snapshot.slot_of.get(key, -1)
            note = snapshot.notes[slot] if slot >= 0 else None
            if note is None or note.key != key:
                continue
            keys = snapshot.doc_key[snapshot.alive & (snapshot.doc_note == slot)].tolist()[:_CHUNKS_OF_NOTE]
            texts = self._searcher.texts(snapshot, [k for k in keys if k in self._chunks])
            first = min(texts.values(), key=lambda chunk: chunk.idx, default=None)
            if first is not None and first.idx == 0:
                found.append(Source(first, note.path, note.title, note.lang, WIDE))
        return found

    def _follow_ups(self, hits: Sequence[Hit]) -> list[str]:
        view = self.view
        if view is None:
            return []
        found = view.of_chunks([hit.chunk.key for hit in hits if hit.chunk])[:GIVEN_ENTITIES]

        def related(n: int) -> Mapping[int, float]:
            weights: dict[int, float] = {}
            for one in view.neighbours(n):
                weights.setdefault(one.entity, one.weight)
            return weights

        return follow_ups(self._named, found, related, lambda n: view.names[n])

    # -------------------------------------------------------------------------------------------------------- question

    def _content(self, text: str) -> list[str]:
        """The words of a text that are no grammar."""
        words = parse_query(text).words
        lang = question_lang(parse_query(self._spec.text).words, self._scope.langs)
        return [word for word in words if not slots(word, lang).stop]

    def _question(self, *, answer: bool, text: str | None = None) -> Question:
        """What is asked, with the rarity of its words among the documents that may be seen."""
        asked_text = text if text and text.strip() else self._spec.text
        if not answer:
            return Question(self._spec.text, lambda _: ())
        snapshot, scope = self._snapshot, self._scope
        asked = lexical.question_slots(parse_query(asked_text).words, scope.langs, snapshot, prefix=False)
        weights = [_idf(len(lexical.postings(snapshot, slot, scope.docs)[0]), scope.count) for slot in asked]

        def wanted(lang: str) -> list[Wanted]:
            return [Wanted(lexical.terms_in([slot], lang), weight) for slot, weight in zip(asked, weights, strict=True)]

        return Question(self._spec.text, wanted, *self._meaning())

    def _meaning(self) -> tuple[Vector | None, EmbedQuery | None]:
        """The question's vector and what embeds sentences; None without a model: words decide alone."""
        try:
            embed = self._searcher.embedder() if "dense" in self._spec.lanes else None
            return (embed(self._spec.text), embed) if embed is not None else (None, None)
        except ModelError:  # the search has said so already
            return None, None


def _idf(holding: int, count: int) -> float:
    """BM25's."""
    return math.log(1.0 + (count - holding + 0.5) / (holding + 0.5))


def sources_of(hits: Sequence[Hit]) -> tuple[Source, ...]:
    """The chunks of hits, in their order."""
    return tuple(
        Source(hit.chunk, hit.note.path, hit.note.title, hit.note.lang, n) for n, hit in enumerate(hits) if hit.chunk
    )
