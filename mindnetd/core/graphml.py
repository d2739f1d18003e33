"""A graph as GraphML text (http://graphml.graphdrafting.org), piece by piece: what Gephi, yEd and networkx open."""

from __future__ import annotations

import re
from collections.abc import Mapping

Value = str | int | float | None
NODE_KEYS: tuple[tuple[str, str], ...] = (
    ("label", "string"), ("kind", "string"), ("path", "string"), ("note_id", "string"), ("type", "string"),
    ("status", "string"), ("visibility", "string"), ("tags", "string"), ("lang", "string"), ("created", "string"),
    ("modified", "string"), ("size", "long"),
)  # fmt: skip
EDGE_KEYS: tuple[tuple[str, str], ...] = (
    ("relation", "string"), ("source", "string"), ("scope", "string"), ("weight", "double"), ("occurrences", "int"),
    ("evidence", "string"), ("line", "int"),
)  # fmt: skip
TAIL = "</graph>\n</graphml>\n"
_IDS = {"node": {name: f"n{i}" for i, (name, _) in enumerate(NODE_KEYS)}}
_IDS["edge"] = {name: f"e{i}" for i, (name, _) in enumerate(EDGE_KEYS)}
# XML 1.0 has no way to write these, not even as a reference
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MARKS = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\r": "&#13;", "\n": "&#10;", "\t": "&#9;"}
)


def head() -> str:
    """Everything before the first node: the attributes with their types."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<graphml xmlns="http://graphml.graphdrafting.org/xmlns">']
    for domain, keys in (("node", NODE_KEYS), ("edge", EDGE_KEYS)):
        lines += [
            f'<key id="{_IDS[domain][name]}" for="{domain}" attr.name="{name}" attr.type="{kind}"/>'
            for name, kind in keys
        ]
    return "\n".join([*lines, '<graph id="vault" edgedefault="directed">', ""])


def node(node_id: str, values: Mapping[str, Value]) -> str:
    """One node; values of None are left out."""
    return f'<node id="{text(node_id)}">{_data("node", values)}</node>\n'


def edge(edge_id: str, src: str, dst: str, values: Mapping[str, Value]) -> str:
    """One directed edge."""
    ends = f'id="{text(edge_id)}" source="{text(src)}" target="{text(dst)}"'
    return f"<edge {ends}>{_data('edge', values)}</edge>\n"


def text(value: Value) -> str:
    """A value as XML text; a character that XML cannot carry becomes U+FFFD."""
    return _FORBIDDEN.sub("\ufffd", str(value)).translate(_MARKS)


def _data(domain: str, values: Mapping[str, Value]) -> str:
    ids = _IDS[domain]
    return "".join(
        f'<data key="{ids[name]}">{text(value)}</data>' for name, value in values.items() if value is not None
    )
