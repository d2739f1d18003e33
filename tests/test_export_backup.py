"""``mindnet backup``: a copy of one revision, made while notes are saved, that `mindnetd run --db` starts from."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

from program import program

from mindnetd.client.main import main as mindnet
from mindnetd.store.db import open_database
from mindnetd.store.integrity import integrity

PAIRS = 12


def test_a_backup_made_while_saving_is_whole_and_starts(tmp_path: Path) -> None:
    """Every rule between tables holds in each copy; a daemon on it reads nothing again that has not changed since."""
    vault, models = tmp_path / "vault", tmp_path / "no-models"
    vault.mkdir()
    for number in range(60):
        (vault / f"n{number}.md").write_text(f"# Note {number}\n\nText. [[n{(number + 1) % 60}]] [[s{number}]]\n")
    home = tmp_path / "one"
    home.mkdir()
    copies = [tmp_path / f"copy{number}.duckdb" for number in range(3)]
    with program(home, vault, models, watch__settle_ms=5, watch__max_wait_ms=50) as daemon:
        daemon.settled(vectors=False)
        ended = threading.Event()

        def save() -> None:
            number = 0
            while not ended.wait(0.005):
                number += 1
                for side in ("left", "right"):
                    (vault / f"{side}{number % PAIRS}.md").write_text(f"{side} {number} [[left{number % PAIRS}]]\n")

        saver = threading.Thread(target=save)
        saver.start()
        before = daemon.get("/status")["revision"]
        try:
            for copy in copies:
                assert mindnet(["--socket", str(daemon.socket), "backup", str(copy)]) == 0
            daemon.until(lambda: daemon.get("/status")["revision"] > before + 3, "saves went on")
        finally:
            ended.set()
            saver.join()
        daemon.settled(vectors=False)
        notes = daemon.get("/status")["notes"]
        assert daemon.stop() == 0
    for copy in copies:
        db = open_database(copy, memory_limit="128MB", threads=1, allowed_dir=tmp_path / "spare")
        assert integrity(db) == [] and db.revision >= before
        db.close()
    other = tmp_path / "two"
    (other / "state").mkdir(parents=True)
    shutil.copy(copies[-1], other / "state/notes.duckdb")
    with program(other, vault, models) as daemon:
        daemon.settled(vectors=False)
        assert daemon.get("/status")["notes"] == notes
        assert daemon.job("/admin/verify")["result"]["differences"] == []
        assert daemon.metric("mindnet_notes_indexed_total") <= 2 * PAIRS, "only what was saved since is read"
        assert daemon.stop() == 0
