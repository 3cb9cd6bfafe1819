"""The JSON Schema (draft 2020-12) of inventory YAML; `vplacer schema inventory` prints it."""

from __future__ import annotations

from typing import Any, Final

_NAME: Final[dict[str, Any]] = {"type": "string", "minLength": 1}
_INDEX: Final[dict[str, Any]] = {"type": "integer", "minimum": 0}
_POSITIVE: Final[dict[str, Any]] = {"type": "integer", "minimum": 1}
_SIZE: Final[dict[str, Any]] = {"type": "number", "minimum": 0}
_BOOL: Final[dict[str, Any]] = {"type": "boolean"}
_ADDRESS: Final[dict[str, Any]] = {
    "type": "string",
    "pattern": r"^([0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]$",
    "title": "a PCI address such as 0000:3b:00.0",
}
_UTC: Final[dict[str, Any]] = {
    "type": "string",
    "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$",
    "title": "a time such as 2025-01-31T12:00:00Z",
}


def _about(base: dict[str, Any], text: str, **more: Any) -> dict[str, Any]:
    return {**base, **more, "description": text}


def _list(items: dict[str, Any], text: str, **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, "description": text, **more}


def _map(properties: dict[str, Any], *required: str, text: str = "") -> dict[str, Any]:
    schema: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
    }
    if required:
        schema["required"] = list(required)
    if text:
        schema["description"] = text
    return schema


def _words(text: str, *words: str) -> dict[str, Any]:
    return {"enum": list(words), "description": text}


def _word_or_list(text: str) -> dict[str, Any]:
    return {
        "anyOf": [_NAME, {"type": "array", "items": _NAME, "minItems": 1}],
        "title": "a name or a list of names",
        "description": text,
    }


_TAGS: Final = _list(_NAME, "Tags as CATEGORY:NAME, for example fabric:a.")
_NODE: Final[dict[str, Any]] = {
    "anyOf": [_INDEX, {"enum": ["unknown"]}],
    "title": "the number of a NUMA node, or 'unknown'",
    "description": "pNUMA node the device hangs on; 'unknown' = vCenter lists it under no node. "
    "May be left out only where the host has one node.",
}
_STRINGS: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": {"type": ["string", "number", "integer", "boolean"]},
}

