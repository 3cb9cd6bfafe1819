"""The JSON Schema of host kinds and hosts in inventory YAML."""

from __future__ import annotations

from typing import Any, Final

from vplacer.inventory.site_schema_parts import (
    ADDRESS,
    BOOL,
    IDS,
    INDEX,
    NAME,
    NODE,
    POSITIVE,
    SIZE,
    STRINGS,
    TAGS,
    about,
    array,
    mapping,
    up_to,
    words,
)

_DEVICE: Final = mapping(
    {
        "gpu": about(NAME, "GPU model: A30, A100-80, H100-SXM-80, L40S, MI300X and so on."),
        "nic": about(NAME, "Network card model: CX6, CX7, BF3, E810, X710 and so on."),
        "nvswitch": about(NAME, "NVSwitch of a GPU board: H100, A100 or V100."),
        "storage": about(NAME, "Storage controller; only 'nvme' is known."),
        "pci": mapping(
            {
                "ids": IDS,
                "class": about({"type": "integer", "minimum": 0, "maximum": 0xFFFF}, "Class, e.g. 0x0302."),
                "vendor_name": {"type": "string"},
                "device_name": {"type": "string"},
            },
            "ids",
            "class",
            text="Any other device, by its ids and class.",
        ),
        "name": about(
            NAME, "What VMs, links and groups call it. Default: gpu0, gpu1, ... nic0, ... by kind."
        ),
        "count": about(up_to(256), "So many of them, named in turn. Default 1."),
        "node": NODE,
        "overlay_node": about(INDEX, "The node an overlay knows, where vCenter does not."),
        "esxcli_node": about(
            NODE, "The node `esxcli hardware pci list` tells; only the simulator knows. Default: the node."
        ),
        "switch": about(
            NAME,
            "PCIe switch it sits behind; devices that name the same switch share it. "
            "'a/b' = switch b behind switch a.",
        ),
        "root": about(
            NAME,
            "Root bus its root port is on; devices that name the same share it. Default: one of its own.",
        ),
        "segment": about({"type": "integer", "minimum": 0, "maximum": 0xFFFFFFFF}, "PCI segment. Default 0."),
        "address": about(ADDRESS, "Its address; otherwise given out in the order a firmware would."),
        "label": about(NAME, "Hardware label of Dynamic DirectPath I/O; {node} stands for the node number."),
        "passthrough": words(
            "active = usable by VMs now; enabled = reboot pending; capable; none. "
            "Default: active for GPUs of hosts without vgpu, else capable.",
            "active",
            "enabled",
            "capable",
            "none",
        ),
        "dependent": about(
            NAME,
            "What leaves the vmkernel together with this one: another device, or 'parent', the bridge above. "
            "Default: itself.",
        ),
        "slot": about(INDEX, "Physical slot number (API 9.0)."),
        "mode": words(
            "How a GPU of a vgpu host is cut: sameSize (default), mixedSize, multiInstanceGpu or none.",
            "none",
            "sameSize",
            "mixedSize",
            "multiInstanceGpu",
        ),
        "graphics": words(
            "Graphics type. Default: sharedDirect on vgpu hosts, else direct.",
            "basic",
            "shared",
            "direct",
            "sharedDirect",
        ),
        "vmnic": about(NAME, "Name of a NIC in the vmkernel. Default vmnic0, vmnic1, ..."),
        "gbps": about(SIZE, "Link speed of a NIC, 0 = link down. Default: the model's."),
        "rdma": about(BOOL, "Whether a NIC does RDMA. Default: as the model."),
        "ports": about(up_to(8), "Ports of a NIC: functions of one card, named one by one. Default 1."),
        "vfs": about(POSITIVE, "Virtual functions a NIC has now (SR-IOV active)."),
    },
    text="One device, or `count` equal ones, on a line. Exactly one of gpu, nic, nvswitch, storage, pci.",
)

