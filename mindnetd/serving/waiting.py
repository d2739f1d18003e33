"""Notes that wait for the language model, as diagnostics: nothing is missing, their graph is the plainer one."""

from __future__ import annotations

from collections.abc import Sequence

from mindnetd.core.records import Diagnostic
from mindnetd.lanes.snapshot import HotSnapshot
from mindnetd.store.llm import Pending
from mindnetd.store.records import StoredDiagnostic

CODE = "llm_pending"


def llm_diagnostics(
    pending: Sequence[Pending], snapshot: HotSnapshot, only: Sequence[int] | None
) -> list[StoredDiagnostic]:
    """One for each note that has questions without a usable reply; `only` are keys of notes, None: all."""
    by_note: dict[int, list[Pending]] = {}
    for one in pending:
        if only is None or one.note_key in only:
            by_note.setdefault(one.note_key, []).append(one)
    found = []
    for key, mine in sorted(by_note.items()):
        meta = snapshot.note(key)
        if meta is None:
            continue  # about no single note, or about one that has gone
        last = max(mine, key=lambda one: (one.tries, one.error))
        count = "a question" if len(mine) == 1 else f"{len(mine)} questions"
        told = f"{count} to the LLM about this note without a usable reply ({last.error}); it is asked again"
        found.append(StoredDiagnostic(meta.path, key, Diagnostic(CODE, told, None)))
    return found
