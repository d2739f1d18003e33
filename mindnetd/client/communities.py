"""``mindnet communities``: what the notes are about, in groups of things that belong together."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from mindnetd.client.paint import Paint, clean
from mindnetd.client.transport import quote

if TYPE_CHECKING:
    from mindnetd.client.main import Call

LISTED = 50
MANY_MEMBERS = 40


def run_communities(call: Call) -> int:
    """The list, or one with its members and what its summary is made of; 1 where there is none."""
    one = call.args.id
    if one:
        body = call.client.get(f"/communities/{quote(one)}", **call.seen)
    else:
        given = {"level": call.args.level, "limit": call.args.limit or LISTED}
        body = call.client.get("/communities", **given, **call.seen)
    reply, paint = json.loads(body), Paint(call.color)
    if call.json:
        call.raw(body)
    else:
        for line in community_lines(reply, paint) if one else list_lines(reply, paint):
            call.out(line)
    return 0 if one or reply["communities"] else 1


def list_lines(reply: Mapping[str, Any], paint: Paint) -> Iterator[str]:
    """Title, size and summary of each, parts indented below the level above."""
    for one in reply["communities"]:
        yield f"{paint(clean(one['title']), 'bold')}  {paint(one['label'], 'cyan')}  {one['size']} members"
        yield f"    {paint(clean(one['summary']), 'dim')}"
    more = reply["count"] - len(reply["communities"])
    if more:
        yield paint(f"({more} more; ask with --level, or a higher --limit)", "dim")
    if not reply["communities"]:
        none = "none of this level" if reply["built_at"] else "none yet: `mindnet rebuild` makes them"
        yield paint(f"({none})", "yellow")
    elif reply["stale"]:
        yield paint(f"(notes have changed since {reply['built_at']}; `mindnet rebuild` makes them anew)", "yellow")


def community_lines(reply: Mapping[str, Any], paint: Paint) -> Iterator[str]:
    """One community."""
    one = reply["community"]
    yield f"{paint(clean(one['title']), 'bold')}  {paint(one['label'], 'cyan')}  {one['id']}"
    yield f"  {clean(one['summary'])}  {paint('(' + one['summary_source'] + ')', 'dim')}"
    for how, others in (("part of", [reply["parent"]] if reply["parent"] else []), ("parts", reply["children"])):
        for place, other in enumerate(others):
            name = f"{clean(other['title'])}  {paint(other['label'], 'cyan')}  {other['size']} members"
            yield f"  {how if not place else '':<8} {name}"
    yield f"  {len(reply['members'])} members"
    for member in reply["members"][:MANY_MEMBERS]:
        path = paint(clean(member["path"] or ""), "cyan")
        yield f"    {clean(member['name'])}  {member['type']}  {member['mentions']}x  {path}".rstrip()
    if len(reply["members"]) > MANY_MEMBERS:
        yield paint(f"    ({len(reply['members']) - MANY_MEMBERS} more; --json has them)", "dim")
    if reply["sources"]:
        yield "  told by"
    for source in reply["sources"]:
        where = paint(f"{clean(source['path'])}:{source['start_line']}", "cyan")
        yield f"    {where}  {clean(source['sentence'])}"
