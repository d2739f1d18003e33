"""Requests go before work that nobody waits for."""

from __future__ import annotations

import sys
import threading

from mindnetd.deadline import Deadline, working_under
from mindnetd.manners import MANNERS, Manners

PATIENCE_S = 30.0


def test_work_stands_still_while_a_request_is_answered() -> None:
    manners, order, begun = Manners(), [], threading.Event()
    manners.MOST_S = PATIENCE_S  # type: ignore[misc]

    def work() -> None:
        for number in manners.gently(range(2), 1):
            begun.set()
            order.append(f"step {number}")

    with manners.in_work():
        worker = threading.Thread(target=work)
        worker.start()
        assert begun.wait(PATIENCE_S)
        order.append("answered")
    worker.join(PATIENCE_S)
    assert not worker.is_alive() and order.index("answered") < order.index("step 1")


def test_no_request_stops_work_for_good() -> None:
    """And none means that nothing is waited for."""
    manners = Manners()
    manners.give_way()
    manners.MOST_S = 0.01  # type: ignore[misc]
    with manners.in_work():
        manners.give_way()
    with manners.polite():
        assert sys.getswitchinterval() < 0.001
    assert sys.getswitchinterval() >= 0.001


def test_every_request_counts() -> None:
    """What the server does for one is done under its deadline."""
    assert not MANNERS._running
    with working_under(Deadline(PATIENCE_S)):
        assert MANNERS._running == 1
    assert not MANNERS._running
