"""Demand 24 in the whole program: a real daemon and a language model that fails in every way that the demand names.

No query waits, nothing is marked done that is not, status, stats and diagnostics say it, and it heals by itself.
The same failures in all modes, with the clock turned: ``test_llm_extract``; call by call: ``test_llm_calls``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pytest
from bad_llm import BadLlm, bad_llm
from program import Program, program
from test_communities import fill
from test_llm_calls import CODES
from test_llm_extract import BAD, DOWN, clever

from mindnetd.client.transport import Client

SETTINGS = {
    "graph__extraction_mode": "hybrid",
    "llm__model": "tiny",
    "llm__num_ctx": "4096",
    "llm__timeout_s": "1.5",
    "llm__load_timeout_s": "1.5",
    "llm__keep_alive": "1s",
}


def model(payload: dict[str, Any]) -> str:
    """Answers questions too, with a citation that exists and one that does not."""
    asked = payload["messages"][-1]["content"]
    return "The Oven belongs to the bakery [1]. So does the Yeast [77]." if "Question:" in asked else clever(payload)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory, model_cache: Path) -> Iterator[tuple[Program, BadLlm]]:
    """A daemon that has asked a good server about all its notes."""
    home = tmp_path_factory.mktemp("llm")
    (home / "vault").mkdir()
    fill(home / "vault")
    with (
        bad_llm(model) as server,
        program(home, home / "vault", model_cache, llm__host=server.url, **SETTINGS) as daemon,
    ):
        daemon.settled()
        daemon.until(lambda: calls(daemon, "summary") > 0 and idle(daemon), "the model was asked about everything", 120)
        yield daemon, server


def llm(daemon: Program) -> Any:
    return daemon.get("/status")["llm"]


def calls(daemon: Program, purpose: str) -> int:
    return int(daemon.get("/stats")["llm"][purpose]["calls"])


def idle(daemon: Program) -> bool:
    now = llm(daemon)
    return now["pending"]["count"] == 0 and not now["running"] and not daemon.get("/status")["graph"]["running"]


def told(daemon: Program, path: str) -> list[str]:
    """What diagnostics say of the model and a note."""
    found = daemon.get("/diagnostics?limit=500")["diagnostics"]
    return [one["message"] for one in found if one["code"] == "llm_pending" and one["path"] == path]


def test_each_note_is_one_call(pair: tuple[Program, BadLlm]) -> None:
    """And the reply is in the graph; stats and metrics count by purpose."""
    daemon, _ = pair
    assert calls(daemon, "extract") == daemon.get("/stats")["documents"] == 15
    assert daemon.metric("mindnet_llm_calls_total") >= 15
    assert daemon.get("/entities/Oven")["entity"]["description"] == "what Oven is"
    summaries = [one["summary"] for one in daemon.get("/communities")["communities"]]
    assert all(text.startswith("These notes are about") for text in summaries)


def test_an_answer_streams_with_citations_that_exist(pair: tuple[Program, BadLlm]) -> None:
    """Numbers of no source are taken out and counted."""
    daemon, _ = pair
    body = {"text": "Where does the Oven belong?", "answer": True, "stream": True, "mode": "local"}
    lines = Client(str(daemon.socket), timeout_s=60).post("/query", body).decode().splitlines()
    events = [json.loads(line) for line in lines]
    answer = events[-1]["answer"]
    assert answer["source"] == "llm"
    assert (answer["llm_calls"], answer["citations_removed"]) == (1, 1)
    assert [one["n"] for one in answer["citations"]] == [1]
    assert "[77]" not in answer["text"]
    assert calls(daemon, "answer") == 1


@pytest.mark.parametrize("way", BAD + DOWN)
def test_each_failure_of_the_model(pair: tuple[Program, BadLlm], way: str) -> None:
    """Demand 24, each failure by its name."""
    daemon, server = pair
    before = [calls(daemon, "extract")]
    server.way = way
    path = f"Kiln {way}.md"
    file = daemon.vault / path
    file.write_text(f"# Kiln {way}\n\nThe Kiln {way} stands beside the [[Oven]].\n")
    daemon.until(lambda: path in daemon.query(f"Kiln {way}", lanes=["lexical"]), "the note is found by its words")
    daemon.job("/admin/communities")

    def waits() -> bool:
        answered = calls(daemon, "extract")
        if way == "slow load" and answered > before[-1]:  # the model was still there from the question before
            before.append(answered)
            file.write_text(f"# Kiln {way}\n\nKiln {way} number {answered} stands beside the [[Oven]].\n")
        return told(daemon, path) != []

    daemon.until(waits, "the note is told to wait", 90)
    code = "llm_junk" if way == "junk" else CODES[way]
    daemon.until(lambda: any(code in one for one in llm(daemon)["pending"]["errors"]), f"status says {code}")
    # nobody waits, and the heuristic result stands
    found = daemon.post("/query", {"text": f"Where does the Kiln {way} stand?", "mode": "local"})
    assert found["results"][0]["note"]["path"] == path
    assert f"Kiln {way}" in {one["name"] for one in daemon.get("/entities?limit=500")["entities"]}
    daemon.until(lambda: llm(daemon)["pending"]["notes"] >= 1 and told(daemon, path), "it goes on waiting")
    daemon.until(lambda: daemon.get("/status")["state"] == "ready", "all is indexed")
    # the server is well again; nobody does anything about it (what depends on the text alone: the text changes)
    server.way = None
    if way in BAD:
        file.write_text(f"# Kiln {way}\n\nThe other Kiln {way} stands beside the [[Oven]].\n")
        daemon.until(lambda: llm(daemon)["available"], "the model is there")
        daemon.settled(vectors=False)
        daemon.job("/admin/communities")
    daemon.until(lambda: told(daemon, path) == [], "the note waits no more", 120)
    daemon.until(lambda: llm(daemon)["error"] is None, "status says so")
    file.unlink()


def test_an_answer_falls_back_where_the_model_fails(pair: tuple[Program, BadLlm]) -> None:
    """With a warning, from the notes' own sentences."""
    daemon, server = pair
    daemon.until(lambda: llm(daemon)["available"], "the model is there")
    server.way = "500"
    found = daemon.post("/query", {"text": "Where is the Violin used?", "answer": True, "mode": "local"})
    assert found["answer"]["source"] == "extractive"
    assert any("LLM did not answer" in one for one in found["warnings"])
    server.way = None
    daemon.until(lambda: llm(daemon)["available"], "it heals by itself")


