"""Runs and the query log without the paths of notes that a request may not see."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from mindnetd.serving.refs import Notes
from mindnetd.serving.view import View

Json = dict[str, Any]


class Redactor:
    """What of a log may be shown; made for one request."""

    def __init__(self, notes: Notes, view: View) -> None:
        hidden = sorted(meta.path for meta in notes if meta is not None and not view.shows(meta))
        self._hidden = frozenset(hidden)
        names = "|".join(re.escape(path) for path in hidden)
        self._named = re.compile(rf"(?<![\w/.-])(?:{names})(?![\w/-])") if names else None

    def errors(self, errors: Sequence[str]) -> list[str]:
        """The messages that name no hidden note."""
        return [text for text in errors if self._named is None or self._named.search(text) is None]

    def trace(self, trace_json: str | None) -> str | None:
        """A decision trace without hidden notes; ranks are counted again, so that no gap tells of one.

        Where one was taken out nothing is said of the lanes: their ranks have gaps too.
        """
        if trace_json is None or not self._hidden:
            return trace_json
        trace = json.loads(trace_json)
        if not isinstance(trace, list):
            return trace_json
        shown = [hit for hit in trace if hit.get("path") not in self._hidden]
        if len(shown) < len(trace):
            shown = [{name: value for name, value in hit.items() if name != "lanes"} for hit in shown]
        return json.dumps([{**hit, "rank": place} for place, hit in enumerate(shown, 1)])


def may_read(view: View, filters_json: str) -> bool:
    """Whether a logged question looked at no more than `view`: what was asked of hidden notes tells of them."""
    filters = json.loads(filters_json)
    flags = view.hiding.intersection(filters.get("include_flags") or ())
    return set(filters.get("visibility") or ()) <= view.levels and not flags
