"""``mindnet query``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from mindnetd.client.paint import Paint, clean

if TYPE_CHECKING:
    from mindnetd.client.main import Call


def run_query(call: Call) -> int:
    """Ask; 1 when nothing was found."""
    body = call.client.post("/query", request_of(call.args))
    reply = json.loads(body)
    if call.json:
        call.raw(body)
    else:
        for line in show(reply, Paint(call.color), explain=call.args.explain):
            call.out(line)
    return 0 if reply["results"] else 1


def request_of(args: Any) -> dict[str, Any]:
    """The request body: only what was said, so that the daemon's defaults hold for the rest."""
    filters = {
        "visibility": split(args.visibility),
        "include_flags": split(args.include_flag),
        "types": split(args.type),
        "tags": split(args.tag),
        "status": split(args.status),
        "paths": args.path,
        "lang": args.lang,
        "modified": _given({"from": args.since, "to": args.until}),
    }
    request = {
        "text": " ".join(args.text),
        "mode": args.mode,
        "top_k": args.top_k,
        "graph_hops": args.hops,
        "explain": args.explain or args.json,
        "lanes": ["lexical", "title"] if args.no_dense else None,
        "filters": _given(filters),
    }
    return _given(request)


def split(values: list[str] | None) -> list[str]:
    """Repeated options and lists with commas, as one list."""
    return [part.strip() for value in values or () for part in value.split(",") if part.strip()]


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value not in (None, [], {})}


def show(reply: Mapping[str, Any], paint: Paint, *, explain: bool) -> Iterable[str]:
    """The reply for a person: a head line and the snippet of each result, then what it is good to know."""
    for hit in reply["results"]:
        yield from _hit(hit, paint, explain=explain)
        yield ""
    if not reply["results"]:
        yield "nothing found"
    for warning in reply["warnings"]:
        yield paint(f"! {clean(warning)}", "yellow")
    pending = reply["vectors"]["pending"]
    waiting = f", {pending} passages wait for their vector" if pending else ""
    reason = f" ({clean(reply['mode_reason'])})" if reply["mode_reason"] else ""
    count = len(reply["results"])
    yield paint(
        f"{count} result{'s' if count != 1 else ''} in {reply['took_ms'].get('total', 0):.0f} ms, "
        f"mode {reply['mode']}{reason}, revision {reply['revision']}{waiting}",
        "dim",
    )


def _hit(hit: Mapping[str, Any], paint: Paint, *, explain: bool) -> Iterable[str]:
    note, chunk = hit["note"], hit["chunk"]
    where = note["path"] + (f":{chunk['start_line']}" if chunk else "")
    section = " › ".join(clean(part) for part in chunk["section"]) if chunk else ""
    yield f"{hit['rank']:>2}. {paint(clean(note['title']), 'bold')}  {paint(clean(where), 'cyan')}"
    if section:
        yield f"    {paint(section, 'blue')}"
    if chunk and chunk["snippet"]:
        yield "    " + paint.marked(chunk["snippet"], chunk["highlights"])
    if explain and hit.get("explain"):
        yield from _terms(hit, paint)


def _terms(hit: Mapping[str, Any], paint: Paint) -> Iterable[str]:
    terms = {name: part for name, part in hit["explain"].items() if isinstance(part, dict) and "term" in part}
    yield f"    score {hit['score']:.4f} = " + " ".join(
        f"{'+' if part['term'] >= 0 else '-'} {name} {abs(part['term']):.4f}" for name, part in terms.items()
    ).removeprefix("+ ")
    for name, part in terms.items():
        yield paint(f"      {name:<10} {part['value']:.4f} x {part['weight']:g} = {part['term']:.4f}", "dim")
        for edge in part.get("edges", ()):
            yield paint(f"        {edge['src']} -{edge['relation']}-> {edge['dst']} ({edge['weight']:g})", "dim")
    for lane, found in hit["explain"].get("lanes", {}).items():
        if found and found.get("score") is not None:
            rank = f"rank {found['rank']}" if found.get("rank") else "no rank"
            yield paint(f"      lane {lane}: {rank}, {found['score']:.4f}", "dim")
