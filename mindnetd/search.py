"""The road of a question, top to bottom: parse, lanes, filter, fuse, explain, hydrate. Reads only; any thread.

Not for: HTTP (``server``), the lanes themselves (``lanes``), where texts lie (``store``).
"""

from __future__ import annotations

import dataclasses
import time
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mindnetd.core.analyze import Marker
from mindnetd.core.query import LANES, MAX_TOP_K, QuerySpec
from mindnetd.core.querytext import QueryText, parse_query
from mindnetd.core.rank import RetrievalSettings
from mindnetd.core.records import Edge
from mindnetd.core.results import ChunkText, Hit, QueryResult, TextSource
from mindnetd.core.snippet import Snippet, make_snippet
from mindnetd.core.typetable import DEFAULT_TYPES, TypeTable
from mindnetd.deadline import Deadline
from mindnetd.errors import BadRequest, ModelError
from mindnetd.lanes import dense, lexical, phrases
from mindnetd.lanes.candidates import Asked, Lanes, Place, look, rank
from mindnetd.lanes.graph import EdgeView
from mindnetd.lanes.hot import HotIndex
from mindnetd.lanes.segments import BoolArray
from mindnetd.lanes.snapshot import HotSnapshot, Scope
from mindnetd.lanes.sweep import Sweep
from mindnetd.lanes.texts import RecentTexts

_ATTEMPTS = 3
MODES = ("auto", "local", "global", "drift")
STAGES = ("embed", "lexical", "dense", "graph", "hydrate")
"""What `took_ms` always tells."""

Vector = NDArray[np.float32]
EmbedQuery = Callable[[str], Vector]
Masks = Callable[[HotSnapshot, Sequence[int], frozenset[str], frozenset[str]], tuple[Collection[str], Sequence[Edge]]]
"""(snapshot, keys of shown notes with edges to hidden ones, levels, hiding flags) -> (ids of those among them whose
edges are others for this view, the edges that they have instead)."""


@dataclasses.dataclass(frozen=True, slots=True)
class Weighed:
    """A question and what words and vectors say of every document slot, whether it may take part or not."""

    asked: Asked
    words: NDArray[np.float64] | None
    near: dense.Near | None

    def lanes(self, docs: BoolArray) -> Lanes:
        """The lanes, narrowed to `docs`."""
        return look(self.asked, docs, self.words, self.near)


