"""Demands that only the whole program can meet: idle, deletion, long and huge notes, memory.

Long forms: `python -m benchmarks live`.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from program import Program, program, six_notes

from mindnetd.client.transport import Client

WORDS = ["oak", "ash", "elm", "birch", "pine", "moss", "fern", "reed", "heath", "brook", "stone", "ridge", "meadow"]
LANES = ("lexical", "dense", "title")
PEAK_MB = 700
"""What a daemon with its model may take while it reads a huge note."""
GROWTH_MB = 24


def paragraphs(count: int, seed: int = 1) -> str:
    """Text of `count` paragraphs, no two alike."""
    rng = random.Random(seed)
    return "\n\n".join(" ".join(rng.choices(WORDS, k=60)).capitalize() + "." for _ in range(count)) + "\n\n"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return six_notes(tmp_path / "vault")


def memory_mb(daemon: Program, key: str) -> float:
    """A figure of the process, such as VmRSS or VmHWM."""
    assert daemon.process is not None
    lines = Path(f"/proc/{daemon.process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key + ":")) / 1024


def traces(daemon: Program) -> dict[str, Any]:
    """What every pass and every commit leaves behind."""
    numbers = ("events_total", "commits_total", "notes_indexed_total", "embeddings_made_total", "revision")
    return {"runs": daemon.get("/runs")["runs"], **{name: daemon.metric(f"mindnet_{name}") for name in numbers}}


def test_what_reads_raises_no_event_and_makes_no_pass(tmp_path: Path, vault: Path, model_cache: Path) -> None:
    """Demand 2: our own reads and our own database feed nothing back, whoever asks for whatever."""
    with program(tmp_path, vault, model_cache) as daemon:
        daemon.settled()
        assert daemon.job("/admin/communities")["state"] == "done"
        before = traces(daemon)
        assert daemon.job("/admin/verify", {"hashes": True})["result"]["ok"]
        assert daemon.job("/admin/reconcile")["state"] == "done"
        client = Client(str(daemon.socket), timeout_s=60)
        for target in ("/export", "/backup", "/metrics"):
            assert b"".join(client.stream("GET", target, wait=True))
        for text in ("number", "note 3", "some"):
            assert daemon.query(text, answer=True)
        assert traces(daemon) == before
        (vault / "last.md").write_text("An event that counts.\n")  # so the silence was not deafness
        daemon.until(lambda: daemon.metric("mindnet_events_total") > before["events_total"], "the event of a save")


def test_a_deleted_note_is_nowhere_and_comes_back(tmp_path: Path, vault: Path, model_cache: Path) -> None:
    """Demand 7: in no lane, list, graph, entity or community; made again it is in all of them."""
    text = "# Zeppelin\n\nA zeppelin over the [[n1]] valley, see `zeppelinkit`.\n"
    note = vault / "zeppelin.md"
    lists = (
        "/notes", "/notes/n1", "/notes/n1/related", "/notes/n1/suggestions", "/neighbors/n1", "/subgraph/n1?depth=3",
        "/entities?limit=500", "/communities", "/unresolved", "/diagnostics", "/orphans",
    )  # fmt: skip

    def told() -> list[str]:
        found = [target for target in lists if "zeppelin" in str(daemon.get(target)).lower()]
        for lane in LANES:
            reply = daemon.post("/query", {"text": "zeppelin", "lanes": [lane]})
            found += [f"{lane} lane"] if "zeppelin" in str(reply).lower() else []
        for mode in ("global", "drift"):
            reply = daemon.post("/query", {"text": "zeppelin", "mode": mode, "answer": True})
            found += [mode] if "zeppelin" in str(reply).lower() else []
        return found

    with program(tmp_path, vault, model_cache) as daemon:
        note.write_text(text)
        daemon.settled()
        assert daemon.job("/admin/communities")["state"] == "done"
        shown = told()
        places = {"/notes", "/neighbors/n1", "/entities?limit=500", "/communities", *map("{} lane".format, LANES)}
        assert places <= {*shown}
        note.unlink()
        daemon.until(lambda: not told(), "gone everywhere, before any rebuild", 10)
        note.write_text(text)
        daemon.until(lambda: daemon.query("zeppelin", lanes=["lexical"]) == ["zeppelin.md"], "back")
        daemon.settled()
        assert daemon.job("/admin/communities")["state"] == "done"
        assert told() == shown and not daemon.get("/communities")["stale"]


def test_the_end_of_a_long_note_is_first_in_both_lanes(tmp_path: Path, vault: Path, model_cache: Path) -> None:
    """Demand 13, short form (100 kB): the last sentence is the first hit by its words, and by its meaning."""
    (vault / "long.md").write_text(paragraphs(300) + "Quetzals nest in rotting trunks.\n")
    assert (vault / "long.md").stat().st_size > 90_000
    with program(tmp_path, vault, model_cache) as daemon:
        daemon.settled()
        for lane, text in (("lexical", "quetzals"), ("dense", "tropical birds that breed in dead wood")):
            hit = daemon.post("/query", {"text": text, "lanes": [lane]})["results"][0]
            assert hit["note"]["path"] == "long.md" and "Quetzals nest" in hit["chunk"]["text"], lane


def test_a_huge_note_holds_up_nobody(tmp_path: Path, vault: Path, model_cache: Path) -> None:
    """Demand 14, short form (12 MB): it is read, others are answered and saved meanwhile, memory stays bounded."""
    (vault / "huge.md").write_text(paragraphs(33_000) + "Quetzals nest in rotting trunks.\n")
    with program(tmp_path, vault, model_cache) as daemon:
        daemon.until(lambda: daemon.query("number", lanes=["lexical"]), "the small ones are served")
        daemon.until(lambda: daemon.query("quetzals", lanes=["lexical"]) == ["huge.md"], "the huge one is read", 120)
        (vault / "saved.md").write_text("A zeppelin over the valley.\n")
        daemon.until(lambda: daemon.query("airship", lanes=["dense"])[:1] == ["saved.md"], "overtakes the backlog")
        assert daemon.get("/status")["vectors"]["pending"] > 100
        assert memory_mb(daemon, "VmHWM") < PEAK_MB


def test_memory_does_not_grow(tmp_path: Path, vault: Path, model_cache: Path) -> None:
    """Demand 15, short form: after the first few hundred, questions and edits give back what they take."""
    with program(tmp_path, vault, model_cache) as daemon:
        daemon.settled()

        def work(first: int, count: int) -> None:
            for number in range(first, first + count):
                assert daemon.query(f"{WORDS[number % len(WORDS)]} number {number}")
                if number % 20 == 0:
                    (vault / "n0.md").write_text(f"# Note 0\n\nEdit {number} of [[n1]].\n\n{paragraphs(2, number)}")

        work(0, 400)
        daemon.settled()
        before = memory_mb(daemon, "VmRSS")
        work(400, 800)
        daemon.settled()
        assert memory_mb(daemon, "VmRSS") - before < GROWTH_MB
