"""The road of a note: what a save costs, what it keeps, what comes back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine_kit import Bench, make_config, open_shared

from mindnetd import index
from mindnetd.errors import StoreError
from mindnetd.inference.embedder import Embedder
from mindnetd.store.dump import differences
from mindnetd.watching.vaultio import Unreadable
from mindnetd.writing.runs import Run


@pytest.fixture(scope="module")
def embedder(model_cache: Path) -> Iterator[Embedder]:
    model = open_shared(model_cache)
    yield model
    model.close()


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    return folder


@pytest.fixture
def opened(tmp_path: Path, vault: Path, embedder: Embedder) -> Iterator[list[Bench]]:
    """Benches that a test opened; the last is closed for it."""
    benches: list[Bench] = []
    yield benches
    for bench in benches:
        bench.close()


def start(opened: list[Bench], tmp_path: Path, vault: Path, embedder: Embedder, **settings: str) -> Bench:
    if opened:
        opened.pop().close()
    bench = Bench(make_config(tmp_path, vault, tmp_path / "state" / "notes.duckdb", **settings), embedder)
    opened.append(bench)
    bench.settle()
    return bench


def write(vault: Path, path: str, text: str) -> None:
    (vault / path).parent.mkdir(parents=True, exist_ok=True)
    (vault / path).write_text(text, encoding="utf-8")


def long_note(paragraphs: int) -> list[str]:
    """Paragraphs of about 110 words, each of its own words."""
    words = ("apple", "boat", "cart", "door", "elm") * 22
    return [" ".join(f"{word}{number}" for word in words) for number in range(paragraphs)]


def test_restarts_touches_and_a_folder_move_embed_nothing(tmp_path, vault, embedder, opened) -> None:
    """Demand 1: 20 restarts, a touch of every note and the rename of a folder make 0 embeddings."""
    for number in range(12):
        text = f"---\ntags: [t]\n---\n# Note {number}\n\nText number {number}. [[n{number - 1}]]\n"
        write(vault, f"a/n{number}.md", text)
    bench = start(opened, tmp_path, vault, embedder)
    assert bench.made > 12
    for _ in range(20):
        bench = start(opened, tmp_path, vault, embedder)
        assert bench.made == 0
    for path in vault.rglob("*.md"):
        os.utime(path, (1_000_000, 1_000_000))
    bench.settle()
    (vault / "a").rename(vault / "b")
    bench.settle()
    assert bench.made == 0
    assert {note.path for note in bench.engine.hot.snapshot().all_notes()} == {f"b/n{n}.md" for n in range(12)}
    assert bench.engine.counts().pending == 0


@pytest.mark.parametrize("edit", ["change", "insert"])
def test_a_small_edit_embeds_at_most_three_passages(tmp_path, vault, embedder, opened, edit) -> None:
    """Law 3: one changed or inserted paragraph in a note of 60 chunks."""
    parts = long_note(120)
    write(vault, "long.md", "\n\n".join(parts) + "\n")
    bench = start(opened, tmp_path, vault, embedder, chunking__default_profile="short")
    assert bench.engine.counts().chunks >= 60
    before = bench.made
    if edit == "change":
        parts[60] = "Something else stands here now, in a few words of its own."
    else:
        parts.insert(60, "Something else stands here now, in a few words of its own.")
    write(vault, "long.md", "\n\n".join(parts) + "\n")
    bench.settle()
    assert 1 <= bench.made - before <= 3


def test_links_follow_files_that_come_and_go(tmp_path, vault, embedder, opened) -> None:
    """A link resolves when its note appears and falls back when it goes, without its own note being read again."""
    write(vault, "from.md", "See [[Later]].\n")
    bench = start(opened, tmp_path, vault, embedder)

    def resolved() -> list[tuple[object, ...]]:
        return [row for row in bench.dump()["links"] if "Later" in row]

    assert not any("deep/Later.md" in row for row in resolved())
    write(vault, "deep/Later.md", "I am here.\n")
    bench.settle()
    assert any("deep/Later.md" in row for row in resolved())
    (vault / "deep/Later.md").unlink()
    bench.settle()
    assert not any("deep/Later.md" in row for row in resolved())


def test_a_body_edit_waits_in_hash_mode_frontmatter(tmp_path, vault, embedder, opened) -> None:
    """The note is stale until its metadata changes, and its old words stay."""
    head = "---\nhash_mode: frontmatter\nversion: {}\n---\n"
    write(vault, "n.md", head.format(1) + "Old marmalade.\n")
    bench = start(opened, tmp_path, vault, embedder)
    first = bench.dump()["chunks"]
    write(vault, "n.md", head.format(1) + "New marzipan.\n")
    bench.settle()
    assert bench.engine.indexer.known.notes["n.md"].stale
    assert bench.dump()["chunks"] == first
    write(vault, "n.md", head.format(1) + "Old marmalade.\n")
    bench.settle()
    assert not bench.engine.indexer.known.notes["n.md"].stale
    write(vault, "n.md", head.format(2) + "New marzipan.\n")
    bench.settle()
    assert not bench.engine.indexer.known.notes["n.md"].stale
    assert any("New marzipan." in str(row) for row in bench.dump()["chunks"])


def test_a_text_that_comes_back_is_not_embedded_again(tmp_path, vault, embedder, opened) -> None:
    """Undo after a delete and a restart finds its vectors in the file."""
    write(vault, "other.md", "Another note, so that the vault is not empty in between.\n")
    write(vault, "n.md", "# Quince\n\nQuinces want long cooking.\n")
    bench = start(opened, tmp_path, vault, embedder)
    (vault / "n.md").unlink()
    bench.settle()
    bench = start(opened, tmp_path, vault, embedder)
    write(vault, "n.md", "# Quince\n\nQuinces want long cooking.\n")
    bench.settle()
    assert bench.made == 0
    assert bench.engine.counts().pending == 0


def test_a_damaged_file_is_put_aside_and_made_anew(tmp_path, vault, embedder, opened) -> None:
    """Damage that shows while the daemon runs: the file is kept aside, everything is indexed again, nothing is lost."""
    write(vault, "n.md", "# Quince\n\nQuinces want long cooking. [[m]]\n")
    write(vault, "m.md", "Medlars too.\n")
    bench = start(opened, tmp_path, vault, embedder)
    before = bench.dump()
    bench.writer._store_failed(StoreError("a block is damaged", code="damaged"))
    assert bench.writer.trouble == "a block is damaged"
    assert bench.engine.moved_aside is not None and bench.engine.moved_aside.exists()
    bench.settle()
    assert bench.writer.trouble is None
    assert differences(before, bench.dump()) == []


def test_the_vault_emptied_is_a_vault_missing(tmp_path, vault, embedder, opened) -> None:
    """Demand 8: an empty root where there were notes deletes nothing, and heals."""
    write(vault, "n.md", "Here.\n")
    bench = start(opened, tmp_path, vault, embedder)
    vault.rename(tmp_path / "elsewhere")
    vault.mkdir()
    bench.writer.doubt("test")
    bench.writer._turn(0.0)
    assert bench.writer.trouble is not None and "empty" in bench.writer.trouble
    assert bench.engine.counts().notes == 1
    vault.rmdir()
    (tmp_path / "elsewhere").rename(vault)
    bench.settle()
    assert bench.writer.trouble is None
    assert bench.engine.counts().notes == 1


def test_a_file_that_can_be_read_again_has_no_trouble_left(tmp_path, vault, embedder, opened, monkeypatch) -> None:
    """Its diagnostic goes though its bytes are as before; what was indexed was served meanwhile."""
    write(vault, "n.md", "Here.\n")
    bench = start(opened, tmp_path, vault, embedder)
    before = bench.dump()
    with monkeypatch.context() as patched:
        patched.setattr(index, "read_stable", lambda *args, **kwargs: Unreadable("denied", "n.md: no right to read it"))
        bench.engine.indexer.index(["n.md"], Run("test", ""))
    assert [row[1] for row in bench.dump()["diagnostics"]] == ["unreadable"]
    bench = start(opened, tmp_path, vault, embedder)
    bench.engine.indexer.index(["n.md"], Run("test", ""))
    assert differences(before, bench.dump()) == []


def test_a_change_reaches_every_name_of_a_file(tmp_path, vault, embedder, opened) -> None:
    """Links raise no event: they are looked at because the file that they mean has changed, or has gone, once each."""
    write(vault, "n.md", "Here.\n")
    write(vault, "other.md", "Elsewhere.\n")
    (vault / "soft.md").symlink_to("n.md")
    os.link(vault / "n.md", vault / "hard.md")
    bench = start(opened, tmp_path, vault, embedder)
    road, known = bench.engine.indexer, bench.engine.indexer.known
    assert road.index(["n.md"], Run("test", "")) == [], "nothing has changed"
    write(vault, "n.md", "There.\n")
    todo = road.index(["n.md"], Run("test", ""))
    assert sorted(todo) == ["hard.md", "soft.md"]
    assert road.index(todo, Run("test", "")) == []
    assert len({known.notes[path].raw_hash for path in ("n.md", "hard.md", "soft.md")}) == 1
    (vault / "n.md").unlink()
    todo = road.index(["n.md"], Run("test", ""))
    assert sorted(todo) == ["hard.md", "soft.md"]
    assert not {"n.md", "soft.md"} & set(road.index(todo, Run("test", "")))
    assert sorted(known.notes) == ["hard.md", "other.md"]
