"""Reading settings: YAML (and so JSON) with the line of every value, and one caster for each kind of value.

Scalars are read as the text that was written and cast by what the key expects, so that ``think: off`` is the word
*off* and ``id_prefix: 007`` stays ``007``. Not for notes: their frontmatter has its own reader in ``core``.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

NULLS = frozenset({"", "~", "null", "Null", "NULL"})
MAX_FILE_BYTES = 1 << 20
SWITCH = {"true": "on", "yes": "on", "false": "off", "no": "off"}


@dataclass(frozen=True)
class Problem:
    """One thing wrong with one setting. ``where`` is ``file:line``, a variable or a flag."""

    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


@dataclass(frozen=True)
class Given:
    """A value as given: its node, the place it stands at, and the folder that relative paths start from."""

    node: yaml.Node
    where: str
    base: Path
    home: Path


Cast = Callable[[Given], Any]
"""Turns a given value into the value of its key; raises ValueError with what was expected."""


def plain(text: str, where: str, base: Path, home: Path) -> Given:
    """A value that is no part of a file: ``text`` of the environment or of a flag."""
    return Given(yaml.ScalarNode("", text), where, base, home)


# --- files ------------------------------------------------------------------------------------------------------------


class _Loader(yaml.SafeLoader):
    """Composes nodes only; nothing is constructed, so tags have no power."""


def read_tree(file: Path) -> tuple[yaml.MappingNode | None, list[Problem]]:
    """The top mapping of a YAML or JSON file (None where it is empty or unusable) and what is wrong with its syntax."""
    try:
        raw = file.read_bytes()
        text = raw.decode("utf-8-sig")
    except OSError as error:
        return None, [Problem(str(file), f"cannot be read: {error.strerror}")]
    except UnicodeDecodeError:
        return None, [Problem(str(file), "is not UTF-8; save it as UTF-8")]
    if len(raw) > MAX_FILE_BYTES:
        return None, [Problem(str(file), "is larger than 1 MiB; that is no configuration")]
    if text.lstrip().startswith("{"):
        text = text.replace("\t", " ")  # JSON may be indented with tabs, YAML may not; JSON strings hold no raw tab
    try:
        node = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        return None, [Problem(f"{file}:{line}", f"not valid YAML: {error.problem or error.context}")]
    except yaml.YAMLError as error:
        return None, [_unmarked(file, text, error)]
    except RecursionError:
        return None, [Problem(str(file), "is nested too deeply")]
    if node is None or (isinstance(node, yaml.ScalarNode) and node.value in NULLS):
        return None, []
    if not isinstance(node, yaml.MappingNode):
        return None, [Problem(f"{file}:{line_of(node)}", "expects `key: value` lines at the top")]
    return node, []


def line_of(node: yaml.Node) -> int:
    """The 1-based line on which a node begins."""
    return int(node.start_mark.line) + 1 if node.start_mark else 1


def flatten(
    tree: yaml.MappingNode, file: Path, sections: Iterable[str], home: Path
) -> tuple[dict[str, Given], list[Problem]]:
    """Dotted key -> value; a key of ``sections`` is entered, every other value is kept whole."""
    found: dict[str, Given] = {}
    problems: list[Problem] = []
    inner = frozenset(sections)

    def walk(node: yaml.MappingNode, prefix: str) -> None:
        for key_node, value in node.value:
            where = f"{file}:{line_of(key_node)}"
            if not isinstance(key_node, yaml.ScalarNode):
                problems.append(Problem(where, "expects a word as key"))
                continue
            key = prefix + key_node.value
            if key in found or (key in inner and any(k.startswith(key + ".") for k in found)):
                problems.append(Problem(where, f"{key} stands here a second time; keep one of the two"))
            elif key in inner and isinstance(value, yaml.MappingNode):
                walk(value, key + ".")
            elif key in inner and isinstance(value, yaml.ScalarNode) and value.value in NULLS:
                continue  # a section whose keys are all commented out
            else:
                found[key] = Given(value, where, file.parent, home)

    walk(tree, "")
    return found, problems


def nearest(key: str, valid: Sequence[str]) -> str | None:
    """The valid key that was probably meant: the same last part elsewhere, else the closest spelling."""
    last = key.rpartition(".")[2]
    same = [name for name in valid if name.rpartition(".")[2] == last]
    if same:
        return same[0]
    close = difflib.get_close_matches(key, valid, n=1, cutoff=0.6)
    if close:
        return close[0]
    parts = {name.rpartition(".")[2]: name for name in reversed(valid)}
    close = difflib.get_close_matches(last, list(parts), n=1, cutoff=0.6)
    return parts[close[0]] if close else None


def unknown(where: str, key: str, valid: Sequence[str]) -> Problem:
    """The problem of a key that does not exist."""
    guess = nearest(key, valid)
    return Problem(where, f"unknown key {key}" + (f"; did you mean {guess}?" if guess else ""))


# --- casters ----------------------------------------------------------------------------------------------------------


def _scalar(given: Given, expected: str) -> str:
    if not isinstance(given.node, yaml.ScalarNode):
        kind = "a list" if isinstance(given.node, yaml.SequenceNode) else "a mapping"
        raise ValueError(f"expects {expected}, not {kind}")
    return str(given.node.value)


def _is_null(given: Given) -> bool:
    node = given.node
    return isinstance(node, yaml.ScalarNode) and node.style not in ("'", '"') and node.value in NULLS


def _is_quoted(given: Given) -> bool:
    return isinstance(given.node, yaml.ScalarNode) and given.node.style in ("'", '"')


def optional(cast: Cast) -> Cast:
    """The same, or None for ``null``."""
    return lambda given: None if _is_null(given) else cast(given)


def text(pattern: str = "", expected: str = "text", empty: bool = False) -> Cast:
    """Text that matches ``pattern`` from end to end; not null, and not empty unless ``empty``."""
    compiled = re.compile(pattern) if pattern else None

    def cast(given: Given) -> str:
        value = _scalar(given, expected)
        if _is_null(given) and not (empty and value == ""):
            raise ValueError(f"expects {expected}")
        if (value == "" and not empty) or (compiled and not compiled.fullmatch(value)):
            raise ValueError(f"expects {expected}, not {value!r}")
        return value

    return cast


def whole(low: int, high: int) -> Cast:
    """A whole number within the bounds, both included."""
    expected = f"a whole number from {low} to {high}"

    def cast(given: Given) -> int:
        value = _scalar(given, expected)
        if _is_quoted(given) or not re.fullmatch(r"[+-]?\d{1,18}", value) or not low <= int(value) <= high:
            raise ValueError(f"expects {expected}, not {value!r}")
        return int(value)

    return cast


def number(low: float, high: float) -> Cast:
    """A decimal number within the bounds, both included."""
    expected = f"a number from {low:g} to {high:g}"

    def cast(given: Given) -> float:
        value = _scalar(given, expected)
        fits = re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", value) is not None
        if _is_quoted(given) or not fits or not low <= float(value) <= high:
            raise ValueError(f"expects {expected}, not {value!r}")
        return float(value)

    return cast


def choice(*values: str) -> Cast:
    """One word of ``values``, in any case; where ``off`` is one of them, YAML's true and false are on and off."""
    expected = f"one of {', '.join(values)}"

    def cast(given: Given) -> str:
        value = _scalar(given, expected)
        word = value.lower()
        if "off" in values and not _is_quoted(given):
            word = SWITCH.get(word, word)
        if word not in values:
            guess = difflib.get_close_matches(word, values, n=1)
            raise ValueError(f"expects {expected}, not {value!r}" + (f"; did you mean {guess[0]}?" if guess else ""))
        return word

    return cast


