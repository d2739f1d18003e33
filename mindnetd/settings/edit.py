"""Changing one value in a configuration file and nothing else: comments, order and spelling of the rest stay."""

from __future__ import annotations

import json
import os
from pathlib import Path

import yaml

from mindnetd.errors import ConfigError
from mindnetd.settings import read


def set_value(file: Path, section: str, key: str, value: str) -> None:
    """Set ``section.key`` in a YAML or JSON file to a text, replacing the file in one step. Raises ConfigError."""
    tree, problems = read.read_tree(file)
    if problems:
        raise ConfigError(str(problems[0]))
    text = file.read_text("utf-8-sig")
    temporary = file.with_name(f".{file.name}.new")
    temporary.write_text(_changed(text, tree, section, key, json.dumps(value, ensure_ascii=False)), encoding="utf-8")
    temporary.chmod(file.stat().st_mode & 0o777)
    os.replace(temporary, file)  # noqa: PTH105 -- the same, and it says that an old file is meant to go


def _changed(text: str, tree: yaml.MappingNode | None, section: str, key: str, value: str) -> str:
    found = _entry(tree, section)
    if tree is None or found is None:
        return _appended(text, tree, section, key, value)
    name, body = found
    if isinstance(body, yaml.MappingNode):
        old = _entry(body, key)
        if old is not None:
            return text[: old[1].start_mark.index] + value + text[old[1].end_mark.index :]
        if body.flow_style:
            place = body.start_mark.index + 1
            return f'{text[:place]}"{key}": {value}{", " if body.value else ""}{text[place:]}'
        place, indent = body.value[0][0].start_mark.index, body.value[0][0].start_mark.column
        return f"{text[:place]}{key}: {value}\n{' ' * indent}{text[place:]}"
    # `section:` with nothing, or null, behind it
    return f"{text[: name.end_mark.index]}:\n  {key}: {value}{text[body.end_mark.index :]}"


def _appended(text: str, tree: yaml.MappingNode | None, section: str, key: str, value: str) -> str:
    if tree is not None and tree.flow_style:
        place = tree.start_mark.index + 1
        return f'{text[:place]}"{section}": {{"{key}": {value}}}{", " if tree.value else ""}{text[place:]}'
    return f"{text.rstrip()}\n\n{section}:\n  {key}: {value}\n"


def _entry(mapping: yaml.MappingNode | None, key: str) -> tuple[yaml.Node, yaml.Node] | None:
    for name, value in mapping.value if mapping is not None else ():
        if isinstance(name, yaml.ScalarNode) and name.value == key:
            return name, value
    return None
