"""What can be ordered to go wrong in a rehearsal."""

from __future__ import annotations

from typing import Final

FAULTS: Final = {
    "fail": "the task of the step fails",
    "refuse": "the call is refused; no task is started",
    "stall": "the task takes ten minutes longer",
    "drop-before": "the connection breaks before the call is carried out",
    "drop-after": "the connection breaks after the call was carried out, before the answer",
    "expire": "the session has ended when the call comes",
    "change": "somebody else changes the VM right before",
    "off": "somebody else switches the VM off right before",
    "take": "somebody else starts VMs with the devices of the VM right before",
    "lose-host": "the VM's host loses its connection right before",
    "maintenance": "the VM's host goes into maintenance mode right before",
}
"""Kinds of faults, and what happens."""