_DEVICE: Final = _map(
    {
        "gpu": _about(_NAME, "GPU model: A30, A100-80, H100-SXM-80, L40S, MI300X and so on."),
        "nic": _about(_NAME, "Network card model: CX6, CX7, BF3, E810, X710 and so on."),
        "nvswitch": _about(_NAME, "NVSwitch of a GPU board: H100 or A100."),
        "storage": _about(_NAME, "Storage controller; only 'nvme' is known."),
        "pci": _map(
            {
                "ids": {
                    "type": "string",
                    "pattern": r"^[0-9a-fA-F]{4}:[0-9a-fA-F]{4}(:[0-9a-fA-F]{4}:[0-9a-fA-F]{4})?$",
                    "title": "ids such as 10de:20b7, or with the subsystem 10de:20b7:10de:1532",
                    "description": "vendor:device[:subvendor:subdevice], hexadecimal.",
                },
                "class": _about({"type": "integer", "minimum": 0, "maximum": 0xFFFF}, "Class, e.g. 0x0302."),
                "vendor_name": {"type": "string"},
                "device_name": {"type": "string"},
            },
            "ids",
            "class",
            text="Any other device, by its ids and class.",
        ),
        "name": _about(
            _NAME, "What VMs, links and groups call it. Default: gpu0, gpu1, ... nic0, ... by kind."
        ),
        "count": _about(_POSITIVE, "So many of them, named in turn. Default 1."),
        "node": _NODE,
        "overlay_node": _about(_INDEX, "The node an overlay knows, where vCenter does not."),
        "switch": _about(
            _NAME,
            "PCIe switch it sits behind; devices that name the same switch share it. "
            "'a/b' = switch b behind switch a.",
        ),
        "root": _about(
            _NAME,
            "Root bus its root port is on; devices that name the same share it. Default: one of its own.",
        ),
        "segment": _about(
            {"type": "integer", "minimum": 0, "maximum": 0xFFFFFFFF}, "PCI segment. Default 0."
        ),
        "address": _about(_ADDRESS, "Its address; otherwise given out in the order a firmware would."),
        "label": _about(
            _NAME, "Hardware label of Dynamic DirectPath I/O; {node} stands for the node number."
        ),
        "passthrough": _words(
            "active = usable by VMs now; enabled = reboot pending; capable; none. "
            "Default: active for GPUs of hosts without vgpu, else capable.",
            "active",
            "enabled",
            "capable",
            "none",
        ),
        "dependent": _about(_NAME, "Device that leaves the vmkernel together with this one."),
        "slot": _about(_INDEX, "Physical slot number (API 9.0)."),
        "mode": _words(
            "How a GPU of a vgpu host is cut: sameSize (default), mixedSize, multiInstanceGpu or none.",
            "none",
            "sameSize",
            "mixedSize",
            "multiInstanceGpu",
        ),
        "graphics": _words(
            "Graphics type. Default: sharedDirect on vgpu hosts, else direct.",
            "basic",
            "shared",
            "direct",
            "sharedDirect",
        ),
        "vmnic": _about(_NAME, "Name of a NIC in the vmkernel. Default vmnic0, vmnic1, ..."),
        "gbps": _about(_SIZE, "Link speed of a NIC, 0 = link down. Default: the model's."),
        "rdma": _about(_BOOL, "Whether a NIC does RDMA. Default: as the model."),
        "vfs": _about(_POSITIVE, "Virtual functions a NIC has now (SR-IOV active)."),
    },
    text="One device, or `count` equal ones, on a line. Exactly one of gpu, nic, nvswitch, storage, pci.",
)

_PROFILE: Final[dict[str, Any]] = {
    "anyOf": [
        _NAME,
        _map(
            {
                "name": _NAME,
                "framebuffer_gib": _about(_INDEX, "Framebuffer in whole GiB, as the API rounds it."),
                "sharing": _words("How it shares the card.", "timeSliced", "mig"),
                "class": _words("What it is for.", "compute", "quadro"),
                "migratable": _about(_BOOL, "Whether vMotion may move it. Default true."),
                "gpu": _about(_NAME, "GPU model. Default: the only model of the host kind."),
            },
            "name",
        ),
    ],
    "title": "a profile name or a mapping",
    "description": "A name such as nvidia_h100xm-20c says its size (20 GiB) and class (c compute, q quadro); "
    "nvidia_h100xm-1-10c is a MIG profile.",
}

_COMPONENT: Final = _map(
    {
        "vgpu": _about(_NAME, "vGPU profile of the member."),
        "gpu": _about(_NAME, "GPU model of a passthrough member."),
        "nic": _about(_NAME, "NIC model of a passthrough member."),
        "sriov": _about(_NAME, "NIC model of a virtual function member."),
        "count": _about(_POSITIVE, "Default 1."),
        "configurable": _about(_BOOL, "Whether the user must choose something for it. Default: sriov only."),
    },
    text="Members of one kind. Exactly one of vgpu, gpu, nic, sriov.",
)

_GROUP: Final = _map(
    {
        "name": _about(_NAME, "Name as the vendor's driver gives it, e.g. Nvidia:2@grid_a30-24c%NVLink."),
        "description": {"type": "string"},
        "vgpu": _about(_NAME, "Short form: `count` members with this vGPU profile."),
        "count": _about(_POSITIVE, "Short form: how many members."),
        "components": _list(_COMPONENT, "Long form: the members by kind.", minItems=1),
        "sets": _list(
            {"type": "array", "items": _NAME, "minItems": 1},
            "Which cards may form the group, by name; only the simulator knows. Default: the NVLink pairs, "
            "else consecutive blocks.",
        ),
    },
    "name",
    text="A vendor device group the host offers.",
)

