"""Rules that change in the middle of bulk work: nothing that was prepared by the old ones is committed."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from engine_kit import Bench, make_config

from mindnetd import index
from mindnetd.config import Config
from mindnetd.core.derive import DeriveOptions
from mindnetd.core.records import FileStat
from mindnetd.core.typetable import DEFAULT_TYPES
from mindnetd.engine import derive_options, read_rules
from mindnetd.store.dump import differences
from mindnetd.store.integrity import integrity
from mindnetd.watching import scan, vaultio
from mindnetd.writing import ahead


def exclude(vault: Path, bench: Bench) -> None:
    (vault / ".obsidian" / "app.json").write_text(json.dumps({"userIgnoreFilters": ["private/"]}), encoding="utf-8")
    bench.engine.indexer.classifier = read_rules(bench.engine.config)


def other_options(vault: Path, bench: Bench) -> None:
    bench.engine.indexer.options = derive_options(with_short_chunks(vault), DEFAULT_TYPES)


def with_short_chunks(vault: Path) -> Config:
    home = vault.parent
    return make_config(home, vault, home / "fresh" / "notes.duckdb", chunking__default_profile="short")


@pytest.mark.parametrize("change", [exclude, other_options])
def test_rules_that_change_in_the_middle_hold_for_what_was_prepared(
    tmp_path: Path, change: Callable[[Path, Bench], None]
) -> None:
    """A note that is excluded, or cut otherwise, after it was read and before its commit."""
    vault = tmp_path / "vault"
    for folder in (".obsidian", "private"):
        (vault / folder).mkdir(parents=True)
    for number in range(4):
        (vault / f"n{number}.md").write_text(f"# Note\n\n{'word and more of them. ' * 900}\n", encoding="utf-8")
        (vault / "private" / f"p{number}.md").write_text(f"secret {number} [[n1]]\n", encoding="utf-8")
    bench = Bench(make_config(tmp_path, vault, tmp_path / "state" / "notes.duckdb"), None)
    bench.writer.doubt("start")
    while not (bench.writer._bulks and bench.writer._bulks[0].plan.drafts):
        bench.writer._turn(time.monotonic())
    change(vault, bench)
    bench.writer.start_over()
    bench.settle()
    config = bench.engine.config if change is exclude else with_short_chunks(vault)
    fresh = Bench(dataclasses.replace(config, db=tmp_path / "fresh" / "notes.duckdb"), None)
    fresh.settle()
    assert differences(bench.dump(), fresh.dump()) == []
    bench.close()
    fresh.close()


def test_a_message_that_a_kill_cut_short_is_the_end() -> None:
    """The reader of a child that was killed while it answered sees the end, not rubbish."""
    whole = io.BytesIO()
    ahead._put(whole, ("a.md", b"x" * 100))
    for size in range(len(whole.getvalue())):
        assert ahead._get(io.BytesIO(whole.getvalue()[:size])) is None


def test_a_child_whose_parent_is_gone_ends_in_silence(tmp_path: Path) -> None:
    """Nobody reads its answer: exit 0, and nothing on stderr. An interrupt at the terminal does not reach it."""
    (tmp_path / "a.md").write_text("A note.\n", encoding="utf-8")
    reader, writer = os.pipe()
    command = [sys.executable, "-m", "mindnetd.writing.ahead"]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    os.close(reader)
    assert child.stdin is not None
    ahead._put(child.stdin, (tmp_path, DeriveOptions(), 1 << 20))
    ahead._put(child.stdin, ["a.md"])
    _, said = child.communicate(timeout=60)
    assert (child.returncode, said) == (0, b"")
    one = ahead.Ahead(tmp_path, DeriveOptions(), 1 << 20)
    assert os.getpgid(one._child.pid) != os.getpgid(0)
    one.close()
    assert one._child.returncode == -signal.SIGKILL


@pytest.mark.parametrize("place", ["mindnetd.cli.load_config", "mindnetd.daemon.bind_socket", "mindnetd.daemon.Engine"])
def test_told_to_stop_while_it_starts(tmp_path: Path, place: str) -> None:
    """SIGTERM before the loop runs is a clean end too; SIGHUP, with nothing to reload yet, is no end at all."""
    module, name = place.rsplit(".", 1)
    (tmp_path / "vault").mkdir()
    code = f"""
import os, signal, sys
import {module} as module
from mindnetd import cli
def stopped(*_, **__):
    os.kill(os.getpid(), signal.SIGHUP)
    print("after SIGHUP", flush=True)
    os.kill(os.getpid(), signal.SIGTERM)
