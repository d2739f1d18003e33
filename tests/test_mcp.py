"""``mindnet mcp`` over a real daemon, with the SDK's own client (must show 8, demand 17)."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from client_make import run_process
from mcp import Client, MCPError
from mcp_make import HIDDEN, SECRET, SHOWN, call, everything, session, talk, text_of, write_vault
from program import Program, program

from mindnetd.client.mcp_fit import MOST_BYTES
from mindnetd.client.mcp_tools import BY_NAME, TOOLS

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("mindnet_status", {}),
    ("mindnet_query", {"text": "how is the valve opened"}),
    ("mindnet_query", {"text": f"the {SECRET} pump", "explain": True}),
    ("mindnet_query", {"text": SECRET, "answer": True}),
    ("mindnet_query", {"text": "Valve", "lanes": ["title"]}),
    ("mindnet_query", {"text": "what is this vault about", "mode": "global", "answer": True}),
    ("mindnet_query", {"text": "how do pump and valve connect", "mode": "drift"}),
    ("mindnet_query", {"text": "pump", "top_k": 100, "filters": {"tags": ["water"], "paths": ["**"]}}),
    ("mindnet_note", {"ref": "Pump station"}),
    ("mindnet_note", {"ref": "Ventil"}),
    ("mindnet_note", {"ref": "Secret plan"}),
    ("mindnet_note", {"ref": "Twin"}),
    ("mindnet_note", {"ref": "hub"}),
    ("mindnet_subgraph", {"ref": "pump", "depth": 4, "limit": 200}),
    ("mindnet_subgraph", {"ref": "hub", "depth": 1}),
    ("mindnet_subgraph", {"ref": "Valve", "relation": ["depends_on", "related_to"]}),
    ("mindnet_related", {"ref": "Pump station"}),
    ("mindnet_related", {"ref": "a/Twin.md", "limit": 100}),
    ("mindnet_communities", {}),
    ("mindnet_communities", {"level": 0, "limit": 3}),
]
WORDS = {
    "水泵": "zh/水泵.md",
    "ポンプ": "ja/庭.md",
    "клапан": "ru/Насос.md",
    "पंप": "hi/पंप.md",
    "วาล์ว": "th/สวน.md",
    "Ölkühler": "de/Ölkühler 🛢.md",
}


def ready(daemon: Program) -> None:
    """Every vector is there, and the entity graph is made."""
    daemon.settled()
    assert daemon.job("/admin/communities")["state"] == "done"


@pytest.fixture(scope="module")
def daemons(tmp_path_factory: pytest.TempPathFactory, model_cache: Path) -> Iterator[tuple[Program, Program]]:
    """A daemon over a vault with hidden notes, and one over the same vault without them."""
    home = tmp_path_factory.mktemp("mcp")
    with (
        program(home / "a", write_vault(home / "a/vault", SHOWN, HIDDEN), model_cache) as whole,
        program(home / "b", write_vault(home / "b/vault", SHOWN), model_cache) as without,
    ):
        ready(whole)
        ready(without)
        yield whole, without


@pytest.fixture(scope="module")
def daemon(daemons: tuple[Program, Program]) -> Program:
    """The one with hidden notes."""
    return daemons[0]


def test_tools_say_what_they_are(daemon: Program) -> None:
    """All six, read only, with descriptions that say when and when not, and a short example that is in order."""

    async def work(client: Client) -> Any:
        assert client.instructions and "mindnet_query" in client.instructions
        return (await client.list_tools()).tools

    tools = talk(daemon.socket, work)
    assert [tool.name for tool in tools] == [tool.name for tool in TOOLS]
    for tool in tools:
        assert tool.annotations.read_only_hint and not tool.annotations.destructive_hint
        assert "For " in tool.description or "Use it" in tool.description or "first tool" in tool.description
        assert "Not for:" in tool.description and "Example: {" in tool.description
        assert tool.input_schema["additionalProperties"] is False
    assert sum(len(json.dumps(t.model_dump(by_alias=True, exclude_none=True))) for t in tools) < 13_000


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_every_tool_answers_small(daemon: Program, mode: str) -> None:
    """Both eras of the protocol: each call has text and structured content (which the client checks), both small."""

    async def work(client: Client) -> list[Any]:
        return [await client.call_tool(name, given) for name, given in CALLS]

    for (name, given), result in zip(CALLS, talk(daemon.socket, work, mode=mode), strict=True):
        expected = given.get("ref") in ("Secret plan", "Twin")
        assert result.is_error == expected, (name, given, text_of(result))
        assert text_of(result) and isinstance(result.structured_content, dict)
        assert len(text_of(result).encode()) <= MOST_BYTES
        assert len(json.dumps(result.structured_content, ensure_ascii=False).encode()) <= MOST_BYTES


OWN = ("query_id", "revision", "vault", "built_at", "updated", "queue", "next_try_s")


def comparable(result: Any) -> Any:
    """A result without what is the process's own."""
    if isinstance(result, dict):
        return {key: comparable(value) for key, value in result.items() if key not in OWN}
    if isinstance(result, list):
        return [comparable(one) for one in result]
    return round(result, 6) if isinstance(result, float) else result


