"""``mindnet export``: the daemon sends a tar, this writes it: complete and checked, or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
import sys
import tarfile
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

from mindnetd.client.main import WrongUseError
from mindnetd.client.target import outside
from mindnetd.client.transport import UnreachableError, query_string

if TYPE_CHECKING:
    from mindnetd.client.main import Call

MANIFEST = ".mindnet-export.json"
PIECE = 1 << 18
UNFINISHED = ("starting", "indexing", "degraded")
_SURROGATES = re.compile("[\udc80-\udcff]")

Written = dict[str, tuple[int, str]]
"""Size and SHA-256 (hex) by vault path."""


class DamagedError(UnreachableError):
    """What came is no whole export: nothing of it is kept."""


def run_export(call: Call) -> int:
    """Write the vault, or one note, into a folder that is new, empty, or a former export."""
    status = json.loads(call.client.get("/status"))
    wanted = call.args.dir.rstrip("/") or "/"
    target = outside(wanted, status["vault"]["path"])
    _check_target(target)
    values = {"note": call.args.note, "format": call.args.format or "md"}
    part = f"{target}.part{os.getpid()}"
    try:
        os.mkdir(part, 0o700)
        try:
            pieces = call.client.stream("GET", "/export" + query_string(values), wait=True)
            manifest, size = _receive(pieces, part)
            _check_target(target)  # it may have changed meanwhile
            _put(part, target)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    except OSError as error:
        raise WrongUseError(f"cannot write {target}: {error.strerror}") from error
    _tell(call, manifest, size, target)
    if status["state"] in UNFINISHED:
        sys.stderr.write(f"mindnet: the daemon is {status['state']}: notes may be missing from this export\n")
    return 0


def _tell(call: Call, manifest: dict[str, Any], size: int, target: str) -> None:
    notes, edges = manifest["counts"]["notes"], manifest["counts"]["edges"]
    if call.json:
        out = {"directory": target, "format": manifest["format"], "revision": manifest["revision"]}
        call.out(json.dumps({**out, "notes": notes, "edges": edges, "bytes": size}))
        return
    what = "" if manifest["format"] == "md" else f" as {', '.join(file['name'] for file in manifest['files'])}"
    plural = "note" if notes == 1 else "notes"
    call.out(f"{notes} {plural}{what}, {_size(size)}, revision {manifest['revision']}: {target}")


def _size(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.1f} kB" if size >= 1e3 else f"{size} bytes"


# -------------------------------------------------------------------------------------------------------- the target


def _check_target(target: str) -> None:
    """Raise WrongUseError unless `target` may be written: not there, empty, or an untouched former export."""
    if not os.path.lexists(target):
        return
    if not os.path.isdir(target):
        raise WrongUseError(f"{target} is no folder; choose another name")
    if not os.listdir(target):
        return
    try:
        _, known = _manifest(target)
    except (OSError, ValueError, KeyError, TypeError):
        raise WrongUseError(f"{target} is not empty and no former export; choose another folder") from None
    changed = next(_strangers(target, known), None)
    if changed is not None:
        raise WrongUseError(f"{target} holds {changed}, which is not as it was exported; choose another folder")


def _strangers(folder: str, known: Written) -> Iterator[str]:
    """What a former export would lose: files that it did not write, or that were changed since."""
    root = os.fsencode(folder)
    for at, folders, files in os.walk(root):
        links = [name for name in folders if os.path.islink(os.path.join(at, name))]
        for name in (*files, *links):
            path = os.path.join(at, name)
            spelled = _spelled(os.path.relpath(path, root))
            if spelled != MANIFEST and (not _is_file(path) or known.get(spelled) != _look(path)):
                yield spelled


def _is_file(path: bytes) -> bool:
    return stat.S_ISREG(os.lstat(path).st_mode)


def _look(path: bytes) -> tuple[int, str]:
    digest, size = hashlib.sha256(), 0
    with open(path, "rb") as file:
        while piece := file.read(PIECE):
            digest.update(piece)
            size += len(piece)
    return size, digest.hexdigest()


def _put(part: str, target: str) -> None:
    """Give the finished folder its name; a former export goes when the new one is in its place."""
    if not os.path.isdir(target) or not os.listdir(target):
        os.rename(part, target)
        return
    old = f"{target}.old{os.getpid()}"
    os.rename(target, old)
    try:
        os.rename(part, target)
    except OSError:
        os.rename(old, target)
        raise
    shutil.rmtree(old, ignore_errors=True)


# ----------------------------------------------------------------------------------------------------- what comes in


class _Pipe:
    """The pieces of a reply as a file that can only be read on."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = b""

    def read(self, size: int) -> bytes:
        """At most `size` bytes; b"" at the end."""
        if not self._rest:
            self._rest = next(self._pieces, b"")
        part, self._rest = self._rest[:size], self._rest[size:]
        return part


