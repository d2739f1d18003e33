"""Where sentences end. Rules, not a model: the same text is always cut at the same places.

Not for linguistics: a missed end costs a longer piece, a wrong one a shorter piece, and neither loses text.
"""

from __future__ import annotations

import re

_END = re.compile(
    r"""(?:
        # Latin, Arabic, Devanagari; a run of marks is looked at from its first one only, which keeps "!!!!" linear
        (?<![.!?\u2026\u061f\u0964\u0965]) [.!?\u2026\u061f\u0964\u0965]++ ["'\u2019\u201c\u201d\u00bb)\]*_]*+ (?=\s)
      | [\u3002\uff01\uff1f\uff0e]+ [\u300d\u300f\uff09\u201d]*                    # Chinese, Japanese: no space
      | \n[ \t]*(?=\n|[-*+>|\#]|\d+[.)]\s)                                           # a new line that starts something
    )\s*""",
    re.VERBOSE,
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[])(?:[A-Za-zÄÖÜ]|z\.\s?B|d\.\s?h|u\.\s?a|o\.\s?ä|e\.g|i\.e|etc|usw|bzw|vgl|ca|Nr|Abb|Dr|Prof|Mr|Mrs|Ms|St|vs|"
    r"cf|approx|Fig|No|Vol|pp|ff|sog|inkl|ggf|evtl|\d{1,2})\.$"
)
_LOOK_BACK = 12
_PRINTED = re.compile(r"\S")


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return the spans of the sentences of `text`. They tile it; white space belongs to the sentence before it.

    A sentence never ends in white space alone, and text without an end mark is one sentence. Line breaks end one only
    where the next line starts a list item, a quote, a table row or a heading, or is blank.
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _END.finditer(text):
        end = match.end()
        if end >= len(text) or _PRINTED.search(text, start, end) is None:
            continue
        if match[0][0] == "." and _ABBREVIATION.search(text, max(0, match.start() - _LOOK_BACK), match.start() + 1):
            continue
        spans.append((start, end))
        start = end
    if start < len(text):
        spans.append((start, len(text)))
    return spans
