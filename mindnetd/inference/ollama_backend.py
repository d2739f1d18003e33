"""The Ollama back end: ``/api/embed`` with every demand of ``ollama.md`` on a client.

One bulk call at a time, never with ``truncate``; a load gets a timeout of its own; a refused batch goes on one text at
a time; a text that is too long is split and its halves averaged; an absent server is asked again only after a growing
pause, and until then every call fails at once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from mindnetd.errors import ModelError
from mindnetd.inference.batching import plan_batches, unit_rows
from mindnetd.inference.embedder import (
    EmbedderOptions,
    EmbeddingStoppedError,
    Stop,
    TextsFailedError,
    Vectors,
    check_dim,
    fingerprint,
)
from mindnetd.inference.ollama_http import OllamaError, OllamaServer
from mindnetd.inference.tokenizer import PinnedCounter

_TEXTS_AT_ONCE = 32
_LOADED_S = 60.0  # a model used this recently is still loaded, whatever keep_alive says
_ASK_S = 5.0
_QUERY_S = 20.0
_LONG = ("context length", "input length", "too long", "too large", "exceed")
_SHORTEST_SPLIT = 16


class OllamaEmbedder:
    """`Embedder` over an Ollama server. Raises ModelError at once where the server or the model is not there."""

    def __init__(self, options: EmbedderOptions, clock: Callable[[], float] = time.monotonic) -> None:
        self._options = options
        self._clock = clock
        self._server = OllamaServer(options.ollama_host)
        self._breaker = _Breaker(clock)
        self._counter = PinnedCounter()
        self._bulk = threading.Lock()
        self._used = -_LOADED_S
        self._model = _full_name(options.model)
        self.name = f"ollama:{self._model}"
        self.server_version = str(self._ask("/api/version", None, _ASK_S).get("version", "unknown"))
        digest = self._digest()
        window, size = self._about()
        self.max_tokens = min(window, options.ollama_num_ctx)
        self.dim = size
        self.dim = check_dim(size or self._embed_raw(["dimension"], options.load_timeout_s).shape[1], options)
        self.fingerprint = fingerprint("ollama", self._model, digest, str(self.dim), options.passage_prefix)

    def embed(self, texts: Sequence[str], *, stop: Stop | None = None) -> Vectors:
        """See `Embedder.embed`."""
        vectors = np.zeros((len(texts), self.dim), np.float32)
        failed: dict[int, str] = {}
        prefixed = [self._options.passage_prefix + text for text in texts]
        with self._bulk:
            for batch in self._batches(prefixed):
                if stop is not None and stop():
                    raise EmbeddingStoppedError
                self._load()
                self._embed_batch(batch, prefixed, vectors, failed)
        if failed:
            raise TextsFailedError(vectors, failed)
        return vectors

    def embed_query(self, text: str, made: Callable[[], None] = lambda: None) -> Vectors:
        """See `Embedder.embed_query`. Waits 20 s at most: a question is better answered by words than late."""
        vector: Vectors = self._embed_one(self._options.query_prefix + text, min(_QUERY_S, self._options.timeout_s))
        made()
        return vector

    def close(self) -> None:
        """See `Embedder.close`. Calls under way end, so that Ollama does not work on for nobody."""
        self._server.close()

    def _digest(self) -> str:
        """Return what identifies the weights; raises ModelError where the model is not pulled."""
        listed = self._ask("/api/tags", None, _ASK_S).get("models")
        for entry in listed if isinstance(listed, list) else []:
            if isinstance(entry, dict) and _full_name(str(entry.get("name"))) == self._model:
                return str(entry.get("digest", ""))
        raise self._missing()

    def _about(self) -> tuple[int, int]:
        """Return the model's context length (512 if it does not say) and its dimension (0 if it does not say)."""
        info = self._ask("/api/show", {"model": self._model}, _ASK_S).get("model_info")
        window = _figure(info, ".context_length") or 512
        return window, _figure(info, ".embedding_length")

    def _batches(self, texts: Sequence[str]) -> Iterator[list[int]]:
        for batch in plan_batches([n + 2 for n in self._counter.count(texts)], self._options.batch_tokens):
            for start in range(0, len(batch), _TEXTS_AT_ONCE):
                yield batch[start : start + _TEXTS_AT_ONCE]

    def _load(self) -> None:
        """Have the model loaded, under a timeout long enough for it: giving up would abort the load."""
        if self._clock() - self._used >= _LOADED_S:
            self._ask("/api/embed", self._payload([]), self._options.load_timeout_s)
            self._used = self._clock()

    def _embed_batch(self, batch: list[int], texts: Sequence[str], vectors: Vectors, failed: dict[int, str]) -> None:
        """Fill the rows of `batch`; where the batch is refused, text by text."""
        try:
            vectors[batch] = self._embed_raw([texts[index] for index in batch], self._options.timeout_s)
            return
        except ModelError as error:
            if not _concerns_texts(error):
                raise
        for index in batch:
            try:
                vectors[index] = self._embed_one(texts[index], self._options.timeout_s)
            except ModelError as error:
                if not _concerns_texts(error):
                    raise
                failed[index] = error.message

    def _embed_one(self, text: str, timeout_s: float) -> Vectors:
        """Embed one text; one that is too long is split in two, and the halves averaged by their length."""
        try:
            return np.asarray(self._embed_raw([text], timeout_s)[0], np.float32)
        except OllamaError as error:
            too_long = error.reply_status == 400 and any(word in error.message.lower() for word in _LONG)
            if not too_long or len(text) < _SHORTEST_SPLIT:
                raise
        middle = _middle(text)
        parts = [(text[:middle], middle), (text[middle:], len(text) - middle)]
        total = sum((self._embed_one(part, timeout_s) * weight for part, weight in parts), np.zeros(self.dim))
        return np.asarray(unit_rows(np.asarray(total[None], np.float32), self.dim)[0])

    def _embed_raw(self, texts: list[str], timeout_s: float) -> Vectors:
        """One call; the reply is checked for count, dimension and finite values."""
        reply = self._ask("/api/embed", self._payload(texts), timeout_s)
        self._used = self._clock()
        try:
            with np.errstate(over="ignore"):  # too large a number becomes infinite and is refused below
                rows = np.array(reply["embeddings"], np.float32)
        except (KeyError, TypeError, ValueError) as error:
            raise OllamaError("Ollama's reply to /api/embed has no usable embeddings", "ollama_bad_reply") from error
        if rows.ndim != 2 or len(rows) != len(texts):
            raise OllamaError(f"Ollama gave an array {rows.shape} for {len(texts)} texts", "ollama_bad_reply")
        return unit_rows(rows, self.dim or int(rows.shape[-1]))

    def _payload(self, texts: list[str]) -> dict[str, Any]:
        """One fixed set of load options on every call: a changed one would make Ollama load the model again."""
        payload: dict[str, Any] = {"model": self._model, "input": texts, "truncate": False}
        payload |= {"keep_alive": self._options.ollama_keep_alive, "options": {"num_ctx": self._options.ollama_num_ctx}}
        return payload

    def _ask(self, path: str, payload: dict[str, Any] | None, timeout_s: float) -> dict[str, Any]:
        """Call the server through the breaker."""
        self._breaker.check()
        try:
            reply = self._server.call(path, payload, timeout_s)
        except OllamaError as error:
            if error.code in ("ollama_unreachable", "ollama_timeout"):
                self._breaker.trip(error)
            if error.code == "ollama_model_missing":
                raise self._missing() from error
            raise
        self._breaker.reset()
        return reply

    def _missing(self) -> OllamaError:
        return OllamaError(
            f"Ollama at {self._server.address} has no model {self._model}: run `ollama pull {self._model}`",
            "ollama_model_missing",
        )


