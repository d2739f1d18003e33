"""The schema of the frontmatter: text values cast to what the rest of mindnetd understands, odd values reported."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Literal, TypeVar, get_args

from mindnetd.core.links import relation_of, shown_text
from mindnetd.core.normal import normalize
from mindnetd.core.notetypes import PROFILES
from mindnetd.core.overrides import NAMES, Overrides, number_in, overrides_of, scalar
from mindnetd.core.records import FLAGS, VISIBILITIES, Diagnostic, HashMode, Visibility
from mindnetd.core.salvage import Properties
from mindnetd.core.tags import legacy_properties

_TRUE = frozenset(("true", "yes", "on", "1"))
_DATED_NAME = re.compile(r"(\d{4}-\d{2}-\d{2})_")
_LANG = re.compile(r"([A-Za-z]{2,3})(?:[-_][A-Za-z0-9-]+)?")
_RELATION = re.compile(r"[^\W\d_][\w -]{0,63}")
_SPACED_TIME = re.compile(r"(\d{4}-\d{2}-\d{2})[ \t]+(\d)")


PRIORITIES = frozenset(("1", "2", "3", "4", "5", "low", "med", "medium", "high"))
Choice = TypeVar("Choice", bound=str)


@dataclass(frozen=True, slots=True)
class Schema:
    """What the properties of one note say about it. None: they do not say."""

    title: str
    note_id: str | None
    type: str | None
    status: str | None
    visibility: Visibility | None
    lang: str | None
    created: str | None
    modified: str | None
    flags: tuple[str, ...]
    hash_mode: HashMode | None
    chunk_profile: str | None
    embedding_exclude: bool
    overrides: Overrides
    edge_hints: tuple[str, ...]
    lines: Mapping[str, int]
    diagnostics: tuple[Diagnostic, ...]


def read_schema(path: str, props: Properties) -> Schema:
    """Cast the properties of the note at `path`; keys are compared without case."""
    reader = _Reader(props)
    name = file_title(path)
    title = reader.text("title")
    dated = _DATED_NAME.match(name)
    return Schema(
        title=title if title and not _is_placeholder(title) else name,
        note_id=reader.text("id"),
        type=reader.word("type"),
        status=reader.word("status"),
        visibility=reader.visibility(),
        lang=reader.lang(),
        created=reader.date("created") or (dated.group(1) if dated and _is_date(dated.group(1)) else None),
        modified=reader.date("modified") or reader.date("updated"),
        flags=reader.flags(),
        hash_mode=reader.choice("hash_mode", get_args(HashMode)),
        chunk_profile=reader.choice("chunk_profile", tuple(PROFILES)),
        embedding_exclude=reader.is_true("embedding_exclude"),
        overrides=overrides_of(props.values),
        edge_hints=reader.relations("edge_hints"),
        lines=_checked(reader),
        diagnostics=(*legacy_properties(props.values, props.lines), *reader.found),
    )


def _checked(reader: _Reader) -> Mapping[str, int]:
    """Look at the properties that nothing here is made of, so that a slip in them is told; returns the lines."""
    for name in NAMES:
        reader.check_number(name, 0, 1)
    reader.check_number("effort_min", 0, 1e9)
    reader.date("due")
    reader.priority()
    return reader.lines()


def file_title(path: str) -> str:
    """The file's name without ``.md``, in NFC."""
    name = path.rsplit("/", 1)[-1]
    stem = name[:-3] if name[-3:].casefold() == ".md" else name
    return normalize("NFC", stem)


def _is_placeholder(text: str) -> bool:
    return text.startswith("{{") and text.endswith("}}")


