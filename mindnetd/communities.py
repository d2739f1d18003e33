"""Communities of the entity graphs: found, recognised, named and summed up, for each audience on its own.

    graph of an audience > Leiden, from the last run on > ids carried over > titles and summaries where needed

`build` touches nothing and may run on any thread; the rows are for ``store.write_communities``. A graph knows only the
notes that its audience may see, so no community, title or summary tells of what is hidden (law 9). Leiden is
graspologic-native's (MIT), seeded, over nodes and edges in a fixed order.

Not for: entities and relations (``corpus``), when it is done (``rebuild``).
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from mindnetd.community_texts import AboutIt
from mindnetd.core.audiences import Audiences
from mindnetd.core.community_ids import CommunityRow, Told, carried_over, community_uuid, members_hash
from mindnetd.core.leiden_graph import Cluster, Ints, hierarchy
from mindnetd.core.results import ChunkText
from mindnetd.core.summaries import summary_of, title_of
from mindnetd.lanes.entities import EntitySnapshot
from mindnetd.lanes.entity_index import Graphs
from mindnetd.lanes.level_graph import LevelGraph
from mindnetd.leiden import Leiden
from mindnetd.manners import MANNERS
from mindnetd.store.read_communities import ChunkColumns, CommunityInputs

TextsOf = Callable[[Sequence[int]], Mapping[int, ChunkText]]
Summarise = Callable[[str, Sequence[str], Sequence[str]], str | None]
"""(title, names, sentences) -> a summary in the words of a model, or None where it has none to give."""

VERSION = 2
"""Raise it when equal inputs give other communities, titles or summaries."""
_NAMED = 12
"""Names that a model is told."""
_AT_ONCE = 64
"""Communities whose texts are read together."""


@dataclass(frozen=True, slots=True)
class CommunityOptions:
    """What decides communities, beside the graph."""

    prefix: str = "mindnet"
    max_cluster_size: int = 50


@dataclass(frozen=True)
class Communities:
    """All communities, as they shall be stored; ``last`` is what is stored now. ``seconds`` are of the processor."""

    state: str
    audiences: Audiences
    rows: tuple[CommunityRow, ...]
    last: tuple[CommunityRow, ...]
    kept_ids: int
    kept_summaries: int
    remade: int
    seconds: dict[str, float] = field(default_factory=dict)


def state_of(inputs: CommunityInputs, graph_state: str, options: CommunityOptions) -> str:
    """The signature of everything that communities are made from. `graph_state` is that of the entity graphs."""
    notes = inputs.notes
    digest = hashlib.sha256(repr((VERSION, graph_state, options, notes.lang, notes.visibility, notes.flags)).encode())
    for column in (notes.key, inputs.chunks.key, inputs.chunks.mark):
        digest.update(np.ascontiguousarray(column).tobytes())
    return _sized(options) + digest.hexdigest()


def _sized(options: CommunityOptions) -> str:
    """The beginning of a signature, by which it is seen that communities were divided as they are now."""
    return f"{VERSION}:{options.max_cluster_size}:"


@dataclass(frozen=True)
class Material:
    """What a rebuild is made from; ``state`` as of `state_of`.

    ``cold``: as if there had been no communities before, so that only the vault decides them. ``check`` is told how
    many of how many summaries are done, and may raise to stop.
    """

    graphs: Graphs
    inputs: CommunityInputs
    texts_of: TextsOf
    state: str
    options: CommunityOptions
    now: datetime
    cold: bool = False
    summarise: Summarise | None = None
    check: Callable[[int, int], None] = lambda _done, _total: None


def build(material: Material) -> Communities:
    """All communities. Raises what reading texts and ``check`` raise. Requests go first (`manners`)."""
    with MANNERS.polite():
        return _build(material)


def _build(material: Material) -> Communities:
    started = time.thread_time()
    inputs, graphs = material.inputs, material.graphs
    builder = _Builder(material)
    rows: list[CommunityRow] = []
    kept_ids = 0
    for name, graph in graphs.by_name.items():
        levels = [one for one, mine in graphs.audiences.names.items() if mine == name]
        last = () if material.cold else inputs.last_of(levels)
        made = builder.audience(name, graph, allowed_notes(inputs, graphs.audiences, name), last)
        ids = {row.id for row in last}
        kept_ids += sum(row.id in ids for row in made)
        rows += made
    builder.seconds["all"] = time.thread_time() - started
    return Communities(
        state=material.state,
        audiences=graphs.audiences,
        rows=tuple(rows),
        last=inputs.last,
        kept_ids=kept_ids,
        kept_summaries=len(rows) - builder.remade,
        remade=builder.remade,
        seconds={name: round(value, 4) for name, value in builder.seconds.items()},
    )


def allowed_notes(inputs: CommunityInputs, audiences: Audiences, name: str) -> Ints:
    """Keys of the notes that the audience of this name may see now, ascending."""
    notes = inputs.notes
    sights = list(zip(notes.visibility, notes.flags, strict=True))
    admitted = {sight: audiences.admit(name, *sight) for sight in set(sights)}
    keys: Ints = notes.key[np.fromiter((admitted[sight] for sight in sights), dtype=bool, count=len(sights))]
    return keys


@dataclass(slots=True)
class _Draft:
    """A community on its way: ``members`` are positions of the level's graph."""

    cluster: Cluster
    id: str
    entities: tuple[str, ...]
    members_hash: str
    texts_hash: str
    row: CommunityRow | None = None


