"""Runs a property in rounds of fresh examples, for as long as the environment asks.

``VPLACER_FUZZ_SECONDS``: how long each reader is tried; tests of one reader, and those of small ones, have a
``share`` of it. Unset = one round, the same examples every time.
``VPLACER_FUZZ_SEED``: the first round's seed (default 0); a failure names the seed of its round.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

EXAMPLES = 60


def fuzz(
    strategy: st.SearchStrategy[Any],
    check: Callable[[Any], None],
    examples: int = EXAMPLES,
    *,
    share: float = 1,
) -> None:
    """Check values of a strategy, round after round."""
    seconds = share * float(os.environ.get("VPLACER_FUZZ_SECONDS") or 0)
    number = int(os.environ.get("VPLACER_FUZZ_SEED") or 0)
    end = time.monotonic() + seconds
    while True:
        _round(strategy, check, number, examples if not seconds else 3 * examples)
        number += 1
        if time.monotonic() >= end:
            return


def _round(
    strategy: st.SearchStrategy[Any], check: Callable[[Any], None], number: int, examples: int
) -> None:
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=False,
        print_blob=False,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @seed(number)
    @given(strategy)
    def one(value: Any) -> None:
        check(value)

    try:
        one()
    except BaseException as error:
        error.add_note(f"VPLACER_FUZZ_SEED={number}")
        raise
