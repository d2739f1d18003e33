"""Small integers for strings."""

from __future__ import annotations

import bisect
from collections.abc import Sequence


class Codes:
    """Small integers for strings, given out by the one writer, read by all; never changed once given."""

    def __init__(self, texts: Sequence[str] = ()) -> None:
        self.texts = list(texts)
        self.ids = {text: code for code, text in enumerate(self.texts)}
        self._sorted: tuple[int, list[str]] = (0, [])

    def give(self, text: str) -> int:
        """The code of `text`, a new one if need be."""
        code = self.ids.get(text)
        if code is None:
            code = self.ids[text] = len(self.texts)
            self.texts.append(text)
        return code

    def starting_with(self, prefix: str, limit: int) -> list[str]:
        """At most `limit` texts that start with `prefix`, in order. Sorts now and then, looks through the newest."""
        known, ordered = self._sorted
        if len(self.texts) - known > 2000 or not known:
            known = len(self.texts)
            ordered = sorted(self.texts[:known])
            self._sorted = (known, ordered)
        at = bisect.bisect_left(ordered, prefix)
        found: list[str] = []
        while at < len(ordered) and ordered[at].startswith(prefix) and len(found) < limit:
            found.append(ordered[at])
            at += 1
        return sorted([*found, *(text for text in self.texts[known:] if text.startswith(prefix))])[:limit]
