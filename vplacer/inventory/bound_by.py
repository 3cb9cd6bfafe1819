"""Who chooses the physical card of a VM's device."""

from __future__ import annotations

from enum import StrEnum


class BoundBy(StrEnum):
    """Who chooses the physical card of a device assignment."""

    STATIC = "static"
    LABEL = "label"
    PLATFORM = "platform"