_PROFILE: Final[dict[str, Any]] = {
    "anyOf": [
        NAME,
        mapping(
            {
                "name": NAME,
                "framebuffer_gib": about(INDEX, "Framebuffer in whole GiB, as the API rounds it."),
                "sharing": words("How it shares the card.", "timeSliced", "mig"),
                "class": words("What it is for.", "compute", "quadro"),
                "migratable": about(BOOL, "Whether vMotion may move it. Default true."),
                "gpu": about(NAME, "GPU model. Default: the only model of the host kind."),
            },
            "name",
        ),
    ],
    "title": "a profile name or a mapping",
    "description": "A name such as nvidia_h100xm-20c says its size (20 GiB) and class (c compute, q quadro); "
    "nvidia_h100xm-1-10c is a MIG profile.",
}

_COMPONENT: Final = mapping(
    {
        "vgpu": about(NAME, "vGPU profile of the member."),
        "gpu": about(NAME, "GPU model of a passthrough member."),
        "nic": about(NAME, "NIC model of a passthrough member."),
        "sriov": about(NAME, "NIC model of a virtual function member."),
        "count": about(up_to(64), "Default 1."),
        "configurable": about(BOOL, "Whether the user must choose something for it. Default: sriov only."),
    },
    text="Members of one kind. Exactly one of vgpu, gpu, nic, sriov.",
)

_GROUP: Final = mapping(
    {
        "name": about(NAME, "Name as the vendor's driver gives it, e.g. Nvidia:2@grid_a30-24c%NVLink."),
        "description": {"type": "string"},
        "vgpu": about(NAME, "Short form: `count` members with this vGPU profile."),
        "count": about(up_to(64), "Short form: how many members."),
        "components": array(_COMPONENT, "Long form: the members by kind.", minItems=1),
        "sets": array(
            {"type": "array", "items": NAME, "minItems": 1},
            "Which cards may form the group, by name; only the simulator knows. Default: the NVLink pairs, "
            "else consecutive blocks.",
        ),
    },
    "name",
    text="A vendor device group the host offers.",
)

_HOST_FIELDS: Final[dict[str, Any]] = {
    "version": about(NAME, 'ESXi release in quotes. Default "8.0.3".'),
    "api_version": about(NAME, "API of the host. Default: the release and '.0'."),
    "build": {"type": "string"},
    "connection": words("Connection state.", "connected", "disconnected", "notResponding"),
    "power": words("Power state.", "poweredOn", "poweredOff", "standBy", "unknown"),
    "maintenance": about(BOOL, "In maintenance mode."),
    "quarantine": about(BOOL, "In quarantine mode."),
    "reboot_required": BOOL,
    "esxtop": about(BOOL, "false = no esxtop service; only the simulator knows. Default true."),
    "memory_gib": about(up_to(1_000_000), "Memory of the whole host, divided evenly over its nodes."),
    "system_memory_mib": about(INDEX, "What the host keeps for itself. Default 4 GiB and 1 %."),
    "datastores": array(NAME, "Datastores it mounts. Default: all."),
    "networks": array(NAME, "Networks it has. Default: all."),
    "options": about(STRINGS, "Advanced options, e.g. Numa.LocalityWeightActionAffinity: 0."),
    "tags": TAGS,
}

