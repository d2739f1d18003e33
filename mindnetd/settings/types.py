"""``types.yaml``: note types, words of status, section rules. What the file leaves out whole keeps the default.

A section that the file gives replaces the default's: a file with two types has two types. Within a type, what is left
out is neutral (``core.typetable.NoteType``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from mindnetd.config import Config
from mindnetd.core.notetypes import PROFILES
from mindnetd.core.typetable import DEFAULT_TYPES, NoteType, TypeTable, heading_key
from mindnetd.errors import ConfigError
from mindnetd.settings import read
from mindnetd.settings.read import Given, Problem

NAME = r"[^\W\d_][\w -]{0,63}"
RELATION = r"[^\W\d_]\w{0,63}"
RELATION_WORDS = "a relation such as depends_on (letters, digits and _)"
TOP = ("version", "types", "visibility_defaults", "status", "section_rules")
TYPE_KEYS = tuple(item.name for item in fields(NoteType))


def types_of(config: Config) -> TypeTable:
    """The table that ``types_file`` gives; the default one where there is no such file and none was asked for."""
    required = config.origin("types_file") != "default"
    return load_types(config.types_file, required=required, home=config.places.home)


def load_types(file: Path, *, required: bool, home: Path) -> TypeTable:
    """Read and check ``types.yaml``. Raises ConfigError with file and line; its detail lists every problem."""
    if not file.is_file() and not required:
        return DEFAULT_TYPES
    tree, problems = read.read_tree(file)
    reader = _Reader(file.absolute(), home, problems)
    table = reader.table(tree) if tree is not None else DEFAULT_TYPES
    if problems:
        raise ConfigError(str(problems[0]), detail={"problems": [str(p) for p in problems]})
    return table


class _Reader:
    """Walks the tree and collects every problem with its line."""

    def __init__(self, file: Path, home: Path, problems: list[Problem]) -> None:
        self._file, self._home, self._problems = file, home, problems

    def table(self, tree: yaml.MappingNode) -> TypeTable:
        """The whole file."""
        found = dict(self._entries(tree, ""))
        for key, given in found.items():
            if key not in TOP:
                self._problems.append(read.unknown(given.where, key, TOP))
        if "version" in found:
            self._cast("version", found["version"], read.whole(1, 1))
        types = self._section(found.get("types"), "types", self._types, DEFAULT_TYPES.types)
        return TypeTable(
            types=types,
            status=self._section(found.get("status"), "status", self._status, DEFAULT_TYPES.status),
            section_rules=self._section(
                found.get("section_rules"), "section_rules", self._rules, DEFAULT_TYPES.section_rules
            ),
            visibility_defaults=self._section(
                found.get("visibility_defaults"),
                "visibility_defaults",
                lambda given: self._visibilities(given, tuple(types)),
                DEFAULT_TYPES.visibility_defaults,
            ),
        )

    def _section(self, given: Given | None, key: str, cast: Callable[[Given], Any], default: Any) -> Any:
        """The section's value; the default where it is left out, empty, or wrong (then it is a problem, too)."""
        if given is None or (isinstance(given.node, yaml.ScalarNode) and given.node.value in read.NULLS):
            return default
        value = self._cast(key, given, cast)
        return default if value is None else value

    def _cast(self, key: str, given: Given, cast: Callable[[Given], Any]) -> Any:
        try:
            return cast(given)
        except ValueError as error:
            self._problems.append(Problem(given.where, f"{key} {error}"))
            return None

    def _entries(self, node: yaml.Node, prefix: str) -> Iterator[tuple[str, Given]]:
        """Key and value of each line of a mapping, each key once. Raises ValueError if it is no mapping."""
        if not isinstance(node, yaml.MappingNode):
            raise ValueError("expects `name: value` lines")
        seen: set[str] = set()
        for key, value in node.value:
            where = f"{self._file}:{read.line_of(key)}"
            if not isinstance(key, yaml.ScalarNode):
                self._problems.append(Problem(where, "expects a word as key"))
            elif key.value in seen:
                self._problems.append(Problem(where, f"{prefix}{key.value} stands here a second time; keep one"))
            else:
                seen.add(key.value)
                yield str(key.value), Given(value, where, self._file.parent, self._home)

    # ------------------------------------------------------------------------------------------------------- sections

    def _types(self, given: Given) -> Mapping[str, NoteType]:
        types: dict[str, NoteType] = {}
        for written, one in self._entries(given.node, "types."):
            name = self._cast("types", Given(_word(written), one.where, one.base, one.home), _NAME_CAST)
            if name in types:
                self._problems.append(Problem(one.where, f"types.{name} is there in another case; keep one"))
            elif name is not None:
                types[name] = self._cast(f"types.{name}", one, partial(self._type, name)) or NoteType()
        return types

    def _type(self, name: str, given: Given) -> NoteType:
        """One type. Null: a name without anything of its own."""
        if isinstance(given.node, yaml.ScalarNode) and given.node.value in read.NULLS:
            return NoteType()
        values: dict[str, Any] = {}
        for key, one in self._entries(given.node, f"types.{name}."):
            if key not in TYPE_KEYS:
                self._problems.append(read.unknown(one.where, f"types.{name}.{key}", _full(name)))
                continue
            value = self._cast(f"types.{name}.{key}", one, TYPE_CASTS[key])
            if value is not None:
                values[key] = value
        return NoteType(**values)

    def _status(self, given: Given) -> tuple[str, ...]:
        return tuple(dict.fromkeys(" ".join(word.lower().split()) for word in read.words()(given)))

    def _rules(self, given: Given) -> Mapping[str, str]:
        rules: dict[str, str] = {}
        for heading, one in self._entries(given.node, "section_rules."):
            key, relation = heading_key(heading), self._cast(f"section_rules.{heading}", one, _RELATION_CAST)
            if not key:
                self._problems.append(Problem(one.where, f"section_rules: {heading!r} holds no word"))
            elif relation is not None:
                rules[key] = relation
        return rules

    def _visibilities(self, given: Given, types: tuple[str, ...]) -> Mapping[str, Any]:
        found: dict[str, Any] = {}
        for written, one in self._entries(given.node, "visibility_defaults."):
            rule = written if "/" in written else " ".join(written.lower().split())
            if "/" not in rule and rule not in types:
                guess = read.nearest(rule, types)
                hint = f"; did you mean {guess}?" if guess else ""
                message = f"visibility_defaults.{written} is no type, and no folder (with a /){hint}"
                self._problems.append(Problem(one.where, message))
                continue
            level = self._cast(f"visibility_defaults.{written}", one, read.choice("public", "internal", "sensitive"))
            if level is not None:
                found[rule] = level
        return found


