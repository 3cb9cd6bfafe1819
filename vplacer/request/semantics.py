"""What a schema cannot say: contradictions and gaps inside one request file.

Runs on raw values beside the schema, so that all faults of a file are reported at once; what the schema
already refuses is passed over here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias, TypeGuard

from vplacer.inventory.yaml_marks import Document, Pointer
from vplacer.request.naming import expand_names, has_number, placeholder_fault
from vplacer.request.units import parse_memory_mib, parse_percent, parse_speed_mbps

Fault: TypeAlias = tuple[Pointer, str]

MAX_COUNT: Final = 10_000
"""Most VMs one entry makes."""

MAX_NAME: Final = 80
"""Longest VM name vSphere takes."""

MAX_SHARE: Final = 10_000
"""Largest share of a shape in ``future``."""

FOR_REAL_VMS: Final = ("may_move", "power_on", "include_managed", "priority")
"""Keys that say nothing of VMs expected later."""

_TEMPLATE_ONLY = ("name", "count")
_BESIDE_LIKE = ("like", "share", "name")


def find_faults(document: Document) -> list[Fault]:
    """Return what contradicts itself, as pointer and sentence."""
    data = document.data
    if not isinstance(data, dict):
        return []
    faults = list(_parsed(("memory_margin",), data.get("memory_margin"), parse_percent))
    for pointer, entry in entries(data):
        faults += _entry_faults(pointer, entry)
    faults += _twice_named(document)
    faults += _future_faults(document)
    for index, rule in enumerate(_dicts(data.get("rules"))):
        faults += _rule_faults(("rules", index), rule)
    faults += _gang_faults(data, document)
    return faults


def find_notes(document: Document) -> list[Fault]:
    """Return what is allowed and yet says nothing, as pointer and sentence. The file is valid."""
    notes: list[Fault] = []
    for pointer, entry in entries(document.data):
        for at, gpu in asks(pointer, entry, "gpus"):
            grouped = gpu.get("group") is not None
            if gpu.get("interconnect", "any") != "any" and gpu.get("count", 1) == 1 and not grouped:
                notes.append(((*at, "interconnect"), "a single GPU has no interconnect: this says nothing"))
    for index, gang in enumerate(_dicts(document.data.get("gangs"))):
        if "fabric_from" in gang and gang.get("fabric", "any") == "any":
            notes.append((("gangs", index, "fabric_from"), "says nothing without 'fabric: same'"))
    return notes


def entries(data: dict[str, Any]) -> Iterator[tuple[Pointer, dict[str, Any]]]:
    """Yield the entries of ``vms`` that are mappings, with their pointers."""
    for index, entry in enumerate(data.get("vms") or [] if isinstance(data.get("vms"), list) else []):
        if isinstance(entry, dict):
            yield ("vms", index), entry


def asks(pointer: Pointer, entry: dict[str, Any], key: str) -> Iterator[tuple[Pointer, dict[str, Any]]]:
    """Yield the device asks of an entry: the one mapping or number, or each of a list."""
    value = entry.get(key)
    if isinstance(value, dict):
        yield (*pointer, key), value
    elif isinstance(value, int) and not isinstance(value, bool):
        yield (*pointer, key), {"count": value}
    for index, item in enumerate(value if isinstance(value, list) else []):
        if isinstance(item, dict):
            yield (*pointer, key, index), item


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item if isinstance(item, dict) else {} for item in value] if isinstance(value, list) else []


def _parsed(pointer: Pointer, value: Any, parse: Callable[[str], object]) -> Iterator[Fault]:
    """Yield what a parser says against a text; shapes that the schema refuses are left to it."""
    if not isinstance(value, str):
        return
    try:
        parse(value)
    except ValueError as error:
        if not str(error).startswith("'"):  # the schema says that this is no size at all
            yield pointer, str(error)


def _entry_faults(pointer: Pointer, entry: dict[str, Any]) -> Iterator[Fault]:
    yield from _naming_faults(pointer, entry)
    yield from _shape_faults(pointer, entry)


def _shape_faults(pointer: Pointer, entry: dict[str, Any]) -> Iterator[Fault]:
    yield from _parsed((*pointer, "memory"), entry.get("memory"), parse_memory_mib)
    cpus, vnuma = entry.get("cpus"), entry.get("vnuma")
    nodes = vnuma.get("nodes") if isinstance(vnuma, dict) else None
    if _is_count(cpus) and _is_count(nodes) and cpus % nodes:
        yield (*pointer, "vnuma"), f"{cpus} vCPUs do not divide evenly over {nodes} vNUMA nodes"
    for at, gpu in asks(pointer, entry, "gpus"):
        yield from _gpu_faults(at, gpu)
    no_gpus = entry.get("gpus") == []
    for at, nic in asks(pointer, entry, "nics"):
        yield from _nic_faults(at, nic, no_gpus)


def _naming_faults(pointer: Pointer, entry: dict[str, Any]) -> Iterator[Fault]:
    if "template" not in entry:
        for key in _TEMPLATE_ONLY:
            if key in entry and "select" in entry:
                yield (*pointer, key), f"'{key}' is for VMs to be made from a template"
        return
    name, count = entry.get("name"), entry.get("count", 1)
    if name is None:
        yield pointer, "the key 'name' is missing: VMs to be made need one"
        return
    if not isinstance(name, str) or not _is_count(count):
        return
    fault = placeholder_fault(name)
    if fault:
        yield (*pointer, "name"), fault
    elif count > 1 and not has_number(name):
        yield (*pointer, "name"), f"{count} VMs cannot share one name: put {{n}} or {{n:02}} into it"
    elif len(expand_names(name, count)[-1]) > MAX_NAME:
        yield (*pointer, "name"), f"a VM name has at most {MAX_NAME} characters"


def _gpu_faults(pointer: Pointer, gpu: dict[str, Any]) -> Iterator[Fault]:
    for one, others, why in (
        ("profile", ("model", "label", "group"), "a vGPU profile already says which cards"),
        ("group", ("model", "label"), "a device group already says which cards"),
    ):
        for other in others:
            if gpu.get(one) is not None and gpu.get(other) is not None:
                yield (*pointer, other), f"'{one}' and '{other}' exclude each other: {why}"
    if "interconnect_policy" in gpu and gpu.get("interconnect", "any") == "any":
        yield (*pointer, "interconnect_policy"), "says nothing without 'interconnect'"


def _nic_faults(pointer: Pointer, nic: dict[str, Any], no_gpus: bool) -> Iterator[Fault]:
    yield from _parsed((*pointer, "min_speed"), nic.get("min_speed"), parse_speed_mbps)
    if "near" not in nic:
        for key in ("at", "at_policy"):
            if key in nic:
                yield (*pointer, key), f"'{key}' says nothing without 'near: gpu'"
    elif no_gpus:
        yield (*pointer, "near"), "there are no GPUs to be near to: the entry says 'gpus: []'"
    if nic.get("at") == "nvlink":
        yield (*pointer, "at"), "a NIC has no NVLink; the nearest level for it is 'switch'"
    if nic.get("network") is not None and nic.get("kind", "passthrough") == "passthrough":
        yield (*pointer, "network"), "a NIC passed through whole has no network; 'kind: sriov' has one"


def _twice_named(document: Document) -> Iterator[Fault]:
    """Yield VM names that two entries would make."""
    first: dict[str, Pointer] = {}
    for pointer, entry in entries(document.data):
        name, count = entry.get("name"), entry.get("count", 1)
        if "template" not in entry or not isinstance(name, str) or not _is_count(count):
            continue
        if placeholder_fault(name) or (count > 1 and not has_number(name)):
            continue
        for made in expand_names(name, count):
            if made in first:
                yield (*pointer, "name"), f"'{made}' is made by line {_line(document, first[made])} as well"
                break
            first[made] = (*pointer, "name")


def _future_faults(document: Document) -> Iterator[Fault]:
    """Yield what is wrong with the mix of VMs expected later."""
    first: dict[str, Pointer] = {}
    for index, item in enumerate(_dicts(document.data.get("future"))):
        pointer: Pointer = ("future", index)
        yield from _shape_faults(pointer, item)
        if "like" in item:
            for key in item:
                if key not in _BESIDE_LIKE:
                    yield (*pointer, key), f"'{key}' and 'like' exclude each other: the VMs meant tell it"
        elif "name" in item and "template" not in item:
            for key in ("cpus", "memory"):
                if key not in item:
                    yield pointer, f"the key '{key}' is missing: a shape without a template states it"
        name = item.get("name", item.get("like"))
        at: Pointer = (*pointer, "name" if "name" in item else "like")
        if isinstance(name, str) and name in first:
            yield at, f"line {_line(document, first[name])} has the shape '{name}' already"
        elif isinstance(name, str):
            first[name] = at


def _rule_faults(pointer: Pointer, rule: dict[str, Any]) -> Iterator[Fault]:
    if "at_most" in rule and "apart" not in rule:
        yield (*pointer, "at_most"), "'at_most' belongs to 'apart'"
    if "vms" in rule and "on" not in rule and "off" not in rule:
        yield (*pointer, "vms"), "'vms' belongs to 'on' or 'off'"


def _gang_faults(data: dict[str, Any], document: Document) -> Iterator[Fault]:
    for kind in ("gangs", "rules"):
        first: dict[str, Pointer] = {}
        for index, item in enumerate(_dicts(data.get(kind))):
            pointer: Pointer = (kind, index, "name")
            name = item.get("name")
            if isinstance(name, str) and name in first:
                yield pointer, f"line {_line(document, first[name])} has the name '{name}' already"
            elif isinstance(name, str):
                first[name] = pointer


def _line(document: Document, pointer: Pointer) -> int | str:
    mark = document.mark(pointer)
    return mark.line if mark else "?"


def _is_count(value: object) -> TypeGuard[int]:
    """Whether a value is a number that the schema may take; larger ones must not be counted up to."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MAX_COUNT
