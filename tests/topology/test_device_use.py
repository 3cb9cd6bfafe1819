"""Who holds what: runs tests/topology/use, and states what must hold for any claims on any host.

A case gives a host and VMs, and expects:
    now, at_power_on: one line a claim, "vm-1 passthrough 17:00.0 proved configuration+binding" or, where the
        card is not known, "vm-1 passthrough 17:00.0|18:00.0 unknown ..."
    free: the cards that nobody holds    findings: "kind" or "kind vm-1", with a pattern for the text
"""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.topology.test_cases import _Loader
from tests.topology.use_hosts import make_use_host, make_vms
from vplacer.inventory.finding import Certainty
from vplacer.inventory.host import Host
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vm import UnknownBacking, Vm
from vplacer.report.topology_json import render_json
from vplacer.report.topology_tree import render_tree
from vplacer.topology.build import build_host_topology
from vplacer.topology.claims import Claim, host_cards
from vplacer.topology.describe import describe_host
from vplacer.topology.device_use import DeviceUse, device_use
from vplacer.topology.use_findings import use_findings

CASES = [
    pytest.param(case, id=f"{file.stem}: {case['name']}")
    for file in sorted((Path(__file__).parent / "use").glob("*.yaml"))
    for case in yaml.load(file.read_text(encoding="utf-8"), _Loader)
]
DOCS = Path(__file__).parents[2] / "docs" / "topology.md"


def _use(host: Host, vms: tuple[Vm, ...]) -> DeviceUse:
    return device_use(host_cards(host, build_host_topology(host)), vms)


def _line(claim: Claim) -> str:
    at = claim.address.short if claim.address is not None else "|".join(a.short for a in claim.candidates)
    place = f"{at}/{claim.function.short}" if claim.function is not None else at
    what = claim.kind if claim.profile is None else f"{claim.kind}:{claim.profile}"
    return f"{claim.vm} {what} {place or '-'} {claim.certainty} {'+'.join(claim.sources)}"


@pytest.mark.parametrize("case", CASES)
def test_case(case: dict[str, Any]) -> None:
    host = make_use_host(case["host"])
    vms = make_vms(case.get("vms", {}), host)
    elsewhere = make_vms(case.get("elsewhere", {}), host)
    topology = build_host_topology(host)
    cards = host_cards(host, topology)
    use = device_use(cards, vms)
    expect = case["expect"]
    if "now" in expect:
        assert [_line(claim) for claim in use.now] == expect["now"]
    if "at_power_on" in expect:
        assert [_line(claim) for claim in use.at_power_on] == expect["at_power_on"]
    if "free" in expect:
        assert [device.address.short for device in use.use.free] == expect["free"]
    everywhere = {vm.moid: vm for vm in (*vms, *elsewhere)} if "elsewhere" in case else None
    findings = use_findings(cards, use, topology, vms, everywhere)
    wanted: list[dict[str, str]] = expect.get("findings", [])
    shown = [f"{f.kind} {f.vm or ''}: {f.text} ({f.certainty})" for f in findings]
    assert [(f.kind, f.vm) for f in findings] == [(w["kind"], w.get("vm")) for w in wanted], shown
    for finding, want in zip(findings, wanted, strict=True):
        assert re.search(want.get("says", ""), finding.text), shown
        assert finding.certainty == Certainty(want.get("certainty", "proved")), shown


def test_every_kind_of_finding_is_documented_and_has_a_case() -> None:
    _, _, after = DOCS.read_text(encoding="utf-8").partition("### Findings")
    section, _, _ = after.partition("\n## ")
    documented = set(re.findall(r"^\| `([a-z-]+)` \|", section, re.MULTILINE))
    in_cases = {f["kind"] for case in CASES for f in case.values[0]["expect"].get("findings", [])}
    assert in_cases == documented


CARDS = ("17:00.0", "18:00.0", "27:00.0", "28:00.0")
GONE = ("99:00.0", "17:00.7")
PORT = "37:00.0"
MOIDS = ("vm-1", "vm-2", "vm-3", "vm-9", "vm-10")
ADDRESSES = st.sampled_from([*CARDS, PORT, "37:00.2", "15:01.0", *GONE])


def _devices() -> st.SearchStrategy[str]:
    ids = st.sampled_from(["", " 10de:20b7", " 10de:26b9", " 8086:2030", " id=8375", " id=zz", " id="])
    labels = st.sampled_from(["", " label=left", " label=nowhere"])
    assigned = st.one_of(
        st.sampled_from(["", " assigned=opaque", " assigned=i-7"]),
        ADDRESSES.map(lambda at: f" assigned=0000:{at}"),
    )
    profiles = st.sampled_from(["nvidia_a30-6c", "nvidia_a30-12c", "unknown-8q"])
    return st.one_of(
        st.tuples(ADDRESSES, ids).map(lambda pair: f"static {pair[0]}{pair[1]}"),
        st.tuples(st.sampled_from(["A30", "L40S", "ConnectX"]), labels, assigned).map(
            lambda parts: f"dynamic {''.join(parts)}"
        ),
        profiles.map(lambda name: f"vgpu {name}"),
        st.one_of(st.just("?"), ADDRESSES).map(lambda at: f"sriov {at}"),
        st.sampled_from(["dvx", "unknown VirtualPCIPassthroughFuture", "unknown VirtualToaster"]),
    )