module.{name} = stopped
sys.exit(cli.main(["run", "--vault", "vault", "--db", "state/n.duckdb", "--socket", "run/s.sock", "--offline"]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout, "Traceback" in done.stderr) == (0, "after SIGHUP\n", False), done.stderr
    assert not (tmp_path / "run" / "s.sock").exists()


def test_links_to_what_is_not_indexed_are_no_contradiction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A note that is excluded, too large, or a conflict copy may be meant by links; once it can be read it is in."""
    monkeypatch.setattr(index, "MAX_NOTE_BYTES", 60)
    vault = tmp_path / "vault"
    for folder in (".obsidian", "private"):
        (vault / folder).mkdir(parents=True)
    copy = "n.sync-conflict-20240101-101010-ABCDEFG"
    (vault / "a.md").write_text("[[private/p]] [[large]] [[b]]\n", encoding="utf-8")
    (vault / "b.md").write_text(f"[[{copy}.md]]\n", encoding="utf-8")
    (vault / f"{copy}.md").write_text("copy\n", encoding="utf-8")
    (vault / "large.md").write_text("large " * 20, encoding="utf-8")
    (vault / "private" / "p.md").write_text("secret\n", encoding="utf-8")
    config = make_config(tmp_path, vault, tmp_path / "state" / "notes.duckdb")
    bench = Bench(config, None)
    bench.settle()
    exclude(vault, bench)
    for _ in range(2):
        bench.settle()
        assert integrity(bench.engine.db) == []
        assert sorted(bench.engine.indexer.known.notes) == ["a.md", "b.md"]
        bench.close()
        bench = Bench(config, None)
    (vault / "large.md").write_text("small\n", encoding="utf-8")
    bench.settle()
    assert sorted(bench.engine.indexer.known.notes) == ["a.md", "b.md", "large.md"]
    assert integrity(bench.engine.db) == []
    bench.close()


def test_a_note_of_an_impossible_time_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Times past what 64 bits of nanoseconds hold (the year 2446) are kept as the last they hold."""
    vault = tmp_path / "vault"
    vault.mkdir()
    for name in ("past.md", "usual.md", "future.md"):
        (vault / name).write_text("A note.\n", encoding="utf-8")
    real = vaultio.file_stat

    def odd(st: os.stat_result) -> FileStat:
        shift = {inodes["past.md"]: -(10**20), inodes["future.md"]: 10**20}.get(st.st_ino, 0)
        fields = {"st_size": st.st_size, "st_ctime_ns": st.st_ctime_ns, "st_ino": st.st_ino + abs(shift)}
        return real(SimpleNamespace(**fields, st_mtime_ns=st.st_mtime_ns + shift))  # type: ignore[arg-type]

    inodes = {path.name: path.stat().st_ino for path in vault.iterdir()}
    for module in (vaultio, scan):
        monkeypatch.setattr(module, "file_stat", odd)
    bench = Bench(make_config(tmp_path, vault, tmp_path / "state" / "notes.duckdb"), None)
    bench.settle()
    assert sorted(bench.engine.indexer.known.notes) == ["future.md", "past.md", "usual.md"]
    assert integrity(bench.engine.db) == []
    bench.close()


def test_a_file_that_was_seen_and_never_read_leaves_nothing_behind(tmp_path: Path) -> None:
    """Its name is known, links mean it, the process is killed, and when it starts again the file has gone."""
    vault = tmp_path / "vault"
    (vault / "one").mkdir(parents=True)
    (vault / "from.md").write_text("See [[Score]], [[Alpha]] and [[one/Beta]].\n", encoding="utf-8")
    (vault / "Alpha.md").write_text("The first.\n", encoding="utf-8")
    seen = [vault / "Score.md", vault / "one" / "Alpha.md", vault / "one" / "Beta.md"]
    config = make_config(tmp_path, vault, tmp_path / "state" / "notes.duckdb")
    bench = Bench(config, None)
    bench.settle()
    for file in seen:
        file.write_text("Soon gone.\n", encoding="utf-8")
    bench.writer.doubt("test")
    bench.writer._turn(time.monotonic())  # the scan, which tells names; nothing is read yet
    bench.crash()
    for file in seen:
        file.unlink()
    bench = Bench(config, None)
    bench.settle()
    assert integrity(bench.engine.db) == []
    fresh = Bench(dataclasses.replace(config, db=tmp_path / "fresh" / "notes.duckdb"), None)
    fresh.settle()
    assert differences(bench.dump(), fresh.dump()) == []
    bench.close()
    fresh.close()