def _word(text: str) -> yaml.ScalarNode:
    return yaml.ScalarNode("tag:yaml.org,2002:str", text, style="'")


def _full(name: str) -> tuple[str, ...]:
    return tuple(f"types.{name}.{key}" for key in TYPE_KEYS)


def _relations(given: Given) -> tuple[str, ...]:
    """A list of relations, each once."""
    found: tuple[str, ...] = read.words()(given)
    return tuple(dict.fromkeys(_RELATION_CAST(Given(_word(one), given.where, given.base, given.home)) for one in found))


def _properties(given: Given) -> tuple[str, ...]:
    """A list of property names, compared without case."""
    return tuple(dict.fromkeys(name.strip().casefold() for name in read.words()(given)))


def _offsets(given: Given) -> Mapping[str, float]:
    found: Mapping[str, float] = read.weights(-5, 5)(given)
    return {_RELATION_CAST(Given(_word(key), given.where, given.base, given.home)): by for key, by in found.items()}


def _lower(cast: read.Cast) -> read.Cast:
    return lambda given: " ".join(str(cast(given)).lower().split())


_NAME_CAST = _lower(read.text(NAME, "a type's name (letters, digits, space, - and _)"))
_RELATION_CAST = _lower(read.text(RELATION, RELATION_WORDS))
TYPE_CASTS: Mapping[str, read.Cast] = {
    "chunk_profile": read.optional(read.choice(*PROFILES)),
    "edge_defaults": _relations,
    "retriever_weight": read.number(0, 1),
    "required": _properties,
    "allowed": read.optional(_properties),
    "hash_mode": read.optional(read.choice("body", "frontmatter", "full")),
    "edge_weight_offsets": _offsets,
}