def test_a_hidden_note_appears_nowhere(daemons: tuple[Program, Program]) -> None:
    """Every answer is that of a vault without the hidden notes: no name, word, count, edge, score or rank of them."""

    async def work(client: Client) -> list[Any]:
        return [await client.call_tool(name, given) for name, given in CALLS]

    asked = [talk(one.socket, work) for one in daemons]
    for (name, given), whole, without in zip(CALLS, *asked, strict=True):
        told = everything(whole).replace(json.dumps(given), "")
        assert SECRET not in told or SECRET in json.dumps(given), (name, given)
        assert not any(word in told for word in ("hidden/", "c/Twin", "Diary", "Cosmic")), (name, given)
        assert comparable(whole.structured_content) == comparable(without.structured_content), (name, given)


def test_asking_for_more_is_refused(daemon: Program) -> None:
    """Above the daemon's maximum, and above what the user lets agents see."""
    for name, given in (
        ("mindnet_query", {"text": "pump", "filters": {"visibility": ["sensitive"]}}),
        ("mindnet_note", {"ref": "Secret plan", "visibility": ["sensitive"]}),
        ("mindnet_status", {"visibility": ["sensitive"]}),
    ):
        result = call(daemon.socket, name, given)
        assert result.is_error and result.structured_content["error"]["code"] == "visibility_denied"
        assert SECRET not in everything(result)

    async def narrow(client: Client) -> list[Any]:
        return [
            await client.call_tool("mindnet_query", {"text": "pump"}),
            await client.call_tool("mindnet_note", {"ref": "Pump station"}),
            await client.call_tool("mindnet_query", {"text": "pump", "filters": {"visibility": ["internal"]}}),
            await client.call_tool("mindnet_related", {"ref": "hub", "visibility": ["internal"]}),
        ]

    query, note, *denied = talk(daemon.socket, narrow, "--visibility", "public")
    assert query.structured_content["results"] == []  # every note of this vault is internal
    assert note.is_error and note.structured_content["error"]["code"] == "note_not_found"
    assert all(one.is_error and "visibility" in text_of(one) for one in denied)


def test_one_ranking_whatever_the_door(daemon: Program) -> None:
    """Socket, command and MCP give the same notes in the same order with the same scores (demand 17)."""
    texts = ["how is the valve opened", "pump", "水泵", "клапан", "Twin", "Ölkühler prüfen"]

    def ranking(reply: Any) -> list[tuple[str, int, float]]:
        return [(hit["note"]["id"], (hit["chunk"] or {}).get("idx"), hit["score"]) for hit in reply["results"]]

    async def work(client: Client) -> list[Any]:
        given = [{"text": text, "top_k": 20} for text in texts]
        return [(await client.call_tool("mindnet_query", one)).structured_content for one in given]

    for text, by_tool in zip(texts, talk(daemon.socket, work), strict=True):
        by_socket = daemon.post("/query", {"text": text, "top_k": 20})
        ran = run_process("query", text, "-k", "20", "--json", "--socket", str(daemon.socket))
        assert ranking(by_socket) == ranking(json.loads(ran.stdout)) == ranking(by_tool) != []
        assert [hit["rank"] for hit in by_tool["results"]] == list(range(1, len(by_tool["results"]) + 1))


