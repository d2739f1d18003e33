"""When the language model is asked about the vault, what is kept of it, and what waits.

    questions (what has no reply yet and is due) > call > check > keep (one write a reply) > the corpus-wide stage again

No save, no query and no graph waits for it: the corpus-wide stage takes the replies that are stored
(`Extraction.refine`) and the heuristic result stands for the rest, which is kept as pending with its error and its next
try.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from mindnetd.core import prompts
from mindnetd.core.llm_replies import ReplyError
from mindnetd.core.naming import Directory
from mindnetd.core.prompts import Ask, Asks
from mindnetd.core.tokens import TokenCounter
from mindnetd.inference.llm import Llm
from mindnetd.inference.llm_call import SERVER_CODES, LlmError
from mindnetd.llm_questions import ExtractOptions, Questions, Row, Sources, Work
from mindnetd.llm_refine import refine, with_types
from mindnetd.store import llm as store
from mindnetd.store import read
from mindnetd.store.db import Database, set_meta
from mindnetd.store.llm import Pending
from mindnetd.store.records import GraphRows, utc_now

Write = Callable[[Callable[[], int]], int]
"""Runs a function on the writer thread and returns what it returns."""

AWAY_S, AWAY_MOST_S = 5.0, 300.0
"""The pause after a failure of the server: doubled from try to try, up to the second."""
BAD_S, BAD_MOST_S = 3600.0, 86_400.0
"""The same after a reply that was no good: at temperature 0 it will be so until model or settings change."""
AGAIN_IN_PARTS = ("llm_truncated", "llm_junk")
"""Bad replies that half the items may cure."""


@dataclass
class Round:
    """What one round did. ``dropped``: names and relations of replies that were not kept."""

    replies: int = 0
    failed: int = 0
    dropped: int = 0
    error: str | None = None
    waits: dict[str, Pending] = field(default_factory=dict)
    sources: Sources = field(default_factory=dict)


class Extraction:
    """One for the whole process; `run` and `refine` on worker threads, one `run` at a time."""

    def __init__(
        self,
        db: Database,
        llm: Llm,
        counter: TokenCounter,
        options: Callable[[], ExtractOptions],
        write: Write,
        *,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._db, self._llm, self._counter, self._options = db, llm, counter, options
        self._write, self._now = write, now
        self._waits = {one.key: one for one in store.pending(db)}
        self._counted: set[str] = set()
        self.dropped = 0
        """Names and relations of all replies so far that were not kept."""

    # ---------------------------------------------------------------------------------------------------------- status

    def pending(self) -> list[Pending]:
        """What waits for a reply, by note."""
        return sorted(self._waits.values(), key=lambda one: (one.note_key, one.purpose, one.key))

    def due(self) -> bool:
        """Whether something that waits may be tried again."""
        now = self._now()
        return any(one.next_try <= now for one in list(self._waits.values()))

    def state(self) -> dict[str, Any]:
        """For ``status.llm.pending``."""
        waits = self.pending()
        first = min((one.next_try for one in waits), default=None)
        return {
            "count": len(waits),
            "notes": len({one.note_key for one in waits} - {store.CORPUS}),
            "next_try": None if first is None else first.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "errors": sorted({one.error for one in waits})[:5],
        }

    # ------------------------------------------------------------------------------------------------------------- run

    def run(self, stop: Callable[[], bool] = lambda: False, told: Callable[[int], None] = lambda _: None) -> Round:
        """Ask what has no valid reply and is due, one call after the other. Raises StoreError.

        `told` gets the number of replies so far. It ends early where the server is away or `stop` says so. Summaries
        are asked for once the graph has taken in all replies that there are: they are made of communities that stay.
        """
        done = Round()
        if self._llm.options.enabled == "off" or not self._expected():
            self._settle(done, known=False)
            return done
        self._remember()
        questions = self._questions()
        for work in questions.extraction(done.sources):
            self._one(work, done, stop)
            told(done.replies)
        settled = not done.replies and done.error is None
        for work in questions.summaries(done.sources, ask=settled):
            self._one(work, done, stop)
            told(done.replies)
        for key, purpose in questions.reused.items():
            if key not in self._counted:
                self._llm.count_cached(purpose)
        self._counted.update(questions.reused)
        self._settle(done, known=bool(self._digest()))
        return done

    def _expected(self) -> bool:
        """Whether anybody counts on a model: one has been found here, or the configuration says that there is one."""
        options = self._llm.options
        return bool(self._digest()) or options.enabled == "on" or self._options().mode != "heuristic"

    def _one(self, work: Work, done: Round, stop: Callable[[], bool]) -> None:
        """Ask it where that may be; it waits where not, or where the reply was no good."""
        key, now = work.ask.key, self._now()
        before = self._waits.get(key)
        if before is not None and before.next_try > now:
            done.waits[key] = before
            return
        tries = before.tries if before else 0
        if done.error is not None or stop():
            error = done.error or "llm_stopped: not asked yet"
            done.waits[key] = before or Pending(key, work.ask.purpose, work.note, 0, now, error)
            return
        try:
            self._ready()
            self._ask(work, done, stop, retry=tries > 0)
            done.replies += 1
            self._counted.add(key)
        except LlmError as error:
            said = f"{error.code}: {error.message}"
            gone = error.code in SERVER_CODES or error.retry
            if error.code == "llm_stopped" or not error.called:
                done.error = said
                if before is None or before.error != said:
                    before = Pending(key, work.ask.purpose, work.note, tries, now, said)
                done.waits[key] = before
                return
            done.failed += 1
            done.error = said if gone else None
            next_try = self._now() + pause(tries, gone)
            done.waits[key] = Pending(key, work.ask.purpose, work.note, tries + 1, next_try, said)

    def _ready(self) -> None:
        if not self._llm.available():
            error = self._llm.state()["error"]
            if error is None:
                raise LlmError("no LLM has been found yet", "llm_away", called=False)
            raise LlmError(error["message"], error["code"], called=False)

    def _ask(self, work: Work, done: Round, stop: Callable[[], bool], *, retry: bool) -> None:
        """Call, check, keep; a reply that was cut, or is no JSON, is asked for once more with half the items."""
        try:
            reply = self._call(work, work.ask, done, stop, retry=retry)
        except LlmError as error:
            narrower = prompts.narrower(work.ask)
            if error.code not in AGAIN_IN_PARTS or narrower == work.ask:
                raise
            reply = self._call(work, narrower, done, stop, retry=True)
        self._keep(work.rows(reply), work.ask.purpose)

    def _call(self, work: Work, ask: Ask, done: Round, stop: Callable[[], bool], *, retry: bool) -> str:
        def check(text: str) -> None:
            try:
                dropped = work.check(text)
            except ReplyError as error:
                raise LlmError(f"{error}", error.code) from error
            done.dropped += dropped
            self.dropped += dropped

        reply = self._llm.chat(
            ask.messages,
            purpose=ask.purpose,
            schema=ask.schema,
            max_tokens=ask.max_tokens,
            retry=retry,
            stop=stop,
            check=check,
        )
        return reply.text

    def _keep(self, rows: Sequence[Row], purpose: str) -> None:
        def work() -> int:
            store.put(self._db, rows, purpose, self._llm.model)
            return 0

        self._write(work)

    def _settle(self, done: Round, *, known: bool) -> None:
        """Write down what waits, and which replies are still somebody's. Without a model's digest nothing goes."""

        def work() -> int:
            if known:
                store.keep_sources(self._db, done.sources, self._now())
            store.keep_pending(self._db, list(done.waits.values()))
            return 0

        if known or done.waits != self._waits:
            self._write(work)
        self._waits = done.waits

    # -------------------------------------------------------------------------------------------------------- replies

    def fingerprint(self) -> str:
        """Part of what the graph is made of: the mode, the model, and which replies are there. Raises StoreError."""
        if self._llm.options.enabled == "off":
            return ""
        return "\n".join((self._options().mode, self._digest(), store.fingerprint(self._db, summaries=False)))

    def refine(self, rows: GraphRows, directory: Directory, ids: Sequence[str], notes: frozenset[int]) -> GraphRows:
        """The graph of an audience that may see `notes`, with the stored replies about them. Raises StoreError."""
        if not self._digest() or self._llm.options.enabled == "off":
            return rows
        questions = self._questions()
        if self._options().mode == "heuristic":
            return with_types(rows, questions.types(entity.name for entity, _ in rows.entities))
        return refine(rows, directory, ids, questions.said(notes), self._options().prefix)

    # ------------------------------------------------------------------------------------------------------- summaries

    def summaries_fingerprint(self) -> str:
        """Part of what communities are made of; "" where no model has been found yet. Raises StoreError."""
        if not self._digest() or self._llm.options.enabled == "off":
            return ""
        return self._digest() + store.fingerprint(self._db, summaries=True)

    def summary(self, title: str, _names: Iterable[str], sentences: Sequence[str]) -> str | None:
        """The stored summary of a community, if there is one. Raises StoreError."""
        return self._questions().summary(title, sentences)

    # --------------------------------------------------------------------------------------------------------- digest

    def _questions(self) -> Questions:
        asks = Asks(self._digest(), self._llm.options.num_ctx)
        return Questions(self._db, self._counter, asks, self._options())

    def _digest(self) -> str:
        """The model's digest; that of the last time while it is away, so that its replies stay in force."""
        if self._llm.digest:
            return self._llm.digest
        model, _, digest = read.load_meta(self._db).get("llm_digest", "").rpartition("=")
        return digest if model == self._llm.model else ""

    def _remember(self) -> None:
        """Whose replies are in force, and with what settings what waits was asked: with others it may fare better."""
        options = self._llm.options
        wanted = {"llm_settings": f"{options.num_ctx} {options.think} {options.timeout_s:g} {options.load_timeout_s:g}"}
        if self._llm.digest:
            wanted["llm_digest"] = f"{self._llm.model}={self._llm.digest}"
        known = read.load_meta(self._db)
        if all(known.get(key) == value for key, value in wanted.items()):
            return
        if known.get("llm_settings") != wanted["llm_settings"]:
            self._waits = {key: replace(one, next_try=self._now()) for key, one in self._waits.items()}

        def work() -> int:
            with self._db.unrevised() as con:
                for key, value in wanted.items():
                    set_meta(con, key, value)
            return 0

        self._write(work)


def pause(tries: int, gone: bool) -> timedelta:
    """How long to wait after so many failures before this one: doubled each time, without chance."""
    first, most = (AWAY_S, AWAY_MOST_S) if gone else (BAD_S, BAD_MOST_S)
    return timedelta(seconds=min(first * 2 ** min(tries, 20), most))


__all__ = ["ExtractOptions", "Extraction", "Round", "Write", "pause"]
