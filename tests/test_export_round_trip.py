"""Out and in again: export, index, export is the same; so are the databases (must show 2 of the knowledge model)."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from conftest import REPO
from engine_kit import Bench, make_config
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from benchmarks.round_trip import Indexed, read_back, round_trip
from mindnetd import cli
from mindnetd.client.export import _receive
from mindnetd.core.exclude import Rules, compile_rules
from mindnetd.core.identity import nfc
from mindnetd.export import MANIFEST, Source, Wish, write_export
from mindnetd.watching.vaultio import vault_name


def index_and_export(vault: Path, folder: Path) -> Indexed:
    """As `benchmarks.round_trip` does it, without processes: real files, real writer, the client's own unpacking."""
    folder.mkdir(parents=True)
    db, export = folder / "state/index.duckdb", folder / "export"
    bench = Bench(make_config(folder, vault, db), None)
    bench.settle()
    export.mkdir()
    out = io.BytesIO()
    write_export(Source(bench.engine.db, vault, bench.engine.db.options.allowed_dir), Wish(), out)
    bench.close()
    _receive(iter([out.getvalue()]), str(export))
    return read_back(db, export)


def test_the_basic_vault_comes_back(shared: Path, tmp_path: Path) -> None:
    """Demand: nothing of the shared vault is lost; `mindnetd compare` says the same."""
    vault = shared / "vaults/basic"
    assert round_trip(vault, tmp_path / "trip", index_and_export) == []
    assert cli.main(["compare", str(vault), str(tmp_path / "trip/1/export")]) == 0


def test_the_demo_vault_comes_back(tmp_path: Path) -> None:
    """Nor of the demo."""
    assert round_trip(REPO / "demo", tmp_path / "trip", index_and_export) == []


@pytest.mark.parametrize("harm", ["byte", "time", "gone"])
def test_what_is_lost_is_found(tmp_path: Path, harm: str) -> None:
    """The comparison that says "equal" is not blind: one byte, one time stamp, one note."""
    said = {
        "byte": "two.md: not as in the vault",
        "time": "another time than in the vault",
        "gone": "only in the first",
    }
    vault = tmp_path / "vault"
    vault.mkdir()
    for name in ("one", "two"):
        (vault / f"{name}.md").write_text("Some text. [[one]] [[pic.png]]\n")
    (vault / "pic.png").touch()

    def harmful(source: Path, folder: Path) -> Indexed:
        found = index_and_export(source, folder)
        if folder.name == "1":
            note = found.export / "two.md"
            at = note.stat().st_mtime_ns
            if harm == "byte":
                note.write_bytes(note.read_bytes() + b" ")
            elif harm == "gone":
                note.unlink()
            if harm != "gone":
                os.utime(note, ns=(at, at + 1 if harm == "time" else at))
        return found

    found = round_trip(vault, tmp_path / "trip", harmful)
    assert any(said[harm] in line for line in found), found


# ---------------------------------------------------------------------------------------------------------- any bytes

part = st.binary(min_size=1, max_size=12).filter(lambda b: not {b"/"[0], 0} & set(b) and b[:1] != b".")
names = st.builds(lambda folders, name: b"/".join([*folders, name + b".md"]), st.lists(part, max_size=2), part)
heads = st.sampled_from([b"", b"\xef\xbb\xbf", b"---\na: b # c\r\n---\r\n", b"---\nid: x\ntitle: [\n---\n", b"---\n"])
bodies = st.one_of(st.binary(max_size=200), st.text(max_size=80).map(lambda text: text.encode("utf-8", "replace")))
vaults = st.dictionaries(names, st.builds(bytes.__add__, heads, bodies), max_size=6)
stamps = st.integers(-(10**18), 4 * 10**18)


def _comes_back(files: dict[bytes, bytes], at: int, sizes: list[int]) -> None:
    """What the index takes for a note comes out as it was, name, bytes and time, in whatever pieces it is sent."""
    kind = compile_rules(Rules()).kind
    spelled = {name: vault_name(os.fsdecode(name)) for name in files}
    assume(len({nfc(name).casefold() for name in spelled.values()}) == len(files))  # no two that one path could mean
    assume(not any(other.startswith(name + b"/") for name in files for other in files))
    home = Path(tempfile.mkdtemp(prefix="mindnet-out-"))
    try:
        vault = home / "vault"
        vault.mkdir()
        for name, raw in files.items():
            file = vault / os.fsdecode(name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(raw)
            os.utime(file, ns=(at, at))
        wanted = {name: raw for name, raw in files.items() if kind(spelled[name]) == "note"}
        first = _export(vault, home / "1", sizes)
        assert _content(first) == wanted
        stamp = {path.stat().st_mtime_ns for path in first.rglob("*") if path.is_file() and path.name != MANIFEST}
        assert stamp <= {(vault / os.fsdecode(name)).stat().st_mtime_ns for name in files}
        assert _content(_export(first, home / "2", sizes)) == wanted
    finally:
        shutil.rmtree(home)


anything = given(files=vaults, at=stamps, sizes=st.lists(st.integers(1, 3000), min_size=1, max_size=5))
unhurried = list(HealthCheck)


@settings(max_examples=10, suppress_health_check=unhurried)
@anything
def test_any_bytes_under_any_name_come_back(files: dict[bytes, bytes], at: int, sizes: list[int]) -> None:
    """Short form."""
    _comes_back(files, at, sizes)


@pytest.mark.nightly
@settings(max_examples=300, suppress_health_check=unhurried)
@anything
def test_any_bytes_under_any_name_come_back_often(files: dict[bytes, bytes], at: int, sizes: list[int]) -> None:
    """Long form."""
    _comes_back(files, at, sizes)


def _export(vault: Path, home: Path, sizes: list[int]) -> Path:
    bench = Bench(make_config(home, vault, home / "state/index.duckdb"), None)
    bench.settle()
    out = io.BytesIO()
    write_export(Source(bench.engine.db, vault, bench.engine.db.options.allowed_dir), Wish(), out)
    bench.close()
    target, raw = home / "export", out.getvalue()
    target.mkdir()
    cuts, start = [], 0
    while start < len(raw):
        size = sizes[len(cuts) % len(sizes)]
        cuts.append(raw[start : start + size])
        start += size
    _receive(iter(cuts), str(target))
    return target


def _content(folder: Path) -> dict[bytes, bytes]:
    return {
        os.fsencode(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != MANIFEST
    }
