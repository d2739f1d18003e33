"""The optional language model: whether it is there, calls within limits, and nothing that anybody has to wait for.

`Llm.available` never blocks: it tells what the last look found and has a new one made in the background. A server that
fails costs one call, then a pause that grows (the circuit breaker of Nygard, Release It!, 2007); it heals by itself.
Not for: prompts (``core.prompts``), what a reply means (``core.llm_replies``), the cache (``llm_extract``).
"""

from __future__ import annotations

import queue
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from mindnetd.core.prompts import room
from mindnetd.errors import MindnetError
from mindnetd.inference.llm_call import (
    POLL_S,
    SERVER_CODES,
    ChatRequest,
    LlmError,
    LlmReply,
    Loop,
    Messages,
    ask,
    ask_in_pieces,
)
from mindnetd.inference.llm_pace import Pace
from mindnetd.inference.llm_turns import Turns
from mindnetd.inference.ollama_http import OllamaServer

PURPOSES = ("entity_types", "extract", "gleaning", "summary", "map", "reduce", "answer")
OUTCOMES = ("ok", "cached", "failed", "stopped", "retry_ok", "retry_failed")
LOOK_S = 5.0
"""How long a look at the server may take."""
LOOK_AGAIN_S = 600.0
"""A tag may be pulled anew: so often the digest is read again."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 2.0, 60.0
"""Between two looks at a server that is away; a look is one refused connection."""
ASKED = frozenset(("map", "reduce", "answer"))
"""Purposes with somebody waiting."""
THINK: Mapping[str, bool | str] = {"off": False, "on": True, "low": "low", "medium": "medium", "high": "high"}


@dataclass(frozen=True, slots=True)
class LlmOptions:
    """The section ``llm`` of the configuration."""

    enabled: str = "auto"
    host: str = "http://127.0.0.1:11434"
    model: str = "llama3.2:3b"
    timeout_s: float = 120.0
    load_timeout_s: float = 300.0
    max_in_flight: int = 1
    num_ctx: int = 8192
    keep_alive: str = "5m"
    think: str = "off"


@dataclass(frozen=True, slots=True)
class Found:
    """What a look found: ``digest`` names the weights, ``thinks``: the model has a thinking part."""

    digest: str
    thinks: bool
    version: str
    at: float


class Llm:
    """One for the whole process; any thread. `count` gets (purpose, outcome) of every call."""

    def __init__(
        self,
        options: LlmOptions,
        count: Callable[[str, str], None] = lambda _purpose, _outcome: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.options = options
        self._count, self._clock = count, clock
        self._server = OllamaServer(options.host)
        self._loop = Loop()
        self._lock = threading.Lock()
        self._turns = Turns(options.max_in_flight)
        self._pace = Pace(clock)
        self._found: Found | None = None
        self._error: LlmError | None = None
        self._pause = self._until = 0.0
        self._looking = self._closed = False
        self._loading: Future[LlmReply] | None = None
        self._used = float("-inf")
        self._keep_s = keep_seconds(options.keep_alive)

    # ------------------------------------------------------------------------------------------------------ is it there

    @property
    def model(self) -> str:
        """Its name."""
        return self.options.model

    @property
    def digest(self) -> str:
        """What identifies its weights; "" before the first look that found it."""
        return self._found.digest if self._found else ""

    def available(self) -> bool:
        """Whether a call may be made now. Never blocks; where it is time for a look, one begins in the background."""
        with self._lock:
            if self.options.enabled == "off" or self._closed:
                return False
            now = self._clock()
            fresh = self._found is not None and now - self._found.at < LOOK_AGAIN_S
            due = not fresh and not self._looking and now >= self._until
            if due:
                self._looking = True
            there = self._found is not None and self._error is None
        if due:
            threading.Thread(target=self.look, name="llm-look", daemon=True).start()
        return there

    def look(self) -> bool:
        """Look for server and model now; within seconds, on the caller's thread. True if a call may be made."""
        if self.options.enabled == "off" or self._closed:
            return False
        try:
            found = self._look()
        except MindnetError as error:
            self._failed(_as_llm(error), lost=True)
            return False
        finally:
            with self._lock:
                self._looking = False
        with self._lock:
            self._found, self._error = found, None  # the pause stays: only a call that works shortens it
        return True

    def _look(self) -> Found:
        version = str(self._server.call("/api/version", None, LOOK_S).get("version", ""))
        listed = self._server.call("/api/tags", None, LOOK_S).get("models")
        wanted = full_name(self.model)
        for entry in listed if isinstance(listed, list) else []:
            if isinstance(entry, dict) and full_name(str(entry.get("name"))) == wanted:
                shown = self._server.call("/api/show", {"model": self.model}, LOOK_S).get("capabilities")
                thinks = isinstance(shown, list) and "thinking" in shown
                return Found(str(entry.get("digest") or wanted), thinks, version, self._clock())
        raise LlmError(
            f"Ollama at {self._server.address} has no model {wanted}: run `ollama pull {wanted}`", "llm_model_missing"
        )

    def state(self) -> dict[str, Any]:
        """For ``status.llm``."""
        with self._lock:
            found, error, now = self._found, self._error, self._clock()
            off = self.options.enabled == "off"
            wait = None if error is None else round(max(0.0, self._until - now), 1)
            return {
                "enabled": self.options.enabled,
                "available": found is not None and error is None and not off,
                "host": self._server.address,
                "model": self.model,
                "digest": found.digest if found else None,
                "server_version": found.version if found else None,
                "error": None if error is None else {"code": error.code, "message": error.message},
                "next_try_s": wait,
            }

    # ------------------------------------------------------------------------------------------------------------ calls

    def chat(
        self,
        messages: Messages,
        *,
        purpose: str,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int,
        stop: Callable[[], bool] = lambda: False,
        retry: bool = False,
        check: Callable[[str], object] = lambda _: None,
    ) -> LlmReply:
        """One complete reply, at temperature 0. Raises LlmError. `retry`: the same was asked before.

        `check` raises LlmError where the text is no use, so that the call counts as failed.
        """
        request = self._request(messages, schema, max_tokens)
        with self._counted(purpose, retry), self._slot(purpose, stop):
            self._load(stop)
            future = self._loop.start(ask(self._server.address, request, self._limit()))
            way = stop if purpose in ASKED else lambda: stop() or self._turns.wanted
            reply = self._loop.wait(future, way)
            self._worked(reply)
            check(reply.text)
            return reply

    def stream(
        self,
        messages: Messages,
        *,
        purpose: str,
        max_tokens: int,
        stop: Callable[[], bool] = lambda: False,
    ) -> Iterator[str]:
        """The reply in pieces. Raises LlmError, also at the end: of a reply that is cut nothing holds.

        Giving the iterator up gives the call up.
        """
        request = self._request(messages, None, max_tokens)
        with self._counted(purpose, False), self._slot(purpose, stop):
            self._load(stop)
            pieces: queue.SimpleQueue[str] = queue.SimpleQueue()
            future = self._loop.start(ask_in_pieces(self._server.address, request, self._limit(), pieces.put))
            started, spoke = self._clock(), False
            try:
                for piece in self._pieces(future, pieces, stop):
                    spoke = True
                    yield piece
            finally:
                future.cancel()
                if not spoke:
                    self._pace.unread(sum(len(one["content"]) for one in messages) // 4, self._clock() - started)
            self._worked(self._loop.wait(future, stop))

    @staticmethod
    def _pieces(future: Future[LlmReply], pieces: queue.SimpleQueue[str], stop: Callable[[], bool]) -> Iterator[str]:
        while True:
            ended = future.done()  # asked before the queue: what comes in between is not lost
            try:
                yield pieces.get(timeout=0 if ended else POLL_S)
            except queue.Empty:
                if ended:
                    return
                if stop():
                    raise LlmError("the call to the LLM was given up", "llm_stopped") from None

    def room(self, reply_tokens: int, parts: int = 1) -> int:
        """Tokens of notes that an answer may put to it: what fits beside rules and reply, and what it reads in time in
        each of so many calls. 0: it is too slow to be asked."""
        return min(room(self.options.num_ctx, reply_tokens), self._pace.tokens(parts))

    def close(self) -> None:
        """End calls under way, at once, so that the server does not work on for nobody."""
        with self._lock:
            self._closed = True
        self._loop.close()
        self._server.close()

    # ----------------------------------------------------------------------------------------------------------- within

    def _request(self, messages: Messages, schema: Mapping[str, Any] | None, max_tokens: int) -> ChatRequest:
        """Load options are the same on every call to the model: another ``num_ctx`` would make it load again."""
        think = THINK[self.options.think] if self._found is not None and self._found.thinks else None
        options = {"num_ctx": self.options.num_ctx}
        if messages:
            options |= {"num_predict": max_tokens, "temperature": 0, "seed": 1}
        return ChatRequest(self.model, messages, options, self.options.keep_alive, think, schema)

    def _limit(self) -> float:
        """A model that is unloaded after each answer is loaded by the call itself."""
        return self.options.timeout_s + (self.options.load_timeout_s if not self._keep_s else 0.0)

    def _load(self, stop: Callable[[], bool]) -> None:
        """Have the model loaded, with a limit of its own. Whoever gives up waiting leaves the load going: a server
        aborts it with its client, and then no later try would get further."""
        with self._lock:
            if not self._keep_s or self._clock() - self._used < self._keep_s:
                return
            if self._loading is None or self._loading.done():
                request = self._request((), None, 0)
                self._loading = self._loop.start(ask(self._server.address, request, self.options.load_timeout_s))
            loading = self._loading
        try:
            self._loop.wait(loading, stop, mine=False)
        except LlmError as error:
            if error.code == "llm_timeout":
                raise LlmError(
                    f"{self.model} was not loaded within {self.options.load_timeout_s:g} s: see llm.load_timeout_s",
                    "llm_load_timeout",
                ) from error
            raise
        with self._lock:
            self._used = self._clock()

    def _slot(self, purpose: str, stop: Callable[[], bool]) -> AbstractContextManager[None]:
        """A turn, or LlmError; the breaker is asked first."""
        with self._lock:
            off, error = self.options.enabled == "off" or self._closed, self._error
            there = self._found is not None
        if off:
            raise LlmError("the LLM is off", "llm_off", called=False)
        if error is not None:
            raise LlmError(error.message, error.code, error.retry, called=False)
        if not there:
            raise LlmError("no LLM has been found yet", "llm_away", called=False)
        return self._turns.turn(purpose in ASKED, stop)

    def _counted(self, purpose: str, retry: bool) -> _Counted:
        return _Counted(self, purpose, retry)

    def settle(self, purpose: str, retry: bool, error: LlmError | None) -> None:
        """A call ended: count it, and open the breaker where the server is to blame."""
        if error is None:
            self._count(purpose, "retry_ok" if retry else "ok")
            return
        if not error.called:
            return
        stopped = error.code == "llm_stopped"
        self._count(purpose, "stopped" if stopped else "retry_failed" if retry else "failed")
        if error.code in SERVER_CODES:
            self._failed(error)

    def count_cached(self, purpose: str) -> None:
        """A reply came from the cache."""
        self._count(purpose, "cached")

    def _worked(self, reply: LlmReply) -> None:
        self._pace.read(reply.prompt_tokens, reply.prompt_s)
        with self._lock:
            self._used = self._clock()
            self._error, self._pause = None, 0.0

    def _failed(self, error: LlmError, *, lost: bool = False) -> None:
        """A failure lengthens the pause; after it a look decides."""
        with self._lock:
            self._pause = min(max(FIRST_PAUSE_S, self._pause * 2), LONGEST_PAUSE_S)
            self._until, self._error = self._clock() + self._pause, error
            self._found, self._used = (None if lost else self._found), float("-inf")
            if self._found is not None:  # it answers looks, perhaps: look again after the pause
                self._found = Found(self._found.digest, self._found.thinks, self._found.version, float("-inf"))


class _Counted:
    """Tells `Llm.settle` how what is inside ended."""

    def __init__(self, llm: Llm, purpose: str, retry: bool) -> None:
        self._llm, self._purpose, self._retry = llm, purpose, retry

    def __enter__(self) -> None:
        if self._purpose not in PURPOSES:
            raise ValueError(f"unknown purpose {self._purpose}")

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, GeneratorExit):
            error = LlmError("given up", "llm_stopped")
        if error is None or isinstance(error, LlmError):
            self._llm.settle(self._purpose, self._retry, error)


def keep_seconds(keep_alive: str) -> float:
    """How long a model surely stays loaded after a call: most of ``keep_alive``, at most 4 minutes; 0: not at all."""
    match = re.fullmatch(r"(-?\d+)(ms|s|m|h)?", keep_alive)
    if match is None:
        return 240.0
    seconds = int(match[1]) * {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, None: 1.0}[match[2]]
    return 240.0 if seconds < 0 else min(240.0, seconds * 0.8)


def full_name(model: str) -> str:
    """``smollm2`` means ``smollm2:latest``; names are matched without regard to case."""
    name = model.lower()
    return name if ":" in name.rsplit("/", 1)[-1] else f"{name}:latest"


def _as_llm(error: MindnetError) -> LlmError:
    """An error of a look in the codes of a call."""
    if isinstance(error, LlmError):
        return error
    codes = {"ollama_timeout": "llm_timeout", "ollama_model_missing": "llm_model_missing"}
    codes |= {"ollama_refused": "llm_server_error", "ollama_bad_reply": "llm_not_ollama", "closed": "llm_stopped"}
    return LlmError(error.message, codes.get(error.code, "llm_unreachable"))
