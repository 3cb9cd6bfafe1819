"""The host families of the fleet, and how many hosts of each make a full vCenter.

2,500 hosts and 96 hosts a cluster are what one vCenter 8 takes (VMware Configuration Maximums).
"""

from __future__ import annotations

from typing import Any, Final

FULL: Final = 2_500
HOSTS_A_CLUSTER: Final = 96
RELEASE: Final = "9.1.0"
"""From 9.1 on the binding of a passthrough device tells its address."""

GROUP: Final = "Nvidia:2@grid_a100d-80c%NVLink"
TEMPLATES: Final = {"gpu": "gpu-template", "vgpu": "vgpu-template", "cpu": "cpu-template"}

_LABELS: Final = {"gpu": {"label": "gpu-n{node}"}, "nic": {"label": "nic-n{node}", "passthrough": "active"}}


def _gpus(model: str, count: int, node: int, switch: str | None = None) -> dict[str, Any]:
    where = {"switch": switch} if switch else {}
    return {"gpu": model, "count": count, "node": node, **where, **_LABELS["gpu"]}


def _nic(model: str, node: int, switch: str | None = None) -> dict[str, Any]:
    where = {"switch": switch} if switch else {}
    return {"nic": model, "node": node, **where, **_LABELS["nic"]}


def _shared(model: str, count: int, node: int) -> dict[str, Any]:
    return {"gpu": model, "count": count, "node": node}


def _switched(model: str, nic: str) -> list[dict[str, Any]]:
    """Two nodes of two PCIe switches with two GPUs and a NIC each."""
    found = []
    for switch in range(4):
        node = switch // 2
        found += [_gpus(model, 2, node, f"s{switch}"), _nic(nic, node, f"s{switch}")]
    return found


_UPLINK: Final = {"nic": "X710", "node": 0}
_L4: Final = {"mode": "sameSize", "profiles": ["nvidia_l4-6q", "nvidia_l4-12q", "nvidia_l4-24q"]}

KINDS: Final[dict[str, dict[str, Any]]] = {
    # Eight GPUs; the NVLinks join GPUs of different switches.
    "hgx": {
        "cpu": {"packages": 2, "cores": 56},
        "memory_gib": 2048,
        "devices": [*_switched("H100-80", "CX7"), _UPLINK],
        "nvlinks": [["gpu0", "gpu2"], ["gpu1", "gpu3"], ["gpu4", "gpu6"], ["gpu5", "gpu7"]],
    },
    # Four GPUs as two NVLink pairs, one a node.
    "quad": {
        "cpu": {"packages": 2, "cores": 32},
        "memory_gib": 512,
        "devices": [
            _gpus("A30", 2, 0, "a"),
            _nic("CX6-DX", 0, "a"),
            _gpus("A30", 2, 1, "b"),
            _nic("CX6-DX", 1, "b"),
            _UPLINK,
        ],
        "nvlinks": [["gpu0", "gpu1"], ["gpu2", "gpu3"]],
    },
    # Eight GPUs as four NVLink pairs, a pair a switch.
    "pairs": {
        "cpu": {"packages": 2, "cores": 64, "vendor": "amd"},
        "memory_gib": 2048,
        "devices": [*_switched("A100-80", "CX6"), _UPLINK],
        "nvlinks": [["gpu0", "gpu1"], ["gpu2", "gpu3"], ["gpu4", "gpu5"], ["gpu6", "gpu7"]],
    },
    # The same GPUs under the vGPU driver, which offers each NVLink pair as a device group.
    "groups": {
        "cpu": {"packages": 2, "cores": 64, "vendor": "amd"},
        "memory_gib": 2048,
        "devices": [_shared("A100-80", 4, 0), _shared("A100-80", 4, 1), _UPLINK],
        "nvlinks": [["gpu0", "gpu1"], ["gpu2", "gpu3"], ["gpu4", "gpu5"], ["gpu6", "gpu7"]],
        "vgpu": {"mode": "sameSize", "profiles": ["grid_a100d-80c"]},
        "device_groups": [{"name": GROUP, "vgpu": "grid_a100d-80c", "count": 2}],
    },
    # Sixteen small GPUs, cut up: one socket of one node, and two.
    "vgpu": {
        "cpu": {"packages": 1, "cores": 96, "vendor": "amd"},
        "memory_gib": 1024,
        "devices": [_shared("L4", 16, 0), _UPLINK],
        "vgpu": _L4,
    },
    "vgpu2": {
        "cpu": {"packages": 2, "cores": 48},
        "memory_gib": 1024,
        "devices": [_shared("L4", 8, 0), _shared("L4", 8, 1), _UPLINK],
        "vgpu": _L4,
    },
    "cpu": {
        "cpu": {"packages": 2, "cores": 32},
        "memory_gib": 512,
        "devices": [_UPLINK],
    },
    # Sockets of four nodes (AMD NPS4): a GPU a node, a NIC every second node.
    "nps8": {
        "cpu": {"packages": 2, "cores": 64, "vendor": "amd"},
        "numa": {"nodes_per_package": 4},
        "memory_gib": 2048,
        "devices": [
            *(_gpus("H100-80", 1, node, f"s{node}") for node in range(8)),
            *(_nic("CX7", node, f"s{node}") for node in range(0, 8, 2)),
            _UPLINK,
        ],
        "nvlinks": [],
    },
    # GPUs on every second node only.
    "nps4": {
        "cpu": {"packages": 2, "cores": 32, "vendor": "amd"},
        "numa": {"nodes_per_package": 4},
        "memory_gib": 1024,
        "devices": [
            *(_gpus("A30", 1, node, f"s{node}") for node in range(0, 8, 2)),
            *(_nic("CX6-DX", node, f"s{node}") for node in range(0, 8, 2)),
            _UPLINK,
        ],
        "nvlinks": [],
    },
    # Two GPUs a node, joined.
    "nps16": {
        "cpu": {"packages": 2, "cores": 96, "vendor": "amd"},
        "numa": {"nodes_per_package": 4},
        "memory_gib": 3072,
        "devices": [
            *(_gpus("A100-80", 2, node, f"s{node}") for node in range(8)),
            *(_nic("CX6", node, f"s{node}") for node in range(0, 8, 2)),
            _UPLINK,
        ],
        "nvlinks": [[f"gpu{2 * node}", f"gpu{2 * node + 1}"] for node in range(8)],
    },
    "npscpu": {
        "cpu": {"packages": 2, "cores": 32, "vendor": "amd"},
        "numa": {"nodes_per_package": 4},
        "memory_gib": 512,
        "devices": [_UPLINK],
    },
}

