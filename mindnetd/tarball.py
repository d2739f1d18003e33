"""Writing a tar, byte for byte the same for the same members: POSIX pax, no owner, times to the nanosecond.

Not for: reading one (the client does, with ``tarfile``), nor for deciding what goes in (``export``).
"""

from __future__ import annotations

import hashlib
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO

from mindnetd.errors import BadRequest

BLOCK = tarfile.BLOCKSIZE
RECORD = tarfile.RECORDSIZE
LARGEST = 8 << 30
"""A member that grows while it is written has a header of one block, and that holds no larger size."""
_LATEST = (1 << 33) - 1


@dataclass(frozen=True, slots=True)
class Member:
    """A written member: its name, size, and the SHA-256 (hex) of its bytes."""

    name: str
    size: int
    sha256: str


class Growing:
    """A member that is being written; its size is known at its end."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._hash = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes) -> None:
        """Add bytes. Raises BadRequest where a tar cannot hold as many."""
        self.size += len(data)
        if self.size >= LARGEST:
            raise BadRequest("more than 8 GiB in one file: export the notes as md, or one note at a time")
        self._hash.update(data)
        self._out.write(data)

    @property
    def sha256(self) -> str:
        """Of what was written so far, as hex."""
        return self._hash.hexdigest()


class Shelf:
    """Pieces put down in any order and taken up in the order of paths; in a nameless file but for their places."""

    def __init__(self, folder: Path) -> None:
        self._file: Any = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  # __exit__ closes it
        self._end = 0
        self._places: list[tuple[str, int, int, int | None]] = []

    def __enter__(self) -> Shelf:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __len__(self) -> int:
        """How many pieces there are."""
        return len(self._places)

    def put(self, path: str, data: bytes, stamp: int | None = None) -> None:
        """Put a piece down; those of one path keep their order."""
        self._places.append((path, self._end, len(data), stamp))
        self._file.write(data)
        self._end += len(data)

    def take(self) -> Iterator[tuple[str, bytes, int | None]]:
        """All pieces by path: path, bytes, stamp."""
        for path, start, size, stamp in sorted(self._places, key=itemgetter(0, 1)):
            self._file.seek(start)
            yield path, self._file.read(size), stamp


class TarWriter:
    """Members into a seekable file. A name that could leave the folder it is unpacked in is refused (ValueError)."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self.members: list[Member] = []
        """Those that grew; members given whole are not kept."""

    def add(self, name: str, data: bytes, mtime_ns: int | None = None) -> None:
        """A member that is in memory; `name` as ``os`` spells it (undecodable bytes as surrogates)."""
        self._out.write(header(name, len(data), mtime_ns))
        self._out.write(data)
        self._pad(len(data))

    @contextmanager
    def grow(self, name: str) -> Iterator[Growing]:
        """A member written piece by piece; `name` is a short one of ours."""
        start = self._out.tell()
        self._out.write(bytes(BLOCK))
        member = Growing(self._out)
        yield member
        self._pad(member.size)
        end = self._out.tell()
        self._out.seek(start)
        self._out.write(header(name, member.size, None))
        self._out.seek(end)
        self.members.append(Member(name, member.size, member.sha256))

    def close(self) -> None:
        """The end of the archive. The file stays open."""
        self._out.write(bytes(2 * BLOCK))
        self._out.write(bytes(-self._out.tell() % RECORD))

    def _pad(self, size: int) -> None:
        self._out.write(bytes(-size % BLOCK))


def header(name: str, size: int, mtime_ns: int | None) -> bytes:
    """The header of a regular file, with a pax header before it where the plain one cannot say it all.

    Without a time it says 0, and no pax header that this is meant.
    """
    if any(part in ("", ".", "..") for part in name.split("/")) or "\0" in name:
        raise ValueError(f"{name!r}: no name of a file inside a folder")
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, 0o644
    if mtime_ns is not None:
        info.mtime = max(0, min(_LATEST, mtime_ns // 1_000_000_000))
        if mtime_ns == 0 or mtime_ns != info.mtime * 1_000_000_000:
            info.pax_headers = {"mtime": seconds(mtime_ns)}
    return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")


def seconds(time_ns: int) -> str:
    """Nanoseconds as a decimal number of seconds, without loss."""
    whole, rest = divmod(abs(time_ns), 1_000_000_000)
    return f"{'-' if time_ns < 0 else ''}{whole}.{rest:09d}"
