"""Durations as people say them."""

from __future__ import annotations


def duration_text(seconds: float) -> str:
    """Return "0.4 s", "12 s", "4 min 10 s", "2 h 05 min"."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes + (rest >= 30), 60)
    return f"{hours} h {minutes:02} min"
