"""Recorded sessions with vcsim: its answers are read where no vcsim is at hand too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import REPO
from tests.record_vcsim_tapes import SITES, read, tape_of, vcsim_of
from tests.vsphere.compare import Allowed, differences
from vplacer.inventory.load import load_inventory_file
from vplacer.inventory.vcenter import Inventory
from vplacer.lab.soap.server import LabServer
from vplacer.vsphere.address import Address
from vplacer.vsphere.cassettes import replaying
from vplacer.vsphere.collector import CollectOptions, collect
from vplacer.vsphere.credentials import Credentials
from vplacer.vsphere.secret import Secret
from vplacer.vsphere.session import ConnectOptions, Session

_AGAIN = "the recording is out of date: python -m tests.record_vcsim_tapes"
_EACH_START = {"taken_at", "about.instance_uuid", "vms[].change_version", "vms[].host"}
"""What vcsim makes up anew at each start: its time, ids, and in the default inventory where VMs run."""


def replay(name: str) -> Inventory:
    with replaying(tape_of(name)) as recorded:
        connect = ConnectOptions(recorded.address, api_version=recorded.api_version)
        with Session.connect(connect, recorded.credentials) as session:
            return collect(session, CollectOptions(workers=1))


def test_default_inventory() -> None:
    inventory = replay("default")
    assert inventory.complete, _AGAIN
    assert [host.name for host in inventory.hosts] == ["DC0_H0", "DC0_C0_H0", "DC0_C0_H1", "DC0_C0_H2"]
    assert {len(host.pci_devices) for host in inventory.hosts} == {43}
    assert {node.devices for host in inventory.hosts for node in host.numa_nodes} == {()}, "unknown locality"
    assert {vm.hardware_version for vm in inventory.vms} == {13}
    assert all(vm.readable and vm.is_on for vm in inventory.vms)


@pytest.mark.parametrize("site", SITES)
def test_exported_site(site: str) -> None:
    with LabServer(load_inventory_file(REPO / "fixtures/sites" / f"{site}.yaml")) as server:
        options = ConnectOptions(Address.parse(server.url), ca_file=server.ca_file)
        account = Credentials(server.username, Secret(server.password), "the lab", "the lab")
        with Session.connect(options, account) as session:
            lab = collect(session)
    allowed = Allowed.load(REPO / "tests/vsphere/cases/vcsim_differences.yaml")
    allowed.check(f"tape of {site}", lab, replay(site))


@pytest.mark.live
@pytest.mark.parametrize("name", ["default", *SITES])
def test_recording_is_of_todays_vcsim(name: str, witness_bin: Callable[[str], Path]) -> None:
    with vcsim_of(witness_bin("vcsim"), name) as connect:
        live = read(connect)
    found = [item for item in differences(live, replay(name)) if item[0] not in _EACH_START]
    assert found == [], _AGAIN
