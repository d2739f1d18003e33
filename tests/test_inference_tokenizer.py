"""The pinned tokenizer and its counter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from mindnetd.errors import ModelError
from mindnetd.inference.tokenizer import PinnedCounter, _Sizes, load_tokenizer, open_tokenizer

COUNTER = PinnedCounter()
TOKENIZER = load_tokenizer()
ODD = [
    "\x0b",
    "\x0c",
    "\x1c",
    "\x1f",
    "\x85",
    "\xa0",
    "\u200b",
    "\u2028",
    "\u3000",
    "e\u0301",
    "[SEP]",
    "[MASK] ",
    "漢字",
    "😀",
]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(st.text(), st.lists(st.sampled_from([*ODD, "word", " ", "\n"])).map("".join)), max_size=4))
def test_count_equals_the_tokenizer(texts: list[str]) -> None:
    """Counting word by word gives what encoding the whole text gives, for any text."""
    expected = [len(e.ids) for e in TOKENIZER.encode_batch_fast(texts, add_special_tokens=False)]
    assert COUNTER.count(texts) == expected


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=300))
def test_spans_are_the_tokenizers(text: str) -> None:
    """Spans are the tokenizer's own code-point offsets for a text without giant words."""
    assert COUNTER.spans(text) == list(TOKENIZER.encode(text, add_special_tokens=False).offsets)


def test_nothing_is_cut_or_padded() -> None:
    """The 128 of the file is off: a long text keeps all its tokens, a short one gets no padding."""
    assert COUNTER.count(["word " * 1000, "hi", ""]) == [1000, 1, 0]


def test_golden_token_counts(shared: Path) -> None:
    """Token counts equal the reference's (with both special tokens)."""
    items = json.loads((shared / "golden" / "minilm_reference.json").read_text())["items"]
    assert [n + 2 for n in COUNTER.count([item["text"] for item in items])] == [item["tokens"] for item in items]


def test_special_tokens_in_a_note_stay_text() -> None:
    """A literal [SEP] in a note is three tokens of text, never the separator."""
    tokens = TOKENIZER.encode("a [SEP] b").tokens
    assert tokens.count("[SEP]") == 1
    assert "sep" in tokens


def test_giant_words_and_texts_count() -> None:
    """A word of 50,000 letters is one unknown token; a text of a million words is summed."""
    assert COUNTER.count(["x" * 50_000, "ab " * 1_000_000]) == [1, 1_000_000]


def test_no_call_of_the_library_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """While it encodes no other thread runs, so a word without end goes in by pieces; ideographs still add up."""
    longest = 0
    counter = PinnedCounter()
    encode = counter._tokenizer.encode

    class Watched:
        def encode(self, text: str, *, add_special_tokens: bool) -> object:
            nonlocal longest
            longest = max(longest, len(text))
            return encode(text, add_special_tokens=add_special_tokens)

    monkeypatch.setattr(counter, "_size_of", _Sizes(cast(Tokenizer, Watched())).__getitem__)
    assert counter.count(["\u6f22" * 100_000, "x" * 100_000, "[" * 100_000]) == [100_000, 1, 100_000]
    assert counter.count(["\u3042" * 100_000])[0] >= 1
    assert 0 < longest <= 1 << 15


def test_junk_is_refused_by_name() -> None:
    """Bytes that are no tokenizer give one clear error."""
    with pytest.raises(ModelError, match=r"here\.json is not a usable tokenizer"):
        open_tokenizer(b"{}", "here.json")
