"""Deriving in a child process: the same result, or none."""

from __future__ import annotations

import dataclasses
import hashlib
import subprocess
import threading
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine_kit import Bench, make_config

from mindnetd.core.derive import DeriveOptions, derive
from mindnetd.core.edges import edges_of
from mindnetd.core.records import FileStat, ParsedNote, ResolvedLink, VaultFile
from mindnetd.inference.tokenizer import PinnedCounter
from mindnetd.store.dump import differences
from mindnetd.writing import bulk as bulk_work
from mindnetd.writing.ahead import Ahead, Result
from mindnetd.writing.backlog import EmbedQueue
from mindnetd.writing.plan import Plan
from mindnetd.writing.runs import Run

NOTE = "---\ntags: [a]\nup: '[[b]]'\n---\n# Head\n\nSome *text* [[link|shown]].\n\n## Depends on\n\n- one\n- [[two]]\n"


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


def answers(note: ParsedNote) -> list[ResolvedLink]:
    return [ResolvedLink(link, "b.md") for link in note.links]


def test_the_child_derives_what_the_parent_would(tmp_path: Path, child: Ahead) -> None:
    """Everything that rows are made of is equal; structure that nothing is made of is left out."""
    child.ask(["a.md", "b.md"])
    for name in ("a.md", "b.md"):
        raw, raw_hash = read(tmp_path, name)
        result = child.arrived(60)
        assert result is not None and result.path == name
        ours, theirs = derive(name, raw, DeriveOptions(), PinnedCounter()), result.of(raw, raw_hash)
        assert theirs is not None
        assert (theirs.chunked, theirs.words, theirs.raw, theirs.hash_mode) == (
            ours.chunked, ours.words, ours.raw, ours.hash_mode,
        )  # fmt: skip
        assert theirs.note == dataclasses.replace(ours.note, hidden=())
        assert edges_of("x", theirs.note, answers(theirs.note)) == edges_of("x", ours.note, answers(ours.note)) != ()
        assert theirs.texts == ours.texts
    assert child.arrived() is None
    assert len(child) == 0


def test_other_bytes_give_nothing(tmp_path: Path, child: Ahead) -> None:
    """A note that was saved after the child read it is derived by the parent; one that is gone comes without result."""
    child.ask(["a.md", "gone.md"])
    one, gone = child.arrived(60), child.arrived(60)
    assert one is not None and gone is not None
    assert one.of(b"newer", hashlib.sha256(b"newer").hexdigest()) is None
    assert (gone.path, gone.draft) == ("gone.md", None)


def test_a_dead_child_costs_only_time(tmp_path: Path, child: Ahead) -> None:
    """What it was asked for comes back without a result, and asking it raises nothing."""
    child._child.kill()
    child._child.wait()
    child.ask(["a.md"])
    assert child.arrived(60) == Result("a.md", None)
    child.ask(["b.md"])
    assert child.room == 0
    assert child.asked == ["b.md"]


def test_no_process_to_be_had_is_no_trouble(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no child can be started the writer does all of it."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(11, "Resource temporarily unavailable")

    (tmp_path / "vault").mkdir()
    for number in range(7):
        (tmp_path / "vault" / f"n{number}.md").write_text(NOTE, encoding="utf-8")
    monkeypatch.setattr(bulk_work, "WORTH_IT", 3)
    monkeypatch.setattr(subprocess, "Popen", refuse)
    bench = Bench(make_config(tmp_path, tmp_path / "vault", tmp_path / "notes.duckdb"), None)
    bench.settle()
    assert len(bench.dump()["notes"]) == 7
    assert not bench.engine.indexer.may_derive_ahead
    bench.close()


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
    for number in range(bulk_work.WORTH_IT + 5):
        (vault / f"n{number}.md").write_text(f"{NOTE}\n\nNumber {number}, see [[n{number + 1}]].\n", encoding="utf-8")
    dumps = []
    for name, worth in (("with", bulk_work.WORTH_IT), ("without", 10**9)):
        monkeypatch.setattr(bulk_work, "WORTH_IT", worth)
        bench = Bench(make_config(tmp_path, vault, tmp_path / name / "notes.duckdb"), None)
        bench.settle()
        dumps.append(bench.dump())
        bench.close()
    assert differences(*dumps) == []
    assert len(dumps[0]["notes"]) == len(list(vault.iterdir()))


def test_a_plan_is_committed_in_parts() -> None:
    """`split` takes the first notes and all that is no note; what is left is a plan of its own."""
    plan = Plan(Run("test", "c"), force=True, gone=["g.md"])
    for name in ("a.md", "b.md", "c.md"):
        draft = derive(name, NOTE.encode(), DeriveOptions(), PinnedCounter())
        plan.drafts.append((draft, VaultFile(name, "note", FileStat(1, 1, 1, 1))))
    first = plan.split(2)
    assert (first.paths(), plan.paths()) == (["a.md", "b.md", "g.md"], ["c.md"])
    assert plan.force
    assert plan.split(2).paths() == ["c.md"]
    assert len(plan) == 0


def test_no_commit_is_begun_just_before_a_save_settles() -> None:
    """Bulk work reads on while a save is about to be looked at, within bounds."""
    bulk = bulk_work.Bulk(Run("test", "c"), deque(f"n{number}.md" for number in range(3000)))
    never = float("inf")
    assert not bulk.wants_commit(never)
    file = VaultFile("n.md", "note", FileStat(1, 1, 1, 1))
    bulk.plan.files = [file] * bulk_work.COMMIT_AT
    assert bulk.wants_commit(never)
    assert not bulk.wants_commit(bulk_work.COMMIT_S / 2)
    bulk.plan.files = [file] * bulk_work.READ_AT_MOST
    assert bulk.wants_commit(0.0)
    bulk.plan.files, bulk.items = [file], deque()
    assert bulk.wants_commit(0.0)


def test_old_notes_wait_for_their_vectors_while_words_are_made() -> None:
    """A held queue gives out what was saved since, and everything again once it is let go."""
    queue, stop = EmbedQueue(lambda _: {}), threading.Event()
    queue.add(1, 100, {b"old": "old"})
    queue.hold(200)
    queue.add(2, 250, {b"new": "new"})
    assert queue.take(9, stop) == {b"new": "new"}
    queue.hold(None)
    assert queue.take(9, stop) == {b"old": "old"}
