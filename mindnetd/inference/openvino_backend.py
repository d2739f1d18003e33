"""The OpenVINO back end (extra ``openvino``): the same graph, in bfloat16 where the CPU multiplies it.

Bulk batches and questions have a compiled model each (they share the weights: 13 MB more), since requests of one
model share its threads and a question would wait for the batches before it. OpenVINO computes a bulk request in stream
threads of its own: those get the low priority. A question runs in its caller's thread.
"""

from __future__ import annotations

import importlib
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np

from mindnetd.errors import ModelError
from mindnetd.inference import memory
from mindnetd.inference.batching import Ids
from mindnetd.inference.embedder import EmbedderOptions, Vectors, has_bf16
from mindnetd.inference.encoder import EncoderEmbedder
from mindnetd.inference.models import Model
from mindnetd.inference.onnx_backend import pool, pooling_of, probe, refuse_dynamic


def open_openvino(model: Model, options: EmbedderOptions) -> EncoderEmbedder:
    """Open the cached model with OpenVINO; raises ModelError ``backend_missing`` where that is not installed."""
    pooling = pooling_of(model.folder)
    threads = options.threads or min(2, os.cpu_count() or 1)
    runner = OpenvinoRunner(model.folder / "model.onnx", pooling, threads=threads, nice=options.nice)
    return EncoderEmbedder("openvino", model, runner, options, pooling)


class OpenvinoRunner:
    """Two compiled models over one set of weights: streams for bulk, the caller's thread for questions."""

    def __init__(self, graph: Path, pooling: str, *, threads: int, nice: int) -> None:
        try:
            openvino: Any = importlib.import_module("openvino")
        except ImportError as error:
            raise ModelError(
                f"the back end openvino cannot be loaded ({error}): install `mindnetd[openvino]` or choose another",
                code="backend_missing",
            ) from error
        refuse_dynamic(graph)
        memory.limit_heaps()
        self.precision = "bf16" if has_bf16() else "f32"
        settings = {"INFERENCE_PRECISION_HINT": self.precision, "ENABLE_CPU_PINNING": False}
        bulk = settings | {"NUM_STREAMS": str(threads), "INFERENCE_NUM_THREADS": threads}
        single = settings | {"NUM_STREAMS": "1", "INFERENCE_NUM_THREADS": 1}
        try:
            core = openvino.Core()
            network = core.read_model(str(graph))
            before = _threads()
            self._bulk = core.compile_model(network, "CPU", bulk)
            _lower(_threads() - before, nice)
            self._single = core.compile_model(network, "CPU", single)
        except RuntimeError as error:
            raise ModelError(
                f"{graph} cannot be run by OpenVINO: {str(error).splitlines()[0]}", code="bad_model"
            ) from error
        self._inputs = {item.any_name for item in network.inputs}
        self._pooling = pooling
        self._lock = threading.Lock()
        self._idle: dict[Any, list[Any]] = {self._bulk: [], self._single: []}
        # The first call of the Python binding is not safe for two threads at once (2 of 22 starts hung for ever): it
        # is made here, where there is one.
        self.run(*probe())
        self.dim = int(self.run_query(*probe()).shape[1])

    def run(self, ids: Ids, mask: Ids) -> Vectors:
        """See `encoder.Runner.run`."""
        return self._infer(self._bulk, ids, mask)

    def run_query(self, ids: Ids, mask: Ids) -> Vectors:
        """See `encoder.Runner.run_query`."""
        return self._infer(self._single, ids, mask)

    def close(self) -> None:
        """Drop the models; OpenVINO frees them with the last running call."""
        self._idle.clear()
        del self._bulk, self._single

    def _infer(self, compiled: Any, ids: Ids, mask: Ids) -> Vectors:
        # A request serves one caller at a time and holds its activations: there are as many as callers at once.
        with self._lock:
            idle = self._idle[compiled]
            request = idle.pop() if idle else compiled.create_infer_request()
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        out = np.array(request.infer({name: feed[name] for name in self._inputs})[0], np.float32)
        with self._lock:
            idle.append(request)
        return pool(out, mask, self._pooling)


def _threads() -> set[int]:
    """Return the native ids of this process's threads."""
    return (
        {int(entry.name) for entry in Path("/proc/self/task").iterdir()} if Path("/proc/self/task").is_dir() else set()
    )


def _lower(threads: set[int], nice: int) -> None:
    """Give `threads` the nice value `nice`; one that has ended meanwhile needs none."""
    for thread in threads:
        try:
            os.setpriority(os.PRIO_PROCESS, thread, nice)
        except ProcessLookupError:
            continue
