"""Which file a link means: Obsidian's order (``obsidian.md`` 2), kept incremental.

Names are compared in NFC, without case, with non-breaking spaces as spaces; paths come back as spelled on disk. A
link waits under the keys of its last path component; only a file that has such a key can change its answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from posixpath import normpath

from mindnetd.core.normal import normalize
from mindnetd.core.records import Link

_MD = ".md"


def plain(path: str) -> str:
    """The form in which paths and targets are compared but for case: NFC, plain spaces, single slashes."""
    if not path.isascii():
        path = normalize("NFC", path.replace("\u00a0", " ").replace("\u202f", " "))
    while "//" in path:
        path = path.replace("//", "/")
    return path


def _folded(path: str) -> str:
    # Folding can leave NFC (a folded capital with an accent below), so it is composed once more.
    folded = plain(path).casefold()
    return folded if folded.isascii() else normalize("NFC", folded)


def name_keys(target: str) -> tuple[str, ...]:
    """The keys under which a link to `target` waits; none for a link to the own note."""
    name = _name(_folded(target))
    return (name,) if name else ()


def file_keys(path: str) -> tuple[str, ...]:
    """The keys that the file at `path` answers to: its name, and without ``.md``."""
    name = _name(_folded(path))
    return (name, name.removesuffix(_MD)) if name.endswith(_MD) else (name,)


def id_key(text: str) -> str:
    """A frontmatter id, or a text that may be one, as they are compared: like names, but whole."""
    return _folded(text.strip())


class IdIndex:
    """Which notes have which frontmatter id. One thread changes it."""

    def __init__(self) -> None:
        self._by_id: dict[str, set[str]] = {}
        self._of: dict[str, str] = {}

    def set(self, path: str, note_id: str | None) -> set[str]:
        """The note at `path` has this id now, or none; returns the keys under which another note may be found now."""
        new, old = id_key(note_id or ""), self._of.get(path, "")
        if new == old:
            return set()
        if old:
            _drop(self._by_id, old, path)
            del self._of[path]
        if new:
            self._by_id.setdefault(new, set()).add(path)
            self._of[path] = new
        return {key for key in (old, new) if key}

    def find(self, text: str) -> str | None:
        """The note with this id; of several the lexically first path, whoever came first."""
        found = self._by_id.get(id_key(text))
        return min(found) if found else None

    def meant(self, link: Link) -> str | None:
        """The note that `link` means by an id, where no file answers it."""
        return next(filter(None, map(self.find, ids_meant(link))), None)


def ids_meant(link: Link) -> tuple[str, ...]:
    """The texts of a link that may be a frontmatter id, in the order in which they are tried.

    Of a wikilink its target, then its display part; of a plain text the text; of any other none.
    """
    if link.kind == "plain":
        return (link.target,)
    if "[[" not in link.raw or link.kind in ("canvas", "markdown", "url") or not name_keys(link.target):
        return ()
    return (link.target, link.display) if link.display else (link.target,)


class NameIndex:
    """All files of the vault by name. One thread changes it; every step costs as much as the files of one name."""

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self._folded: dict[str, str] = {}
        self._by_path: dict[str, set[str]] = {}
        # folded name -> spelling of the name -> paths: the exact spelling is found without looking at the others.
        self._by_name: dict[str, dict[str, set[str]]] = {}
        self._shortest: dict[str, str] = {}
        for path in paths:
            self.add(path)

    def add(self, path: str) -> None:
        """Take in a file; twice is once."""
        if path in self._folded:
            return
        folded = _folded(path)
        self._folded[path] = folded
        self._by_path.setdefault(folded, set()).add(path)
        spelling = _name(plain(path))
        self._by_name.setdefault(_name(folded), {}).setdefault(spelling, set()).add(path)
        best = self._shortest.get(spelling)
        if best is not None and _order(path) < _order(best):
            self._shortest[spelling] = path

    def remove(self, path: str) -> None:
        """Forget a file; one that is not there is no error."""
        folded = self._folded.pop(path, None)
        if folded is None:
            return
        _drop(self._by_path, folded, path)
        name, spelling = _name(folded), _name(plain(path))
        _drop(self._by_name[name], spelling, path)
        if not self._by_name[name]:
            del self._by_name[name]
        if self._shortest.get(spelling) == path:
            del self._shortest[spelling]

    def __contains__(self, path: object) -> bool:
        return path in self._folded

    def __len__(self) -> int:
        return len(self._folded)

    def has_name(self, key: str) -> bool:
        """Whether a link with this folded target, without folders, finds a file."""
        return key in self._by_name or key + _MD in self._by_name

    def paths(self) -> Iterator[str]:
        """All files, in no particular order."""
        return iter(self._folded)

    def resolve(self, target: str, source_path: str) -> tuple[str | None, bool]:
        """The file that `target` means in a note at `source_path`, and whether other files carry that name too.

        `target` is the decoded path part of a link. An empty one is the own note.
        """
        if not target:
            return source_path, False
        target = plain(target)
        if target.endswith(("/", "/.", "/..")):
            return None, False  # names a folder; a link to one waits for no file
        folder = plain(source_path).rpartition("/")[0]
        for wanted in (target, target + _MD):
            found, ambiguous = self._find(wanted, folder)
            if found is not None:
                return found, ambiguous
        return None, False

    def _find(self, target: str, folder: str) -> tuple[str | None, bool]:
        if target.startswith(("./", "../")):
            joined = normpath(f"{folder}/{target}" if folder else target)
            return self._at(joined), False
        if target.startswith("/"):
            return self._at(target.lstrip("/")), False
        folded = _folded(target)
        named = self._by_name.get(_name(folded))
        if not named:
            return None, False
        exact = self._at(target)
        if "/" in folded:
            return (exact, False) if exact is not None else self._by_suffix(target, folded, named, folder)
        best = exact or self._at(f"{folder}/{target}" if folder else target) or self._closest(target, named)
        return best, len(named) > 1 or len(next(iter(named.values()))) > 1

    def _at(self, path: str) -> str | None:
        """The file at exactly this vault path; the exact spelling is preferred among those that fold to it."""
        found = self._by_path.get(_folded(path))
        return min(found, key=lambda one: (plain(one) != path, one != path, one)) if found else None

    def _closest(self, target: str, named: dict[str, set[str]]) -> str:
        """The shortest path among the files of one name, the exact spelling first where lengths are equal."""
        for spelling, paths in named.items():
            if spelling not in self._shortest:
                self._shortest[spelling] = min(paths, key=_order)
        bests = [self._shortest[spelling] for spelling in named]
        return min(bests, key=lambda one: (len(plain(one)), not _spelled(one, target), one))

    def _by_suffix(self, target: str, folded: str, named: dict[str, set[str]], folder: str) -> tuple[str | None, bool]:
        """Files whose path ends in the target's folders and name; the linking note's own folder first."""
        tail = "/" + folded
        found = [path for paths in named.values() for path in paths if self._folded[path].endswith(tail)]
        if not found:
            return None, False
        own = self._at(f"{folder}/{target}" if folder else target)
        best = own or min(found, key=lambda one: (len(plain(one)), not _spelled(one, target), one))
        return best, len(found) > 1


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _spelled(path: str, target: str) -> bool:
    """Whether `path` ends in `target` with the same capitals."""
    return plain(path).endswith(target)


def _order(path: str) -> tuple[int, str]:
    return len(plain(path)), path


def _drop(table: dict[str, set[str]], key: str, path: str) -> None:
    table[key].remove(path)
    if not table[key]:
        del table[key]
