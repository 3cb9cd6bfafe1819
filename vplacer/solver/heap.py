"""What was read before a search stays: the collector need not look through it again and again."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def settled_heap() -> Iterator[None]:
    """Keep what exists now out of garbage collection for a while.

    A vCenter of 2,500 hosts is a million objects; going through them took a fifth of the time around it.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
