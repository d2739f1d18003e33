"""Who is who, and what counts as the same: UUIDv5 identities, the canonical form of a body, the three hashes.

The canonical form is written down for others in ``docs/hashing.md`` with test vectors in
``tests/golden/hash_vectors.json``. Nothing here looks at anything but its arguments, so equal bytes give equal
identities and hashes on every machine (law 13).
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from mindnetd.core.normal import normalize
from mindnetd.core.records import Block

Normalize = Literal["canonical", "none"]

NAMESPACE = uuid.UUID("6d1f3a52-0c7e-5b1e-9b38-4e2f6c1d7a90")
"""The root of every id that mindnetd makes. Changing it changes every id: never do."""

_FILE = uuid.uuid5(NAMESPACE, "kind:file")
_URL = uuid.uuid5(NAMESPACE, "kind:url")
_UNRESOLVED = uuid.uuid5(NAMESPACE, "kind:unresolved")
_ENTITY = uuid.uuid5(NAMESPACE, "kind:entity")
_RELATIONSHIP = uuid.uuid5(NAMESPACE, "kind:relationship")
_EDGE = uuid.uuid5(NAMESPACE, "kind:edge")
_KEEP = ~(0xF000 << 64 | 0xC000 << 48)
_VERSION_5 = 0x5000 << 64 | 0x8000 << 48
_PLAIN = re.compile(r"[\w-]+", re.ASCII)
_QUOTED = '", "'

_ATX = re.compile(r"( {0,3}#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*", re.DOTALL)
_FENCE = re.compile(r"[ \t>]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)*(`{3,}|~{3,})(.*)", re.DOTALL)
_CONTAINERS = ("item", "quote")


@dataclass(frozen=True, slots=True)
class Hashes:
    """SHA-256 hex of the body, of the frontmatter, and of both."""

    body: str
    frontmatter: str
    full: str


def nfc(text: str) -> str:
    """Return `text` in Unicode NFC; free for ASCII."""
    return text if text.isascii() else normalize("NFC", text)


@lru_cache(maxsize=8192)
def fold(name: str) -> str:
    """The key of a name: NFKC, casefold, one space between words. Plurals stay as they are."""
    text = " ".join(name.split()).casefold()
    return text if text.isascii() else " ".join(normalize("NFKC", text).casefold().split())


def sha256_text(text: str) -> str:
    """Return the SHA-256 hex of `text` in UTF-8 (a lone surrogate, possible in YAML escapes, is encoded as it is)."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


# --- identities -------------------------------------------------------------------------------------------------------


def uuid5(namespace: uuid.UUID, name: str) -> str:
    """Return the UUIDv5 (RFC 9562, 5.5) of `name` as text, as ``str(uuid.uuid5(...))`` does.

    A first index makes some twenty a note; this takes half of the library's time, which goes into an object that
    nobody needs. Raises UnicodeEncodeError for a lone surrogate.
    """
    digest = hashlib.sha1(namespace.bytes + name.encode(), usedforsecurity=False).digest()
    text = (int.from_bytes(digest[:16], "big") & _KEEP | _VERSION_5).to_bytes(16, "big").hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def note_uuid(prefix: str, path: str) -> str:
    """Return the id of the note at vault path `path`: UUIDv5 of ``{prefix}:{path}``, the path in NFC."""
    return uuid5(NAMESPACE, f"{prefix}:{nfc(path)}")


def chunk_uuid(prefix: str, path: str, idx: int) -> str:
    """Return the id of chunk `idx` of the note at `path`: UUIDv5 of ``{prefix}:{path}:{idx}``."""
    return uuid5(NAMESPACE, f"{prefix}:{nfc(path)}:{idx}")


def file_uuid(prefix: str, path: str) -> str:
    """Return the id of a vault file that is no note (an attachment, a canvas, an excluded note)."""
    return uuid5(_FILE, f"{prefix}:{nfc(path)}")


def url_uuid(prefix: str, url: str) -> str:
    """Return the id of an external URL, taken as written."""
    return uuid5(_URL, f"{prefix}:{_printable(url)}")


def unresolved_uuid(prefix: str, target: str) -> str:
    """Return the id of a link target that no file answers to, from the target text in NFC."""
    return uuid5(_UNRESOLVED, f"{prefix}:{_printable(nfc(target))}")


def edge_uuid(relation: str, source: str, src: str, dst: str, scope: str) -> str:
    """Return the id of an edge from its key (`src` and `dst` are ids). The parts cannot run into each other."""
    key = [relation, source, src, dst, scope]
    plain = _PLAIN.fullmatch("".join(key)) is not None
    return uuid5(_EDGE, _QUOTED.join(key).join(('["', '"]')) if plain else json.dumps(key))


def entity_uuid(prefix: str, key: str) -> str:
    """Return the id of the entity whose name folds to `key`: UUIDv5 of ``{prefix}:entity:{key}``."""
    return uuid5(_ENTITY, f"{prefix}:entity:{_printable(key)}")


