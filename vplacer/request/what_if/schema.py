"""The JSON Schema of the section ``what_if``, in a request or in a file of its own."""

from __future__ import annotations

from vplacer.request.schema_parts import NAME, NAMES, POSITIVE, Schema, about, mapping, one_of

MAX_COUNT = 1000
"""So many hosts, GPUs or VMs are added at most by one entry."""


def what_if_schema() -> Schema:
    """Return the schema of the section."""
    return mapping(
        {
            "add": mapping(
                {
                    "hosts": _list(_added_host(), "Hosts like some that there are, without VMs."),
                    "gpus": _list(_added_gpus(), "Cards, each near to others by its NUMA node only."),
                    "vms": _list(_added_vms(), "VMs that run, like some that there are."),
                },
                text="What the site would have beside what it has.",
                minProperties=1,
            ),
            "remove": mapping(
                {
                    "hosts": _list(_removed_host(), "Hosts, each with or without its VMs."),
                    "gpus": _list(_removed_gpus(), "Cards that no VM holds."),
                    "vms": about(NAMES, "VMs: names, patterns or managed object ids."),
                },
                text="What the site would not have any more. It is taken out before anything is added.",
                minProperties=1,
            ),
        },
        text="A site as it might be, for `plan --what-if` and `capacity --what-if`. Not looked at otherwise.",
        minProperties=1,
    )


def file_schema() -> Schema:
    """Return the schema of a file that holds nothing else."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "vplacer what-if",
        **mapping(
            {
                "version": {"const": 1, "description": "Version of this format: 1."},
                "what_if": what_if_schema(),
            },
            "version",
            "what_if",
        ),
    }


def _list(items: Schema, text: str) -> Schema:
    return {"type": "array", "items": items, "minItems": 1, "description": text}


def _count(what: str) -> Schema:
    return about(POSITIVE, f"How many {what}. Default 1.", maximum=MAX_COUNT)


def _name(what: str) -> Schema:
    return about(
        NAME, f"Name of the {what}; {{n}} stands for the number, and is needed where there are several."
    )


def _added_host() -> Schema:
    return mapping(
        {
            "like": about(
                NAME, "A host of the site: hardware, cards, labels, cluster and groups are as there."
            ),
            "count": _count("hosts"),
            "name": _name("host"),
        },
        "like",
        "name",
    )


def _added_gpus() -> Schema:
    return mapping(
        {
            "host": about(NAME, "The host that gets them, maybe one that is added."),
            "model": about(NAME, "Model, as in a request."),
            "count": _count("cards"),
            "numa_node": {
                "type": "integer",
                "minimum": 0,
                "description": "pNUMA node. Must be stated where the host has several.",
            },
            "label": about(NAME, "Label of the cards. Default: that of the model's other cards on the node."),
        },
        "host",
        "model",
    )


def _added_vms() -> Schema:
    return mapping(
        {
            "like": about(NAME, "A VM of the site: size, devices and settings are as there."),
            "on": about(NAME, "The host they run on, maybe one that is added."),
            "count": _count("VMs"),
            "name": _name("VM"),
        },
        "like",
        "on",
        "name",
    )


def _removed_host() -> Schema:
    whole = mapping(
        {
            "host": about(NAME, "Name, name without domain, pattern or managed object id."),
            "vms": one_of(
                "What becomes of the VMs that run there: place = they need a place elsewhere, as they are; "
                "gone = they go with the host.",
                "place",
                "gone",
                default="place",
            ),
        },
        "host",
    )
    return {"anyOf": [NAME, whole], "title": "a host, or a mapping with 'host' and 'vms'"}


def _removed_gpus() -> Schema:
    return mapping(
        {
            "host": about(NAME, "The host that loses them."),
            "address": about(NAMES, "PCI addresses."),
            "count": _count("cards, of those that no VM holds"),
            "model": about(NAME, "Only cards of this model, with 'count'."),
        },
        "host",
    )
