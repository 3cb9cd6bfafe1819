"""How dear a relaxation is: what orders the ways out that are shown, cheapest first."""

from __future__ import annotations

from typing import Final

LOOSER_LOCALITY: Final = 10
"""Accept a farther device; no capacity is given up."""
OTHER_BINDING: Final = 20
"""Another affinity mode or label: the VM may lose vMotion, or labels must be set first."""
HOST_CHANGE: Final = 30
"""The administrator changes a host: reboot, maintenance, mount, standby."""
LESS_CPU_OR_MEMORY: Final = 40
"""The VM gets smaller."""
SOFTER_RULE: Final = 50
"""A rule becomes a preference."""
LESS_DEVICES: Final = 60
"""Fewer cards, or others."""
ELSEWHERE: Final = 70
"""Another cluster or host than asked for."""
PARTIAL: Final = 90
"""Some VMs are not placed."""
LEFT_OUT: Final = 100
"""A VM is not placed: each counts. Dearer than any one thing that it could be asked for without."""
