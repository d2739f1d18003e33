"""The embedder over the real model: reference vectors, order, padding, priorities, limits."""

from __future__ import annotations

import importlib.util
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindnetd.errors import ModelError
from mindnetd.inference.backends import choose_backend, open_embedder
from mindnetd.inference.batching import lower_priority, pad, plan_batches, run_batches, unit_rows
from mindnetd.inference.embedder import EmbedderOptions, EmbeddingStoppedError
from mindnetd.inference.encoder import EncoderEmbedder
from mindnetd.inference.onnx_backend import OnnxRunner, refuse_dynamic

BACKENDS = [
    "onnx",
    pytest.param(
        "openvino",
        marks=pytest.mark.skipif(importlib.util.find_spec("openvino") is None, reason="openvino is not installed"),
    ),
]
TEXTS = [f"{'a note about gardens and bees ' * (n % 9)}number {n}" for n in range(40)]


@pytest.fixture(scope="module", params=BACKENDS)
def embedder(request: pytest.FixtureRequest, model_cache: Path) -> Iterator[EncoderEmbedder]:
    """Each local back end with the real model."""
    opened = open_embedder(EmbedderOptions(model_cache, backend=request.param, offline=True))
    assert isinstance(opened, EncoderEmbedder)
    yield opened
    opened.close()


def floor(embedder: EncoderEmbedder) -> float:
    """The cosine that the precision promises."""
    return 0.999 if embedder._runner is not None and embedder._runner.precision == "bf16" else 0.9999


def test_reference_vectors(embedder: EncoderEmbedder, shared: Path) -> None:
    """Each reference text has its vector: alone, as a question, and in one batch with padding."""
    items = json.loads((shared / "golden" / "minilm_reference.json").read_text())["items"]
    texts = [item["text"] for item in items]
    expected = np.array([item["embedding"] for item in items], np.float32)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    alone = np.vstack([embedder.embed([text]) for text in texts])
    questions = np.vstack([embedder.embed_query(text) for text in texts])
    for found in (alone, questions, embedder.embed(texts)):
        assert (found * expected).sum(axis=1).min() >= floor(embedder)
    assert embedder.cut == sum(item["tokens"] > embedder.max_tokens for item in items) * 3


def test_order_is_kept(embedder: EncoderEmbedder) -> None:
    """Row i belongs to text i, whatever the batches were; a shuffled call gives shuffled rows."""
    order = np.random.default_rng(1).permutation(len(TEXTS))
    straight, shuffled = embedder.embed(TEXTS), embedder.embed([TEXTS[i] for i in order])
    assert (straight[order] * shuffled).sum(axis=1).min() >= floor(embedder)
    assert np.allclose(np.linalg.norm(straight, axis=1), 1, atol=1e-5)
    assert straight.dtype == np.float32


def test_padding_changes_nothing(embedder: EncoderEmbedder) -> None:
    """A short text beside a long one keeps its vector: padding is masked."""
    runner = embedder._open()
    short, long = embedder._tokens(["tea", "a long story " * 60])
    alone = unit_rows(runner.run(*pad([short], 0)), embedder.dim)[0]
    beside = unit_rows(runner.run(*pad([short, long], 0)), embedder.dim)[0]
    assert float(alone @ beside) >= 1 - (1 - floor(embedder)) / 10


def test_nothing_and_the_empty_text(embedder: EncoderEmbedder) -> None:
    """No texts give no rows; the empty text has a vector."""
    assert embedder.embed([]).shape == (0, embedder.dim)
    assert embedder.embed([""]).shape == (1, embedder.dim)


def test_questions_run_while_a_bulk_call_does(embedder: EncoderEmbedder) -> None:
    """Several threads ask while a bulk call runs; all get what they get alone."""
    alone = [embedder.embed([text])[0] for text in TEXTS[:8]]
    found: dict[int, np.ndarray] = {}
    threads = [threading.Thread(target=lambda i=i: found.update({i: embedder.embed_query(TEXTS[i])})) for i in range(8)]
    bulk = threading.Thread(target=embedder.embed, args=(TEXTS * 4,))
    for thread in (bulk, *threads):
        thread.start()
    for thread in (bulk, *threads):
        thread.join()
    assert min(float(found[i] @ alone[i]) for i in range(8)) >= floor(embedder)


def test_stop_ends_a_bulk_call(embedder: EncoderEmbedder) -> None:
    """A call that is asked to stop raises, and no more batches run."""
    asked = iter([False, True])
    with pytest.raises(EmbeddingStoppedError):
        embedder.embed(TEXTS * 10, stop=lambda: next(asked, True))


