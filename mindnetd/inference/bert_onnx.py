"""BERT weights to a plain ONNX graph: ``python -m mindnetd.inference.bert_onnx FOLDER GRAPH``.

The graph holds no weights. Its initializers point into ``model.safetensors`` beside it (ONNX external data), so the
file whose SHA-256 is pinned **is** the file that runs: nothing is copied or transposed on disk, the runtime maps it
into memory, and building costs milliseconds. Linear layers are ``Gemm`` with ``transB``, which takes PyTorch's
(out, in) layout as it stands. Mean (or [CLS]) pooling over the attention mask and the L2 norm are part of the graph.

Run as a child process: the ``onnx`` package never enters the daemon.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from onnx import AttributeProto, TensorProto, checker, helper, numpy_helper

from mindnetd.errors import ModelError

GRAPH_VERSION = 1
"""Goes up whenever this module builds another graph from the same weights."""

_OPSET = 18
_MASKED = np.float32(-1e4)
_TYPES = {"F32": TensorProto.FLOAT, "F16": TensorProto.FLOAT16, "BF16": TensorProto.BFLOAT16}


@dataclass(frozen=True, slots=True)
class BertShape:
    """What the graph needs to know of a ``config.json``."""

    hidden: int
    layers: int
    heads: int
    eps: float
    activation: str
    pooling: str

    @classmethod
    def read(cls, folder: Path) -> BertShape:
        """Read the architecture of the model in `folder`; raises ModelError for anything but a plain BERT encoder."""
        config = json.loads((folder / "config.json").read_text("utf-8"))
        if config.get("model_type") != "bert" or config.get("position_embedding_type", "absolute") != "absolute":
            raise ModelError(
                f"{folder / 'config.json'}: only BERT encoders with absolute positions can be built "
                f"(this is {config.get('model_type')!r}); put a model.onnx into the folder instead",
                code="unsupported_model",
            )
        activation = config.get("hidden_act", "gelu")
        if activation not in ("gelu", "relu"):
            raise ModelError(
                f"{folder / 'config.json'}: activation {activation!r} is not known", code="unsupported_model"
            )
        return cls(
            hidden=int(config["hidden_size"]),
            layers=int(config["num_hidden_layers"]),
            heads=int(config["num_attention_heads"]),
            eps=float(config.get("layer_norm_eps", 1e-12)),
            activation=activation,
            pooling=read_pooling(folder),
        )


def read_pooling(folder: Path) -> str:
    """Return ``mean`` or ``cls`` as ``1_Pooling/config.json`` says; ``mean`` without it."""
    file = folder / "1_Pooling" / "config.json"
    if not file.is_file():
        return "mean"
    pooling = json.loads(file.read_text("utf-8"))
    if pooling.get("pooling_mode_cls_token"):
        return "cls"
    if pooling.get("pooling_mode_mean_tokens"):
        return "mean"
    raise ModelError(f"{file}: only mean and cls pooling are known", code="unsupported_model")


class _Weights:
    """The header of a safetensors file: where each tensor lies. Refuses what would read outside the file."""

    def __init__(self, file: Path) -> None:
        self.file = file
        size = file.stat().st_size
        with file.open("rb") as source:
            length = int.from_bytes(source.read(8), "little")
            if not 2 <= length <= min(size - 8, 100_000_000):
                raise ModelError(f"{file} is no safetensors file", code="bad_model")
            try:
                self._entries: dict[str, Any] = json.loads(source.read(length))
            except ValueError as error:
                raise ModelError(f"{file} is no safetensors file: {error}", code="bad_model") from error
        self._base = 8 + length
        self._size = size
        self._prefix = "bert." if any(name.startswith("bert.embeddings.") for name in self._entries) else ""

    def initializer(self, name: str) -> TensorProto:
        """Return an initializer named `name` whose data is the tensor's bytes inside the weights file."""
        entry = self._entries.get(self._prefix + name)
        if entry is None:
            raise ModelError(f"{self.file} has no tensor {self._prefix + name}", code="bad_model")
        start, end = entry["data_offsets"]
        if entry["dtype"] not in _TYPES or not 0 <= start <= end <= self._size - self._base:
            raise ModelError(f"{self.file}: tensor {name} cannot be used ({entry['dtype']})", code="bad_model")
        tensor = TensorProto(name=name, data_type=_TYPES[entry["dtype"]], dims=entry["shape"])
        tensor.data_location = TensorProto.EXTERNAL
        where = {"location": self.file.name, "offset": str(self._base + start), "length": str(end - start)}
        for key, value in where.items():
            item = tensor.external_data.add()
            item.key, item.value = key, value
        return tensor


