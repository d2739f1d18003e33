"""What the writer knows of the vault without looking: files, notes, canvases, names, links. All of it resident."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from mindnetd.core.identity import nfc
from mindnetd.core.records import FileStat, NoteMeta, VaultFile
from mindnetd.lanes.graph import EdgeRows
from mindnetd.lanes.hot import HotIndex, HotRows
from mindnetd.store import read
from mindnetd.store.db import Database
from mindnetd.store.records import Batch, HotColumns, StoredCanvas
from mindnetd.writing.linkbook import LinkBook


class Known:
    """Follows the database commit by commit. Writer thread only."""

    def __init__(self) -> None:
        self.book = LinkBook()
        self.files: dict[str, VaultFile] = {}
        self.notes: dict[str, NoteMeta] = {}
        self.canvases: dict[str, StoredCanvas] = {}
        self._paths: dict[int, str] = {}
        self.troubled: set[str] = set()
        """Paths with diagnostics of a file that is no note: they go when the file is read after all."""
        self.doubtful: set[int] = set()
        """Sources whose links were answered while a file was known by its name alone: if the process ends before the
        file is read, and it goes meanwhile, no scan would miss it. They are answered again after the first scan."""
        self.odd_spellings: dict[str, set[str]] = {}
        """Paths of files that are not in NFC, by their NFC form; few, on most vaults none."""
        self._of_inode: dict[int, tuple[str, ...]] = {}
        """The names of a file, mostly one: so that a save need not go through the vault for others."""

    def take_doubtful(self) -> set[int]:
        """The sources whose links have to be answered again after a start, once."""
        keys, self.doubtful = self.doubtful & self._paths.keys(), set()
        return keys

    def load(self, db: Database, notes: Iterable[NoteMeta]) -> None:
        """Take over what the database holds, without reading a note."""
        self.__init__()  # type: ignore[misc]  # as new
        for path, file in read.load_files(db).items():
            self._place(file)
            self.book.names.add(path)
        self.troubled = read.troubled_paths(db)
        self.doubtful = read.doubtful_links(db)
        self.notes = {note.path: note for note in notes}
        for note in self.notes.values():
            self.book.ids.set(note.path, note.note_id)
        self.canvases = {canvas.path: canvas for canvas in read.load_canvases(db)}
        self._paths = {note.key: note.path for note in self.notes.values()}
        self._paths |= {canvas.key: canvas.path for canvas in self.canvases.values()}
        waiting: dict[int, list[str]] = {}
        for key, name in read.load_link_names(db):
            waiting.setdefault(key, []).append(name)
        for key, names in waiting.items():
            self.book.set_links(key, names)

    def key(self, path: str) -> int | None:
        """The key of the note or canvas at `path`, or None."""
        known = self.notes.get(path) or self.canvases.get(path)
        return known.key if known else None

    def _place(self, file: VaultFile) -> None:
        """There is this file now, new or changed."""
        path, inode, before = file.path, file.stat.inode, self.files.get(file.path)
        if before is None or before.stat.inode != inode:
            self._leave_inode(before)
            if inode:
                self._of_inode[inode] = (*self._of_inode.get(inode, ()), path)
        self.files[path] = file
        if nfc(path) != path:
            self.odd_spellings.setdefault(nfc(path), set()).add(path)

    def _remove(self, path: str) -> None:
        self._leave_inode(self.files.pop(path, None))
        self.odd_spellings.get(nfc(path), set()).discard(path)

    def _leave_inode(self, file: VaultFile | None) -> None:
        if file is not None and file.stat.inode:
            left = tuple(path for path in self._of_inode.pop(file.stat.inode) if path != file.path)
            if left:
                self._of_inode[file.stat.inode] = left

    def stamps(self, paths: Iterable[str]) -> dict[str, FileStat]:
        """What is known of the files at `paths`, for `other_names` after they have been read."""
        return {path: file.stat for path in paths if (file := self.files.get(path)) is not None}

    def other_names(self, before: Mapping[str, FileStat]) -> list[str]:
        """Links, hard or symbolic, to files that are not what they were `before`.

        A change of a file raises no event at its other names. They bear the stamp that it had, inode included.
        """
        now = self.stamps(before)
        old = dict.fromkeys(stat for path, stat in before.items() if now.get(path) != stat)
        named = ((path, stat) for stat in old for path in self._of_inode.get(stat.inode, ()))
        return [path for path, stat in named if self.files[path].stat == stat]

    def read_paths(self) -> list[str]:
        """Every path whose bytes were read: notes and canvases, sorted."""
        return sorted([*self.notes, *self.canvases])

    def path(self, key: int) -> str:
        """Where the note or canvas with `key` lies."""
        return self._paths[key]

    def follow(self, batch: Batch) -> None:
        """`batch` has been committed."""
        for path in batch.files_removed:
            self._remove(path)
        for file in batch.files_upsert:
            self._place(file)
        for row in batch.path_diagnostics:
            (self.troubled.add if row.diagnostics else self.troubled.discard)(row.path)
        for key in batch.removed:
            path = self._paths.pop(key)
            self.notes.pop(path, None)
            self.canvases.pop(path, None)
        for rows in batch.notes:
            self.notes[rows.meta.path] = rows.meta
            self._paths[rows.meta.key] = rows.meta.path
        for canvas in batch.canvases:
            self.canvases[canvas.path] = StoredCanvas(canvas.key, canvas.id, canvas.path, canvas.raw_hash)
            self._paths[canvas.key] = canvas.path


def load_hot_index(hot: HotIndex, columns: HotColumns) -> None:
    """Fill the resident index from the database's columns. A title passage goes to its note's first document."""
    backwards = zip(columns.doc_note[::-1].tolist(), columns.doc_key[::-1].tolist(), strict=True)
    first = dict(backwards)  # the last pair of a note wins: its first document
    titles = np.flatnonzero(columns.passage_is_title)
    passage_doc = columns.passage_owner.copy()
    passage_doc[titles] = [first[note] for note in columns.passage_note[titles].tolist()]
    order = np.argsort(~columns.passage_is_title, kind="stable")
    hot.load(
        HotRows(
            revision=columns.revision,
            notes=columns.notes,
            terms=columns.terms,
            posting_term=columns.posting_term,
            posting_doc=columns.posting_doc,
            posting_field=columns.posting_field,
            posting_tf=columns.posting_tf,
            doc_key=columns.doc_key,
            doc_note=columns.doc_note,
            doc_lengths=columns.doc_lengths,
            passage_doc=passage_doc[order],
            passage_hash=columns.passage_hash[order],
            vector_hash=columns.vector_hash,
            vectors=columns.matrix,
            edges=EdgeRows(**{name: values.tolist() for name, values in columns.edges.items()}),
        )
    )
