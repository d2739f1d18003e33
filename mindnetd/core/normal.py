"""Unicode normal forms in linear time.

``unicodedata.normalize`` puts a run of combining marks in order by insertion: a megabyte of marks in no order costs
minutes inside one call, in which no other thread of the process runs. A run that long means nothing to a reader, but a
file or a request may hold one. So long runs are put in order first, by the same rule (Unicode Standard, 3.11,
canonical ordering), and the library finds nothing left to move.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Literal
from unicodedata import combining
from unicodedata import normalize as _library

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]

LONG = 1024
"""Characters from which a text is looked at for long runs: below, insertion costs no more than anything else does."""
_LONGEST_RUN = 64
_PLANE = 0x10000


def normalize(form: Form, text: str) -> str:
    """`text` in the normal form `form`, exactly as ``unicodedata.normalize`` gives it."""
    if len(text) >= LONG and not text.isascii():
        apart: Literal["NFD", "NFKD"] = "NFKD" if "K" in form else "NFD"
        text = _runs(apart).sub(lambda run: _in_order(apart, run[0]), text)
    return _library(form, text)


def _in_order(apart: Literal["NFD", "NFKD"], run: str) -> str:
    out: list[str] = []
    marks: list[str] = []
    for char in "".join(_library(apart, char) for char in run):
        if combining(char):
            marks.append(char)
        else:
            out += (*sorted(marks, key=combining), char)
            marks.clear()
    return "".join((*out, *sorted(marks, key=combining)))


@cache
def _runs(apart: Literal["NFD", "NFKD"]) -> re.Pattern[str]:
    """Long runs of what is, taken apart, nothing but marks; of plane 1, the last with marks, of anything.

    The engine knows a set of the first plane by one look, and goes through what lies beyond one by one.
    """
    marks = "".join(chr(code) for code in range(_PLANE) if combining(_library(apart, chr(code))[0]))
    one = f"[{marks}\U00010000-\U0001ffff]"
    return re.compile(f"{one}{one}{{{_LONGEST_RUN},}}")  # led by one, the engine skips whatever is none at once
