"""Python's search for reference cycles, kept out of work that makes millions of values and no cycles."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def no_cycle_search() -> Iterator[None]:
    """Pause the search while the block runs: it would walk all new values again and again.

    Memory is freed all the same, by reference counts. The search is the process's, so other threads
    do without it too; afterwards it runs again if it did before.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()
