"""The default back end: onnxruntime on the CPU, float32, one session for bulk threads and queries alike."""

from __future__ import annotations

import json
import mmap
import os
from pathlib import Path

import numpy as np

# The runtime of PyPI reports to its maker, from 1.32 on Linux too, and keeps a queue of reports in the user's cache.
# Nothing may leave the machine, and its own call to switch that off comes too late: only this, before the import, does.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
import onnxruntime as ort  # type: ignore[import-untyped]

from mindnetd.errors import ModelError
from mindnetd.inference import memory
from mindnetd.inference.batching import Ids
from mindnetd.inference.embedder import EmbedderOptions, Vectors
from mindnetd.inference.encoder import EncoderEmbedder
from mindnetd.inference.models import Model

_DYNAMIC = b"DynamicQuantize"


def open_onnx(model: Model, options: EmbedderOptions) -> EncoderEmbedder:
    """Open the cached model with onnxruntime; raises ModelError where its graph cannot be used."""
    pooling = pooling_of(model.folder)
    return EncoderEmbedder("onnx", model, OnnxRunner(model.folder / "model.onnx", pooling), options, pooling)


class OnnxRunner:
    """One session, one thread a call: callers bring their own threads and so their own priority."""

    precision = "f32"

    def __init__(self, graph: Path, pooling: str) -> None:
        refuse_dynamic(graph)
        memory.limit_heaps()
        settings = ort.SessionOptions()
        settings.intra_op_num_threads = settings.inter_op_num_threads = 1
        settings.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
        settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        # The runtime's own arena keeps the largest of every shape for ever (libraries.md 3.2).
        settings.enable_cpu_mem_arena = settings.enable_mem_pattern = False
        settings.add_session_config_entry("session.intra_op.allow_spinning", "0")
        settings.add_session_config_entry("session.inter_op.allow_spinning", "0")
        settings.log_severity_level = 3
        try:
            self._session = ort.InferenceSession(str(graph), settings, providers=["CPUExecutionProvider"])
        except Exception as error:  # the runtime's errors have no common base but Exception
            raise ModelError(f"{graph} cannot be run: {str(error).splitlines()[0]}", code="bad_model") from error
        inputs = {item.name for item in self._session.get_inputs()}
        if not inputs <= {"input_ids", "attention_mask", "token_type_ids"} or "input_ids" not in inputs:
            raise ModelError(f"{graph} wants inputs {sorted(inputs)}, which no text encoder has", code="bad_model")
        self._inputs = inputs
        self._output = self._session.get_outputs()[0]
        self._pooling = pooling
        size = self._output.shape[-1]
        self.dim = size if isinstance(size, int) else int(self.run(*probe()).shape[1])

    def run(self, ids: Ids, mask: Ids) -> Vectors:
        """See `encoder.Runner.run`."""
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        out = self._session.run([self._output.name], {name: feed[name] for name in self._inputs})[0]
        return pool(np.asarray(out, np.float32), mask, self._pooling)

    def run_query(self, ids: Ids, mask: Ids) -> Vectors:
        """See `encoder.Runner.run_query`: every call of this session runs in its caller's thread."""
        return self.run(ids, mask)

    def close(self) -> None:
        """Drop the session; the runtime frees it with the last running call."""
        del self._session


def refuse_dynamic(graph: Path) -> None:
    """Raise ModelError for a dynamically quantised graph: its vectors depend on their batch mates (libraries.md 3.4).

    Looks for the operator's name in the file's bytes: parsing would bring the onnx package into the daemon.
    """
    with graph.open("rb") as source, mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if content.find(_DYNAMIC) >= 0:
            raise ModelError(
                f"{graph} is dynamically quantised (DynamicQuantizeLinear): its vectors depend on the batch; "
                "use float32 or weight-only quantisation",
                code="dynamic_quantisation",
            )


def pool(out: Vectors, mask: Ids, pooling: str) -> Vectors:
    """Pool (n, length, dim) by ``mean`` or ``cls``; (n, dim) is pooled already and comes back as it is."""
    if out.ndim == 2:
        return out
    if pooling == "cls":
        return np.ascontiguousarray(out[:, 0])
    weights = mask[:, :, None].astype(np.float32)
    return np.asarray((out * weights).sum(axis=1) / weights.sum(axis=1), np.float32)


def pooling_of(folder: Path) -> str:
    """Return ``cls`` if the model's pooling file says so, else ``mean``."""
    file = folder / "1_Pooling" / "config.json"
    return "cls" if file.is_file() and json.loads(file.read_text("utf-8")).get("pooling_mode_cls_token") else "mean"


def probe() -> tuple[Ids, Ids]:
    """Return the smallest input there is, to ask a graph for its dimension."""
    ones = np.ones((1, 2), np.int64)
    return ones, ones
