"""What a chunk states: its sentences and lists, each as a reader would say it, without Markdown.

The pieces that an answer without a model is made of. A list stays with the line that leads it in, since its items
alone say nothing; code, comments and rules are no statements.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import NamedTuple

from mindnetd.core.clean import plain_text
from mindnetd.core.markdown import indent_of, scan_blocks
from mindnetd.core.records import Block
from mindnetd.core.sentences import sentence_spans

MIN_WORDS = 4
"""A shorter piece is a label, not a statement."""
NAME_WORDS = 4
"""An item that is no longer is a name."""
LIST_CHARS = 420
"""A list is told to about here, in whole items."""
LONGEST = 600
"""A longer sentence is a wall of text: it is left to the results."""

_COMMENT = re.compile(r"%%.*?%%", re.DOTALL)
_NUMBER = re.compile(r"[ \t]*(\d{1,9})[.)][ \t]")
_LINKS = re.compile(r"!?\[\[[^\]\n]*\]\]|!\[[^\]\n]*\](?:\([^)\n]*\))?")
_BARE_URL = re.compile(r"(?<![(<\]:\w])(https?)://")
_EMBED = re.compile(r"!\[\[[^\]\n]*\]\]")
_CALLOUT = re.compile(r"[ \t>]*\[!([\w-]+)\]")
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]+(.*?)[ \t#]*$")
_WORD = re.compile(r"\w+")
_ENDS = re.compile(r"""[.!?:;…。！？]["'”’»)\]]*$""")
_CODE = re.compile(r"(`+)[^`\n]+\1")
_CELL = re.compile(r"(?<!\\)\|")
_NOT_FIRST = re.compile(
    r"(?:it|they|this|that|these|those|he|she|however|also|then|otherwise|instead|therefore|but|and|or|so|here"
    r"|for example"
    r"|es|dies|diese[rs]?|das|sie|er|dabei|dazu|dadurch|damit|jedoch|aber|und|oder|außerdem|hier|dann|sonst)\b",
    re.IGNORECASE,
)
_ALSO = re.compile(r"(?:\w+ ){1,3}(?:also|auch)\b", re.IGNORECASE)


class Statement(NamedTuple):
    """`text` may have several lines (a list). `heading` is the nearest above it, `line` counts from the chunk's first.

    `kind` is ``sentence``, ``list``, ``steps``, ``index`` (a list of mere names) or ``row``. `follows` is True where it
    leans on the sentence before it, `lead` where it is the first under its heading.
    """

    text: str
    heading: str
    line: int
    kind: str
    follows: bool
    lead: bool


def statements(text: str) -> list[Statement]:
    """Return the statements of a chunk's `text`, in order."""
    lines = text.split("\n")
    return _Reader(lines).read(scan_blocks(lines))