def test_an_ambiguous_name_lists_its_notes(daemon: Program) -> None:
    """The error says which notes are meant; one of their paths works."""

    async def work(client: Client) -> list[Any]:
        tools = ("mindnet_note", "mindnet_subgraph", "mindnet_related")
        return [await client.call_tool(name, {"ref": "Twin"}) for name in tools]

    for result in talk(daemon.socket, work):
        assert result.is_error and result.structured_content["error"]["code"] == "ambiguous"
        assert "a/Twin.md" in text_of(result) and "b/Twin.md" in text_of(result) and "c/" not in everything(result)
    assert not call(daemon.socket, "mindnet_note", {"ref": "b/Twin.md"}).is_error


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("mindnet_query", {}, "text: is missing"),
    ("mindnet_query", {"text": "  "}, "text: must not be empty"),
    ("mindnet_query", {"txet": "x"}, "perhaps text was meant"),
    ("mindnet_query", {"text": "x", "top_k": "many"}, "top_k: must be a whole number"),
    ("mindnet_query", {"text": "x", "top_k": 0}, "top_k: must be 1 to 100"),
    ("mindnet_query", {"text": "x", "mode": "both"}, "auto, local, global, drift"),
    ("mindnet_query", {"text": "x", "filters": {"tag": ["a"]}}, "filters.tag: no such argument; perhaps tags"),
    ("mindnet_query", {"text": "x", "filters": {"paths": "a/**"}}, "filters.paths: must be a list"),
    ("mindnet_query", {"text": "x", "filters": {"modified": {"from": "soon"}}}, "not a date"),
    ("mindnet_note", {"ref": "Pump station", "start_line": 0}, "start_line: must be 1"),
    ("mindnet_note", {"ref": "nowhere"}, "no note answers to 'nowhere'"),
    ("mindnet_subgraph", {"ref": "Pump station", "depth": 9}, "depth: must be 1 to 4"),
    ("mindnet_communities", {"id": "c_9_99"}, "c_9_99"),
    ("mindnet_status", {"x": 1}, "x: no such argument"),
]


def test_wrong_arguments_say_what_is_right(daemon: Program) -> None:
    """A result that is an error, for the agent to mend its call by."""

    async def work(client: Client) -> list[Any]:
        return [await client.call_tool(name, given) for name, given, _ in WRONG]

    for (name, given, told), result in zip(WRONG, talk(daemon.socket, work), strict=True):
        assert result.is_error and told in text_of(result), (name, given, text_of(result))
        assert result.structured_content["error"]["message"]


def test_an_unknown_tool_is_an_error_of_the_protocol(daemon: Program) -> None:
    """It names those that there are."""

    async def work(client: Client) -> None:
        with pytest.raises(MCPError, match="mindnet_query"):
            await client.call_tool("mindnet_delete")

    talk(daemon.socket, work)


def test_a_long_note_is_read_in_parts(daemon: Program) -> None:
    """Parts joined are the note's own lines; a line number is the file's."""

    async def read(client: Client, ref: str) -> tuple[str, int]:
        parts, line, calls = [], 1, 0
        while line:
            result = (await client.call_tool("mindnet_note", {"ref": ref, "start_line": line})).structured_content
            assert len(json.dumps(result).encode()) < 2 * MOST_BYTES
            parts.append(result["text"])
            line, calls = result["next_start_line"], calls + 1
        return "\n".join(parts), calls

    text, calls = talk(daemon.socket, lambda client: read(client, "long.md"))
    assert text.strip() == SHOWN["long.md"].strip() and calls > 1
    at = call(daemon.socket, "mindnet_note", {"ref": "long.md", "start_line": 503}).structured_content
    assert at["text"].startswith("Line 500 of") and at["start_line"] == 503
    beyond = call(daemon.socket, "mindnet_note", {"ref": "long.md", "start_line": 99_999}).structured_content
    assert beyond["text"] == "" and beyond["next_start_line"] is None
    one, _ = talk(daemon.socket, lambda client: read(client, "oneline.md"))
    assert "pump pump" in one and "…\n" in one and one.endswith("The end.")  # a line that is too long is cut


