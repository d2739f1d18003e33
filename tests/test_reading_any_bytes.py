"""Reading takes any bytes: it never raises, keeps its shape, is deterministic, and stays linear."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reading import check_shape, documented_codes

from mindnetd.core.canvas import read_canvas
from mindnetd.core.derive import DeriveOptions, derive
from mindnetd.core.note import ReadOptions, read_note
from mindnetd.inference.tokenizer import PinnedCounter

COUNTER = PinnedCounter()
MARKS = """
[[ ]] [ ] ( ) ! | # ^id %% $$ $ ` `` ``` ~~~ <!-- --> <div> > - 1. --- === a é \\ :: k::v ]( ](<a %20 &amp; : ' " *
@ {{x}}
"""
PIECE = st.sampled_from(
    (
        *MARKS.split(),
        *("\n", "\n\n", "    ", "\t", "> ", "- ", "# ", "\n---\n", "\r", "\r\n", "\0", "\ufeff", "\u00a0", "\u2028"),
        *("tags: [a]\n", "a: *x\n", "| a |\n|---|\n", "## Text Elements\n", "[^1]: "),
        "data:image/png;base64," + "A" * 300,
    )
)
TEXT = st.lists(PIECE, max_size=40).map("".join)
JSON = st.recursive(
    st.none() | st.text(max_size=3) | st.integers(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["nodes", "type", "file", "url", "subpath"]), inner)
    ),
    max_leaves=8,
)
BYTES = st.one_of(
    st.binary(max_size=200),
    TEXT.map(str.encode),
    TEXT.map(lambda text: f"---\n{text}\n---\n{text}".encode()),
    st.tuples(TEXT, st.binary(max_size=4), TEXT).map(lambda t: t[0].encode() + t[1] + t[2].encode()),
)


@given(BYTES, st.sampled_from(["N.md", "N.excalidraw.md", "2024-01-01_x.md"]), st.sampled_from(["canonical", "none"]))
def test_any_bytes(raw: bytes, path: str, normalize: str) -> None:
    """Any bytes make a note of the right shape, the same each time."""
    options = ReadOptions(normalize="none" if normalize == "none" else "canonical")
    read = read_note(path, raw, options)
    check_shape(read)
    assert read == read_note(path, raw, options)
    assert {one.code for one in read.diagnostics} <= documented_codes()


@given(st.one_of(st.binary(max_size=100), JSON.map(json.dumps).map(str.encode)))
def test_any_canvas(raw: bytes) -> None:
    """Any bytes are a canvas, if an empty or broken one."""
    read_canvas("b.canvas", raw)


HOSTILE = (
    *("[[", "[a](", "](", "[[a [b ", "`", "` ``", "``` x\n\n", "$a ", "$$\n", "%%\n\n", "%% a\n", "<!--", "<!--\n"),
    *("<div>\n", "> ", "> ```\n", "- ", "- a\n", "  - a\n", "    a\n", "a", "#a ", "(a:: ", "(a:: b [c:: d ", "\\"),
    *("|---|\n", "a | b\n--- | ---\n", 'x](x "', "](<a", "[![a](b)](c)", "data:a/b;", "- - ", "\n", "\t"),
    *("a\n> b\n\n", "[[a|b]]", "((", "[^1]: \n\n", "^a\n", "\r", "A" * 255 + " ", "![ [a](b)"),
    *("!", "…", "。", "1. ", "A. ", "@[[", "$a$[", "$a$](", "` ", "<a ", "@aB", "A_", "é", "中", "<b><!--", "--><!--"),
    *("%% a", "> - ", "\u0323\u0301", "\u0301\uff9e", "\u2028", "`c` "),
)


@pytest.mark.nightly
@pytest.mark.parametrize("around", ["{}", "x {} y\n\nend\n"])
@pytest.mark.parametrize("token", HOSTILE)
def test_linear(token: str, around: str) -> None:
    """One token repeated to 240 kB costs about four times what 60 kB cost, far from sixteen times."""
    # A busy machine or a garbage collection may spoil one measurement, not three.
    ratios = (_cost(token, around, 240_000) / max(_cost(token, around, 60_000), 0.01) for _ in range(3))
    assert any(ratio < 9 for ratio in ratios)


def _cost(token: str, around: str, size: int) -> float:
    raw = around.format(token * (size // len(token))).encode()
    began = time.process_time()
    derive("N.md", raw, DeriveOptions(), COUNTER)
    return time.process_time() - began


@pytest.mark.parametrize("blank", ["\u2028", "\u00a0", "\u3000"])
def test_a_chunk_may_end_or_begin_in_blanks_alone(blank: str) -> None:
    """White space that is not trimmed fills the part of a chunk that its neighbour would see: the note is cut."""
    blanks = f"word {blank * 9_000}word\n\n"
    draft = derive("N.md", (blanks * 4).encode(), DeriveOptions(), COUNTER)
    assert len(draft.chunked.chunks) > 2
    assert "".join(chunk.text for chunk in draft.chunked.chunks) == draft.note.body


def test_words_of_many_names_are_linear() -> None:
    """Names of a note are indexed with each of its chunks, up to a limit: fifty thousand tags are no billion terms."""
    tags = " ".join(f"#tag{number}" for number in range(3_000))
    draft = derive("N.md", f"{tags}\n\n{'word ' * 3_000}\n".encode(), DeriveOptions(), COUNTER)
    assert len(draft.note.tags) == 3_000
    for _, counts in draft.words:
        assert sum(counts.counts["tags"].values()) < 2_500
        assert counts.counts["tags"].keys() >= {"tag0"}
