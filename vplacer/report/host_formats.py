"""The formats that a host is shown and exported in.

Each module ``vplacer/report/topology_NAME.py`` is the format NAME and holds its `Format` as ``FORMAT``;
there is no other list. `vplacer topology show` and `vplacer topology export` offer them all.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from vplacer.topology.host_view import HostView

_PREFIX: Final = "topology_"


@dataclass(frozen=True, slots=True)
class Format:
    """One format.

    suffix: of its files, with the dot.
    render: returns the text, ending in a newline. Raises UsageError where it cannot express the host.
    starts: what its files begin with, by which an export knows one that it may replace; empty = nothing
        tells them from other text.
    """

    suffix: str
    render: Callable[[HostView], str]
    starts: tuple[str, ...] = ()


def format_names() -> tuple[str, ...]:
    """Return the names of all formats, sorted. Imports none of them."""
    import vplacer.report

    found = (module.name for module in pkgutil.iter_modules(vplacer.report.__path__))
    return tuple(sorted(name.removeprefix(_PREFIX) for name in found if name.startswith(_PREFIX)))


def load_format(name: str) -> Format:
    """Return a format by one of the names of `format_names`."""
    module = import_module(f"vplacer.report.{_PREFIX}{name}")
    found: Format = module.FORMAT
    return found
