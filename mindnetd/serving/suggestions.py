"""``GET /notes/{ref}/suggestions``: links, tags, type and status that a note may lack, with confidence and evidence.

A request sees only what its view shows, before anything is counted. Nothing is written. The rules are in
``core.suggest``; not for: notes that are only related (``browse_related``).
"""

from __future__ import annotations

import re
import threading
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from mindnetd.core.querytext import name_key
from mindnetd.core.records import NoteMeta, ParsedNote
from mindnetd.core.suggest import mention_confidence, near_confidence
from mindnetd.core.suggest_names import Mention, NameTable, anywhere, names_of, words_of
from mindnetd.core.suggest_text import line_of, prose, sentence_at
from mindnetd.errors import NotFound
from mindnetd.lanes.lexical import holding, question_slots
from mindnetd.lanes.snapshot import HotSnapshot, Scope
from mindnetd.serving.browse import Browser
from mindnetd.serving.browse_graph import GraphBrowser
from mindnetd.serving.browse_related import mean_vector, near_notes
from mindnetd.serving.missing import Masks
from mindnetd.serving.services import Services
from mindnetd.serving.suggest_values import Neighbours, ShownNotes, suggest_tags, suggest_value
from mindnetd.serving.view import View
from mindnetd.store import read
from mindnetd.store.read_indexed import note_as_indexed

Json = dict[str, Any]
LEAST = 0.3
"""Confidence below which a link is not suggested."""
LEAST_NEAR = 0.45
"""The same for nearness alone: below, most are only of one kind with the note (docs/decisions/0015)."""
MOST_HOLDERS = 40
"""A name whose words are in more notes than this tells of no note that mentions it."""
WINDOW = 120
"""Characters around a name in which a longer one would win."""
MOST_READ = 5
"""Other notes that are read for one call, to see whether they mention this one."""
NEIGHBOURS = 10
"""Nearest notes that do not count as the usual nearness."""
MOST_NEAR = 30
"""Notes near by the mean vector whose passages are compared one by one."""
EVIDENCE = 160


@dataclass(frozen=True, slots=True)
class _Asked:
    """One call: the note, what is seen, and which notes are linked in which direction (ids)."""

    meta: NoteMeta
    note: ParsedNote
    text: str
    snapshot: HotSnapshot
    scope: Scope
    view: View
    out: frozenset[str]
    back: frozenset[str]


class _Told(NamedTuple):
    """What is said of a mention: its kind, the other note, how sure we are, in how many notes its words are."""

    kind: str
    other: NoteMeta
    sure: float
    holders: int


