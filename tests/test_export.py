"""``GET /export``: the notes come out as they went in, from one revision, in the same bytes each time."""

from __future__ import annotations

import errno
import io
import json
import os
import tarfile
import threading
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from server_make import Served, World, serve_world
from test_server_routes import fill

from mindnetd.errors import BadRequest, NotFound, Unavailable
from mindnetd.export import MANIFEST, Source, Wish, name_on_disk, write_export
from mindnetd.serving import routes_export
from mindnetd.store import read_export
from mindnetd.store.records import Batch, Vectors
from mindnetd.store.write import commit
from mindnetd.tarball import LARGEST, Growing, TarWriter, header, seconds

LONG = "long/" + "n" * 150 + "/" + "m" * 120 + ".md"
ODD: dict[bytes, bytes] = {
    b"bom.md": b"\xef\xbb\xbf---\r\ntitle: x # why\r\n---\r\nbody\r\n",
    b"yaml.md": b"---\n# a comment\nb:   'x'   # two\na: [1,  2]\n...\n---\nx\n",
    b"cr.md": b"one\rtwo\r\rthree",
    b"latin.md": b"caf\xe9 \xff\xfe\n",
    b"nul.md": b"a\0b\n\x1b[31m\x0b",
    b"tail.md": b"no end of line, but spaces   \n\n\n   ",
    "ünï ☃/naïve \u0301.md".encode(): "Zwölf\u2028Boxkämpfer\n".encode(),
    b"line\nbreak.md": b"a name in two lines\n",
    b"bytes/\xfff\xc3.md": b"a name that is no UTF-8\n",
    b"slash\\xe9.md": b"a name with a backslash\n",
    LONG.encode(): b"a long name\n",
    b"caps.MD": b"[[Nowhere]] [[bom]]\n",
}
TIMES = (0, 1, 1_700_000_000_123_456_789, -1_000_000_001, 4_000_000_000_000_000_000)


