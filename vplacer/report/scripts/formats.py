"""The languages that a plan is written in as a script.

Each module ``vplacer/report/scripts/format_NAME.py`` is the format NAME and holds its `ScriptFormat` as
``FORMAT``; there is no other list. `vplacer show --format` offers them all.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from vplacer.plan.script.model import Script, Written

_PREFIX: Final = "format_"


@dataclass(frozen=True, slots=True)
class ScriptFormat:
    """One format. ``write`` returns the text, ending in a newline, and the steps it stops at."""

    write: Callable[[Script], Written]


def script_format_names() -> tuple[str, ...]:
    """Return the names of all formats, sorted. Imports none of them."""
    import vplacer.report.scripts

    found = (module.name for module in pkgutil.iter_modules(vplacer.report.scripts.__path__))
    return tuple(sorted(name.removeprefix(_PREFIX) for name in found if name.startswith(_PREFIX)))


def load_script_format(name: str) -> ScriptFormat:
    """Return a format by one of the names of `script_format_names`."""
    found: ScriptFormat = import_module(f"vplacer.report.scripts.{_PREFIX}{name}").FORMAT
    return found
