"""What made the stored rows (stages, options, note types), and what has to be done again when that changes.

The file says in its table ``meta`` by what its rows were made: ``derived_by`` is a hash of the versions of the stages
and of the options, ``types`` the note types as a list of tables: the first made the rows, and while work for a changed
``types.yaml`` goes on, the tables that came after it. So a kill in the middle of that work, or a file that was edited
while nobody ran, costs the same work later and never leaves a row behind that another table made.

Other stages or options concern every note. Other note types concern the notes of these types only, and of these:

========================================  =============================================================
chunk_profile, hash_mode, visibility      all rows of the note are made again; vectors of equal texts stay
edge_defaults, section_rules              its edges, where they differ from those that are stored
required, allowed, status, a new type     its diagnostics, where they differ
retriever_weight, edge_weight_offsets     nothing: the ranking reads the table
========================================  =============================================================
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields, replace

from mindnetd.core.analyze import ANALYZER_VERSION
from mindnetd.core.derive import DeriveOptions
from mindnetd.core.edges import EDGES_VERSION
from mindnetd.core.note import read_note
from mindnetd.core.properties import read_schema
from mindnetd.core.records import Diagnostic, NoteMeta
from mindnetd.core.salvage import Properties
from mindnetd.core.signals import SIGNALS_VERSION
from mindnetd.core.typecheck import CODES, check_note
from mindnetd.core.typetable import TypeTable, from_json
from mindnetd.index import Indexer
from mindnetd.store import read
from mindnetd.store.db import Database
from mindnetd.store.records import Batch, CheckRows, RelinkRows
from mindnetd.writing.bulk import Bulk
from mindnetd.writing.rows import RowMaker
from mindnetd.writing.runs import Run

PARSER_VERSION = 2
CHUNKER_VERSION = 1
"""Raise one when the same bytes give other links or chunks: every note is derived again at the next start."""


class Stages:
    """Follows what made the rows. Writer thread only. `write` commits a batch that changes no note's text."""

    def __init__(self, indexer: Indexer, db: Database, write: Callable[[Batch], None]) -> None:
        self._indexer, self._db, self._write = indexer, db, write
        self.redo = False
        """Every note has to be derived again: other stages, or options that change what notes become."""
        self._made_by: list[TypeTable] = []
        self._awaited = ""

    # ------------------------------------------------------------------------------------------------------- the marks

    def check(self) -> None:
        """Compare what made the stored rows with what would make them now. An empty file is marked at once."""
        stored, now = read.load_meta(self._db), self._stamp()
        self._made_by = _tables(stored.get("types"))
        if "derived_by" not in stored:
            self._made_by = [self._options.types]
            self._remember(now)
        else:
            self.redo = stored["derived_by"] != now or not self._made_by

    def again(self, run: Run) -> Bulk:
        """Work that derives every note by the options of now. Until it is done the file counts as made by none."""
        stamp = self._awaited = self._stamp()
        self._remember("")
        self._made_by.append(self._options.types)
        table = self._made_by[-1]

        def done() -> None:
            self._forget_before(table)
            if self._awaited == stamp:  # else other options have come meanwhile, and other work waits for them
                self.redo = False
                self._remember(stamp)

        return Bulk(run, deque(self._indexer.known.read_paths()), force=True, done=done)

    @property
    def _options(self) -> DeriveOptions:
        return self._indexer.options

    def _stamp(self) -> str:
        """A hash of the stages and of all options but the note types."""
        stages = {"parser": PARSER_VERSION, "chunker": CHUNKER_VERSION, "analyzer": ANALYZER_VERSION}
        stages |= {"edges": EDGES_VERSION, "signals": SIGNALS_VERSION}
        options = {item.name: getattr(self._options, item.name) for item in fields(self._options)}
        del options["types"]
        options["read"] = asdict(self._options.read)
        text = json.dumps({"stages": stages, "options": options}, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()

    def _remember(self, derived_by: str | None = None) -> None:
        entries = {"types": json.dumps([table.as_json() for table in self._made_by], ensure_ascii=False)}
        if derived_by is not None:
            entries["derived_by"] = derived_by
        known = read.load_meta(self._db)
        if any(known.get(key) != value for key, value in entries.items()):
            self._write(Batch(meta=entries))

    def _forget_before(self, table: TypeTable) -> None:
        """All work for `table` is done: no row is older."""
        places = [place for place, one in enumerate(self._made_by) if one is table]
        self._made_by = self._made_by[places[0] if places else 0 :]

    # ------------------------------------------------------------------------------------------------------ note types

    def retype(self, new_run: Callable[[str], Run]) -> list[Bulk]:
        """Work for what the note types in force change in the stored rows, under runs with the trigger ``types``.

        Empty where nothing of the table has changed. A change that only the ranking sees is a run without a note.
        """
        table, older = self._options.types, list(self._made_by)
        if all(one == table for one in older):
            return []
        notes = sorted(self._indexer.known.notes.values(), key=lambda note: note.path)
        wanted = {note.path: self._concerned(note, older) for note in notes}
        anew, amended = ([path for path, what in wanted.items() if what == which] for which in ("anew", "amend"))
        self._made_by.append(table)
        self._remember()

        bulks = [Bulk(new_run("types"), deque(anew), force=True)] if anew else []
        if amended or not anew:
            bulks.append(Bulk(new_run("types"), deque(amended), work=self._amend))
        run = bulks[-1].run

        def done() -> None:
            self._forget_before(table)
            self._remember()
            if not (anew or amended):  # a run without a note leaves no trace of itself
                self._write(Batch(run=run.row()))

        bulks[-1].done = done
        return bulks

    def _concerned(self, meta: NoteMeta, older: Sequence[TypeTable]) -> str | None:
        """What has to be done with a note: ``anew`` (all its rows), ``amend`` (edges, diagnostics), or nothing."""
        options = self._options
        now = options.types
        found: str | None = None
        for was in older:
            if _cut_otherwise(meta, options, was):
                return "anew"
            if _joined_otherwise(meta, was, now) or _checked_otherwise(meta, was, now):
                found = "amend"
        return found

    def _amend(self, paths: Sequence[str], run: Run) -> None:
        """Edges and checks of these notes by the table of now; what is as it is stored stays untouched."""
        known = [note for path in paths if (note := self._indexer.known.notes.get(path)) is not None]
        run.seen += len(known)
        keys = [note.key for note in known]
        links, edges = read.load_links(self._db, keys), read.load_edges(self._db, keys)
        stored: dict[int, set[Diagnostic]] = {}
        for one in read.diagnostics(self._db, keys):
            if one.owner is not None and one.diagnostic.code in CODES:
                stored.setdefault(one.owner, set()).add(one.diagnostic)
        rows = RowMaker(self._indexer.known, self._db, self._options)
        relinked: list[RelinkRows] = []
        checked: list[CheckRows] = []
        for meta in known:
            made = rows.relinked(meta.key, meta.path, links.get(meta.key, ()), run)
            if set(made.edges) != set(edges.get(meta.key, ())):
                relinked.append(made)
            found = check_note(
                read_note(meta.path, read.read_raw(self._db, meta.key), self._options.read), self._options.types
            )
            if set(found) != stored.get(meta.key, set()):
                checked.append(CheckRows(meta.key, meta.path, CODES, found))
        if relinked or checked:
            run.changed += len({one.key for one in relinked} | {one.key for one in checked})
            run.edges += sum(len(one.edges) for one in relinked)
            self._write(Batch(relinked=tuple(relinked), rechecked=tuple(checked), run=run.row()))


def _cut_otherwise(meta: NoteMeta, options: DeriveOptions, was: TypeTable) -> bool:
    """Whether the older table gives the note another chunk profile, hash mode or visibility."""
    now = options.types
    before, after = was.of(meta.type), now.of(meta.type)
    if (before.chunk_profile, before.hash_mode, was.visibility_defaults) == (
        *(after.chunk_profile, after.hash_mode, now.visibility_defaults),
    ):
        return False
    own = read_schema(meta.path, Properties(json.loads(meta.frontmatter_json)))
    older = replace(options, types=was)
    return any((
        own.chunk_profile is None and _profile(before.chunk_profile, options) != _profile(after.chunk_profile, options),
        own.hash_mode is None and (before.hash_mode or options.hash_mode) != (after.hash_mode or options.hash_mode),
        own.visibility is None and _default(meta, older) != _default(meta, options),
    ))  # fmt: skip


def _joined_otherwise(meta: NoteMeta, was: TypeTable, now: TypeTable) -> bool:
    """Whether its links may have other rule edges."""
    return was.edge_defaults(meta.type) != now.edge_defaults(meta.type) or was.section_rules != now.section_rules


def _checked_otherwise(meta: NoteMeta, was: TypeTable, now: TypeTable) -> bool:
    """Whether it may have other diagnostics."""
    if meta.type is None and meta.note_id is None:
        return False
    before, after = was.of(meta.type), now.of(meta.type)
    old = (before.required, before.allowed, was.status, was.knows(meta.type) or tuple(was.types))
    return old != (after.required, after.allowed, now.status, now.knows(meta.type) or tuple(now.types))


def _profile(name: str | None, options: DeriveOptions) -> str:
    return name or options.default_profile


def _default(meta: NoteMeta, options: DeriveOptions) -> str:
    return options.types.visibility_default(meta.type, meta.path, options.default_visibility)


def _tables(text: str | None) -> list[TypeTable]:
    """The tables of the ``meta`` entry; none where they cannot be read: then every note is derived again."""
    try:
        return [from_json(data) for data in json.loads(text or "[]")]
    except (ValueError, KeyError, TypeError, AttributeError):
        return []
