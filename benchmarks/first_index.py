"""A first index against its floor: the same passages through the bare embedder, in the same run.

    python -m benchmarks.first_index VAULT

The daemon indexes a copy of the vault; then this process derives the same notes and embeds the distinct passages with
nothing around it. `words` is the time until every note is findable by its words, `vectors` until every passage has one.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path

from benchmarks.harness import Daemon, Report
from mindnetd.core.derive import DeriveOptions, derive
from mindnetd.core.exclude import Rules, compile_rules
from mindnetd.inference.backends import open_embedder
from mindnetd.inference.embedder import EmbedderOptions
from mindnetd.inference.tokenizer import PinnedCounter
from mindnetd.settings.places import places

SPECIALS = 2
DEMO = Path(__file__).parent.parent / "demo"


def passages(vault: Path) -> list[str]:
    """The distinct passages of a vault, as the daemon makes them."""
    classifier, counter = compile_rules(Rules(ignore=("Templates/**",), user_ignore_filters=())), PinnedCounter()
    texts: dict[bytes, str] = {}
    for path in sorted(vault.rglob("*")):
        name = path.relative_to(vault).as_posix()
        if path.is_file() and classifier.kind(name) == "note":
            texts |= derive(name, path.read_bytes(), DeriveOptions(overlap=0.12), counter).texts
    return list(texts.values())


def bare_seconds(texts: list[str]) -> float:
    """Seconds to embed `texts` with nothing else going on."""
    embedder = open_embedder(EmbedderOptions(cache_dir=places(os.environ).models))
    try:
        started = time.perf_counter()
        embedder.embed(texts)
        return time.perf_counter() - started
    finally:
        embedder.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vault", type=Path, nargs="?", default=DEMO)
    args = parser.parse_args()
    report = Report(f"first index: {args.vault.name}")
    with tempfile.TemporaryDirectory() as folder:
        vault = Path(folder, "vault")
        shutil.copytree(args.vault, vault, ignore=shutil.ignore_patterns(".git"))
        with Daemon(vault, Path(folder)) as daemon:
            words = daemon.wait_ready()
            vectors = words + daemon.wait_ready(36_000, vectors=True)
            report.row("memory: resident, peak", f"{daemon.memory_mb():.0f}, {daemon.memory_mb('VmHWM'):.0f} MB")
        texts = passages(vault)
    tokens = sum(PinnedCounter().count(texts)) + SPECIALS * len(texts)
    bare = bare_seconds(texts)
    report.row(f"bare embedder, {len(texts):,} passages", f"{tokens / bare:,.0f} tokens/s", "", f"{bare:.1f} s")
    report.row("words: share of the bare embedding time", f"{words / bare:.1%}", "5 %", f"{words:.1f} s")
    report.row("vectors: the bare embedder's time over ours", f"{bare / vectors:.1%}", "90 %", f"{vectors:.1f} s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
