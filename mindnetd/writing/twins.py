"""Two files whose paths differ in Unicode form only (NFC and NFD): one note, and one copy that is left out.

Ids are made of the path in NFC, so both would be one note, and for a reader their names are the same. Such pairs come
from sync tools and archives of other systems. The file in NFC counts, else the first of them in code point order; the
others are conflict copies with a diagnostic (``core.exclude.twins`` is the rule, the scan applies it to a whole tree).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mindnetd.core.exclude import twins
from mindnetd.core.identity import nfc
from mindnetd.core.records import Diagnostic, VaultFile
from mindnetd.watching.scan import Classifier

if TYPE_CHECKING:
    from mindnetd.writing.known import Known
    from mindnetd.writing.plan import Plan

READ_KINDS = ("note", "canvas")


def left_out(plan: Plan, known: Known, classifier: Classifier) -> list[VaultFile]:
    """The files of a batch, and those it concerns, that are no notes because another has their name.

    What was read of them leaves `plan`. A file whose better has gone is put among the plan's unstable ones: it is read
    next.
    """
    gone = set(plan.gone)
    read = {file.path: file for file in (*(f for _, f in plan.drafts), *(f for _, _, f in plan.canvases))}
    keys = {nfc(path) for path in (*read, *gone) if not path.isascii()}
    losers: list[VaultFile] = []
    for key in sorted(keys):
        near = {*known.odd_spellings.get(key, ()), key, *(path for path in read if nfc(path) == key)}
        there = {path for path in near if (path in known.files or path in read) and path not in gone}
        group = {path for path in there if classifier.kind(path) in READ_KINDS}
        lost = twins(group)
        losers += [replace(read[path], kind="conflict") for path in sorted(lost & read.keys())]
        losers += [
            replace(known.files[path], kind="conflict") for path in sorted(lost - read.keys()) if known.key(path)
        ]
        plan.unstable += [path for path in group - lost if path not in read and known.key(path) is None]
    plan.discard(file.path for file in losers)
    return losers


def why_left_out(path: str, classifier: Classifier) -> Diagnostic:
    """What to tell of a file of kind ``conflict``."""
    if classifier.kind(path) == "conflict":
        message = "a conflict copy of a sync tool is not indexed: merge it into its note, then delete it"
        return Diagnostic("conflict_copy", message)
    message = "another file has this very name in another Unicode form (NFC, NFD): merge the two, then delete this one"
    return Diagnostic("name_twin", message)
