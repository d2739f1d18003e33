"""The program's own source as data: modules, their imports, their functions. Used by the tests of structure."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
PACKAGE = REPO / "mindnetd"


@dataclass(frozen=True)
class Module:
    """One source file. ``name`` is dotted, without the package's own: ``core.chunk``, ``cli``, ``""`` for the root."""

    name: str
    path: Path
    tree: ast.Module

    def inside(self, *areas: str) -> bool:
        """True if the module is one of ``areas`` or lies below it; ``server*`` stands for every name that begins so."""
        return any(
            self.name.startswith(a[:-1]) if a.endswith("*") else self.name == a or self.name.startswith(a + ".")
            for a in areas
        )


@cache
def modules(folder: Path = PACKAGE) -> tuple[Module, ...]:
    """Every module of the package."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found.append(Module(name, path, ast.parse(path.read_text("utf-8"))))
    return tuple(found)


def _type_checking_only(tree: ast.Module) -> set[int]:
    """Ids of nodes below ``if TYPE_CHECKING:``, which never run."""
    hidden: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            hidden.update(id(child) for statement in node.body for child in ast.walk(statement))
    return hidden


def imports(module: Module, *, running_only: bool = False) -> Iterator[tuple[str, int]]:
    """Full dotted names that a module imports, at any depth, with the line; ``from a import b`` gives ``a.b``."""
    hidden = _type_checking_only(module.tree) if running_only else set()
    for node in ast.walk(module.tree):
        if id(node) in hidden:
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module.path}:{node.lineno}: imports are absolute here"
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)


def internal(module: Module, *, running_only: bool = False) -> Iterator[tuple[str, int]]:
    """The package's own modules that a module imports, without the package's name."""
    names = {m.name for m in modules()}
    for full, line in imports(module, running_only=running_only):
        if full == "mindnetd" or full.startswith("mindnetd."):
            short = full.removeprefix("mindnetd").removeprefix(".")
            yield (short if short in names else short.rpartition(".")[0]), line


def external(module: Module) -> Iterator[tuple[str, int]]:
    """Top-level names of everything else that a module imports."""
    for full, line in imports(module):
        if full.split(".")[0] not in ("mindnetd", "__future__"):
            yield full.split(".")[0], line