class SuggestBrowser:
    """Answers the call; any thread."""

    def __init__(self, services: Services, browser: Browser, graphs: GraphBrowser) -> None:
        self._services, self._browser, self._graphs = services, browser, graphs
        self._lock = threading.Lock()
        self._table = NameTable()
        self._kept: tuple[object, View | None, ShownNotes] = ((), None, ShownNotes(()))

    def suggestions(self, ref: str, view: View, limit: int) -> Json:
        """At most ``limit`` links and tags each, surest first. Raises NotFound, Conflict (``ambiguous``)."""
        found = self._browser.find(ref, view)
        if not isinstance(found, NoteMeta):
            return {"links": [], "tags": [], "type": None, "status": None, "warnings": ["a canvas gets no suggestions"]}
        asked = self._asked(found, view)
        near = self._near(asked)
        links = [*self._mentions(asked), *self._mentioned_by(asked), *near, *self._unresolved(asked)]
        links.sort(key=lambda one: (-one["confidence"], one["note"]["path"], one["kind"], one["line"] or 0))
        around = self._around(asked, near)
        warnings = [] if mean_vector(asked.snapshot, found.key) is not None else ["this note has no vectors yet"]
        types = self._services.derive_options.types
        missing_type = found.type is None or not types.knows(found.type)
        return {
            "links": _best_of_each(links)[:limit],
            "tags": suggest_tags(found, asked.text, asked.note.body_line, around)[:limit],
            "type": suggest_value(around, lambda m: m.type if types.knows(m.type) else None) if missing_type else None,
            "status": suggest_value(around, lambda m: m.status) if found.status is None else None,
            "warnings": warnings,
        }

    def _asked(self, meta: NoteMeta, view: View) -> _Asked:
        snapshot = self._browser.snapshot()
        shown = self._graphs.shown(view)
        edges = [edge for edge in shown.around([meta.id], "both") if edge.src_kind == edge.dst_kind == "note"]
        note = note_as_indexed(self._services.db, meta, self._services.derive_options.read)
        return _Asked(
            meta,
            note,
            prose(note),
            snapshot,
            snapshot.scope(sorted(view.levels), sorted(view.hiding)),
            view,
            frozenset(edge.dst_id for edge in edges if edge.src_id == meta.id),
            frozenset(edge.src_id for edge in edges if edge.dst_id == meta.id),
        )

    def _shown(self, asked: _Asked) -> ShownNotes:
        """The notes that the call may see; kept until another view or another state of the notes is asked for."""
        notes, view, shown = self._kept
        if notes is not asked.snapshot.notes or view != asked.view:
            shown = ShownNotes([meta for meta in asked.snapshot.notes if meta is not None and asked.view.shows(meta)])
            self._kept = (asked.snapshot.notes, asked.view, shown)
        return shown

    def _found(self, asked: _Asked, text: str) -> list[Mention]:
        with self._lock:
            self._table.follow(asked.snapshot.notes)
            return self._table.mentions(text, asked.view.shows)

    def _holding(self, asked: _Asked, name: str) -> list[int]:
        """The slots of shown notes with a passage that has all words of a name, ascending."""
        scope = asked.scope
        slots = question_slots(name_key(words_of(name)).split(), scope.langs, asked.snapshot, prefix=False)
        if not slots:
            return []
        return [int(slot) for slot in np.unique(asked.snapshot.doc_note[holding(asked.snapshot, scope, slots)])]

    # -------------------------------------------------------------------------------------------------------- mentions

    def _mentions(self, asked: _Asked) -> Iterator[Json]:
        """Names of other notes in this one that are no link, and of notes that it links to nowhere."""
        total = len(self._shown(asked).notes)
        holders: dict[str, int] = {}
        for mention in self._found(asked, asked.text):
            ids = {meta.id for meta in mention.notes}
            if asked.meta.id in ids or ids & asked.out:
                continue
            if mention.name not in holders:
                holders[mention.name] = len(self._holding(asked, mention.name))
            sure = mention_confidence(mention, holders[mention.name], total)
            if sure >= LEAST:
                told = _Told("mention", mention.notes[0], sure, holders[mention.name])
                yield self._mention(asked.note, mention, told)

    def _mentioned_by(self, asked: _Asked) -> Iterator[Json]:
        """Notes with a name of this one in their text that do not link to it."""
        total = len(self._shown(asked).notes)
        names = {name: self._holding(asked, name) for name in names_of(asked.meta)}
        slots = sorted({slot for found in names.values() for slot in found})
        pattern = anywhere(list(names))
        metas = [meta for slot in slots if (meta := asked.snapshot.notes[slot]) is not None]
        waiting = [meta for meta in metas if meta.id != asked.meta.id and meta.id not in asked.back]
        if pattern is None or len(waiting) > MOST_HOLDERS:
            return
        for note, meta in self._naming(asked, pattern, waiting):
            text = prose(note)
            for match in pattern.finditer(text):
                start = max(match.start() - WINDOW, 0)
                for mention in self._found(asked, text[start : match.end() + WINDOW]):
                    if asked.meta.id not in {one.id for one in mention.notes}:
                        continue
                    count = len(names.get(mention.name, ()))
                    sure = mention_confidence(mention, count, total)
                    if sure >= LEAST:
                        at = replace(mention, start=mention.start + start, end=mention.end + start)
                        yield self._mention(note, at, _Told("mentioned_by", meta, sure, count))
                break

    def _naming(
        self, asked: _Asked, pattern: re.Pattern[str], waiting: Sequence[NoteMeta]
    ) -> Iterator[tuple[ParsedNote, NoteMeta]]:
        """At most `MOST_READ` notes whose text has a name; those of the same folder first, then by path."""
        folder = asked.meta.path.rpartition("/")[0]
        order = sorted(waiting, key=lambda meta: (meta.path.rpartition("/")[0] != folder, meta.path))
        read_so_far = 0
        for meta in order:
            if read_so_far == MOST_READ:
                return
            try:
                if not pattern.search(read.indexed_body(self._services.db, meta.key)):
                    continue
                read_so_far += 1
                yield note_as_indexed(self._services.db, meta, self._services.derive_options.read), meta
            except NotFound:  # it has gone since
                continue

    def _mention(self, note: ParsedNote, mention: Mention, told: _Told) -> Json:
        text = note.body[mention.start : mention.end]
        reason = f"names {mention.name!r}" if mention.exact else f"names {mention.name!r} in another form"
        reason += f"; its words are in {told.holders} note{'s' * (told.holders != 1)}"
        if len(mention.notes) > 1:
            reason += f"; {len(mention.notes)} notes have this name"
        return {
            "kind": told.kind,
            "note": self._browser.line(told.other),
            "text": text,
            "line": line_of(note, mention.start),
            "evidence": sentence_at(note.body, mention.start, mention.end),
            "confidence": round(told.sure, 4),
            "reason": reason,
            "candidates": [meta.path for meta in mention.notes] if len(mention.notes) > 1 else [],
        }

    # ------------------------------------------------------------------------------------------------- near, unresolved

    def _near(self, asked: _Asked) -> list[Json]:
        """Notes linked in neither direction with a passage close to one of this note's."""
        snapshot = asked.snapshot
        query = mean_vector(snapshot, asked.meta.key)
        if query is None:
            return []
        own_docs, own_rows, own = _vectors(snapshot, asked.meta.key)
        around = near_notes(snapshot, query, asked.meta.key, asked.view)
        far = [cosine for cosine, _ in around.values()][NEIGHBOURS:]
        usual = float(np.mean(far)) if far else 0.0
        found: list[tuple[float, float, NoteMeta, int, int]] = []
        for key in list(around)[:MOST_NEAR]:
            meta = snapshot.note(key)
            docs, rows, other = _vectors(snapshot, key)
            if meta is None or meta.id in asked.out | asked.back or not len(other):
                continue
            same = np.equal.outer(own_rows, rows)  # one text in both is a template's
            cosines = np.where(same, -1.0, own @ other.T)
            at, there = np.unravel_index(int(cosines.argmax()), cosines.shape)
            cosine = float(cosines[at, there])
            sure = near_confidence(cosine, usual)
            if sure >= LEAST_NEAR:
                found.append((sure, cosine, meta, own_docs[at], docs[there]))
        texts = read.texts(self._services.db, [doc for row in found for doc in row[3:]])
        out: list[Json] = []
        for sure, cosine, meta, here, doc in found:
            mine, theirs = texts.get(here), texts.get(doc)
            out.append({
                "kind": "near",
                "note": self._browser.line(meta),
                "text": _short(mine.text if mine else asked.meta.title),
                "line": mine.start_line if mine else None,
                "evidence": _short(theirs.text if theirs else meta.title),
                "confidence": round(sure, 4),
                "reason": f"closest passages: cosine {cosine:.2f}; linked in neither direction",
                "candidates": [],
            })  # fmt: skip
        return out

    def _unresolved(self, asked: _Asked) -> Iterator[Json]:
        """Notes whose name is like that of a link that leads nowhere."""
        stored = read.load_links(self._services.db, [asked.meta.key])[asked.meta.key]
        masks = Masks(self._services, asked.snapshot, asked.view)
        seen: set[str] = set()
        for answer in masks.links(stored, asked.meta.path):
            link = answer.link
            name = link.target.removesuffix(".md")
            if answer.leads_to is not None or link.kind == "url" or not name or name in seen:
                continue
            seen.add(name)
            with self._lock:
                self._table.follow(asked.snapshot.notes)
                like = self._table.like(name.rpartition("/")[2], asked.view.shows, 3)
            for value, form, notes in like:
                sure = 0.95 * value * (0.8 if len(notes) > 1 else 1.0)
                if asked.meta.id in {meta.id for meta in notes}:
                    continue
                yield {
                    "kind": "unresolved",
                    "note": self._browser.line(notes[0]),
                    "text": link.raw,
                    "line": link.line,
                    "evidence": f"{link.target} ~ {form}",
                    "confidence": round(sure, 4),
                    "reason": f"no file is called {link.target!r}; this name is like it ({value:.2f})",
                    "candidates": [meta.path for meta in notes] if len(notes) > 1 else [],
                }

    def _around(self, asked: _Asked, near: Sequence[Json]) -> Neighbours:
        """The notes that have a say in tags, type and status."""
        notes = asked.snapshot.notes
        linked = self._browser.refs.by_id(set(asked.out | asked.back) - {asked.meta.id}, notes)
        close = self._browser.refs.by_id({one["note"]["id"] for one in near}, notes)
        weights = {one["note"]["id"]: one["confidence"] for one in near}
        return Neighbours(
            asked.meta,
            [meta for _, meta in sorted(linked.items()) if asked.view.shows(meta)],
            [(meta, weights[key]) for key, meta in sorted(close.items()) if asked.view.shows(meta)],
            self._shown(asked),
        )