class _Graph:
    """Collects nodes and initializers; every method returns the name of a value."""

    def __init__(self, weights: _Weights) -> None:
        self._weights = weights
        self._constants: dict[tuple[str, bytes], str] = {}
        self.nodes: list[Any] = []
        self.initializers: list[TensorProto] = []

    def op(self, kind: str, *inputs: str, output: str | None = None, **attributes: AttributeProto | Any) -> str:
        """Add a node and name its output."""
        name = output or f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def weight(self, name: str) -> str:
        """Use a tensor of the weights file, as float32 (a Cast that the runtime folds away otherwise)."""
        tensor = self._weights.initializer(name)
        self.initializers.append(tensor)
        return name if tensor.data_type == TensorProto.FLOAT else self.op("Cast", name, to=TensorProto.FLOAT)

    def ints(self, *values: int) -> str:
        """Add a constant vector of int64."""
        return self._constant(np.array(values, np.int64))

    def number(self, value: float) -> str:
        """Add a float32 scalar."""
        return self._constant(np.float32(value))

    def _constant(self, value: Any) -> str:
        array = np.asarray(value)
        key = (f"{array.dtype}{array.shape}", array.tobytes())
        if key not in self._constants:
            self._constants[key] = f"constant_{len(self._constants)}"
            self.initializers.append(numpy_helper.from_array(array, self._constants[key]))
        return self._constants[key]

    def norm(self, x: str, name: str, eps: float) -> str:
        """Layer normalization over the last axis."""
        return self.op(
            "LayerNormalization", x, self.weight(f"{name}.weight"), self.weight(f"{name}.bias"), axis=-1, epsilon=eps
        )

    def linear(self, x: str, name: str) -> str:
        """``x @ W.T + b`` on (rows, in)."""
        return self.op("Gemm", x, self.weight(f"{name}.weight"), self.weight(f"{name}.bias"), transB=1)


def _embeddings(g: _Graph, shape: BertShape, sizes: str) -> str:
    """Word, position and (first) token type embeddings, normalised: (batch, length, hidden)."""
    words = g.op("Gather", g.weight("embeddings.word_embeddings.weight"), "input_ids")
    length = g.op("Slice", sizes, g.ints(1), g.ints(2))
    positions = g.op("Slice", g.weight("embeddings.position_embeddings.weight"), g.ints(0), length)
    kind = g.op("Slice", g.weight("embeddings.token_type_embeddings.weight"), g.ints(0), g.ints(1))
    return g.norm(g.op("Add", words, g.op("Add", positions, kind)), "embeddings.LayerNorm", shape.eps)


def _attention(g: _Graph, shape: BertShape, layer: str, x: str, inputs: tuple[str, str]) -> str:
    """Multi-head self-attention on (rows, hidden), before its output projection's residual.

    `inputs` are the same for every layer: the shape that splits the heads, and the bias that hides the padding.
    """
    split, bias = inputs
    size = shape.hidden // shape.heads

    def heads(name: str, perm: list[int], scale: bool = False) -> str:
        y = g.linear(x, f"{layer}.attention.self.{name}")
        y = g.op("Mul", y, g.number(size**-0.5)) if scale else y
        return g.op("Transpose", g.op("Reshape", y, split), perm=perm)

    query, key = heads("query", [0, 2, 1, 3], scale=True), heads("key", [0, 2, 3, 1])
    weights = g.op("Softmax", g.op("Add", g.op("MatMul", query, key), bias), axis=-1)
    context = g.op("Transpose", g.op("MatMul", weights, heads("value", [0, 2, 1, 3])), perm=[0, 2, 1, 3])
    return g.linear(g.op("Reshape", context, g.ints(-1, shape.hidden)), f"{layer}.attention.output.dense")


