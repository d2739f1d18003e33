"""The model of a running daemon: opened once, in the background where it must be fetched first, and never in the way.

Whoever asks before it is there gets None and goes on with the words.
"""

from __future__ import annotations

import dataclasses
import logging
import threading
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mindnetd.errors import ModelError
from mindnetd.inference.backends import open_embedder
from mindnetd.inference.embedder import Embedder, EmbedderOptions
from mindnetd.metrics import Metrics
from mindnetd.telemetry import event
from mindnetd.writing.backlog import EmbedQueue, EmbedThread, Vectors

log = logging.getLogger(__name__)

RETRY_S = 300.0
"""How long to wait before a model that could not be had is tried again."""


class ModelHolder:
    """Owns the embedder and the thread that works off the backlog."""

    def __init__(self, options: EmbedderOptions, metrics: Metrics) -> None:
        self._options = options
        self._metrics = metrics
        self._embedder: Embedder | None = None
        self._thread: EmbedThread | None = None
        self._stopping = threading.Event()
        self._fetching: threading.Thread | None = None
        self.error: str | None = None
        """Why there is no model, or why the last batch failed."""

    @property
    def embedder(self) -> Embedder | None:
        """The model, once it is open."""
        return self._embedder

    @property
    def backend(self) -> str:
        """The back end that the options name."""
        return self._options.backend

    def try_open(self) -> bool:
        """Open a model that is on this machine; False (with `error`) where it must be fetched or cannot be had."""
        return self._open(dataclasses.replace(self._options, offline=True))

    def fetch_now(self) -> bool:
        """Fetch it where it is missing and open it; False (with `error`) where it cannot be had."""
        return self._open(self._options)

    def describe(self) -> dict[str, object]:
        """For ``GET /status``: name, back end, whether it is ready, and why not."""
        embedder, options = self._embedder, self._options
        return {
            "name": embedder.name if embedder else options.model,
            "backend": options.backend,
            "ready": embedder is not None,
            "fingerprint": embedder.fingerprint if embedder else None,
            "error": self.error,
        }

    def fetch_in_background(self, opened: Callable[[], None]) -> None:
        """Fetch and open it on a thread of its own, again and again until it is there; then call `opened`."""

        def work() -> None:
            while not self._stopping.is_set() and not self._open(self._options):
                event(log, "no model", logging.WARNING, reason=self.error)
                self._stopping.wait(RETRY_S)
            if not self._stopping.is_set():
                opened()

        self._fetching = threading.Thread(target=work, name="mindnetd-model", daemon=True)
        self._fetching.start()

    def start(self, queue: EmbedQueue, deliver: Callable[[Vectors], None]) -> None:
        """Begin to work off `queue`."""
        assert self._embedder is not None
        self._thread = EmbedThread(queue, self._embedder, deliver, self._failed)
        self._thread.start()

    def embed_query(self) -> Callable[[str], NDArray[np.float32]] | None:
        """What embeds a question, or None."""
        embedder = self._embedder
        if embedder is None:
            return None

        return lambda text: embedder.embed_query(text, self._metrics.other_embeddings.inc)

    def stop(self) -> None:
        """End the threads, free the model."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.stop()
        if self._embedder is not None:
            self._embedder.close()

    def _open(self, options: EmbedderOptions) -> bool:
        try:
            self._embedder = open_embedder(options)
        except ModelError as error:
            self.error = error.message
            return False
        self.error = None
        return True

    def _failed(self, error: ModelError) -> None:
        self.error = error.message
        event(log, "embedding failed", logging.WARNING, reason=error.message)
