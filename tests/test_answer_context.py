"""POST /context: never over the budget, nothing twice, nothing hidden, always the same."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from server_make import Served, World, serve_world

from mindnetd.core.budget import pack
from mindnetd.core.extract_answer import Source
from mindnetd.core.results import ChunkText
from mindnetd.inference.tokenizer import PinnedCounter

COUNTER = PinnedCounter()
LONG = "".join(f"Sentence {n} of the long note tells about the valve number {n * 7} there. " for n in range(300))


def sources(texts: list[str]) -> list[Source]:
    """Chunks of one note whose windows overlap their neighbours by their last and first ten characters."""
    made = []
    for n, text in enumerate(texts):
        left = texts[n - 1][-10:] if n else ""
        right = texts[n + 1][:10] if n + 1 < len(texts) else ""
        chunk = ChunkText(n, f"c{n}", n, ("Note", f"Part {n}"), n * 5 + 1, n * 5 + 5, text, left, right)
        made.append(Source(chunk, "Note.md", "Note", "en", n))
    return made


@settings(deadline=None)
@given(st.lists(st.text(max_size=300), max_size=6), st.integers(1, 300))
def test_never_over_the_budget(texts: list[str], budget: int) -> None:
    """Whatever the texts; and the count is that of the text."""
    packed = pack(sources(texts), budget, COUNTER)
    assert packed.tokens <= budget and packed.tokens == COUNTER.count([packed.text])[0]
    assert packed == pack(sources(texts), budget, COUNTER)
    assert len(packed.sources) + packed.left_out == len(texts)


def test_neighbours_do_not_repeat_their_overlap() -> None:
    """Each word of a note once, in the order of the note, whatever the order of the ranks."""
    parts = ["Alpha one begins here.\n", "Beta two goes on with it.\n", "Gamma three ends it all.\n"]
    found = sources(parts)
    text = pack([found[2], found[0], found[1]], 500, COUNTER).text
    assert [text.count(part.strip()) for part in parts] == [1, 1, 1]
    assert text.count("goes on with it") == 1 and text.count("# Note (Note.md)") == 1
    assert text.index("Alpha") < text.index("Beta") < text.index("Gamma")


def test_a_lone_chunk_has_its_window() -> None:
    """Where the neighbour is not there, its end is."""
    found = sources(["The first part ends so.", "The second part.", "Third begins."])
    assert "ends so." in pack([found[1]], 100, COUNTER).text


def test_what_does_not_fit_is_cut_at_a_sentence() -> None:
    """Whole sentences, and it is said how many were left out."""
    one = Source(ChunkText(1, "c1", 0, ("Long",), 1, 1, LONG, "", ""), "Long.md", "Long", "en", 0)
    packed = pack([one], 200, COUNTER)
    assert 100 < packed.tokens <= 200 and packed.text.endswith(".") and packed.left_out == 0
    assert pack([one], 10, COUNTER) == ("", 0, (), 1) or pack([one], 10, COUNTER).left_out == 1


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("context")
    world = World(folder)
    world.write("Valve.md", f"# Valve\n\n## Story\n\n{LONG}\n\n## End\n\nThe valve is shut at night.\n")
    world.write("Other.md", "# Other\n\nNobody opens the valve here.\n")
    world.write("Secret.md", "The valve zanzibar is secret.\n", visibility="sensitive")
    world.index()
    running = serve_world(world, folder / "s.sock")
    yield running
    running.stop()
    world.close()


@pytest.mark.parametrize("tokens", [1, 40, 200, 1500, 8000])
def test_context_over_the_socket(served: Served, tokens: int) -> None:
    """Sources are numbered as in the text, which holds the file's own words; hidden notes give none."""
    body = {"text": "valve", "tokens": tokens}
    reply = served.call("POST", "/context", body).json()
    assert reply["tokens"] == COUNTER.count([reply["text"]])[0] <= tokens
    assert reply["text"] == served.call("POST", "/context", body).json()["text"]
    assert "zanzibar" not in reply["text"]
    for source in reply["sources"]:
        assert f"[{source['n']}] " in reply["text"] and f"({source['path']})" in reply["text"]
    if tokens >= 1500:
        assert {"Valve.md", "Other.md"} >= {source["path"] for source in reply["sources"]} != set()


@pytest.mark.parametrize(
    ("body", "status"),
    [({"text": " "}, 400), ({"text": "x", "tokens": 0}, 422), ({"tokens": 5}, 422), ({"text": "x", "odd": 1}, 422)],
)
def test_bad_bodies(served: Served, body: dict[str, object], status: int) -> None:
    """Refused, with the shape of an error."""
    reply = served.call("POST", "/context", body)
    assert reply.status in (400, status) and reply.code


def test_filters_hold(served: Served) -> None:
    """The filters of a query."""
    reply = served.call("POST", "/context", {"text": "valve", "tokens": 900, "filters": {"paths": ["Other.md"]}}).json()
    assert {source["path"] for source in reply["sources"]} == {"Other.md"}