@st.composite
def sites(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """Any claims on a host of two A30 that are passed through or shared, two L40S, and a NIC with VFs."""
    bindings = draw(
        st.lists(
            st.tuples(
                st.sampled_from(MOIDS),
                st.one_of(st.just("?"), ADDRESSES, ADDRESSES.map(lambda at: f"i-7={at}")),
                st.sampled_from(["", " 13000", " 13001", " 77"]),
            ).map(lambda parts: f"{parts[0]} {parts[1]}{parts[2]}"),
            max_size=5,
        )
    )
    listing = st.lists(st.sampled_from(MOIDS), max_size=3, unique=True)
    modes = st.sampled_from(["sameSize", "mixedSize", "multiInstanceGpu", "none"])
    kinds = st.sampled_from(["sharedDirect", "direct", "shared"])
    graphics = {
        card: {"type": draw(kinds), "mode": draw(modes), "vms": draw(listing)}
        for card in CARDS
        if draw(st.booleans())
    }
    states = {
        card: draw(st.sampled_from(["none", "capable", "enabled", "active"]))
        for card in (*CARDS, PORT)
        if draw(st.booleans())
    }
    host = {
        "pci": [
            "15:01.0 bridge",
            "17:00.0 A30 < 15:01.0",
            "18:00.0 A30",
            "27:00.0 L40S",
            "28:00.0 L40S",
            "37:00.0 nic",
            "37:00.2 vf",
            "37:00.3 vf",
        ],
        "labels": {"17:00.0": "left"},
        "dependent": {"27:00.0": "28:00.0"},
        "vf_present": {PORT: 2},
        "profiles": {"nvidia_a30-6c": "A30", "nvidia_a30-12c": "A30"},
        "bindings": bindings,
        "graphics": graphics,
        "states": states,
    }
    vms = {
        moid: {
            "power": draw(st.sampled_from(["on", "off", "suspended"])),
            "devices": draw(st.lists(_devices(), max_size=4)),
            "readable": draw(st.booleans()),
            "template": draw(st.sampled_from([False, False, True])),
        }
        for moid in draw(st.lists(st.sampled_from(MOIDS[:3]), unique=True))
    }
    return host, vms


@given(sites(), st.integers(0, 1 << 16))
def test_any_claims_on_any_host(site: tuple[dict[str, Any], dict[str, Any]], seed: int) -> None:
    host = make_use_host(site[0])
    vms = make_vms(site[1], host)
    use = _use(host, vms)
    free = {device.address for device in use.use.free}
    assert len(set(use.claims)) == len(use.claims)
    for claim in use.now:
        assert claim.address not in free
        assert free.isdisjoint(claim.candidates)
    present = {device.address for device in host.pci_devices}
    owners = host_cards(host, build_host_topology(host)).function_of
    for named in _named(host, vms):
        assert owners.get(named, named) not in free, "a card that anybody says is held is not free"
    for vm in vms:
        keys = [claim.device_key for claim in use.now if claim.vm == vm.moid and claim.device_key is not None]
        assert len(keys) == len(set(keys)), "a device has one claim"
        claiming = {d.key for d in vm.devices if vm.is_on and d.backing != UnknownBacking("VirtualToaster")}
        assert claiming <= set(keys), "and each has one"
    assert all(address in present for address in free)
    assert _shuffled(host, vms, seed) == use
    description = describe_host(host, build_host_topology(host), vms)
    assert render_tree(description)
    assert render_json(description)


def _named(host: Host, vms: tuple[Vm, ...]) -> set[PciAddress]:
    """Every card that some source says is held now."""
    found = {binding.address for binding in host.bindings if binding.address is not None}
    found.update(d.address for d in host.pci_devices if d.graphics is not None and d.graphics.vms)
    for vm in vms:
        for device in vm.devices:
            at = getattr(device.backing, "address", None) or getattr(
                device.backing, "physical_function", None
            )
            if vm.is_on and at is not None:
                found.add(at)
    return found


def _shuffled(host: Host, vms: tuple[Vm, ...], seed: int) -> DeviceUse:
    """The same host told in another order."""
    from dataclasses import replace

    order = random.Random(seed)

    def mixed(items: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(order.sample(items, len(items)))

    devices = tuple(
        device
        if device.graphics is None
        else replace(device, graphics=replace(device.graphics, vms=mixed(device.graphics.vms)))
        for device in mixed(host.pci_devices)
    )
    other = replace(host, bindings=mixed(host.bindings), pci_devices=devices)
    return _use(other, tuple(replace(vm, devices=mixed(vm.devices)) for vm in mixed(vms)))
