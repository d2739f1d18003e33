"""Normal forms are those of the library, and long runs of marks in no order do not stop the process."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindnetd.core.normal import LONG, Form, normalize

FORMS: tuple[Form, ...] = ("NFC", "NFD", "NFKC", "NFKD")
MARKS = "\u0301\u0323\u0344\u0345\u0f73\u0f71\u3099\uff9e\u093c\u05b0\U0001d165\U0001e8d0"
OTHERS = "ae\u00e9\u1e9b\u00b4\u304b\u1100\u1161\u11a8\ufdfa\u2126\U0001d15e\U0001f600 \n"
TEXTS = st.lists(st.text(st.sampled_from(MARKS * 6 + OTHERS), max_size=400), min_size=1, max_size=4)


@given(TEXTS, st.sampled_from(FORMS))
def test_forms_are_those_of_the_library(parts: list[str], form: Form) -> None:
    """Whatever the order of marks, of their kinds and of what stands between them."""
    text = "".join(parts) * 3 + "\u0323\u0301" * LONG + parts[0]
    assert normalize(form, text) == unicodedata.normalize(form, text)


@pytest.mark.parametrize("form", FORMS)
def test_a_megabyte_of_marks_in_no_order(form: Form) -> None:
    """They come out in order; by insertion, as the library does it, this would take minutes."""
    count = 300_000
    assert normalize(form, "x" + "\u0301\u0323" * count) == (
        f"x{chr(0x323) * count}{chr(0x301) * count}"
        if form.endswith("D")
        else f"{unicodedata.normalize(form, 'x' + chr(0x323))}{chr(0x323) * (count - 1)}{chr(0x301) * count}"
    )