def relationship_uuid(prefix: str, relation: str, source: str, src: str, dst: str) -> str:
    """Return the id of a relation between the entities with ids `src` and `dst`, by where it comes from."""
    return uuid5(_RELATIONSHIP, json.dumps([prefix, relation, source, src, dst]))


def _printable(text: str) -> str:
    """Lone surrogates become U+FFFD: ``uuid5`` encodes to UTF-8 and would raise."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


# --- the canonical body -----------------------------------------------------------------------------------------------


def canonical_body(lines: Sequence[str], blocks: Sequence[Block], normalize: str) -> str:
    r"""Return the body that everything else is made from.

    `lines` are the body's lines without line ends, `blocks` their tiling. With `normalize` ``none`` this is the decoded
    text, lines joined by ``\n``. With ``canonical``: NFC, trailing white space of lines and blank lines at the end
    removed, ATX headings with one space after the ``#`` and no closing ``#``; lines of code stay as they are. Line `i`
    of the result is always line `i` of `lines`; only blank lines at the very end can be missing.
    """
    if normalize == "none":
        return "\n".join(lines)
    out: list[str] = []
    for block in blocks:
        part = lines[block.first : block.last]
        if block.kind == "code":
            out.extend(_code_block(part))
        elif block.kind in _CONTAINERS:
            out.extend(_container(part))
        else:
            clean = [nfc(line).rstrip() for line in part]
            if block.kind == "heading":
                clean = [_atx(line) for line in clean]
            out.extend(clean)
    while out and not out[-1].strip():
        out.pop()
    return "\n".join(out)


def _code_block(lines: Sequence[str]) -> list[str]:
    """Code as it is; the blank lines that follow it are no part of the code."""
    end = len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    return [*lines[:end], *([""] * (len(lines) - end))]


def _container(lines: Sequence[str]) -> list[str]:
    """A list item or a quote: text, but fenced code inside it stays as it is."""
    out: list[str] = []
    fence = ""
    for line in lines:
        match = _FENCE.match(line)
        if fence:
            out.append(line)
            closes = match and match[1].startswith(fence) and not match[2].strip()
            fence = "" if closes else fence
        elif match and not (match[1][0] == "`" and "`" in match[2]):
            out.append(line)
            fence = match[1]
        else:
            out.append(nfc(line).rstrip())
    return out


def _atx(line: str) -> str:
    """``##   Title  ##`` becomes ``## Title``; anything but an ATX heading (a setext line) is left alone."""
    match = _ATX.fullmatch(line)
    if not match:
        return line
    return f"{match[1]} {match[2]}" if match[2] else match[1]


# --- the hashes -------------------------------------------------------------------------------------------------------


def canonical_frontmatter(frontmatter: Mapping[str, Any], normalize: str = "canonical") -> str:
    r"""Return parsed frontmatter as one line of JSON: keys sorted by code point at every level, no spaces, UTF-8.

    With `normalize` ``canonical`` every string is in NFC with ``\n`` line ends, trailing white space of its lines and
    its end removed; with ``none`` strings stay as they are.
    """
    return json.dumps(
        _plain(frontmatter, normalize != "none"), ensure_ascii=False, sort_keys=True, separators=(",", ":")
    )


def hashes(body: str | bytes, frontmatter: Mapping[str, Any] | bytes, normalize: str = "canonical") -> Hashes:
    r"""Return the three hashes of a note.

    ``hash.source: parsed``: `body` is the canonical body, `frontmatter` the parsed mapping; the full hash covers the
    canonical frontmatter, ``\n`` and the body. ``hash.source: raw``: both are the bytes of their part of the file (the
    frontmatter without its fences), and the full hash covers the frontmatter, a NUL and the body.
    """
    text = body if isinstance(body, bytes) else body.encode("utf-8", "surrogatepass")
    if isinstance(frontmatter, bytes):
        head, joint = frontmatter, b"\0"
    else:
        head, joint = canonical_frontmatter(frontmatter, normalize).encode("utf-8", "surrogatepass"), b"\n"
    return Hashes(_sha(text), _sha(head), _sha(head, joint, text))


def _sha(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def _plain(value: Any, tidy: bool) -> Any:
    """`value` with strings in canonical form and everything that JSON does not know as its text."""
    if isinstance(value, str):
        return _tidy(value) if tidy else value
    if isinstance(value, Mapping):
        return {_plain(str(key), tidy): _plain(value[key], tidy) for key in sorted(value, key=str)}
    if isinstance(value, list | tuple):
        return [_plain(item, tidy) for item in value]
    if value is None or isinstance(value, bool | int):
        return value
    return str(value)


def _tidy(text: str) -> str:
    if "\n" not in text and "\r" not in text:
        return nfc(text).rstrip()
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(nfc(line).rstrip() for line in lines).rstrip("\n")
