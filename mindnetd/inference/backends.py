"""Which back end embeds: the choice, and opening it. Libraries of the others are never imported."""

from __future__ import annotations

import importlib.util

from mindnetd.errors import ModelError
from mindnetd.inference import models
from mindnetd.inference.embedder import Backend, Embedder, EmbedderOptions, has_bf16
from mindnetd.inference.sources import Progress


def open_embedder(options: EmbedderOptions, progress: Progress | None = None) -> Embedder:
    """Open the back end of `options`, fetching the model first where it is missing and that is allowed.

    Raises ModelError with what to do: ``model_missing`` (offline and not cached), ``backend_missing``, ``wrong_dim``,
    and whatever `models.pull` raises.
    """
    backend = choose_backend(options)
    if backend == "ollama":
        from mindnetd.inference.ollama_backend import OllamaEmbedder

        return OllamaEmbedder(options)
    model = fetch(options, progress)
    if backend == "openvino":
        from mindnetd.inference.openvino_backend import open_openvino

        return open_openvino(model, options)
    from mindnetd.inference.onnx_backend import open_onnx

    return open_onnx(model, options)


def choose_backend(options: EmbedderOptions) -> Backend:
    """Resolve ``auto``: openvino where it is installed and this CPU multiplies bfloat16, else onnx.

    The caller keeps the answer with the database: another machine must not silently mean another vector space.
    """
    if options.backend != "auto":
        return options.backend
    return "openvino" if importlib.util.find_spec("openvino") and has_bf16() else "onnx"


def fetch(options: EmbedderOptions, progress: Progress | None = None) -> models.Model:
    """Return the model from the cache; pull it where it is missing or damaged, unless offline."""
    try:
        return models.open_model(options.model, options.cache_dir)
    except ModelError as error:
        if error.code not in ("model_missing", "bad_hash"):
            raise
        found = error.message.rsplit(": run ", 1)[0]
    try:
        return models.pull(options.model, options.cache_dir, progress=progress, offline=options.offline)
    except ModelError as error:
        if error.code not in ("model_missing", "download_failed"):
            raise
        why = "--offline forbids fetching it" if options.offline else f"fetching it failed ({error.message})"
        raise ModelError(
            f"{found}, and {why}: run `mindnetd model pull {options.model}` when there is a network "
            "(the words stay searchable without it)",
            code=error.code,
        ) from error
