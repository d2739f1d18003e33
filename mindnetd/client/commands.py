"""The commands of ``mindnet``: one table, from which parser, help and shell completion are made."""

from __future__ import annotations

from typing import NamedTuple

VISIBILITIES = ("public", "internal", "sensitive")
FLAGS = ("draft", "needs_review", "private_journal")


class Opt(NamedTuple):
    """An option. Without ``metavar`` it is a switch."""

    flags: tuple[str, ...]
    help: str
    metavar: str | None = None
    many: bool = False
    integer: bool = False
    choices: tuple[str, ...] = ()
    files: bool = False


class Arg(NamedTuple):
    """A positional argument; ``many`` takes all words that follow and joins them with spaces."""

    name: str
    help: str
    optional: bool = False
    many: bool = False
    choices: tuple[str, ...] = ()
    files: bool = False


class Command(NamedTuple):
    """A command; ``module`` has a function ``run_<name>(call)`` that returns the exit code."""

    name: str
    help: str
    module: str
    args: tuple[Arg, ...] = ()
    opts: tuple[Opt, ...] = ()


EXPORTS = ("md", "jsonl", "graphml", "parquet")

COMMON = (
    Opt(("--socket",), "the daemon's socket (default: $MINDNETD_SOCKET, else the one there is)", "PATH", files=True),
    Opt(("--vault",), "the daemon's name, where several run", "NAME"),
    Opt(("--json",), "print the API's reply as it is"),
    Opt(("--color",), "colours", "WHEN", choices=("auto", "always", "never")),
)
SEEN = (
    Opt(("--visibility",), "level to show (repeatable; default public and internal)", "V", True, choices=VISIBILITIES),
    Opt(("--include-flag",), "show notes with this flag too (repeatable)", "F", True, choices=FLAGS),
)
FILTERS = (
    Opt(("-k", "--top-k"), "how many results (default 10)", "N", integer=True),
    Opt(("--mode",), "how to answer (default auto)", "MODE", choices=("auto", "local", "global", "drift")),
    Opt(("--type",), "only notes of this type (repeatable)", "T", True),
    Opt(("--tag",), "only notes with this tag or one below it (repeatable)", "T", True),
    Opt(("--path",), "only notes whose path matches (repeatable)", "GLOB", True),
    Opt(("--status",), "only notes of this status (repeatable)", "S", True),
    Opt(("--lang",), "only notes in this language", "L"),
    Opt(("--since",), "modified on this day or later (YYYY-MM-DD or RFC 3339)", "D"),
    Opt(("--until",), "modified on this day or earlier", "D"),
    *SEEN,
    Opt(("--hops",), "how far to walk along links (default 1)", "N", integer=True),
    Opt(("--explain",), "show the terms of each score"),
    Opt(("--no-dense",), "words only, no vectors"),
)
LIMIT = Opt(("-n", "--limit"), "how many", "N", integer=True)
RELATION = Opt(("--relation",), "only edges of this relation", "R")
DEPTH = Opt(("--depth",), "how many steps from the note, 1 to 4 (default 2)", "N", integer=True)
FORMS = ("tree", "json", "mermaid", "dot", "html")
FORMAT = Opt(("--format",), "tree (default), list, json, mermaid, dot or html", "F", choices=(*FORMS, "list"))
LISTED = Opt(("--format",), "list (default), tree, json, mermaid, dot or html", "F", choices=("list", *FORMS))
WAIT = Opt(("--wait",), "show progress until it is done")
NOTE = Arg("note", "id, path, title or alias")

QUESTION = Arg("text", "the question", many=True)
NARROWING = tuple(
    opt for opt in FILTERS if opt.flags[-1] not in ("--top-k", "--mode", "--hops", "--explain", "--no-dense")
)

