"""The Ollama back end against a scripted server, and against a real small model where the tool for it is there."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_model import http_server, send

from mindnetd.errors import ModelError
from mindnetd.inference.embedder import EmbedderOptions, EmbeddingStoppedError, TextsFailedError
from mindnetd.inference.ollama_backend import OllamaEmbedder
from mindnetd.inference.ollama_http import OllamaServer

DIM = 4


def vector(text: str) -> list[float]:
    """Any vector that depends on the text."""
    return [1.0 + len(text), float(sum(text.encode()) % 97), float(text.count("a")), 1.0]


class Script:
    """An Ollama server that misbehaves as told: `embed(texts)` gives status and body for real texts."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.digest, self.window, self.size = "sha256:abc", 512, DIM
        self.embed: Callable[[list[str]], tuple[int, Any]] = self.good
        self.wait = threading.Event()
        self.hang: str | None = None

    def good(self, texts: list[str]) -> tuple[int, Any]:
        """Answer as Ollama does."""
        return 200, {"embeddings": [vector(text) for text in texts]}

    def __call__(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        payload = json.loads(body or b"{}")
        self.calls.append((handler.path, payload))
        if handler.path == self.hang:
            self.wait.wait(30)
            return
        status, reply = self.answer(handler.path, payload)
        send(handler, status, reply)

    def answer(self, path: str, payload: dict[str, Any]) -> tuple[int, Any]:
        """Route a call."""
        if path == "/api/version":
            return 200, {"version": "0.33.0"}
        if path == "/api/tags":
            return 200, {"models": [{"name": "Mini:latest", "digest": self.digest}]}
        if path == "/api/show":
            info = {"bert.context_length": self.window} | ({"bert.embedding_length": self.size} if self.size else {})
            return 200, {"model_info": info}
        return self.embed(payload["input"]) if payload["input"] else (200, {"embeddings": []})

    def sent(self) -> list[list[str]]:
        """The texts of every embed call."""
        return [payload["input"] for path, payload in self.calls if path == "/api/embed"]


@pytest.fixture
def script() -> Iterator[Script]:
    """A server's behaviour, released at the end of the test."""
    made = Script()
    yield made
    made.wait.set()


@contextmanager
def ollama(script: Script, clock: Callable[[], float] = time.monotonic, **changes: Any) -> Iterator[OllamaEmbedder]:
    """An embedder over the scripted server."""
    with http_server(script) as url:
        options = {"model": "mini", "backend": "ollama", "ollama_host": url, "timeout_s": 5.0, **changes}
        embedder = OllamaEmbedder(EmbedderOptions(Path("unused"), **options), clock)
        try:
            yield embedder
        finally:
            embedder.close()
            script.wait.set()


def unit(text: str) -> np.ndarray:
    """What the embedder should give for a text."""
    return np.array(vector(text)) / np.linalg.norm(vector(text))


def test_texts_come_back_in_order(script: Script) -> None:
    """Unit rows in the order of the texts; the model is loaded first, and each call has the same load options."""
    texts = [f"{'alpha ' * (n % 7)}{n}" for n in range(100)]
    with ollama(script, passage_prefix="p: ", query_prefix="q: ") as embedder:
        found = embedder.embed(texts)
        question = embedder.embed_query("why")
    assert np.allclose(found, [unit(f"p: {text}") for text in texts], atol=1e-6)
    assert np.allclose(question, unit("q: why"), atol=1e-6)
    assert script.sent()[0] == []
    embeds = [payload for path, payload in script.calls if path == "/api/embed"]
    assert {json.dumps(payload["options"]) for payload in embeds} == {'{"num_ctx": 8192}'}
    assert {payload["truncate"] for payload in embeds} == {False}
    assert {payload["model"] for payload in embeds} == {"mini:latest"}
    assert max(len(payload["input"]) for payload in embeds) <= 32


def test_another_digest_is_another_space(script: Script) -> None:
    """A tag that was pulled anew has other weights: its vectors are never compared with the old ones."""
    with ollama(script) as embedder:
        first = embedder.fingerprint
        assert (embedder.name, embedder.dim, embedder.max_tokens) == ("ollama:mini:latest", DIM, 512)
    script.digest = "sha256:def"
    with ollama(script) as embedder:
        assert embedder.fingerprint != first


def test_the_dimension_is_asked_for_where_show_does_not_say(script: Script) -> None:
    """Older servers name no length: one text tells."""
    script.size = 0
    with ollama(script) as embedder:
        assert embedder.dim == DIM


def test_no_server() -> None:
    """Nothing listens: one clear error at once."""
    options = EmbedderOptions(Path("unused"), backend="ollama", ollama_host="http://127.0.0.1:9")
    with pytest.raises(ModelError, match="not reachable") as caught:
        OllamaEmbedder(options)
    assert caught.value.code == "ollama_unreachable"


def test_a_missing_model_names_the_command(script: Script) -> None:
    """404 or not in the list: `ollama pull` is what to do."""
    with pytest.raises(ModelError, match="ollama pull other:latest"), ollama(script, model="other"):
        pass
    script.embed = lambda _texts: (404, {"error": 'model "mini" not found, try pulling it first'})
    with ollama(script) as embedder, pytest.raises(ModelError, match="ollama pull mini:latest") as caught:
        embedder.embed(["a"])
    assert caught.value.code == "ollama_model_missing"


def test_a_hanging_server_costs_the_timeout_once(script: Script) -> None:
    """A call ends at its deadline; then every call fails at once until the pause is over, which grows."""
    now = [0.0]
    with ollama(script, clock=lambda: now[0], timeout_s=0.3) as embedder:
        embedder.embed(["warm"])
        script.hang = "/api/embed"
        for pause in (2.0, 4.0):
            asked = len(script.calls)
            with pytest.raises(ModelError, match="no answer within") as caught:
                embedder.embed_query("a")
            assert caught.value.code == "ollama_timeout"
            assert len(script.calls) == asked + 1
            now[0] += pause - 0.1
            with pytest.raises(ModelError, match="next try in"):
                embedder.embed_query("b")
            assert len(script.calls) == asked + 1
            now[0] += 0.2
        script.hang = None
        assert embedder.embed_query("c").shape == (DIM,)


def test_bytes_that_drip_do_not_move_the_deadline() -> None:
    """The deadline holds for the whole call, though each single read is in time."""
    ended = threading.Event()

    def drip(handler: BaseHTTPRequestHandler, _body: bytes) -> None:
        send(handler, 200, b"{", announced=1000)
        while not ended.wait(0.05):
            handler.wfile.write(b" ")

    with http_server(drip) as url, pytest.raises(ModelError, match=r"no answer within 0\.4 s"):
        try:
            OllamaServer(url).call("/api/version", None, 0.4)
        finally:
            ended.set()


def test_close_ends_a_call_under_way(script: Script) -> None:
    """A daemon that stops does not wait for Ollama, and Ollama does not work on for nobody."""
    failed: list[ModelError] = []

    def ask() -> None:
        try:
            embedder.embed(["a"])
        except ModelError as error:
            failed.append(error)

    with ollama(script, timeout_s=60.0) as embedder:
        script.hang = "/api/embed"
        thread = threading.Thread(target=ask)
        thread.start()
        while not script.sent():
            script.wait.wait(0.01)
        embedder.close()
        thread.join(10)
        assert not thread.is_alive()
        assert len(failed) == 1
        with pytest.raises(ModelError):
            embedder.embed_query("b")


JUNK = [
    (200, b"<html>proxy</html>"),
    (200, b"[1, 2]"),
    (200, {"embeddings": None}),
    (200, {"embeddings": [["x"] * DIM]}),
    (200, {"embeddings": [[1.0] * DIM, [1.0] * DIM]}),
    (200, {"embeddings": [[1.0] * (DIM + 1)]}),
    (502, b"<html>bad gateway</html>"),
    (404, b"404 page not found"),
    (501, {"error": "this model does not support embeddings"}),
    (503, {"error": "server busy, please try again"}),
]


@pytest.mark.parametrize("reply", JUNK, ids=[str(number) for number in range(len(JUNK))])
def test_junk_is_an_error_of_the_back_end(script: Script, reply: tuple[int, Any]) -> None:
    """Whatever comes instead of vectors is one ModelError of one line; nothing is taken for a vector."""
    with ollama(script) as embedder:
        script.embed = lambda _texts: reply
        with pytest.raises(ModelError) as caught:
            embedder.embed(["a"])
        assert not isinstance(caught.value, TextsFailedError)
        assert "\n" not in caught.value.message


BAD_TEXT: list[Callable[[list[str]], tuple[int, Any]]] = [
    lambda texts: (500, {"error": "json: unsupported value: NaN"}),
    lambda texts: (200, b'{"embeddings": [' + b", ".join([b"[NaN, 1, 1, 1]"] * len(texts)) + b"]}"),
    lambda texts: (200, {"embeddings": [[0.0] * DIM for _ in texts]}),
    lambda texts: (200, {"embeddings": [[1e300] * DIM for _ in texts]}),
    lambda texts: (400, {"error": "some other refusal"}),
]


@pytest.mark.parametrize("bad", BAD_TEXT, ids=["500", "nan", "zero", "infinite", "400"])
def test_one_bad_text_does_not_cost_the_others(script: Script, bad: Callable[[list[str]], tuple[int, Any]]) -> None:
    """The batch goes on text by text; the good ones are kept and the bad one is named."""
    script.embed = lambda texts: bad(texts) if "bad" in texts else script.good(texts)
    with ollama(script) as embedder, pytest.raises(TextsFailedError) as caught:
        embedder.embed(["good", "bad", "fine"])
    assert set(caught.value.failed) == {1}
    assert np.allclose(caught.value.vectors[[0, 2]], [unit("good"), unit("fine")], atol=1e-6)


def test_a_text_too_long_is_split(script: Script) -> None:
    """The 400 about the context length means halves, averaged by their length; the same request is never sent twice."""

    def limited(texts: list[str]) -> tuple[int, Any]:
        if max(map(len, texts)) > 40:
            return 400, {"error": "the input length exceeds the context length"}
        return script.good(texts)

    script.embed = limited
    long = "many words about apples and bananas " * 6
    with ollama(script) as embedder:
        found = embedder.embed(["short", long.strip()])
        assert np.allclose(found[0], unit("short"), atol=1e-6)
        assert np.isclose(np.linalg.norm(found[1]), 1, atol=1e-5)
        assert np.allclose(embedder.embed_query(long.strip()), found[1], atol=1e-6)
    parts = [texts[0] for texts in script.sent() if len(texts) == 1 and len(texts[0]) <= 40 and texts[0] != "short"]
    assert "".join(parts[: len(parts) // 2]) == long.strip()


def test_stop_between_batches(script: Script) -> None:
    """A bulk call ends between two requests when asked."""
    with ollama(script) as embedder, pytest.raises(EmbeddingStoppedError):
        embedder.embed([f"text {n}" for n in range(200)], stop=lambda: len(script.sent()) > 2)
    assert len(script.sent()) == 3


def test_the_proxy_of_the_environment_is_not_used(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loopback stays loopback, whatever HTTP_PROXY says."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with ollama(script) as embedder:
        assert embedder.embed(["a"]).shape == (1, DIM)


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("0.0.0.0:11500", "http://127.0.0.1:11500"),
        ("http://0.0.0.0", "http://127.0.0.1:11434"),
        ("localhost", "http://localhost:11434"),
        ("https://box.example/ollama/", "https://box.example:443/ollama"),
    ],
)
def test_hosts(host: str, address: str) -> None:
    """The server's listening address becomes one that a client can call."""
    assert OllamaServer(host).address == address


@pytest.mark.parametrize("host", ["ftp://x", "http://x:port"])
def test_a_host_that_is_none(host: str) -> None:
    """A value that is no address is named."""
    with pytest.raises(ModelError, match=r"llm\.host"):
        OllamaServer(host)


@pytest.fixture(scope="module")
def real_server(shared: Path) -> Iterator[str]:
    """A real small model behind the Ollama API; skips where the tool or its parts are missing."""
    tool = shared / "tools" / "ollama-real.sh"
    if not tool.is_file():
        pytest.skip("ollama-real.sh is not beside this checkout")
    port = "11587"
    started = subprocess.run([tool, "start", "--port", port], capture_output=True, text=True, timeout=110, check=False)
    try:
        if started.returncode != 0:
            pytest.skip(f"no real model here: {started.stderr.strip()[-200:]}")
        yield started.stdout.strip().splitlines()[-1]
    finally:
        subprocess.run([tool, "stop", "--port", port], capture_output=True, timeout=60, check=False)


@pytest.mark.nightly
def test_a_real_model(real_server: str) -> None:
    """Order, unit length and meaning with real vectors, and a text far over the window."""
    options = EmbedderOptions(Path("unused"), backend="ollama", model="all-minilm", ollama_host=real_server)
    embedder = OllamaEmbedder(options)
    found = embedder.embed(["the cat sleeps on the mat", "interest rates rose again", "word " * 3000])
    assert found.shape == (3, 384)
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-4)
    scores = found[:2] @ embedder.embed_query("a kitten takes a nap")
    assert scores[0] > scores[1] + 0.2
    embedder.close()
