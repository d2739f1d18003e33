"""Import runs: what one piece of indexing did, counted while it goes on and stored with each of its commits."""

from __future__ import annotations

import subprocess
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from mindnetd.store.records import RunRow

MAX_ERRORS = 50
GIT_TIMEOUT_S = 5.0


@dataclass(slots=True)
class Run:
    """A run as it goes on. ``row`` is what the store keeps of it."""

    trigger: str
    config_hash: str
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    started: datetime = field(default_factory=lambda: _now())
    ended: datetime | None = None
    repo: str | None = None
    commit: str | None = None
    seen: int = 0
    changed: int = 0
    failed: int = 0
    chunks: int = 0
    edges: int = 0
    made: int = 0
    reused: int = 0
    errors: list[str] = field(default_factory=list)
    stored: bool = False
    """The store has it as it ended."""

    def error(self, text: str) -> None:
        """Note a failure (the first `MAX_ERRORS` are kept, all are counted)."""
        self.failed += 1
        if len(self.errors) < MAX_ERRORS:
            self.errors.append(text)

    def end(self) -> None:
        """The run is over."""
        self.ended = _now()

    @property
    def seconds(self) -> float:
        """How long it took, or has taken so far."""
        return ((self.ended or _now()) - self.started).total_seconds()

    def summary(self) -> dict[str, object]:
        """For ``GET /status``."""
        ended = self.ended.isoformat(timespec="milliseconds") + "Z" if self.ended else None
        return {
            "id": self.id,
            "trigger": self.trigger,
            "ended": ended,
            "seconds": round(self.seconds, 3),
            "files_changed": self.changed,
            "files_failed": self.failed,
            "embeddings_made": self.made,
            "embeddings_reused": self.reused,
        }

    def row(self) -> RunRow:
        """As the store keeps it."""
        return RunRow(
            id=self.id,
            trigger=self.trigger,
            started=self.started,
            config_hash=self.config_hash,
            ended=self.ended,
            vault_repo=self.repo,
            vault_commit=self.commit,
            files_seen=self.seen,
            files_changed=self.changed,
            files_failed=self.failed,
            chunks=self.chunks,
            edges=self.edges,
            embeddings_made=self.made,
            embeddings_reused=self.reused,
            errors=tuple(self.errors),
        )


def vault_revision(vault: Path) -> tuple[str | None, str | None]:
    """The git work tree that holds `vault` and its HEAD (``+dirty`` if anything differs); (None, None) outside git.

    Only asks: optional locks are off, so that git writes nothing into the vault's repository.
    """
    if not any((folder / ".git").exists() for folder in (vault, *vault.parents)):
        return None, None
    try:
        top = _git(vault, "rev-parse", "--show-toplevel")
        head = _git(vault, "rev-parse", "HEAD")
        dirty = _git(vault, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return None, None
    return top, head + ("+dirty" if dirty else "")


def _git(vault: Path, *args: str) -> str:
    command = ["git", "--no-optional-locks", "-C", str(vault), *args]
    done = subprocess.run(command, capture_output=True, text=True, timeout=GIT_TIMEOUT_S, check=True)
    return done.stdout.strip()


def _now() -> datetime:
    return datetime.now(tz=UTC).replace(tzinfo=None)