class _Breaker:
    """Lets no call through for a while after the server could not be reached: 2 s, doubled up to 5 minutes."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._pause = 0.0
        self._until = 0.0
        self._last: OllamaError | None = None

    def check(self) -> None:
        """Raise the last error again while the pause lasts."""
        wait = self._until - self._clock()
        if self._last is not None and wait > 0:
            raise OllamaError(f"{self._last.message}; next try in {wait:.0f} s", self._last.code)

    def trip(self, error: OllamaError) -> None:
        """Note a failure and lengthen the pause."""
        self._pause = min(max(2.0, self._pause * 2), 300.0)
        self._until, self._last = self._clock() + self._pause, error

    def reset(self) -> None:
        """Note a success."""
        self._pause, self._last = 0.0, None


def _concerns_texts(error: ModelError) -> bool:
    """Tell an error about some text of the call (go on with the others) from one about the server or the model."""
    if isinstance(error, OllamaError):
        return error.code == "ollama_refused" and error.reply_status in (400, 500)
    return error.code == "bad_vector"


def _full_name(model: str) -> str:
    """``all-minilm`` means ``all-minilm:latest``; names are matched without regard to case."""
    name = model.lower()
    return name if ":" in name.rsplit("/", 1)[-1] else f"{name}:latest"


def _figure(info: object, ending: str) -> int:
    """Return the positive integer of a ``model_info`` key such as ``bert.context_length``, else 0."""
    for key, value in info.items() if isinstance(info, dict) else ():
        if str(key).endswith(ending) and isinstance(value, int) and value > 0:
            return value
    return 0


def _middle(text: str) -> int:
    """Return a cut near the middle of a text, at white space if there is some in its middle half."""
    half, quarter = len(text) // 2, len(text) // 4
    space = text.rfind(" ", quarter, half + quarter)
    return space + 1 if space > 0 else half
