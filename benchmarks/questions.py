"""Ten questions each on two public vaults: is the right note first, and what comes second?

    python -m benchmarks.questions help FOLDER      obsidianmd/obsidian-help, folder en
    python -m benchmarks.questions hub FOLDER       obsidian-community/obsidian-hub

Chosen by people who know the vaults and had seen answers: a check that nothing gets worse, no evidence of quality
(that is ``benchmarks.quality``, over public judgements).
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.harness import Connection, Daemon

PLUGINS = "02 - Community Expansions/02.05 All Community Expansions/Plugins"
BY_CATEGORY = "02 - Community Expansions/02.01 Plugins by Category"
QUESTIONS = {
    "help": (
        ("embed one page of a PDF", "Linking notes and files/Embed files.md"),
        ("change a keyboard shortcut", "User interface/Hotkeys.md"),
        ("how to make a table", "Editing and formatting/Advanced formatting syntax.md"),
        ("link to a heading or a block in another note", "Linking notes and files/Internal links.md"),
        ("publish notes on my own domain", "Obsidian Publish/Custom domains.md"),
        ("import notes from Evernote", "Import notes/Import from Evernote.md"),
        ("template for the daily note", "Plugins/Daily notes.md"),
        ("restore an older version of a note", "Obsidian Sync/Version history.md"),
        ("draw cards on an infinite board", "Plugins/Canvas.md"),
        ("how do I fold a callout", "Editing and formatting/Callouts.md"),
    ),
    "hub": (
        ("plugin that shows a calendar in the sidebar", f"{PLUGINS}/calendar.md"),
        ("track spaced repetition flashcards", f"{BY_CATEGORY}/Spaced Repetition Plugins.md"),
        ("kanban board from markdown", f"{PLUGINS}/obsidian-kanban.md"),
        ("how do I contribute a note to the hub", "CONTRIBUTING.md"),
        ("backup my vault with git", f"{BY_CATEGORY}/Backup plugins.md"),
        ("import highlights from kindle", f"{PLUGINS}/kindle-highlights-import.md"),
        ("mind map of a note", f"{PLUGINS}/obsidian-mind-map.md"),
        ("how to query notes like a database", f"{BY_CATEGORY}/Search and query plugins.md"),
        ("what is a map of content", "05 - Concepts/Maps of Content (MOC).md"),
        ("edit tables like a spreadsheet", f"{PLUGINS}/spreadsheets.md"),
    ),
}


def notes_of(connection: Connection, text: str) -> list[str]:
    """The notes of the first twenty hits, each once, best first."""
    hits = connection.call("POST", "/query", {"text": text, "top_k": 20, "explain": False})["results"]
    return list(dict.fromkeys(hit["note"]["path"] for hit in hits))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", choices=sorted(QUESTIONS))
    parser.add_argument("vault", type=Path)
    args = parser.parse_args()
    first = 0
    with tempfile.TemporaryDirectory() as folder, Daemon(args.vault, Path(folder)) as daemon:
        daemon.wait_ready(36_000, vectors=True)
        connection = daemon.connection()
        for text, wanted in QUESTIONS[args.set]:
            found = notes_of(connection, text)
            place = found.index(wanted) + 1 if wanted in found else None
            first += place == 1
            print(f"{place or '-':>3}  {text}\n       1. {found[0]}\n       2. {found[1]}")
        connection.close()
    print(f"{first} of {len(QUESTIONS[args.set])} right notes first")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
