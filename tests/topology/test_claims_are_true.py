"""Cards are dealt out to VMs, a host tells part of it, and what is concluded must be true of the deal.

Nothing that is held is called free, nothing false is proved, no room is promised that is taken, and where
the sources told the truth no contradiction is found among them.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from tests.topology.hosts import address
from tests.topology.use_hosts import FIRST_KEY, make_use_host, make_vms
from vplacer.inventory.host import Host
from vplacer.topology.build import build_host_topology
from vplacer.topology.claims import PASSTHROUGH, VF, VGPU, host_cards
from vplacer.topology.device_use import device_use
from vplacer.topology.use_findings import use_findings
from vplacer.topology.vgpu_capacity import vgpu_capacity

GIB: Final = {"A30": 24, "L40S": 48}
PROFILES: Final = {name: name.split("-")[0].upper() for name in ("a30-6c", "a30-12c", "l40s-12c", "l40s-24c")}
PORT: Final = "f0:00.0"
FUNCTIONS: Final = ("f0:00.2", "f0:00.3", "f0:00.4")
TRUE_BESIDE: Final = {"holder-not-on-host"}


@dataclass
class _Deal:
    """Who holds what: ``held`` has VM, kind, card (a function's own address) and profile."""

    models: dict[str, str]
    shared: set[str]
    labels: dict[str, str]
    held: list[tuple[str, str, str, str]] = field(default_factory=list)
    devices: dict[str, list[str]] = field(default_factory=dict)
    bindings: list[str] = field(default_factory=list)
    listed: dict[str, set[str]] = field(default_factory=dict)


def _size(profile: str) -> int:
    return int(profile.rpartition("-")[2].removesuffix("c"))


def _deal(order: random.Random) -> _Deal:
    cards = [f"{16 * n:02x}:00.0" for n in range(1, order.randint(3, 7))]
    deal = _Deal(
        {card: order.choice(["A30", "A30", "L40S"]) for card in cards},
        {card for card in cards if order.random() < 0.4},
        {},
    )
    deal.labels = {
        card: order.choice(["left", "right"])
        for card in cards
        if card not in deal.shared and order.random() < 0.4
    }
    whole = [card for card in cards if card not in deal.shared]
    order.shuffle(whole)
    functions = list(FUNCTIONS)
    told = {
        "release": order.choice(["9.1", "8.0", "none"]),
        "assigned": order.choice(["none", "address", "instance"]),
        "listed": order.random() < 0.6,
        "bound": {kind for kind in ("static", "vgpu", VF) if order.random() < 0.5} | {"dynamic"},
    }
    for number in range(1, order.randint(2, 5)):
        vm = f"vm-{number}"
        for _ in range(order.randint(1, 3)):
            how = order.choice(["static", "dynamic", "dynamic", "vgpu", "vgpu", VF])
            _give(deal, order, vm, how, whole, functions, told)
    return deal


def _give(
    deal: _Deal,
    order: random.Random,
    vm: str,
    how: str,
    whole: list[str],
    functions: list[str],
    told: dict[str, Any],
) -> None:
    profile = ""
    if how in ("static", "dynamic"):
        if not whole:
            return
        at = whole.pop()
        words = {"none": "", "address": f" assigned=0000:{at}", "instance": f" assigned=i-{at}"}
        label = f" label={deal.labels[at]}" if at in deal.labels and order.random() < 0.5 else ""
        line = (
            f"dynamic {deal.models[at]}{label}{words[told['assigned']]}"
            if how == "dynamic"
            else f"static {at}"
        )
    elif how == "vgpu":
        rooms = [card for card in sorted(deal.shared) if _profile_for(deal, order, card)]
        if not rooms:
            return
        at = order.choice(rooms)
        profile = _profile_for(deal, order, at)
        line = f"vgpu {profile}"
    else:
        if not functions:
            return
        at = functions.pop()
        line = order.choice([f"sriov {PORT}", "sriov ?", "dvx"])
    devices = deal.devices.setdefault(vm, [])
    key = FIRST_KEY + len(devices)
    devices.append(line)
    deal.held.append((vm, PASSTHROUGH if how in ("static", "dynamic") else how, at, profile))
    if how in told["bound"] and order.random() < 0.95 and told["release"] != "none":
        place = at if told["release"] == "9.1" else "?"
        which = f" {key}" if told["release"] == "9.1" and order.random() < 0.8 else ""
        deal.bindings.append(f"{vm} i-{at}={place}{which}")
    if told["listed"] and how == "vgpu":
        deal.listed.setdefault(at, set()).add(vm)


def _profile_for(deal: _Deal, order: random.Random, card: str) -> str:
    """A profile that the card still takes in same-size mode; "" where it takes none."""
    have = [profile for _, kind, at, profile in deal.held if kind == VGPU and at == card]
    if have:
        return have[0] if len(have) < GIB[deal.models[card]] // _size(have[0]) else ""
    return order.choice([name for name, model in PROFILES.items() if model == deal.models[card]])


def _host(deal: _Deal) -> Host:
    host = make_use_host(
        {
            "pci": [
                *(f"{card} {model}" for card, model in deal.models.items()),
                f"{PORT} nic",
                *(f"{function} vf" for function in FUNCTIONS),
            ],
            "labels": deal.labels,
            "vf_present": {PORT: len(FUNCTIONS)},
            "profiles": PROFILES,
            "bindings": deal.bindings,
            "graphics": {card: {"vms": sorted(deal.listed.get(card, ()))} for card in deal.shared},
        }
    )
    profiles = tuple(replace(item, framebuffer_gib=_size(item.name)) for item in host.vgpu_profiles)
    return replace(host, vgpu_profiles=profiles)


@given(st.integers(0, 1 << 32), st.booleans())
def test_what_is_concluded_is_true(seed: int, hide: bool) -> None:
    order = random.Random(seed)
    deal = _deal(order)
    host = _host(deal)
    hidden = {vm for vm in deal.devices if hide and order.random() < 0.3}
    seen = {vm: {"devices": lines} for vm, lines in deal.devices.items() if vm not in hidden}
    vms = make_vms(seen, host)
    cards = host_cards(host, build_host_topology(host))
    use = device_use(cards, vms)
    named = {(line.split()[0], line.split()[1].partition("=")[2]) for line in deal.bindings}
    known = [
        (vm, kind, at, profile)
        for vm, kind, at, profile in deal.held
        if vm in seen or (vm, at) in named or vm in deal.listed.get(at, ())
    ]
    free = {device.address for device in use.use.free}
    assert free.isdisjoint(address(at) for _, kind, at, _ in known if kind == PASSTHROUGH)
    functions = sum(1 for _, kind, _, _ in known if kind == VF)
    assert use.use.free_vfs(address(PORT)) <= len(FUNCTIONS) - functions

    left = Counter((vm, kind, address(PORT if kind == VF else at)) for vm, kind, at, _ in deal.held)
    for claim in use.now:
        if claim.certain and claim.address is not None:
            left[claim.vm, claim.kind, claim.address] -= 1
    assert min(left.values(), default=0) >= 0, "what is proved is true"

    for card in vgpu_capacity(host, use.use):
        here = card.address.short
        on_it = [_size(profile) for _, kind, at, profile in known if kind == VGPU and at == here]
        for room in card.rooms:
            size = _size(room.profile)
            most = GIB[deal.models[here]] // size - len(on_it)
            assert room.more <= (most if set(on_it) <= {size} else 0)

    found = use_findings(cards, use, build_host_topology(host), vms)
    assert {finding.kind for finding in found} <= TRUE_BESIDE, found
