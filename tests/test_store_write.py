"""Batches into the store and out again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from store_make import (
    DIM,
    FINGERPRINT,
    batch_of,
    canvas,
    edge,
    file,
    link,
    note,
    open_store,
    passage,
    sha,
    uid,
    vectors,
)

from mindnetd.core.records import Diagnostic
from mindnetd.errors import StoreError
from mindnetd.store.db import Database
from mindnetd.store.read_graph import edges_around, unresolved
from mindnetd.store.read_hot import load_canvases, load_files, load_hot, load_meta, load_vectors
from mindnetd.store.read_notes import (
    indexed_body,
    load_link_names,
    load_links,
    note_detail,
    passage_hashes,
    read_raw,
    texts,
)
from mindnetd.store.read_runs import diagnostics
from mindnetd.store.records import Batch, PathDiagnostics, RelinkRows
from mindnetd.store.write import commit


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """An empty database."""
    found = open_store(tmp_path)
    yield found
    found.close()


def test_a_note_comes_back_as_it_went_in(db: Database) -> None:
    """Every field of a note's rows survives the store."""
    rows = note(db, "a/B ü.md", ["one two", "three 𝄞 four"], links=("x.md", "?y"))
    assert commit(db, batch_of(rows, embed=True)) == 1
    found = note_detail(db, rows.meta.key, FINGERPRINT, DIM)
    assert found.meta == rows.meta
    assert found.links == rows.links
    assert [chunk.text.text for chunk in found.chunks] == ["one two", "three 𝄞 four"]
    assert found.chunks[0].text.section == ("Top", "a/B ü.md")
    assert (found.passages, found.embedded) == (3, 3)
    assert found.diagnostics == rows.diagnostics
    assert found.run_id == "run-1"
    assert read_raw(db, rows.meta.key) == rows.raw
    assert load_files(db) == {"a/B ü.md": file("a/B ü.md")}


def test_a_second_commit_replaces_every_row_of_the_note(db: Database) -> None:
    """A note written again under its key leaves nothing of its former self."""
    first = note(db, "n.md", ["old words here", "more"], links=("?gone",))
    commit(db, batch_of(first))
    again = note(db, "n.md", ["new"], key=first.meta.key)
    commit(db, batch_of(again))
    hot = load_hot(db, FINGERPRINT, DIM)
    assert hot.revision == 2
    assert hot.doc_key.tolist() == [again.chunks[0].key]
    assert {hot.terms[t] for t in hot.posting_term} == {"n", "new"}
    assert not unresolved(db)
    assert set(texts(db, [row.key for row in (*first.chunks, *again.chunks)])) == {again.chunks[0].key}


def test_a_removed_note_is_in_no_table(db: Database) -> None:
    """Only the file row says that it was there, until that is removed as well."""
    rows = note(db, "n.md", ["one", "two"], links=("?x",))
    commit(db, batch_of(rows))
    commit(db, Batch(removed=(rows.meta.key,), files_removed=("n.md",)))
    with db.reader() as reader:
        tables = [name for (name,) in reader.rows("SELECT table_name FROM duckdb_tables()")]
        counts = {name: reader.rows(f"SELECT count(*) FROM {name}")[0][0] for name in tables}
    assert {name for name, count in counts.items() if count} == {"meta", "terms"}


def test_hot_columns_equal_the_rows(db: Database) -> None:
    """Postings, lengths, passages and vectors come back as they were written."""
    rows = [note(db, f"{i}.md", [f"common word{i}", "common " * i]) for i in range(1, 5)]
    commit(db, batch_of(*rows, embed=True))
    hot = load_hot(db, FINGERPRINT, DIM)
    expected = sorted(
        (doc.key, field, term, count)
        for row in rows
        for doc in row.docs
        for field, counts in doc.terms.counts.items()
        for term, count in counts.items()
    )
    names = ("title", "aliases", "headings", "tags", "body")
    columns = (hot.posting_doc, hot.posting_field, hot.posting_term, hot.posting_tf)
    found = zip(*(column.tolist() for column in columns), strict=True)
    assert sorted((doc, names[field], hot.terms[term], count) for doc, field, term, count in found) == expected
    assert hot.doc_lengths.sum(axis=0).tolist() == [8, 0, 0, 0, 18]
    assert {h.tobytes().hex() for h in hot.passage_hash} == {
        p.text_hash for row in rows for c in row.chunks for p in c.chunk.passages
    } | {sha(str(i)) for i in range(1, 5)}
    made = vectors([f"common word{i}" for i in range(1, 5)])
    places = {h.tobytes().hex(): i for i, h in enumerate(hot.vector_hash)}
    for text_hash, vector in zip(made.hashes, made.matrix, strict=True):
        assert np.array_equal(hot.matrix[places[text_hash]], vector)


