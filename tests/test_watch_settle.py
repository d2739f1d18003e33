"""When a file is quiet enough to be read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mindnetd.core.records import FileStat
from mindnetd.core.settle import ABSENT_QUIET_S, LONGEST_PAUSE_S, SettleOptions, Settler

FULL = FileStat(100, 1, 1, 7)
OTHER = FileStat(120, 2, 2, 7)
EMPTY = FileStat(0, 3, 3, 7)


def settler() -> Settler:
    return Settler(SettleOptions(settle_ms=200, max_wait_ms=2000, unstable_max_s=15))


def test_a_closed_file_is_ready_after_the_quiet_time() -> None:
    """One save, one look, `settle_ms` later."""
    s = settler()
    s.mark("a.md", "closed", 10.0)
    assert s.due(10.1) == [] and s.next_due() == 10.2
    assert s.due(10.2) == ["a.md"]
    assert s.look("a.md", FULL, False, 10.2) == "ready"
    assert len(s) == 0 and s.next_due() is None


def test_due_comes_again_until_it_was_looked_at() -> None:
    """Asking what is due loses nothing."""
    s = settler()
    s.mark("a.md", "closed", 0.0)
    s.mark("b.md", "closed", 0.1)
    assert s.due(1.0) == s.due(1.0) == ["a.md", "b.md"]
    assert s.due(1.0, limit=1) == ["a.md"]


def test_each_save_pushes_the_look_out_but_not_past_the_cap() -> None:
    """Saved each 0.1 s: read 2 s after the first save, not never."""
    s = settler()
    now = 0.0
    while not s.due(now):
        s.mark("a.md", "closed", now)
        now += 0.1
    assert 1.9 < now <= 2.2
    assert s.look("a.md", FULL, False, now) == "ready"


def test_a_file_open_for_writing_waits_for_its_close() -> None:
    """A slow write of 5 s: not one look says ready before the close, and the quiet time counts from there."""
    s = settler()
    s.mark("a.md", "created", 0.0)
    now, looks = 0.0, 0
    while (at := s.next_due()) is not None and at < 5.0:
        now = at
        assert s.look("a.md", FULL, True, now) == "wait"
        looks += 1
    assert looks < 12
    s.mark("a.md", "closed", 5.0)
    assert s.next_due() == 5.2
    assert s.look("a.md", OTHER, False, 5.2) == "ready"


def test_a_writer_that_never_closes_is_read_in_the_end() -> None:
    """`unstable_max_s` after the first mark the file is read as it is."""
    s = settler()
    s.mark("log.md", "created", 0.0)
    while s.look("log.md", FULL, True, s.next_due() or 0.0) == "wait":
        assert (s.next_due() or 99) <= 15.0
    assert len(s) == 0


def test_a_scan_needs_two_equal_looks() -> None:
    """What the scan saw is the first look."""
    s = settler()
    s.mark("a.md", "scan", 0.0, FULL)
    assert s.look("a.md", OTHER, None, 0.2) == "wait"
    assert s.look("a.md", OTHER, None, 0.4) == "ready"
    s.mark("a.md", "scan", 1.0, FULL)
    assert s.look("a.md", FULL, False, 1.2) == "ready"


def test_a_scan_does_not_push_a_pending_save_out() -> None:
    """Scans each few seconds must not keep a note from being read."""
    s = settler()
    s.mark("a.md", "closed", 0.0)
    s.mark("a.md", "scan", 0.15, FULL)
    assert s.next_due() == 0.2
    assert s.look("a.md", OTHER, False, 0.2) == "ready"


def test_an_empty_file_gets_a_second_look() -> None:
    """Truncate and write is seen empty first."""
    s = settler()
    s.mark("a.md", "closed", 0.0)
    assert s.look("a.md", EMPTY, False, 0.2) == "wait"
    assert s.look("a.md", FULL, False, 0.4) == "ready"
    s.mark("b.md", "closed", 0.0)
    assert s.look("b.md", EMPTY, False, 0.2) == "wait"
    assert s.look("b.md", EMPTY, False, 0.4) == "ready"


def test_an_empty_file_without_a_known_writer_waits_longer() -> None:
    """Where no lease can be had, emptiness must last for `max_wait_ms`."""
    s = settler()
    s.mark("a.md", "closed", 0.0)
    now = 0.2
    while s.look("a.md", EMPTY, None, now) == "wait":
        now = s.next_due() or 0.0
    assert 2.0 <= now <= 2.3


def test_absence_must_last() -> None:
    """git deletes and creates: the note is not gone in between."""
    s = settler()
    s.mark("a.md", "deleted", 0.0)
    assert s.look("a.md", None, None, 0.2) == "wait"
    s.mark("a.md", "created", 0.3)
    s.mark("a.md", "closed", 0.3)
    assert s.look("a.md", FULL, False, 0.5) == "ready"
    s.mark("b.md", "deleted", 0.0)
    assert s.look("b.md", None, None, 0.2) == "wait"
    assert s.next_due() == 0.2 + ABSENT_QUIET_S
    assert s.look("b.md", None, None, 0.2 + ABSENT_QUIET_S) == "ready"


def test_the_source_of_a_move_is_gone_at_once() -> None:
    """A rename said where it went; old and new path change together."""
    s = settler()
    s.mark("new.md", "moved", 0.0)
    s.mark("old.md", "moved", 0.0)
    assert s.look("old.md", None, None, 0.2) == "ready"
    assert s.look("new.md", FULL, False, 0.2) == "ready"


def test_deletions_come_last() -> None:
    """A move in two halves keeps its text known: additions are seen before removals."""
    s = settler()
    s.mark("a/old.md", "deleted", 0.0)
    s.mark("b/new.md", "created", 0.0)
    assert s.due(1.0) == ["b/new.md", "a/old.md"]


def test_forgetting() -> None:
    """A dropped path is not due; a path never marked is ready."""
    s = settler()
    s.mark("a.md", "closed", 0.0)
    s.mark("b.md", "closed", 0.0)
    s.drop("a.md")
    assert "a.md" not in s and s.due(1.0) == ["b.md"]
    s.clear()
    assert s.next_due() is None and s.look("x.md", FULL, False, 0.0) == "ready"


KINDS = st.sampled_from(["closed", "created", "moved", "deleted", "scan"])
STEPS = st.lists(
    st.tuples(
        st.floats(0.001, 1.5),
        st.sampled_from(["a", "b", "c"]),
        st.one_of(KINDS, st.none()),
    ),
    max_size=60,
)
LOOKS = st.tuples(st.sampled_from([None, FULL, OTHER, EMPTY]), st.sampled_from([True, False, None]))


@given(STEPS, st.data(), st.integers(0, 400))
def test_every_mark_ends_in_a_reading(steps: list[tuple[float, str, str | None]], data: st.DataObject, ms: int) -> None:
    """Whatever comes in and whatever the looks see: ready not before the quiet time (but for the cap) and never later
    than `unstable_max_s` after the first mark, with a bounded number of looks."""
    s = Settler(SettleOptions(settle_ms=ms, max_wait_ms=1000, unstable_max_s=4))
    now, first, last, looks = 0.0, dict[str, float](), dict[str, float](), 0

    def run_until(end: float) -> float:
        nonlocal looks
        at = now
        while (due := s.next_due()) is not None and due <= end:
            at = max(at, due)
            for path in s.due(at):
                looks += 1
                stat, writer = data.draw(LOOKS)
                if s.look(path, stat, writer, at) == "ready":
                    begun, latest = first.pop(path), last.pop(path)
                    assert at - latest >= ms / 1000 - 1e-9 or at - begun >= 1.0 - 1e-9
                    assert at - begun <= 4 + LONGEST_PAUSE_S
        return at

    for gap, path, kind in steps:
        run_until(now + gap)
        now += gap
        if kind is not None:
            s.mark(path, kind, now)  # type: ignore[arg-type]
            first.setdefault(path, now)
            if kind != "scan" or path not in last:
                last[path] = now
    run_until(now + 10)
    assert not first and len(s) == 0
    assert looks <= 90 * (len(steps) + 1)
