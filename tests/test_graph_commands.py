"""``mindnet ask``, ``context``, ``entities``, ``communities``, ``rebuild``, ``doctor`` against a real daemon."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from client_make import Mindnet, run_process
from mcp_make import HIDDEN, SECRET, SHOWN, write_vault
from program import Program, program

from mindnetd.client.ask import answer_end
from mindnetd.client.doctor import place_findings, socket_findings, status_findings, watch_findings
from mindnetd.client.paint import Paint


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, model_cache: Path) -> Iterator[Program]:
    home = tmp_path_factory.mktemp("commands")
    with program(home, write_vault(home / "vault", SHOWN, HIDDEN), model_cache) as running:
        running.settled()
        assert running.job("/admin/communities")["state"] == "done"
        yield running


@pytest.fixture
def mindnet(daemon: Program, capsys: pytest.CaptureFixture[str]) -> Mindnet:
    return Mindnet(daemon.socket, capsys)


def test_ask_answers_with_numbered_sources(mindnet: Mindnet) -> None:
    """Sentences, each with a number that stands below with path and line; the line has the words."""
    ran = mindnet("ask", "how", "is", "the", "valve", "opened")
    assert ran.code == 0 and "opened by hand" in ran.out and SECRET not in ran.out
    sources = re.findall(r"^\[(\d+)\] .*?  (\S.*?):(\d+)$", ran.out, re.M)
    assert [int(n) for n, _, _ in sources] == list(range(1, len(sources) + 1)) != []
    text = ran.out.split("\n\n")[0]
    assert {n for n, _, _ in sources} == set(re.findall(r"\[(\d+)\]", text))
    assert any(path == "projects/Valve.md" for _, path, _ in sources)
    assert "no LLM" in ran.out


def test_ask_in_json_is_one_body(mindnet: Mindnet) -> None:
    """--json prints the reply of POST /query, with the answer in it."""
    reply = json.loads(mindnet("--json", "ask", "how is the valve opened").out)
    assert reply["answer"]["citations"] and reply["results"]


def test_ask_without_an_answer_is_exit_1(mindnet: Mindnet) -> None:
    """The notes say nothing: a sentence that says so, exit 1; an empty question is exit 2."""
    assert mindnet("ask", "quantum chromodynamics", "--path", "nowhere/**").code == 1
    assert mindnet("ask", " ").code == 2


def test_what_was_streamed_in_vain_is_said_again() -> None:
    """Where the text that holds is another one, both are told apart."""
    answer = {"text": "It is so. [1]", "source": "extractive", "model": None,
              "citations": [{"n": 1, "path": "a.md", "start_line": 3, "chunk_id": "x"}]}  # fmt: skip
    results = {"warnings": ["w"], "mode": "local", "mode_reason": "r"}
    lines = list(answer_end("It may", results, {"answer": answer, "warnings": ["w", "v"]}, Paint(False), explain=False))
    assert "What holds" in lines[1] and lines[2] == "It is so. [1]" and "[1] a.md:3" in lines
    assert lines.count("! w") == 1 and "! v" in lines
    same = list(answer_end("It is so. [1]", results, {"answer": answer}, Paint(False), explain=True))
    assert not any("What holds" in line for line in same) and "mode local (r)" in same[-1]


def test_context_is_text_for_a_prompt(daemon: Program) -> None:
    """The text alone on standard output, never over the budget; counts on standard error; nothing found: exit 1."""
    ran = run_process("context", "how is the valve opened", "--tokens", "200", "--socket", str(daemon.socket))
    assert ran.returncode == 0 and "opened by hand" in ran.stdout and "projects/Valve.md" in ran.stdout
    assert "tokens of" in ran.stderr and SECRET not in ran.stdout
    reply = json.loads(run_process("context", "valve", "--json", "--socket", str(daemon.socket)).stdout)
    assert reply["sources"] and reply["tokens"] <= 2000
    assert run_process("context", "valve", "--path", "no/**", "--socket", str(daemon.socket)).returncode == 1


def test_entities_are_listed_and_shown(mindnet: Mindnet) -> None:
    """The list by mentions; a name that one entity has shows its places; nothing hidden is there."""
    listed = mindnet("entities")
    assert listed.code == 0 and "Pump station" in listed.out and SECRET not in listed.out
    one = mindnet("entities", "pump station")
    assert one.code == 0 and "mentions" in one.out and "Pump station.md:" in one.out
    assert mindnet("entities", "no such thing").code == 1
    assert json.loads(mindnet("--json", "entities", "valve").out)["entities"]


def test_communities_are_listed_and_shown(mindnet: Mindnet) -> None:
    """The list with summaries; one by the label that stands there, with members; an unknown one is exit 1."""
    listed = mindnet("communities")
    assert listed.code == 0 and SECRET not in listed.out
    label = re.search(r"\bc_\d+_\d+\b", listed.out)
    assert label
    one = mindnet("communities", label[0])
    assert one.code == 0 and "members" in one.out and SECRET not in one.out
    wrong = mindnet("communities", "c_9_99")
    assert wrong.code == 1 and "c_9_99" in wrong.err


def test_rebuild_waits(mindnet: Mindnet) -> None:
    """The graph is made anew; --wait says when it is done."""
    ran = mindnet("rebuild", "--cold", "--wait")
    assert ran.code == 0 and "communities done" in ran.out


def test_doctor_finds_a_healthy_daemon(mindnet: Mindnet, daemon: Program) -> None:
    """Every check is there and none failed; --json has them as a list."""
    ran = mindnet("doctor")
    assert ran.code == 0 and "failed" not in ran.out
    checks = json.loads(mindnet("--json", "doctor").out)["checks"]
    names = {one["check"] for one in checks}
    assert {"socket", "version", "state", "model", "llm", "watcher", "vault", "database", "disk"} <= names
    assert all(one["fix"] for one in checks if one["state"] != "ok")
    assert str(daemon.db) in ran.out


def test_doctor_without_a_daemon(tmp_path: Path) -> None:
    """The one thing that is wrong, how to mend it, and exit 1: the answer is no, not an error."""
    ran = run_process("doctor", "--socket", str(tmp_path / "none.sock"))
    assert ran.returncode == 1 and "failed" in ran.stdout and "mindnetd run" in ran.stdout and not ran.stderr


def test_doctor_says_what_to_do(tmp_path: Path) -> None:
    """Each fault has its fix."""
    status = {"version": "0", "state": "degraded", "reason": "the vault is gone", "notes": 1, "revision": 2,
              "types": {"error": "line 3", "file": "types.yaml"}, "model": None, "vectors": {"ready": 0, "pending": 9},
              "llm": {"enabled": "on", "available": False, "model": "m", "host": "h", "error": {"message": "refused"}},
              "graph": {"last": {"error": "disk"}}, "vault": {"path": str(tmp_path / "gone")},
              "database": str(tmp_path / "db")}  # fmt: skip
    (tmp_path / "db").write_bytes(b"")
    (tmp_path / "db").chmod(0o644)
    found = [*status_findings(status, "1"), *place_findings(status, 1 << 60)]
    states = {one.check: one.state for one in found}
    assert states == {"version": "warning", "state": "failed", "types": "failed", "model": "failed", "graph": "failed",
                      "llm": "warning", "vault": "failed", "database": "warning", "disk": "warning"}  # fmt: skip
    assert all(one.fix for one in found)
    scan = {"kind": "scan", "watches": 95, "overflows": 0, "reason": "too few inotify watches"}
    assert all("max_user_watches" in one.fix for one in watch_findings(scan, 100))
    share = {**scan, "reason": "the vault is on a network file system"}
    assert "scans" in next(iter(watch_findings(share, 10_000))).fix
    (tmp_path / "s").write_bytes(b"")
    (tmp_path / "s").chmod(0o666)
    tmp_path.chmod(0o755)
    assert next(iter(socket_findings(str(tmp_path / "s")))).state == "warning"