def test_vectors_of_another_model_are_not_loaded(db: Database) -> None:
    """Fingerprints and dimensions never mix; a text keeps one vector for each model."""
    rows = note(db, "n.md", ["text"])
    commit(db, batch_of(rows, embed=True))
    commit(db, Batch(vectors=vectors(["text"], "other")))
    commit(db, Batch(vectors=vectors(["text"], "small", dim=8)))
    assert load_hot(db, FINGERPRINT, DIM).matrix.shape == (2, DIM)
    assert load_hot(db, "other", DIM).matrix.shape == (1, DIM)
    assert load_hot(db, "small", 8).matrix.shape == (1, 8)
    assert load_hot(db, "none", 16).matrix.shape == (0, 16)
    found = load_vectors(db, [sha("text"), sha("unknown")], "other", DIM)
    assert found.hashes == (sha("text"),)
    assert np.array_equal(found.matrix, vectors(["text"]).matrix)
    assert load_vectors(db, [sha("unknown")], "other", DIM).matrix.shape == (0, DIM)


def test_unused_vectors_and_other_models_between_do_not_shift_rows(db: Database) -> None:
    """Rows that are not wanted lie between the wanted ones; each hash still has its own vector."""
    words = [f"word {i}" for i in range(40)]
    for i, word in enumerate(words):
        commit(db, Batch(vectors=vectors([word], FINGERPRINT if i % 3 else "other")))
    commit(db, batch_of(note(db, "n.md", words[::2])))
    hot = load_hot(db, FINGERPRINT, DIM)
    made = {sha(word): vectors([word]).matrix[0] for i, word in enumerate(words) if i % 3 and i % 2 == 0}
    found = {row.tobytes().hex(): hot.matrix[i] for i, row in enumerate(hot.vector_hash)}
    assert found.keys() == made.keys()
    assert all(np.array_equal(found[text_hash], made[text_hash]) for text_hash in made)


def test_a_vector_is_stored_once(db: Database) -> None:
    """Writing a text's vector again changes nothing."""
    for _ in range(2):
        commit(db, Batch(vectors=vectors(["a", "b"])))
    with db.reader() as reader:
        assert reader.rows("SELECT count(*) FROM embeddings") == [(2,)]


@pytest.mark.parametrize("bad", [np.nan, np.inf, 0.0])
def test_a_broken_vector_is_refused(db: Database, bad: float) -> None:
    """Not finite or zero: the batch is refused as a whole."""
    made = vectors(["a"])
    made.matrix[:] = bad
    with pytest.raises(StoreError) as info:
        commit(db, Batch(files_upsert=(file("x"),), vectors=made))
    assert info.value.code == "bad_vector"
    assert not load_files(db)
    assert db.revision == 0


def test_odd_texts_do_not_stop_a_batch(db: Database) -> None:
    """Lone surrogates are replaced; control characters, a very long text, empty and NULL come back as they went."""
    long = "x" * 3_000_000
    rows = note(db, "odd.md", ["a\ud800b", "nul\0\x1e\x1f\x01", long, ""], h1="", title="t\udfff")
    commit(db, batch_of(rows, note(db, "even.md", ["other"])))
    found = note_detail(db, rows.meta.key, FINGERPRINT, DIM)
    assert [chunk.text.text for chunk in found.chunks] == ["a\ufffdb", "nul\0\x1e\x1f\x01", long, ""]
    assert (found.meta.h1, found.meta.title, found.meta.note_id) == ("", "t\ufffd", None)


def test_an_edge_is_as_hidden_as_its_more_hidden_end(db: Database) -> None:
    """Also when the far end changes, comes later or goes."""

    def seen() -> list[str]:
        return [edge.visibility for edge in edges_around(db, [uid("a.md")], "out")]

    commit(db, batch_of(note(db, "a.md", ["x"], links=("b.md",), visibility="public")))
    assert seen() == ["public"]
    far = note(db, "b.md", ["y"], visibility="sensitive")
    commit(db, batch_of(far))
    assert seen() == ["sensitive"]
    commit(db, batch_of(note(db, "b.md", ["y"], key=far.meta.key, visibility="internal")))
    assert seen() == ["internal"]
    commit(db, Batch(removed=(far.meta.key,)))
    assert seen() == ["public"]