def test_odd_names_and_scripts(daemon: Program) -> None:
    """Every note can be opened by its path; a line that a result names is the line of the words."""

    async def work(client: Client) -> None:
        for path, text in SHOWN.items():
            if path.startswith("leaves/"):
                continue
            result = await client.call_tool("mindnet_note", {"ref": path})
            assert not result.is_error and result.structured_content["note"]["path"] == path
            assert all(c.isprintable() or c in "\n\t" for c in text_of(result))
            title = next(line for line in text.splitlines() if line.startswith("# "))
            assert path in ("keys.md", "odd.md") or title in text_of(result)
        for words, path in WORDS.items():
            hit = (await client.call_tool("mindnet_query", {"text": words})).structured_content["results"][0]
            assert hit["note"]["path"] == path
            assert words in SHOWN[path].split("\n")[hit["chunk"]["line"] - 1]

    talk(daemon.socket, work)


def test_two_sessions_at_once(daemon: Program) -> None:
    """Calls of two agents, many at a time in each, are answered each by its own result."""
    texts = ["pump", "valve", "garden", "solar panel"] * 4

    async def ask(client: Client) -> list[str]:
        results = await asyncio.gather(*(client.call_tool("mindnet_query", {"text": text}) for text in texts))
        return [result.structured_content["results"][0]["note"]["path"] for result in results]

    async def run() -> list[list[str]]:
        async with session(daemon.socket) as one, session(daemon.socket) as other:
            return await asyncio.gather(ask(one), ask(other))

    one, other = asyncio.run(run())
    assert one == other == [daemon.query(text)[0] for text in texts]


def test_the_daemon_may_go_and_come(tmp_path: Path, model_cache: Path) -> None:
    """A session that begins without a daemon says so, and works as soon as there is one; after a restart too."""
    vault = write_vault(tmp_path / "home/vault", {"a.md": "# A\n\nA pump.\n"})
    daemon = Program(tmp_path / "home", vault, model_cache)

    async def work(client: Client) -> None:
        async def state() -> str:
            result = await client.call_tool("mindnet_status")
            assert not result.is_error or "mindnetd run" in text_of(result) or "broke off" in text_of(result)
            return str(result.structured_content.get("state") or result.structured_content["error"]["code"])

        assert await state() == "daemon_unreachable"
        for _ in range(2):
            await asyncio.to_thread(daemon.start)
            await asyncio.to_thread(daemon.settled, vectors=False)
            assert await state() == "ready"
            await asyncio.to_thread(daemon.stop)
            assert await state() == "daemon_unreachable"

    try:
        talk(daemon.socket, work)
    finally:
        if daemon.process is not None and daemon.process.poll() is None:
            daemon.kill()


def test_a_cancelled_call_ends_at_the_daemon(tmp_path: Path) -> None:
    """When the agent gives up, the connection to the daemon closes; the session goes on."""
    path = tmp_path / "s.sock"
    ended, listening = threading.Event(), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with listening:
        listening.bind(str(path))
        listening.listen()
        listening.settimeout(30)

        def never_answer() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.settimeout(30)
                while connection.recv(65536):
                    pass
                ended.set()

        thread = threading.Thread(target=never_answer)
        thread.start()

        async def work(client: Client) -> list[str]:
            with pytest.raises(MCPError):
                await client.call_tool("mindnet_query", {"text": "x"}, read_timeout_seconds=0.3)
            assert await asyncio.to_thread(ended.wait, 20), "the daemon still works for a call that nobody waits for"
            return [tool.name for tool in (await client.list_tools()).tools]

        assert talk(path, work) == list(BY_NAME)
        thread.join(20)


def test_only_the_protocol_is_on_standard_output(daemon: Program) -> None:
    """Whatever comes in, every line that goes out is a message; the end of the input ends the process with 0."""
    first = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "old", "version": "0"}}
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": first}),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        "no json at all \udcff",
        json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
        json.dumps({"jsonrpc": "2.0", "id": 3, "method": "nothing/known"}),
    ]
    command = [sys.executable, "-m", "mindnetd.client.main", "mcp", "--socket", str(daemon.socket)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        process.stdin.write("".join(line + "\n" for line in lines).encode("utf-8", "surrogateescape"))
        process.stdin.flush()
        answers = {}
        while not {1, 2, 3} <= answers.keys():
            message = json.loads(process.stdout.readline())
            answers[message.get("id")] = message
        process.stdin.close()
        assert process.stdout.read() == b"" and process.wait(20) == 0
        assert b"Traceback" not in process.stderr.read()
    assert answers[1]["result"]["serverInfo"]["name"] == "mindnet"
    assert len(answers[2]["result"]["tools"]) == len(TOOLS) and "error" in answers[3]
