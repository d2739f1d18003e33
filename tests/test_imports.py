"""Who may import whom. The direction of the imports is the architecture; this is where it is kept."""

from __future__ import annotations

import ast
import sys

import pytest
from source_tree import REPO, Module, external, internal, modules

# area -> what of our own it may import ("" is the package root: the version)
ALLOWED: dict[str, tuple[str, ...]] = {
    "errors": (),
    "core": ("core", "errors"),
    "client": ("client", ""),
    "store": ("store", "core", "errors", "deadline"),
    "lanes": ("lanes", "core", "errors", "deadline"),
    "inference": ("inference", "core", "errors"),
}

# library -> the only modules that may import it
OWNERS: dict[str, tuple[str, ...]] = {
    "duckdb": ("store", "lanes.hnsw"),
    "duckdb_extensions": ("lanes.hnsw",),
    "duckdb_extension_vss": ("lanes.hnsw",),
    "graspologic_native": ("leiden",),
    "mcp": ("client.mcp_server",),
    "onnxruntime": ("inference",),
    "onnx": ("inference",),
    "openvino": ("inference",),
    "ollama": ("inference",),
    "safetensors": ("inference",),
    "tokenizers": ("inference",),
    "watchdog": ("watch", "watching"),
    "apscheduler": ("schedule",),
    "fastapi": ("server", "serving"),
    "starlette": ("server", "serving"),
    "uvicorn": ("server", "serving"),
    "pydantic": ("server", "serving"),
    "prometheus_client": ("metrics", "serving"),
    "rich": ("terminal",),
    "systemd": ("sdnotify", "telemetry"),
    "yaml": ("core", "settings"),
    "frontmatter": ("core",),
    "Stemmer": ("core",),
}

# core has no I/O, no clock, no environment
IMPURE = {
    "asyncio", "ctypes", "fcntl", "glob", "http", "io", "logging", "multiprocessing", "os", "random", "select",
    "shutil", "signal", "socket", "sqlite3", "subprocess", "tempfile", "time",
}  # fmt: skip
PURE_LIBRARIES = {"yaml", "frontmatter", "Stemmer", "numpy"}

# nobody below the composition root reads the configuration or the environment
MAX_CHAIN = 16  # 15 as measured; it may shrink, not grow
CONFIG_READERS = ("cli*", "config", "settings", "daemon", "engine", "service", "terminal")
ENVIRONMENT_READERS = ("cli", "client", "daemon", "sdnotify")


def broken(found: list[str]) -> None:
    assert not found, "\n" + "\n".join(found)


def test_areas_import_only_what_they_may() -> None:
    """Each area imports only the areas of its row."""
    broken([
        f"{module.path.relative_to(REPO)}:{line}: {area} may not import mindnetd.{target}"
        for area, allowed in ALLOWED.items()
        for module in modules()
        if module.inside(area)
        for target, line in internal(module)
        if not any(target == a or (a and target.startswith(a + ".")) for a in allowed)
    ])  # fmt: skip


def test_libraries_have_owners() -> None:
    """Each third-party library is known to one part only, so that it can be replaced there."""
    broken([
        f"{module.path.relative_to(REPO)}:{line}: {library} belongs to {', '.join(OWNERS[library])}"
        for module in modules()
        for library, line in external(module)
        if library in OWNERS and not module.inside(*OWNERS[library])
    ])  # fmt: skip


def test_core_is_pure() -> None:
    """core imports the standard library without I/O, and a few libraries that compute."""
    broken([
        f"{module.path.relative_to(REPO)}:{line}: core may not import {library}"
        for module in modules()
        if module.inside("core")
        for library, line in external(module)
        if library in IMPURE or (library not in sys.stdlib_module_names and library not in PURE_LIBRARIES)
    ])  # fmt: skip


def test_client_is_standard_library_only() -> None:
    """The client starts fast because it needs nothing but Python; only the server for agents needs its protocol."""
    broken([
        f"{module.path.relative_to(REPO)}:{line}: the client may not import {library}"
        for module in modules()
        if module.inside("client")
        for library, line in external(module)
        if library not in sys.stdlib_module_names and not (library == "mcp" and module.name == "client.mcp_server")
    ])  # fmt: skip


def test_nobody_imports_the_top() -> None:
    """The composition root and the command line are imported by the command line only."""
    broken([
        f"{module.path.relative_to(REPO)}:{line}: {target} may not be imported"
        for module in modules()
        if not module.inside("cli*")
        for target, line in internal(module)
        if target in ("daemon", "cli")
    ])  # fmt: skip


def test_configuration_stays_at_the_top() -> None:
    """Below the composition root values come in as arguments; nobody there knows the configuration."""
    broken([
        f"{module.path.relative_to(REPO)}:{line}: may not import the configuration"
        for module in modules()
        if not module.inside(*CONFIG_READERS)
        for target, line in internal(module)
        if target == "config" or target.startswith("settings.")
    ])  # fmt: skip


def _environment_reads(module: Module) -> list[int]:
    """Lines that read it; ``environ.setdefault`` only tells a library something before it is imported."""
    defaults = {
        id(node.value)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute) and node.attr == "setdefault"
    }
    return [
        node.lineno
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute)
        and node.attr in ("environ", "getenv", "environb")
        and id(node) not in defaults
    ]


def test_environment_stays_at_the_top() -> None:
    """Only the command lines and the composition root read it, and the notifier to see if it may use the library."""
    broken([
        f"{module.path.relative_to(REPO)}:{line}: may not read the environment"
        for module in modules()
        if not module.inside(*ENVIRONMENT_READERS)
        for line in _environment_reads(module)
    ])  # fmt: skip


def _graph() -> dict[str, set[str]]:
    return {m.name: {t for t, _ in internal(m, running_only=True) if t not in ("", m.name)} for m in modules()}


def test_no_cycles_and_short_chains() -> None:
    """The modules form a graph without cycles; the longest chain from the top to the bottom stays readable."""
    graph, depth, path = _graph(), {}, []

    def visit(name: str) -> int:
        if name in path:
            pytest.fail("import cycle: " + " -> ".join([*path[path.index(name) :], name]))
        if name not in depth:
            path.append(name)
            depth[name] = 1 + max((visit(target) for target in sorted(graph.get(name, ()))), default=0)
            path.pop()
        return depth[name]

    longest = max(graph, key=visit)
    assert depth[longest] <= MAX_CHAIN, f"the import chain from {longest} is {depth[longest]} modules long"
