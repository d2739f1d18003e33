"""The results of ``mindnet mcp`` as text: for agents that read no structured content. Made of the structured result
alone, so both say the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mindnetd.client.mcp_fit import lines_of

Json = Mapping[str, Any]


def write(name: str) -> Callable[[Json], str]:
    """The writer of a tool."""
    writer = WRITERS[name]
    return lambda result: lines_of(writer(result))


def _query(result: Json) -> Iterator[str]:
    reason = f" ({result['mode_reason']})" if result.get("mode_reason") else ""
    count = len(result["results"])
    yield f"{count} result{'' if count == 1 else 's'}, mode {result['mode']}{reason}"
    if result.get("answer"):
        yield from _answer(result["answer"])
    for hit in result["results"]:
        yield from _hit(hit)
    for entity in result.get("entities", ())[:1]:
        names = ", ".join(f"{one['name']} ({one['type']})" for one in result["entities"])
        yield f"\nEntities: {names}" if entity else ""
    if result.get("relationships"):
        yield "Relations: " + "; ".join(f"{r['source']} {r['type']} {r['target']}" for r in result["relationships"])
    for one in result.get("communities", ()):
        yield f"Theme: {one['title']} (mindnet_communities id={one['id']}): {one.get('summary', '')}"
    for warning in result.get("warnings", ()):
        yield f"Warning: {warning}"
    if result.get("vectors"):
        yield f"{result['vectors']['pending']} passages wait for their vector: meaning is not searched in them yet."
    if result.get("left_out"):
        yield f"{result['left_out']} more results were left out to keep this small: narrow the filters, or lower top_k."
    if not count:
        yield "Nothing found. Try other words, fewer filters, or mindnet_status to see if the index is ready."
    elif any(hit["chunk"] and hit["chunk"]["cut"] for hit in result["results"]):
        yield "\nTexts are cut (…); read on with mindnet_note, ref = the path, start_line = the line."


def _answer(answer: Json) -> Iterator[str]:
    how = f"by {answer['model']}" if answer.get("source") == "llm" else "sentences of the notes"
    yield f"\nAnswer ({how}):\n{answer['text']}"
    for one in answer.get("citations", ()):
        yield f"[{one['n']}] {one['path']}:{one.get('line') or one['start_line']}"


def _hit(hit: Json) -> Iterator[str]:
    note, chunk = hit["note"], hit["chunk"]
    place = note["path"] + (f":{chunk['line']}" if chunk else "")
    section = " > ".join(part for part in chunk["section"] if part != note["title"]) if chunk else ""
    kind = f", {note['type']}" if note.get("type") else ""
    head = f"\n{hit['rank']}. {note['title']} ({place}{kind}) score {hit['score']:.3f}"
    yield head + (f"  [{section}]" if section else "")
    if chunk:
        yield chunk["text"]


def _note(result: Json) -> Iterator[str]:
    note = result["note"]
    yield f"{note['title']} ({note['path']})"
    for name in ("id", "type", "status", "tags", "aliases", "created", "modified", "visibility", "flags"):
        if note.get(name):
            value = note[name]
            yield f"{name}: {', '.join(value) if isinstance(value, list) else value}"
    yield f"\nLines {result['start_line']} to {result['end_line']}:\n{result['text']}\n"
    if result["next_start_line"]:
        yield f"The text goes on: call again with start_line={result['next_start_line']}.\n"
    if result["links"]:
        yield "Links: " + "; ".join(_link(link) for link in result["links"])
    if result["backlinks"]:
        told = (f"{one['path']}:{one['line'] or 1} ({one['relation']})" for one in result["backlinks"])
        yield "Linked from: " + "; ".join(told)
    for problem in result["diagnostics"]:
        line = f" line {problem['line']}" if problem.get("line") else ""
        yield f"Problem{line}: {problem['code']}: {problem['message']}"


def _link(link: Json) -> str:
    goes = link.get("resolved") or f"{link.get('target', '')} (missing)"
    return f"{link.get('relation', 'references')} {goes}"


def _subgraph(result: Json) -> Iterator[str]:
    nodes = {node["id"]: node for node in result["nodes"]}
    names = {key: _name(node) for key, node in nodes.items()}
    root = result["nodes"][0]
    edges = len(result["edges"])
    yield f"{_name(root)}: {len(nodes) - 1} other nodes, {edges} edge{'' if edges == 1 else 's'}"
    sources = dict.fromkeys(edge["src"] for edge in result["edges"])
    for source in sources:
        yield f"\n{names.get(source, '?')}"
        for edge in result["edges"]:
            if edge["src"] == source:
                line = f", line {edge['line']}" if edge.get("line") else ""
                told = f'  "{edge["evidence"]}"' if edge.get("evidence") else ""
                yield f"  -{edge['relation']}-> {names.get(edge['dst'], '?')}{line}{told}"
    if result["truncated"]:
        yield "More edges were cut off: ask with depth 1, with a relation, or with a higher limit."


def _name(node: Json) -> str:
    place = f" ({node['path']})" if node.get("path") else "" if node["kind"] == "note" else f" ({node['kind']})"
    return f"{node.get('label', '?')}{place}"


def _related(result: Json) -> Iterator[str]:
    for one in result["related"]:
        why = "; ".join(reason.get("text", reason["kind"]) for reason in one["reasons"])
        yield f"{one['score']:.2f}  {one['note']['title']} ({one['note']['path']}): {why}"
    if not result["related"]:
        yield "No other note is near to it."
    for warning in result.get("warnings", ()):
        yield f"Warning: {warning}"


def _communities(result: Json) -> Iterator[str]:
    if "communities" in result:
        shown = result["communities"]
        for one in shown:
            yield f"{one['title']} (level {one['level']}, {one['size']} members, id {one['id']})"
            yield f"  {' '.join(one['summary'].split())}"
        if not shown:
            yield "There are no communities yet, or none of this level; they are made on the daemon's schedule."
        elif len(shown) < result.get("count", 0):
            yield f"{result['count'] - len(shown)} more: ask with a level, or a higher limit."
        if result.get("stale"):
            yield f"Notes have changed since these were made ({result.get('built_at')})."
        return
    yield from _community(result)


def _community(result: Json) -> Iterator[str]:
    one = result["community"]
    yield f"{one['title']} (level {one['level']}, {one['size']} members, summary {one['summary_source']})"
    yield " ".join(one["summary"].split())
    members = (f"{m['name']} ({m['type']}{', ' + m['path'] if m.get('path') else ''})" for m in result["members"])
    yield "\nMembers: " + "; ".join(members)
    for source in result["sources"]:
        yield f"- {' '.join(source['sentence'].split())} ({source['path']}:{source['start_line']})"
    near = [("Part of", result["parent"]), *(("Has part", child) for child in result["children"])]
    for how, other in near:
        if other:
            yield f"{how}: {other['title']} (id {other['id']}, {other['size']} members)"


def _status(result: Json) -> Iterator[str]:
    reason = f": {result['reason']}" if result.get("reason") else ""
    yield f"{result['state']}{reason}, vault {result['vault'].get('name', '')} ({result['vault'].get('path', '')})"
    yield ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in result["counts"].items())
    if result["vectors_pending"]:
        yield f"{result['vectors_pending']} passages wait for their vector: they are found by their words only."
    model, llm = result["model"], result["llm"]
    yield f"model: {model['name'] + ('' if model.get('ready') else ' (not ready)') if model else 'none, words only'}"
    if isinstance(llm, dict):
        yield "llm: " + ", ".join(f"{name} {value}" for name, value in llm.items() if value not in (None, "", [], {}))


WRITERS: dict[str, Callable[[Json], Iterator[str]]] = {
    "mindnet_query": _query,
    "mindnet_note": _note,
    "mindnet_subgraph": _subgraph,
    "mindnet_related": _related,
    "mindnet_communities": _communities,
    "mindnet_status": _status,
}
