"""What the graph term gains and costs over the public sets: with it against without, paired, and its weight chosen on
the other sets.

    python -m benchmarks.graph_term EVAL_DIR [--cache DIR] [--model-cache DIR] [--gammas G ...]

For every set (multi-hop sets with their links and without) nDCG@10, recall@5 and the share of questions whose notes are
all among the first 5 and 8, without the graph term and with the defaults; the difference with the p of a sign-flip
test. Then, for each linked set, the weight that is best on the *other* linked sets and what it gives here. Exit code 1
where some set loses 0.005 of nDCG@10 or more, with the defaults or with a weight chosen elsewhere.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.corpus import Cache, Texts, index_of, notes_of
from benchmarks.quality import LINKED, SETS, ours, questions, run_of, scorer
from mindnetd.core.query import LANES
from mindnetd.core.rank import RetrievalSettings
from mindnetd.inference.backends import open_embedder
from mindnetd.inference.embedder import EmbedderOptions
from mindnetd.lanes.hot import HotIndex
from mindnetd.search import Searcher

SHOWN = ("nDCG@10", "R@5", "AllR@5", "AllR@8")
GAMMAS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4)
MOST_LOST = 0.005
Scores = Mapping[str, Mapping[str, float]]
"""By question, by measure."""


class Set:
    """One set: its index, its questions, its judgements."""

    def __init__(self, folder: Path, name: str, variant: str, score: Any, cache: Cache) -> None:
        self.name = f"{name}/{variant}"
        self._score, self._cache = score, cache
        self._index: tuple[HotIndex, Texts] = index_of(notes_of(folder / f"{name}.jsonl.gz", variant), cache)
        self._asked = questions(folder / f"{name}.queries.tsv")
        self._qrels = score.read_qrels(folder / f"{name}.qrels.tsv")

    def scores(self, settings: RetrievalSettings) -> Scores:
        """All questions asked with these weights."""
        searcher = Searcher(*self._index, lambda: self._cache.question, settings)
        found: Scores = self._score.score(run_of(ours(searcher, LANES), self._asked), self._qrels)
        return found


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("eval", type=Path)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--model-cache", type=Path, default=Path.home() / ".cache/mindnetd/models")
    parser.add_argument("--gammas", type=float, nargs="+", default=GAMMAS)
    args = parser.parse_args()
    score = scorer(args.eval)
    cache = Cache(args.cache, open_embedder(EmbedderOptions(cache_dir=args.model_cache, backend="onnx", threads=1)))
    defaults, failed = RetrievalSettings(), False
    linked: dict[str, Set] = {}
    without: dict[str, Scores] = {}
    print("\t".join(("set", "graph", *SHOWN, "d nDCG@10", "p")))
    for name in SETS:
        for variant in ("plain", "linked") if name in LINKED else ("plain",):
            one = Set(args.eval, name, variant, score, cache)
            before = one.scores(replace(defaults, hops=0))
            failed |= told(score, one.name, "without", before, before)
            failed |= told(score, one.name, f"{defaults.gamma:g}", one.scores(defaults), before)
            if variant == "linked":
                linked[name], without[name] = one, before
    cache.close()
    failed |= chosen_elsewhere(score, linked, without, args.gammas)
    return int(failed)


def chosen_elsewhere(score: Any, linked: Mapping[str, Set], without: Mapping[str, Scores], gammas: list[float]) -> bool:
    """For each set the weight that is best on the others, and what it does here. True where it loses."""
    failed = False
    scores = {
        name: {gamma: one.scores(replace(RetrievalSettings(), gamma=gamma)) for gamma in gammas}
        for name, one in linked.items()
    }
    means = {name: {g: score.mean(per)["nDCG@10"] for g, per in found.items()} for name, found in scores.items()}
    for name, found in means.items():
        print(f"{name}/linked by weight\t" + "\t".join(f"{g:g}: {value:.4f}" for g, value in found.items()))
    for name in linked:
        best = max(gammas, key=lambda g: sum(means[other][g] for other in linked if other != name))
        failed |= told(score, f"{name}/linked", f"{best:g} (best elsewhere)", scores[name][best], without[name])
    return failed


def told(score: Any, name: str, graph: str, per: Scores, before: Scores) -> bool:
    """Print a row. True where the set loses too much."""
    mean, old = score.mean(per), score.mean(before)
    lost = mean["nDCG@10"] - old["nDCG@10"]
    p = score.paired_p([per[q]["nDCG@10"] for q in per], [before[q]["nDCG@10"] for q in per])
    print("\t".join((name, graph, *(f"{mean[one]:.4f}" for one in SHOWN), f"{lost:+.4f}", f"{p:.3f}")), flush=True)
    return bool(lost <= -MOST_LOST)


if __name__ == "__main__":
    sys.exit(main())
