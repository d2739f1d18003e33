"""Demand 24 at the level of calls: each failure by name is an error with a code, and the server's return heals it."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from bad_llm import BadLlm, bad_llm

from mindnetd.inference.llm import Llm, LlmOptions, keep_seconds
from mindnetd.inference.llm_call import LlmError
from mindnetd.inference.llm_pace import FIRST_RATE, HOPELESS_S, LEAST, READ_S, Pace
from mindnetd.inference.llm_turns import Turns

ASK = [{"role": "user", "content": "How are you?"}]
CODES = {
    "hang": "llm_timeout",
    "slow load": "llm_load_timeout",
    "not json": "llm_not_ollama",
    "truncated": "llm_truncated",
    "empty with length": "llm_empty",
    "empty": "llm_empty",
    "white space": "llm_empty",
    "thinking only": "llm_thinking_only",
    "404": "llm_model_missing",
    "500": "llm_server_error",
    "400": "llm_refused",
    "cut stream": "llm_cut",
    "unfinished": "llm_cut",
    "error line": "llm_not_ollama",
}
LIMITS = {"hang": {"timeout_s": 0.4}, "slow load": {"load_timeout_s": 0.4}}
"""Limits that a test is there to reach; all others are far away, however busy the machine is."""
STREAM_CODES = CODES | {"error line": "llm_server_error"}


class Clock:
    """Time as the test says."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def server() -> Iterator[BadLlm]:
    with bad_llm() as bad:
        yield bad


@contextmanager
def made(
    server: BadLlm, clock: Callable[[], float] = time.monotonic, counts: Counter[Any] | None = None, **changes: Any
) -> Iterator[Llm]:
    options = {
        "host": server.url,
        "model": "tiny",
        "timeout_s": 60.0,
        "load_timeout_s": 60.0,
        "num_ctx": 2048,
    } | changes
    seen = counts if counts is not None else Counter()
    llm = Llm(LlmOptions(**options), lambda purpose, outcome: seen.update([(purpose, outcome)]), clock)
    try:
        yield llm
    finally:
        llm.close()


def until(true: Callable[[], bool]) -> None:
    """Wait for it, with a deadline."""
    end = time.monotonic() + 20
    tick = threading.Event()
    while not true():
        assert time.monotonic() < end, "it did not come"
        tick.wait(0.01)


