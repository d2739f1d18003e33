"""The truth about the vault: one walk over its folders, and the difference to what is known.

Watcher events are hints; a scan decides. It follows no folder link, so it cannot loop or leave the vault, and what it
could not read it names, so that nothing below is taken for deleted. 10,000 notes cost about a tenth of a second.
"""

from __future__ import annotations

import errno
import os
import stat as stat_bits
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from mindnetd.core.exclude import twins
from mindnetd.core.records import FileKind, VaultFile
from mindnetd.errors import VaultError
from mindnetd.watching.vaultio import ABSENT, RootId, file_stat, link_end, vault_name


class Classifier(Protocol):
    """What a path is to us (``core.exclude``); None: no part of the vault."""

    def kind(self, path: str, is_dir: bool = False) -> FileKind | None:
        """The kind of vault path `path`."""
        ...


@dataclass(frozen=True)
class ScanResult:
    """What one walk saw.

    ``folders`` counts the folders entered, the root included (as many watches are needed). ``unreadable`` are vault
    paths of folders or files that gave an error ("" is the root). ``entries`` counts everything directly in the root,
    dot files too: 0 looks like a mount that is not there. ``cost_s`` is the time the walk took.
    """

    files: dict[str, VaultFile]
    folders: int
    unreadable: list[str]
    root_id: RootId
    entries: int = 0
    cost_s: float = 0.0


@dataclass(frozen=True)
class Diff:
    """How a scan differs from what is known. ``vault_missing``: the root is empty where files were: removes nothing."""

    added: list[VaultFile] = field(default_factory=list)
    changed: list[VaultFile] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    same: int = 0
    vault_missing: bool = False

    @property
    def empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.added or self.changed or self.removed)


def scan(root: Path, classifier: Classifier) -> ScanResult:
    """Walk the vault at `root` (which may be a link itself). Raises VaultError if it is no folder or is not there."""
    started = time.perf_counter()
    try:
        top = os.path.realpath(root, strict=True)
        st = Path(top).stat()
        if not stat_bits.S_ISDIR(st.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, "not a folder")
    except OSError as error:
        raise VaultError(f"vault {root}: {error.strerror}; give the folder of your notes as `vault`") from error
    walk = _Walk(top, classifier)
    walk.run()
    for path in twins({path for path, file in walk.files.items() if file.kind in ("note", "canvas")}):
        walk.files[path] = replace(walk.files[path], kind="conflict")
    return ScanResult(
        files=walk.files,
        folders=walk.folders,
        unreadable=walk.unreadable,
        root_id=(st.st_dev, st.st_ino),
        entries=walk.entries,
        cost_s=time.perf_counter() - started,
    )


def diff(known: Mapping[str, VaultFile], found: ScanResult) -> Diff:
    """What has to be looked at. Nothing at or below an unreadable path, nothing of a lost root, counts as removed."""
    added: list[VaultFile] = []
    changed: list[VaultFile] = []
    for path, file in found.files.items():
        before = known.get(path)
        if before is None:
            added.append(file)
        elif before != file:
            changed.append(file)
    missing = bool(known) and not found.files and not found.entries
    gone = [] if missing else [path for path in known if path not in found.files]
    blind = frozenset(found.unreadable)
    removed = [path for path in gone if not any(part in blind for part in _self_and_parents(path))] if blind else gone
    return Diff(added, changed, removed, len(found.files) - len(added) - len(changed), missing)


def _self_and_parents(path: str) -> Iterator[str]:
    yield path
    end = path.rfind("/")
    while end > 0:
        yield path[:end]
        end = path.rfind("/", 0, end)
    yield ""


class _Walk:
    """The state of one walk: a stack of folders still to enter."""

    def __init__(self, top: str, classifier: Classifier) -> None:
        self.files: dict[str, VaultFile] = {}
        self.folders = 0
        self.unreadable: list[str] = []
        self.entries = 0
        self._top = top
        self._kind = classifier.kind
        self._stack: list[tuple[str, str]] = [(top, "")]

    def run(self) -> None:
        while self._stack:
            disk, path = self._stack.pop()
            try:
                self._enter(disk, path)
            except OSError as error:
                # Gone since its parent was listed is an absence; anything else hides what may well be there.
                if error.errno not in ABSENT or not path:
                    self.unreadable.append(path)

    def _enter(self, disk: str, path: str) -> None:
        prefix = f"{path}/" if path else ""
        with os.scandir(disk) as entries:
            self.folders += 1
            for entry in entries:
                if not path:
                    self.entries += 1
                self._file_or_folder(entry, prefix + vault_name(entry.name))

    def _file_or_folder(self, entry: os.DirEntry[str], path: str) -> None:
        try:
            if entry.is_dir(follow_symlinks=False):
                if self._kind(path, True) is not None:
                    self._stack.append((entry.path, path))
                return
            kind = self._kind(path, False)
            if kind is None:
                return
            if entry.is_symlink():
                self._link(entry, path, kind)
            elif entry.is_file(follow_symlinks=False):
                self.files[path] = VaultFile(path, kind, file_stat(entry.stat(follow_symlinks=False)))
        except OSError as error:
            if error.errno not in ABSENT:
                self.unreadable.append(path)

    def _link(self, entry: os.DirEntry[str], path: str, kind: FileKind) -> None:
        """A link counts if it ends at a file inside this vault, as for reading."""
        if entry.is_file() and link_end(self._top, entry.path) is not None:
            self.files[path] = VaultFile(path, kind, file_stat(entry.stat()))
