"""Where an HTML block of CommonMark begins and ends (its seven start conditions)."""

from __future__ import annotations

import re
from collections.abc import Sequence

_RAW = re.compile(r"<(script|pre|style|textarea)(?=[\s>]|$)", re.IGNORECASE)
_RAW_END = re.compile(r"</(?:script|pre|style|textarea)>", re.IGNORECASE)
_BLOCK_TAG = re.compile(
    r"</?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl"
    r"|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main"
    r"|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title"
    r"|tr|track|ul)(?=[\s/>]|$)",
    re.IGNORECASE,
)
_ATTRIBUTE = r"""\s+[A-Za-z_:][\w.:-]*(?:\s*=\s*(?:[^\s"'=<>`]+|'[^']*'|"[^"]*"))?"""
_ANY_TAG = re.compile(rf"(?:<[A-Za-z][A-Za-z0-9-]*(?:{_ATTRIBUTE})*\s*/?>|</[A-Za-z][A-Za-z0-9-]*\s*>)\s*$")
# A tag that stands alone on a line is short; the limit keeps the pattern above from ever working on a blob.
_ANY_TAG_LIMIT = 1000


def html_block_end(lines: Sequence[str], i: int, *, interrupting: bool) -> int | None:
    """The end line (exclusive) of the HTML block that starts at line `i`, or None.

    With `interrupting` the line follows running text, where a lone unknown tag starts no block.
    """
    text = lines[i].lstrip(" \t")
    closer = _closer(text)
    if closer is not None:
        return _end_with(lines, i, closer)
    if _BLOCK_TAG.match(text) or (not interrupting and len(text) <= _ANY_TAG_LIMIT and _ANY_TAG.match(text)):
        return _end_at_blank(lines, i)
    return None


def _closer(text: str) -> re.Pattern[str] | str | None:
    """What ends a block that only ends at its own mark."""
    if _RAW.match(text):
        return _RAW_END
    if text.startswith("<!--"):
        return "-->"
    if text.startswith("<?"):
        return "?>"
    if text.startswith("<![CDATA["):
        return "]]>"
    if text.startswith("<!") and text[2:3].isalpha():
        return ">"
    return None


def _end_with(lines: Sequence[str], i: int, closer: re.Pattern[str] | str) -> int:
    # "<!-->" is a whole comment for CommonMark; looking behind the opener keeps "<!--" from closing itself.
    for j in range(i, len(lines)):
        line = lines[j]
        if j == i:
            line = line.lstrip(" \t")[2:]
        found = closer in line if isinstance(closer, str) else closer.search(line)
        if found:
            return j + 1
    return len(lines)


def _end_at_blank(lines: Sequence[str], i: int) -> int:
    j = i + 1
    while j < len(lines) and lines[j].strip():
        j += 1
    return j
