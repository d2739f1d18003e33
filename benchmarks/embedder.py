"""``python -m benchmarks.embedder``: tokens per second of each installed back end, PyTorch float32 beside them.

All of them embed the same 16 texts of 192 tokens, in turns, so that other work on the machine hits each alike; the
figures to trust are the ratios of one run. PyTorch and OpenVINO are measured only where they are installed.
"""

from __future__ import annotations

import importlib.util
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Report
from mindnetd.inference.backends import open_embedder
from mindnetd.inference.embedder import Backend, EmbedderOptions
from mindnetd.inference.models import DEFAULT, pull
from mindnetd.settings.places import places

TEXTS, TOKENS, PASSES = 16, 192, 9


def texts() -> list[str]:
    """16 texts of 192 tokens each, special tokens included: every word is one token."""
    rng = np.random.default_rng(0)
    words = ["water", "house", "river", "light", "stone", "paper", "green", "window", "garden", "table", "music"]
    return [" ".join(rng.choice(words, TOKENS - 2)) for _ in range(TEXTS)]


def torch_forward(folder: Path) -> Callable[[list[str]], Any]:
    """The same encoder in PyTorch, float32, with its own fused attention and all cores."""
    import torch
    from safetensors.torch import load_file
    from torch.nn import functional

    from mindnetd.inference.tokenizer import load_tokenizer

    weights, tokenizer, heads = load_file(folder / "model.safetensors"), load_tokenizer(), 12
    torch.set_num_threads(os.cpu_count() or 1)

    def linear(x: Any, name: str) -> Any:
        return functional.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])

    def norm(x: Any, name: str) -> Any:
        return functional.layer_norm(x, x.shape[-1:], weights[f"{name}.weight"], weights[f"{name}.bias"], 1e-12)

    def layer(x: Any, name: str) -> Any:
        split = [
            linear(x, f"{name}.attention.self.{part}").unflatten(-1, (heads, -1)).transpose(1, 2)
            for part in ("query", "key", "value")
        ]
        context = functional.scaled_dot_product_attention(*split).transpose(1, 2).flatten(2)
        x = norm(x + linear(context, f"{name}.attention.output.dense"), f"{name}.attention.output.LayerNorm")
        inner = linear(functional.gelu(linear(x, f"{name}.intermediate.dense")), f"{name}.output.dense")
        return norm(x + inner, f"{name}.output.LayerNorm")

    @torch.inference_mode()
    def forward(batch: list[str]) -> Any:
        ids = torch.tensor([encoding.ids for encoding in tokenizer.encode_batch(batch)])
        positions = weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
        kind = weights["embeddings.token_type_embeddings.weight"][0]
        x = norm(weights["embeddings.word_embeddings.weight"][ids] + positions + kind, "embeddings.LayerNorm")
        for number in range(6):
            x = layer(x, f"encoder.layer.{number}")
        return functional.normalize(x.mean(1)).numpy()

    return forward


def measure(calls: dict[str, Callable[[list[str]], Any]]) -> dict[str, float]:
    """Median tokens per second of each, one pass of each in turn."""
    batch = texts()
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(PASSES + 1):
        for name, call in calls.items():
            start = time.perf_counter()
            call(batch)
            if number:  # the first pass warms up
                taken[name].append(time.perf_counter() - start)
    return {name: TEXTS * TOKENS / statistics.median(times) for name, times in taken.items()}


def main() -> int:
    cache = places(os.environ).models
    folder = pull(DEFAULT, cache).folder
    backends: list[Backend] = ["onnx"]
    if importlib.util.find_spec("openvino"):
        backends.append("openvino")
    calls: dict[str, Callable[[list[str]], Any]] = {}
    for backend in backends:
        calls[backend] = open_embedder(EmbedderOptions(cache, backend=backend, offline=True, nice=0)).embed
    if importlib.util.find_spec("torch"):
        calls["torch"] = torch_forward(folder)
    speeds = measure(calls)
    report = Report(f"embedding, {TEXTS} texts of {TOKENS} tokens, tokens per second")
    base = speeds.get("torch")
    targets = {"onnx": "1.6x", "openvino": "3.5x (bf16)"}
    for name, speed in speeds.items():
        ratio = f"{speed / base:.2f}x PyTorch float32" if base else "PyTorch is not installed"
        report.row(name, f"{speed:,.0f}", targets.get(name, ""), ratio)
    reference = calls["onnx"](texts())
    for name in calls.keys() - {"onnx"}:
        worst = float((reference * calls[name](texts())).sum(axis=1).min())
        report.row(f"worst cosine of {name} to onnx", f"{worst:.6f}", "0.999")
    return 0


if __name__ == "__main__":
    sys.exit(main())
