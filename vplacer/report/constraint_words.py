"""What constraints and reason codes are called in texts for people; files keep the ids."""

from __future__ import annotations

_WORDS = {
    # why a host does not take a VM
    "affinity-mode": "affinity mode",
    "apart": "kept apart",
    "change-limits": "limit of changes",
    "cluster": "another cluster",
    "connection": "not connected",
    "cpu": "CPU cores",
    "datastore": "datastore missing",
    "device-group": "device group",
    "device-held": "device in use",
    "devices": "devices",
    "drs": "DRS",
    "evc": "CPU differs (EVC)",
    "evacuated": "to be emptied",
    "floating-packing": "NUMA node room",
    "gang": "gang incomplete",
    "gpu-count": "too few free GPUs",
    "gpu-model": "no suitable GPU",
    "group-support": "ESXi too old",
    "ha-admission": "HA admission control",
    "hardware-version": "hardware version",
    "headroom": "headroom",
    "host-size": "host too small",
    "hosts": "not asked for",
    "incomplete": "not fully read",
    "interconnect": "GPUs not joined",
    "label-portable": "label not portable",
    "locality": "devices too far",
    "maintenance": "in maintenance",
    "may-not-move": "may not move",
    "memory": "memory",
    "network": "network missing",
    "nic-count": "too few free NICs",
    "nic-kind": "no suitable NIC",
    "nic-near-gpu": "NIC far from GPU",
    "not-steerable": "cannot be steered",
    "numa-cpu": "CPU cores of a node",
    "numa-memory": "memory of a node",
    "numa-unknown": "NUMA nodes unknown",
    "others": "not beside others",
    "ownership-group": "reset together",
    "placed": "not placed",
    "pool-memory": "resource pool memory",
    "standby": "in standby",
    "stays": "not as asked",
    "together": "kept together",
    "vgpu": "vGPU room",
    "vm-host-rule": "VM-host rule",
    "vm-limits": "VM too large",
    "vnuma": "vNUMA shape",
    # why a VM changes
    "bind": "other binding",
    "make-room": "better elsewhere",
    "memory-reservation": "memory reservation",
    "resize": "resized",
}


def constraint_words(code: str) -> str:
    """Return the words for the id of a constraint or the code of a reason."""
    return _WORDS.get(code, code.replace("-", " "))
