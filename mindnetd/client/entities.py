"""``mindnet entities``: what the notes mention, and one of it with its places and relations."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from mindnetd.client.paint import Paint, clean, cut, table
from mindnetd.client.transport import quote

if TYPE_CHECKING:
    from mindnetd.client.main import Call

WIDEST = 100
LISTED = 50
MANY_RELATIONS = 20


def run_entities(call: Call) -> int:
    """The most mentioned, or those of a name; the one that a name means alone is shown in full."""
    text = call.args.text or ""
    given = {"type": call.args.type, "limit": call.args.limit or LISTED, **call.seen}
    body = call.client.get("/entities", q=text or None, **given)
    reply = json.loads(body)
    if call.json:
        call.raw(body)
        return 0 if reply["entities"] else 1
    paint = Paint(call.color)
    if text and len(reply["entities"]) == 1:
        one = reply["entities"][0]
        full = json.loads(call.client.get(f"/entities/{quote(one['id'])}", limit=LISTED, **call.seen))
        lines = entity_lines(full, paint)
    else:
        lines = list_lines(reply, paint)
    for line in lines:
        call.out(line)
    return 0 if reply["entities"] else 1


def list_lines(reply: Mapping[str, Any], paint: Paint) -> Iterator[str]:
    """Mentions, name, type, other names."""
    rows = [
        [str(one["mentions"]), one["name"], one["type"], one["path"] or "", ", ".join(one["aliases"])]
        for one in reply["entities"]
    ]
    yield from table(rows)
    more = reply["count"] - len(rows)
    if more:
        yield paint(f"({more} more; ask with a name, or a higher --limit)", "dim")
    if not rows:
        when = "none of that name" if reply["built_at"] else "none yet: `mindnet rebuild` makes the entity graph"
        yield paint(f"({when})", "yellow")


def entity_lines(reply: Mapping[str, Any], paint: Paint) -> Iterator[str]:
    """One entity: who it is, where it is mentioned, what it is related to."""
    one = reply["entity"]
    yield f"{paint(clean(one['name']), 'bold')}  {one['type']}  {paint(clean(one['path'] or ''), 'cyan')}".rstrip()
    yield f"  id        {one['id']}"
    if one["aliases"]:
        yield f"  also      {', '.join(map(clean, one['aliases']))}"
    if one["description"]:
        yield f"  is        {clean(one['description'])}"
    yield f"  mentions  {one['mentions']}"
    for place in reply["mentions"]:
        where = paint(f"{clean(place['path'])}:{place['line']}", "cyan")
        yield f"    {where}  {paint(cut(clean(place['text']), WIDEST), 'dim')}"
    if reply["next"]:
        yield "    ..."
    if reply["relationships"]:
        yield "  relations"
    for relation in reply["relationships"][:MANY_RELATIONS]:
        out = relation["source_id"] == one["id"]
        other = relation["target" if out else "source"]
        times = f"{relation['count']}x"
        line = f"    {'→' if out else '←'} {paint(clean(relation['type']), 'blue')}  {clean(other)}  {times}"
        places = relation["evidence"]
        yield line + (paint(f"  {clean(places[0]['path'])}:{places[0]['line']}", "dim") if places else "")
    more = len(reply["relationships"]) - MANY_RELATIONS
    if more > 0:
        yield paint(f"    ({more} more; --json has them)", "dim")
