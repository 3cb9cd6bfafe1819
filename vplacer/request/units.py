"""Sizes, speeds and shares as people write them."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

_MIB: Final = {"mib": 1, "gib": 1024, "tib": 1024 * 1024}
_MBPS: Final = {"mbit/s": 1, "mbps": 1, "gbit/s": 1000, "gbps": 1000}
_NUMBER_RE: Final = re.compile(r"^([0-9]+(?:\.[0-9]+)?)\s*(\S+)$")


def parse_memory_mib(text: str) -> int:
    """Return ``256 GiB`` in MiB.

    Raises:
        ValueError: no size, no whole number of MiB, zero, or not a multiple of 4 MiB as vSphere requires.
    """
    value = _scaled(text, _MIB, "a size with its unit, such as 256 GiB (MiB, GiB or TiB)")
    if value <= 0:
        raise ValueError("memory must be more than zero")
    if value.denominator != 1 or value % 4 != 0:
        raise ValueError(f"{float(value):g} MiB is not a multiple of 4 MiB, as vSphere requires")
    return int(value)


def parse_speed_mbps(text: str) -> int:
    """Return ``100 Gbit/s`` in Mbit/s.

    Raises:
        ValueError: no speed, zero, or no whole number of Mbit/s.
    """
    value = _scaled(text, _MBPS, "a speed with its unit, such as 100 Gbit/s")
    if value <= 0 or value.denominator != 1:
        raise ValueError("a speed must be a whole number of Mbit/s, more than zero")
    return int(value)


def parse_percent(text: str) -> float:
    """Return ``4 %`` as 4.0.

    Raises:
        ValueError: no share, or 50 % and more, which leaves no room to plan in.
    """
    value = _scaled(text, {"%": 1}, "a share such as 4 %")
    if value >= 50:
        raise ValueError("a margin must be below 50 %")
    return float(value)


def memory_text(memory_mib: int) -> str:
    """Return MiB in the largest unit that needs no fraction."""
    for unit, factor in (("TiB", 1024 * 1024), ("GiB", 1024)):
        if memory_mib and memory_mib % factor == 0:
            return f"{memory_mib // factor} {unit}"
    return f"{memory_mib} MiB"


def _scaled(text: str, units: dict[str, int], expected: str) -> Fraction:
    match = _NUMBER_RE.match(text.strip())
    factor = units.get(match[2].casefold()) if match else None
    if match is None or factor is None:
        raise ValueError(f"'{text[:40]}' is not {expected}")
    return Fraction(match[1]) * factor
