"""What ``mindnet explain`` and ``mindnet query --explain`` print: why a note is where it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mindnetd.client.paint import Paint, clean

Json = Mapping[str, Any]
NAMES = {
    "sim": "meaning",
    "kw": "words",
    "rrf": "ranks",
    "graph": "graph",
    "time": "time",
    "type": "type",
    "overrides": "relevance",
    "title": "title",
    "diversity": "diversity",
}
"""What a person calls a term; the API's own name stands beside it where the two differ."""
LANES = {"lexical": "words", "dense": "meaning", "title": "title"}
LEAST = 0.00005
"""A difference below this is none in four digits."""


def explanation(reply: Json, paint: Paint) -> Iterator[str]:
    """The reply for a person: the answer, the reasons, the lanes, the terms."""
    note, results, chunk = reply["note"], reply["results"], reply["chunk"]
    where = note["path"] + (f":{chunk['start_line']}" if chunk else "")
    yield f"{paint(clean(note['title']), 'bold')}  {paint(clean(where), 'cyan')}"
    head = f"number {reply['rank']} of {results['shown']} results" if reply["found"] else "not among the results"
    yield f"  {paint(head, 'green' if reply['found'] else 'yellow')}"
    for one in reply["reasons"]:
        if one["code"] != "found":
            yield f"  - {clean(one['message'])}"
    yield ""
    yield paint("  lanes", "bold")
    for name, told in reply["lanes"].items():
        yield f"    {LANES.get(name, name):<10} {_lane(name, told)}"
    yield ""
    would = "" if reply["found"] else f": number {reply['would_rank']}, if it were let through"
    yield paint(f"  score {reply['score']:.4f}{would}", "bold")
    yield from terms(reply["explain"], note, paint, indent=4)
    if not reply["found"] and results["last_score"] is not None:
        missing = results["last_score"] - reply["score"]
        yield f"    the last of {results['shown']} results has {results['last_score']:.4f}" + (
            f", {missing:.4f} more" if missing > 0 else ""
        )
    for warning in reply["warnings"]:
        yield paint(f"! {clean(warning)}", "yellow")


def _lane(name: str, told: Json) -> str:
    if name == "title":
        return "asked for by its name" if told["within"] else "not asked for by its name"
    if told["rank"] is None:
        place = "does not match"
    else:
        cut = "" if told["within"] else f", too far down: the first {told['limit']} are looked at"
        place = f"rank {told['rank']}{cut} ({_score(name, told['score'])})"
    more = ""
    if name == "lexical":
        more = "".join(f"; {verb} {', '.join(map(clean, told[verb]))}" for verb in ("has", "lacks") if told[verb])
    elif told.get("pending"):
        more = f"; {told['pending']} of {told['pending'] + told['ready']} passages wait for their vector"
    return place + more


def _score(lane: str, score: float) -> str:
    return f"{'cosine' if lane == 'dense' else 'BM25'} {score:.2f}"


def terms(explain: Json, note: Json, paint: Paint, indent: int) -> Iterator[str]:
    """A line a term: what it adds, value times weight, where that comes from; those that add nothing in one."""
    margin, nothing = " " * indent, list[str]()
    for name, part in parts(explain):
        if abs(part["term"]) < LEAST:
            nothing.append(NAMES.get(name, name))
            continue
        label = NAMES.get(name, name)
        sign = "red" if part["term"] < 0 else "green"
        figures = f"{part['value']:>8.4f} x {part['weight']:<5g}"
        why = _why(name, part, explain, note)
        added = paint(format(part["term"], ">+8.4f"), sign)
        yield f"{margin}{label:<10} {added}  {paint(figures, 'dim')}  {why}".rstrip()
        for edge in part.get("edges", ()):
            yield f"{margin}{'':<10} {'':>8}  {paint(_edge(edge), 'blue')}"
    if nothing:
        yield paint(f"{margin}{'nothing':<10} {'':>8}  {', '.join(nothing)}", "dim")


def parts(explain: Json) -> list[tuple[str, Json]]:
    """The terms, in the order of adding."""
    return [(name, part) for name, part in explain.items() if isinstance(part, dict) and "term" in part]


def _why(name: str, part: Json, explain: Json, note: Json) -> str:
    lane = explain.get("lanes", {}).get({"sim": "dense", "kw": "lexical"}.get(name, ""))
    if name in ("sim", "kw"):
        if not lane:
            return "no vector: the words stand in" if name == "sim" else ""
        return f"rank {lane['rank']}, {_score('dense' if name == 'sim' else 'lexical', lane['score'])}"
    if name == "time":
        days = part.get("age_days")
        return "" if days is None else f"{days} day{'s' if days != 1 else ''} old"
    if name == "graph" and part.get("held"):
        return "held back: not past the note that gives it"
    if name == "type":
        return clean(note.get("type") or "no type")
    return {
        "overrides": "what the note says of itself",
        "title": "asked for by its name",
        "diversity": "another part of this note stands above",
        "rrf": "from its ranks alone",
    }.get(name, "")


def _edge(edge: Json) -> str:
    """An edge in the direction it is written, with what it is worth and what was shared."""
    src, dst = (_name(edge.get(f"{end}_path") or edge[end]) for end in ("src", "dst"))
    told = [edge["source"], f"worth {edge['weight']:g}"]
    if edge.get("sharing", 1) > 1:
        told.append(f"one of {edge['sharing']} ties of {_name(edge['from'])}")
    if edge.get("strength") is not None:
        told.append(f"strength {edge['strength']:.2f}")
    return f"{src} -{clean(edge['relation'])}-> {dst} ({', '.join(told)})"


def _name(path: str) -> str:
    return clean(path.rpartition("/")[2].removesuffix(".md"))


def behind(hit: Json, before: Json) -> str | None:
    """Why a result stands behind the one before it: the terms that make the difference, the greatest first."""
    mine, other = dict(parts(hit["explain"])), dict(parts(before["explain"]))
    gaps = [
        (name, mine.get(name, {"term": 0.0})["term"] - other.get(name, {"term": 0.0})["term"])
        for name in dict.fromkeys((*other, *mine))
    ]
    told = [
        f"{NAMES.get(name, name)} {gap:+.4f}" for name, gap in sorted(gaps, key=lambda one: one[1]) if abs(gap) >= LEAST
    ]
    return f"{before['score'] - hit['score']:.4f} behind number {before['rank']}: {', '.join(told)}" if told else None


def of_hit(hit: Json, before: Json | None, paint: Paint) -> Iterable[str]:
    """The terms of one result, and what sets it behind the result before."""
    yield f"    score {hit['score']:.4f}"
    yield from terms(hit["explain"], hit["note"], paint, indent=6)
    lanes = hit["explain"].get("lanes", {})
    known = [
        f"{LANES.get(name, name)} rank {told['rank']}" for name, told in lanes.items() if told and told.get("rank")
    ]
    yield paint(f"      {'lanes':<10} {'':>8}  {', '.join(known) or 'in none: brought in by an edge'}", "dim")
    reason = behind(hit, before) if before is not None else None
    if reason:
        yield paint(f"      {reason}", "yellow")
