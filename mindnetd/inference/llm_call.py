"""Calls to Ollama's chat through the official `ollama` package: cancellable, with a deadline, one kind of error.

What the package does on its own is undone here (``ollama.md`` 4, ``libraries.md`` 5): no time limit, the proxies,
``OLLAMA_HOST`` and ``OLLAMA_API_KEY`` of the environment, six kinds of exception, and a reply that counts as good
though it is cut, empty or never came to its end. It is imported at the first call:
where no LLM answers it costs nothing.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from mindnetd.errors import ModelError

T = TypeVar("T")
Messages = Sequence[Mapping[str, str]]
POLL_S = 0.05
"""How often a waiting caller looks whether it should stop."""

SERVER_CODES = frozenset(
    ("llm_unreachable", "llm_timeout", "llm_load_timeout", "llm_model_missing", "llm_server_error", "llm_not_ollama")
)
"""Errors that say that the next call would fail as well."""
LATER_CODES = SERVER_CODES | {"llm_busy", "llm_cut", "llm_stopped", "llm_away", "llm_off", "llm_unusable"}
"""Errors that the same input need not meet again; of all others the same comes out at temperature 0."""


class LlmError(ModelError):
    """A call that brought no usable reply.

    Codes: ``llm_off``, ``llm_away`` (not looked for yet, or its breaker is open), ``llm_unusable`` (the package cannot
    be imported), ``llm_unreachable``, ``llm_timeout``, ``llm_load_timeout``, ``llm_model_missing``,
    ``llm_server_error``, ``llm_not_ollama``, ``llm_refused``, ``llm_too_long``, ``llm_truncated``, ``llm_empty``,
    ``llm_thinking_only``, ``llm_cut`` (the reply broke off), ``llm_junk``, ``llm_busy``, ``llm_stopped``. ``retry``:
    the same input may fare better later; else the reply itself was bad, and it takes another model or setting.
    ``called`` False: no call was made, since the server is known to be away, or busy.
    """

    def __init__(self, message: str, code: str, retry: bool | None = None, *, called: bool = True) -> None:
        super().__init__(message, code=code)
        self.called = called
        self.retry = code in LATER_CODES if retry is None else retry


@dataclass(frozen=True, slots=True)
class LlmReply:
    """A complete reply; the token counts are 0 where the server does not say."""

    text: str
    prompt_tokens: int
    tokens: int
    model: str
    prompt_s: float = 0.0
    """How long it read the prompt."""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What goes to ``/api/chat``. ``think`` None: not sent."""

    model: str
    messages: Messages
    options: Mapping[str, Any]
    keep_alive: str
    think: bool | str | None
    schema: Mapping[str, Any] | None = None


