"""A question of the API as the searcher takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindnetd.core.query import LANES, QuerySpec
from mindnetd.errors import BadRequest
from mindnetd.serving.filters_in import filters_of

if TYPE_CHECKING:
    from mindnetd.serving.kit import Kit
    from mindnetd.serving.wire import QueryRequest


def spec_of(body: QueryRequest, kit: Kit) -> QuerySpec:
    """The question as the searcher takes it. Raises BadRequest, Denied."""
    if not body.text.strip():
        raise BadRequest("text: must not be empty")
    view = kit.view(list(body.filters.visibility or ()), list(body.filters.include_flags))
    return QuerySpec(
        text=body.text,
        mode=body.mode,
        top_k=kit.services.searcher.settings.top_k if body.top_k is None else body.top_k,
        lanes=tuple(dict.fromkeys(body.lanes or LANES)),
        filters=filters_of(body.filters, view),
        graph_hops=body.graph_hops,
        explain=body.explain,
        prefix=body.prefix,
    )
