"""What the server needs from the daemon: the one seam between HTTP and everything else.

``daemon.py`` builds the object; routes use it and construct nothing. Methods are called on worker threads and may
block, properties must be cheap and safe from any thread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from mindnetd.core.query import QuerySpec
from mindnetd.core.records import FLAGS, Visibility
from mindnetd.core.results import QueryResult
from mindnetd.events import EventBus
from mindnetd.jobs import Job, JobBook
from mindnetd.metrics import Metrics

if TYPE_CHECKING:
    from mindnetd.answer import Answerer
    from mindnetd.core.derive import DeriveOptions
    from mindnetd.core.tokens import TokenCounter
    from mindnetd.lanes.entity_index import EntityIndex
    from mindnetd.lanes.hot import HotIndex
    from mindnetd.modes import Modes
    from mindnetd.search import Searcher
    from mindnetd.store.db import Database
    from mindnetd.store.llm import Pending
    from mindnetd.store.records import QueryRow


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """What of the configuration the server itself obeys; a new object after a reload."""

    max_visibility: Visibility = "internal"
    """More than this is refused (403 ``visibility_denied``)."""
    hidden_flags: tuple[str, ...] = FLAGS
    """Flags that hide a note unless a request includes them."""
    query_deadline_s: float = 30.0
    running: int = 32
    """Requests worked on at once."""
    waiting: int = 96
    """Requests that may wait besides; one more is a 429."""
    body_limit: int = 1 << 20
    """Bytes of a request body."""


class Services(Protocol):
    """Everything the routes use."""

    @property
    def vault_id(self) -> str:
        """The vault's id, for ``X-Mindnet-Vault``."""

    @property
    def id_prefix(self) -> str:
        """The prefix of all ids."""

    @property
    def derive_options(self) -> DeriveOptions:
        """What decides what a note becomes, note types included; a new object after a reload."""

    @property
    def fingerprint(self) -> str:
        """Of the model whose vectors count; empty while there is none."""

    @property
    def dim(self) -> int:
        """Numbers in such a vector; 0 while there is no model."""

    @property
    def revision(self) -> int:
        """The revision that answers are made from now, for ``X-Mindnet-Revision``."""

    @property
    def settings(self) -> ServerSettings:
        """The limits in force now."""

    @property
    def searcher(self) -> Searcher:
        """Answers questions."""

    @property
    def modes(self) -> Modes:
        """Puts a question to the searcher as its mode says."""

    @property
    def answerer(self) -> Answerer:
        """Makes the text of an answer."""

    @property
    def counter(self) -> TokenCounter:
        """Counts tokens with the pinned tokenizer."""

    @property
    def hot(self) -> HotIndex:
        """The resident index: snapshots with the revision and every note's metadata."""

    @property
    def entities(self) -> EntityIndex:
        """The resident entity graph; reading only."""

    @property
    def db(self) -> Database:
        """The store, for reading only."""

    @property
    def jobs(self) -> JobBook:
        """Jobs that admin calls started."""

    @property
    def events(self) -> EventBus:
        """The bus behind ``GET /events``."""

    @property
    def metrics(self) -> Metrics:
        """The numbers behind ``GET /metrics``."""

    def status(self) -> Mapping[str, Any]:
        """The body of ``GET /status`` (``wire_replies.StatusReply``)."""

    def llm_calls(self) -> Mapping[str, Mapping[str, int]]:
        """Calls of the language model by purpose, since this process began."""

    def llm_pending(self) -> Sequence[Pending]:
        """What waits for a reply of the language model."""

    def log_query(self, spec: QuerySpec, result: QueryResult) -> None:
        """Called after each answer; keeps a trace where ``privacy.query_log`` is on."""

    def unwritten_queries(self) -> Sequence[QueryRow]:
        """What was logged and is not in the file yet, newest first; ask before the file is read."""

    def backup(self) -> Path:
        """Write a consistent copy of the database to a new file and return it; the caller removes it."""

    def request_reindex(self, paths: Sequence[str], everything: bool) -> Job:
        """Read these files or folders again, or all of them. Raises BadRequest for a path outside the vault."""

    def request_reconcile(self) -> Job:
        """Compare the vault with the database now."""

    def request_resolve(self) -> Job:
        """Resolve every link again."""

    def request_communities(self, cold: bool) -> Job:
        """Make the entity graph and its communities anew."""

    def request_verify(self, hashes: bool) -> Job:
        """Re-hash the vault and compare everything; the result has ``ok`` and ``differences`` (and ``hashes``)."""
