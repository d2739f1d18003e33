"""Which file systems inotify cannot be trusted on: changes behind them raise no event (``docs/watching.md``)."""

from __future__ import annotations

import os
import re
from pathlib import Path

BLIND = frozenset(
    {
        *("9p", "afs", "ceph", "cifs", "coda", "drvfs", "fuse", "fuseblk", "glusterfs", "ncpfs", "nfs", "nfs4"),
        *("overlay", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs"),
    }
)
"""File systems whose content can change without the kernel here knowing; ``fuse.*`` counts as ``fuse``."""
_OCTAL = re.compile(r"\\([0-7]{3})")
MOUNTINFO = Path("/proc/self/mountinfo")


def blind_file_system(root: Path, mountinfo: str | None = None) -> str | None:
    """The type of the blind file system that `root` is on, or that is mounted inside it; None if there is none.

    `mountinfo` is the text of ``/proc/self/mountinfo``, read now if not given (None on a machine without it).
    """
    if mountinfo is None:
        try:
            mountinfo = MOUNTINFO.read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            return None
    top = os.path.realpath(root)
    holder, holder_type = "", ""
    inside: str | None = None
    for line in mountinfo.splitlines():
        point, fs_type = _parse(line)
        if _below(top, point) and len(point) >= len(holder):
            holder, holder_type = point, fs_type  # a later mount on the same point hides the earlier one
        elif _below(point, top) and _is_blind(fs_type):
            inside = fs_type
    return holder_type if _is_blind(holder_type) else inside


def _parse(line: str) -> tuple[str, str]:
    before, _, after = line.partition(" - ")
    fields = before.split(" ")
    point = fields[4] if len(fields) > 4 else "\0"
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), point), after.split(" ")[0]


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _is_blind(fs_type: str) -> bool:
    return fs_type.split(".")[0] in BLIND
