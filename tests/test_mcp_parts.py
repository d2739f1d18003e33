"""The parts of ``mindnet mcp`` that need no daemon: arguments, sizes, excerpts."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindnetd.client.mcp_calls import CALLS, Size, excerpt
from mindnetd.client.mcp_fit import MOST_BYTES, fitted, lines_of
from mindnetd.client.mcp_text import WRITERS
from mindnetd.client.mcp_tools import BY_NAME, TOOLS, ArgumentError, checked

ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def test_each_tool_has_all_its_parts() -> None:
    """What is described can be called and written."""
    assert set(BY_NAME) == set(CALLS) == set(WRITERS)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_the_example_of_each_tool_is_in_order(tool: Any) -> None:
    """The description's own example passes the check."""
    example = re.search(r"Example: (\{.*\})$", tool.description, re.S)
    assert example and checked(tool, json.loads(example[1])) == json.loads(example[1])


@given(name=st.sampled_from(sorted(BY_NAME)), arguments=st.dictionaries(st.text(max_size=8), ANY, max_size=4))
def test_arguments_are_taken_or_refused_in_one_line(name: str, arguments: dict[str, Any]) -> None:
    """Whatever comes, no other error than that of an argument, and a message that is one short line."""
    try:
        taken = checked(BY_NAME[name], arguments)
    except ArgumentError as error:
        assert len(str(error)) < 500 and "\n" not in str(error).split(":", 1)[-1].replace(repr("\n"), "")
    else:
        assert set(taken) <= set(BY_NAME[name].properties)


def test_null_is_left_out_at_any_depth() -> None:
    """Agents send null for what they do not want."""
    given_ = {"text": "x", "top_k": None, "filters": {"lang": None, "modified": {"from": None, "to": "2024-01-01"}}}
    assert checked(BY_NAME["mindnet_query"], given_) == {"text": "x", "filters": {"modified": {"to": "2024-01-01"}}}


@given(
    texts=st.lists(st.text(max_size=3000), max_size=30),
    keys=st.dictionaries(st.text(max_size=30), st.text(max_size=3000), max_size=300),
)
def test_every_result_fits(texts: list[str], keys: dict[str, str]) -> None:
    """However large the reply, both forms keep under the cap, and are UTF-8 that a terminal survives."""
    odd = {"items": [{"text": text, "id": text} for text in texts] * 20, "keys": {"\ud800": "\ud800", **keys}}

    def write(result: dict[str, Any]) -> str:
        return lines_of(iter([json.dumps(result, ensure_ascii=False)]))

    done = fitted(lambda size: {**odd, "size": size.items}, write)
    assert len(json.dumps(done.structured, ensure_ascii=False).encode()) <= MOST_BYTES
    assert len(done.text.encode()) <= MOST_BYTES


@given(text=st.text(max_size=2000), at=st.integers(0, 2000), chars=st.sampled_from([60, 160, 700]))
def test_an_excerpt_holds_the_place_that_fits(text: str, at: int, chars: int) -> None:
    """At most so many characters; uncut text is whole; the snippet's beginning is in it."""
    snippet = text[at : at + 20]
    shown, cut = excerpt(text, snippet, chars)
    assert len(shown) <= chars + 2
    assert cut or shown == text.strip("\n")
    start = snippet.strip().split()[:1]
    if start and len(start[0]) < chars // 4 and text.find(snippet) == at:
        assert start[0] in shown


def test_sizes_only_shrink() -> None:
    """A smaller size is smaller in both ways."""
    assert Size(1, 2) == (1, 2)
    sizes = __import__("mindnetd.client.mcp_fit", fromlist=["SIZES"]).SIZES
    assert list(sizes) == sorted(sizes, reverse=True)