def _activation(g: _Graph, kind: str, x: str) -> str:
    """The exact GELU, or ReLU."""
    if kind == "relu":
        return g.op("Relu", x)
    erf = g.op("Erf", g.op("Div", x, g.number(2**0.5)))
    return g.op("Mul", g.op("Mul", x, g.op("Add", erf, g.number(1.0))), g.number(0.5))


def _pool(g: _Graph, shape: BertShape, x: str, mask: str) -> None:
    """(batch, length, hidden) to unit rows ``embedding`` (batch, hidden)."""
    if shape.pooling == "cls":
        pooled = g.op("Squeeze", g.op("Slice", x, g.ints(0), g.ints(1), g.ints(1)), g.ints(1))
    else:
        # The sum and the mean have the same direction, and only that survives the norm.
        pooled = g.op("ReduceSum", g.op("Mul", x, g.op("Unsqueeze", mask, g.ints(2))), g.ints(1), keepdims=0)
    length = g.op("Max", g.op("ReduceL2", pooled, g.ints(1), keepdims=1), g.number(1e-12))
    g.op("Div", pooled, length, output="embedding")


def _encoder(shape: BertShape, weights: _Weights) -> _Graph:
    g = _Graph(weights)
    sizes = g.op("Shape", "input_ids")
    mask = g.op("Cast", "attention_mask", to=TensorProto.FLOAT)
    hidden_positions = g.op("Sub", g.number(1.0), g.op("Unsqueeze", mask, g.ints(1, 2)))
    bias = g.op("Mul", hidden_positions, g.number(float(_MASKED)))
    split = g.op("Concat", sizes, g.ints(shape.heads, shape.hidden // shape.heads), axis=0)
    x = g.op("Reshape", _embeddings(g, shape, sizes), g.ints(-1, shape.hidden))
    for number in range(shape.layers):
        layer = f"encoder.layer.{number}"
        attended = g.op("Add", _attention(g, shape, layer, x, (split, bias)), x)
        x = g.norm(attended, f"{layer}.attention.output.LayerNorm", shape.eps)
        inner = _activation(g, shape.activation, g.linear(x, f"{layer}.intermediate.dense"))
        x = g.norm(g.op("Add", g.linear(inner, f"{layer}.output.dense"), x), f"{layer}.output.LayerNorm", shape.eps)
    _pool(g, shape, g.op("Reshape", x, g.op("Concat", sizes, g.ints(shape.hidden), axis=0)), mask)
    return g


def build(folder: Path, out: Path) -> None:
    """Write the graph of the weights in `folder` to `out`, which has to lie in the same folder.

    Inputs ``input_ids`` and ``attention_mask`` are int64 (batch, length), both free; the output ``embedding`` is
    float32 (batch, hidden) with unit rows. The file appears whole or not at all. Raises ModelError for a model that
    is not supported.
    """
    shape = BertShape.read(folder)
    g = _encoder(shape, _Weights(folder / "model.safetensors"))
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])
        for name in ("input_ids", "attention_mask")
    ]
    output = helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", shape.hidden])
    graph = helper.make_graph(g.nodes, "encoder", inputs, [output], g.initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=9)
    model.producer_name, model.producer_version = "mindnetd", str(GRAPH_VERSION)
    partial = out.with_name(out.name + ".part")
    try:
        with partial.open("wb") as sink:
            sink.write(model.SerializeToString())
            sink.flush()
            os.fsync(sink.fileno())
        checker.check_model(str(partial))
        partial.replace(out)
    finally:
        partial.unlink(missing_ok=True)


def main(arguments: list[str]) -> int:
    """Build from the command line; the one line on stderr is for the parent."""
    try:
        build(Path(arguments[0]), Path(arguments[1]))
    except ModelError as error:
        sys.stderr.write(error.message + "\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