class _Reader:
    """Looks properties up without case and collects what could not be used."""

    def __init__(self, props: Properties) -> None:
        self._names = {key.casefold(): key for key in reversed(list(props.values))}
        self._values: Mapping[str, Any] = props.values
        self._lines = props.lines
        self.found: list[Diagnostic] = []

    def _value(self, key: str) -> Any:
        return self._values.get(self._names.get(key, key))

    def text(self, key: str) -> str | None:
        """A non-empty scalar, stripped; a list of one scalar counts as that scalar."""
        return scalar(self._value(key))

    def word(self, key: str) -> str | None:
        """A scalar; a link counts as the text it shows (``type: "[[Task]]"``)."""
        text = self.text(key)
        return shown_text(text) or None if text else None

    def is_true(self, key: str) -> bool:
        """Whether the property is a true word."""
        value = self._value(key)
        return isinstance(value, str) and value.strip().casefold() in _TRUE

    def choice(self, key: str, choices: tuple[Choice, ...]) -> Choice | None:
        """One of `choices` in any case; anything else is reported and ignored."""
        text = self.text(key)
        if text is None or _is_placeholder(text):
            return None
        for choice in choices:
            if text.casefold() == choice:
                return choice
        self._report(key, f"`{key}: {text[:40]}` is none of {', '.join(choices)}; ignored")
        return None

    def check_number(self, key: str, low: float, high: float) -> None:
        """Report what is no number within the bounds."""
        text = self.text(key)
        if text is None or _is_placeholder(text) or number_in(text, low, high) is not None:
            return
        bounds = f"from {low:g} to {high:g}" if high < 1e9 else f"of at least {low:g}"
        self._report(key, f"`{key}: {text[:40]}` is no number {bounds}; ignored")

    def priority(self) -> None:
        """1 to 5, or low, medium (med), high; anything else is reported. Only people read it."""
        text = self.text("priority")
        if text is not None and not _is_placeholder(text) and text.casefold() not in PRIORITIES:
            self._report("priority", f"`priority: {text[:40]}` is none of 1 to 5, low, med, high")

    def relations(self, key: str) -> tuple[str, ...]:
        """The names of relations in a list, or in a text with commas; what can be none is reported and left out."""
        value = self._value(key)
        given = value if isinstance(value, list) else value.split(",") if isinstance(value, str) else []
        found: dict[str, None] = {}
        for one in given:
            name = relation_of(one) if isinstance(one, str) and _RELATION.fullmatch(one.strip()) else None
            if name is not None:
                found[name] = None
            elif one is not None and one != "":
                self._report(key, f"`{key}` holds {str(one)[:40]!r}, which is no name of a relation; left out")
        return tuple(found)

    def lines(self) -> Mapping[str, int]:
        """The file line of each property, by its name without case."""
        found = {name: self._lines.get(key) for name, key in self._names.items()}
        return {name: line for name, line in found.items() if line is not None}

    def visibility(self) -> Visibility | None:
        """The visibility; a word that is none counts as sensitive, so that a slip never shows a note."""
        value = self._value("visibility")
        if value is None or value == "":
            return None
        text = (self.text("visibility") or "").casefold()
        for level in VISIBILITIES:
            if text == level:
                return level
        self._report("visibility", f"visibility is none of {', '.join(VISIBILITIES)}; the note counts as sensitive")
        return "sensitive"

    def lang(self) -> str | None:
        """The primary tag of ``lang``."""
        text = self.text("lang")
        match = _LANG.fullmatch(text) if text else None
        return match.group(1).lower() if match else None

    def date(self, key: str) -> str | None:
        """An ISO date or date-time as written (a space before the time becomes ``T``); others are reported."""
        text = self.text(key)
        if text is None or _is_placeholder(text):
            return None
        text = _SPACED_TIME.sub(r"\1T\2", text)
        if _is_date(text):
            return text
        self._report(key, f"`{key}: {text[:40]}` is no date (YYYY-MM-DD or YYYY-MM-DDTHH:MM); ignored", "date_invalid")
        return None

    def flags(self) -> tuple[str, ...]:
        """Flags that are set, as a true key or as an entry of ``flags``."""
        listed = self._value("flags")
        names = listed if isinstance(listed, list) else re.split(r"[,\s]+", listed) if isinstance(listed, str) else []
        named = {name.strip().casefold() for name in names if isinstance(name, str)}
        return tuple(flag for flag in FLAGS if flag in named or self.is_true(flag))

    def _report(self, key: str, message: str, code: Literal["value_unknown", "date_invalid"] = "value_unknown") -> None:
        self.found.append(Diagnostic(code, message, self._lines.get(self._names.get(key, key))))


def _is_date(text: str) -> bool:
    try:
        if len(text) == 10:
            date.fromisoformat(text)
        else:
            datetime.fromisoformat(text)
    except ValueError:
        return False
    return text[4:5] == "-" and text[7:8] == "-"
