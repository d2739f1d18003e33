"""A real engine and writer over a real folder, without watcher and socket, driven by the test's own thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from mindnetd.config import Config, load_config
from mindnetd.corpus_runner import build_graph
from mindnetd.daemon import make_writer
from mindnetd.engine import Engine
from mindnetd.inference.backends import open_embedder
from mindnetd.inference.embedder import Embedder, EmbedderOptions
from mindnetd.jobs import JobBook
from mindnetd.metrics import Metrics
from mindnetd.store.dump import Dump, dump
from mindnetd.writing.embedding import ModelHolder


class SharedModel(ModelHolder):
    """A model that is opened once for all engines of a test session; an engine that closes only lets go of it."""

    shared: Embedder

    def try_open(self) -> bool:
        """It is open already."""
        self._embedder = self.shared
        return True

    def stop(self) -> None:
        """Stop embedding, keep the model."""
        if self._thread is not None:
            self._thread.stop()


def shared_model(embedder: Embedder, cache: Path, metrics: Metrics) -> SharedModel:
    """A holder of the open model for one engine."""
    model = SharedModel(EmbedderOptions(cache_dir=cache, backend="onnx", offline=True), metrics)
    model.shared = embedder
    return model


def open_shared(cache: Path) -> Embedder:
    """The pinned model by the onnx back end."""
    return open_embedder(EmbedderOptions(cache_dir=cache, backend="onnx", offline=True))


def make_config(home: Path, vault: Path, db: Path, **settings: str) -> Config:
    """The configuration of a vault with nothing but defaults and `settings` (dotted keys, ``__`` for the dot)."""
    env = {"HOME": str(home), "XDG_RUNTIME_DIR": str(home / "run")}
    flags = {key.replace("__", "."): value for key, value in settings.items()}
    return load_config(None, env, {"vault": str(vault), "db": str(db), **flags})


class Bench:
    """An engine with its writer. ``settle`` brings it up to date with the folder, ``close`` is a clean stop."""

    def __init__(self, config: Config, embedder: Embedder | None) -> None:
        self.metrics = Metrics("test")
        model = shared_model(embedder, config.places.models, self.metrics) if embedder is not None else None
        self.engine = Engine(config, self.metrics, model=model)
        self.engine.load()
        self.writer = make_writer(self.engine, JobBook(time.time))
        self.engine.start_embedding(self.writer.deliver)

    def settle(self, reason: str = "test") -> None:
        """Scan, read what differs, and wait for every vector."""
        self.writer.doubt(reason)
        self.writer.run_until_settled(_nothing)
        while self.engine.model.embedder is not None and self.engine.queue.pending():
            self.writer.wait_for_message(1.0)
            self.writer.run_until_settled(_nothing)

    def graph(self) -> None:
        """The corpus-wide stage, on this thread."""
        build_graph(self.engine, lambda store: store(), force=False, stop=lambda: False)

    def dump(self) -> Dump:
        """The logical dump (law 1)."""
        return dump(self.engine.db)

    @property
    def made(self) -> int:
        """Embeddings made by this engine."""
        return int(self.metrics.embeddings_made._value.get())

    def close(self) -> None:
        """A clean stop."""
        self.engine.close()

    def crash(self) -> None:
        """Drop everything as it is, as a kill would: what is not committed is lost."""
        self.engine.model.stop()
        self.engine.db.close()


def _nothing() -> None:
    return


Open = Callable[..., Bench]
