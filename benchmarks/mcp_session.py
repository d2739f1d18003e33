"""A session of an agent: ``mindnet mcp`` over a real daemon, driven by the SDK's own client.

    python -m benchmarks.mcp_session [VAULT] [--full]

Without VAULT the demo vault, with three hidden notes added to a copy of it. Prints each call and what the agent gets
(shortened unless ``--full``), its bytes, then what is checked: every tool answered, an error says how to mend the call,
no hidden word is in any result, one ranking whatever the door. Exit code 1 if one of these does not hold.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

from benchmarks.harness import Daemon, wait_for

DEMO = Path(__file__).parent.parent / "demo"
SECRET = "quadrillionaire"
HIDDEN = {
    "private/Will.md": f"---\nvisibility: sensitive\n---\n# Will\n\nThe {SECRET} leaves it to [[John Harrison]].\n",
    "private/Draft.md": f"---\nflags: [draft]\naliases: [Longitude]\n---\n# Draft\n\nA {SECRET} longitude.\n",
    "private/Diary.md": f"---\nprivate_journal: true\n---\n# Diary\n\nMy {SECRET} longitude, see [[Longitude Act]].\n",
}
Call = tuple[str, dict[str, Any]]


def calls(ref: str, other: str) -> list[Call]:
    """What is asked, in the order in which an agent would."""
    return [
        ("mindnet_status", {}),
        ("mindnet_communities", {"limit": 4}),
        ("mindnet_query", {"text": "How was longitude found at sea before there were clocks?", "top_k": 3}),
        ("mindnet_query", {"text": "who won the longitude prize", "top_k": 3, "answer": True}),
        ("mindnet_note", {"ref": ref}),
        ("mindnet_subgraph", {"ref": ref, "depth": 1, "limit": 12}),
        ("mindnet_related", {"ref": ref, "limit": 5}),
        ("mindnet_query", {"text": "Was sind Monddistanzen?", "top_k": 2, "filters": {"lang": "de"}}),
        ("mindnet_query", {"text": f"the {SECRET} longitude", "top_k": 2}),
        ("mindnet_note", {"ref": other}),
        ("mindnet_query", {"text": "x", "filters": {"tag": ["a"]}}),
        ("mindnet_query", {"text": "x", "filters": {"visibility": ["sensitive"]}}),
    ]


async def session(socket: Path, asked: list[Call]) -> tuple[list[Any], list[Any]]:
    """The tools, and the result of every call, in one session."""
    words = ["-m", "mindnetd.client.main", "mcp", "--socket", str(socket)]
    async with Client(StdioServerParameters(command=sys.executable, args=words)) as client:
        tools = (await client.list_tools()).tools
        return tools, [await client.call_tool(name, given) for name, given in asked]


def text_of(result: Any) -> str:
    return "\n".join(block.text for block in result.content if block.type == "text")


def show(asked: list[Call], results: list[Any], most: int | None) -> None:
    """The transcript."""
    for (name, given), result in zip(asked, results, strict=True):
        structured = json.dumps(result.structured_content, ensure_ascii=False)
        print(f"\n>>> {name} {json.dumps(given, ensure_ascii=False)}")
        size = f"{len(structured.encode())} bytes structured, {len(text_of(result).encode())} of text"
        print(f"<<< {'error, ' if result.is_error else ''}{size}")
        text = text_of(result)
        print(text if most is None or len(text) <= most else text[:most].rstrip() + " [...]")


def verdicts(daemon: Daemon, asked: list[Call], results: list[Any]) -> dict[str, bool]:
    """What has to hold."""
    told = [text_of(one) + json.dumps(one.structured_content, ensure_ascii=False) for one in results]
    ranked = next(one for call, one in zip(asked, results, strict=True) if call[0] == "mindnet_query")
    text, top_k = next((given["text"], given["top_k"]) for name, given in asked if name == "mindnet_query")
    by_socket = ask(daemon, "POST", "/query", {"text": text, "top_k": top_k})

    def places(reply: Any) -> list[tuple[str, float]]:
        return [(hit["note"]["id"], hit["score"]) for hit in reply["results"]]

    failed = [bool(one.is_error) for one in results]
    return {
        "every tool answered": not any(failed[:-3]),
        "hidden, misspelt and forbidden are errors that say why": all(failed[-3:]),
        "no hidden word in any result": not any(SECRET in one.replace(f"the {SECRET} longitude", "") for one in told),
        "no hidden path in any result": not any("private/" in one for one in told[:-3]),
        "one ranking by socket and by MCP": places(by_socket) == places(ranked.structured_content) != [],
        "no result above 24,000 bytes": all(
            len(json.dumps(one.structured_content, ensure_ascii=False).encode()) <= 24_000 for one in results
        ),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vault", nargs="?", type=Path, default=DEMO)
    parser.add_argument("--full", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mcp-") as folder:
        vault = Path(shutil.copytree(args.vault, Path(folder, "vault")))
        for path, text in HIDDEN.items():
            (vault / path).parent.mkdir(exist_ok=True)
            (vault / path).write_text(text, "utf-8")
        with Daemon(vault, Path(folder)) as daemon:
            daemon.wait_ready(vectors=True)
            make_graph(daemon)
            asked = calls("John Harrison" if args.vault == DEMO else first_note(daemon), "private/Will.md")
            tools, results = asyncio.run(session(daemon.socket, asked))
            print(f"## An agent's session\n\n{len(tools)} tools: {', '.join(tool.name for tool in tools)}")
            show(asked, results, None if args.full else 900)
            held = verdicts(daemon, asked, results)
    print()
    for name, holds in held.items():
        print(f"{'ok    ' if holds else 'FAILED'} {name}")
    return 0 if all(held.values()) else 1


def ask(daemon: Daemon, method: str, target: str, body: Any = None) -> Any:
    """One call on the socket."""
    with closing(daemon.connection()) as connection:
        return connection.call(method, target, body)


def make_graph(daemon: Daemon) -> None:
    """Have entities and communities made now."""
    job = ask(daemon, "POST", "/admin/communities", {})["id"]
    wait_for(lambda: bool(ask(daemon, "GET", f"/jobs/{job}")["state"] == "done"), 120, "the graph", 0.05)


def first_note(daemon: Daemon) -> str:
    """The path of a note, to ask about."""
    return str(ask(daemon, "GET", "/notes?limit=1")["notes"][0]["path"])


if __name__ == "__main__":
    sys.exit(main())
