"""Checks whose findings no site file can express: contradictions between a host's own answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.conftest import REPO
from vplacer.doctor.checks import devices, holders, locality, measure, offers, reading, server
from vplacer.doctor.marks import render
from vplacer.doctor.model import Evidence, Finding, Outcome
from vplacer.doctor.observed import Clocks, EsxtopSchema, RawHost, Sample, Untold, VmRaw
from vplacer.doctor.pseudonyms import Pseudonyms
from vplacer.inventory.host import ConnectionState, DeviceBinding, Host
from vplacer.inventory.overlay import Overlay, OverlayDevice
from vplacer.inventory.pci import PciAddress, PciIds
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import StaticBacking
from vplacer.jobs.fixtures import fixture_path
from vplacer.jobs.source import load_site

NOTHING = Evidence(Untold("not read"), Untold("not read"))


@pytest.fixture(scope="module")
def site() -> Inventory:
    return load_site(fixture_path("sites", "a30pairs")).inventory


def changed(inventory: Inventory, change: Callable[[Host], Host], api: str | None = None) -> Inventory:
    """Change the first host with a running VM that holds a static card, and perhaps the API version."""
    about = inventory.about if api is None else replace(inventory.about, api_version=api)
    first = _holder(inventory)[0]
    hosts = tuple(change(host) if host.moid == first.moid else host for host in inventory.hosts)
    return replace(inventory, hosts=hosts, about=about)


def _holder(inventory: Inventory) -> tuple[Host, Any, PciAddress]:
    for vm in inventory.vms:
        for device in vm.devices:
            if isinstance(device.backing, StaticBacking) and vm.is_on:
                return inventory.host_by_moid[vm.host or ""], vm, device.backing.address
    raise AssertionError("the example has no such VM")


def told(finding: Finding) -> str:
    return "\n".join((finding.text, *finding.evidence))


def test_a_binding_of_another_card_than_the_backing(site: Inventory) -> None:
    host, vm, held = _holder(site)
    other = next(d.address for d in host.pci_devices if d.address != held and d.passthrough)

    def bound(address: PciAddress, key: int) -> Inventory:
        binding = DeviceBinding(str(address), vm.moid, address, key)
        return changed(site, lambda h: replace(h, bindings=(binding,)))

    device = next(d for d in vm.devices if isinstance(d.backing, StaticBacking))
    agreed = holders.bindings(bound(held, device.key))
    assert agreed.outcome is Outcome.OK
    assert holders.agreement(bound(held, device.key)).text.startswith("sources agree on 1 card")
    wrong = holders.bindings(bound(other, device.key))
    assert wrong.outcome is Outcome.DIFFERS
    assert f"a binding gives {other} to a device whose configuration names {held}" in told(wrong)


def test_a_holder_that_nobody_sees(site: Inventory) -> None:
    def held_by_a_stranger(host: Host) -> Host:
        return replace(host, bindings=(DeviceBinding("x", "vm-77777"),))

    finding = holders.agreement(changed(site, held_by_a_stranger))
    assert finding.outcome is Outcome.DIFFERS
    assert "holder-not-visible" in told(finding)
    hidden = render(told(finding), Pseudonyms({}, ()))
    assert "vm-77777" not in hidden
    assert "it is not in the inventory" in hidden


def test_two_holders_are_named_by_pseudonyms(site: Inventory) -> None:
    _, vm, held = _holder(site)

    def listed_twice(host: Host) -> Host:
        return replace(host, bindings=(DeviceBinding("x", "vm-77777", held, 1),))

    finding = holders.agreement(changed(site, listed_twice))
    assert "device-claimed-twice" in told(finding)
    hidden = render(told(finding), Pseudonyms({}, ()))
    assert vm.name not in hidden
    assert vm.moid not in hidden
    assert "vm-77777" not in hidden


def test_a_host_that_tells_nothing_contradicts_no_static_backing(site: Inventory) -> None:
    gone = changed(site, lambda h: replace(h, connection=ConnectionState.DISCONNECTED, pci_devices=()))
    finding = devices.static_ids(gone)
    assert finding.outcome is Outcome.NOT_CHECKED
    assert not finding.failed


def test_bindings_without_a_card_at_a_version_that_has_it(site: Inventory) -> None:
    _, vm, _ = _holder(site)
    bare = changed(site, lambda h: replace(h, bindings=(DeviceBinding("x", vm.moid),)))
    assert holders.bindings(bare).outcome is Outcome.OK
    newer = replace(bare, about=replace(bare.about, api_version="9.1.0.0"))
    assert holders.bindings(newer).outcome is Outcome.DIFFERS


def test_instance_ids_that_read_like_other_cards(site: Inventory) -> None:
    host, vm, held = _holder(site)
    other = next(d.address for d in host.pci_devices if d.address != held)
    binding = DeviceBinding(str(other), vm.moid, held, 1)
    assert (
        holders.bindings(changed(site, lambda h: replace(h, bindings=(binding,)))).outcome is Outcome.DIFFERS
    )


def test_cards_that_an_overlay_places(site: Inventory) -> None:
    host = site.hosts[0]
    bare = tuple(replace(node, devices=()) for node in host.numa_nodes)
    inventory = replace(site, hosts=(replace(host, numa_nodes=bare),))
    card = next(d for d in host.pci_devices if d.graphics is not None)
    facts = (OverlayDevice(card.address, card.ids, 0),)
    overlay = Overlay(host.name, host.uuid, None, "2025-01-01T00:00:00Z", "esxcli", devices=facts)
    other = replace(overlay, devices=(replace(facts[0], ids=PciIds(0x10DE, 0x1EB8)),))
    for overlays, placed in (((overlay,), 1), ((other,), 0)):
        finding = locality.cards_with_node(Evidence(inventory, NOTHING.observed, overlays))
        assert finding.outcome is Outcome.DIFFERS
        assert f"overlays tell the node of {placed} of the others" in finding.evidence


def test_a_device_on_two_nodes(site: Inventory) -> None:
    def twice(host: Host) -> Host:
        first, second, *rest = host.numa_nodes
        both = replace(second, devices=(*second.devices, first.devices[0]))
        return replace(host, numa_nodes=(first, both, *rest))

    assert locality.siblings(site).outcome is Outcome.OK
    assert "in the lists of 2 nodes" in told(locality.siblings(changed(site, twice)))


def test_limits_other_than_the_table(site: Inventory) -> None:
    def larger(host: Host) -> Host:
        return replace(host, limits=tuple(replace(limit, max_cpus=4096) for limit in host.limits))

    finding = offers.limits(changed(site, larger))
    assert finding.outcome is Outcome.DIFFERS
    assert "4096 vCPUs, the table says 768" in told(finding)


def test_no_host_is_never_all_right(site: Inventory) -> None:
    finding = reading.gaps(replace(site, hosts=(), vms=()))
    assert (finding.outcome, finding.failed) == (Outcome.DIFFERS, True)


@pytest.mark.parametrize(
    ("ids", "nodes", "outcome"),
    [
        (("0000:3b:00.0",), ("0000:3b:00.0",), Outcome.OK),
        (("0000:CA:00.0",), ("0000:ca:00.0",), Outcome.OK),
        (("10001:80:05.0",), (), Outcome.OK),
        (("0000:3b:00.0",), ("0000:59:00.0",), Outcome.DIFFERS),
        (("0000:3b:00.0",), ("00000:059:00.0",), Outcome.DIFFERS),
        (("slot 3",), (), Outcome.DIFFERS),
        ((), (), Outcome.NOT_APPLICABLE),
    ],
)
def test_spellings(ids: tuple[str, ...], nodes: tuple[str, ...], outcome: Outcome) -> None:
    assert locality.spelling((RawHost("host-1", ids, nodes, (), {}),), NOTHING).outcome is outcome


def test_esxtop_columns_that_are_gone() -> None:
    full = dict(measure.EXPECTED)
    less = {**full, "SchedGroup": tuple(c for c in full["SchedGroup"] if c != "HomeNodes")}
    assert measure.service((EsxtopSchema("host-1", full),), NOTHING).outcome is Outcome.OK
    gone = measure.service((EsxtopSchema("host-1", less), Untold("no")), NOTHING)
    assert gone.outcome is Outcome.DIFFERS
    assert "SchedGroup has no HomeNodes" in told(gone)


@pytest.mark.parametrize(
    ("vms", "outcome"),
    [
        ((VmRaw("vm-1", 20, ("a", "a")), VmRaw("vm-2", None, ("a", "a"))), Outcome.OK),
        ((VmRaw("vm-1", 0, ("a", "a")),), Outcome.DIFFERS),
        ((), Outcome.NOT_APPLICABLE),
    ],
)
def test_extra_config(vms: tuple[VmRaw, ...], outcome: Outcome) -> None:
    assert reading.extra_config(vms, NOTHING).outcome is outcome


@pytest.mark.parametrize(
    ("vms", "outcome"),
    [
        (
            (VmRaw("vm-1", 1, ("a", "a")), VmRaw("vm-2", 1, ("a", "b")), VmRaw("vm-3", 1, ("a", "a"))),
            Outcome.OK,
        ),
        ((VmRaw("vm-1", 1, ("a", "b")), VmRaw("vm-2", 1, ("a", "b"))), Outcome.DIFFERS),
        ((VmRaw("vm-1", 1, (None, None)),), Outcome.DIFFERS),
    ],
)
def test_change_versions(vms: tuple[VmRaw, ...], outcome: Outcome) -> None:
    assert reading.change_version(vms, NOTHING).outcome is outcome


@pytest.mark.parametrize(
    ("vcenter", "host", "outcome"),
    [(0, 10, Outcome.OK), (3600, 3600, Outcome.DIFFERS), (0, 90, Outcome.DIFFERS)],
)
def test_clocks(vcenter: float, host: float, outcome: Outcome) -> None:
    facts = Clocks(vcenter, 0.1, {"host-1": host, "host-2": Untold("no")}, Sample(2, 2))
    assert server.clocks(facts, NOTHING).outcome is outcome


NO_CONTRADICTIONS = {
    # Two VMs may be meant for one card, and a card that waits for a reboot is D17's.
    "dependent-devices-split",
    "device-held-by-another",
    "device-wanted-twice",
    "reboot-pending",
}


def test_every_documented_finding_on_use_is_told_by_a_check() -> None:
    _, _, after = (REPO / "docs" / "topology.md").read_text(encoding="utf-8").partition("### Findings")
    documented = set(re.findall(r"^\| `([a-z-]+)` \|", after.partition("\n## ")[0], re.MULTILINE))
    told_of = holders.OF_BINDINGS | holders.OF_HOLDERS | set(devices.STATIC_WORDS)
    assert told_of | NO_CONTRADICTIONS == documented
    assert not told_of & NO_CONTRADICTIONS
