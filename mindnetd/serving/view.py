"""What one request may see: visibility levels and flags (law 9). Every list, count and graph uses a ``View``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mindnetd.core.records import FLAGS, VISIBILITIES, NoteMeta, Visibility
from mindnetd.errors import BadRequest, Denied

DEFAULT: tuple[Visibility, ...] = ("public", "internal")


@dataclass(frozen=True, slots=True)
class View:
    """Levels that are shown, and flags that hide (those the request did not include)."""

    levels: frozenset[str]
    hiding: frozenset[str]

    def shows(self, meta: NoteMeta) -> bool:
        """True when this note may be seen, counted or hinted at."""
        return self.allows(meta.visibility, meta.flags)

    @property
    def canvases(self) -> bool:
        """May canvases be seen? They cannot say a visibility, so they have the safe default: internal."""
        return "internal" in self.levels

    def allows(self, visibility: str, flags: Sequence[str]) -> bool:
        """The same for a visibility and flags without their note."""
        return visibility in self.levels and not (self.hiding and self.hiding.intersection(flags))


def view_of(
    visibility: Sequence[str] | None,
    include_flags: Sequence[str],
    *,
    highest: Visibility,
    hidden_flags: Sequence[str],
) -> View:
    """The view that a request asked for; None or empty ``visibility`` is the default, as far as ``highest`` allows.

    Raises BadRequest for an unknown level or flag, Denied (``visibility_denied``) for a level above ``highest``.
    """
    limit = VISIBILITIES.index(highest)
    for level in visibility or ():
        if level not in VISIBILITIES:
            raise BadRequest(f"visibility: {level!r} is none of {', '.join(VISIBILITIES)}")
        if VISIBILITIES.index(level) > limit:
            raise Denied(
                f"visibility: {level} is above privacy.max_query_visibility, which is {highest}",
                detail={"asked": level, "max_query_visibility": highest},
            )
    for flag in include_flags:
        if flag not in FLAGS:
            raise BadRequest(f"include_flags: {flag!r} is none of {', '.join(FLAGS)}")
    levels = visibility or [level for level in DEFAULT if VISIBILITIES.index(level) <= limit]
    return View(frozenset(levels), frozenset(hidden_flags) - frozenset(include_flags))
