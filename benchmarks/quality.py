"""Retrieval quality over public sets with the real pieces: nDCG@10 by set and lane, beside an independent BM25.

    python -m benchmarks.quality EVAL_DIR [--sets NAME ...] [--cache DIR] [--model-cache DIR] [--min-mean 0.75]

EVAL_DIR holds SET.jsonl.gz, SET.queries.tsv, SET.qrels.tsv and score.py. Exit code 1 where hybrid is below the better
single lane by 0.005 or more on some set, or where the mean of the plain sets is below ``--min-mean``.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import bm25s
import Stemmer

from benchmarks.corpus import Cache, index_of, notes_of
from mindnetd.core.query import QuerySpec
from mindnetd.core.rank import RetrievalSettings
from mindnetd.deadline import Deadline
from mindnetd.inference.backends import open_embedder
from mindnetd.inference.embedder import EmbedderOptions
from mindnetd.search import Searcher

SETS = ("cranfield", "musique100", "hotpot100", "xquad_de")
LINKED = ("musique100", "hotpot100")
GERMAN = ("xquad_de",)
DEPTH = 100
RUNS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "lexical": (("lexical",), "weighted"),
    "dense": (("dense",), "weighted"),
    "hybrid": (("lexical", "dense", "title"), "weighted"),
    "rrf": (("lexical", "dense", "title"), "rrf"),
}
Run = Mapping[str, Sequence[str]]


def scorer(folder: Path) -> Any:
    """The shared score.py as a module."""
    spec = importlib.util.spec_from_file_location("score", folder / "score.py")
    if spec is None or spec.loader is None:
        sys.exit(f"{folder}: no score.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def questions(file: Path) -> dict[str, str]:
    """id -> text."""
    return dict(line.split("\t", 1) for line in file.read_text("utf-8").splitlines() if line.strip())


def run_of(ask: Callable[[str], Sequence[str]], asked: Mapping[str, str]) -> Run:
    """id -> note paths, best first, each once."""
    return {qid: list(dict.fromkeys(ask(text))) for qid, text in asked.items()}


def ours(searcher: Searcher, lanes: tuple[str, ...]) -> Callable[[str], list[str]]:
    """Ask the searcher with some lanes."""

    def ask(text: str) -> list[str]:
        result = searcher.query(QuerySpec(text, top_k=DEPTH, lanes=lanes), Deadline(60))
        return [hit.note.path for hit in result.hits]

    return ask


def independent(rows: Sequence[tuple[str, bytes]], language: str) -> Callable[[str], list[str]]:
    """bm25s over title and body of whole notes: Lucene's formula, Snowball stemmer, its own stop words."""
    stemmer, stops = Stemmer.Stemmer(language), language[:2] if language != "german" else "de"
    texts = [_title_and_body(path, raw.decode()) for path, raw in rows]
    retriever = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    retriever.index(bm25s.tokenize(texts, stopwords=stops, stemmer=stemmer, show_progress=False), show_progress=False)

    def ask(text: str) -> list[str]:
        tokens = bm25s.tokenize([text], stopwords=stops, stemmer=stemmer, show_progress=False)
        places, scores = retriever.retrieve(tokens, k=min(DEPTH, len(rows)), show_progress=False)
        return [rows[int(at)][0] for at, score in zip(places[0], scores[0], strict=True) if score > 0]

    return ask


def _title_and_body(path: str, text: str) -> str:
    head, _, body = text.removeprefix("---\n").partition("\n---\n")
    titles = [line.removeprefix("title:").strip(' "') for line in head.splitlines() if line.startswith("title:")]
    return f"{titles[0] if titles else path.rsplit('/', 1)[-1].removesuffix('.md')} {body}"


def main() -> int:
    """Run all sets, print the table, judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("eval", type=Path)
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--model-cache", type=Path, default=Path.home() / ".cache/mindnetd/models")
    parser.add_argument("--min-mean", type=float, default=0.75)
    args = parser.parse_args()
    score = scorer(args.eval)
    cache = Cache(args.cache, open_embedder(EmbedderOptions(cache_dir=args.model_cache, backend="onnx", threads=1)))
    settings = RetrievalSettings()
    print("\t".join(("set", "bm25s", *RUNS, "AllR@5", "ms/question")))
    plain: list[float] = []
    failed = False
    for name in args.sets:
        for variant in ("plain", "linked") if name in LINKED else ("plain",):
            rows = list(notes_of(args.eval / f"{name}.jsonl.gz", variant))
            asked, qrels = (
                questions(args.eval / f"{name}.queries.tsv"),
                score.read_qrels(args.eval / f"{name}.qrels.tsv"),
            )
            hot, texts = index_of(iter(rows), cache)
            peer = independent(rows, "german" if name in GERMAN else "english")
            means = {"bm25s": score.mean(score.score(run_of(peer, asked), qrels))}
            for label, (lanes, fusion) in RUNS.items():
                searcher = Searcher(hot, texts, lambda: cache.question, replace(settings, fusion=fusion))
                start = time.perf_counter()
                means[label] = score.mean(score.score(run_of(ours(searcher, lanes), asked), qrels))
                spent = (time.perf_counter() - start) / len(asked) * 1000
            values = {label: mean["nDCG@10"] for label, mean in means.items()}
            print("\t".join((
                f"{name}/{variant}", *(f"{v:.4f}" for v in values.values()),
                f"{means['hybrid']['AllR@5']:.3f}", f"{spent:.2f}",
            )), flush=True)  # fmt: skip
            if variant == "plain":
                plain.append(values["hybrid"])
            failed |= values["hybrid"] <= max(values["lexical"], values["dense"]) - 0.005
    cache.close()
    mean = sum(plain) / len(plain)
    print(f"mean of the plain sets\t{mean:.4f}")
    return int(failed or mean < args.min_mean)


if __name__ == "__main__":
    sys.exit(main())
