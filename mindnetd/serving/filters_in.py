"""The filters of a request as the lanes take them."""

from __future__ import annotations

from mindnetd.core.filters import DateRange, Filters
from mindnetd.errors import BadRequest
from mindnetd.serving.view import View
from mindnetd.serving.wire import DateRange as DateRangeIn
from mindnetd.serving.wire import FiltersIn


def filters_of(given: FiltersIn, view: View) -> Filters:
    """The filters as the lanes take them."""
    return Filters(
        visibility=tuple(sorted(view.levels)),  # type: ignore[arg-type]  # view_of let only levels through
        include_flags=tuple(sorted(given.include_flags)),
        types=tuple(given.types),
        tags=tuple(given.tags),
        status=tuple(given.status),
        paths=tuple(given.paths),
        lang=given.lang,
        created=_range(given.created),
        modified=_range(given.modified),
        frontmatter=tuple(sorted((key, text_of(value)) for key, value in given.frontmatter.items())),
    )


def _range(given: DateRangeIn | None) -> DateRange:
    return DateRange(given.from_, given.to) if given else DateRange()


def text_of(value: object) -> str:
    """A frontmatter value to look for, as text. Raises BadRequest for a list or mapping."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    raise BadRequest("filters.frontmatter: values are texts, numbers or booleans")