_HOST_FIELDS: Final[dict[str, Any]] = {
    "version": _about(_NAME, 'ESXi release in quotes. Default "8.0.3".'),
    "api_version": _about(_NAME, "API of the host. Default: the release and '.0'."),
    "build": {"type": "string"},
    "connection": _words("Connection state.", "connected", "disconnected", "notResponding"),
    "power": _words("Power state.", "poweredOn", "poweredOff", "standBy", "unknown"),
    "maintenance": _about(_BOOL, "In maintenance mode."),
    "quarantine": _about(_BOOL, "In quarantine mode."),
    "reboot_required": _BOOL,
    "memory_gib": _about(_POSITIVE, "Memory of the whole host, divided evenly over its nodes."),
    "system_memory_mib": _about(_INDEX, "What the host keeps for itself. Default 4 GiB and 1 %."),
    "datastores": _list(_NAME, "Datastores it mounts. Default: all."),
    "networks": _list(_NAME, "Networks it has. Default: all."),
    "options": _about(_STRINGS, "Advanced options, e.g. Numa.LocalityWeightActionAffinity: 0."),
    "tags": _TAGS,
}

_HOST_KIND: Final = _map(
    {
        **_HOST_FIELDS,
        "vendor": _about(_NAME, "Maker of the server."),
        "model": _about(_NAME, "Model of the server."),
        "cpu": _map(
            {
                "vendor": _words("Default intel.", "intel", "amd"),
                "model": {"type": "string"},
                "packages": _about(_POSITIVE, "Sockets. Default 2."),
                "cores": _about(_POSITIVE, "Cores of ONE socket."),
                "threads": _about(_POSITIVE, "Threads of one core. Default 2; 1 = hyperthreading off."),
                "mhz": _about(_POSITIVE, "Clock. Default 2400."),
            },
            "cores",
        ),
        "numa": _map(
            {
                "nodes_per_package": _about(
                    _POSITIVE, "Sub-NUMA clustering (SNC) or nodes per socket (NPS). Default 1."
                ),
                "nodes": _about(_POSITIVE, "Nodes of the whole host, where sockets do not divide it."),
                "memory_gib": _list(_INDEX, "Memory of each node, instead of an even division."),
                "extra_nodes": _about(_POSITIVE, "Nodes without CPUs at the end (memory or devices only)."),
                "devices_reported": _about(
                    _BOOL, "false = vCenter lists no device under any node. Default true."
                ),
            },
            text="Physical NUMA nodes (pNUMA).",
        ),
        "devices": _list(_DEVICE, "GPUs, NICs and other devices, one a line."),
        "nvlinks": _list(
            {
                "anyOf": [
                    {"type": "array", "items": _NAME, "minItems": 2, "maxItems": 2},
                    _map(
                        {
                            "between": {"type": "array", "items": _NAME, "minItems": 2, "maxItems": 2},
                            "lanes": _about(
                                _INDEX, "The # of NV#. Default: the model's bridge. 0 = proved absent."
                            ),
                        },
                        "between",
                    ),
                ],
                "title": "a pair of GPU names, or {between: [a, b], lanes: N}",
            },
            "NVLinks between GPUs, which vCenter cannot tell: they become an overlay. The list is complete: "
            "pairs not in it have none. Left out = unknown. NVSwitch boards need none.",
        ),
        "vgpu": _map(
            {
                "profiles": _list(_PROFILE, "vGPU profiles the driver offers.", minItems=1),
                "policy": _words("Assignment policy.", "performance", "consolidation"),
                "mode": _words(
                    "Mode of every GPU unless it says otherwise. Default sameSize.",
                    "sameSize",
                    "mixedSize",
                    "multiInstanceGpu",
                ),
            },
            "profiles",
            text="The host carries the vGPU driver: its GPUs are for vGPU, not for passthrough.",
        ),
        "device_groups": _list(_GROUP, "Vendor device groups."),
        "limits": {
            "type": "object",
            "description": "Limits by hardware version that differ from the release's.",
            "propertyNames": {"pattern": r"^\d+$", "title": "a hardware version such as 21"},
            "additionalProperties": _map(
                dict.fromkeys(("max_cpus", "max_memory_mib", "max_cores_per_socket", "max_passthrough", "max_vgpus", "max_numa_nodes", "max_device_groups"), _INDEX)
            ),
        },
        "capability": _map(
            {
                "assignable_hardware": _BOOL,
                "assign_label": _BOOL,
                "rebind_without_reboot": _BOOL,
                "max_simultaneous_threads": _POSITIVE,
                "fpt_hotplug": _BOOL,
            },
            text="Host capability flags that differ from the release's.",
        ),
        "memory_tiering": _about(_NAME, "Memory tiering type. Default noTiering."),
    },
    "cpu",
    "memory_gib",
    text="A kind of host: everything that hosts of one kind share.",
)