def words(*values: str) -> Cast:
    """A list of text, each one of ``values`` where these are given; outside a file also ``a,b`` or ``[a, b]``."""
    expected = "a list" + (f" of {', '.join(values)}" if values else " of text")

    def cast(given: Given) -> tuple[str, ...]:
        node = given.node
        if isinstance(node, yaml.ScalarNode) and not node.tag and node.value.lstrip().startswith("["):
            node = _compose_list(node.value, expected)
        if isinstance(node, yaml.ScalarNode) and not node.tag:
            found = tuple(part.strip() for part in node.value.split(",") if part.strip())
        elif isinstance(node, yaml.SequenceNode) and all(isinstance(n, yaml.ScalarNode) for n in node.value):
            found = tuple(str(n.value) for n in node.value)
        else:
            raise ValueError(f"expects {expected}")
        for word in found:
            if values and word not in values:
                raise ValueError(f"expects {expected}, not {word!r}")
        return found

    return cast


def _compose_list(value: str, expected: str) -> yaml.Node:
    try:
        node = yaml.compose(value, Loader=_Loader)
    except yaml.YAMLError as error:
        raise ValueError(f"expects {expected}, not {value!r}") from error
    if node is None:
        raise ValueError(f"expects {expected}")
    return node


def weights(low: float, high: float) -> Cast:
    """A mapping of names to numbers within the bounds."""
    inner = number(low, high)

    def cast(given: Given) -> Mapping[str, float]:
        if not isinstance(given.node, yaml.MappingNode):
            raise ValueError("expects `name: number` lines")
        found: dict[str, float] = {}
        for key, value in given.node.value:
            try:
                found[str(key.value)] = inner(Given(value, given.where, given.base, given.home))
            except ValueError as error:
                raise ValueError(f"{key.value} (line {line_of(key)}) {error}") from error
        return found

    return cast


def path(given: Given) -> Path:
    """A path: ``~`` is the home folder, a relative one starts at the file it is written in (else here)."""
    value = _scalar(given, "a path")
    if _is_null(given) or value == "" or "\0" in value:
        raise ValueError("expects a path")
    if value == "~" or value.startswith("~/"):
        return Path(given.home, value[2:])
    return Path(given.base, Path(value).expanduser())


def _unmarked(file: Path, text: str, error: yaml.YAMLError) -> Problem:
    """The reader of the library says which character it does not take, and not in which line."""
    what = f"not valid YAML: {str(error).splitlines()[0]}"
    if not isinstance(error, yaml.reader.ReaderError):
        return Problem(str(file), what)
    line = text.count("\n", 0, text.find(chr(error.character))) + 1
    return Problem(f"{file}:{line}", what)
