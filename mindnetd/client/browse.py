"""``mindnet note``, ``notes``, ``unresolved``, ``diagnostics``: reading what is in the index."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from mindnetd.client.paint import Paint, clean, table
from mindnetd.client.transport import quote

if TYPE_CHECKING:
    from mindnetd.client.main import Call

PAGE = 500


def run_note(call: Call) -> int:
    """One note."""
    body = call.client.get(f"/notes/{quote(call.args.note)}", **call.seen)
    if call.json:
        call.raw(body)
        return 0
    for line in show_note(json.loads(body), Paint(call.color), chunks=call.args.chunks):
        call.out(line)
    return 0


def show_note(reply: Mapping[str, Any], paint: Paint, *, chunks: bool) -> Iterable[str]:
    """A note for a person."""
    note = reply["note"]
    yield f"{paint(clean(note['title']), 'bold')}  {paint(clean(note['path']), 'cyan')}"
    for name in ("id", "note_id", "type", "status", "visibility", "lang", "created", "modified", "hash_mode"):
        if note[name]:
            yield f"  {name:<11} {clean(str(note[name]))}"
    for name in ("tags", "aliases", "flags"):
        if note[name]:
            yield f"  {name:<11} {', '.join(clean(str(item)) for item in note[name])}"
    yield f"  {'vectors':<11} {reply['embedded']} of {reply['passages']} passages"
    if note["stale"]:
        yield paint("  stale: the text changed, its metadata did not (hash_mode frontmatter)", "yellow")
    yield from _links(reply["links"], paint)
    yield from _section("linked from", (f"{b['path']}:{b['line'] or 1}  {b['relation']}" for b in reply["backlinks"]))
    yield from _section("problems", (_problem(item) for item in reply["diagnostics"]))
    if chunks:
        for chunk in reply["chunks"]:
            head = f"chunk {chunk['idx']}  lines {chunk['start_line']}-{chunk['end_line']}  {chunk['tokens']} tokens"
            yield "\n" + paint(f"{head}  {' › '.join(chunk['section'])}".rstrip(), "blue")
            yield "\n".join(clean_line(line) for line in chunk["text"].rstrip("\n").split("\n"))


def clean_line(line: str) -> str:
    """A line of a note without control characters, its spaces kept."""
    return "".join(c if c.isprintable() or c == "\t" else " " for c in line)


def _links(links: list[Mapping[str, Any]], paint: Paint) -> Iterable[str]:
    rows = []
    for link in links:
        goes = link["resolved"] or paint("unresolved", "yellow")
        rows.append(f"{clean(link['raw'])} → {goes}{' (ambiguous)' if link['ambiguous'] else ''}")
    return _section("links", rows)


def _section(title: str, rows: Iterable[str]) -> Iterator[str]:
    for number, row in enumerate(rows):
        if number == 0:
            yield f"  {title}"
        yield f"    {row}"


def _problem(item: Mapping[str, Any]) -> str:
    line = f":{item['line']}" if item["line"] else ""
    return (
        f"{item['path'] + line + '  ' if 'path' in item else ('line ' + str(item['line']) + '  ' if line else '')}"
        + (f"{item['code']}  {clean(item['message'])}")
    )


def run_notes(call: Call) -> int:
    """The list of notes; all of them unless a limit is given."""
    given = {"prefix": call.args.prefix, "type": call.args.type, "tag": call.args.tag, **call.seen}
    rows = [
        [n["path"], n["title"], n["type"] or "", n["status"] or "", n["modified"]] for n in _all(call, "notes", given)
    ]
    return _print(call, rows)


def run_unresolved(call: Call) -> int:
    """Link targets without a file."""
    rows = []
    for item in _all(call, "unresolved", call.seen):
        first = item["sources"][0] if item["sources"] else {"path": "", "line": None}
        names = " = ".join([item["target"], *item["spellings"][1:]])
        rows.append([names, f"{item['count']}x", f"{first['path']}:{first['line'] or 1}" if first["path"] else ""])
    return _print(call, rows)


def run_orphans(call: Call) -> int:
    """Notes without an edge from or to another note."""
    rows = [[n["path"], n["title"], n["type"] or "", n["modified"]] for n in _all(call, "orphans", call.seen)]
    return _print(call, rows)


def run_diagnostics(call: Call) -> int:
    """What is wrong, in all notes or in one."""
    given = {"note": call.args.note, **call.seen}
    found = _all(call, "diagnostics", given)
    return _print(call, [[f"{item['path']}:{item['line'] or 1}", item["code"], item["message"]] for item in found])


def _all(call: Call, name: str, given: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The items of a list, page by page; with --json the pages go out as they come and nothing is yielded."""
    left = call.args.limit or 0
    client, cursor = call.client, None
    while True:
        size = min(left, PAGE) if left else PAGE
        body = client.get(f"/{name}", **given, limit=size, cursor=cursor)
        reply = json.loads(body)
        if call.json:
            call.raw(body)
        else:
            yield from reply[name]
        left -= len(reply[name])
        cursor = reply["next"]
        if cursor is None or (call.args.limit and left <= 0):
            return


def _print(call: Call, rows: list[list[str]]) -> int:
    if call.json:
        return 0
    for line in table(rows):
        call.out(line)
    return 0 if rows else 1