_HOST: Final = _map(
    {
        **_HOST_FIELDS,
        "kind": _about(_NAME, "One of host_kinds."),
        "count": _about(_POSITIVE, "So many hosts. Default 1."),
        "name": _about(_NAME, "Name; {n} or {n:02} is a running number. Default esx{n:02}."),
        "devices": {
            "type": "object",
            "description": "What differs from the kind, by device name.",
            "additionalProperties": _map(
                {
                    "label": _about({"type": ["string", "null"]}, "null takes the label off."),
                    "passthrough": _DEVICE["properties"]["passthrough"],
                    "mode": _DEVICE["properties"]["mode"],
                    "gbps": _SIZE,
                    "absent": _about(_BOOL, "The card is not there."),
                }
            ),
        },
    },
    "kind",
    text="One host, or `count` equal ones.",
)

_RULE: Final = _map(
    {
        "name": _NAME,
        "apart": _list(_NAME, "VMs (names or patterns) to keep on different hosts.", minItems=1),
        "together": _list(_NAME, "VMs (names or patterns) to keep on one host.", minItems=1),
        "vms": _list(_NAME, "VMs of a VM-host rule.", minItems=1),
        "on": _list(_NAME, "Hosts the `vms` run on.", minItems=1),
        "not_on": _list(_NAME, "Hosts the `vms` keep off.", minItems=1),
        "must": _about(_BOOL, "Mandatory. Default: true for apart and together, false (should) for hosts."),
        "enabled": _about(_BOOL, "Default true."),
    },
    text="A DRS rule: apart, together, or vms with on or not_on.",
)

_CLUSTER: Final = _map(
    {
        "name": _NAME,
        "datacenter": _about(_NAME, "Default: the first datacenter."),
        "drs": _words(
            "DRS level; off = DRS off. Default fullyAutomated.",
            "fullyAutomated",
            "partiallyAutomated",
            "manual",
            "off",
        ),
        "ha": {
            "anyOf": [
                {"enum": ["off", "on"]},
                _map(
                    {
                        "failover_hosts": _about(_POSITIVE, "Host failures tolerated."),
                        "cpu_percent": _INDEX,
                        "memory_percent": _INDEX,
                        "dedicated": _list(_NAME, "Failover hosts.", minItems=1),
                    }
                ),
            ],
            "title": "off, on or a mapping",
            "description": "HA: off (default), on (without admission control), or its admission control.",
        },
        "dpm": _about(_BOOL, "Distributed power management. Default false."),
        "evc": _about(_NAME, "EVC mode, e.g. intel-icelake."),
        "hosts": _list(_HOST, "Hosts of the cluster."),
        "rules": _list(_RULE, "DRS rules."),
        "tags": _TAGS,
    },
    "name",
)

