"""Identities, canonical form and hashes, against the written vectors and as laws."""

from __future__ import annotations

import json
import unicodedata
import uuid

import hash_vectors
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindnetd.core import identity
from mindnetd.core.markdown import scan_blocks
from mindnetd.core.note import ReadOptions, read_note

TEXT = st.lists(
    st.sampled_from(["# a ##", "##  b", "```", "~~~", "- x  ", "  ", "", "> q ", "\tcode ", "e\u0301 ", "|a|", "$$"]),
    max_size=20,
)

VALUES = st.recursive(
    st.text(max_size=5) | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def canonical(text: str, normalize: str = "canonical") -> str:
    """The canonical body of a text."""
    lines = text.split("\n")
    return identity.canonical_body(lines, scan_blocks(lines), normalize)


def test_the_vectors_are_what_the_code_says() -> None:
    """docs/hashing.md promises these bytes; a change of the canonical form is a change of this file."""
    assert json.loads(hash_vectors.FILE.read_text(encoding="utf-8")) == hash_vectors.vectors()


def test_vectors_that_say_same_are_the_same() -> None:
    """The cases that differ only in form share their hashes, those that differ in content do not."""
    found = {vector["name"]: vector["hashes"]["parsed/canonical"] for vector in hash_vectors.vectors()}
    plain = found["plain"]
    for name in (
        "the same with CRLF, trailing blanks and blank lines at the end",
        "the same with an untidy heading",
        "the same behind a BOM",
    ):
        assert found[name] == plain
    assert found["NFC"] == found["NFD"]
    assert found["frontmatter"] == found["the same with other order, quotes and a comment"]
    assert found["frontmatter"]["frontmatter"] != found["list order counts"]["frontmatter"]
    assert found["no frontmatter"] == found["no frontmatter and an empty block are the same"]
    assert found["code keeps trailing blanks and its marks"] != found["the same without the blanks"]


@pytest.mark.parametrize(
    ("line", "tidy"),
    [
        ("#  a  ##", "# a"), ("#\ta", "# a"), ("#", "#"), ("# #", "#"), ("## a#", "## a#"), ("# a \\##", "# a \\##"),
        ("#tag", "#tag"), ("   ###   a ### b #", "   ### a ### b"), ("####### a  ", "####### a"),
        ("    # code  ", "    # code  "),
    ],
)  # fmt: skip
def test_headings(line: str, tidy: str) -> None:
    """One space after the marks, no closing marks, and only where it is a heading."""
    assert canonical(line) == tidy


def test_code_in_containers_stays() -> None:
    """Fences inside a list item or a quote are code too; the text around them is not."""
    text = "- item  \n  ```\n  code  \n  ```\n  text  \n\n> quote  \n> ```\n> e\u0301  \n> ```\n> e\u0301  "
    assert canonical(text) == "- item\n  ```\n  code  \n  ```\n  text\n\n> quote\n> ```\n> e\u0301  \n> ```\n> \u00e9"


@given(TEXT)
def test_canonical_form_laws(lines: list[str]) -> None:
    """It is stable, keeps the line of every line, ends in no blank, and `none` changes nothing."""
    text = "\n".join(lines)
    once = canonical(text)
    assert canonical(once) == once
    kept = once.split("\n") if once else []
    assert [bool(line.strip()) for line in kept] == [bool(line.strip()) for line in lines[: len(kept)]]
    assert not "".join(lines[len(kept) :]).strip()
    assert once == once.rstrip("\n")
    assert canonical(text, "none") == text


@given(st.text(max_size=60))
def test_unicode_form_does_not_matter_outside_code(text: str) -> None:
    """NFD and NFC of a paragraph are one body."""
    body = "x" + text.replace("`", "").replace("\n", " ")
    nfc, nfd = (unicodedata.normalize(form, body) for form in ("NFC", "NFD"))
    assert read_note("a.md", nfc.encode()).full_hash == read_note("a.md", nfd.encode()).full_hash


@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=4))
def test_frontmatter_is_one_sorted_line(values: dict[str, object]) -> None:
    """Canonical frontmatter is JSON without line breaks, whatever the order of the keys."""
    text = identity.canonical_frontmatter(values)
    assert "\n" not in text
    assert identity.canonical_frontmatter(dict(reversed(values.items()))) == text
    json.loads(text)


def test_lone_surrogates_have_a_hash() -> None:
    """YAML escapes can make them; they must not stop a run."""
    assert len(identity.hashes("a", {"k": "\ud800"}).full) == 64
    assert uuid.UUID(identity.unresolved_uuid("p", "\ud800"))


def test_raw_hashes_cover_the_bytes() -> None:
    """With source raw, white space counts, and the border between the parts counts."""
    raw = ReadOptions(hash_source="raw")
    one, other = read_note("a.md", b"---\na: 1\n---\nb\n", raw), read_note("a.md", b"---\na:  1\n---\nb\n", raw)
    assert one.body_hash == other.body_hash
    assert one.frontmatter_hash != other.frontmatter_hash
    assert one.full_hash != other.full_hash
    assert identity.hashes(b"bc", b"a").full != identity.hashes(b"c", b"ab").full


def test_ids() -> None:
    """The formulas of the design; paths in NFC; kinds cannot collide."""
    assert identity.note_uuid("mindnet", "a/b.md") == str(uuid.uuid5(identity.NAMESPACE, "mindnet:a/b.md"))
    assert identity.chunk_uuid("mindnet", "a/b.md", 3) == str(uuid.uuid5(identity.NAMESPACE, "mindnet:a/b.md:3"))
    assert identity.note_uuid("p", "U\u0308.md") == identity.note_uuid("p", "\u00dc.md")
    ids = [
        make("p", "x") for make in (identity.note_uuid, identity.file_uuid, identity.url_uuid, identity.unresolved_uuid)
    ]
    assert len({*ids, identity.edge_uuid("r", "declared", ids[0], ids[1], "note")}) == 5
    assert identity.edge_uuid("ab", "c", "1", "2", "note") != identity.edge_uuid("a", "bc", "1", "2", "note")


@given(st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(exclude_categories=["Cs"])))
def test_fast_uuids_are_the_library_s(name: str, relation: str) -> None:
    """Our UUIDv5 is the one of RFC 9562, and an edge's key is the JSON of its parts, however odd."""
    assert identity.uuid5(identity.NAMESPACE, name) == str(uuid.uuid5(identity.NAMESPACE, name))
    edges = uuid.uuid5(identity.NAMESPACE, "kind:edge")
    for key in ([relation, "declared", "a-b", name, "note"], [relation, "rule", "a", "b", "note"]):
        assert identity.edge_uuid(*key) == str(uuid.uuid5(edges, json.dumps(key)))


def test_the_namespace_never_changes() -> None:
    """A changed constant would change every id of every database."""
    assert str(identity.NAMESPACE) == "6d1f3a52-0c7e-5b1e-9b38-4e2f6c1d7a90"
    assert identity.note_uuid("mindnet", "Home.md") == "a0398d29-b21e-53ba-86fc-9ca3be5211dd"