class _Reader:
    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._found: list[Statement] = []
        self._heading = ""
        self._lead = True
        self._opener: Statement | None = None
        """A sentence that ends with a colon: what it announces belongs to it."""

    def read(self, blocks: Sequence[Block]) -> list[Statement]:
        at = 0
        while at < len(blocks):
            block = blocks[at]
            end = at + 1
            if block.kind == "item":
                while end < len(blocks) and (blocks[end].kind == "item" or self._inside(blocks, end)):
                    end += 1
                self._list(blocks[at:end])
            else:
                self._block(block)
            at = end
        self._flush()
        return self._found

    def _inside(self, blocks: Sequence[Block], at: int) -> bool:
        """Does something that is no item (code, a picture) stand between two steps of one list?"""
        after = at + 1
        if blocks[at].kind == "heading" or after >= len(blocks) or blocks[after].kind != "item":
            return False
        number = _NUMBER.match(self._lines[blocks[after].first])
        return blocks[at].kind in ("code", "math", "quote", "html") and number is not None and int(number[1]) > 1

    def _block(self, block: Block) -> None:
        raw = self._lines[block.first : block.last]
        if block.kind == "heading":
            self._flush()
            found = _HEADING.match(raw[0])
            self._heading, self._lead = plain_text("heading", found[1] if found else raw[0]), True
        elif block.kind in ("paragraph", "html"):
            self._prose("paragraph", raw, block.first)
        elif block.kind == "quote":
            title = 1 if _CALLOUT.match(raw[0]) else 0
            self._prose("quote", raw[title:], block.first + title)
        elif block.kind == "table":
            self._flush()
            self._table(raw, block.first)

    def _prose(self, kind: str, raw: Sequence[str], first: int) -> None:
        text = _COMMENT.sub(" ", "\n".join(raw))
        self._flush()
        before = False
        for start, end in sentence_spans(text):
            said = _plain(kind, text[start:end])
            if not said or not _WORD.search(_LINKS.sub("", text[start:end])):
                continue
            line = first + text.count("\n", 0, start + len(text[start:end]) - len(text[start:end].lstrip()))
            follows = (before and _NOT_FIRST.match(said) is not None) or (
                not self._lead and _ALSO.match(said) is not None
            )
            self._flush()
            one = Statement(said, self._heading, line, "sentence", follows, self._lead)
            if said.endswith(":"):
                self._opener = one
            else:
                self._add(one)
            before, self._lead = True, False

    def _list(self, blocks: Sequence[Block]) -> None:
        depth = min(indent_of(self._lines[block.first]) for block in blocks if block.kind == "item")
        ordered = _NUMBER.match(self._lines[blocks[0].first]) is not None
        items = list(self._items(blocks, depth))
        opener, self._opener = self._opener, None
        if not items:
            return
        short = sum(len(_WORD.findall(said)) < MIN_WORDS * 2 for said, _ in items) * 2 > len(items)
        if opener is not None or ordered or (short and self._heading):
            head = opener.text if opener else (f"{self._heading}:" if self._heading else "")
            line = opener.line if opener else items[0][1]
            text = _told(head, [said for said, _ in items], ordered=ordered)
            names = sum(len(_WORD.findall(said)) <= NAME_WORDS for said, _ in items) * 4 >= 3 * len(items)
            kind = "steps" if ordered else "index" if names and len(items) > 1 else "list"
            self._add(Statement(text, self._heading, line, kind, bool(opener and opener.follows), self._lead))
        else:
            for said, line in items:
                self._add(Statement(said, self._heading, line, "sentence", False, False))
        self._lead = False

    def _items(self, blocks: Sequence[Block], depth: int) -> Iterator[tuple[str, int]]:
        for block in (one for one in blocks if one.kind == "item"):
            raw = self._lines[block.first : block.last]
            said = _plain("item", _COMMENT.sub(" ", "\n".join(raw)))
            if said and indent_of(raw[0]) < depth + 2:
                yield said, block.first

    def _table(self, raw: Sequence[str], first: int) -> None:
        """Each row under the head as *first cell: the others*, with their heads where there are several."""
        heads = [_plain("paragraph", cell) for cell in _CELL.split(raw[0].strip().strip("|"))]
        for n, line in enumerate(raw[2:], 2):
            cells = [_plain("paragraph", cell) for cell in _CELL.split(line.strip().strip("|"))]
            named = zip(
                cells[1:], heads[1:] if len(heads) > 2 and len(heads) >= len(cells) else repeat(""), strict=False
            )
            said = "; ".join(f"{head} {cell}".strip() for cell, head in named if cell)
            if cells[0] and said:
                self._add(Statement(f"{cells[0]}: {said}", self._heading, first + n, "row", False, False))

    def _flush(self) -> None:
        """A sentence that announced something that is no list (code, an image) says nothing by itself."""
        self._opener = None

    def _add(self, one: Statement) -> None:
        words = len(_WORD.findall(one.text))
        if words < MIN_WORDS or len(one.text) > LONGEST + LIST_CHARS:
            return
        if one.kind == "sentence" and (
            len(one.text) > LONGEST or (words < MIN_WORDS * 2 and not _ENDS.search(one.text))
        ):
            return
        self._found.append(one)


def _plain(kind: str, text: str) -> str:
    """`plain_text`, but inline code is kept whole (``<name>`` is no tag there), and so are addresses written out."""
    text = _EMBED.sub(" ", text) if "![[" in text else text
    text = _CODE.sub(_kept, text) if "`" in text else text
    return plain_text(kind, _BARE_URL.sub(r"\1&#58;//", text) if "://" in text else text)


def _kept(code: re.Match[str]) -> str:
    return code[0].replace("&", "&amp;").replace("<", "&lt;").replace("://", "&#58;//")


def _told(head: str, items: Sequence[str], *, ordered: bool) -> str:
    """The list as lines, whole items only."""
    lines = [head] if head else []
    size = len(head)
    for n, said in enumerate(items, 1):
        if n > 1 and size + len(said) > LIST_CHARS:
            lines.append("…")
            break
        lines.append(f"{n}. {said}" if ordered else f"- {said}")
        size += len(said)
    return "\n".join(lines)
