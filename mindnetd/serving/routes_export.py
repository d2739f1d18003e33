"""``GET /export``: the tar is written beside the database first, then sent.

So the snapshot is held only while it is written and never by a slow reader, a fault is an error reply and not half an
archive, and the length is known before the first byte.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any, BinaryIO

from fastapi import FastAPI, Request, Response

from mindnetd.deadline import Deadline
from mindnetd.errors import Conflict
from mindnetd.export import Format, Source, Wish, write_export
from mindnetd.serving.kit import ERRORS, Kit
from mindnetd.serving.streams import Pieces, file_pieces, path_size
from mindnetd.store.faults import store_error

TAR = "application/x-tar"
TAR_REPLY: dict[int | str, dict[str, Any]] = {
    200: {"content": {TAR: {"schema": {"type": "string", "format": "binary"}}}}
}
EXPORT_S = 600.0


def add_export_routes(app: FastAPI, kit: Kit) -> None:
    """Add the route of the way back out; it acts on all notes."""
    writing = asyncio.Lock()

    @app.get("/export", responses={**TAR_REPLY, **ERRORS}, response_class=Response)
    async def export(request: Request, note: str | None = None, format: Format = "md") -> Response:
        """All notes, or one (``note``: a reference), as a tar: byte-identical files, or ``format`` for other tools."""
        if writing.locked():
            raise Conflict("an export is being written already; wait for it")
        async with writing:
            file = await kit.workers.run(request, lambda deadline: _spool(kit, note, format, deadline), EXPORT_S)
        return Pieces(file_pieces(file), TAR, {"content-length": str(path_size(file))})


def _spool(kit: Kit, note: str | None, wanted: Format, deadline: Deadline) -> BinaryIO:
    """The finished tar as an open file that has no name. Raises NotFound, Conflict, StoreError."""
    services = kit.services
    key = None if note is None else _key_of(kit, note)
    vault = Path(services.status()["vault"]["path"])
    wish = Wish(wanted, key, services.fingerprint, services.dim)
    folder = services.db.options.allowed_dir
    try:
        file: Any = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  # the reply closes it
        try:
            write_export(Source(services.db, vault, folder, deadline.check), wish, file)
        except BaseException:
            file.close()
            raise
    except OSError as error:
        raise store_error(folder, error) from error
    made: BinaryIO = file
    return made


def _key_of(kit: Kit, note: str) -> int:
    """The key of the note that a reference means, hidden or not. Raises NotFound, Conflict."""
    refs = kit.browser.refs
    return refs.one(note, refs.matches(note, kit.browser.snapshot().notes, lambda _: True)).key
