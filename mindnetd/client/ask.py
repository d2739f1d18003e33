"""``mindnet query``, ``mindnet ask`` and ``mindnet explain``."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from mindnetd.client.explain import explanation, of_hit
from mindnetd.client.main import WrongUseError
from mindnetd.client.paint import Paint, clean
from mindnetd.client.transport import RefusedError

if TYPE_CHECKING:
    from mindnetd.client.main import Call

HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t#]*$")
FENCE = re.compile(r" {0,3}(```+|~~~+)")
ONLY_NEAR = "None of these notes has a word of the question: they are the nearest in meaning, however far away."


def run_query(call: Call) -> int:
    """Ask; 1 when nothing was found."""
    if not " ".join(call.args.text).strip():
        raise WrongUseError("the question is empty; try: mindnet query 'what I look for'")
    body = call.client.post("/query", request_of(call.args))
    reply = json.loads(body)
    if call.json:
        call.raw(body)
    else:
        for line in show(reply, Paint(call.color), explain=call.args.explain):
            call.out(line)
    return 0 if reply["results"] else 1


def run_ask(call: Call) -> int:
    """Answer in sentences, as they come, then the numbered sources; 1 where the notes say nothing."""
    if not " ".join(call.args.text).strip():
        raise WrongUseError("the question is empty; try: mindnet ask 'what I want to know'")
    request = {**request_of(call.args), "answer": True}
    if call.json:
        body = call.client.post("/query", request)
        call.raw(body)
        return 0 if json.loads(body)["answer"]["citations"] else 1
    paint = Paint(call.color)
    told, results, done = "", None, None
    for event in events(call.client.stream("POST", "/query", {**request, "stream": True}, wait=True)):
        if event["event"] == "results":
            results = event
        elif event["event"] == "token":
            piece = printable(event["text"])
            told += piece
            sys.stdout.write(piece)
            sys.stdout.flush()
        elif event["event"] == "done":
            done = event
        elif event["event"] == "error":
            error = event["error"]
            raise RefusedError(503, error["code"], error["message"], error["detail"], json.dumps(event).encode())
    if results is None or done is None:
        raise RefusedError(503, "cut_off", "the answer ended before it was whole", {}, b"{}")
    for line in answer_end(told, results, done, paint, explain=call.args.explain):
        call.out(line)
    return 0 if done["answer"]["citations"] else 1


def run_explain(call: Call) -> int:
    """Why a note is among the results, or why not; 1 where it is not."""
    if not call.args.text.strip():
        raise WrongUseError("the question is empty; try: mindnet explain 'what I look for' NOTE")
    body = call.client.post("/explain", {**request_of(call.args, call.args.text), "note": call.args.note})
    reply = json.loads(body)
    if call.json:
        call.raw(body)
    else:
        for line in explanation(reply, Paint(call.color)):
            call.out(line)
    return 0 if reply["found"] else 1


def events(pieces: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """The events of an NDJSON stream."""
    pending = b""
    for piece in pieces:
        *lines, pending = (pending + piece).split(b"\n")
        yield from (json.loads(line) for line in lines if line.strip())


def printable(text: str) -> str:
    """The text without control characters, its lines kept."""
    return "".join(c if c.isprintable() or c == "\n" else " " for c in text)


def answer_end(
    told: str, results: Mapping[str, Any], done: Mapping[str, Any], paint: Paint, *, explain: bool
) -> Iterator[str]:
    """What follows the text that was streamed: the text that holds, where that is another; sources; warnings."""
    answer = done["answer"]
    if told and not told.endswith("\n"):
        yield ""
    if printable(answer["text"]).split() != told.split():
        if told.strip():
            yield paint("\nThis was not finished, or not as its sources have it. What holds:", "yellow")
        yield printable(answer["text"])
    if answer["citations"]:
        yield ""
    for one in answer["citations"]:
        where = f"{one['path']}:{one.get('line') or one['start_line']}"
        title = f"{paint(clean(one['title']), 'bold')}  " if one.get("title") else ""
        yield f"[{one['n']}] {title}{paint(clean(where), 'cyan')}"
    for warning in dict.fromkeys((*results["warnings"], *done.get("warnings", ()))):
        yield paint(f"! {clean(warning)}", "yellow")
    by = f"answered by {answer['model']}" if answer["source"] == "llm" else "sentences of the notes, no LLM"
    reason = f", mode {results['mode']} ({clean(results['mode_reason'])})" if explain else ""
    yield paint(f"{by}{reason}", "dim")


def request_of(args: Any, text: str | None = None) -> dict[str, Any]:
    """The request body: only what was said, so that the daemon's defaults hold for the rest."""
    request = {
        "text": " ".join(args.text) if text is None else text,
        "mode": args.mode,
        "top_k": args.top_k,
        "graph_hops": args.hops,
        "explain": True,  # the lanes tell which notes have the words
        "lanes": ["lexical", "title"] if args.no_dense else None,
        "filters": filters_of(args),
    }
    return _given(request)


