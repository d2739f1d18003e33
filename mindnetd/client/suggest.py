"""``mindnet suggest``: what a note may lack."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from mindnetd.client.paint import Paint, clean, cut
from mindnetd.client.transport import quote

if TYPE_CHECKING:
    from mindnetd.client.main import Call

HEADS = {
    "mention": "Named here, not linked",
    "mentioned_by": "Names this note, does not link to it",
    "near": "Near in meaning, not linked",
    "unresolved": "Links that lead nowhere: perhaps meant",
}
WIDEST = 100


def run_suggest(call: Call) -> int:
    """Links, tags, type and status that a note may lack; 1 where nothing is suggested."""
    body = call.client.get(f"/notes/{quote(call.args.note)}/suggestions", limit=call.args.limit, **call.seen)
    reply = json.loads(body)
    code = 0 if any(reply[part] for part in ("links", "tags", "type", "status")) else 1
    if call.json:
        call.raw(body)
        return code
    for line in lines(reply, Paint(call.color)):
        call.out(line)
    return code


def lines(reply: Mapping[str, Any], paint: Paint) -> Iterator[str]:
    """The reply for a reader."""
    for kind, head in HEADS.items():
        links = [one for one in reply["links"] if one["kind"] == kind]
        if links:
            yield paint(head, "blue")
        for one in links:
            yield from _link(one, paint)
    for name, found in (("Tags", reply["tags"]), ("Type", reply["type"]), ("Status", reply["status"])):
        for n, one in enumerate(found if isinstance(found, list) else [found] if found else []):
            if not n:
                yield paint(name, "blue")
            value = f"#{one['tag']}" if "tag" in one else one["value"]
            yield f"{_sure(one, paint)}  {paint(clean(value), 'bold')}  {paint(_grounds(one['evidence']), 'dim')}"
    for warning in reply["warnings"]:
        yield paint(f"({clean(warning)})", "yellow")


def _link(one: Mapping[str, Any], paint: Paint) -> Iterator[str]:
    note, line = one["note"], one["line"]
    yield f"{_sure(one, paint)}  {paint(clean(note['title']), 'bold')}  {paint(clean(note['path']), 'cyan')}"
    place = f"line {line}: " if line else ""
    yield f"      {place}{paint(cut(clean(one['text']), WIDEST), 'mark')}"
    if one["kind"] != "unresolved":
        yield f"      {paint(cut(clean(one['evidence']), WIDEST), 'dim')}"
    yield f"      {paint(clean(one['reason']), 'dim')}"


def _sure(one: Mapping[str, Any], paint: Paint) -> str:
    return paint(f"{one['confidence']:.2f}", "green")


def _grounds(evidence: list[Mapping[str, Any]]) -> str:
    return ", ".join(clean(_ground(one)) for one in evidence)


def _ground(one: Mapping[str, Any]) -> str:
    return f"{one['why']}: {one['path']}" if one.get("path") else f"{one['why']}, line {one.get('line')}"
