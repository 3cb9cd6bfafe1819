"""Static devices of a VM that do not fit the host it is registered on.

A static backing names one card by address and ids. Cards move (xcp-ng/xcp #412), ids are stored in
decimal (govmomi #2248), VMs are registered on another host.
"""

from __future__ import annotations

from collections.abc import Iterable

from vplacer.inventory.finding import Certainty, Finding
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vm import StaticBacking, Vm
from vplacer.topology.backing_cards import same_cards
from vplacer.topology.claims import HostCards


def static_findings(vm: Vm, cards: HostCards) -> Iterable[Finding]:
    """Yield what is wrong with the static devices of a VM, one finding a device."""
    for device in vm.devices:
        if isinstance(device.backing, StaticBacking):
            kind, text = _wrong(device.backing, cards)
            if kind:
                address = device.backing.address
                yield Finding(kind, text, Certainty.PROVED, cards.host.moid, vm.moid, address)


def _wrong(backing: StaticBacking, cards: HostCards) -> tuple[str, str]:
    at = backing.address
    device = cards.hardware.get(at)
    if device is not None and _is_decimal_of(backing.device_id, device.ids.device):
        right = f"{device.ids.device:04x}"
        return "static-id-decimal", (
            f"its static device at {at} stores the device id as '{backing.device_id}', the decimal of "
            f"{right}: the server reads it as hexadecimal, and power-on fails"
        )
    named = backing.ids
    if device is None or (
        named is not None and (named.vendor, named.device) != (device.ids.vendor, device.ids.device)
    ):
        return _elsewhere(backing, cards, at)
    if named is None:
        return "static-id-unreadable", (
            f"its static device at {at} stores the device id '{backing.device_id}', "
            "which is no hexadecimal id"
        )
    if device.system_id is not None and backing.system_id not in ("", device.system_id):
        return "static-system-id-differs", f"its static device at {at} names another host's system id"
    state = device.passthrough
    if state is not None and not state.active and at not in cards.function_of:
        why = "waits for a reboot" if state.enabled else "is not enabled"
        return "static-device-not-passed-through", f"its static device is {at}, whose passthrough {why}"
    return "", ""


def _elsewhere(backing: StaticBacking, cards: HostCards, at: PciAddress) -> tuple[str, str]:
    named = str(backing.ids) if backing.ids is not None else f"device id '{backing.device_id}'"
    device = cards.hardware.get(at)
    has = (
        f"the host has {device.ids} ({device.device_name})" if device is not None else "the host has nothing"
    )
    told = f"its static device names {named} at {at}, where {has}"
    twins = [str(address) for address in same_cards(backing, cards)]
    if len(twins) == 1:
        return "static-device-moved", f"{told}; a device of these ids is at {twins[0]} now"
    if twins:
        return "static-device-moved", f"{told}; devices of these ids are at {', '.join(twins)}"
    return "static-device-gone", f"{told}, and no device of these ids"


def _is_decimal_of(text: str, device_id: int) -> bool:
    """Whether a text is the decimal of an id, signed as vSphere gives it or not, and not its hexadecimal."""
    try:
        decimal = int(text, 10) & 0xFFFF
    except ValueError:
        return False
    try:
        if int(text, 16) == device_id:
            return False
    except ValueError:
        pass
    return decimal == device_id
