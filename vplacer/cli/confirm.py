"""Asks the person at the terminal for consent, by having the vCenter's name typed."""

from __future__ import annotations

from vplacer.cli.common import Common, is_terminal
from vplacer.errors import ConsentMissing


def demand_person(common: Common, *, yes: bool, hint: str) -> None:
    """Refuse where consent would have to be asked for and nobody can be asked.

    Raises:
        ConsentMissing: standard input is no terminal, and --yes was not given.
    """
    if not yes and not is_terminal(common.stdin):
        raise ConsentMissing(
            "nobody can be asked for consent; nothing was changed",
            why="standard input is no terminal",
            hint=hint,
        )


def confirmed(common: Common, vcenter: str, *, yes: bool) -> bool:
    """Ask for consent, unless it was given with --yes; only the vCenter's name is a yes."""
    if yes:
        return True
    common.stderr.write(f"Type the vCenter's name ({vcenter}) to carry this out: ")
    common.stderr.flush()
    return common.stdin.readline().strip() == vcenter
