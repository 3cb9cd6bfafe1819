"""What each virtual hardware version allows on each ESXi release: the fallback for option descriptors.

The host's own descriptors (VirtualHardwareOption) come first wherever they were read. Sources: VMware's
"Hardware features available with virtual machine compatibility settings" (7.0 and 8.0) for CPUs, memory
and cores per socket; VMware KB 309986 for passthrough devices; govmomi's hardware_version.go for the
first release of each version.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import Final

from vplacer.inventory.host import HardwareLimits

_GIB: Final = 1024

# The first release (major, minor, update) that offers each version. 16 was never an ESXi version.
FIRST_RELEASE: Final[dict[int, tuple[int, int, int]]] = {
    13: (6, 5, 0),
    14: (6, 7, 0),
    15: (6, 7, 2),
    17: (7, 0, 0),
    18: (7, 0, 1),
    19: (7, 0, 2),
    20: (8, 0, 0),
    21: (8, 0, 2),
    22: (9, 0, 0),
}

# version: CPUs, memory in GiB, cores per socket
_SIZES: Final[dict[int, tuple[int, int | None, int]]] = {
    13: (128, 6128, 64),
    14: (128, 6128, 64),
    15: (256, 6128, 64),
    17: (256, 6128, 64),
    18: (768, 24560, 64),
    19: (768, 24560, 64),
    20: (768, 24560, 256),
    21: (768, 24560, 256),
    22: (960, None, 960),
}

FIRST_WITH_DYNAMIC: Final = 17
"""The first version with Dynamic DirectPath I/O (bosh-vsphere-cpi-release PR 370)."""

FIRST_WITH_VNUMA: Final = 20
"""The first version with virtualNuma, device numaNode and device groups."""


def parse_release(version: str | None) -> tuple[int, int, int] | None:
    """Return (major, minor, update) of an ESXi version such as "8.0.3", or None."""
    match = re.match(r"^([0-9]{1,4})\.([0-9]{1,4})(?:\.([0-9]{1,4}))?(?![0-9])", version or "")
    if match is None:
        return None
    return int(match[1]), int(match[2]), int(match[3] or 0)


@lru_cache(maxsize=64)
def table_limits(release: str | None) -> tuple[HardwareLimits, ...]:
    """Return the limits of every hardware version the ESXi release offers, lowest first.

    An unknown release gives none. A limit that no source states is None.
    """
    parsed = parse_release(release)
    if parsed is None:
        return ()
    return tuple(_limits(version, parsed) for version, first in FIRST_RELEASE.items() if parsed >= first)


def table_limit(release: str | None, version: int) -> HardwareLimits | None:
    """Return the limits of one hardware version on a release, or None where it is not offered."""
    return next((limit for limit in table_limits(release) if limit.version == version), None)


def as_descriptor(limits: tuple[HardwareLimits, ...]) -> tuple[HardwareLimits, ...]:
    """Return the same limits as if the host's descriptors had said so (for simulated hosts)."""
    return tuple(replace(limit, source="descriptor") for limit in limits)


def _limits(version: int, release: tuple[int, int, int]) -> HardwareLimits:
    cpus, memory_gib, cores = _SIZES[version]
    return HardwareLimits(
        version=version,
        source="table",
        max_cpus=cpus,
        max_memory_mib=None if memory_gib is None else memory_gib * _GIB,
        max_cores_per_socket=cores,
        max_passthrough=_max_passthrough(version, release),
        max_vgpus=_max_vgpus(version, release),
        max_numa_nodes=None,
        max_device_groups=None if version >= FIRST_WITH_VNUMA else 0,
    )


def _max_passthrough(version: int, release: tuple[int, int, int]) -> int | None:
    """KB 309986: 16 up to version 19; version 20 32 on 8.0 and 64 from 8.0 U1; version 21 128."""
    if version < FIRST_WITH_VNUMA:
        return 16
    if version == FIRST_WITH_VNUMA:
        return 32 if release < (8, 0, 1) else 64
    return 128 if version == 21 else None


def _max_vgpus(version: int, release: tuple[int, int, int]) -> int | None:
    """Version 13 took one vGPU; 7.0 four and 8.0 eight in one VM (VMware's release blogs)."""
    if version < 14:
        return 1
    if release >= (9, 0, 0):
        return None
    return 8 if release >= (8, 0, 0) else 4
