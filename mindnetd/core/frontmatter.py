"""The property block of a note: YAML 1.2 scalars as text, under limits, salvaged line by line where it is broken.

The text between the fences goes through python-frontmatter's YAML handler with a loader of ours. That loader never
constructs a Python object: it turns nodes into strings, None, lists and dicts, whatever their tags say.
"""

from __future__ import annotations

import json
import re
from typing import Any, ClassVar

import yaml
from frontmatter.default_handlers import YAMLHandler

from mindnetd.core.records import Diagnostic
from mindnetd.core.salvage import FIRST_LINE, YAML_ERRORS, Properties, salvage

MAX_BYTES = 64 * 1024
MAX_NODES = 2000
MAX_DEPTH = 40

_TAB_AFTER_KEY = re.compile(r"^([^\s:#][^:\n]*:)(\t+)", re.MULTILINE)
_DEEP = re.compile(rf"(?:[-?][ \t]+){{{MAX_DEPTH}}}")
_BRACKET = re.compile(r"[\[{]|[\]}]")
_LINK = re.compile(r"!?\[\[[^\[\]]+\]\]")


class _LimitError(ValueError):
    """A block that is legal YAML but not a property block any more."""


def parse_block(block: str) -> Properties:
    """Parse the text between the fences. Never raises: what cannot be read is reported and salvaged."""
    block = block.replace("\r\n", "\n").replace("\r", "\n")
    if not block or block.isspace():
        return Properties()
    try:
        return _load(block)
    except _LimitError as error:
        return salvage(block[:MAX_BYTES], Diagnostic("yaml_limit", str(error), FIRST_LINE), _load)
    except RecursionError:
        return salvage(block, Diagnostic("yaml_limit", "nested too deeply", FIRST_LINE), _load)
    except YAML_ERRORS as error:
        return _second_try(block, _syntax_error(error))


def _load(block: str) -> Properties:
    """The properties of a block that is YAML. Raises one of `YAML_ERRORS`."""
    _check_size(block)
    reader = _Reader(block)
    loaded = YAMLHandler().load(block + "\n", Loader=reader.loader)
    if loaded is None:
        return Properties(diagnostics=reader.found())
    if not isinstance(loaded, dict):
        what = "a list" if isinstance(loaded, list) else "plain text"
        message = f"the block holds {what}, not `key: value` lines; it is read as no properties"
        return Properties(diagnostics=(Diagnostic("yaml_not_mapping", message, FIRST_LINE),))
    return Properties(loaded, reader.lines, reader.found())


def _check_size(block: str) -> None:
    if len(block) > MAX_BYTES:
        raise _LimitError(f"the block is longer than {MAX_BYTES // 1024} KiB; only its single lines are read")
    depth = 0
    for bracket in _BRACKET.finditer(block):
        depth += 1 if bracket.group() in "[{" else -1
        if depth > MAX_DEPTH:
            raise _LimitError(f"nested deeper than {MAX_DEPTH} levels")
    if _DEEP.search(block):
        raise _LimitError(f"nested deeper than {MAX_DEPTH} levels")


def _second_try(block: str, problem: Diagnostic) -> Properties:
    """Forms that Obsidian's own parser takes though libyaml does not: JSON, and a tab after the colon."""
    if block.lstrip().startswith("{"):
        try:
            loaded = json.loads(block, parse_int=str, parse_float=str, parse_constant=str)
            return Properties(_plain_json(loaded))
        except YAML_ERRORS:
            return salvage(block, problem, _load)
    untabbed = _TAB_AFTER_KEY.sub(lambda m: m.group(1) + " " * len(m.group(2)), block)
    if untabbed != block:
        try:
            return _load(untabbed)
        except YAML_ERRORS:
            block = untabbed
    return salvage(block, problem, _load)


