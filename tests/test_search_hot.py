"""Law 8: the resident index after any commits equals one loaded fresh; law 9: what is hidden changes no score."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search_make import EVERYTHING, Made, Vault, passages_of, rows_of, searcher_of, text_hash, vector

from mindnetd.core.filters import Filters
from mindnetd.core.query import QuerySpec
from mindnetd.deadline import Deadline
from mindnetd.lanes import hot as hot_module
from mindnetd.lanes.hot import HotDelta, HotIndex

PATHS = [f"n{i}.md" for i in range(6)]
TEXTS = [
    "red valve. blue pump", "the red red valve", "Größe und Ventil. rot", "pump station opens. valve", "blue sea",
    "snake_case and real-time. C++", "東京都に住む", "valve", "",
]  # fmt: skip
QUESTIONS = [
    "red valve",
    "pump",
    "Ventil Groesse",
    "snake_case",
    "n1",
    "東京",
    "the",
    "blue -pump",
    '"red valve"',
    "val",
]

texts = st.lists(st.sampled_from(TEXTS[:-1]), max_size=3)
metas = st.fixed_dictionaries({
    "lang": st.sampled_from(["en", "de", "und"]),
    "visibility": st.sampled_from(["public", "internal", "sensitive"]),
    "flags": st.sampled_from([(), ("draft",), ("needs_review",)]),
    "aliases": st.sampled_from([(), ("red valve",), ("pump",)]),
})  # fmt: skip
steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from(PATHS), texts, metas, st.booleans()),
        st.tuples(st.just("meta"), st.sampled_from(PATHS), metas),
        st.tuples(st.just("remove"), st.sampled_from(PATHS)),
        st.tuples(st.just("vectors")),
        st.tuples(st.just("forget"), st.sampled_from(TEXTS)),
        st.tuples(st.just("clear")),
    ),
    max_size=25,
)


class Twin:
    """A vault, and beside its resident index the vectors that should be known."""

    def __init__(self) -> None:
        self.vault = Vault()
        self.known: dict[bytes, Any] = {}

    def do(self, step: Any) -> None:
        getattr(self, step[0])(*step[1:])

    def put(self, path: str, bodies: list[str], meta: dict[str, Any], embedded: bool) -> None:
        made = self.vault.make(path, *bodies, **meta)
        self.vault.put(made, vectors=embedded)
        if embedded:
            self._learn([made])

    def meta(self, path: str, meta: dict[str, Any]) -> None:
        """Only what filters look at changes; the documents stay."""
        old = self.vault.notes.get(path)
        if old is not None:
            changed = {"visibility": meta["visibility"], "flags": meta["flags"]}
            new = self.vault.make(path, lang=old.meta.lang, aliases=old.meta.aliases, **changed).meta
            self.vault.notes[path] = Made(new, old.docs)
            self.vault.hot.apply(HotDelta(1, notes=(new,), kept_docs=(new.key,)))

    def remove(self, path: str) -> None:
        if path in self.vault.notes:
            self.vault.remove(path)

    def vectors(self) -> None:
        wanted = self.vault.hot.waiting()
        all_texts = {text_hash(t): t for note in self.vault.notes.values() for t in self._passages(note)}
        assert set(wanted) == set(all_texts) - set(self.known)
        if wanted:
            matrix = np.stack([vector(all_texts[h]) for h in wanted])
            self.vault.hot.apply(HotDelta(1, vectors=(wanted, matrix)))
            self.known.update(zip(wanted, matrix, strict=True))

    def forget(self, text: str) -> None:
        gone = [text_hash(part.strip()) for part in text.split(".")]
        self.vault.hot.forget_vectors(gone)
        for h in gone:
            self.known.pop(h, None)

    def clear(self) -> None:
        self.vault.hot.clear_vectors()
        self.known.clear()

    def fresh(self) -> HotIndex:
        """An index loaded from what the store would hold."""
        index = HotIndex()
        index.load(rows_of(list(self.vault.notes.values()), self.known))
        return index

    def _learn(self, notes: list[Made]) -> None:
        for note in notes:
            self.known.update({text_hash(t): vector(t) for t in self._passages(note)})

    @staticmethod
    def _passages(note: Made) -> list[str]:
        return [t for _, text in note.docs for t in passages_of(note.meta, text)]


def answers(index: HotIndex, vault: Vault, **changes: Any) -> list[Any]:
    """What an index says to all questions in every lane: keys, scores, terms, counts."""
    found = []
    for lanes in (("lexical",), ("dense",), ("title",), ("lexical", "dense", "title")):
        for question in QUESTIONS:
            spec = QuerySpec(question, lanes=lanes, prefix=question == "val", **changes)
            result = searcher_of(index, vault).query(spec, Deadline(30))
            hits = [(h.note.key, h.chunk and h.chunk.key, h.score, dict(h.terms), dict(h.lanes)) for h in result.hits]
            found.append((lanes, question, hits, result.ready, result.pending))
    return found


@pytest.fixture(params=[hot_module._COMPACT_DOCS, 1], ids=["seldom", "eager"])
def compaction(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compaction as it is, and at every occasion."""
    monkeypatch.setattr(hot_module, "_COMPACT_DOCS", request.param)
    monkeypatch.setattr(hot_module, "_COMPACT_ROWS", request.param)


@pytest.mark.usefixtures("compaction")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps)
def test_any_commits_equal_a_fresh_load(done: list[Any]) -> None:
    """Ids, scores, terms and counts of every lane are those of an index loaded from the same documents."""
    twin = Twin()
    for step in done:
        twin.do(step)
    for filters in (Filters(), EVERYTHING):
        grown, fresh = (answers(index, twin.vault, filters=filters) for index in (twin.vault.hot, twin.fresh()))
        assert grown == fresh