class _Builder:
    """One rebuild."""

    def __init__(self, material: Material) -> None:
        self._inputs, self._options = material.inputs, material.options
        self._texts_of, self._now = material.texts_of, material.now
        self._summarise, self._stop_or_go_on = material.summarise, material.check
        self._same_size = self._inputs.state.startswith(_sized(self._options))
        self._leiden = Leiden(material.options.max_cluster_size)
        self._lang = dict(zip(material.inputs.notes.key.tolist(), material.inputs.notes.lang, strict=True))
        self.seconds = {"graph": 0.0, "leiden": 0.0, "recognise": 0.0, "summaries": 0.0}
        self.remade = 0

    def audience(
        self, name: str, graph: EntitySnapshot, keys: Ints, last: Sequence[CommunityRow]
    ) -> list[CommunityRow]:
        """The communities of one audience."""
        with self._timed("graph"):
            shown = LevelGraph(graph, keys)
            ids = [graph.id[n] for n in shown.weighted.node.tolist()]
            texts = _Texts(shown, self._inputs.chunks)
        with self._timed("leiden"):
            labels = last_labels(ids, last)
            before = {(row.level, row.members): row.texts_hash for row in last} if self._same_size else {}

            def unchanged(level: int, members: Ints) -> bool:
                told = before.get((level, tuple(ids[n] for n in members.tolist())))
                return told is not None and told == texts.of(members)

            clusters = hierarchy(shown.weighted, labels, self._options.max_cluster_size, self._leiden, unchanged)
        self._check(0, len(clusters))
        with self._timed("recognise"):
            drafts = self._recognise(ids, clusters, [texts.of(one.members) for one in clusters], last)
        with self._timed("summaries"):
            told = self._tell(shown, drafts, {row.id: row for row in last})
        return self._labelled(drafts, told, name)

    def _check(self, done: int, total: int) -> None:
        self._stop_or_go_on(done, total)
        MANNERS.give_way()

    @contextmanager
    def _timed(self, name: str) -> Iterator[None]:
        began = time.thread_time()
        yield
        self.seconds[name] += time.thread_time() - began

    def _recognise(
        self, ids: Sequence[str], clusters: Sequence[Cluster], texts: Sequence[str], last: Sequence[CommunityRow]
    ) -> list[_Draft]:
        """Ids, carried over where a community goes on, and the hashes of what it is made from."""
        entities = [tuple(ids[n] for n in cluster.members.tolist()) for cluster in clusters]
        same = carried_over(
            [(cluster.level, members) for cluster, members in zip(clusters, entities, strict=True)],
            [(row.level, row.members) for row in last],
        )
        taken = {last[number].id for number in same.values()}
        drafts = []
        for number, (cluster, members) in enumerate(zip(clusters, entities, strict=True)):
            digest = members_hash(members)
            community = last[same[number]].id if number in same else ""
            again = digest
            while not community or (number not in same and community in taken):
                community = community_uuid(self._options.prefix, cluster.level, again)
                again = members_hash((again,))
            taken.add(community)
            drafts.append(_Draft(cluster, community, members, digest, texts[number]))
        return drafts

    def _labelled(self, drafts: Sequence[_Draft], told: Sequence[_Said], audience: str) -> list[CommunityRow]:
        """Rows with labels by level, size and id, and their parents' ids."""
        order = sorted(
            range(len(drafts)), key=lambda n: (drafts[n].cluster.level, -len(drafts[n].entities), drafts[n].id)
        )
        counts: dict[int, int] = {}
        rows = []
        for number in order:
            draft, said = drafts[number], told[number]
            depth, parent = draft.cluster.level, draft.cluster.parent
            row = CommunityRow(
                id=draft.id,
                label=f"c_{depth}_{counts.get(depth, 0)}",
                level=depth,
                parent=None if parent is None else drafts[parent].id,
                title=said.title,
                summary=said.summary,
                summary_source=said.source,
                members_hash=draft.members_hash,
                texts_hash=draft.texts_hash,
                audience=audience,
                updated=said.updated,
                members=draft.entities,
                sources=said.sources,
            )
            counts[depth] = counts.get(depth, 0) + 1
            rows.append(row)
        return rows

    # ---------------------------------------------------------------------------------------------- titles, summaries

    def _tell(self, shown: LevelGraph, drafts: Sequence[_Draft], last: Mapping[str, CommunityRow]) -> list[_Said]:
        """Title and summary of each: those of the last run where nothing that they are made from has changed."""
        told: list[_Said | None] = [self._kept(draft, last.get(draft.id)) for draft in drafts]
        titles = {(draft.cluster.level, said.title) for draft, said in zip(drafts, told, strict=True) if said}
        todo = [number for number, said in enumerate(told) if said is None]
        for at in range(0, len(todo), _AT_ONCE):
            part = []
            for number in todo[at : at + _AT_ONCE]:
                part.append(AboutIt(shown, drafts[number].cluster.members, self._inputs, self._lang))
                self._check(self.remade, len(todo))
            texts = self._texts_of(sorted({key for one in part for key in one.chunks}))
            for number, about in zip(todo[at : at + _AT_ONCE], part, strict=True):
                said = self._said(about, texts, drafts[number].cluster.level, titles)
                titles.add((drafts[number].cluster.level, said.title))
                told[number] = said
                self.remade += 1
                self._check(self.remade, len(todo))
        return [said for said in told if said is not None]

    def _kept(self, draft: _Draft, last: CommunityRow | None) -> _Said | None:
        if last is None or (last.members_hash, last.texts_hash) != (draft.members_hash, draft.texts_hash):
            return None
        keys, told = self._inputs.chunks.key, [one.chunk_key for one in last.sources]
        if np.searchsorted(keys, told, "right").tolist() != (np.searchsorted(keys, told, "left") + 1).tolist():
            return None  # a note that went and came back has its text again, in other chunks
        if self._summarise is not None and last.summary_source == "extractive" and last.sources:
            return None  # a model that was away has come
        return _Said(last.title, last.summary, last.summary_source, last.sources, last.updated)

    def _said(self, about: AboutIt, texts: Mapping[int, ChunkText], level: int, titles: set[tuple[int, str]]) -> _Said:
        members, order = about.members, about.order
        title = title_of(members, order)
        for count in range(4, 8):
            if (level, title) not in titles:
                break
            title = title_of(members, order, count)
        passages = about.passages(texts)
        found = summary_of(members, order, passages)
        sources = tuple(Told(passages[one.source].chunk_id, passages[one.source].chunk_key, one.text) for one in found)
        summary, how = " ".join(one.text for one in found), "extractive"
        if self._summarise is not None and found:
            names = [members[n].name for n in order[:_NAMED]]
            written = self._summarise(title, names, [one.text for one in found])
            if written:
                summary, how = written, "llm"
        return _Said(title, summary, how, sources, self._now)