def fill_odd(world: World) -> None:
    """Notes that a careless copy would change, with times that a careless copy would lose."""
    fill(world)
    for number, (name, raw) in enumerate(ODD.items()):
        file = world.vault / os.fsdecode(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(raw)
        at = TIMES[number % len(TIMES)]
        os.utime(file, ns=(at, at))
    world.index()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("export")
    world = World(folder)
    fill_odd(world)
    running = serve_world(world, folder / "s.sock")
    yield running
    running.stop()
    world.close()


def members(raw: bytes) -> dict[str, bytes]:
    """Everything in a tar, read by an independent reader; all of it plain files with decent names."""
    with tarfile.open(fileobj=io.BytesIO(raw), encoding="utf-8", errors="surrogateescape") as tar:
        infos = tar.getmembers()
        assert all(info.isreg() and not info.name.startswith("/") and ".." not in info.name for info in infos)
        assert len({info.name for info in infos}) == len(infos)
        return {info.name: tar.extractfile(info).read() for info in infos}  # type: ignore[union-attr]


def export(served: Served, query: str = "") -> dict[str, bytes]:
    reply = served.call("GET", f"/export{query}")
    assert reply.status == 200, reply.body
    assert reply.headers["content-type"] == "application/x-tar"
    assert int(reply.headers["content-length"]) == len(reply.body)
    assert not list(served.world.config.db.parent.glob("spare/*"))
    return members(reply.body)


def manifest_of(found: dict[str, bytes]) -> dict[str, Any]:
    assert list(found)[-1] == MANIFEST, "a tar that ends early has no manifest"
    made: dict[str, Any] = json.loads(found[MANIFEST])
    return made


def notes_on_disk(vault: Path) -> dict[str, Path]:
    return {str(path.relative_to(vault)): path for path in vault.rglob("*") if path.suffix.lower() == ".md"}


def test_every_note_comes_out_byte_for_byte(served: Served) -> None:
    """Hidden notes too, odd bytes, odd names, true time stamps; files that are no notes and unresolved names do not."""
    reply = served.call("GET", "/export")
    found = members(reply.body)
    on_disk = notes_on_disk(served.world.vault)
    assert {name: raw for name, raw in found.items() if name != MANIFEST} == {
        name: path.read_bytes() for name, path in on_disk.items()
    }
    with tarfile.open(fileobj=io.BytesIO(reply.body), encoding="utf-8", errors="surrogateescape") as tar:
        for info in tar:
            if info.name != MANIFEST:
                at = on_disk[info.name].stat().st_mtime_ns
                assert info.pax_headers.get("mtime", f"{info.mtime}.000000000") == seconds(at), info.name
                assert (info.uid, info.gid, info.uname, info.mode) == (0, 0, "", 0o644)


def test_the_manifest_says_what_the_api_says(served: Served) -> None:
    """Ids, hashes, sizes and edges are those of the other calls; the revision is that of the reply."""
    reply = served.call("GET", "/export")
    manifest = manifest_of(members(reply.body))
    assert (manifest["manifest"], manifest["version"], manifest["format"]) == ("mindnet-export", 1, "md")
    assert manifest["vault"] == reply.headers["x-mindnet-vault"]
    assert str(manifest["revision"]) == reply.headers["x-mindnet-revision"]
    assert manifest["counts"] == {"notes": len(manifest["notes"]), "edges": len(manifest["edges"])}
    assert len({edge["id"] for edge in manifest["edges"]}) == len(manifest["edges"])
    paths = [note["path"] for note in manifest["notes"]]
    assert paths == sorted(paths) and r"bytes/\xfff\xc3.md" in paths
    valve = next(note for note in manifest["notes"] if note["note_id"] == "valve-timing")
    detail = served.get("/notes/valve-timing")["note"]
    assert (valve["id"], valve["hashes"], valve["modified"]) == (detail["id"], detail["hashes"], detail["modified"])
    raw = (served.world.vault / valve["path"]).read_bytes()
    assert (valve["size"], valve["sha256"]) == (len(raw), __import__("hashlib").sha256(raw).hexdigest())
    around = {(e["relation"], e["src"], e["dst"]) for e in served.get("/neighbors/valve-timing?direction=out")["edges"]}
    declared = {(e["relation"], e["src"], e["dst"]) for e in manifest["edges"] if e["src"] == valve["id"]}
    assert declared and declared <= around
    assert {"unresolved", "file", "note"} <= {edge["dst_kind"] for edge in manifest["edges"]}
    assert any(edge["src_kind"] == "file" for edge in manifest["edges"]), "a canvas has edges too"


def test_one_note_alone(served: Served) -> None:
    """Any reference, hidden or not; what is unknown or means several notes is said as everywhere."""
    for ref, path in (("valve-timing", "30_projects/valve.md"), ("secret", "secret.md")):
        found = export(served, f"?note={ref}")
        assert list(found) == [path, MANIFEST]
        manifest = manifest_of(found)
        assert [note["path"] for note in manifest["notes"]] == [path]
        assert {edge["src"] for edge in manifest["edges"]} == {manifest["notes"][0]["id"]}
    assert served.call("GET", "/export?note=nobody").code == "note_not_found"
    assert served.call("GET", "/export?note=").code == "note_not_found"
    assert served.call("GET", "/export?note=same").code == "ambiguous"
    assert served.call("GET", "/export?format=pdf").status == 400


@pytest.mark.parametrize("format", ["md", "jsonl", "graphml", "parquet"])
def test_the_same_revision_is_the_same_bytes(served: Served, format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often it is asked for, and however small the slices are that it is read in."""
    first = served.call("GET", f"/export?format={format}").body
    assert served.call("GET", f"/export?format={format}").body == first
    monkeypatch.setattr(read_export, "SLICE_BYTES", 1)
    monkeypatch.setattr(read_export, "SLICE_NOTES", 2)
    assert served.call("GET", f"/export?format={format}").body == first


@pytest.mark.parametrize("format", ["jsonl", "graphml", "parquet"])
def test_forms_for_other_tools_name_their_files(served: Served, format: str) -> None:
    """The manifest lists each file with size and hash."""
    found = export(served, f"?format={format}")
    listed = manifest_of(found)["files"]
    assert [file["name"] for file in listed] == [name for name in found if name != MANIFEST]
    for file in listed:
        raw = found[file["name"]]
        assert (file["size"], file["sha256"]) == (len(raw), __import__("hashlib").sha256(raw).hexdigest())


def test_json_lines(served: Served) -> None:
    """A line a note with everything known of it; its chunks make its body."""
    found = export(served, "?format=jsonl")
    lines = [json.loads(line) for line in found["notes.jsonl"].decode().split("\n")[:-1]]
    assert [line["path"] for line in lines] == [note["path"] for note in manifest_of(found)["notes"]]
    valve = next(line for line in lines if line["note_id"] == "valve-timing")
    detail = served.get("/notes/valve-timing")
    for name in ("id", "title", "type", "status", "tags", "aliases", "visibility", "flags", "lang", "frontmatter"):
        assert valve[name] == detail["note"][name], name
    assert [chunk["id"] for chunk in valve["chunks"]] == [chunk["id"] for chunk in detail["chunks"]]
    assert "".join(chunk["text"] for chunk in valve["chunks"]).startswith("# Valve timing\nThe valve is opened")
    assert "references" in {edge["relation"] for edge in valve["edges"]}


NS = "{http://graphml.graphdrafting.org/xmlns}"


@pytest.mark.parametrize("query", ["?format=graphml", "?format=graphml&note=valve-timing"])
def test_graphml(served: Served, query: str) -> None:
    """Well-formed whatever the notes say; ids are unique, every edge has both its ends, keys are declared."""
    found = export(served, query)
    root = ET.fromstring(found["graph.graphml"].decode())
    keys = {key.get("id"): key.get("attr.name") for key in root.iter(f"{NS}key")}

    def rows(kind: str) -> list[tuple[ET.Element, dict[str | None, str | None]]]:
        return [(e, {keys[d.get("key")]: d.text for d in e.iter(f"{NS}data")}) for e in root.iter(NS + kind)]

    nodes = {node.get("id"): values for node, values in rows("node")}
    edges = rows("edge")
    manifest = manifest_of(found)
    assert len(nodes) == len(list(root.iter(f"{NS}node"))) and len(edges) == manifest["counts"]["edges"]
    assert {note["id"] for note in manifest["notes"]} <= nodes.keys()
    assert {end for edge, _ in edges for end in (edge.get("source"), edge.get("target"))} <= nodes.keys()
    valve = next(values for values in nodes.values() if values.get("note_id") == "valve-timing")
    assert (valve["label"], valve["kind"], valve["tags"]) == ("Valve timing", "note", "garden/water")
    assert any(values["kind"] == "unresolved" and values["label"] == "Nowhere" for values in nodes.values())
    assert all(values["relation"] and float(values["weight"] or "") > 0 for _, values in edges)


def tables(found: dict[str, bytes], folder: Path) -> Any:
    """The Parquet files, as views of a DuckDB of the test's own."""
    con = duckdb.connect()
    for name, raw in found.items():
        if name.endswith(".parquet"):
            (folder / name).write_bytes(raw)
            con.execute(f"CREATE VIEW {name.removesuffix('.parquet')} AS SELECT * FROM '{folder / name}'")
    return con


def test_parquet(served: Served, tmp_path: Path) -> None:
    """Tables that another DuckDB reads: as many rows as the manifest says, lists as lists, chunks with their notes."""
    found = export(served, "?format=parquet")
    assert list(found) == ["notes.parquet", "chunks.parquet", "passages.parquet", "edges.parquet", MANIFEST]
    counts = manifest_of(found)["counts"]
    with tables(found, tmp_path) as con:
        assert con.execute("SELECT count(*) FROM notes").fetchall() == [(counts["notes"],)]
        assert con.execute("SELECT count(*) FROM edges").fetchall() == [(counts["edges"],)]
        valve = con.execute("SELECT tags, aliases, type FROM notes WHERE note_id = 'valve-timing'").fetchall()
        assert valve == [(["garden/water"], ["The Valve"], "project")]
        assert con.execute("SELECT count(*) FROM chunks WHERE note NOT IN (SELECT id FROM notes)").fetchall() == [(0,)]
    one = tmp_path / "one"
    one.mkdir()
    with tables(export(served, "?format=parquet&note=secret"), one) as con:
        assert con.execute("SELECT path FROM notes").fetchall() == [("secret.md",)]
        assert con.execute("SELECT count(*) FROM edges WHERE src NOT IN (SELECT id FROM notes)").fetchall() == [(0,)]
        assert con.execute("SELECT count(*) > 0 FROM edges").fetchall() == [(True,)]


# ------------------------------------------------------------------------------------------- one revision, or nothing


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    fill(made)
    yield made
    made.close()


ALL = Wish()


def made(world: World, wish: Wish = ALL, check: Any = lambda: None) -> dict[str, bytes]:
    out = io.BytesIO()
    write_export(Source(world.engine.db, world.vault, world.vault.parent, check), wish, out)
    return members(out.getvalue())


def test_vectors_are_in_the_parquet_form(world: World, tmp_path: Path) -> None:
    """Those of the model that counts now, a row a text; each passage finds its own."""
    db = world.engine.db
    with db.reader() as reader:
        hashes = sorted({row[0] for row in reader.rows("SELECT text_hash FROM passages")})
        passages = reader.rows("SELECT count(*) FROM passages")[0]
    for name, factor in (("it's", 1.0), ("other", 2.0)):
        matrix = np.full((len(hashes), 3), factor, dtype=np.float32)
        commit(db, Batch(vectors=Vectors(name, tuple(hashes), matrix)))
    found = made(world, Wish("parquet", fingerprint="it's", dim=3))
    with tables(found, tmp_path) as con:
        assert con.execute("SELECT count(*) FROM passages JOIN embeddings USING (text_hash)").fetchall() == [passages]
        assert con.execute("SELECT DISTINCT model, embedding FROM embeddings").fetchall() == [("it's", [1.0, 1.0, 1.0])]
    assert "embeddings.parquet" not in made(world, Wish("parquet", fingerprint="it's", dim=4))


@pytest.mark.parametrize("format", ["md", "jsonl", "graphml"])
def test_an_export_is_of_one_revision(world: World, format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is saved and deleted while it is being made is not in it, not even half."""
    before = made(world, Wish(format))  # type: ignore[arg-type]
    monkeypatch.setattr(read_export, "SLICE_NOTES", 1)
    changed: list[int] = []

    def change() -> None:
        if len(changed) < 3:
            changed.append(1)
            world.write("zzz.md", f"new {len(changed)} [[pump]]\n")
            world.write("pump.md", f"other words {len(changed)}\n")
            (world.vault / "secret.md").unlink(missing_ok=True)
            world.index()

    assert made(world, Wish(format), change) == before and changed  # type: ignore[arg-type]
    assert made(world, Wish(format)) != before  # type: ignore[arg-type]


def test_nobody_waits_any_more(world: World) -> None:
    """An export whose client has gone stops between two slices, and leaves no file."""

    def gone() -> None:
        raise Unavailable("gone", code="cancelled")

    for format in ("md", "jsonl", "graphml", "parquet"):
        with pytest.raises(Unavailable):
            made(world, Wish(format), gone)  # type: ignore[arg-type]
    assert not list(world.config.db.parent.glob("spare/*"))


def test_a_note_that_is_gone_is_not_an_empty_export(world: World) -> None:
    """Deleted between being found and being read."""
    with pytest.raises(NotFound):
        made(world, Wish(key=999_999))


def test_equal_vaults_give_equal_exports(world: World, tmp_path: Path) -> None:
    """Whatever was done to one of them before: only vault, revision and times of ours may differ."""
    other_home = tmp_path / "other"
    other_home.mkdir()
    other = World(other_home)
    other.write("gone.md", "[[valve]]\n")
    other.index()
    (other.vault / "gone.md").unlink()
    fill(other)
    for path in world.vault.rglob("*"):
        at = path.stat().st_mtime_ns
        os.utime(other.vault / path.relative_to(world.vault), ns=(at, at))
    other.index()
    one, two = made(world), made(other)
    other.close()
    assert list(one) == list(two)
    left, right = manifest_of(one), manifest_of(two)
    assert {k for k in left if left[k] != right[k]} <= {"vault", "revision"}
    assert {k: v for k, v in one.items() if k != MANIFEST} == {k: v for k, v in two.items() if k != MANIFEST}


# ------------------------------------------------------------------------------------------------------------- the tar


def test_a_spelling_that_means_two_names(tmp_path: Path) -> None:
    r"""``\xff`` is a byte, unless the vault has a file that is really called so."""
    assert name_on_disk(tmp_path, r"a\xff.md") == "a\udcff.md"
    (tmp_path / r"a\xff.md").touch()
    assert name_on_disk(tmp_path, r"a\xff.md") == r"a\xff.md"
    assert name_on_disk(tmp_path, "plain.md") == "plain.md"


@pytest.mark.parametrize("name", ["", "/etc/passwd", "../x", "a/../b", "a//b", "./a", "a/.", "a\0b"])
def test_a_name_that_leads_out_is_never_written(name: str) -> None:
    """A path that was tampered with in the database does no harm elsewhere."""
    with pytest.raises(ValueError, match="no name of a file inside a folder"):
        header(name, 0, None)


def test_a_member_that_no_header_can_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than a tar's plain header can say is refused, not written wrongly."""
    member = Growing(io.BytesIO())
    member.size = LARGEST - 1
    with pytest.raises(BadRequest):
        member.write(b"xx")
    out = io.BytesIO()
    TarWriter(out).close()
    assert len(out.getvalue()) == tarfile.RECORDSIZE


# ------------------------------------------------------------------------------------------------------------ trouble


def test_one_export_at_a_time(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second one is told to wait: two would need the room twice."""
    begun, go_on = threading.Event(), threading.Event()

    def slow(source: Source, wish: Wish, out: Any) -> None:
        begun.set()
        assert go_on.wait(30)
        write_export(source, wish, out)

    monkeypatch.setattr(routes_export, "write_export", slow)
    replies = []
    first = threading.Thread(target=lambda: replies.append(served.call("GET", "/export?note=pump")))
    first.start()
    assert begun.wait(30)
    assert (served.call("GET", "/export").status, served.call("GET", "/export").code) == (409, "busy")
    go_on.set()
    first.join(30)
    assert replies[0].status == 200 and list(members(replies[0].body)) == ["pump.md", MANIFEST]


def test_a_full_disk_is_an_error_and_no_half_archive(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """503 with what to do; the next one works."""

    def full(source: Source, wish: Wish, out: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(routes_export, "write_export", full)
        reply = served.call("GET", "/export")
    assert (reply.status, reply.code) == (503, "disk_full") and b"free some space" in reply.body
    assert export(served, "?note=pump")


def test_an_empty_vault_has_an_export_too(tmp_path: Path) -> None:
    """No note, no edge, a manifest that says so."""
    made_of = World(tmp_path)
    made_of.index()
    found = made(made_of)
    made_of.close()
    manifest = manifest_of(found)
    assert list(found) == [MANIFEST] and (manifest["notes"], manifest["edges"]) == ([], [])
