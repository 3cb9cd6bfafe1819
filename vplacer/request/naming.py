"""Names of VMs to be made, and name patterns of VMs, hosts and other objects."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Final

_NUMBER_RE: Final = re.compile(r"\{n(?::0?([1-9]))?\}")
_BRACE_RE: Final = re.compile(r"[{}]")
_MAX_LISTED: Final = 10
_LIKELY: Final = 0.6


def has_number(pattern: str) -> bool:
    """Whether a name has a place for the running number."""
    return _NUMBER_RE.search(pattern) is not None


def placeholder_fault(pattern: str) -> str | None:
    """Return what is wrong with the braces of a name, or None."""
    if _BRACE_RE.search(_NUMBER_RE.sub("", pattern)):
        return f"'{pattern}': braces stand for a running number only, as {{n}} or {{n:02}}"
    return None


def expand_names(pattern: str, count: int) -> tuple[str, ...]:
    """Return the names for numbers 1 to ``count``; without a place for a number the name itself, once."""
    if not has_number(pattern):
        return (pattern,)
    return tuple(
        _NUMBER_RE.sub(lambda match, n=number: f"{n:0{int(match[1] or 1)}d}", pattern)  # type: ignore[misc]
        for number in range(1, count + 1)
    )


def without_number(pattern: str) -> str:
    """Return a name without its running number and the sign before it: ``infer`` of ``infer-{n:02}``."""
    return _NUMBER_RE.sub("", pattern).rstrip("-_. ")


def is_pattern(text: str) -> bool:
    """Whether a name has the signs of a pattern."""
    return any(sign in text for sign in "*?[")


def matching(pattern: str, names: Iterable[str]) -> frozenset[str]:
    """Return the names that equal a pattern; if none does, those that fit its ``*``, ``?`` and ``[]``."""
    known = frozenset(names)
    if pattern in known:
        return frozenset({pattern})
    return frozenset(name for name in known if fnmatchcase(name, pattern))


def close_names(word: str, names: Iterable[str]) -> str | None:
    """Return a hint with names like ``word``, or the few there are; None if there is nothing to say."""
    known = sorted(set(names))
    wanted = word.casefold()
    likeness = {name: difflib.SequenceMatcher(None, wanted, name.casefold()).ratio() for name in known}
    likely = sorted((name for name in known if likeness[name] >= _LIKELY), key=lambda name: -likeness[name])
    close = likely[:3]
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"there is: {listed(known)}" if known else None


def listed(names: Sequence[str]) -> str:
    """Return names joined by commas, cut after ten."""
    shown = ", ".join(names[:_MAX_LISTED])
    return f"{shown} and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else shown