TWO_NODES: Final = {
    "hgx": 1300,
    "quad": 300,
    "pairs": 500,
    "groups": 50,
    "vgpu": 190,
    "vgpu2": 60,
    "cpu": 100,
}
EIGHT_NODES: Final = {"nps8": 1650, "nps4": 300, "nps16": 350, "npscpu": 200}

GPUS: Final = {
    "hgx": 8,
    "quad": 4,
    "pairs": 8,
    "groups": 8,
    "vgpu": 16,
    "vgpu2": 16,
    "cpu": 0,
    "nps8": 8,
    "nps4": 4,
    "nps16": 16,
    "npscpu": 0,
}
"""GPUs a host."""

PROFILES: Final = {"nvidia_l4-6q": 6, "nvidia_l4-12q": 12, "nvidia_l4-24q": 24, "grid_a100d-80c": 80}
"""Framebuffer of a profile in GiB."""

CARD_GIB: Final = {"vgpu": 24, "vgpu2": 24, "groups": 80}
"""Framebuffer of a card that is cut up, in GiB."""


def counts(hosts: int, *, eight_nodes: bool = False) -> dict[str, int]:
    """Return how many hosts of each family a fleet of so many has, in the proportions of the full one."""
    full = EIGHT_NODES if eight_nodes else TWO_NODES
    found = {family: max(1, count * hosts // FULL) for family, count in full.items()}
    largest = max(full, key=lambda family: full[family])
    found[largest] += hosts - sum(found.values())
    if found[largest] < 1:
        raise ValueError(f"{hosts} hosts are too few for {len(full)} families")
    return found


def site(hosts: int, *, eight_nodes: bool = False) -> dict[str, Any]:
    """Return the empty fleet as inventory YAML data: clusters of one family, and three templates."""
    wanted = counts(hosts, eight_nodes=eight_nodes)
    clusters = []
    for family, count in wanted.items():
        for number, start in enumerate(range(0, count, HOSTS_A_CLUSTER), 1):
            size = min(HOSTS_A_CLUSTER, count - start)
            line = {"kind": family, "count": size, "name": f"{family}-{{n:04}}", "version": RELEASE}
            clusters.append({"name": f"{family}-{number:02}", "drs": "manual", "hosts": [line]})
    first = f"{next(iter(wanted))}-0001"
    return {
        "format_version": 1,
        "name": "fleet",
        "vcenter": {"version": RELEASE},
        "host_kinds": {family: KINDS[family] for family in wanted},
        "clusters": clusters,
        "vms": [
            {"name": name, "template": True, "on": first, "cpus": 8, "memory_gib": 32, "hardware_version": 21}
            for name in TEMPLATES.values()
        ],
    }