def test_relinking_touches_links_edges_and_their_diagnostics_only(db: Database) -> None:
    """New answers for the links of a note leave its text and other diagnostics alone."""
    rows = note(db, "a.md", ["x"], links=("?b",))
    commit(db, batch_of(rows))
    key = rows.meta.key
    assert load_link_names(db) == [(key, "b")]
    relinked = RelinkRows(
        key,
        "a.md",
        rows.meta.id,
        (link("b.md"),),
        (edge("a.md", "b.md"),),
        (Diagnostic("link_ambiguous", "two"),),
        "r2",
    )
    for _ in range(2):
        commit(db, Batch(relinked=(relinked,)))
    assert load_links(db, [key]) == {key: (link("b.md"),)}
    assert [row.diagnostic.code for row in diagnostics(db, [key])] == ["fm_missing", "link_ambiguous"]
    assert [edge.edge.dst_label for edge in edges_around(db, [rows.meta.id])] == ["b.md"]
    assert load_link_names(db) == [(key, "b")]
    assert note_detail(db, key, FINGERPRINT, DIM).chunks[0].text.text == "x"


def test_a_canvas_has_links_but_is_no_note(db: Database) -> None:
    """It gives backlinks and edges and is in no list of notes."""
    target = note(db, "n.md", ["x"])
    board = canvas(db, "b.canvas", ("n.md", "?gone"))
    commit(db, batch_of(target))
    commit(db, Batch(canvases=(board,)))
    commit(db, Batch(canvases=(board,)))
    assert [row.path for row in note_detail(db, target.meta.key, FINGERPRINT, DIM).backlinks] == ["b.canvas"]
    assert [row.path for row in unresolved(db)] == ["b.canvas"]
    assert [row.path for row in load_canvases(db)] == ["b.canvas"]
    commit(db, Batch(removed=(board.key,)))
    assert not load_canvases(db)
    assert not unresolved(db)


def test_a_stale_note_keeps_its_chunks(db: Database) -> None:
    """Hash mode frontmatter: the bytes and the metadata are new, chunks, documents and run stay."""
    rows = note(db, "n.md", ["old body"])
    commit(db, batch_of(rows, embed=True))
    newer = note(db, "n.md", [], key=rows.meta.key, stale=True)
    kept = type(newer)(
        newer.meta, b"new body", (), passage("n", -1), (), newer.links, (), (), (), run_id=None, keep_chunks=True
    )
    commit(db, Batch(notes=(kept,)))
    found = note_detail(db, rows.meta.key, FINGERPRINT, DIM)
    assert (found.meta.stale, found.run_id, found.passages) == (True, "run-1", 2)
    assert [chunk.text.text for chunk in found.chunks] == ["old body"]
    assert read_raw(db, rows.meta.key) == b"new body"
    assert indexed_body(db, rows.meta.key) == "old body"
    assert load_hot(db, FINGERPRINT, DIM).doc_key.tolist() == [rows.chunks[0].key]
    assert len(passage_hashes(db, [rows.meta.key])[rows.meta.key]) == 2


def test_a_note_without_body_is_a_document_of_its_own_key(db: Database) -> None:
    """Its title is searchable though it has no chunk."""
    rows = note(db, "empty.md", [])
    commit(db, batch_of(rows))
    hot = load_hot(db, FINGERPRINT, DIM)
    assert hot.doc_key.tolist() == hot.doc_note.tolist() == [rows.meta.key]
    assert hot.passage_is_title.tolist() == [True]


def test_keys_are_never_used_again(tmp_path: Path) -> None:
    """Not after a removal and not after a restart."""
    db = open_store(tmp_path)
    rows = note(db, "n.md", ["a", "b"])
    commit(db, batch_of(rows))
    commit(db, Batch(removed=(rows.meta.key,)))
    db.close()
    db = open_store(tmp_path)
    assert db.allocate_keys(1)[0] > max(row.key for row in rows.chunks)
    db.close()


def test_diagnostics_of_a_file_that_is_no_note(db: Database) -> None:
    """They belong to the path and go with an empty list."""
    commit(db, Batch(path_diagnostics=(PathDiagnostics("c.md", (Diagnostic("conflict_copy", "a copy"),)),)))
    assert [(row.path, row.owner) for row in diagnostics(db)] == [("c.md", None)]
    commit(db, Batch(path_diagnostics=(PathDiagnostics("c.md", ()),)))
    assert not diagnostics(db)


def test_meta_entries_travel_with_a_batch(db: Database) -> None:
    """Stage versions and the chosen back end are part of the transaction."""
    commit(db, Batch(meta={"chunker": "1"}))
    commit(db, Batch(meta={"chunker": "2"}))
    assert load_meta(db)["chunker"] == "2"
