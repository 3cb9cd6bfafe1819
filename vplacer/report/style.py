"""Colour for text reports: a decision made once, and functions that wrap a word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_RESET: Final = "\x1b[0m"
_CODES: Final[Mapping[str, str]] = {
    "bold": "\x1b[1m",
    "dim": "\x1b[2m",
    "red": "\x1b[31m",
    "green": "\x1b[32m",
    "yellow": "\x1b[33m",
    "cyan": "\x1b[36m",
}


def use_colour(*, is_tty: bool, environ: Mapping[str, str]) -> bool:
    """Whether to colour: NO_COLOR beats FORCE_COLOR, both beat the terminal; an empty value is not set."""
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return is_tty and environ.get("TERM") != "dumb"


@dataclass(frozen=True, slots=True)
class Style:
    """Wraps words in colour, or leaves them alone. Nothing may be said by colour alone."""

    colour: bool = False

    def paint(self, text: str, name: str) -> str:
        """Return the text in a colour ("bold", "dim", "red", "green", "yellow", "cyan")."""
        return f"{_CODES[name]}{text}{_RESET}" if self.colour and text else text


PLAIN: Final = Style()
