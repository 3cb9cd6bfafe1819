"""The host's advanced options of NUMA scheduling: defaults, and what another value does.

Defaults and meaning: William Lam's dumps of the advanced settings of ESXi 6.5 U2 to 8.0 (GitHub,
lamw/esxi-advanced-and-kernel-settings: one value in all of them), pyvmomi's dump of an ESXi 8.0.3, VMware
"vSphere Resource Management: Advanced NUMA Attributes", and Broadcom KB 439993 (action affinity is off by
default from ESX 9.1 on). Numa.InitialPlacementLoadThreshold is in none of the dumps, so its default is not
known, and that a host does not tell it proves nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from vplacer.inventory.host import Host
from vplacer.inventory.limits_table import parse_release

ACTION_AFFINITY: Final = "Numa.LocalityWeightActionAffinity"
INITIAL_THRESHOLD: Final = "Numa.InitialPlacementLoadThreshold"
NO_ACTION_AFFINITY_SINCE: Final = (9, 1, 0)


@dataclass(frozen=True, slots=True)
class NumaOption:
    """``default`` as text; ``effect``: what any other value does; ``harmful``: it costs locality."""

    default: str
    effect: str
    harmful: bool = False


NUMA_OPTIONS: Final[Mapping[str, NumaOption]] = {
    ACTION_AFFINITY: NumaOption(
        "130", "how strongly VMs are drawn to those they talk to, and to the workers of physical NICs"
    ),
    "Numa.FollowCoresPerSocket": NumaOption(
        "0", "vNUMA nodes follow the sockets that the VM is set to, whether they fit a node or not"
    ),
    "Numa.LocalityWeightMem": NumaOption(
        "1", "how much it counts that a VM's memory is on its node; 0 = VMs are moved without regard to it"
    ),
    "Numa.PageMigEnable": NumaOption(
        "1", "memory does not follow a VM that moved to another node", harmful=True
    ),
    "Numa.PreferHT": NumaOption(
        "0",
        "all VMs are sized by threads, so that a VM of more vCPUs than a node has cores stays on one node",
    ),
    "Numa.RebalanceEnable": NumaOption(
        "1", "VMs are neither placed by NUMA node nor moved: locality is luck", harmful=True
    ),
    "Numa.SwapLocalityEnable": NumaOption("1", "VMs are not swapped between nodes to be near their memory"),
}


def default_of(name: str, host: Host) -> str | None:
    """Return the default of an option on a host's release; None = not published, or the release not told."""
    known = NUMA_OPTIONS.get(name)
    if known is None:
        return None
    if name == ACTION_AFFINITY:
        release = parse_release(host.version)
        if release is None:
            return None
        return "0" if release >= NO_ACTION_AFFINITY_SINCE else known.default
    return known.default
