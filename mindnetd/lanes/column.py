"""Arrays that grow behind the back of their readers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Column:
    """An array that grows by appending; `view` is what is there, and stays valid."""

    def __init__(self, dtype: Any, width: int = 0) -> None:
        self._width = (width,) if width else ()
        self._data = np.zeros((0, *self._width), dtype=dtype)
        self._used = 0

    def __len__(self) -> int:
        return self._used

    def extend(self, values: Any) -> None:
        """Append rows; snapshots keep what they have."""
        rows = np.asarray(values, dtype=self._data.dtype).reshape(-1, *self._width)
        need = self._used + len(rows)
        if need > len(self._data):
            grown = np.zeros((max(need, len(self._data) * 3 // 2, 256), *self._width), dtype=self._data.dtype)
            grown[: self._used] = self._data[: self._used]
            self._data = grown
        self._data[self._used : need] = rows
        self._used = need

    @property
    def view(self) -> NDArray[Any]:
        """The rows so far."""
        return self._data[: self._used]
