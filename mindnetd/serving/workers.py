"""Doing the work of a request: off the event loop, under a deadline, and only while somebody waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from starlette.requests import Request

from mindnetd.deadline import Deadline, working_under
from mindnetd.errors import TooMany

T = TypeVar("T")
QUICK_S = 0.02
"""A request that takes no longer is not watched for its client going away: the watch costs more than it saves."""
THREADS = 8


class Workers:
    """Worker threads with a bound on how many requests are in work or wait."""

    def __init__(self, limit: int, threads: int = THREADS) -> None:
        self._limit = limit
        self._busy = 0
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="request")

    @property
    def busy(self) -> int:
        """Requests in work or waiting."""
        return self._busy

    async def run(self, request: Request, work: Callable[[Deadline], T], seconds: float) -> T:
        """The result of ``work(deadline)``.

        Raises TooMany when ``limit`` requests are in work or wait, Unavailable (``timeout``) past the deadline. When
        the client goes, or the server cancels the request, the deadline is cancelled and the work stops at its next
        check; a statement of the database that runs for it is interrupted.
        """
        running, deadline = self._begin(work, seconds)
        try:
            done, _ = await asyncio.wait({running}, timeout=QUICK_S)
            if not done:
                await _wait_watching(request, running, deadline)
        finally:
            if not running.done():
                deadline.cancel()
        if not running.done():
            raise deadline.late()
        return running.result()

    async def run_apart(self, work: Callable[[Deadline], T], seconds: float) -> T:
        """The same for a reply that has begun, whose sender watches the client and cancels this when it goes."""
        running, deadline = self._begin(work, seconds)
        try:
            await asyncio.wait({running}, timeout=deadline.remaining)
        finally:
            if not running.done():
                deadline.cancel()
        if not running.done():
            raise deadline.late()
        return running.result()

    def _begin(self, work: Callable[[Deadline], T], seconds: float) -> tuple[asyncio.Future[T], Deadline]:
        if self._busy >= self._limit:
            raise TooMany(f"{self._busy} requests are waiting already; try again in a moment")
        self._busy += 1
        deadline = Deadline(seconds)
        running = asyncio.get_running_loop().run_in_executor(self._pool, _guarded, work, deadline)
        running.add_done_callback(self._one_less)  # not in a finally: the slot is taken until the thread is free
        return running, deadline

    def _one_less(self, future: asyncio.Future[Any]) -> None:
        self._busy -= 1
        if not future.cancelled():
            future.exception()  # seen: nobody may be waiting for it any more

    def close(self) -> None:
        """Take no more work; what runs is not waited for."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _guarded(work: Callable[[Deadline], T], deadline: Deadline) -> T:
    deadline.check()  # it may have waited in the queue until nobody wanted it
    with working_under(deadline):
        return work(deadline)


async def _wait_watching(request: Request, running: asyncio.Future[T], deadline: Deadline) -> None:
    """Until the work ends, its client goes, or the deadline has passed."""
    gone = asyncio.create_task(_gone(request))
    either: set[asyncio.Future[Any]] = {running, gone}
    try:
        await asyncio.wait(either, timeout=deadline.remaining, return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