class Recorder:
    """A runner that notes the shapes it sees."""

    dim, precision = 384, "f32"

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def run(self, ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        self.sizes.append(ids.size)
        return np.ones((len(ids), 384), np.float32)

    run_query = run

    def close(self) -> None:
        """Nothing to close."""


@pytest.mark.parametrize(("tokens", "threads"), [(1024, 2), (512, 1), (2048, 4)])
def test_the_token_budget_is_never_exceeded(model_cache: Path, tokens: int, threads: int) -> None:
    """All callers together never have more padded tokens in the model than `batch_tokens`."""
    options = EmbedderOptions(model_cache, backend="onnx", batch_tokens=tokens, threads=threads, offline=True)
    opened = open_embedder(options)
    assert isinstance(opened, EncoderEmbedder)
    opened._runner = recorder = Recorder()
    opened.embed(TEXTS + ["word " * 400] * 5)
    assert max(recorder.sizes) * threads <= tokens


def test_a_closed_embedder_says_so(model_cache: Path) -> None:
    """After close every call fails with one clear error."""
    opened = open_embedder(EmbedderOptions(model_cache, backend="onnx", offline=True))
    opened.close()
    opened.close()
    with pytest.raises(ModelError, match="closed"):
        opened.embed(["text"])


def test_the_fingerprint_names_the_space(model_cache: Path) -> None:
    """The passage prefix makes another space, thread count and query prefix do not; the prefixes are really used."""

    def opened(**changes: object) -> EncoderEmbedder:
        found = open_embedder(EmbedderOptions(model_cache, backend="onnx", offline=True, **changes))  # type: ignore[arg-type]
        assert isinstance(found, EncoderEmbedder)
        return found

    plain, same, other = opened(), opened(threads=1, query_prefix="query: "), opened(passage_prefix="passage: ")
    assert plain.fingerprint == same.fingerprint != other.fingerprint
    assert np.allclose(other.embed(["tea"])[0], plain.embed(["passage: tea"])[0], atol=1e-5)
    assert np.allclose(same.embed_query("tea"), plain.embed(["query: tea"])[0], atol=1e-5)


def test_another_dimension_is_refused(model_cache: Path) -> None:
    """`embedding.dim` that the model does not have is an error, not a broken table."""
    with pytest.raises(ModelError, match=r"embedding\.dim is 768"):
        open_embedder(EmbedderOptions(model_cache, backend="onnx", dim=768, offline=True))


def test_auto_is_a_back_end() -> None:
    """`auto` resolves to a real back end, and a named one stays."""
    assert choose_backend(EmbedderOptions(Path())) in ("onnx", "openvino")
    assert choose_backend(EmbedderOptions(Path(), backend="ollama")) == "ollama"


def test_openvino_missing_says_what_to_install(model_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra the back end names it."""
    monkeypatch.setitem(__import__("sys").modules, "openvino", None)
    with pytest.raises(ModelError, match=r"mindnetd\[openvino\]"):
        open_embedder(EmbedderOptions(model_cache, backend="openvino", offline=True))


def test_dynamic_quantisation_is_refused(tmp_path: Path) -> None:
    """A graph whose vectors would depend on their batch mates is never opened."""
    from onnx import TensorProto, helper, save

    x = helper.make_tensor_value_info("input_ids", TensorProto.FLOAT, ["batch", 4])
    y = helper.make_tensor_value_info("y", TensorProto.UINT8, ["batch", 4])
    node = helper.make_node("DynamicQuantizeLinear", ["input_ids"], ["y", "scale", "zero"])
    graph = tmp_path / "model.onnx"
    save(helper.make_model(helper.make_graph([node], "g", [x], [y])), graph)
    with pytest.raises(ModelError, match="DynamicQuantizeLinear"):
        refuse_dynamic(graph)
    with pytest.raises(ModelError, match="DynamicQuantizeLinear"):
        OnnxRunner(graph, "mean")


@given(st.lists(st.integers(1, 300), max_size=80), st.integers(1, 2000))
def test_batches_cover_all_within_the_budget(lengths: list[int], budget: int) -> None:
    """Every text is in exactly one batch; a batch over the budget holds one text only."""
    batches = plan_batches(lengths, budget)
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or max(lengths[i] for i in batch) * len(batch) <= budget


def test_bulk_threads_have_low_priority() -> None:
    """Workers run at the nice value asked for; the caller keeps its own."""
    before = os.getpriority(os.PRIO_PROCESS, 0)
    seen: list[int] = []

    def work(_batch: list[int]) -> None:
        seen.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))

    run_batches([[0], [1]], work, threads=2, nice=15, stop=None)
    assert seen == [15, 15]
    assert os.getpriority(os.PRIO_PROCESS, 0) == before
    lower_priority(before)  # never raises a priority, and is no error


def test_an_error_in_a_worker_reaches_the_caller() -> None:
    """The first error ends the call and is raised where it was made."""

    def work(batch: list[int]) -> None:
        raise ModelError(f"batch {batch[0]} failed")

    with pytest.raises(ModelError, match="batch"):
        run_batches([[0], [1], [2]], work, threads=2, nice=10, stop=None)


@pytest.mark.parametrize("bad", [np.zeros((2, 3)), np.full((2, 3), np.nan), np.ones((2, 4))])
def test_unusable_vectors_are_refused(bad: np.ndarray) -> None:
    """Zero, not finite, or of another dimension: never stored."""
    with pytest.raises(ModelError):
        unit_rows(bad.astype(np.float32), 3)