HOST_KIND: Final = mapping(
    {
        **_HOST_FIELDS,
        "vendor": about(NAME, "Maker of the server."),
        "model": about(NAME, "Model of the server."),
        "cpu": mapping(
            {
                "vendor": words("Default intel.", "intel", "amd"),
                "model": {"type": "string"},
                "packages": about(up_to(64), "Sockets. Default 2."),
                "cores": about(up_to(1024), "Cores of ONE socket."),
                "threads": about(up_to(8), "Threads of one core. Default 2; 1 = hyperthreading off."),
                "mhz": about(up_to(100_000), "Clock. Default 2400."),
                "features": array(
                    NAME,
                    "Features it has of avx512vnni, avx_vnni, avx512bf16, amx_tile, amx_int8, amx_bf16. "
                    "Default: those of the model's generation; not told where that is not known.",
                ),
            },
            "cores",
        ),
        "numa": mapping(
            {
                "nodes_per_package": about(
                    up_to(64), "Sub-NUMA clustering (SNC) or nodes per socket (NPS). Default 1."
                ),
                "nodes": about(up_to(64), "Nodes of the whole host, where sockets do not divide it."),
                "memory_gib": array(INDEX, "Memory of each node, instead of an even division."),
                "extra_nodes": about(up_to(64), "Nodes without CPUs at the end (memory or devices only)."),
                "devices_reported": about(
                    BOOL, "false = vCenter lists no device under any node. Default true."
                ),
            },
            text="Physical NUMA nodes (pNUMA).",
        ),
        "devices": array(_DEVICE, "GPUs, NICs and other devices, one a line."),
        "nvlinks": array(
            {
                "anyOf": [
                    {"type": "array", "items": NAME, "minItems": 2, "maxItems": 2},
                    mapping(
                        {
                            "between": {"type": "array", "items": NAME, "minItems": 2, "maxItems": 2},
                            "lanes": about(
                                INDEX, "The # of NV#. Default: the model's bridge. 0 = proved absent."
                            ),
                        },
                        "between",
                    ),
                    mapping(
                        {
                            "among": {
                                "anyOf": [
                                    {"enum": ["all"]},
                                    {"type": "array", "items": NAME, "minItems": 2},
                                ],
                                "title": "'all' or a list of GPU names",
                                "description": "Every two of these GPUs are joined.",
                            },
                            "lanes": about(
                                INDEX, "The # of NV# between any two. Default: the model's bridge."
                            ),
                        },
                        "among",
                    ),
                ],
                "title": "a pair of GPU names, {between: [a, b], lanes: N} or {among: [a, b, c], lanes: N}",
            },
            "NVLinks between GPUs, which vCenter cannot tell: they become an overlay. The list is complete: "
            "pairs not in it have none. Left out = unknown. NVSwitch boards need none.",
        ),
        "vgpu": mapping(
            {
                "profiles": array(_PROFILE, "vGPU profiles the driver offers.", minItems=1),
                "policy": words("Assignment policy.", "performance", "consolidation"),
                "mode": words(
                    "Mode of every GPU unless it says otherwise. Default sameSize.",
                    "sameSize",
                    "mixedSize",
                    "multiInstanceGpu",
                ),
            },
            "profiles",
            text="The host carries the vGPU driver: its GPUs are for vGPU, not for passthrough.",
        ),
        "device_groups": array(_GROUP, "Vendor device groups."),
        "limits": {
            "type": "object",
            "description": "Limits by hardware version that differ from the release's.",
            "propertyNames": {"pattern": r"^[0-9]{1,4}$", "title": "a hardware version such as 21"},
            "additionalProperties": mapping(
                dict.fromkeys(
                    (
                        "max_cpus",
                        "max_memory_mib",
                        "max_cores_per_socket",
                        "max_passthrough",
                        "max_vgpus",
                        "max_numa_nodes",
                        "max_device_groups",
                    ),
                    INDEX,
                )
            ),
        },
        "capability": mapping(
            {
                "assignable_hardware": BOOL,
                "assign_label": BOOL,
                "rebind_without_reboot": BOOL,
                "max_simultaneous_threads": POSITIVE,
                "fpt_hotplug": BOOL,
            },
            text="Host capability flags that differ from the release's.",
        ),
        "memory_tiering": about(NAME, "Memory tiering type. Default noTiering."),
    },
    "cpu",
    "memory_gib",
    text="A kind of host: everything that hosts of one kind share.",
)

HOST: Final = mapping(
    {
        **_HOST_FIELDS,
        "kind": about(NAME, "One of host_kinds."),
        "count": about(up_to(10_000), "So many hosts. Default 1."),
        "name": about(NAME, "Name; {n} or {n:02} is a running number. Default esx{n:02}."),
        "devices": {
            "type": "object",
            "description": "What differs from the kind, by device name.",
            "additionalProperties": mapping(
                {
                    "label": about({"type": ["string", "null"]}, "null takes the label off."),
                    "passthrough": _DEVICE["properties"]["passthrough"],
                    "mode": _DEVICE["properties"]["mode"],
                    "gbps": SIZE,
                    "absent": about(BOOL, "The card is not there."),
                }
            ),
        },
    },
    "kind",
    text="One host, or `count` equal ones.",
)
