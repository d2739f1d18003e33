"""Links of a JSON Canvas file: its file cards, and the addresses of its link cards. A canvas is no note."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from mindnetd.core.decode import decode
from mindnetd.core.links import split_target
from mindnetd.core.records import Diagnostic, Link


def read_canvas(path: str, raw: bytes) -> tuple[tuple[Link, ...], tuple[Diagnostic, ...]]:
    """The links of the canvas at `path`, in the order of its nodes. Takes any bytes."""
    text, odd = decode(raw)
    if not text.strip():
        return (), odd
    try:
        board = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        message = f"{path} is no JSON: {getattr(error, 'msg', None) or 'nested too deeply'}"
        return (), (*odd, Diagnostic("canvas_invalid_json", message, line))
    if not isinstance(board, dict):
        return (), (*odd, Diagnostic("canvas_invalid_json", f"{path} holds no JSON object", 1))
    nodes = board.get("nodes")
    return tuple(_links(nodes if isinstance(nodes, list) else [])), odd


def _links(nodes: list[Any]) -> Iterator[Link]:
    for node in nodes:
        if not isinstance(node, dict):
            continue
        file, url = node.get("file"), node.get("url")
        if node.get("type") == "file" and isinstance(file, str) and file:
            subpath = node.get("subpath")
            _, heading, block = split_target(subpath if isinstance(subpath, str) else "")
            yield Link("canvas", file, file, heading, block)
        elif node.get("type") == "link" and isinstance(url, str) and url:
            yield Link("url", url, url)
