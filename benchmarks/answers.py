"""The answers to twenty questions over a vault without an LLM: printed to be judged by a person who reads the sources.

    python -m benchmarks.answers VAULT [--questions FILE] [--model-cache DIR] [--only N ...]

FILE has a mode and a question a line, between them a tab; without it the questions are those of docs/answers.md, which
are about Obsidian's own help. What a machine can check is checked: exit code 1 where a citation is not real, that is,
where a number is not in the list, or the chunk or the line is not in the file, or the sentence's words are not there.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from mindnetd.answer import Answer, Answerer
from mindnetd.community_step import rebuild
from mindnetd.config import load_config
from mindnetd.core.filters import Filters
from mindnetd.core.query import QuerySpec
from mindnetd.daemon import index_once
from mindnetd.deadline import Deadline
from mindnetd.engine import Engine
from mindnetd.metrics import Metrics
from mindnetd.modes import Found, Modes
from mindnetd.search import Searcher
from mindnetd.store.read import StoreTexts

QUESTIONS = """\
local	How do I create a block reference?
local	What is a callout?
local	How can I turn off Restricted mode to install community plugins?
local	Where does Obsidian store its settings?
local	How do I restore a deleted note from version history?
local	What is the storage limit of Obsidian Sync?
local	Which file formats can be embedded in a note?
local	How do I add an alias to a note?
local	Can I use a custom domain with Obsidian Publish?
local	How do I search for notes with a certain tag?
global	What are the main themes of these notes?
global	Give me an overview of the ways to import notes from other apps
global	Summarize what the notes say about security and privacy
global	Which topics are covered about formatting text?
global	What is the big picture of working in a team with Obsidian?
drift	How are backlinks and outgoing links related?
drift	What is the difference between Obsidian Sync and Obsidian Publish?
drift	How do templates and daily notes connect?
drift	How do properties and Bases work together?
drift	Compare the graph view with canvas
"""
VISIBLE = Filters(visibility=("internal", "public"))
_WORDS = re.compile(r"\w+")


def opened(vault: Path, folder: Path, model_cache: str | None) -> Engine:
    """The vault, indexed afresh below ``folder``."""
    env = {"HOME": str(folder), "XDG_RUNTIME_DIR": str(folder)}
    env["XDG_CACHE_HOME"] = model_cache or str(Path.home() / ".cache")
    config = load_config(None, env, {"vault": str(vault), "db": str(folder / "index.duckdb")})
    index_once(config, lambda *_: None)
    engine = Engine(replace(config, offline=True), Metrics("benchmark"))
    engine.load()
    if not engine.entities.snapshot.communities:
        rebuild(engine, lambda store: store())
        engine.load()
    return engine


def wrong_citations(answer: Answer, found: Found, vault: Path) -> list[str]:
    """What is not real about the citations of an answer."""
    texts = {source.chunk.id: source.chunk for source in found.sources}
    named = {int(n) for n in re.findall(r"\[(\d+)\]", answer.text)}
    given = {entry["n"] for entry in answer.citations}
    wrong = [f"[{n}] is in the text or in the list only" for n in sorted(named ^ given)]
    for entry in answer.citations:
        chunk, lines = texts.get(entry["chunk_id"]), (vault / entry["path"]).read_text("utf-8").splitlines()
        if chunk is None or not chunk.start_line <= entry["line"] <= min(chunk.end_line, len(lines)):
            wrong.append(f"[{entry['n']}] is not in {entry['path']}")
    for paragraph in answer.text.split("\n\n"):
        wrong += _unsaid(paragraph, answer.citations, vault)
    return wrong


def _unsaid(paragraph: str, citations: list[dict[str, Any]], vault: Path) -> list[str]:
    """Lines of a paragraph with words that its source does not have."""
    marks = re.findall(r"\[(\d+)\]$", paragraph)
    if not marks:
        return []
    entry = next(one for one in citations if one["n"] == int(marks[0]))
    there = set(_WORDS.findall((vault / entry["path"]).read_text("utf-8").casefold()))
    said = paragraph.removesuffix(f"[{marks[0]}]").splitlines()
    body = said[1:] if len(said) > 1 else said
    missing = set(_WORDS.findall(" ".join(body).casefold())) - there
    return [f"[{marks[0]}]: not in {entry['path']}: {', '.join(sorted(missing))}"] if len(missing) > 3 else []


def show(n: int, spec: QuerySpec, found: Found, answer: Answer, seconds: float) -> None:
    """One question with its answer."""
    result = found.result
    print(
        f"\n## {n}. {spec.text}  ({result.mode}: {result.mode_reason}; {seconds * 1000:.0f} ms CPU)\n\n{answer.text}\n"
    )
    for entry in answer.citations:
        print(f"  [{entry['n']}] {entry['path']}:{entry['line']}")
    if result.follow_ups:
        print("  follow-ups:", "; ".join(one["text"] for one in result.follow_ups))
    if result.communities:
        print("  communities:", "; ".join(str(one["title"]) for one in result.communities))
    for warning in (*result.warnings, *answer.warnings):
        print("  !", warning)


def main() -> int:
    """Ask, print, check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("vault", type=Path)
    parser.add_argument("--questions", type=Path)
    parser.add_argument("--model-cache")
    parser.add_argument("--only", type=int, nargs="*")
    args = parser.parse_args()
    asked = args.questions.read_text("utf-8") if args.questions else QUESTIONS
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        engine = opened(args.vault.resolve(), Path(folder), args.model_cache)
        searcher = Searcher(engine.hot, StoreTexts(engine.db), engine.model.embed_query)
        modes = Modes(lambda: searcher, engine.hot.snapshot, engine.entities.of)
        answerer = Answerer(engine.counter, lambda: None)
        for n, line in enumerate(asked.splitlines(), 1):
            if args.only and n not in args.only:
                continue
            mode, text = line.split("\t")
            start, spec = time.process_time(), QuerySpec(text, mode=mode, filters=VISIBLE)
            found = modes.query(spec, Deadline(60), answer=True)
            answer = answerer.answer(found, Deadline(60))
            show(n, spec, found, answer, time.process_time() - start)
            bad = wrong_citations(answer, found, args.vault)
            wrong += len(bad)
            for one in bad:
                print("  WRONG:", one)
        engine.close()
    print(f"\ncitations that are not real: {wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