@dataclass(frozen=True, slots=True)
class _Said:
    title: str
    summary: str
    source: str
    sources: tuple[Told, ...]
    updated: datetime


def last_labels(ids: Sequence[str], last: Sequence[CommunityRow]) -> list[Ints]:
    """The communities of the last run as labels of the nodes `ids` by level, -1 for nodes that were in none."""
    position = {one: number for number, one in enumerate(ids)}
    depth = max((row.level for row in last), default=-1) + 1
    labels = [np.full(len(ids), -1, dtype=np.int64) for _ in range(depth)]
    for number, row in enumerate(sorted(last, key=lambda row: (row.level, row.members))):
        mine = [position[member] for member in row.members if member in position]
        labels[row.level][mine] = number
    return labels


class _Texts:
    """Hashes of the sets of texts that mention the members of a cluster, whatever the keys of their chunks."""

    def __init__(self, shown: LevelGraph, chunks: ChunkColumns) -> None:
        self._shown = shown
        at = np.minimum(np.searchsorted(chunks.key, shown.chunk), max(len(chunks.key) - 1, 0))
        if len(chunks.key):
            self._mark = np.where(chunks.key[at] == shown.chunk, chunks.mark[at], np.uint64(0))
        else:
            self._mark = np.zeros(len(shown.chunk), dtype=np.uint64)
        self._known: dict[bytes, str] = {}

    def of(self, members: Ints) -> str:
        """Of positions in the graph."""
        key = members.tobytes()
        found = self._known.get(key)
        if found is None:
            slices = [self._shown.of(number) for number in self._shown.weighted.node[members].tolist()]
            marks = np.unique(np.concatenate([self._mark[one] for one in slices]))
            found = self._known[key] = hashlib.sha256(marks.astype("<u8").tobytes()).hexdigest()
        return found
