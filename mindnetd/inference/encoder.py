"""An embedder over a local encoder: tokens, batches, threads, a cache of questions. The back ends only run tensors."""

from __future__ import annotations

import json
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from mindnetd.errors import ModelError
from mindnetd.inference import memory
from mindnetd.inference.batching import Ids, pad, plan_batches, run_batches, unit_rows
from mindnetd.inference.embedder import EmbedderOptions, Stop, Vectors, check_dim, fingerprint
from mindnetd.inference.models import Model
from mindnetd.inference.tokenizer import open_tokenizer

_SLICE = 256  # texts tokenised at once: bounds the memory of the encodings
_CACHED_QUERIES = 256
_QUERIES_AT_ONCE = 4
_TRIM_AFTER = 4096  # tokens of a bulk call that make returning memory worth its milliseconds


class Runner(Protocol):
    """Runs the network: int64 ids and mask (n, length) to float32 (n, dim). Safe for several threads."""

    dim: int
    precision: str
    """``f32`` or ``bf16``: part of the fingerprint."""

    def run(self, ids: Ids, mask: Ids) -> Vectors:
        """Return pooled vectors, one a row."""
        ...

    def run_query(self, ids: Ids, mask: Ids) -> Vectors:
        """Do the same for one question, in the caller's thread and at its priority."""
        ...

    def close(self) -> None:
        """Free the network."""
        ...


@dataclass(frozen=True, slots=True)
class Window:
    """What the tokens of a model need: its window with special tokens, and the padding id."""

    max_tokens: int
    padding: int

    @classmethod
    def read(cls, folder: Path) -> Window:
        """Read ``sentence_bert_config.json`` and ``config.json``; 256 tokens where neither says more."""
        found: dict[str, object] = {}
        for name in ("config.json", "sentence_bert_config.json"):
            if (folder / name).is_file():
                found |= json.loads((folder / name).read_text("utf-8"))
        limits = [found.get("max_seq_length"), found.get("max_position_embeddings")]
        known = [limit for limit in limits if isinstance(limit, int) and limit > 2]
        padding = found.get("pad_token_id")
        return cls(min(known, default=256), padding if isinstance(padding, int) else 0)


class EncoderEmbedder:
    """`Embedder` over a `Runner`."""

    def __init__(self, backend: str, model: Model, runner: Runner, options: EmbedderOptions, pooling: str) -> None:
        window = Window.read(model.folder)
        self.name = f"{backend}:{model.name}"
        self.dim = check_dim(runner.dim, options)
        self.max_tokens = window.max_tokens
        self.cut = 0
        """Texts that were longer than the window and lost their end; the chunker sees to it that this stays 0."""
        self._padding = window.padding
        self._runner: Runner | None = runner
        self._passage_prefix, self._query_prefix = options.passage_prefix, options.query_prefix
        self._nice = options.nice
        self._threads = options.threads or min(2, os.cpu_count() or 1)
        # The budget holds for all callers together: two of 512 are as fast as two of 1,024 and take 60 MB less.
        self._budget = max(1, options.batch_tokens // self._threads)
        tokenizer = model.folder / "tokenizer.json"
        self._tokenizer = open_tokenizer(tokenizer.read_bytes(), str(tokenizer))
        self._queries: OrderedDict[str, Vectors] = OrderedDict()
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(_QUERIES_AT_ONCE)
        self.fingerprint = fingerprint(
            "encoder",
            model.weights_hash,
            model.hashes["tokenizer.json"],
            pooling,
            str(self.max_tokens),
            options.passage_prefix,
            runner.precision,
        )

    def embed(self, texts: Sequence[str], *, stop: Stop | None = None) -> Vectors:
        """See `Embedder.embed`."""
        vectors = np.zeros((len(texts), self.dim), np.float32)
        rows = self._tokens([self._passage_prefix + text for text in texts])
        runner = self._open()

        def work(batch: list[int]) -> None:
            tensors = pad([rows[index] for index in batch], self._padding)
            vectors[batch] = unit_rows(runner.run(*tensors), self.dim)

        batches = plan_batches([len(row) for row in rows], self._budget)
        run_batches(batches, work, threads=self._threads, nice=self._nice, stop=stop)
        if sum(map(len, rows)) >= _TRIM_AFTER:
            memory.give_back()
        return vectors

    def embed_query(self, text: str, made: Callable[[], None] = lambda: None) -> Vectors:
        """See `Embedder.embed_query`."""
        with self._lock:
            if (known := self._queries.get(text)) is not None:
                self._queries.move_to_end(text)
                return known
        runner = self._open()
        # A question of 256 tokens takes some 10 MB while it runs: many at once wait for a slot.
        with self._slots:
            rows = self._tokens([self._query_prefix + text])
            vector: Vectors = unit_rows(runner.run_query(*pad(rows, self._padding)), self.dim)[0]
        made()
        vector.flags.writeable = False
        with self._lock:
            self._queries[text] = vector
            if len(self._queries) > _CACHED_QUERIES:
                self._queries.popitem(last=False)
        return vector

    def close(self) -> None:
        """See `Embedder.close`. Calls that are running end first."""
        runner, self._runner = self._runner, None
        if runner is not None:
            runner.close()

    def _open(self) -> Runner:
        if self._runner is None:
            raise ModelError("the model was closed", code="closed")
        return self._runner

    def _tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids with special tokens, cut at the window (the last one stays the end token)."""
        rows: list[list[int]] = []
        limit = self.max_tokens
        for start in range(0, len(texts), _SLICE):
            for encoding in self._tokenizer.encode_batch_fast(list(texts[start : start + _SLICE])):
                ids = encoding.ids
                if len(ids) > limit:
                    self.cut += 1
                    ids = [*ids[: limit - 1], ids[-1]]
                rows.append(ids)
        return rows
