"""For tests of ``mindnet mcp``: vaults with and without hidden notes, and sessions of the SDK's own client."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult

T = TypeVar("T")
DAY = 1_700_000_000
SECRET = "xylophage"
"""A word that stands in hidden notes only."""

SHOWN: dict[str, str] = {
    "Pump station.md": '---\ntype: project\nid: pump\ndepends_on: "[[Valve]]"\ntags: [water/supply]\n---\n'
    "# Pump station\n\nThe pump station feeds the garden. It needs the [[Valve]] and the [[Secret plan]].\n\n"
    "## Power\n\nA solar panel.\n",
    "projects/Valve.md": "---\ntype: concept\naliases: [Ventil]\n---\n# Valve\n\n"
    "The valve is opened by hand, clockwise.\nSee [[Pump station]] and [[Missing note]].\n",
    "a/Twin.md": "# Twin\n\nThe first of two notes with one name. The pump hums.\n",
    "b/Twin.md": "# Twin\n\nThe second of two notes with one name. The valve sticks.\n",
    "zh/水泵.md": "# 水泵\n\n水泵为花园供水。阀门用手打开。[[Valve]]\n",
    "ja/庭.md": "# 庭\n\n庭にはポンプと弁があります。毎朝、水をやります。\n",
    "ru/Насос.md": "# Насос\n\nНасос подаёт воду в сад, клапан открывают рукой.\n",
    "th/สวน.md": "# สวน\n\nสวนมีปั๊มน้ำและวาล์ว เปิดด้วยมือ\n",
    "hi/पंप.md": "# पंप\n\nपंप बगीचे को पानी देता है।\n",
    "de/Ölkühler 🛢.md": "# Ölkühler\n\nDer Ölkühler der Pumpe wird im Frühjahr geprüft, das Ventil im Herbst.\n",
    "odd.md": "# Odd \x1b[31m red\n\nA bell \x07, a tab\t, a null? and \u202e turned text. A pump.\n",
    "long.md": "# Long\n\n" + "".join(f"Line {n} of a long note about the pump and its valve.\n" for n in range(1200)),
    "oneline.md": "# One line\n\n" + "pump " * 9000 + "\n\nThe end.\n",
    "keys.md": "---\n"
    + "".join(f"key{n}: {'v' * 60} {n}\n" for n in range(900))
    + "---\n# Keys\n\nA pump with keys.\n",
    "hub.md": "# Hub\n\n" + "".join(f"- [[leaf {n}]] is a part of the pump\n" for n in range(150)),
    **{f"leaves/leaf {n}.md": f"# leaf {n}\n\nPart {n} of the pump station.\n" for n in range(60)},
}

HIDDEN: dict[str, str] = {
    "Secret plan.md": "---\nvisibility: sensitive\ntags: [water/supply]\n---\n# Secret plan\n\n"
    f"The {SECRET} pump. [[Valve]]\n",
    "hidden/Valve two.md": "---\nflags: [draft]\naliases: [Ventil, Valve]\n---\n# Valve\n\n"
    f"A {SECRET} valve, see [[Pump station]].\n",
    "hidden/diary.md": '---\nprivate_journal: true\nrelated_to: "[[Pump station]]"\n---\n# Diary\n\n'
    f"I hate the {SECRET} pump.\n",
    "hidden/review.md": f"---\nneeds_review: true\n---\n# Review\n\n{SECRET} valve valve valve pump [[a/Twin]].\n",
    "hidden/odd level.md": f"---\nvisibility: cosmic\n---\n# Cosmic\n\nThe {SECRET} garden pump [[hub]].\n",
    "c/Twin.md": f"---\nvisibility: sensitive\n---\n# Twin\n\nA third {SECRET} one.\n",
}


def write_vault(folder: Path, *groups: dict[str, str]) -> Path:
    """The notes of ``groups`` as files, all of one date: vaults that share notes give equal answers about them."""
    for notes in groups:
        for path, text in notes.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
            os.utime(file, (DAY, DAY))
    return folder


@asynccontextmanager
async def session(socket: Path, *args: str, mode: str = "auto") -> AsyncIterator[Client]:
    """The SDK's client, talking to ``mindnet mcp`` as a process."""
    words = ["-m", "mindnetd.client.main", "mcp", "--socket", str(socket), *args]
    async with Client(StdioServerParameters(command=sys.executable, args=words), mode=mode) as client:
        yield client


def talk(socket: Path, work: Callable[[Client], Awaitable[T]], *args: str, mode: str = "auto") -> T:
    """What ``work`` returns, given a session."""

    async def run() -> T:
        async with session(socket, *args, mode=mode) as client:
            return await work(client)

    return asyncio.run(run())


def call(socket: Path, name: str, arguments: dict[str, Any] | None = None, *args: str) -> CallToolResult:
    """One call of a tool in a session of its own."""
    return talk(socket, lambda client: client.call_tool(name, arguments or {}), *args)


def text_of(result: CallToolResult) -> str:
    """The readable text of a result."""
    return "\n".join(block.text for block in result.content if block.type == "text")


def everything(result: CallToolResult) -> str:
    """All that an agent gets."""
    return text_of(result) + json.dumps(result.structured_content, ensure_ascii=False)