_POOL: Final = _map(
    {
        "name": _NAME,
        "cluster": _about(_NAME, "Default: the only cluster."),
        "parent": _about(_NAME, "Pool it is in. Default: the cluster's root pool."),
        "memory_reservation_gib": _about(_SIZE, "Default 0."),
        "memory_limit_gib": _about(_SIZE, "Default: none."),
        "memory_expandable": _about(_BOOL, "May take from its parent. Default true."),
        "memory_unreserved_gib": _about(
            _SIZE, "What VMs may still reserve. Default: computed from hosts and VMs."
        ),
    },
    "name",
    text="A resource pool.",
)

_VM_DEVICE: Final = _map(
    {
        "static": _about(_NAME, "Static DirectPath I/O: a device name or address of the host."),
        "dynamic": _about(_NAME, "Dynamic DirectPath I/O: a GPU or NIC model, or ids as 10de:20b7."),
        "vgpu": _about(_NAME, "An NVIDIA vGPU of this profile."),
        "group": _about(_NAME, "A whole device group, by the vendor's name."),
        "sriov": _about(_NAME, "A virtual function of this NIC, or 'automatic'."),
        "dvx": _about(_NAME, "Enhanced DirectPath I/O: the device class."),
        "network": _about(_NAME, "An ordinary NIC on this network; with sriov: the network of the function."),
        "card": _words("Type of an ordinary NIC. Default vmxnet3.", "vmxnet3", "e1000e", "e1000"),
        "unknown": _about(_NAME, "A device type vplacer does not know."),
        "label": _about(_NAME, "Hardware label a dynamic device asks for."),
        "holds": _word_or_list(
            "The card(s) vSphere gave a running VM, by name. Default: the first that fit."
        ),
        "numa_node": _about(
            {"type": "integer"}, "VIRTUAL node the guest is told; negative = explicitly none."
        ),
        "count": _about(_POSITIVE, "So many of them. Default 1."),
    },
    text="Exactly one of static, dynamic, vgpu, group, sriov, dvx, network (alone), unknown.",
)

_VM: Final = _map(
    {
        "name": _about(
            _NAME, "Name; {n}, {n:02} and {host} are replaced. With several VMs default NAME-{n}."
        ),
        "count": _about(_POSITIVE, "So many VMs, dealt out over the hosts of `on`. Default 1."),
        "per_host": _about(_POSITIVE, "So many VMs on each host of `on`, instead of count."),
        "on": _word_or_list("Host, hosts, or a pattern such as esx0*."),
        "datacenter": _NAME,
        "pool": _about(_NAME, "Resource pool. Default: the root pool of the cluster."),
        "folder": _about({"type": "string"}, "Folder path. Default 'vm'."),
        "template": _about(_BOOL, "A template; it is off."),
        "power": _words("Default on; templates are off.", "on", "off", "suspended"),
        "connection": _words(
            "Default connected.", "connected", "disconnected", "inaccessible", "invalid", "orphaned"
        ),
        "readable": _about(_BOOL, "false = vCenter cannot read its configuration. Default true."),
        "cpus": _POSITIVE,
        "cores_per_socket": _about(_POSITIVE, "Default: chosen at power-on."),
        "memory_gib": _POSITIVE,
        "reservation_gib": _about(
            _SIZE, "Memory reserved. Default: all for VMs with PCI devices, else none."
        ),
        "memory_limit_gib": _SIZE,
        "cpu_reservation_mhz": _INDEX,
        "overhead_mib": _about(_INDEX, "Memory overhead. Default: VMware's table for its size."),
        "latency_sensitivity": _words("Default normal.", "low", "normal", "medium", "high"),
        "simultaneous_threads": _POSITIVE,
        "cpu_hot_add": _BOOL,
        "memory_hot_add": _BOOL,
        "hardware_version": _about(_POSITIVE, "Default: the newest the release offers."),
        "firmware": _words("Default efi.", "efi", "bios"),
        "guest_id": {"type": "string"},
        "vnuma_cores_per_node": _about(_POSITIVE, "Manual vNUMA size. Default: automatic."),
        "vnuma_on_hot_add": _BOOL,
        "devices": _list(
            _VM_DEVICE, "Devices. A vmxnet3 NIC on the first network is added if none is listed."
        ),
        "node_affinity": _list(_INDEX, "numa.nodeAffinity: the pNUMA nodes it is bound to.", minItems=1),
        "cpu_affinity": _list(_INDEX, "CPU affinity, logical CPUs."),
        "home": _list(_INDEX, "Where the scheduler has it now; only the simulator knows.", minItems=1),
        "measured_home": _map(
            {
                "nodes": {"type": "array", "items": _INDEX, "minItems": 1},
                "locality_percent": {"type": "integer", "minimum": 0, "maximum": 100},
                "migrations": _INDEX,
                "at": _UTC,
            },
            "nodes",
            text="Where esxtop saw it.",
        ),
        "extra_config": _about(_STRINGS, "Further VMX keys."),
        "datastores": _list(_NAME, "Default: the first of its host."),
        "networks": _list(_NAME, "Default: those of its NICs."),
        "snapshots": _about(_INDEX, "Number of snapshots. Default 0."),
        "linked_clone": _BOOL,
        "tags": _TAGS,
        "drs": _words(
            "DRS level of this VM alone.", "fullyAutomated", "partiallyAutomated", "manual", "disabled"
        ),
        "managed_by": _about(_NAME, "Extension that owns it, e.g. com.vmware.vim.eam (vCLS)."),
        "disabled_methods": _list(_NAME, "Methods vCenter has disabled on it."),
        "pending_question": _BOOL,
        "fault_tolerance": _BOOL,
        "agent": _about(_BOOL, "A host agent VM."),
        "consolidation_needed": _BOOL,
    },
    "name",
    "cpus",
    "memory_gib",
    text="One VM, or several equal ones.",
)