def _plain_json(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return [_plain_json(item) for item in value]
    if isinstance(value, dict):
        return {_clean(key): _plain_json(item) for key, item in value.items()}
    return _clean(value) if isinstance(value, str) else value


def _clean(text: str) -> str:
    """`text` without what an escape can smuggle in but no file can hold: NULs and lone surrogates."""
    if text.isascii():
        return text.replace("\0", "")
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def _syntax_error(error: Exception) -> Diagnostic:
    mark = getattr(error, "problem_mark", None)
    line = mark.line + FIRST_LINE if mark is not None else FIRST_LINE
    what = getattr(error, "problem", None) or str(error).split("\n", 1)[0] or type(error).__name__
    return Diagnostic("yaml_syntax", f"not valid YAML: {what}", line)


class _Reader:
    """Turns the nodes of one block into plain values and collects what was odd about them."""

    def __init__(self, block: str) -> None:
        self._block = block
        self._nodes = 0
        self._odd: dict[str, Diagnostic] = {}
        self.lines: dict[str, int] = {}

    def loader(self, stream: str) -> _Loader:
        """What `yaml.load` calls as its Loader."""
        return _Loader(stream, self)

    def found(self) -> tuple[Diagnostic, ...]:
        """One diagnostic a code, the first of each."""
        return tuple(self._odd.values())

    def value(self, node: yaml.Node, path: str, depth: int) -> Any:
        """The plain value of `node`; raises `_LimitError` past the limits (aliases count each time they are used)."""
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise _LimitError(f"more than {MAX_NODES} values")
        if depth > MAX_DEPTH:
            raise _LimitError(f"nested deeper than {MAX_DEPTH} levels, or an alias that contains itself")
        if path:
            self.lines[path] = node.start_mark.line + FIRST_LINE
        if isinstance(node, yaml.ScalarNode):
            return None if node.tag == "tag:yaml.org,2002:null" else _clean(node.value)
        if isinstance(node, yaml.SequenceNode):
            return self._sequence(node, path, depth)
        return self._mapping(node, path, depth)

    def _sequence(self, node: yaml.SequenceNode, path: str, depth: int) -> Any:
        source = self._source(node)
        if source.startswith("[[") and source.endswith("]]") and "\n" not in source and _LINK.fullmatch(source):
            key = path.split(".", 1)[0]
            self._note(node, "unquoted_link", f"the link in `{key}` must be quoted to count in Obsidian")
            return source
        dot = f"{path}." if path else ""
        return [self.value(item, f"{dot}{i}", depth + 1) for i, item in enumerate(node.value)]

    def _mapping(self, node: yaml.Node, path: str, depth: int) -> Any:
        pairs: list[tuple[yaml.Node, yaml.Node]] = node.value
        source = self._source(node)
        if source.startswith("{{") and any(not isinstance(key, yaml.ScalarNode) for key, _ in pairs):
            self._note(node, "yaml_syntax", f"a template placeholder is no YAML value: {source[:60]}")
            return source
        values: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        dot = f"{path}." if path else ""
        for key_node, value_node in pairs:
            key = _clean(key_node.value) if isinstance(key_node, yaml.ScalarNode) else self._source(key_node)
            value = self.value(value_node, f"{dot}{key}" if key not in values else "", depth + 1)
            if key_node.tag == "tag:yaml.org,2002:merge":
                for source_map in value if isinstance(value, list) else [value]:
                    merged.update(source_map if isinstance(source_map, dict) else {})
            elif key in values:
                self._note(key_node, "yaml_duplicate_key", f"the key `{key}` is there twice; the first one holds")
            else:
                values[key] = value
        return values | {key: value for key, value in merged.items() if key not in values}

    def _source(self, node: yaml.Node) -> str:
        return self._block[node.start_mark.index : node.end_mark.index]

    def _note(self, node: yaml.Node, code: str, message: str) -> None:
        self._odd.setdefault(code, Diagnostic(code, message, node.start_mark.line + FIRST_LINE))


class _Loader(yaml.CSafeLoader):
    """CSafeLoader that resolves null and merge keys only, and leaves building values to the reader."""

    yaml_implicit_resolvers: ClassVar[dict[Any, Any]] = {  # type: ignore[misc]
        first: [one for one in resolvers if one[0].endswith((":null", ":merge"))]
        for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }

    def __init__(self, stream: str, reader: _Reader) -> None:
        super().__init__(stream)
        self._reader = reader

    def get_single_data(self) -> Any:
        """The plain value of the block's one document (None where it is empty)."""
        node = self.get_single_node()
        return None if node is None else self._reader.value(node, "", 0)
