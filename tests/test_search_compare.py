"""Two snapshots hold the same when the same notes were put in, however; and any difference shows."""

from __future__ import annotations

from search_make import Vault

from mindnetd.lanes.compare import contents


def vault(*notes: tuple[str, str]) -> Vault:
    made = Vault()
    for path, text in notes:
        made.add(path, text)
    return made


def test_the_way_does_not_matter() -> None:
    """Added together or one by one, rewritten on the way: the same contents for the same keys."""
    one, two = vault(("a.md", "alpha beta")), Vault()
    two.put(two.make("a.md", "alpha beta"), vectors=True)
    assert contents(one.hot.snapshot()) == contents(two.hot.snapshot()) != {}


def test_a_difference_shows() -> None:
    """Another word, a missing vector, a note more or less."""
    base = contents(vault(("a.md", "alpha beta")).hot.snapshot())
    assert contents(vault(("a.md", "alpha gamma")).hot.snapshot()) != base
    bare = Vault()
    bare.put(bare.make("a.md", "alpha beta"), vectors=False)
    assert contents(bare.hot.snapshot()) != base
    more = vault(("a.md", "alpha beta"), ("b.md", "delta"))
    assert contents(more.hot.snapshot()) != base
    more.remove("b.md")
    assert contents(more.hot.snapshot()) == base
