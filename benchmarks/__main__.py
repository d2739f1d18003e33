"""``python -m benchmarks [NAME...]``: run every measurement of this folder, or the named ones, one after the other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HELPERS = {
    "__init__",
    "answers",
    "communities",
    "extraction",
    "graph_term",
    "__main__",
    "harness",
    "corpus",
    "questions",
    "round_trip",
    "suggest",
}  # some of them need a vault or test sets


def main() -> int:
    folder = Path(__file__).parent
    known = sorted(p.stem for p in folder.glob("*.py") if p.stem not in HELPERS and "def main" in p.read_text())
    chosen = sys.argv[1:] or known
    unknown = [name for name in chosen if name not in known]
    if unknown:
        print(f"no such measurement: {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    codes = [subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False).returncode for name in chosen]
    return max(codes, default=0)


if __name__ == "__main__":
    sys.exit(main())
