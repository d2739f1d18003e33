"""Text for a terminal: colours where they are wanted, and nothing a note can smuggle in."""

from __future__ import annotations

from collections.abc import Sequence

CODES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "cyan": "36",
    "mark": "1;33",
}
ELLIPSIS = "…"


def clean(text: str) -> str:
    """One line without control characters: a note must not write escape codes to the terminal."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


class Paint:
    """Colours or none."""

    def __init__(self, on: bool) -> None:
        self._on = on

    def __call__(self, text: str, style: str) -> str:
        """``text`` in a style of ``CODES``, as it is without colours."""
        return f"\x1b[{CODES[style]}m{text}\x1b[0m" if self._on and text else text

    def marked(self, text: str, spans: Sequence[Sequence[int]]) -> str:
        """``text`` as one clean line with the spans (code points, ends exclusive) marked: by colour, else by ``*``."""
        out: list[str] = []
        at = 0
        for start, end in sorted((int(s), int(e)) for s, e in spans):
            if start < at or end <= start:
                continue
            out.append(_flat(text[at:start]))
            word = _flat(text[start:end])
            out.append(self(word, "mark") if self._on else f"*{word}*")
            at = end
        out.append(_flat(text[at:]))
        return " ".join("".join(out).split())


def _flat(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)


def table(rows: Sequence[Sequence[str]], widest: int = 72) -> list[str]:
    """Rows as aligned columns; a cell over ``widest`` is cut, but never the last of a row: nothing stands beside it."""
    cells = [[*(cut(clean(cell), widest) for cell in row[:-1]), *map(clean, row[-1:])] for row in rows]
    widths = [max(len(row[n]) for row in cells if len(row) > n) for n in range(max(map(len, cells), default=0))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip() for row in cells]


def cut(text: str, widest: int) -> str:
    """``text``, or as much of it as fits with an ellipsis."""
    return text if len(text) <= widest else text[: widest - 1].rstrip() + ELLIPSIS


def bar(done: int, total: int, width: int = 24) -> str:
    """A progress bar of ``width`` characters."""
    filled = round(width * min(done, total) / total) if total > 0 else 0
    return "█" * filled + "░" * (width - filled)
