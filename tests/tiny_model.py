"""A tiny random BERT in files, its reference in numpy, and a scripted HTTP server: helpers of the inference tests."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from math import erf
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

HIDDEN, LAYERS, HEADS, INNER, VOCABULARY, POSITIONS = 8, 2, 2, 16, 30522, 64


def weights(prefix: str = "", dtype: str = "float32") -> dict[str, np.ndarray]:
    """Random tensors under the names of a BERT checkpoint."""
    rng = np.random.default_rng(7)

    def make(*shape: int) -> np.ndarray:
        return rng.normal(0, 0.5, shape).astype(dtype)

    out = {
        "embeddings.word_embeddings.weight": make(VOCABULARY, HIDDEN),
        "embeddings.position_embeddings.weight": make(POSITIONS, HIDDEN),
        "embeddings.token_type_embeddings.weight": make(2, HIDDEN),
        "embeddings.LayerNorm.weight": make(HIDDEN),
        "embeddings.LayerNorm.bias": make(HIDDEN),
    }
    shapes = {
        "attention.self.query": (HIDDEN, HIDDEN), "attention.self.key": (HIDDEN, HIDDEN),
        "attention.self.value": (HIDDEN, HIDDEN), "attention.output.dense": (HIDDEN, HIDDEN),
        "intermediate.dense": (INNER, HIDDEN), "output.dense": (HIDDEN, INNER),
        "attention.output.LayerNorm": (HIDDEN,), "output.LayerNorm": (HIDDEN,),
    }  # fmt: skip
    for layer in range(LAYERS):
        for name, shape in shapes.items():
            out[f"encoder.layer.{layer}.{name}.weight"] = make(*shape)
            out[f"encoder.layer.{layer}.{name}.bias"] = make(shape[0])
    return {prefix + name: tensor for name, tensor in out.items()}


def write_model(
    folder: Path, *, prefix: str = "", dtype: str = "float32", pooling: str = "mean", **config: Any
) -> Path:
    """Write a model folder as a hub has it."""
    (folder / "1_Pooling").mkdir(parents=True)
    save_file(weights(prefix, dtype), folder / "model.safetensors")
    architecture = {
        "model_type": "bert", "hidden_size": HIDDEN, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
        "hidden_act": "gelu", "layer_norm_eps": 1e-12, "max_position_embeddings": POSITIONS, "pad_token_id": 0,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(architecture | config))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 32}))
    modes = {f"pooling_mode_{name}": mode == pooling for name, mode in (("cls_token", "cls"), ("mean_tokens", "mean"))}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(modes))
    data = files("mindnetd.inference") / "data" / "tokenizer.json"
    (folder / "tokenizer.json").write_bytes(data.read_bytes())
    return folder


def reference(ids: list[int], pooling: str = "mean", dtype: str = "float32") -> np.ndarray:
    """Embed one unpadded row with the textbook formulas, in float64."""
    w = {name: tensor.astype(np.float64) for name, tensor in weights(dtype=dtype).items()}

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-12)
        return x * w[f"{name}.weight"] + w[f"{name}.bias"]

    def linear(x: np.ndarray, name: str) -> np.ndarray:
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        q, k, v = (
            linear(x, f"{layer}.attention.self.{n}").reshape(len(ids), HEADS, -1).swapaxes(0, 1)
            for n in ("query", "key", "value")
        )
        scores = np.exp(q @ k.swapaxes(1, 2) / np.sqrt(HIDDEN / HEADS))
        context = (scores / scores.sum(-1, keepdims=True)) @ v
        context = context.swapaxes(0, 1).reshape(len(ids), HIDDEN)
        x = norm(x + linear(context, f"{layer}.attention.output.dense"), f"{layer}.attention.output.LayerNorm")
        inner = linear(x, f"{layer}.intermediate.dense")
        inner = inner * 0.5 * (1 + np.vectorize(erf)(inner / np.sqrt(2)))
        x = norm(x + linear(inner, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
    pooled = x[0] if pooling == "cls" else x.mean(0)
    return np.asarray(pooled / np.linalg.norm(pooled))


Answer = Callable[[BaseHTTPRequestHandler, bytes], None]


@contextmanager
def http_server(answer: Answer) -> Iterator[str]:
    """Serve every request on loopback with `answer(handler, body)`; gives the base URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self, self.rfile.read(int(self.headers.get("Content-Length") or 0)))

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_args: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_args: object) -> None:
            """A client that hangs up is what many of these tests are about."""

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def send(
    handler: BaseHTTPRequestHandler, status: int, body: bytes | dict[str, Any], announced: int | None = None
) -> None:
    """Send a reply; `announced` lies about its length."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(content) if announced is None else announced))
    handler.end_headers()
    handler.wfile.write(content)
