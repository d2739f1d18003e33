"""What can still be read of a property block that is no YAML: its top-level `key: value` lines, each by itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from mindnetd.core.records import Diagnostic

FIRST_LINE = 2
"""The file line of the first line of every block: the fence is line 1."""
MAX_SALVAGED = 200

YAML_ERRORS = (yaml.YAMLError, ValueError, TypeError, RecursionError, OverflowError)
"""What a YAML loader is known to raise on hostile text, its own limits included."""

_KEY_LINE = re.compile(r"""(?P<key>"[^"]+"|'[^']+'|[^\s#:\-\[\]{}"'&*!|>%@`][^:#]*?)\s*:(?:\s+(?P<value>.*?))?\s*$""")
_LINK = re.compile(r"!?\[\[[^\[\]]+\]\]")
_PLAIN_LIST = re.compile(r"""\[([^\[\]{}"']*)\]""")
_LINKS_ONLY = re.compile(r"!?\[\[[^\[\]]+\]\](?:\s*,\s*!?\[\[[^\[\]]+\]\])*")


@dataclass(frozen=True, slots=True)
class Properties:
    """A parsed block. ``values`` keeps the order of the file; ``lines`` gives the file line of a key path
    (``up``, ``see.0``, ``nested.deep``)."""

    values: Mapping[str, Any] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()


def salvage(block: str, problem: Diagnostic, load: Callable[[str], Properties]) -> Properties:
    """Read a broken block piece by piece with `load`; `problem` says which pieces were kept, and where it broke."""
    rescue = _Rescue(load)
    for number, text in _pieces(block)[:MAX_SALVAGED]:
        rescue.take(number + FIRST_LINE, text)
    kept = f"; read line by line: {', '.join(rescue.values)}" if rescue.values else ""
    line = rescue.broken_at or problem.line
    first = Diagnostic(problem.code, problem.message + kept, line)
    return Properties(rescue.values, rescue.lines, (first, *rescue.extra.values()))


class _Rescue:
    """What was saved so far."""

    def __init__(self, load: Callable[[str], Properties]) -> None:
        self._load = load
        self.values: dict[str, Any] = {}
        self.lines: dict[str, int] = {}
        self.extra: dict[str, Diagnostic] = {}
        self.broken_at: int | None = None

    def take(self, line: int, text: str) -> None:
        """Take in one piece that starts at file line `line`."""
        try:
            alone = self._load(text)
        except YAML_ERRORS as error:
            mark = getattr(error, "problem_mark", None)
            offset = min(mark.line, text.count("\n")) if mark is not None else 0
            self.broken_at = self.broken_at or line + offset
            self._take_text(line, text.split("\n", 1)[0])
            return
        for note in alone.diagnostics:
            self._say(Diagnostic(note.code, note.message, line + (note.line or FIRST_LINE) - FIRST_LINE))
        for key, value in alone.values.items():
            self._keep(key, value, line)

    def _take_text(self, line: int, text: str) -> None:
        """A line that is no YAML even alone: key and text as they stand."""
        match = _KEY_LINE.match(text)
        if match is None:
            return
        key, value = match.group("key").strip("\"'"), match.group("value") or None
        if value and _LINKS_ONLY.fullmatch(value):
            self._say(Diagnostic("unquoted_link", f"the links in `{key}` must be quoted to count in Obsidian", line))
            self._keep(key, _LINK.findall(value), line)
        elif value and (plain := _PLAIN_LIST.fullmatch(value)):
            self._keep(key, [item for part in plain.group(1).split(",") if (item := part.strip())], line)
        else:
            self._keep(key, value, line)

    def _keep(self, key: str, value: Any, line: int) -> None:
        if key in self.values:
            self._say(Diagnostic("yaml_duplicate_key", f"the key `{key}` is there twice; the first one holds", line))
            return
        self.values[key] = value
        paths = [f"{key}.{i}" for i in range(len(value))] if isinstance(value, list) else []
        self.lines |= dict.fromkeys([key, *paths], line)

    def _say(self, note: Diagnostic) -> None:
        if note.code not in ("yaml_syntax", "yaml_limit", "yaml_not_mapping"):
            self.extra.setdefault(note.code, note)


def _pieces(block: str) -> list[tuple[int, str]]:
    """(line index, text) of each key line with the more indented or listed lines under it."""
    pieces: list[tuple[int, list[str]]] = []
    for number, line in enumerate(block.split("\n")):
        if pieces and (not line.strip() or line[0] in " \t-"):
            pieces[-1][1].append(line)
        elif line and not line[0].isspace():
            pieces.append((number, [line]))
    return [(number, "\n".join(lines).rstrip()) for number, lines in pieces]