COMMANDS = (
    Command("query", "ask the vault", "ask", (QUESTION,), FILTERS),
    Command("ask", "an answer in sentences, with numbered sources", "ask", (QUESTION,), FILTERS),
    Command(
        "explain",
        "why a note is among the results of a question, or why not",
        "ask",
        (Arg("text", "the question, in quotes"), NOTE),
        tuple(opt for opt in FILTERS if opt.flags[-1] != "--explain"),
    ),
    Command(
        "context",
        "what the notes know of a text, packed for a prompt of your own",
        "context",
        (Arg("text", "what the prompt is about", many=True),),
        (Opt(("--tokens",), "tokens at most (default 2000)", "N", integer=True), *NARROWING),
    ),
    Command(
        "note",
        "one note: metadata, links, backlinks, problems",
        "browse",
        (NOTE,),
        (Opt(("--chunks",), "its chunks too"), *SEEN),
    ),
    Command(
        "notes",
        "list the notes",
        "browse",
        (),
        (
            Opt(("--prefix",), "only paths that begin so", "P"),
            Opt(("--type",), "only this type", "T"),
            Opt(("--tag",), "only this tag or one below it", "T"),
            LIMIT,
            *SEEN,
        ),
    ),
    Command(
        "neighbors",
        "what a note links to and is linked from",
        "graph",
        (NOTE,),
        (
            Opt(("--kind",), "only edges of this relation", "K"),
            Opt(("--direction",), "in, out or both", "D", choices=("in", "out", "both")),
            LISTED,
            LIMIT,
            *SEEN,
        ),
    ),
    Command(
        "expand",
        "the notes around a note, best first, each with the best way to it",
        "graph",
        (NOTE,),
        (
            Opt(("--hops",), "how many steps, 1 to 4 (default 2)", "N", integer=True),
            Opt(("--decay",), "what a step leaves of a score, above 0 to 1 (default 0.5)", "X"),
            RELATION,
            LISTED,
            LIMIT,
            *SEEN,
        ),
    ),
    Command("subgraph", "the graph around a note", "graph", (NOTE,), (DEPTH, RELATION, FORMAT, LIMIT, *SEEN)),
    Command(
        "path",
        "the shortest way between two notes, with the words that link them",
        "graph",
        (NOTE, Arg("other", "the other note")),
        (RELATION, *SEEN),
    ),
    Command("related", "notes near in meaning and in the graph, and why", "graph", (NOTE,), (LIMIT, *SEEN)),
    Command("suggest", "links, tags, type and status that a note may lack", "suggest", (NOTE,), (LIMIT, *SEEN)),
    Command(
        "communities",
        "what the notes are about: groups of things that belong together",
        "communities",
        (Arg("id", "one of them: its id or label", optional=True),),
        (Opt(("--level",), "only this level, 0 being the coarsest", "N", integer=True), LIMIT, *SEEN),
    ),
    Command(
        "entities",
        "what the notes mention: names, how often, of which type",
        "entities",
        (Arg("text", "a name, or a part of one", optional=True),),
        (Opt(("--type",), "only this type", "T"), LIMIT, *SEEN),
    ),
    Command("orphans", "notes that no note links to and that link to none", "browse", (), (LIMIT, *SEEN)),
    Command("unresolved", "link targets that no note answers to", "browse", (), (LIMIT, *SEEN)),
    Command("diagnostics", "what is wrong in the notes", "browse", (NOTE._replace(optional=True),), (LIMIT, *SEEN)),
    Command("status", "what the daemon does", "state", (), (Opt(("--follow",), "again each second"),)),
    Command("stats", "counts", "state", (), SEEN),
    Command("runs", "import runs", "state", (Arg("run", "one run's id", optional=True),), (LIMIT, *SEEN)),
    Command("log", "questions that were asked, where privacy.query_log is on", "state", (), (LIMIT, *SEEN)),
    Command("events", "what happens, a line per event", "state", (), SEEN),
    Command(
        "reindex",
        "read notes again",
        "admin",
        (NOTE._replace(optional=True),),
        (
            Opt(("--all",), "all of them"),
            WAIT,
        ),
    ),
    Command("reconcile", "compare the vault with the index now", "admin", (), (WAIT,)),
    Command("resolve", "resolve all links again", "admin", (), (WAIT,)),
    Command(
        "rebuild",
        "make entities and communities anew",
        "admin",
        (),
        (Opt(("--cold",), "without the communities of last time to begin from"), WAIT),
    ),
    Command("doctor", "check the daemon and its surroundings, and say what to do", "doctor"),
    Command(
        "verify",
        "check the index against the vault",
        "admin",
        (),
        (Opt(("--hashes",), "list the three hashes of every note"),),
    ),
    Command(
        "export",
        "write the notes, byte for byte, or what is known of them, into a folder",
        "export",
        (Arg("dir", "target: a new or empty folder, or a former export", files=True),),
        (
            Opt(("--note",), "only this note (id, path, title or alias)", "NOTE"),
            Opt(("--format",), "md (default), jsonl, graphml or parquet", "F", choices=EXPORTS),
        ),
    ),
    Command("backup", "write a consistent copy of the database", "admin", (Arg("file", "target", files=True),)),
    Command(
        "mcp",
        "Model Context Protocol server on standard input and output, for agents",
        "mcp",
        (),
        (SEEN[0]._replace(help="the levels that agents may see (repeatable; default: what the daemon allows)"),),
    ),
    Command(
        "completion",
        "print the completion script of a shell",
        "completion",
        (Arg("shell", "bash, zsh or fish", choices=("bash", "zsh", "fish")),),
    ),
)
