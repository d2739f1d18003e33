"""What the language model is asked about the vault, and what its stored replies say: questions and replies, no calls.

Only notes that somebody may see without asking for their flag are put to it: what stands in a private journal, in a
draft, or above ``privacy.max_query_visibility`` is in no graph, so asking would serve nobody. What a reply says of a
note is used for audiences that may see this note, and names are asked about with names of the same audience.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mindnetd.core import prompts
from mindnetd.core.identity import fold
from mindnetd.core.llm_replies import Extract, ReplyError, check_summary, extract_of, types_of
from mindnetd.core.prompts import NAMES_AT_ONCE, Ask, Asks
from mindnetd.core.records import FLAGS, VISIBILITIES
from mindnetd.core.tokens import TokenCounter
from mindnetd.llm_refine import Said
from mindnetd.store import llm as store
from mindnetd.store.db import Database
from mindnetd.store.llm import CORPUS, Document, Summed

Sources = dict[str, tuple[int, ...]]
"""The keys of replies, and the keys of the notes that each was made of."""
DOCUMENTS_AT_ONCE = 500
Row = tuple[str, str, Sequence[int]]
"""A reply to keep: its key, its text, its notes."""


@dataclass(frozen=True, slots=True)
class ExtractOptions:
    """What decides which questions are asked. ``hiding`` and ``highest`` as in `corpus.CorpusOptions`."""

    mode: str = "heuristic"
    prefix: str = "mindnet"
    hiding: tuple[str, ...] = FLAGS
    highest: str = "internal"

    def asks_about(self, document: Document) -> bool:
        """Whether any audience may see it."""
        allowed = VISIBILITIES[: VISIBILITIES.index(self.highest) + 1]
        return document.visibility in allowed and not set(self.hiding).intersection(document.flags)


@dataclass(frozen=True, slots=True)
class Work:
    """A question. ``check`` raises ReplyError, or returns how many names and relations of a reply do not count;
    ``rows`` are what is kept of a good one."""

    ask: Ask
    check: Callable[[str], int]
    rows: Callable[[str], list[Row]]

    @property
    def note(self) -> int:
        """The note that it is about, or `CORPUS`."""
        return self.ask.notes[0] if len(self.ask.notes) == 1 else CORPUS


class Questions:
    """One for each round of questions, or of reading what is stored. All methods raise StoreError."""

    def __init__(self, db: Database, counter: TokenCounter, asks: Asks, options: ExtractOptions) -> None:
        self._db, self._counter, self._asks, self._options = db, counter, asks, options
        self.reused: dict[str, str] = {}
        """Keys of the questions that had a reply already, and their purpose."""
        self._known: set[str] | None = None
        """Keys that had a reply at first; asked for one by one they cost 2.5 ms each."""
        self._fresh: dict[str, str] = {}
        """Replies that have come since."""

    # --------------------------------------------------------------------------------------------------------- to ask

    def extraction(self, sources: Sources) -> Iterator[Work]:
        """What the graph needs and has no reply yet, note by note. Fills `sources` with the keys of all inputs."""
        if self._options.mode == "heuristic":
            yield from self._types(sources)
            return
        documents = self._documents()
        if self._options.mode == "llm":
            for start in range(0, len(documents), DOCUMENTS_AT_ONCE):
                yield from self._chunks(documents[start : start + DOCUMENTS_AT_ONCE], sources)
            return
        for document in documents:
            ask = self._document_ask(document)
            if self._wanted(ask, sources):
                yield self._work(ask, lambda reply, d=document: _checked_document(reply, d))  # type: ignore[misc]

    def summaries(self, sources: Sources, *, ask: bool) -> Iterator[Work]:
        """The summaries of the communities that have none in the words of this model; with `ask` False none."""
        for one in store.summed(self._db):
            question = self._asks.summary(one.title, one.sentences, one.notes)
            if self._wanted(question, sources) and ask:
                yield self._work(question, lambda reply, o=one: _checked_summary(reply, o))  # type: ignore[misc]

    def _types(self, sources: Sources) -> Iterator[Work]:
        """At most `NAMES_AT_ONCE` names of one audience at a time; a name that several have is asked about once."""
        named = store.entity_names(self._db)
        keys = {name: self._asks.type_key(name) for mine in named.values() for name, _ in mine}
        have = store.replies(self._db, keys.values())
        for mine in named.values():
            for name, notes in mine:
                _add(sources, keys[name], notes)
            asked = [(name, notes) for name, notes in mine if keys[name] not in have]
            have |= {keys[name]: "" for name, _ in asked}
            for start in range(0, len(asked), NAMES_AT_ONCE):
                yield self._batch(asked[start : start + NAMES_AT_ONCE])

    def _batch(self, named: Sequence[tuple[str, tuple[int, ...]]]) -> Work:
        def check(reply: str) -> int:
            types_of(reply, len(named))
            return 0

        def rows(reply: str) -> list[Row]:
            types = types_of(reply, len(named))
            return [(self._asks.type_key(name), kind, notes) for (name, notes), kind in zip(named, types, strict=True)]

        return Work(self._asks.types([name for name, _ in named]), check, rows)

    def _chunks(self, documents: Sequence[Document], sources: Sources) -> Iterator[Work]:
        """Two a chunk; the second is about what the first found, so it comes when that is there."""
        texts = [self._fitting([chunk[2]], prompts.CHUNK_ITEMS) for one in documents for chunk in one.chunks]
        notes = [(one.key,) for one in documents for _ in one.chunks]
        firsts = [self._asks.chunk(text, mine) for text, mine in zip(texts, notes, strict=True)]
        have = store.replies(self._db, [first.key for first in firsts])
        for text, mine, first in zip(texts, notes, firsts, strict=True):
            if self._wanted(first, sources):
                yield self._work(first, lambda reply, t=text: extract_of(reply, t).dropped)  # type: ignore[misc]
            reply = have.get(first.key) or self._fresh.get(first.key)
            if reply is None:
                continue
            names = _names(extract_of(reply, text))
            second = self._asks.gleaning(text, names, mine)
            if self._wanted(second, sources):
                yield self._work(second, lambda reply, t=text, n=names: extract_of(reply, t, n).dropped)  # type: ignore[misc]

    def _work(self, ask: Ask, check: Callable[[str], int]) -> Work:
        def rows(reply: str) -> list[Row]:
            self._fresh[ask.key] = reply
            return [(ask.key, reply, ask.notes)]

        return Work(ask, check, rows)

    def _wanted(self, ask: Ask, sources: Sources) -> bool:
        """Whether there is no reply yet, and nobody else in this round asks the same."""
        twice = ask.key in sources
        _add(sources, ask.key, ask.notes)
        if self._known is None:
            self._known = store.reply_keys(self._db)
        if ask.key in self._known:
            if not twice:
                self.reused[ask.key] = ask.purpose
            return False
        return not twice

    def _documents(self) -> list[Document]:
        return [one for one in store.documents(self._db) if self._options.asks_about(one)]

    def _document_ask(self, document: Document) -> Ask:
        text = self._fitting([text for _, _, text in document.chunks], prompts.CANDIDATES)
        return self._asks.document(document.title, text, _distinct(document.candidates), (document.key,))

    def _fitting(self, texts: Sequence[str], items: int) -> str:
        """As many whole pieces as there is room for; of a first one that is too long, its beginning."""
        num_ctx = self._asks.num_ctx
        room = prompts.room(num_ctx, prompts.reply_tokens(num_ctx, items))
        kept: list[str] = []
        for text, count in zip(texts, self._counter.count(texts), strict=True):
            if count > room:
                return "".join(kept) or text[: max(1, len(text) * room // count)]
            kept.append(text)
            room -= count
        return "".join(kept)

    # -------------------------------------------------------------------------------------------------- what was said

    def types(self, names: Iterable[str]) -> Mapping[str, str]:
        """The stored types of these names."""
        keys = {self._asks.type_key(name): name for name in names}
        return {keys[key]: kind for key, kind in store.replies(self._db, keys).items()}

    def summary(self, title: str, sentences: Sequence[str]) -> str | None:
        """The stored summary of a community with this title and these sentences."""
        ask = self._asks.summary(title, sentences)
        return store.replies(self._db, [ask.key]).get(ask.key)

    def said(self, notes: frozenset[int]) -> list[Said]:
        """The stored replies about these notes, by note and chunk."""
        mine = [one for one in self._documents() if one.key in notes]
        if self._options.mode == "hybrid":
            asks = {one.key: self._document_ask(one).key for one in mine}
            replies = store.replies(self._db, asks.values())
            return [_said_of(one, replies[asks[one.key]]) for one in mine if asks[one.key] in replies]
        chunks = [(one, chunk, self._fitting([chunk[2]], prompts.CHUNK_ITEMS)) for one in mine for chunk in one.chunks]
        firsts = [self._asks.chunk(text, ()).key for _, _, text in chunks]
        replies = store.replies(self._db, firsts)
        found = [
            (*chunk, extract_of(replies[key], chunk[2]))
            for chunk, key in zip(chunks, firsts, strict=True)
            if key in replies
        ]
        return list(self._said_by_chunk(found))

    def _said_by_chunk(self, found: Sequence[tuple[Document, tuple[int, str, str], str, Extract]]) -> Iterator[Said]:
        """`found`: note, chunk, what of it was asked about, what the reply to that says."""
        seconds = [self._asks.gleaning(text, _names(first), ()).key for _, _, text, first in found]
        replies = store.replies(self._db, seconds)
        for (document, (key, chunk_id, whole), text, first), second in zip(found, seconds, strict=True):
            place = ((chunk_id, key, document.key), whole)
            yield Said(document.key, (place,), first)
            if second in replies:
                yield Said(document.key, (place,), extract_of(replies[second], text, _names(first)))


def _names(first: Extract) -> tuple[str, ...]:
    """What the first reply about a chunk found."""
    return tuple(one.name for one in first.entities)


def _said_of(document: Document, reply: str) -> Said:
    places = tuple(((chunk_id, key, document.key), text) for key, chunk_id, text in document.chunks)
    offered = frozenset(map(fold, _distinct(document.candidates)))
    return Said(document.key, places, _of_document(reply, document), offered)


def _of_document(reply: str, document: Document) -> Extract:
    """The reply about a whole document; only its candidates count, wherever in it they stand."""
    text = "\n".join((document.title, *document.candidates, *(text for _, _, text in document.chunks)))
    found = extract_of(reply, text)
    offered = set(map(fold, _distinct(document.candidates)))
    kept = tuple(one for one in found.entities if one.key in offered)
    ends = {one.key for one in kept}
    relations = tuple(one for one in found.relations if {one.source, one.target} <= ends)
    lost = len(found.entities) - len(kept) + len(found.relations) - len(relations)
    return Extract(kept, relations, found.dropped + lost)


def _checked_document(reply: str, document: Document) -> int:
    """What was dropped; raises ReplyError where nothing is left: the title is a candidate, so that is no answer."""
    found = _of_document(reply, document)
    if not found.entities:
        raise ReplyError("the reply names none of the candidates")
    return found.dropped


def _checked_summary(reply: str, community: Summed) -> int:
    check_summary(reply, community.title, community.sentences)
    return 0


def _distinct(names: Sequence[str]) -> list[str]:
    """The first of each folded name, at most as many as one call is about."""
    found: dict[str, str] = {}
    for name in map(_short, names):
        if fold(name):
            found.setdefault(fold(name), name)
    return list(found.values())[: prompts.CANDIDATES]


def _short(name: str) -> str:
    """As many of its words as a reply may repeat."""
    words = name.split()
    while len(words) > 1 and len(" ".join(words)) > prompts.NAME:
        words.pop()
    return " ".join(words)[: prompts.NAME]


def _add(sources: Sources, key: str, notes: Sequence[int]) -> None:
    sources[key] = (*sources.get(key, ()), *notes)
