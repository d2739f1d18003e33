"""Which notes a question may see: visibility and flags (the *scope*) and everything a person narrows by.

The scope decides what exists at all: counts, averages and scores are made of it. The rest only narrows what is shown.
Lists are alternatives (a note passes with any of its entries); different filters must all hold. Texts are compared in
NFC and without case, globs of ``paths`` in NFC with case; a ``paths`` entry without wildcards names a note or a folder.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from mindnetd.core.normal import normalize
from mindnetd.core.records import NoteMeta, Visibility
from mindnetd.errors import BadRequest

DEFAULT_VISIBILITY: tuple[Visibility, ...] = ("public", "internal")


@dataclass(frozen=True, slots=True)
class DateRange:
    """From and to, both inclusive: ``YYYY-MM-DD`` (the whole day, UTC) or RFC 3339; None leaves an end open."""

    start: str | None = None
    end: str | None = None


@dataclass(frozen=True, slots=True)
class Filters:
    """The ``filters`` of a query. Hashable: results of it are cached."""

    visibility: tuple[Visibility, ...] = DEFAULT_VISIBILITY
    include_flags: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    status: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    lang: str | None = None
    created: DateRange = field(default_factory=DateRange)
    modified: DateRange = field(default_factory=DateRange)
    frontmatter: tuple[tuple[str, str], ...] = ()
    """Pairs (key, value): the value, or one entry of a list, equals it as text."""

    @property
    def narrows(self) -> bool:
        """Is there any filter beside the scope?"""
        return self != Filters(self.visibility, self.include_flags)


def fold(text: str) -> str:
    """The form in which filter values are compared."""
    return normalize("NFC", text).casefold().strip()


def compile_filters(filters: Filters) -> Callable[[NoteMeta], bool]:
    """A test for everything but the scope. Raises BadRequest for a date or glob that cannot be read."""
    tests: list[Callable[[NoteMeta], bool]] = []
    if filters.types:
        types = frozenset(map(fold, filters.types))
        tests.append(lambda note: note.type is not None and fold(note.type) in types)
    if filters.status:
        status = frozenset(map(fold, filters.status))
        tests.append(lambda note: note.status is not None and fold(note.status) in status)
    if filters.lang:
        lang = fold(filters.lang)
        tests.append(lambda note: fold(note.lang) == lang or fold(note.lang).split("-")[0] == lang)
    if filters.tags:
        tests.append(_tag_test(filters.tags))
    if filters.paths:
        patterns = [path_pattern(glob) for glob in filters.paths]
        tests.append(lambda note: any(p.match(normalize("NFC", note.path)) for p in patterns))
    if filters.created != DateRange():
        tests.append(_date_test(filters.created, "created"))
    if filters.modified != DateRange():
        tests.append(_date_test(filters.modified, "modified"))
    tests.extend(_frontmatter_test(key, value) for key, value in filters.frontmatter)
    return lambda note: all(test(note) for test in tests)


def _tag_test(tags: tuple[str, ...]) -> Callable[[NoteMeta], bool]:
    wanted = tuple(fold(tag.lstrip("#")).rstrip("/") for tag in tags)
    exact, parents = frozenset(wanted), tuple(tag + "/" for tag in wanted)

    def test(note: NoteMeta) -> bool:
        return any(tag in exact or tag.startswith(parents) for tag in map(fold, note.tags))

    return test


def _date_test(limits: DateRange, name: str) -> Callable[[NoteMeta], bool]:
    low = instant(limits.start) if limits.start else None
    high = instant(limits.end, day_end=True) if limits.end else None
    if (limits.start and low is None) or (limits.end and high is None):
        raise BadRequest(
            f"filters.{name}: not a date ({limits.start or ''}..{limits.end or ''}); use YYYY-MM-DD or RFC 3339"
        )

    def test(note: NoteMeta) -> bool:
        value: str | None = getattr(note, name)
        at = instant(value) if value else None
        return at is not None and (low is None or at >= low) and (high is None or at <= high)

    return test


@lru_cache(maxsize=65536)
def instant(text: str, *, day_end: bool = False) -> float | None:
    """Seconds since 1970 of a date or time in ISO form (no zone: UTC), or None; `day_end`: a date's last moment."""
    try:
        value = datetime.fromisoformat(text.strip())
        if value.tzinfo is None:
            value = value.replace(tzinfo=UTC)
        if day_end and len(text.strip()) <= 10:
            value += timedelta(days=1, microseconds=-1)
        return value.timestamp()
    except (ValueError, OverflowError):
        return None


def _frontmatter_test(key: str, value: str) -> Callable[[NoteMeta], bool]:
    wanted, name = fold(value), fold(key)

    def test(note: NoteMeta) -> bool:
        if name.isascii() and name not in note.frontmatter_json.lower():
            return False  # cheaper than reading it
        values = _frontmatter(note.frontmatter_json)
        return any(fold(k) == name and _holds(v, wanted) for k, v in values.items())

    return test


@lru_cache(maxsize=8192)
def _frontmatter(text: str) -> Mapping[str, Any]:
    loaded = json.loads(text) if text else {}
    return loaded if isinstance(loaded, dict) else {}


def _holds(value: Any, wanted: str) -> bool:
    if isinstance(value, list):
        return any(_holds(entry, wanted) for entry in value)
    if isinstance(value, bool):
        return ("true" if value else "false") == wanted
    return value is not None and not isinstance(value, dict) and fold(str(value)) == wanted


@lru_cache(maxsize=256)
def path_pattern(glob: str) -> re.Pattern[str]:
    """A glob over vault paths: ``**`` any depth, ``*`` and ``?`` inside one name, ``[...]`` as usual."""
    text = normalize("NFC", glob).strip().removeprefix("./").lstrip("/")
    if not re.search(r"[*?\[]", text):
        name = re.escape(text.rstrip("/"))
        return re.compile(rf"(?:{name}|{name}\.md|{name}/.*)\Z", re.DOTALL)
    try:
        return re.compile(_glob_regex(text) + r"\Z", re.DOTALL)
    except re.error as error:
        raise BadRequest(f"filters.paths: {glob!r} is not a pattern ({error})") from error


_GLOB = re.compile(
    r"(?P<deep>\*\*/)|(?P<all>\*\*)|(?P<star>\*)|(?P<one>\?)|\[(?P<set>!?[^\]/]+)\]|(?P<text>.)", re.DOTALL
)


def _glob_regex(glob: str) -> str:
    out = []
    for part in _GLOB.finditer(glob):
        if part["deep"]:
            out.append("(?:.*/)?")
        elif part["all"]:
            out.append(".*")
        elif part["star"]:
            out.append("[^/]*")
        elif part["one"]:
            out.append("[^/]")
        elif part["set"]:
            body = part["set"].replace("\\", r"\\")
            out.append(f"[^{body[1:]}]" if body.startswith("!") else f"[{body.replace('^', chr(92) + '^', 1)}]")
        else:
            out.append(re.escape(part["text"]))
    return "".join(out)
