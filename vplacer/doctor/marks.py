"""Texts with marked names: whoever renders them decides whether real names or pseudonyms are shown.

A report that is attached to a public issue must tell nothing of a site's names. To search texts for
names afterwards would miss some and would garble others (a host may be called "node"), so a check marks
what it says of the site while it says it::

    f"{named('host', moid)} answered {foreign(fault_text)}"

`render` turns the marks into what is shown. Marks are control characters, which no answer of a vCenter
keeps: `foreign` and `secret` take them out of what they mark.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

_START: Final = "\x02"
_MIDDLE: Final = "\x1f"
_END: Final = "\x03"
_MARK_RE: Final = re.compile(f"{_START}([a-z]+):([^{_MIDDLE}]*){_MIDDLE}([^{_END}]*){_END}")
_CONTROL_RE: Final = re.compile(r"[\x00-\x1f\x7f]+")

FOREIGN: Final = "foreign"
SECRET: Final = "secret"
OBJECT: Final = "object"

Show = Callable[[str, str, str], str]
"""Takes the sort of mark (`OBJECT`, `SECRET`, `FOREIGN`), its kind and its value; returns what is shown."""


def named(kind: str, moid: str) -> str:
    """Return a mark for an object of the inventory.

    Args:
        kind: what it is, in a word ("host", "vm"): its pseudonym begins with it.
        moid: its managed object id.
    """
    return _mark(OBJECT, kind, moid)


def secret(kind: str, value: str) -> str:
    """Return a mark for a value of the site that names nothing in the inventory: a label, an address."""
    return _mark(SECRET, kind, value)


def foreign(text: str) -> str:
    """Return a mark for words that somebody else wrote and that may hold any name: the text of a fault."""
    return _mark(FOREIGN, "", text)


def render(text: str, show: Show) -> str:
    """Return a text with its marks replaced by what ``show`` makes of them."""
    return _MARK_RE.sub(lambda match: show(match[1], match[2], match[3]), text)


def _mark(sort: str, kind: str, value: str) -> str:
    return f"{_START}{sort}:{kind}{_MIDDLE}{_CONTROL_RE.sub(' ', value)}{_END}"