def test_refused_stopped_and_begun_again(tmp_path: Path, model_cache: Path) -> None:
    """Connection refused, the server coming late, and a stop in mid-call: nothing is lost, nothing counts as done."""
    vault = tmp_path / "vault"
    vault.mkdir()
    fill(vault, ["bakery/Oven.md", "bakery/Yeast.md"])
    with bad_llm(model) as server:
        settings = SETTINGS | {"llm__timeout_s": "600", "llm__host": server.url}
        server.way = "hang"
        with program(tmp_path, vault, model_cache, **settings) as daemon:
            daemon.until(lambda: server.arrived.is_set(), "a call is under way", 120)
            assert daemon.query("Yeast", lanes=["lexical"])[0] == "bakery/Yeast.md"
            assert daemon.stop() == 0
            assert server.hung_up.wait(20)
            server.way = None
            daemon.start()
            daemon.until(lambda: calls(daemon, "extract") == 2 and idle(daemon), "asked again", 120)
    # the server is gone
    (vault / "Bread.md").write_text("# Bread\n\nBread needs the [[Oven]].\n")
    with program(tmp_path, vault, model_cache, **settings) as daemon:
        daemon.settled(vectors=False)
        daemon.until(lambda: (llm(daemon)["error"] or {}).get("code") == "llm_unreachable", "status says refused")
        daemon.job("/admin/communities")
        daemon.until(lambda: told(daemon, "Bread.md") != [], "the note waits")
        assert "llm_unreachable" in told(daemon, "Bread.md")[0]
        assert daemon.get("/stats")["llm"]["extract"]["calls"] == 0
        assert daemon.get("/entities/Oven")["entity"]["description"] == "what Oven is"  # the reply is still in force


def test_excluding_a_folder_takes_along_what_the_model_said_of_it(tmp_path: Path, model_cache: Path) -> None:
    """Replies, descriptions, summaries, relations and what waits: nothing names what stood in the folder."""
    vault = tmp_path / "vault"
    (vault / "private").mkdir(parents=True)
    fill(vault)
    for number, (one, two) in enumerate(pairwise(("Oven", "Yeast", "Oven", "Yeast", "Oven"))):
        text = f"# Xylograph{number}\n\nThe [[{one}]] and the [[{two}]] of the bakery need the Xylograph{number}.\n"
        (vault / f"private/x{number}.md").write_text(text)

    def echo(payload: dict[str, Any]) -> str:
        asked = str(payload["messages"][-1]["content"])
        return asked if "Sentences:" in asked else model(payload)

    with bad_llm(echo) as server, program(tmp_path, vault, model_cache, **SETTINGS, llm__host=server.url) as daemon:
        daemon.until(lambda: calls(daemon, "extract") == 19 and calls(daemon, "summary") > 0, "all was asked", 120)
        daemon.until(lambda: idle(daemon), "nothing is left to ask", 120)
        assert daemon.get("/entities/Xylograph1")["entity"]["description"] == "what Xylograph1 is"
        summaries = [one["summary"] for one in daemon.get("/communities")["communities"]]
        assert any("Xylograph" in text and "nobody wants to miss" in text for text in summaries)
        server.way = "junk"
        (vault / "private/waits.md").write_text("# Xylograph9\n\nThe Xylograph9 waits for the [[Oven]].\n")
        daemon.until(lambda: daemon.get("/status")["notes"] == 20, "the note is there")
        daemon.settled()
        daemon.job("/admin/communities")
        daemon.until(lambda: told(daemon, "private/waits.md") != [], "it waits")
        (vault / ".obsidian").mkdir()
        (vault / ".obsidian/app.json").write_text('{"userIgnoreFilters": ["private/"]}')
        daemon.until(lambda: daemon.get("/status")["notes"] == 15, "the folder is excluded", 30)

        def left() -> bool:
            files = [path for path in daemon.db.parent.rglob("*") if path.is_file()]
            try:
                return any(b"xylograph" in path.read_bytes().lower() for path in files)
            except FileNotFoundError:  # the log was just emptied: look again
                return True

        daemon.until(lambda: not left(), "no word of it is left in the file", 30)
        assert daemon.stop() == 0
    tables = (
        "llm_cache",
        "llm_sources",
        "llm_pending",
        "entities",
        "relationships",
        "communities",
        "community_sources",
    )
    with duckdb.connect(str(daemon.db), read_only=True) as con:
        held = {table: str(con.execute(f"SELECT * FROM {table}").fetchall()).lower() for table in tables}
        assert [table for table, rows in held.items() if "xylograph" in rows] == []
        gone = "SELECT count(*) FROM {} WHERE note_key >= 0 AND note_key NOT IN (SELECT key FROM notes)"
        assert [con.execute(gone.format(table)).fetchall() for table in ("llm_sources", "llm_pending")] == [[(0,)]] * 2
        assert con.execute("SELECT count(*) FROM llm_cache WHERE purpose = 'extract'").fetchall() == [(15,)]