def test_a_good_call(server: BadLlm, monkeypatch: pytest.MonkeyPatch) -> None:
    """Load first; the same load options on each call, bounded, cold, unshifted; nothing of the environment."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("OLLAMA_API_KEY", "secret")
    counts: Counter[Any] = Counter()
    with made(server, counts=counts) as llm:
        assert llm.look()
        reply = llm.chat(ASK, purpose="extract", schema={"type": "object"}, max_tokens=70)
        assert reply.text == "All is well."
        assert "".join(llm.stream(ASK, purpose="answer", max_tokens=50)).strip() == "All is well."
    assert len(server.loads()) == 1
    for sent in (*server.loads(), *server.chats()):
        assert sent["shift"] is False
        assert sent["options"]["num_ctx"] == 2048
        assert "think" not in sent
    first = server.chats()[0]
    assert (first["options"]["num_predict"], first["options"]["temperature"], first["format"]) == (
        *(70, 0),
        {"type": "object"},
    )
    assert not any("authorization" in headers for headers in server.headers)
    assert counts == {("extract", "ok"): 1, ("answer", "ok"): 1}


def test_thinking_is_off_where_the_model_can(server: BadLlm) -> None:
    server.capabilities = ["completion", "thinking"]
    with made(server) as llm:
        llm.look()
        llm.chat(ASK, purpose="extract", max_tokens=9)
    assert server.chats()[0]["think"] is False


@pytest.mark.parametrize("way", CODES)
def test_each_failure_by_name(server: BadLlm, way: str) -> None:
    """A code each, counted as failed; after the pause a look, and the next call works."""
    clock, counts = Clock(), Counter[Any]()
    with made(server, clock, counts, **LIMITS.get(way, {})) as llm:
        assert llm.look()
        server.way = way
        with pytest.raises(LlmError) as caught:
            llm.chat(ASK, purpose="extract", max_tokens=9)
        assert caught.value.code == CODES[way]
        assert counts == {("extract", "failed"): 1}
        server.way = None
        healed(llm, clock)
        assert llm.chat(ASK, purpose="extract", max_tokens=9, retry=True).text == "All is well."
        assert counts == {("extract", "failed"): 1, ("extract", "retry_ok"): 1}


def healed(llm: Llm, clock: Clock) -> None:
    """Nobody does anything but let time pass and ask whether it is there."""

    def there() -> bool:
        clock.now += 1
        return llm.available()

    until(there)
    assert llm.state()["error"] is None


@pytest.mark.parametrize("way", STREAM_CODES)
def test_each_failure_of_a_stream(server: BadLlm, way: str) -> None:
    """The pieces that came are void: the iterator ends with the error."""
    with made(server, **LIMITS.get(way, {})) as llm:
        assert llm.look()
        server.way = way
        with pytest.raises(LlmError) as caught:
            list(llm.stream(ASK, purpose="answer", max_tokens=9))
        assert caught.value.code == STREAM_CODES[way]


def test_connection_refused_costs_nothing_and_heals() -> None:
    """The breaker: pauses that double, no call between; `available` says no at once."""
    clock = Clock()
    with bad_llm() as bad, made(bad, clock) as llm:
        assert llm.look()
    # the server is gone
    clock = Clock()
    with made(bad, clock) as llm:
        assert not llm.available()  # and has a look made
        until(lambda: llm.state()["error"] is not None)
        waits = [llm.state()["next_try_s"]]
        for _ in range(9):
            clock.now += waits[-1]
            assert not llm.look()
            waits.append(llm.state()["next_try_s"])
        assert waits == [2, 4, 8, 16, 32, 60, 60, 60, 60, 60]
        assert llm.state()["error"]["code"] == "llm_unreachable"
        with pytest.raises(LlmError) as caught:
            llm.chat(ASK, purpose="extract", max_tokens=9)
        assert caught.value.code == "llm_unreachable"


def test_a_dead_chat_trips_the_breaker(server: BadLlm) -> None:
    """After a time-out no second call is tried within the pause, and a look alone does not shorten the next one."""
    clock = Clock()
    with made(server, clock, **LIMITS["hang"]) as llm:
        llm.look()
        server.way = "hang"
        for pause in (2.0, 4.0):
            with pytest.raises(LlmError):
                llm.chat(ASK, purpose="extract", max_tokens=9)
            before = len(server.calls)
            assert llm.state()["next_try_s"] == pause
            for _ in range(50):
                assert not llm.available()
            with pytest.raises(LlmError, match="complete answer"):
                llm.chat(ASK, purpose="extract", max_tokens=9)
            assert len(server.calls) == before
            clock.now += pause
            until(llm.available)


def test_off_asks_nobody(server: BadLlm) -> None:
    with made(server, enabled="off") as llm:
        assert not llm.available()
        assert not llm.look()
        assert llm.state()["available"] is False
        with pytest.raises(LlmError, match="off"):
            llm.chat(ASK, purpose="extract", max_tokens=9)
    assert server.calls == []


def test_available_does_not_wait_for_a_hanging_look() -> None:
    """A server that takes the connection and says nothing: `available` says no, many times, while the look hangs."""
    with bad_llm() as bad:
        bad.__class__ = HangingLooks
        with made(bad) as llm:
            assert not llm.available()
            assert bad.arrived.wait(20)
            before = len(bad.calls)
            assert not any(llm.available() for _ in range(100))
            assert len(bad.calls) == before == 1


class HangingLooks(BadLlm):
    """Hangs at the first question."""

    def __call__(self, handler: Any, body: bytes) -> None:
        self.calls.append((handler.path, {}))
        self._hang(handler)


@pytest.mark.parametrize("how", ["chat", "stream"])
def test_stop_in_mid_call(server: BadLlm, how: str) -> None:
    """The daemon stops: the call ends with its own code and the server sees the client go."""
    counts: Counter[Any] = Counter()
    with made(server, counts=counts, timeout_s=600.0) as llm:
        llm.look()
        server.way = "hang"
        codes: list[str] = []

        def call() -> None:
            try:
                if how == "chat":
                    llm.chat(ASK, purpose="answer", max_tokens=9)
                else:
                    list(llm.stream(ASK, purpose="answer", max_tokens=9))
            except LlmError as error:
                codes.append(error.code)

        thread = threading.Thread(target=call)
        thread.start()
        assert server.arrived.wait(20)
        llm.close()
        thread.join(20)
        assert not thread.is_alive()
        assert codes == ["llm_stopped"]
        assert server.hung_up.wait(20)
        assert counts == {("answer", "stopped"): 1}


def test_whoever_asks_may_stop(server: BadLlm) -> None:
    """`stop` of the caller ends the call, and is not held against the server."""
    with made(server, timeout_s=600.0) as llm:
        llm.look()
        server.way = "hang"
        with pytest.raises(LlmError) as caught:
            llm.chat(ASK, purpose="answer", max_tokens=9, stop=server.arrived.is_set)
        assert caught.value.code == "llm_stopped"
        assert server.hung_up.wait(20)
        assert llm.available()


def test_giving_up_does_not_abort_a_load(server: BadLlm) -> None:
    """Somebody stops waiting while the model loads: the load goes on, and the next one finds it."""
    with made(server, load_timeout_s=600.0) as llm:
        llm.look()
        server.way = "slow load"
        with pytest.raises(LlmError, match="given up"):
            llm.chat(ASK, purpose="answer", max_tokens=9, stop=server.arrived.is_set)
        assert not server.hung_up.is_set()
        assert len(server.loads()) == 1


def test_calls_in_flight_are_bounded(server: BadLlm) -> None:
    """One at a time: a second waits its turn until it is told to stop."""
    with made(server, timeout_s=600.0) as llm:
        llm.look()
        server.way = "hang"
        over = threading.Event()

        def hold() -> None:
            with pytest.raises(LlmError):
                llm.chat(ASK, purpose="extract", max_tokens=9, stop=over.is_set)

        thread = threading.Thread(target=hold)
        thread.start()
        assert server.arrived.wait(20)
        looks = iter([False, True])
        with pytest.raises(LlmError) as caught:
            llm.chat(ASK, purpose="extract", max_tokens=9, stop=lambda: next(looks))
        assert caught.value.code == "llm_stopped"
        assert len(server.chats()) == 1
        over.set()
        thread.join(20)


def test_whoever_asks_a_question_goes_first() -> None:
    """One turn: the background that waits longest stands back for an answer, and a while after it."""
    turns = Turns(1)
    order: list[str] = []
    waits = threading.Event()

    def work(name: str, asked: bool) -> None:
        with turns.turn(asked, lambda: bool(waits.set())):
            order.append(name)

    with turns.turn(False, lambda: False):
        background = threading.Thread(target=work, args=("background", False))
        background.start()
        assert waits.wait(20)
        waits.clear()
        asker = threading.Thread(target=work, args=("answer", True))
        asker.start()
        until(lambda: turns._asking == 1)
    asker.join(20)
    with turns.turn(True, lambda: False):  # the next call of the same answer
        order.append("answer")
    background.join(20)
    assert order == ["answer", "answer", "background"]


def test_the_pace_follows_the_calls() -> None:
    """The last measurement counts, what was not read in time bounds it, and a hopeless one is asked nothing."""
    clock = Clock()
    pace = Pace(clock)
    assert pace.tokens() == FIRST_RATE * READ_S
    pace.read(3000, 1.5)
    assert (pace.tokens(), pace.tokens(4)) == (2000 * READ_S, 500 * READ_S)
    pace.read(20, 20.0)  # too few to measure by
    pace.unread(2400, 24.0)
    assert (pace.tokens(), pace.tokens(4)) == (1000, LEAST)
    pace.unread(300, 24.0)
    assert pace.tokens() == 0
    clock.now += HOPELESS_S
    assert pace.tokens() == LEAST
    pace.unread(300, 24.0)
    pace.read(900, 3.0)
    assert pace.tokens() == 300 * READ_S


def test_an_answer_leaves_room_in_the_context_and_gets_less_after_a_slow_one(server: BadLlm) -> None:
    """Sources, rules and reply fit ``num_ctx``; what was given up before its first word is asked with less."""
    clock = Clock()
    with made(server, clock, timeout_s=600.0) as llm:
        llm.look()
        assert 0 < llm.room(800) < 2048 - 800 - 500
        server.way = "hang"

        def stop() -> bool:
            clock.now += 24 * server.arrived.is_set()
            return server.arrived.is_set()

        with pytest.raises(LlmError):
            list(llm.stream([{"role": "user", "content": "word " * 960}], purpose="answer", max_tokens=800, stop=stop))
        assert llm.room(800) == 1200 // 24 * READ_S


def test_a_question_ends_the_call_of_the_background(server: BadLlm) -> None:
    """It would wait for minutes else; what was ended is no failure and is asked again."""
    counts: Counter[Any] = Counter()
    with made(server, counts=counts, timeout_s=600.0) as llm:
        llm.look()
        server.way = "hang"
        ended: list[LlmError] = []

        def background() -> None:
            with pytest.raises(LlmError) as caught:
                llm.chat(ASK, purpose="extract", max_tokens=9)
            ended.append(caught.value)

        thread = threading.Thread(target=background)
        thread.start()
        assert server.arrived.wait(20)
        server.way = None
        assert "".join(llm.stream(ASK, purpose="answer", max_tokens=9)).strip() == "All is well."
        thread.join(20)
        assert (ended[0].code, ended[0].retry) == ("llm_stopped", True)
        assert server.hung_up.wait(20)
        assert counts == {("extract", "stopped"): 1, ("answer", "ok"): 1}


def test_an_iterator_given_up_gives_the_call_up(server: BadLlm) -> None:
    counts: Counter[Any] = Counter()
    with made(server, counts=counts) as llm:
        llm.look()
        pieces = llm.stream(ASK, purpose="answer", max_tokens=9)
        assert next(pieces).strip() == "All"
        pieces.close()  # type: ignore[attr-defined]  # a generator
        assert counts == {("answer", "stopped"): 1}
        assert llm.chat(ASK, purpose="answer", max_tokens=9).text


def test_keep_alive() -> None:
    assert [keep_seconds(text) for text in ("5m", "10s", "0", "-1", "500ms", "60")] == [240, 8, 0, 240, 0.4, 48]