def filters_of(args: Any) -> dict[str, Any]:
    """The filters that were given."""
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
    return _given(filters)


def split(values: list[str] | None) -> list[str]:
    """Repeated options and lists with commas, as one list."""
    return [part.strip() for value in values or () for part in value.split(",") if part.strip()]


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value not in (None, [], {})}


def show(reply: Mapping[str, Any], paint: Paint, *, explain: bool) -> Iterable[str]:
    """The reply for a person: a head line and the snippet of each result, then what it is good to know."""
    before: Mapping[str, Any] | None = None
    for hit in reply["results"]:
        yield from _hit(hit, paint)
        if explain and hit.get("explain"):
            yield from of_hit(hit, before, paint)
        yield ""
        before = hit
    if not reply["results"]:
        yield "nothing found"
    elif not any(_by_name_or_words(hit) for hit in reply["results"]):
        yield paint(ONLY_NEAR, "yellow")
    for warning in reply["warnings"]:
        yield paint(f"! {clean(warning)}", "yellow")
    yield paint(_last_line(reply, explain=explain), "dim")


def _by_name_or_words(hit: Mapping[str, Any]) -> bool:
    lanes = (hit["explain"] or {}).get("lanes", {})
    return not lanes or any(name != "dense" for name in lanes)


def _last_line(reply: Mapping[str, Any], *, explain: bool) -> str:
    count, pending = len(reply["results"]), reply["vectors"]["pending"]
    parts = [f"{count} result{'s' if count != 1 else ''} in {reply['took_ms'].get('total', 0):.0f} ms"]
    if explain:
        reason = f" ({clean(reply['mode_reason'])})" if reply["mode_reason"] else ""
        parts += [f"mode {reply['mode']}{reason}", f"revision {reply['revision']}"]
    if pending:
        parts.append(f"{pending} passages wait for their vector")
    return ", ".join(parts)


def _hit(hit: Mapping[str, Any], paint: Paint) -> Iterable[str]:
    note, chunk = hit["note"], hit["chunk"]
    line, headings = spot(chunk) if chunk else (0, [])
    if headings and headings[0] == note["title"]:
        headings = headings[1:]  # the note's name stands above already
    where = note["path"] + (f":{line}" if line else "")
    yield f"{hit['rank']:>2}. {paint(clean(note['title']), 'bold')}  {paint(clean(where), 'cyan')}"
    if headings:
        yield f"    {paint(' › '.join(clean(part) for part in headings), 'blue')}"
    if chunk and chunk["snippet"]:
        yield "    " + paint.marked(chunk["snippet"], chunk["highlights"])


def spot(chunk: Mapping[str, Any]) -> tuple[int, list[str]]:
    """Line and headings of the first word that is marked, else of the snippet: a chunk may hold many short sections,
    and its own line and headings are those of the first."""
    text, at = chunk["text"], chunk["text"].find(chunk["snippet"])
    if at < 0 or not chunk["snippet"]:
        return chunk["start_line"], list(chunk["section"])
    before = text[: at + (chunk["highlights"][0][0] if chunk["highlights"] else 0)].count("\n")
    return chunk["start_line"] + before, _headings(list(chunk["section"]), text.split("\n")[: before + 1])


def _headings(section: list[str], lines: list[str]) -> list[str]:
    """The headings over the last of ``lines``; those that the lines begin with are the end of ``section``."""
    above, opened, leading = section, list[tuple[int, str]](), True
    for line, found in _outside_code(lines):
        if found:
            level = len(found[1])
            if not leading and (not opened or level < opened[0][0]):
                above = []  # their levels are not known here: better one heading than a wrong path
            opened = [*(one for one in opened if one[0] < level), (level, found[2])]
        elif leading and line.strip():
            leading, above = False, section[: len(section) - len(opened)]
    return section if leading else [*above, *(name for _, name in opened)]


def _outside_code(lines: list[str]) -> Iterable[tuple[str, re.Match[str] | None]]:
    """Each line, with the match of a heading where it is one and no line of a code block."""
    fence = ""
    for line in lines:
        mark = FENCE.match(line)
        yield line, None if fence or mark else HEADING.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence):
            fence = ""
