"""The C allocator, kept small. Without this an import leaves some 200 MB of freed but unreturned heap behind.

glibc gives every thread a heap of its own, and each keeps the largest buffers it ever had. One heap for all cost no
speed here (the runtime allocates few, large buffers) and saved about 100 MB (``docs/decisions``, embedder).
"""

from __future__ import annotations

import ctypes

_M_ARENA_MAX = -8


def limit_heaps() -> None:
    """Let threads that start from now on share one heap. Does nothing where the C library is not glibc."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, 1)


def give_back() -> None:
    """Return freed memory to the system (a few milliseconds). Does nothing where the C library is not glibc."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