def test_the_last_vector_forgotten_is_no_vectors() -> None:
    """The words answer alone, as over an index loaded without any vector."""
    twin = Twin()
    twin.vault.add("a.md", "the red valve")
    twin.forget("the red valve")
    assert answers(twin.vault.hot, twin.vault) == answers(twin.fresh(), twin.vault)


@settings(max_examples=60, deadline=None)
@given(steps)
def test_hidden_notes_change_no_score(done: list[Any]) -> None:
    """The answers are those of an index that never held what the question may not see."""
    twin, open_twin = Twin(), Twin()
    for step in done:
        twin.do(step)
    seen = {p: n for p, n in twin.vault.notes.items() if n.meta.visibility != "sensitive" and not n.meta.flags}
    open_twin.vault.notes, open_twin.vault.chunks, open_twin.known = seen, twin.vault.chunks, twin.known
    assert answers(twin.vault.hot, twin.vault) == answers(open_twin.fresh(), twin.vault)


def test_a_snapshot_never_changes() -> None:
    """A reader's revision stays as it was, whatever is committed, compacted or forgotten later."""
    twin = Twin()
    for n, path in enumerate(PATHS):
        twin.put(path, [TEXTS[n], TEXTS[n + 1]], {"lang": "en"}, n % 2 == 0)
    old = HotIndex()
    old._snapshot = twin.vault.hot.snapshot()
    before = answers(old, twin.vault)
    for n, path in enumerate(PATHS):
        twin.put(path, [TEXTS[-2 - n]], {"lang": "de", "visibility": "sensitive"}, True)
        twin.remove(PATHS[n - 1])
    twin.forget(TEXTS[0])
    twin.vault.hot._compact()
    twin.clear()
    assert answers(old, twin.vault) == before


def test_readers_never_see_half_a_commit() -> None:
    """While a writer swaps two notes, each answer is one revision: exactly one of them, with its own text."""
    vault = Vault()
    vault.add("a.md", "valve one. first", tags=("odd",))
    stop, wrong = threading.Event(), []

    def write() -> None:
        for n in range(300):
            old, new = ("a.md", "b.md") if n % 2 == 0 else ("b.md", "a.md")
            made = vault.make(new, f"valve {n}. filler {n % 7}", tags=("odd" if n % 2 else "even",))
            key = vault.notes.pop(old).meta.key
            vault.notes[new] = made
            vault._keep(made)
            texts = passages_of(made.meta, made.docs[0][1])
            rows = ([text_hash(t) for t in texts], np.stack([vector(t) for t in texts]))
            vault.hot.apply(HotDelta(n + 2, (key,), (made.meta,), tuple(made.hot_docs()), (), rows))
        stop.set()

    def read() -> None:
        while not stop.is_set():
            hits = vault.query("valve").hits
            if len(hits) != 1 or hits[0].chunk is None or not hits[0].chunk.text.startswith("valve"):
                wrong.append(hits)

    threads = [threading.Thread(target=write), *(threading.Thread(target=read) for _ in range(2))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert stop.is_set()
    assert wrong == []


def test_missing_and_waiting() -> None:
    """What has no vector is told, newest first, and a vector is never asked for twice."""
    vault = Vault()
    vault.put(vault.make("a.md", "one. two"), vectors=False)
    vault.put(vault.make("b.md", "two. three"), vectors=False)
    one, two, three = map(text_hash, ("one", "two", "three"))
    assert vault.hot.waiting() == [three, two, one]
    keys = {path: item.meta.key for path, item in vault.notes.items()}
    assert {key: set(found) for key, found in vault.hot.waiting_by_note().items()} == {
        keys["a.md"]: {one, two},
        keys["b.md"]: {two, three},
    }
    vault.hot.apply(HotDelta(9, vectors=([two], vector("two")[None])))
    assert vault.hot.missing([one, two, two, three, one]) == [one, three]
    assert vault.hot.waiting_by_note() == {keys["a.md"]: [one], keys["b.md"]: [three]}
    assert vault.query("two").pending == 2
    vault.hot.forget_vectors([two])
    assert vault.hot.missing([two]) == [two]


@pytest.mark.parametrize(
    "delta",
    [
        lambda v: HotDelta(2, docs=tuple(v.make("x.md", "text").hot_docs())),
        lambda v: HotDelta(2, notes=(v.make("x.md").meta,), kept_docs=(99,)),
        lambda v: HotDelta(2, notes=(v.notes["a.md"].meta,), docs=tuple(v.notes["a.md"].hot_docs()) * 2),
        lambda v: HotDelta(2, vectors=([b"0" * 32], np.full((1, 24), np.nan, np.float32))),
        lambda v: HotDelta(2, vectors=([b"0" * 32], np.ones((1, 3), np.float32))),
    ],
    ids=["no note", "kept of nobody", "one key twice", "not finite", "another width"],
)
def test_a_contradiction_is_refused_and_changes_nothing(delta: Any) -> None:
    """A delta that cannot be is an error; the index answers as before."""
    vault = Vault()
    vault.add("a.md", "valve")
    before = vault.hot.snapshot()
    with pytest.raises(ValueError, match=r"\w"):
        vault.hot.apply(delta(vault))
    assert vault.hot.snapshot() is before
    assert vault.paths("valve") == ["a.md"]


def test_segments_stay_few() -> None:
    """Hundreds of commits leave a handful of segments, and replaced postings do not pile up."""
    vault = Vault()
    for n in range(400):
        vault.add(f"n{n % 20}.md", f"valve pump {n}")
    segments = vault.hot.snapshot().segments
    assert len(segments) <= 10
    assert sum(map(len, segments)) < 20 * 5 * 4
