"""BM25 against an independent implementation at the same settings, on the same words."""

from __future__ import annotations

import bm25s
import numpy as np
import pytest
from search_make import Vault

from mindnetd.core.rank import K1, B
from mindnetd.lanes import lexical

WORDS = [f"word{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(60)]


@pytest.mark.parametrize("seed", range(5))
def test_scores_equal_those_of_bm25s(seed: int) -> None:
    """Same formula (Lucene's, times k1 + 1), same statistics: every score agrees within the other's float32."""
    rng = np.random.default_rng(seed)
    bodies = [[WORDS[int(60 * rng.random() ** 3)] for _ in range(rng.integers(1, 60))] for _ in range(80)]
    vault = Vault()
    for n, body in enumerate(bodies):
        vault.add(f"{n:03}.md", " ".join(body), title="")
    peer = bm25s.BM25(method="lucene", k1=K1, b=B)
    present = {word for body in bodies for word in body}
    stemmed = [[lexical.slots(word, "en").slots[0][0] for word in body] for body in bodies]
    peer.index(stemmed, show_progress=False)
    snapshot = vault.hot.snapshot()
    scope = snapshot.scope(("internal",), ())
    for _ in range(20):
        asked = list(dict.fromkeys(WORDS[int(60 * rng.random() ** 2)] for _ in range(4)))
        ours = lexical.bm25(snapshot, scope, lexical.question_slots(asked, ("en",), snapshot, prefix=False))
        theirs = peer.get_scores([lexical.slots(word, "en").slots[0][0] for word in asked if word in present])
        np.testing.assert_allclose(ours / (K1 + 1), theirs, rtol=2e-4, atol=1e-5)
