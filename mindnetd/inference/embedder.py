"""The small protocol behind which every embedding back end stands, and its options. Which one: ``backends.py``."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from mindnetd.errors import ModelError
from mindnetd.inference import models

Vectors = NDArray[np.float32]
Stop = Callable[[], bool]
Backend = Literal["auto", "onnx", "openvino", "ollama"]
BACKENDS: tuple[Backend, ...] = ("auto", "onnx", "openvino", "ollama")


class EmbeddingStoppedError(ModelError):
    """An `embed` call was asked to stop before its end; nothing of it is kept."""

    code = "stopped"

    def __init__(self) -> None:
        super().__init__("embedding was stopped")


class TextsFailedError(ModelError):
    """Some texts of an `embed` call have no vector: ``failed`` maps their index to the reason.

    ``vectors`` has a row for every text; the rows of failed ones are zero and must not be used.
    """

    code = "some_failed"

    def __init__(self, vectors: Vectors, failed: dict[int, str]) -> None:
        first = min(failed)
        super().__init__(f"{len(failed)} of {len(vectors)} texts could not be embedded: {failed[first]}")
        self.vectors = vectors
        self.failed = failed


class Embedder(Protocol):
    """Turns texts into unit vectors. Safe for several threads; a query never waits for a bulk call to end."""

    name: str
    """Back end and model, ``onnx:all-MiniLM-L6-v2``: what ``meta`` remembers and ``status`` shows."""
    fingerprint: str
    """Names the vector space; vectors of different fingerprints are never compared."""
    dim: int
    max_tokens: int
    """The model's window, special tokens included."""

    def embed(self, texts: Sequence[str], *, stop: Stop | None = None) -> Vectors:
        """Embed in bulk with low-priority threads; returns float32 (n, dim), unit rows, in the order of `texts`.

        Raises EmbeddingStoppedError when `stop()` turns true between batches, TextsFailedError where single texts
        have no vector, ModelError for everything else.
        """
        ...

    def embed_query(self, text: str, made: Callable[[], None] = lambda: None) -> Vectors:
        """Embed one question in the caller's thread at its priority; returns float32 (dim,), unit length.

        `made` is called once if the model was asked, not for a question whose vector is remembered.
        """
        ...

    def close(self) -> None:
        """Free the model. Calls after it raise ModelError."""
        ...


@dataclass(frozen=True, slots=True)
class EmbedderOptions:
    """What `open_embedder` needs to know; all of it comes from the configuration."""

    cache_dir: Path
    backend: Backend = "auto"
    model: str = models.DEFAULT
    dim: int | None = None
    """The dimension the user expects; None: whatever the model has."""
    query_prefix: str = ""
    passage_prefix: str = ""
    threads: int | None = None
    """Bulk callers; None: one a core, at most 2 (more memory for little speed)."""
    batch_tokens: int = 1024
    """Padded tokens inside the model at a time, over all bulk callers together."""
    offline: bool = False
    nice: int = 10
    ollama_host: str = "http://127.0.0.1:11434"
    ollama_num_ctx: int = 8192
    ollama_keep_alive: str = "10m"
    timeout_s: float = 120.0
    load_timeout_s: float = 300.0


def fingerprint(*parts: str) -> str:
    """Return the name of a vector space: 32 hex digits over everything its vectors depend on."""
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:32]


def check_dim(found: int, options: EmbedderOptions) -> int:
    """Return `found`, or raise ModelError if the configuration expects another dimension."""
    if options.dim is not None and options.dim != found:
        raise ModelError(
            f"embedding.dim is {options.dim}, but {options.model} gives {found} dimensions: correct or remove it",
            code="wrong_dim",
        )
    return found


def has_bf16() -> bool:
    """Tell whether this CPU multiplies bfloat16 (without, bf16 would be emulated and slow)."""
    try:
        flags = Path("/proc/cpuinfo").read_text("ascii", "replace")
    except OSError:
        return False
    return "avx512_bf16" in flags or "amx_bf16" in flags