class Searcher:
    """Answers questions over the resident index. One for the whole process; `settings` may be replaced at any time."""

    def __init__(
        self,
        hot: HotIndex,
        texts: TextSource,
        embed_query: Callable[[], EmbedQuery | None],
        settings: RetrievalSettings | None = None,
        approximate: dense.Approximate | None = None,
    ) -> None:
        self.types: Callable[[], TypeTable] = lambda: DEFAULT_TYPES
        """The note types in force; set by whoever knows them."""
        self.masks: Masks | None = None
        """What holds of the edges of a view where something is hidden; set by whoever knows the links."""
        self.clock: Callable[[], float] = time.time
        """Seconds since 1970, for the age of notes."""
        self.settings = settings or RetrievalSettings()
        self._recent = RecentTexts(texts)
        self._hot, self._texts, self._embedder, self._approximate = hot, texts, embed_query, approximate

    def query(self, spec: QuerySpec, deadline: Deadline) -> QueryResult:
        """Answer. Raises BadRequest for values out of range, Unavailable (``timeout``) past the deadline."""
        check(spec)
        clock, warnings = Stopwatch(), list[str]()
        parsed = parse_query(spec.text)
        vector = self._embed(spec, parsed, warnings)
        clock.lap("embed")
        for _ in range(_ATTEMPTS):
            deadline.check()
            asked = self._ask(spec, parsed, vector)
            places = self._rank(self._weigh(asked, clock, deadline, warnings), clock)
            texts = self._recent.texts(asked.snapshot, [place.key for place in places if not place.bare])
            clock.lap("hydrate")
            if all(place.bare or place.key in texts for place in places):
                break  # else a chunk was rewritten meanwhile: the newer revision knows better
        deadline.check()
        hits = self._hits(asked, places, texts)
        clock.lap("hydrate")
        return QueryResult(
            query_id=uuid.uuid4().hex,
            mode="local",
            mode_reason="asked for" if spec.mode == "local" else "no entity",
            revision=asked.snapshot.revision,
            took_ms=clock.result(),
            ready=asked.scope.ready,
            pending=asked.scope.pending,
            warnings=tuple(dict.fromkeys(warnings)),
            hits=hits,
            explain=spec.explain,
        )

    def embedder(self) -> EmbedQuery | None:
        """What embeds a question; None while there is no model."""
        return self._embedder()

    def texts(self, snapshot: HotSnapshot, keys: Sequence[int]) -> Mapping[int, ChunkText]:
        """The texts of chunks of a snapshot; one that was rewritten meanwhile may be missing."""
        return self._recent.texts(snapshot, keys)

    def fill_texts(self) -> None:
        """Have the texts of the vault at hand, as far as there is room: whoever asks waits for no read. Repeatable."""
        self._recent.fill(self._hot.snapshot())

    def _embed(self, spec: QuerySpec, parsed: QueryText, warnings: list[str]) -> Vector | None:
        """The question's vector; None, with a warning, where there is no model: the words answer alone."""
        if "dense" not in spec.lanes or not parsed.plain:
            return None
        try:
            embed = self._embedder()
            if embed is not None:
                return embed(parsed.plain)
            warnings.append("the model is not ready: answered by words alone")
        except ModelError as error:
            warnings.append(f"answered by words alone: {error.message}")
        return None

    def _ask(self, spec: QuerySpec, parsed: QueryText, vector: Vector | None) -> Asked:
        """The question put to the newest revision: its scope and what its words ask for there."""
        snapshot, settings = self._hot.snapshot(), self.settings
        hidden = [flag for flag in settings.exclude_flags if flag not in spec.filters.include_flags]
        scope = snapshot.scope(spec.filters.visibility, hidden)
        slots = lexical.question_slots(parsed.words, scope.langs, snapshot, prefix=spec.prefix)
        if vector is not None and len(vector) != snapshot.vectors.dim:
            vector = None  # no vectors yet, or those of the model before this one
        return Asked(
            snapshot=snapshot,
            spec=spec,
            parsed=parsed,
            vector=vector,
            settings=settings,
            scope=scope,
            slots=tuple(slots),
            docs=scope.docs,
            edges=self._edges(snapshot, scope, spec.filters.visibility, hidden),
            types=self.types(),
            now=self.clock(),
        )

    def _edges(self, snapshot: HotSnapshot, scope: Scope, levels: Sequence[str], hidden: Sequence[str]) -> EdgeView:
        """The edges as a view has them: a name of a hidden note may mean a shown one there (law 9)."""
        if self.masks is None:
            return snapshot.edges
        key = frozenset(levels), frozenset(hidden)
        found = snapshot.kept_edges.get(key)
        if found is None:
            found, owners = snapshot.edges, snapshot.edges.leading_to_hidden(scope.notes)
            if len(owners):
                keys = [note.key for slot in owners.tolist() if (note := snapshot.notes[slot]) is not None]
                sources, edges = self.masks(snapshot, keys, *key)
                found = found.with_others(sources, edges) if sources else found
            snapshot.kept_edges[key] = found
        return found

    def weigh(self, spec: QuerySpec, deadline: Deadline, warnings: list[str]) -> Weighed:
        """The first half of `query`, for who wants to know why it ends as it does. Raises as `query`."""
        check(spec)
        parsed = parse_query(spec.text)
        asked = self._ask(spec, parsed, self._embed(spec, parsed, warnings))
        return self._weigh(asked, Stopwatch(), deadline, warnings)

    def reading(self, asked: Asked, deadline: Deadline) -> phrases.Reading:
        """Where quoted phrases are looked for."""
        return phrases.Reading(asked.snapshot, asked.scope, self._texts, deadline)

    def _weigh(self, asked: Asked, clock: Stopwatch, deadline: Deadline, warnings: list[str]) -> Weighed:
        """What the lanes say. The vectors are begun with first: another thread works meanwhile."""
        begun = (
            Sweep(asked.snapshot.vectors, asked.vector) if asked.vector is not None and not self._approximate else None
        )
        asked = dataclasses.replace(asked, docs=self._admitted(asked, deadline, warnings))
        words = lexical.bm25(asked.snapshot, asked.scope, asked.slots) if "lexical" in asked.spec.lanes else None
        clock.lap("lexical")
        deadline.check()
        near = self._near(asked, asked.docs, begun)
        clock.lap("dense")
        deadline.check()
        return Weighed(asked, words, near)

    def _rank(self, weighed: Weighed, clock: Stopwatch) -> list[Place]:
        """The best documents, in order."""
        places = rank(weighed.asked, weighed.lanes(weighed.asked.docs))
        clock.lap("graph")
        return places

    def _near(self, asked: Asked, docs: BoolArray, begun: Sweep | None) -> dense.Near | None:
        """The cosines of the documents; None where the vectors do not take part."""
        if asked.vector is None:
            return None
        if self._approximate is not None:
            count = max(asked.settings.k_v, asked.spec.top_k)
            return dense.Near(self._approximate.cosines(asked.snapshot, asked.vector, docs, count))
        return dense.near(asked.snapshot, asked.vector, begun)

    def _admitted(self, asked: Asked, deadline: Deadline, warnings: list[str]) -> BoolArray:
        """The documents that filters, negations and quoted phrases let through, for every lane alike."""
        docs = asked.snapshot.narrowed(asked.scope, asked.spec.filters)
        for word in asked.parsed.not_words:
            unwanted = lexical.slots_of(word, asked.scope.langs, keep_stops=True)
            docs = docs & ~lexical.holding(asked.snapshot, asked.scope, unwanted)
        if asked.parsed.phrases or asked.parsed.not_phrases:
            docs, complete = self.reading(asked, deadline).verified(docs, asked.parsed)
            if not complete:
                warnings.append(f"the phrase was looked for in the {phrases.VERIFY_LIMIT} likeliest chunks only")
        return docs

    def _hits(self, asked: Asked, places: Sequence[Place], texts: Mapping[int, ChunkText]) -> tuple[Hit, ...]:
        hits: list[Hit] = []
        markers: dict[str, Marker] = {}
        for place in places:
            note = asked.snapshot.notes[place.note]
            chunk = texts.get(place.key)
            if note is None or (chunk is None and not place.bare):
                continue
            if note.lang not in markers:
                markers[note.lang] = Marker(lexical.terms_in(asked.slots, note.lang), note.lang)
            cut = make_snippet(chunk.text, markers[note.lang]) if chunk else Snippet("", ())
            hits.append(
                Hit(len(hits) + 1, place.score, note, chunk, cut.text, cut.highlights, place.terms, place.lanes)
            )
        return tuple(hits)


