"""The JSON Schema (draft 2020-12) of inventory YAML; `vplacer schema inventory` prints it."""

from __future__ import annotations

from typing import Any, Final

from vplacer.inventory.site_schema_hosts import HOST, HOST_KIND
from vplacer.inventory.site_schema_parts import (
    BOOL,
    IDS,
    INDEX,
    NAME,
    POSITIVE,
    SIZE,
    STRINGS,
    TAGS,
    UTC,
    about,
    array,
    mapping,
    up_to,
    word_or_list,
    words,
)

_RULE: Final = mapping(
    {
        "name": NAME,
        "apart": array(NAME, "VMs (names or patterns) to keep on different hosts.", minItems=1),
        "together": array(NAME, "VMs (names or patterns) to keep on one host.", minItems=1),
        "vms": array(NAME, "VMs of a VM-host rule.", minItems=1),
        "on": array(NAME, "Hosts the `vms` run on.", minItems=1),
        "not_on": array(NAME, "Hosts the `vms` keep off.", minItems=1),
        "must": about(BOOL, "Mandatory. Default: true for apart and together, false (should) for hosts."),
        "enabled": about(BOOL, "Default true."),
    },
    text="A DRS rule: apart, together, or vms with on or not_on.",
)

_CLUSTER: Final = mapping(
    {
        "name": NAME,
        "datacenter": about(NAME, "Default: the first datacenter."),
        "drs": words(
            "DRS level; off = DRS off. Default fullyAutomated.",
            "fullyAutomated",
            "partiallyAutomated",
            "manual",
            "off",
        ),
        "ha": {
            "anyOf": [
                {"enum": ["off", "on"]},
                mapping(
                    {
                        "failover_hosts": about(POSITIVE, "Host failures tolerated."),
                        "cpu_percent": INDEX,
                        "memory_percent": INDEX,
                        "dedicated": array(NAME, "Failover hosts.", minItems=1),
                    }
                ),
            ],
            "title": "off, on or a mapping",
            "description": "HA: off (default), on (without admission control), or its admission control.",
        },
        "dpm": about(BOOL, "Distributed power management. Default false."),
        "evc": about(NAME, "EVC mode, e.g. intel-icelake."),
        "hosts": array(HOST, "Hosts of the cluster."),
        "rules": array(_RULE, "DRS rules."),
        "tags": TAGS,
    },
    "name",
)

_POOL: Final = mapping(
    {
        "name": NAME,
        "cluster": about(NAME, "Default: the only cluster."),
        "parent": about(NAME, "Pool it is in. Default: the cluster's root pool."),
        "memory_reservation_gib": about(SIZE, "Default 0."),
        "memory_limit_gib": about(SIZE, "Default: none."),
        "memory_expandable": about(BOOL, "May take from its parent. Default true."),
        "memory_unreserved_gib": about(
            SIZE, "What VMs may still reserve. Default: computed from hosts and VMs."
        ),
    },
    "name",
    text="A resource pool.",
)

_PERCENT: Final[dict[str, Any]] = {"type": "integer", "minimum": 0, "maximum": 100}

_VM_DEVICE: Final = mapping(
    {
        "static": about(NAME, "Static DirectPath I/O: a device name or address of the host."),
        "ids": {
            **IDS,
            "description": "What a static device of a VM that is off says the card is, where the host has "
            "another card there now, or none.",
        },
        "device_id": about(NAME, "The static device's id as stored. Default: hexadecimal, as it should be."),
        "dynamic": about(NAME, "Dynamic DirectPath I/O: a GPU or NIC model, or ids as 10de:20b7."),
        "vgpu": about(NAME, "An NVIDIA vGPU of this profile."),
        "group": about(NAME, "A whole device group, by the vendor's name."),
        "sriov": about(NAME, "A virtual function of this NIC, or 'automatic'."),
        "dvx": about(NAME, "Enhanced DirectPath I/O: the device class."),
        "network": about(
            NAME, "An ordinary NIC on this network; with sriov and group: the network of the function."
        ),
        "card": words("Type of an ordinary NIC. Default vmxnet3.", "vmxnet3", "e1000e", "e1000"),
        "unknown": about(NAME, "A device type vplacer does not know."),
        "label": about(NAME, "Hardware label a dynamic device asks for."),
        "holds": word_or_list("The card(s) vSphere gave a running VM, by name. Default: the first that fit."),
        "numa_node": about(
            {"type": "integer"}, "VIRTUAL node the guest is told; negative = explicitly none."
        ),
        "count": about(up_to(256), "So many of them. Default 1."),
    },
    text="Exactly one of static, dynamic, vgpu, group, sriov, dvx, network (alone), unknown.",
)

