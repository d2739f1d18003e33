"""Tags and aliases: of the body, and of the properties in the lenient reading of ``obsidian.md`` 6 and 8."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mindnetd.core.mask import Masked, Span, inside
from mindnetd.core.records import Diagnostic

_NO_TAG = r"""\s\0'!"#$%&()*+,.:;<=>?@^`{|}~\[\]\\\u2000-\u206F\u2E00-\u2E7F"""
_TAG = re.compile(rf"(?<!\S)#([^{_NO_TAG}]+)")
_WHOLE_TAG = re.compile(rf"[^{_NO_TAG}]+")
_TAG_KEYS = ("tags", "tag")
_ALIAS_KEYS = ("aliases", "alias")
_DROPPED_KEYS = ("tag", "alias", "cssclass")


def body_tags(masked: Masked, targets: Sequence[Span]) -> Iterator[str]:
    """Tags of a body in order, without ``#``; `targets` are the link targets, in which a ``#`` is none."""
    if "#" not in masked.text:
        return
    for match in _TAG.finditer(masked.text):
        if not match.group(1).isdecimal() and not inside(targets, match.start()):
            yield match.group(1)


def property_tags(values: Mapping[str, Any]) -> Iterator[str]:
    """Tags of the properties in file order; strings are split at commas and spaces."""
    for key, value in values.items():
        if key.casefold() in _TAG_KEYS:
            for text in _texts(value):
                for word in re.split(r"[,\s]+", text):
                    tag = word.removeprefix("#")
                    if _WHOLE_TAG.fullmatch(tag) and not tag.isdecimal():
                        yield tag


def aliases(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Other names of the note, each once; a plain string is split at commas as Obsidian did before 1.9."""
    names: dict[str, None] = {}
    for key, value in values.items():
        if key.casefold() in _ALIAS_KEYS:
            texts = value.split(",") if isinstance(value, str) else _texts(value)
            names |= dict.fromkeys(name for text in texts if (name := text.strip()))
    return tuple(names)


def unique_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Each tag once, compared without case, in the spelling seen first."""
    seen: dict[str, str] = {}
    for tag in tags:
        seen.setdefault(tag.casefold(), tag)
    return tuple(seen.values())


def legacy_properties(values: Mapping[str, Any], lines: Mapping[str, int]) -> tuple[Diagnostic, ...]:
    """One diagnostic for the properties that today's Obsidian does not read any more."""
    old = [key for key, value in values.items() if value is not None and _is_legacy(key.casefold(), value)]
    if not old:
        return ()
    message = f"Obsidian since 1.9 does not read this form of {', '.join(f'`{key}`' for key in old)}; read all the same"
    return (Diagnostic("legacy_property", message, lines.get(old[0])),)


def _is_legacy(key: str, value: Any) -> bool:
    if key in _DROPPED_KEYS:
        return True
    if not isinstance(value, str) or not value.strip():
        return False
    return key == "aliases" or (key == "tags" and len(re.split(r"[,\s]+", value.strip())) > 1)


def _texts(value: Any) -> Iterator[str]:
    """The strings in a value, lists flattened; null items (an unquoted ``- #a``) are skipped."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