_NAMED: Final[dict[str, Any]] = {
    "anyOf": [_NAME, _map({"name": _NAME, "accessible": _BOOL}, "name")],
    "title": "a name or {name: ..., accessible: ...}",
}

SITE_SCHEMA: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "vplacer inventory",
    "description": "A vCenter in a few lines: seeds the simulated vCenter, examples and tests.",
    **_map(
        {
            "format_version": _about(_POSITIVE, "Version of this format: 1."),
            "name": _about(_NAME, "Name of the vCenter. Default: the file's name."),
            "vcenter": _map(
                {
                    "instance_uuid": _NAME,
                    "version": _about(_NAME, 'Default "8.0.3".'),
                    "build": _NAME,
                    "api_version": _about(_NAME, 'Default "8.0.3.0".'),
                }
            ),
            "taken_at": _about(_UTC, "When it was so. Default 2025-01-01T00:00:00Z."),
            "datacenters": _list(_NAME, "Default: dc1.", minItems=1),
            "datastores": _list(_NAMED, "Default: datastore1."),
            "networks": _list(_NAME, "Default: VM Network."),
            "host_kinds": {
                "type": "object",
                "description": "Kinds of host by name.",
                "additionalProperties": _HOST_KIND,
            },
            "clusters": _list(_CLUSTER, "Clusters with their hosts and rules."),
            "hosts": _list(_HOST, "Hosts that are in no cluster."),
            "pools": _list(_POOL, "Resource pools, parents before children."),
            "vms": _list(_VM, "Virtual machines and templates."),
            "gaps": _list(
                _map(
                    {
                        "object": _NAME,
                        "path": _NAME,
                        "kind": _words("Why.", "permission", "disconnected", "fault", "too_old"),
                        "reason": {"type": "string"},
                    },
                    "object",
                    "path",
                    "kind",
                ),
                "What could not be read; a site with gaps is incomplete.",
            ),
            "notes": _list(_NAME, "Remarks kept with the inventory."),
        },
        "format_version",
        "host_kinds",
    ),
}
