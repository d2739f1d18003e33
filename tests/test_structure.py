"""Budgets and promises about the tree itself: sizes, documents, dependencies, what may not be committed."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from source_tree import PACKAGE, REPO, external, modules

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
MAX_PARAMETERS = 5
DISTRIBUTIONS = {  # the name in the index -> the name in an import
    "duckdb-extension-vss": "duckdb_extension_vss",
    "prometheus-client": "prometheus_client",
    "pystemmer": "Stemmer",
    "python-frontmatter": "frontmatter",
    "pyyaml": "yaml",
    "systemd-python": "systemd",
}
NEVER_IMPORTED = {"httptools"}  # uvicorn takes it by its presence
COMES_WITH = {
    "starlette",
    "pydantic_core",
    "httpx",
}  # of fastapi, pydantic and ollama, in whose place they are imported


def tracked(pattern: str = "") -> list[Path]:
    """Files that are committed (or about to be), that still exist."""
    done = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=REPO, capture_output=True, check=False, text=True,
    )  # fmt: skip
    if done.returncode != 0:
        pytest.skip("not a git checkout")
    paths = [REPO / name for name in done.stdout.split("\0") if name]
    return [p for p in paths if p.is_file() and p.match(pattern or "*")]


def _functions(tree: ast.Module) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]


def test_files_stay_short() -> None:
    """No file of the program is over 400 lines."""
    sizes = {m.path: len(m.path.read_text("utf-8").splitlines()) for m in modules()}
    assert {str(p.relative_to(REPO)): n for p, n in sizes.items() if n > MAX_FILE_LINES} == {}


def test_functions_stay_short() -> None:
    """No function of the program is over 60 lines."""
    found = [
        f"{m.path.relative_to(REPO)}:{f.lineno} {f.name}: {(f.end_lineno or 0) - f.lineno + 1} lines"
        for m in modules()
        for f in _functions(m.tree)
        if (f.end_lineno or 0) - f.lineno + 1 > MAX_FUNCTION_LINES
    ]
    assert found == []


def test_functions_take_few_parameters() -> None:
    """More than five positional parameters are one record instead."""
    found = [
        f"{m.path.relative_to(REPO)}:{f.lineno} {f.name}"
        for m in modules()
        for f in _functions(m.tree)
        if len([a for a in (*f.args.posonlyargs, *f.args.args) if a.arg not in ("self", "cls")]) > MAX_PARAMETERS
    ]
    assert found == []


def test_public_names_have_docstrings() -> None:
    """Every module, and every public class and function at the top of one, says what it is for."""
    found = []
    for module in modules():
        nodes = [module.tree, *(n for n in module.tree.body if isinstance(n, ast.ClassDef | ast.FunctionDef))]
        for node in nodes:
            name = getattr(node, "name", "module")
            if not name.startswith("_") and not ast.get_docstring(node):
                found.append(f"{module.path.relative_to(REPO)}: {name}")
    assert found == []


# --- documents --------------------------------------------------------------------------------------------------------


def _anchors(text: str) -> set[str]:
    headings = re.findall(r"^#{1,6} +(.+?) *#*$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


def documents() -> list[Path]:
    """Our documents; the demo vault and the test data are notes."""
    return [p for p in tracked("*.md") if not {"demo", "tests"} & set(p.relative_to(REPO).parts)]


@pytest.mark.parametrize("document", documents(), ids=lambda p: p.name)
def test_links_in_documents_lead_somewhere(document: Path) -> None:
    """Every relative link of a document leads to a file that is there, and to a heading that it has."""
    text = re.sub(r"```.*?```|`[^`]*`", "", document.read_text("utf-8"), flags=re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        path = (document.parent / file).resolve() if file else document
        assert path.exists(), f"{document.name}: {target}"
        if anchor and path.suffix == ".md":
            assert anchor in _anchors(path.read_text("utf-8")), f"{document.name}: {target}"


def test_documents_name_only_files_that_exist() -> None:
    """A path of the program that a document puts into code quotes is there."""
    wrong = []
    for document in documents():
        for name in re.findall(
            r"`((?:mindnetd|benchmarks|tests|deploy|scripts|config|docs)/[\w./@-]+\.\w+)`", document.read_text("utf-8")
        ):
            if not (REPO / name).exists():
                wrong.append(f"{document.relative_to(REPO)}: {name}")
    assert wrong == []


def test_every_decision_is_listed() -> None:
    """The list of decisions has each of them."""
    folder = REPO / "docs/decisions"
    listed = set(re.findall(r"\]\((\d{4}-[\w-]+\.md)\)", (folder / "README.md").read_text("utf-8")))
    assert listed == {p.name for p in folder.glob("0*.md")}


def test_documents_name_only_tests_that_exist() -> None:
    """A test that a document names is there, so that no promise outlives its proof."""
    wrong = []
    for document in documents():
        for file, name in re.findall(r"`(tests/\w+\.py)::(\w+)`", document.read_text("utf-8")):
            path = REPO / file
            if not path.exists() or f"def {name}(" not in path.read_text("utf-8"):
                wrong.append(f"{document.name}: {file}::{name}")
    assert wrong == []


def test_the_walk_through_names_only_code_that_exists() -> None:
    """The tables of docs/architecture.md name functions and classes; a renamed one is renamed there."""
    code = "\n".join(path.read_text("utf-8") for path in sorted((REPO / "mindnetd").rglob("*.py")))
    defined = set(re.findall(r"^ *(?:async )?(?:def|class) (\w+)", code, re.MULTILINE))
    rows = re.findall(r"^\|.*\|$", (REPO / "docs/architecture.md").read_text("utf-8"), re.MULTILINE)
    named = {name.split(".")[-1] for row in rows for name in re.findall(r"`([\w.]+)`", row)}
    assert named and named <= defined, named - defined


# --- dependencies -----------------------------------------------------------------------------------------------------


def _project() -> dict[str, object]:
    return tomllib.loads((REPO / "pyproject.toml").read_text("utf-8"))


def _import_names(requirements: list[str]) -> set[str]:
    names = {re.split(r"[<>=!~\[ ;]", r)[0].lower() for r in requirements}
    return {DISTRIBUTIONS.get(name, name.replace("-", "_")) for name in names}


def test_dependencies_and_imports_agree() -> None:
    """What is required is imported, and what is imported is required (extras may serve optional imports)."""
    project = _project()["project"]
    assert isinstance(project, dict)
    extras = project["optional-dependencies"]
    required = _import_names(project["dependencies"])
    optional = _import_names([*extras["systemd"], *extras["openvino"], *extras["hnsw"]])
    used = {name for m in modules() for name, _ in external(m)} - set(sys.stdlib_module_names)
    assert required - NEVER_IMPORTED - used == set(), "required but never imported"
    assert used - required - optional - COMES_WITH == set(), "imported but not required"


def test_what_the_tests_import_is_required() -> None:
    """A new environment with the extras of `make test` has everything that tests and measurements import."""
    project = _project()["project"]
    assert isinstance(project, dict)
    given = _import_names(
        [*project["dependencies"], *(r for extra in project["optional-dependencies"].values() for r in extra)]
    )
    here = {p.stem for folder in ("tests", "benchmarks") for p in (REPO / folder).glob("*.py")}
    used = {
        name
        for folder in ("tests", "benchmarks")
        for m in modules(REPO / folder)
        for name, _ in external(m)
        if name not in here and name not in sys.stdlib_module_names
    }
    assert used - given - COMES_WITH - {"benchmarks", "torch", "transformers"} == set()


def test_packages_are_listed() -> None:
    """Every folder with source is in the list of packages, or it would be missing from the wheel."""
    setuptools = _project()["tool"]["setuptools"]  # type: ignore[index]
    folders = {".".join(("mindnetd", *m.path.relative_to(PACKAGE).parts[:-1])) for m in modules()}
    assert folders <= set(setuptools["packages"])


# --- what is not committed --------------------------------------------------------------------------------------------


def test_no_machine_paths() -> None:
    """No committed text names a folder of the machine it was written on."""
    pattern = re.compile(r"(?<![\w.])/" + r"(work|farm|root)/|/tmp/" + r"w/")
    found = []
    for path in tracked():
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(REPO)}: {m.group()}" for m in pattern.finditer(text)]
    assert found == []


def test_no_leftovers() -> None:
    """The program has no prints, no unfinished marks, and swallows no error blindly."""
    marks = re.compile(r"\b(" + "TO" + r"DO|FIX" + r"ME|XX" + r"X)\b|NotImplemented" + "Error")
    found = [str(m.path.relative_to(REPO)) for m in modules() if marks.search(m.path.read_text("utf-8"))]
    assert found == []
