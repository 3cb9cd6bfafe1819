"""Words that texts of findings share."""

from __future__ import annotations

from collections.abc import Iterable


def listed(texts: Iterable[str], shown: int = 4) -> str:
    """Return words in a row; of a long row the rest as a number."""
    words = list(texts)
    more = len(words) - shown
    return ", ".join(words[:shown]) + (f" and {more} more" if more > 0 else "")


def counted(number: int, word: str) -> str:
    """Return a number with its word: "1 VM", "2 VMs"."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