_VM: Final = mapping(
    {
        "name": about(NAME, "Name; {n}, {n:02} and {host} are replaced. With several VMs default NAME-{n}."),
        "count": about(up_to(100_000), "So many VMs, dealt out over the hosts of `on`. Default 1."),
        "per_host": about(up_to(1000), "So many VMs on each host of `on`, instead of count."),
        "on": word_or_list("Host, hosts, or a pattern such as esx0*."),
        "pool": about(NAME, "Resource pool. Default: the root pool of the cluster."),
        "folder": about({"type": "string"}, "Folder path. Default 'vm'."),
        "template": about(BOOL, "A template; it is off."),
        "power": words("Default on; templates are off.", "on", "off", "suspended"),
        "connection": words(
            "Default connected.", "connected", "disconnected", "inaccessible", "invalid", "orphaned"
        ),
        "readable": about(BOOL, "false = vCenter cannot read its configuration. Default true."),
        "cpus": up_to(10_000),
        "cores_per_socket": about(POSITIVE, "Default: chosen at power-on."),
        "memory_gib": up_to(1_000_000),
        "reservation_gib": about(SIZE, "Memory reserved. Default: all for VMs with PCI devices, else none."),
        "memory_limit_gib": SIZE,
        "cpu_reservation_mhz": INDEX,
        "overhead_mib": about(INDEX, "Memory overhead. Default: VMware's table for its size."),
        "latency_sensitivity": words("Default normal.", "low", "normal", "medium", "high"),
        "simultaneous_threads": POSITIVE,
        "cpu_hot_add": BOOL,
        "memory_hot_add": BOOL,
        "hardware_version": about(POSITIVE, "Default: the newest the release offers."),
        "firmware": words("Default efi.", "efi", "bios"),
        "guest_id": {"type": "string"},
        "vnuma_cores_per_node": about(POSITIVE, "Manual vNUMA size. Default: automatic."),
        "vnuma_on_hot_add": BOOL,
        "devices": array(
            _VM_DEVICE, "Devices. A vmxnet3 NIC on the first network is added if none is listed."
        ),
        "node_affinity": array(INDEX, "numa.nodeAffinity: the pNUMA nodes it is bound to.", minItems=1),
        "cpu_affinity": array(INDEX, "CPU affinity, logical CPUs."),
        "home": array(INDEX, "Where the scheduler has it now; only the simulator knows.", minItems=1),
        "measured_home": mapping(
            {
                "nodes": {"type": "array", "items": INDEX, "minItems": 1},
                "locality_percent": {
                    "anyOf": [_PERCENT, {"type": "array", "items": _PERCENT, "minItems": 2, "maxItems": 2}],
                    "description": "Share of local memory; two numbers = it varies between them.",
                },
                "migrations": INDEX,
            },
            "nodes",
            text="What the simulated host's esxtop tells of it; only the simulator knows.",
        ),
        "extra_config": about(STRINGS, "Further VMX keys."),
        "datastores": array(NAME, "Default: the first of its host."),
        "networks": array(NAME, "Default: those of its NICs."),
        "snapshots": about(INDEX, "Number of snapshots. Default 0."),
        "linked_clone": BOOL,
        "tags": TAGS,
        "drs": words(
            "DRS level of this VM alone.", "fullyAutomated", "partiallyAutomated", "manual", "disabled"
        ),
        "managed_by": about(NAME, "Extension that owns it, e.g. com.vmware.vim.eam (vCLS)."),
        "disabled_methods": array(NAME, "Methods vCenter has disabled on it."),
        "pending_question": BOOL,
        "fault_tolerance": BOOL,
        "agent": about(BOOL, "A host agent VM."),
        "consolidation_needed": BOOL,
    },
    "name",
    "cpus",
    "memory_gib",
    text="One VM, or several equal ones.",
)

_NAMED: Final[dict[str, Any]] = {
    "anyOf": [NAME, mapping({"name": NAME, "accessible": BOOL}, "name")],
    "title": "a name or {name: ..., accessible: ...}",
}

SITE_SCHEMA: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "vplacer inventory",
    "description": "A vCenter in a few lines: seeds the simulated vCenter, examples and tests.",
    **mapping(
        {
            "format_version": about(POSITIVE, "Version of this format: 1."),
            "name": about(NAME, "Name of the vCenter. Default: the file's name."),
            "vcenter": mapping(
                {
                    "instance_uuid": NAME,
                    "version": about(NAME, 'Default "8.0.3".'),
                    "build": NAME,
                    "api_version": about(NAME, 'Default "8.0.3.0".'),
                },
                text="The vCenter itself.",
            ),
            "taken_at": about(UTC, "When it was so. Default 2025-01-01T00:00:00Z."),
            "datacenters": array(NAME, "Default: dc1.", minItems=1),
            "datastores": array(_NAMED, "Default: datastore1."),
            "networks": array(NAME, "Default: VM Network."),
            "host_kinds": {
                "type": "object",
                "description": "Kinds of host by name.",
                "additionalProperties": HOST_KIND,
            },
            "clusters": array(_CLUSTER, "Clusters with their hosts and rules."),
            "hosts": array(HOST, "Hosts that are in no cluster."),
            "pools": array(_POOL, "Resource pools, parents before children."),
            "vms": array(_VM, "Virtual machines and templates."),
            "gaps": array(
                mapping(
                    {
                        "object": NAME,
                        "path": NAME,
                        "kind": words("Why.", "permission", "disconnected", "fault", "too_old"),
                        "reason": {"type": "string"},
                    },
                    "object",
                    "path",
                    "kind",
                ),
                "What could not be read; a site with gaps is incomplete.",
            ),
            "notes": array(NAME, "Remarks kept with the inventory."),
        },
        "format_version",
        "host_kinds",
    ),
}