def _receive(pieces: Iterator[bytes], folder: str) -> tuple[dict[str, Any], int]:
    """Unpack into `folder`; the manifest, and the bytes written. Raises DamagedError, UnreachableError, OSError."""
    pipe = _Pipe(pieces)
    written: Written = {}
    try:
        with tarfile.open(fileobj=pipe, mode="r|", encoding="utf-8", errors="surrogateescape") as tar:  # type: ignore[call-overload]
            while (info := tar.next()) is not None:
                tar.members = []  # else it would remember them all
                written[_spelled(_safe(info))] = _write(tar.extractfile(info), folder, info)
        while pipe.read(PIECE):  # to the end: a reply that breaks off is told
            pass
    except (tarfile.TarError, ValueError, FileExistsError, NotADirectoryError) as error:
        raise DamagedError(f"the export came damaged: {error}; nothing was written") from error
    return _checked(written, folder)


def _safe(info: tarfile.TarInfo) -> bytes:
    """The member's name as bytes, if it is a file that stays inside. Raises DamagedError."""
    name = info.name.encode("utf-8", "surrogateescape")
    if not info.isreg() or b"\0" in name or any(part in (b"", b".", b"..") for part in name.split(b"/")):
        raise DamagedError(f"the export has a member that is refused: {_spelled(name)!r}; nothing was written")
    return name


def _write(source: IO[bytes] | None, folder: str, info: tarfile.TarInfo) -> tuple[int, str]:
    path = os.path.join(os.fsencode(folder), _safe(info))
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        while source is not None and (piece := source.read(PIECE)):
            digest.update(piece)
            size += file.write(piece)
    at = _nanoseconds(info)
    if at is not None:
        with suppress(OverflowError):  # a time of the year 2446: the file keeps that of now
            os.utime(path, ns=(at, at))
    return size, digest.hexdigest()


def _nanoseconds(info: tarfile.TarInfo) -> int | None:
    """The exact time of a member; None where it has none (files that are no notes)."""
    text = info.pax_headers.get("mtime")
    if text is None:
        return int(info.mtime) * 1_000_000_000 or None
    whole, _, rest = text.lstrip("-").partition(".")
    value = int(whole) * 1_000_000_000 + int(rest[:9].ljust(9, "0"))
    return -value if text.startswith("-") else value


def _checked(written: Written, folder: str) -> tuple[dict[str, Any], int]:
    """The manifest, once every file is what it says. Raises DamagedError."""
    try:
        manifest, listed = _manifest(folder)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DamagedError("the export came without a manifest; nothing was written") from error
    del written[MANIFEST]
    if written != listed:
        wrong = next((name for name in sorted({*written, *listed}) if written.get(name) != listed.get(name)), "")
        raise DamagedError(f"the export differs from its manifest at {wrong!r}; nothing was written")
    return manifest, sum(size for size, _ in written.values())


def _manifest(folder: str) -> tuple[dict[str, Any], Written]:
    """What a manifest says in its head, and the files that it speaks of.

    Its edges may be many: ours has a note a line, and is read no further than it must be. Raises OSError, and
    ValueError, KeyError or TypeError for a file that is none.
    """
    with open(os.path.join(folder, MANIFEST), encoding="utf-8") as file:
        first = file.readline()
        try:
            head: dict[str, Any] = json.loads(first.rstrip() + "]}")
        except ValueError:
            head = json.loads(first + file.read())
            notes = iter(head["notes"])
        else:
            notes = _notes(file)
        if head["manifest"] != "mindnet-export":
            raise KeyError("manifest")
        if head["format"] == "md":
            return head, {note["path"]: (note["size"], note["sha256"]) for note in notes}
    return head, {file["name"]: (file["size"], file["sha256"]) for file in head["files"]}


def _notes(file: IO[str]) -> Iterator[dict[str, Any]]:
    for line in file:
        if line.startswith("]"):
            return
        if line := line.strip().rstrip(","):
            yield json.loads(line)


def _spelled(name: bytes) -> str:
    r"""A name on disk in the spelling of a vault path: bytes that are no UTF-8 as ``\xNN``."""
    return _SURROGATES.sub(lambda m: f"\\x{ord(m[0]) - 0xDC00:02x}", name.decode("utf-8", "surrogateescape"))