def _vectors(snapshot: HotSnapshot, key: int) -> tuple[list[int], Any, Any]:
    """The passages of a note that have a vector: keys of their documents, rows, and vectors (n, dim)."""
    docs = np.flatnonzero((snapshot.doc_note == snapshot.slot_of.get(key, -1)) & snapshot.alive)
    ends = np.append(snapshot.passage_start, len(snapshot.passage_rows))
    pairs = [
        (int(snapshot.doc_key[doc]), int(row))
        for doc in docs
        for row in snapshot.passage_rows[ends[doc] : ends[doc + 1]]
        if row >= 0
    ]
    rows = np.array([row for _, row in pairs], np.int64)
    vectors = [_row(snapshot, int(row)) for row in rows]
    return [doc for doc, _ in pairs], rows, np.stack(vectors) if vectors else np.zeros((0, 0), np.float32)


def _row(snapshot: HotSnapshot, row: int) -> Any:
    view = snapshot.vectors
    block = bisect_right(view.starts, row) - 1
    while not len(view.blocks[block]):  # empty blocks begin where the next does
        block -= 1
    return view.blocks[block][row - view.starts[block]]


def _short(text: str) -> str:
    return " ".join(text.split())[:EVIDENCE]


def _best_of_each(links: Sequence[Json]) -> list[Json]:
    """Each note once a kind (an unresolved link: once a link), where it is surest."""
    best: dict[Any, Json] = {}
    for one in links:
        best.setdefault((one["kind"], one["note"]["id"], one["text"] if one["kind"] == "unresolved" else ""), one)
    return list(best.values())