class Loop:
    """An event loop on a thread of its own, so that a call can be given up at any moment from any other thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._live: set[concurrent.futures.Future[Any]] = set()
        self._closed = False

    def start(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Begin `work`; raises LlmError ``llm_stopped`` after `close`."""
        with self._lock:
            if self._closed:
                work.close()
                raise stopped()
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._run, args=(self._loop,), name="llm", daemon=True).start()
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
            self._live.add(future)
        future.add_done_callback(self._forget)
        return future

    def wait(self, future: concurrent.futures.Future[T], stop: Callable[[], bool], *, mine: bool = True) -> T:
        """Its result; where `stop` says so the caller goes, and the work ends if it is `mine`. Raises LlmError."""
        while True:
            try:
                return future.result(POLL_S)
            except concurrent.futures.CancelledError:
                raise stopped() from None
            except TimeoutError:
                if future.done():  # its own error
                    raise
                if stop():
                    if mine:
                        future.cancel()
                    raise stopped() from None

    def close(self) -> None:
        """End everything under way; later calls fail. Does not wait."""
        with self._lock:
            live, loop = list(self._live), None if self._closed else self._loop
            self._closed = True
        for future in live:
            future.cancel()
        if loop is not None:
            loop.call_soon_threadsafe(self._end, loop)

    def _forget(self, future: concurrent.futures.Future[Any]) -> None:
        with self._lock:
            self._live.discard(future)

    @staticmethod
    def _run(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            loop.close()

    @staticmethod
    def _end(loop: asyncio.AbstractEventLoop) -> None:
        """Stop once the cancelled tasks have closed their connections."""
        tasks = [task for task in asyncio.all_tasks(loop) if not task.done()]
        if tasks:
            gathered = asyncio.gather(*tasks, return_exceptions=True)
            gathered.add_done_callback(lambda _: loop.stop())
        else:
            loop.stop()


def stopped() -> LlmError:
    """The caller, or the daemon, wants it no more."""
    return LlmError("the call to the LLM was given up", "llm_stopped")


async def ask(address: str, request: ChatRequest, timeout_s: float) -> LlmReply:
    """One complete reply. Raises LlmError. With no messages: the model is loaded, and the text is empty."""
    parts: Any = None
    try:
        async with asyncio.timeout(timeout_s), _client(address) as client:
            parts = await client.chat(stream=False, **_arguments(request))
    except Exception as error:  # six kinds of exception, and a seventh of a version to come
        raise _told(error, address, timeout_s) from error
    if not request.messages:
        return LlmReply("", 0, 0, request.model)
    return checked(parts.message.content, parts.message.thinking, parts, request.model)


async def ask_in_pieces(address: str, request: ChatRequest, timeout_s: float, put: Callable[[str], None]) -> LlmReply:
    """The same, while `put` gets the text as it comes."""
    text, thought, last = "", "", None
    try:
        async with asyncio.timeout(timeout_s), _client(address) as client:
            stream: AsyncIterator[Any] = await client.chat(stream=True, **_arguments(request))
            async for part in stream:
                last = part
                thought += part.message.thinking or ""
                if part.message.content:
                    text += part.message.content
                    put(part.message.content)
    except Exception as error:  # as above
        raise _told(error, address, timeout_s) from error
    return checked(text, thought, last, request.model)


def checked(text: str | None, thinking: str | None, last: Any, model: str) -> LlmReply:
    """A reply that ended well and says something, or LlmError. `last`: the object with ``done`` and its reason."""
    text = text or ""
    if last is None or last.done is not True:
        raise LlmError("the LLM's reply broke off before its end", "llm_cut")
    if last.done_reason == "length":
        if not text.strip() and (thinking or "").strip():
            raise LlmError(
                "the LLM thought until its limit and said nothing: set llm.think to off", "llm_thinking_only"
            )
        if not text.strip():
            raise LlmError("the LLM's reply is empty: its context is full, see llm.num_ctx", "llm_empty")
        raise LlmError("the LLM's reply was cut at its limit", "llm_truncated")
    if not text.strip():
        if (thinking or "").strip():
            raise LlmError("the LLM only thought and said nothing: set llm.think to off", "llm_thinking_only")
        raise LlmError("the LLM's reply is empty", "llm_empty")
    read_s = (last.prompt_eval_duration or 0) / 1e9
    return LlmReply(text, last.prompt_eval_count or 0, last.eval_count or 0, model, read_s)


def _arguments(request: ChatRequest) -> dict[str, Any]:
    return {
        "model": request.model,
        "messages": [dict(message) for message in request.messages],
        "format": dict(request.schema) if request.schema is not None else None,
        "options": dict(request.options),
        "keep_alive": request.keep_alive,
        "think": request.think,
    }


def _client(address: str) -> Any:
    """A client for one call that takes nothing from the environment."""
    try:
        import httpx
        from ollama import AsyncClient
    except Exception as error:  # it builds a client when imported: a proxy variable can break that
        raise LlmError(f"the package ollama cannot be used: {error!r}", "llm_unusable") from error

    class Transport(httpx.AsyncHTTPTransport):
        """Adds what the package's `chat` has no argument for, and leaves out what it took from the environment."""

        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            payload = json.loads(request.content) | {"shift": False}
            headers = [(k, v) for k, v in request.headers.raw if k.lower() not in (b"authorization", b"content-length")]
            changed = httpx.Request(request.method, request.url, headers=headers, json=payload)
            changed.extensions = request.extensions
            return await super().handle_async_request(changed)

    return AsyncClient(address, transport=Transport(trust_env=False), trust_env=False, follow_redirects=False)


def _told(error: Exception, address: str, timeout_s: float) -> LlmError:
    """Any exception of the package, of httpx under it or of pydantic beside it, as one of ours."""
    if isinstance(error, LlmError):
        return error
    if isinstance(error, TimeoutError) or type(error).__name__.endswith("Timeout"):
        return LlmError(f"the LLM at {address} gave no complete answer within {timeout_s:g} s", "llm_timeout")
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return _refusal(status, str(getattr(error, "error", error)), address)
    if isinstance(error, ConnectionError) or type(error).__name__ in ("ConnectError", "ReadError", "WriteError"):
        return LlmError(f"the LLM at {address} is not reachable ({error!r})"[:300], "llm_unreachable")
    if type(error).__name__ == "RemoteProtocolError":
        return LlmError(f"the LLM at {address} broke off its reply", "llm_cut")
    return LlmError(f"what answers at {address} is not Ollama ({type(error).__name__})", "llm_not_ollama")


def _refusal(status: int, said: str, address: str) -> LlmError:
    reason = f"the LLM at {address} refused: HTTP {status} {said.strip()[:200]}"
    if status == 404:
        return LlmError(reason, "llm_model_missing")
    if status == 400 and any(word in said.lower() for word in ("context", "too long", "exceed")):
        return LlmError(reason, "llm_too_long")
    if "repeat" in said.lower():  # the guard against a token said over and over: temperature 0 does it again
        return LlmError(reason, "llm_refused")
    if status >= 500 or status in (-1, 429):
        return LlmError(reason, "llm_server_error")
    return LlmError(reason, "llm_refused")
