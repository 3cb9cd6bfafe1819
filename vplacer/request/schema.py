"""The JSON Schema (draft 2020-12) of the request file; ``vplacer schema request`` prints it.

A ``title`` is what an error calls the expected thing, so that no message quotes a regular expression.
"""

from __future__ import annotations

from vplacer.request.schema_parts import (
    BOOL,
    COUNT,
    NAME,
    NAMES,
    POSITIVE,
    RATIO,
    SPEED_PATTERN,
    Schema,
    about,
    level,
    mapping,
    one_of,
    policy,
    size,
    soft,
)
from vplacer.request.semantics import FOR_REAL_VMS, MAX_COUNT, MAX_SHARE
from vplacer.request.what_if.schema import what_if_schema


def request_schema() -> Schema:
    """Return the schema of the whole request file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "vplacer request",
        "description": "What virtual machines should get and where they may go.",
        **mapping(
            {
                "version": {"const": 1, "description": "Version of this format: 1.", "examples": [1]},
                "defaults": mapping(
                    {**_placing_keys(), "fabric_from": _fabric_from()},
                    text="Values for every entry that does not state its own.",
                ),
                "vms": {
                    "type": "array",
                    "items": _entry(),
                    "minItems": 1,
                    "description": "VMs that exist (select) and VMs to be made (template).",
                },
                "rules": {
                    "type": "array",
                    "items": _rule(),
                    "description": "Rules between VMs, or VMs and hosts. Those of vCenter bind as well.",
                },
                "gangs": {"type": "array", "items": _gang(), "description": "Sets placed all or none."},
                "future": {
                    "type": "array",
                    "items": _future(),
                    "minItems": 1,
                    "description": "The mix of VMs expected later, for which room is kept where nothing is "
                    "lost by it. Default: the VMs of this request.",
                },
                "what_if": what_if_schema(),
                **_option_keys(),
            },
            "version",
            "vms",
        ),
    }


def _placing_keys() -> dict[str, Schema]:
    """Keys that may stand in an entry and in ``defaults``."""
    return {
        "policy": policy(
            "How near devices must be to the VM's vCPUs and memory: required = same pNUMA node, proved; "
            "socket = same socket, proved; preferred = as near as possible; none = not looked at."
        ),
        "affinity": one_of(
            "Who fixes what. pin: static DirectPath and numa.nodeAffinity, no vMotion, HA restart or DRS. "
            "label: Dynamic DirectPath with a hardware label and numa.nodeAffinity. hint: vNUMA shape and "
            "device nodes only, vSphere chooses. Default: label where portable labels exist, else hint.",
            "pin",
            "label",
            "hint",
        ),
        "priority": about(
            {"type": "integer", "minimum": -1000, "maximum": 1000},
            "Higher is placed first, whatever lower ones lose by it.",
            default=0,
        ),
        "may_move": about(
            BOOL,
            "Whether a VM that meets the request may be changed for others' sake.",
            default=False,
        ),
        "prefer_ht": about(
            BOOL, "Count threads, not cores (numa.vcpu.preferHT). Default: as the VM is set today."
        ),
        "latency": one_of("Latency sensitivity. Default: as the VM has it.", "normal", "high"),
        "power_on": about(BOOL, "Power the VM on at the end. Default: new VMs yes, others as they are."),
        "include_managed": about(BOOL, "Change the VM even though something else manages it.", default=False),
        "hosts": about(NAMES, "Hosts it may go to, by name or pattern. Default: any.", examples=["esx0*"]),
        "clusters": about(
            NAMES, "Clusters it may go to. Default: existing VMs the one they are in, new VMs any."
        ),
        "pool": about(NAME, "Resource pool. Default: the VM's own; new VMs the cluster's root pool."),
        "datastore": about(NAMES, "Datastores the host must reach. Default: those of the VM or template."),
        "networks": about(NAMES, "Networks the host must have. Default: those of the VM or template."),
        "hardware_version": about(
            {"type": "integer", "minimum": 13, "maximum": 99},
            "Virtual hardware version, at least. Default: the lowest the request needs, never lower than "
            "the VM's. An upgrade cannot be undone.",
            examples=[20],
        ),
    }


def _entry() -> Schema:
    own = {
        "select": _select(),
        "template": about(NAME, "Template to clone, by name or managed object id."),
        "name": about(
            NAME,
            "Name of the VMs to be made; {n} or {n:02} stands for 1, 2, 3 and so on. A VM that exists under "
            "this name is taken as the one made before.",
            examples=["infer-{n:02}"],
        ),
        "count": about(
            {"type": "integer", "minimum": 1, "maximum": MAX_COUNT}, "How many to make.", default=1
        ),
        **_shape_keys(),
    }
    return mapping({**own, **_placing_keys()}, text="VMs that are alike.", allOf=_entry_rules())


def _future() -> Schema:
    own = {
        "like": about(
            NAME,
            "VMs of this request by name or pattern, or the name of their entry.",
            examples=["llm-train-*", "infer-{n:02}", "infer"],
        ),
        "share": about(
            {"type": "integer", "minimum": 1, "maximum": MAX_SHARE},
            "How many of these for how many of the others; only the ratio counts.",
            default=1,
            examples=[3],
        ),
        "name": about(NAME, "Name in reports. Default: what `like` says.", examples=["small"]),
        "template": about(NAME, "Template from which the rest comes, by name or managed object id."),
        **_shape_keys(),
    }
    placing = {key: value for key, value in _placing_keys().items() if key not in FOR_REAL_VMS}
    return mapping(
        {**own, **placing},
        text="VMs expected later: like some of this request, or a shape of their own.",
        anyOf=[{"required": ["like"]}, {"required": ["name"]}],
        title="a shape with 'like' (VMs of this request) or 'name' (a shape of its own)",
    )


def _shape_keys() -> dict[str, Schema]:
    """What a VM gets."""
    gpu, nic = _gpu(), _nic()
    return {
        "cpus": about(POSITIVE, "vCPUs. Default: as the VM or template has.", examples=[32]),
        "memory": size("Memory, a multiple of 4 MiB. Default: as the VM or template has."),
        "vnuma": {
            "anyOf": [{"const": "auto"}, mapping({"nodes": POSITIVE}, "nodes")],
            "title": "auto or {nodes: N}",
            "description": "vNUMA nodes. auto = the fewest equal parts that fit a pNUMA node. "
            "Default: the VM's manual setting, else auto.",
            "examples": ["auto", {"nodes": 2}],
        },
        "gpus": {
            "anyOf": [gpu, POSITIVE, {"type": "array", "items": gpu}],
            "title": "a number, a mapping such as {count: 2, model: A30}, or a list of these mappings",
            "description": "GPUs; a number = so many of any model. Default: as the VM has; [] = none.",
            "examples": [{"count": 2, "model": "A30"}, 1],
        },
        "nics": {
            "anyOf": [nic, {"type": "array", "items": nic}],
            "title": "a mapping such as {count: 1, near: gpu}, or a list of them",
            "description": "Passthrough and SR-IOV NICs, not ordinary ones. Default: as the VM has.",
        },
        "weight": about(
            {"type": "number", "minimum": 0.001, "maximum": 1000000},
            "What placing it counts among VMs of its priority. Default: the GPUs it holds, a vGPU its share "
            "of the card's framebuffer, at least 0.1.",
        ),
    }


def _entry_rules() -> list[Schema]:
    return [
        {
            "not": {"required": ["select", "template"]},
            "title": "'select' (VMs that exist) and 'template' (VMs to be made) exclude each other",
        },
        {
            "anyOf": [{"required": ["select"]}, {"required": ["template"]}],
            "title": "an entry with 'select' (VMs that exist) or 'template' (VMs to be made)",
        },
    ]


def _select() -> Schema:
    return mapping(
        {
            "name": about(NAMES, "Name, or a pattern with * and ?.", examples=["llm-train-*"]),
            "folder": about(NAME, "Folder path, with all below it, or a pattern."),
            "tag": about(NAMES, "Tag as CATEGORY:NAME; of several, any.", examples=["team:nlp"]),
            "pool": about(NAME, "Resource pool, by name or managed object id."),
            "cluster": about(NAME, "Cluster, by name, pattern or managed object id."),
            "moid": about(NAMES, "Managed object id.", examples=["vm-2001"]),
            "instance_uuid": about(NAMES, "Instance UUID."),
        },
        text="Which VMs: all that is stated must hold.",
        minProperties=1,
    )


def _gpu() -> Schema:
    return mapping(
        {
            "count": about(
                POSITIVE,
                "GPUs or vGPUs; with a group the GPUs of all its groups together. Default: 1, or one group.",
            ),
            "model": about(
                NAME, "Model, or ids as vendor:device. Default: any.", examples=["A30", "10de:20b7"]
            ),
            "label": about(NAME, "Hardware label the cards carry.", examples=["gpu-n1"]),
            "profile": about(NAME, "vGPU profile.", examples=["grid_a30-6c"]),
            "group": about(NAME, "Vendor device group.", examples=["Nvidia:2@grid_a30-24c%NVLink"]),
            "interconnect": level("How near every two of the cards are to each other.", "any"),
            "interconnect_policy": soft(
                "Whether `interconnect` must hold. Default: required where `policy` is required or socket, "
                "else preferred."
            ),
            "policy": policy("As in the entry, for these GPUs."),
        },
        text="GPUs of one kind.",
    )


def _nic() -> Schema:
    return mapping(
        {
            "count": about(POSITIVE, "How many.", default=1),
            "kind": one_of("Whole NICs or virtual functions.", "passthrough", "sriov", default="passthrough"),
            "model": about(
                NAME, "Model, or ids as vendor:device. Default: any.", examples=["CX7", "15b3:1021"]
            ),
            "label": about(NAME, "Hardware label the NICs carry."),
            "network": about(NAME, "Network of the virtual functions."),
            "near": one_of("gpu = each NIC near one of the VM's GPUs, shared out evenly.", "gpu"),
            "at": level("How near to the GPU.", "numa"),
            "at_policy": soft(
                "Whether `at` must hold. Default: required where `policy` is required or socket, else "
                "preferred."
            ),
            "policy": policy("As in the entry, for these NICs."),
            "min_speed": {
                "type": "string",
                "pattern": SPEED_PATTERN,
                "title": "a speed with its unit, such as 100 Gbit/s",
                "description": "Link up and at least this fast.",
                "examples": ["100 Gbit/s"],
            },
            "rdma": about(BOOL, "Whether it must be able to do RDMA.", default=False),
        },
        text="NICs of one kind.",
    )


def _rule() -> Schema:
    kinds = ("apart", "together", "on", "off")
    return mapping(
        {
            "name": about(NAME, "Name in reports. Default: what the rule says."),
            "apart": about(NAMES, "VMs (names or patterns) of which at most `at_most` share a host."),
            "at_most": about(POSITIVE, "Most VMs of `apart` on one host.", default=1),
            "together": about(NAMES, "VMs (names or patterns) that share one host."),
            "on": about(NAMES, "Hosts (names or patterns) that `vms` run on."),
            "off": about(NAMES, "Hosts (names or patterns) that `vms` keep off."),
            "vms": about(NAMES, "VMs (names or patterns) of `on` or `off`."),
            "policy": soft("Whether the rule must hold.") | {"default": "required"},
        },
        text="One of apart, together, on with vms, off with vms.",
        allOf=[
            {
                "oneOf": [{"required": [kind]} for kind in kinds],
                "title": "a rule with exactly one of apart, together, on, off",
            },
            *(
                {"if": {"required": [kind]}, "then": {"required": ["vms"]}, "else": True}
                for kind in ("on", "off")
            ),
        ],
    )


def _gang() -> Schema:
    return mapping(
        {
            "name": about(NAME, "Name in reports."),
            "vms": about(NAMES, "Members: names or patterns of VMs of this request."),
            "fabric": one_of("same = all on hosts of one network fabric.", "same", "any", default="any"),
            "fabric_from": _fabric_from(),
        },
        "name",
        "vms",
        text="VMs that are placed all or none, at most one a host.",
    )


def _fabric_from() -> Schema:
    return {
        "anyOf": [
            mapping({"tag_category": NAME}, "tag_category"),
            mapping(
                {"hosts": {"type": "object", "additionalProperties": NAMES, "minProperties": 1}}, "hosts"
            ),
        ],
        "title": "{tag_category: NAME} or {hosts: {FABRIC: [hosts]}}",
        "description": "Where a host's fabric is written: a tag category of hosts or clusters, or here. "
        "Default: the tag category 'fabric'.",
        "examples": [{"tag_category": "fabric"}, {"hosts": {"ib-a": ["esx0*"], "ib-b": ["esx1*"]}}],
    }


def _option_keys() -> dict[str, Schema]:
    per_cluster: Schema = {
        "anyOf": [RATIO, {"type": "object", "additionalProperties": RATIO, "minProperties": 1}],
        "title": "a number of 1 or more, or one for each cluster",
    }
    return {
        "cpu_overcommit": about(
            per_cluster,
            "vCPUs a core for VMs without GPUs, whole or by cluster name ('default' = the others).",
            default=4,
            examples=[4, {"default": 4, "gpu-cluster": 2}],
        ),
        "memory_overcommit": about(
            per_cluster,
            "The same for memory that is not reserved.",
            default=1,
            examples=[1, {"default": 1.2}],
        ),
        "memory_margin": {
            "type": "string",
            "pattern": r"^[0-9]+(\.[0-9]+)?\s*%$",
            "title": "a share such as 4 %",
            "description": "Part of each NUMA node's memory kept free for what the API does not tell.",
            "default": "4 %",
        },
        "headroom": mapping(
            {"hosts": about(COUNT, "Hosts whose loss must be survivable.")},
            "hosts",
            text="Room kept free. Default: none beyond vCenter's own admission control.",
        ),
        "limits": mapping(
            {
                "power_cycles": about(COUNT, "Running VMs switched off and on, or off."),
                "moves": about(COUNT, "VMs that change their host."),
            },
            text="The most that the whole plan may do to existing VMs. Default: no limit.",
            minProperties=1,
        ),
        "partial": about(
            BOOL, "Place what fits and name the rest, instead of refusing the whole.", default=False
        ),
        "hosts": one_of(
            "What decides between otherwise equal answers: few hosts, or an even spread.",
            "fewest",
            "spread",
            default="fewest",
        ),
    }
