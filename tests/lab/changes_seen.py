"""What differs between two readings of a site, in words that fit a case file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from vplacer.inventory.codec import encode
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import NetworkBacking, StaticBacking, VgpuBacking, VmDevice

_WORDS = (("vm", "vms"), ("host", "hosts"), ("cluster", "clusters"), ("pool", "pools"))


def changes_seen(before: Inventory, after: Inventory) -> dict[str, Any]:
    """Map "vm train-1" to its fields that changed with their new values, or to "new" or "gone"."""
    found: dict[str, Any] = {}
    for word, name in _WORDS:
        old, new = _named(getattr(before, name)), _named(getattr(after, name))
        for moid, item in new.items():
            if moid not in old:
                found[f"{word} {item.name}"] = "new"
            elif old[moid] != item:
                found[f"{word} {item.name}"] = _fields(old[moid], item)
        found |= {f"{word} {item.name}": "gone" for moid, item in old.items() if moid not in new}
    return found


def _named(items: Iterable[Any]) -> dict[str, Any]:
    return {item.moid: item for item in items}


def _fields(old: Any, new: Any) -> dict[str, Any]:
    return {
        field.name: _value(field.name, getattr(new, field.name))
        for field in fields(old)
        if getattr(old, field.name) != getattr(new, field.name)
    }


def _value(name: str, value: Any) -> Any:
    if name == "change_version":
        return "moved"
    if name == "extra_config":
        return dict(value)
    if name == "devices":
        return [device_words(device) for device in value]
    if name == "bindings":
        return [f"{binding.address} {binding.vm}" for binding in value]
    if name == "pci_devices":
        labels = {str(d.address): d.passthrough.label for d in value if d.passthrough}
        return {address: label for address, label in labels.items() if label}
    return encode(value)


def device_words(device: VmDevice) -> str:
    """Return a device's key, kind and what matters of its backing."""
    backing = device.backing
    words = [str(device.key), type(backing).__name__.removesuffix("Backing").lower()]
    if isinstance(backing, StaticBacking):
        words.append(str(backing.address))
    elif isinstance(backing, VgpuBacking):
        words.append(backing.profile)
    elif isinstance(backing, NetworkBacking):
        words.append(f"{backing.card} {backing.network}")
    elif getattr(backing, "label", None):
        words.append(str(backing.label))  # type: ignore[union-attr]
    if device.numa_node is not None:
        words.append(f"node {device.numa_node}")
    if device.group_key is not None:
        words.append(f"group {device.group_key}.{device.group_sequence}")
    return " ".join(words)
