"""Deriving in a child process: the same result, or none."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine_kit import Bench, make_config

from mindnetd.core.derive import DeriveOptions, derive
from mindnetd.inference.tokenizer import PinnedCounter
from mindnetd.store.dump import differences
from mindnetd.writing import parts as writer_parts
from mindnetd.writing.ahead import Ahead

NOTE = "---\ntags: [a]\nup: '[[b]]'\n---\n# Head\n\nSome *text* with a [[link|shown]].\n\n## Two\n\n- one\n- two\n"


@pytest.fixture
def child(tmp_path: Path) -> Iterator[Ahead]:
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text(NOTE + name, encoding="utf-8")
    one = Ahead(tmp_path, DeriveOptions(), 1 << 20)
    yield one
    one.close()


def read(folder: Path, name: str) -> tuple[bytes, str]:
    raw = (folder / name).read_bytes()
    return raw, hashlib.sha256(raw).hexdigest()


def test_the_child_derives_what_the_parent_would(tmp_path: Path, child: Ahead) -> None:
    """Everything that rows are made of is equal; structure that nothing is made of is left out."""
    child.ask(["a.md", "b.md"])
    for name in ("a.md", "b.md"):
        raw, raw_hash = read(tmp_path, name)
        ours, theirs = derive(name, raw, DeriveOptions(), PinnedCounter()), child.take(name, raw, raw_hash)
        assert theirs is not None
        assert (theirs.chunked, theirs.words, theirs.raw, theirs.hash_mode) == (
            ours.chunked, ours.words, ours.raw, ours.hash_mode,
        )  # fmt: skip
        assert (theirs.note.links, theirs.note.body, theirs.note.frontmatter) == (
            ours.note.links, ours.note.body, ours.note.frontmatter,
        )  # fmt: skip
        assert theirs.texts == ours.texts


def test_other_bytes_and_unasked_paths_give_nothing(tmp_path: Path, child: Ahead) -> None:
    """A note that was saved after the child read it is derived by the parent; so is one that is gone."""
    child.ask(["a.md", "gone.md"])
    assert child.take("b.md", *read(tmp_path, "b.md")) is None
    assert child.take("a.md", b"newer", hashlib.sha256(b"newer").hexdigest()) is None
    assert child.take("gone.md", b"", hashlib.sha256(b"").hexdigest()) is None


def test_a_dead_child_costs_only_time(tmp_path: Path, child: Ahead) -> None:
    """Nothing waits for a child that is gone, and asking it raises nothing."""
    child._child.kill()
    child._child.wait()
    child.ask(["a.md"])
    assert child.take("a.md", *read(tmp_path, "a.md")) is None
    child.ask(["b.md"])
    assert child.room == 0


def test_the_child_ends_with_its_parent(tmp_path: Path) -> None:
    """The end of its input is the end of the child."""
    one = Ahead(tmp_path, DeriveOptions(), 1 << 20)
    assert one._child.stdin is not None
    one._child.stdin.close()
    assert one._child.wait(timeout=30) == 0
    one.close()


def test_bulk_work_through_the_child_gives_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index made with the child equals one made without, and the child is gone afterwards."""
    vault = tmp_path / "vault"
    vault.mkdir()
    for number in range(writer_parts.WORTH_IT + 5):
        (vault / f"n{number}.md").write_text(f"{NOTE}\n\nNumber {number}, see [[n{number + 1}]].\n", encoding="utf-8")
    dumps = []
    for name, worth in (("with", writer_parts.WORTH_IT), ("without", 10**9)):
        monkeypatch.setattr(writer_parts, "WORTH_IT", worth)
        bench = Bench(make_config(tmp_path, vault, tmp_path / name / "notes.duckdb"), None)
        bench.settle()
        assert bench.engine.indexer.ahead is None
        dumps.append(bench.dump())
        bench.close()
    assert differences(*dumps) == []
    assert len(dumps[0]["notes"]) == len(list(vault.iterdir()))
