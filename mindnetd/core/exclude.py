"""What a path of the vault is to us, by its name alone: note, canvas, attachment, excluded, conflict copy, nothing."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from mindnetd.core.identity import nfc
from mindnetd.core.records import FileKind

_TEMPORARY = re.compile(r"#.*#$|~syncthing~|~\$|.*~$|4913$|sed[A-Za-z0-9]{6}$|.*\.tmp$", re.IGNORECASE | re.DOTALL)
_CONFLICT = re.compile(
    r".*(?:"
    r"\.sync-conflict-\d{8}-\d{6}(?:-[A-Z0-9]{7})?"
    r"| \(conflicted copy(?: [^()]*)?\)"
    r"| \([^()]*['’]s conflicted copy \d{4}-\d{2}-\d{2}[^()]*\)"
    r")\.[^.]+",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Rules:
    """What the configuration and Obsidian leave out.

    ``ignore`` are globs over vault paths (``*`` within a folder, ``**`` across folders; without a slash they match
    any file or folder name). ``user_ignore_filters`` is Obsidian's list: path prefixes, or patterns between slashes.
    """

    ignore: tuple[str, ...] = ()
    user_ignore_filters: tuple[str, ...] = ()


class Classifier:
    """Compiled rules. ``problems`` names the patterns that cannot be used, each with its reason."""

    def __init__(self, rules: Rules) -> None:
        self.problems: tuple[str, ...] = ()
        self._patterns = [re.compile(_glob(pattern), re.DOTALL) for pattern in rules.ignore if pattern.strip("/")]
        self._prefixes: tuple[str, ...] = ()
        for written in rules.user_ignore_filters:
            self._add_filter(written)

    def kind(self, path: str, is_dir: bool = False) -> FileKind | None:
        """The kind of the file at `path`; None where it is no part of the vault (dot folders, temporary files).

        For a folder anything but None means: look inside.
        """
        if path.startswith(".") or "/." in path:
            return None
        if is_dir:
            return "file"
        name = path.rpartition("/")[2]
        if _TEMPORARY.match(name):
            return None
        suffix = name.rpartition(".")[2].casefold()
        if suffix not in ("md", "canvas") or "." not in name:
            return "file"
        if "conflict" in name.casefold() and _CONFLICT.fullmatch(name):
            return "conflict"
        if self.excludes(path):
            return "ignored"
        return "note" if suffix == "md" else "canvas"

    def excludes(self, path: str) -> bool:
        """Whether a rule of the configuration or of Obsidian leaves this path out of the index."""
        path = nfc(path)
        if self._prefixes and path.startswith(self._prefixes):
            return True
        return any(pattern.search(path) for pattern in self._patterns)

    def _add_filter(self, written: str) -> None:
        if len(written) > 2 and written.startswith("/") and written.endswith("/"):
            try:
                self._patterns.append(re.compile(written[1:-1].replace("\\/", "/")))
            except re.error as error:
                self.problems += (f"userIgnoreFilters: {written} is no pattern that can be used: {error}",)
        elif written.strip("/"):
            self._prefixes += (nfc(written.removeprefix("/")),)


def compile_rules(rules: Rules) -> Classifier:
    """Make a classifier of `rules`; patterns that cannot be used are in its ``problems``."""
    return Classifier(rules)


def twins(paths: Collection[str]) -> frozenset[str]:
    """Those of `paths` that another one beats which differs in Unicode form only: the NFC form, else the first."""
    odd: dict[str, list[str]] = {}
    for path in paths:
        if nfc(path) != path:
            odd.setdefault(nfc(path), []).append(path)
    lost: set[str] = set()
    for key, spelled in odd.items():
        best = key if key in paths else min(spelled)
        lost.update(path for path in spelled if path != best)
    return frozenset(lost)


def _glob(pattern: str) -> str:
    """A glob as a regular expression for `search`; a pattern for a folder also covers what is in it."""
    pattern = nfc(pattern)
    anchored = "/" in pattern.rstrip("/")
    body = "".join(_part(part) for part in re.split(r"(\*\*/|/\*\*$|\*\*|\*|\?|\[[^\]/]+\])", pattern.strip("/")))
    return rf"{'^' if anchored else '(?:^|/)'}{body}(?:/|$)"


def _part(part: str) -> str:
    known = {"**/": "(?:.*/)?", "/**": "/.*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    if part in known:
        return known[part]
    if part.startswith("[") and part.endswith("]") and len(part) > 2:
        inner = part[1:-1].replace("\\", "\\\\")
        return f"[^{inner[1:]}]" if inner[0] in "!^" else f"[{inner}]"
    return re.escape(part)
