"""A batch while it is put together, between the two halves of the road (``index.py``)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, fields, replace

from mindnetd.core.derive import Draft
from mindnetd.core.records import VaultFile
from mindnetd.store.records import PathDiagnostics
from mindnetd.writing.runs import Run


@dataclass
class Plan:
    """One batch while it is put together: what was read, what is gone, whose links are touched."""

    run: Run
    force: bool = False
    drafts: list[tuple[Draft, VaultFile]] = field(default_factory=list)
    canvases: list[tuple[str, bytes, VaultFile]] = field(default_factory=list)
    files: list[VaultFile] = field(default_factory=list)
    """Looked at; their bytes are as before, or they have none that matter."""
    gone: list[str] = field(default_factory=list)
    troubles: list[PathDiagnostics] = field(default_factory=list)
    unstable: list[str] = field(default_factory=list)
    touched: set[int] = field(default_factory=set)
    """Keys of sources whose links may mean another file now."""
    removed: set[int] = field(default_factory=set)

    def __len__(self) -> int:
        """How many files it holds."""
        return len(self.drafts) + len(self.canvases) + len(self.files) + len(self.gone)

    def discard(self, paths: Iterable[str]) -> None:
        """Forget these: something newer is known of them."""
        known = set(paths)
        self.drafts = [(draft, file) for draft, file in self.drafts if file.path not in known]
        self.canvases = [entry for entry in self.canvases if entry[0] not in known]
        self.files = [file for file in self.files if file.path not in known]
        self.gone = [path for path in self.gone if path not in known]
        self.troubles = [trouble for trouble in self.troubles if trouble.path not in known]

    def split(self, most: int) -> Plan:
        """Take all of it but the drafts beyond the first `most`, which stay here."""
        first = replace(self, drafts=self.drafts[:most])
        rest = Plan(self.run, self.force, drafts=self.drafts[most:])
        for entry in fields(Plan):
            setattr(self, entry.name, getattr(rest, entry.name))
        return first

    def heal(self, troubled: Collection[str]) -> None:
        """Those of `troubled` that have been read, or looked at, without a trouble now have none any more."""
        still = {trouble.path for trouble in self.troubles}
        read = [file for _, file in self.drafts] + [file for *_, file in self.canvases] + self.files
        self.troubles += [PathDiagnostics(f.path, ()) for f in read if f.path in troubled and f.path not in still]

    def paths(self) -> list[str]:
        """Every path that was read for it."""
        read = [*(file for _, file in self.drafts), *(file for *_, file in self.canvases), *self.files]
        return [file.path for file in read] + self.gone