class Stopwatch:
    """Milliseconds by stage; a stage may be entered again."""

    def __init__(self) -> None:
        self._start = self._last = time.perf_counter()
        self._spent: dict[str, float] = {}

    def lap(self, stage: str) -> None:
        """Book the time since the last lap on `stage`."""
        now = time.perf_counter()
        self._spent[stage] = self._spent.get(stage, 0.0) + (now - self._last) * 1000
        self._last = now

    def result(self) -> dict[str, float]:
        """Every stage, 0 for one that there was no need for, and ``total``."""
        return {**dict.fromkeys(STAGES, 0.0), **self._spent, "total": (time.perf_counter() - self._start) * 1000}


def check(spec: QuerySpec) -> None:
    """Raise BadRequest for values that no question may have."""
    if not spec.text.strip():
        raise BadRequest("text must not be empty")
    if spec.mode not in MODES:
        raise BadRequest(f"mode {spec.mode!r} is not one of {', '.join(MODES)}")
    if not 1 <= spec.top_k <= MAX_TOP_K:
        raise BadRequest(f"top_k must be 1 to {MAX_TOP_K}, not {spec.top_k}")
    unknown = [lane for lane in spec.lanes if lane not in LANES]
    if unknown or not spec.lanes:
        raise BadRequest(f"lanes: {unknown[0] if unknown else 'none'}; use any of {', '.join(LANES)}")
