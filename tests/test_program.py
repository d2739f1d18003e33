"""The whole program: a real process on a real vault, asked over its socket."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from program import Program, program, select_pause


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    (folder / ".obsidian").mkdir(parents=True)
    for number in range(8):
        (folder / f"n{number}.md").write_text(f"# Note {number}\n\nNumber {number} of some. [[n{(number + 1) % 8}]]\n")
    return folder


def bytes_of(vault: Path) -> dict[str, bytes]:
    return {str(path.relative_to(vault)): path.read_bytes() for path in sorted(vault.rglob("*")) if path.is_file()}


def test_a_save_is_found_and_a_deletion_is_gone(tmp_path, vault, model_cache) -> None:
    """Demand 7: words and vectors of a save answer; after a delete it is in no lane, no list and no neighbourhood."""
    before = bytes_of(vault)
    with program(tmp_path, vault, model_cache) as daemon:
        daemon.settled()
        note = vault / "fresh.md"
        note.write_text("A zeppelin over the [[n1]] valley.\n")
        daemon.until(lambda: daemon.query("zeppelin", lanes=["lexical"])[:1] == ["fresh.md"], "found by its word")
        daemon.until(lambda: daemon.query("airship", lanes=["dense"])[:1] == ["fresh.md"], "found by its meaning")
        assert any(link["path"] == "fresh.md" for link in daemon.get("/notes/n1")["backlinks"])
        note.unlink()
        daemon.until(lambda: "fresh.md" not in daemon.query("zeppelin airship"), "gone from the answers", 5)
        assert all(link["path"] != "fresh.md" for link in daemon.get("/notes/n1")["backlinks"])
        assert all(node["path"] != "fresh.md" for node in daemon.get("/neighbors/n1")["nodes"])
        assert daemon.stop() == 0
    assert bytes_of(vault) == before


def test_reading_the_vault_writes_nothing_into_it(tmp_path, vault, model_cache) -> None:
    """Law 5: index, query, verify, backup: every byte and every time stamp in the vault is as before."""
    stamps = {path: path.stat().st_mtime_ns for path in vault.rglob("*")}
    with program(tmp_path, vault, model_cache) as daemon:
        daemon.settled()
        daemon.query("number")
        assert daemon.job("/admin/verify", {"hashes": True})["result"]["ok"]
    assert {path: path.stat().st_mtime_ns for path in vault.rglob("*")} == stamps


def test_excluding_a_folder_purges_its_text_from_the_file(tmp_path, vault, model_cache) -> None:
    """Demand 25: no string of an excluded note is left in the database file or its log.

    Of text, title, alias, tag, heading, property, link, entity, relation, community, diagnostic and query trace.
    """
    secrets = [f"xylograph{number}zq" for number in range(50)]
    kinds = ("title", "alias", "tags", "head", "link", "code", "prop", "name", "evid", "date", "trace")
    (vault / "private").mkdir()
    for number, word in enumerate(secrets):
        head = (
            f"---\ntitle: Title{word}\naliases: [Alias{word}]\ntags: [tags{word}]\nprop: prop{word}\n"
            f"created: date{word}\ntype: task\n---\n"
        )
        text = f"# Head{word}\n\nThe word {word}, see [[link{word}]], [[n1|evid{word}]]. `code{word}` Name{word} too.\n"
        (vault / "private" / f"p{number}.md").write_text(head + text * 2)
        (vault / "private" / f"trace{word}.md").write_text(f"Trace. `code{word}` Name{word} [[n1]]\n")
    with program(tmp_path, vault, model_cache, privacy__query_log="on") as daemon:
        daemon.settled()
        assert daemon.query("word number", lanes=["lexical"]) and daemon.query("trace")
        assert daemon.job("/admin/communities")["state"] == "done"
        assert daemon.get(f"/entities?q=code{secrets[3]}")["entities"]
        assert secrets[0] in str(daemon.get("/query-log"))
        (vault / ".obsidian/app.json").write_text('{"userIgnoreFilters": ["private/"]}')
        daemon.until(lambda: daemon.get("/status")["notes"] == 8, "the folder is excluded", 30)
        daemon.settled()

        def left() -> list[str]:
            files = [path for path in daemon.db.parent.rglob("*") if path.is_file()]
            try:
                held = b"".join(path.read_bytes() for path in files)
            except FileNotFoundError:  # the log was just emptied: look again
                return secrets
            low = held.lower()
            return [kind + word for word in secrets for kind in ("", *kinds) if (kind + word).encode() in low]

        daemon.until(lambda: not left(), "no secret is left", 20)
        assert daemon.job("/admin/verify")["result"]["differences"] == []


def test_another_vector_space_is_made_anew_and_never_mixed(tmp_path, vault, model_cache) -> None:
    """Demand 12: a prefix changes the fingerprint; the words answer meanwhile, all passages are embedded again."""
    with program(tmp_path, vault, model_cache) as daemon:
        daemon.settled()
        passages = daemon.get("/status")["passages"]
        daemon.stop()
    with program(tmp_path, vault, model_cache, embedding__passage_prefix="passage: ") as daemon:
        assert daemon.query("number", lanes=["lexical"])
        daemon.settled()
        assert daemon.metric("mindnet_embeddings_made_total") == passages
        assert daemon.get("/status")["vectors"] == {"ready": passages, "pending": 0}


def test_a_second_daemon_is_told(tmp_path, vault, model_cache) -> None:
    """Demand 9: one line, exit code 4, and the first goes on."""
    with program(tmp_path, vault, model_cache) as daemon:
        other = Program(tmp_path / "other", vault, model_cache)
        (tmp_path / "other").mkdir()
        other.db = daemon.db
        other.start(wait=False)
        assert other.process is not None
        assert other.process.wait(timeout=60) == 4
        assert "in use by process" in other.log.read_text()
        assert "Traceback" not in other.log.read_text()
        assert daemon.query("number")


def kills(tmp_path: Path, vault: Path, model_cache: Path, times: int) -> None:
    """Edit, kill at a random moment, start again; at the end everything must agree."""
    rng = random.Random(7)
    daemon = Program(tmp_path, vault, model_cache)
    for round_number in range(times):
        daemon.start()
        for _ in range(rng.randrange(1, 6)):
            name = vault / f"k{rng.randrange(12)}.md"
            if rng.random() < 0.25:
                name.unlink(missing_ok=True)
            else:
                name.write_text(f"Round {round_number} {rng.random()} [[n{rng.randrange(8)}]]\n\n## More\n\nWords.\n")
            select_pause(rng.random() * 0.2)
        select_pause(rng.random() * 0.6)
        daemon.kill()
    daemon.start()
    try:
        daemon.settled()
        result = daemon.job("/admin/verify")["result"]
        assert result["differences"] == []
        assert daemon.get("/status")["notes"] == len(list(vault.glob("*.md")))
    finally:
        daemon.stop()


def test_six_kills_in_the_middle_of_edits(tmp_path, vault, model_cache) -> None:
    """Demand 10, short form: killed at random moments, it always opens, resumes and verifies."""
    kills(tmp_path, vault, model_cache, 6)


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_fifty_kills_in_the_middle_of_edits(tmp_path, vault, model_cache) -> None:
    """Demand 10 with 50 kills of the whole daemon."""
    kills(tmp_path, vault, model_cache, 50)


def test_changes_while_it_was_down_are_found(tmp_path, vault, model_cache) -> None:
    """Demand 6: edits, deletes and renames while stopped, with old time stamps, are in the index when it is ready."""
    with program(tmp_path, vault, model_cache) as daemon:
        daemon.settled()
        daemon.stop()
    (vault / "n1.md").write_text("Now about xylophones.\n")
    os.utime(vault / "n1.md", (1, 1))
    (vault / "n2.md").unlink()
    (vault / "n3.md").rename(vault / "m3.md")
    with program(tmp_path, vault, model_cache) as daemon:
        daemon.settled()
        assert daemon.query("xylophones")[0] == "n1.md"
        paths = {note["path"] for note in daemon.get("/notes")["notes"]}
        assert "n2.md" not in paths and "n3.md" not in paths and "m3.md" in paths
        assert daemon.job("/admin/verify")["result"]["ok"]


def test_a_burst_embeds_each_once_in_few_transactions(tmp_path, vault, model_cache) -> None:
    """Demand 3, short form: 300 notes rewritten at once while questions go on."""
    for number in range(300):
        (vault / f"b{number}.md").write_text(f"# B{number}\n\nFirst {number}.\n")
    with program(tmp_path, vault, model_cache) as daemon:
        daemon.settled()
        made, commits = daemon.metric("mindnet_embeddings_made_total"), daemon.metric("mindnet_commits_total")
        for number in range(300):
            (vault / f"b{number}.md").write_text(f"# B{number}\n\nSecond text number {number}.\n")
            if number % 50 == 0:
                assert daemon.query("number")
        daemon.until(lambda: daemon.query('"second text number 299"', lanes=["lexical"])[:1] == ["b299.md"], "found")
        daemon.settled()
        assert daemon.metric("mindnet_embeddings_made_total") - made == 300
        assert daemon.metric("mindnet_commits_total") - commits <= 60
        assert daemon.job("/admin/verify")["result"]["differences"] == []


def test_a_slow_write_and_a_replacement_give_one_version(tmp_path, vault, model_cache) -> None:
    """Demand 4: while a file is open for writing the old text is served; a temp file renamed over it is one version."""
    with program(tmp_path, vault, model_cache) as daemon:
        daemon.settled()
        indexed = daemon.metric("mindnet_notes_indexed_total")
        with (vault / "n1.md").open("w") as file:
            for part in ("First half about walruses. ", "Second half about herons.\n"):
                file.write(part)
                file.flush()
                select_pause(0.7)
                assert "n1.md" not in daemon.query("walruses", lanes=["lexical"])
                assert daemon.query('"number 1 of some"', lanes=["lexical"]) == ["n1.md"]
        daemon.until(lambda: daemon.query("walruses herons", lanes=["lexical"])[:1] == ["n1.md"], "the new text")
        (vault / "n2.md.tmp").write_text("Replaced by lanterns.\n")
        (vault / "n2.md.tmp").rename(vault / "n2.md")
        daemon.until(lambda: daemon.query("lanterns", lanes=["lexical"])[:1] == ["n2.md"], "the replacement")
        daemon.settled()
        assert daemon.metric("mindnet_notes_indexed_total") - indexed == 2
