"""What hosts tell when asked, over SOAP from the lab: homes, memory of nodes, places of devices."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from vplacer.inventory.finding import Certainty, Finding
from vplacer.inventory.load import load_inventory_file
from vplacer.inventory.measured import (
    ESXCLI,
    ESXCLI_DIFFERS,
    ESXCLI_SILENT,
    NOT_MEASURED,
    NodeMemory,
    Spread,
)
from vplacer.inventory.overlay import Overlay
from vplacer.inventory.site import Site
from vplacer.inventory.site_load import load_site_text
from vplacer.jobs.hosts_asked import Asking, Told, ask_hosts, tell_findings
from vplacer.jobs.world import World
from vplacer.lab.model.state import seed_state
from vplacer.lab.soap.server import LabServer
from vplacer.lab.soap.sessions import READ_ONLY
from vplacer.topology.build import build_topologies
from vplacer.topology.measured import esxcli_findings
from vplacer.topology.values import LocalitySource
from vplacer.vsphere.address import Address
from vplacer.vsphere.cassettes import recording, replaying
from vplacer.vsphere.collector import CollectOptions, collect
from vplacer.vsphere.credentials import Credentials
from vplacer.vsphere.secret import Secret
from vplacer.vsphere.session import ConnectOptions, Session

REPO = Path(__file__).resolve().parents[2]
BOTH = Asking(measured=True, esxcli=True)


@pytest.fixture(scope="module")
def site() -> Site:
    return load_inventory_file(REPO / "tests" / "cases" / "lab" / "measured.yaml")


def asked(server: LabServer, asking: Asking = BOTH, workers: int = 4) -> Told:
    where = ConnectOptions(Address(server.host, server.port), ca_file=server.ca_file)
    return told(where, Credentials(server.username, Secret(server.password), "test", "test"), asking, workers)


def told(where: ConnectOptions, who: Credentials, asking: Asking, workers: int) -> Told:
    with Session.connect(where, who) as session:
        inventory = collect(session, CollectOptions(workers=workers))
        return ask_hosts(session, inventory, asking, workers, lambda *_: None, waits=False)


def of(overlays: Collection[Overlay], host: str, source: str) -> Overlay:
    (found,) = [overlay for overlay in overlays if (overlay.host, overlay.source) == (host, source)]
    return found


def test_homes_and_memory_over_three_samples(site: Site) -> None:
    with LabServer(site) as server:
        overlay = of(asked(server).overlays, "esx01", "esxtop")
    by_uuid = {vm.instance_uuid: vm.name for vm in site.inventory.vms}
    homes = {by_uuid[item.vm_uuid]: item.home for item in overlay.homes}
    assert set(homes) == {"wide", "bound"}
    wide = homes["wide"]
    assert (wide.nodes, wide.locality_percent, wide.samples) == ((0, 1), Spread(75, 61, 88), 3)
    assert wide.remote_mib is not None
    assert wide.local_mib is not None
    assert wide.local_mib.high + wide.remote_mib.low == pytest.approx(64 * 1024, abs=1)
    assert (wide.migrations, wide.migrations_seen) == (12, 0)
    assert (homes["bound"].nodes, homes["bound"].locality_percent) == ((1,), Spread(100, 100, 100))
    # 32 GiB of odd|name and half of wide on node 0; bound and the other half on node 1.
    free = {node.node: node.free_mib for node in overlay.node_memory}
    assert free[0] is not None
    assert free[0].high == (128 - 32 - 32) * 1024
    assert free[0].low < free[0].high
    assert [(node.node, node.total_mib) for node in overlay.node_memory] == [(0, 131072), (1, 131072)]
    assert any("odd|name was not measured" in note for note in overlay.notes)
    assert any("unmanaged was not measured" in note for note in overlay.notes)


def test_every_measured_vm_is_where_the_model_has_it(site: Site) -> None:
    odd = load_inventory_file(REPO / "tests" / "cases" / "lab" / "odd-site.yaml")
    for known in (site, odd):
        state = seed_state(known)
        with LabServer(known) as server:
            overlays = asked(server, Asking(measured=True)).overlays
        measured = {item.vm_uuid: item.home for overlay in overlays for item in overlay.homes}
        for vm in known.inventory.vms:
            home, found = state.home(vm), measured.get(vm.instance_uuid or "")
            if found is not None:
                assert home is not None
                assert (found.nodes, found.migrations) == (home.nodes, home.migrations)
                assert found.at == known.inventory.taken_at
        assert measured


def test_places_of_devices_that_vcenter_does_not_tell(site: Site) -> None:
    with LabServer(site) as server:
        answer = asked(server)
    silent = of(answer.overlays, "esx01", "esxcli hardware pci list")
    assert [item.numa_node for item in silent.devices] == [0, 0, 1]
    topologies = build_topologies(answer.inventory, answer.overlays)
    first, second, third = answer.inventory.hosts[:3]
    assert [(gpu.node, gpu.source) for gpu in topologies[first.moid].gpus] == [
        (0, LocalitySource.OVERLAY),
        (1, LocalitySource.OVERLAY),
    ]
    assert [(gpu.node, gpu.source) for gpu in topologies[second.moid].gpus] == [
        (0, LocalitySource.OVERLAY),
        (None, LocalitySource.UNKNOWN),
        (1, LocalitySource.VCENTER),
    ]
    assert topologies[second.moid].mismatches == ()
    assert [(item.kind, item.host, item.text) for item in answer.findings if item.host == third.moid] == [
        (ESXCLI_SILENT, third.moid, "esxcli names no NUMA node of these devices")
    ]


IMPOSSIBLE = """
format_version: 1
host_kinds:
  a:
    cpu: {packages: 2, cores: 8}
    memory_gib: 64
    numa: {devices_reported: false}
    devices: [{gpu: A30, node: 0, esxcli_node: 1}, {gpu: A30, node: 1, esxcli_node: 7}]
clusters: [{name: c, hosts: [{kind: a}]}]
vms: []
"""


def test_a_node_that_the_host_lacks_is_told_though_others_are_used() -> None:
    with LabServer(load_site_text(IMPOSSIBLE, "impossible.yaml")) as server:
        answer = asked(server, Asking(esxcli=True))
    (overlay,) = answer.overlays
    (finding,) = answer.findings
    assert [item.numa_node for item in overlay.devices] == [1]
    assert (finding.kind, finding.text) == (ESXCLI_DIFFERS, "; ".join(overlay.notes))
    assert "on NUMA node 7, which the host does not have" in finding.text


def test_what_esxcli_tells_and_cannot_be_is_a_finding(site: Site) -> None:
    first = site.inventory.hosts[0]
    note = "esxcli has 0000:81:00.0 on NUMA node 7, which the host does not have"
    told = Overlay(first.name, first.uuid, None, "2025-01-01T00:00:00Z", ESXCLI, notes=(note,))
    other = replace(told, host="other", host_uuid="another")
    measured = replace(told, source="esxtop")
    found = esxcli_findings(first, (told, other, measured))
    assert [(item.kind, item.text, item.host) for item in found] == [(ESXCLI_DIFFERS, note, first.moid)]


def test_a_snapshot_holds_nothing_of_it(site: Site) -> None:
    with LabServer(site) as server:
        assert asked(server, Asking()).inventory == asked(server).inventory


def test_a_host_without_the_service_is_a_finding(site: Site) -> None:
    with LabServer(site) as server:
        findings = asked(server, Asking(measured=True)).findings
    assert [(item.kind, item.text) for item in findings] == [
        (NOT_MEASURED, "the host offers no esxtop service")
    ]


@pytest.mark.parametrize(
    ("held", "measured", "placed"),
    [
        (READ_ONLY, False, False),
        (READ_ONLY | {"Global.ServiceManagers"}, True, False),
        (READ_ONLY | {"Host.Config.Settings"}, False, True),
    ],
)
def test_a_missing_privilege_is_named_and_the_rest_is_read(
    site: Site, held: frozenset[str], measured: bool, placed: bool
) -> None:
    with LabServer(site, privileges=held) as server:
        answer = asked(server)
    assert len(answer.inventory.hosts) == 4
    sources = {overlay.source for overlay in answer.overlays}
    assert sources == {
        *(["esxtop"] if measured else []),
        *(["esxcli hardware pci list"] if placed else []),
    }
    texts = {item.text for item in answer.findings}
    assert any("Global.ServiceManagers" in text for text in texts) != measured
    assert any("Host.Config.Settings" in text for text in texts) != placed


def test_a_recorded_session_tells_the_same_again(site: Site, tmp_path: Path) -> None:
    tape = tmp_path / "tape.json.gz"
    with LabServer(site) as server:
        who = Credentials(server.username, Secret(server.password), "test", "test")
        where = ConnectOptions(Address(server.host, server.port), ca_file=server.ca_file)
        with recording(tape, who):
            first = told(where, who, BOTH, workers=1)
    with replaying(tape) as recorded:
        where = ConnectOptions(recorded.address, api_version=recorded.api_version)
        again = told(where, recorded.credentials, BOTH, workers=1)
    assert again == first
    assert first.overlays


def test_many_hosts_at_a_time_tell_the_same(site: Site) -> None:
    with LabServer(site) as server:
        assert asked(server, workers=1) == asked(server, workers=4)


def test_node_memory_without_vms_is_all_free() -> None:
    site = load_inventory_file(REPO / "tests" / "cases" / "lab" / "measured.yaml")
    with LabServer(site) as server:
        overlay = of(asked(server, Asking(measured=True, samples=1)).overlays, "esx03", "esxtop")
    assert overlay.homes == ()
    assert overlay.node_memory[0] == NodeMemory(0, 131072, Spread(131072, 131072, 131072))


def test_hosts_are_warned_of_together(site: Site) -> None:
    hosts = [host.moid for host in site.inventory.hosts]
    said: list[str] = []
    world = World(environ={}, clock=lambda: datetime.now(UTC), seconds=lambda: 0.0, warn=said.append)
    denied = tuple(Finding(ESXCLI_SILENT, "denied", Certainty.UNKNOWN, host=moid) for moid in hosts)
    odd = tuple(Finding(ESXCLI_DIFFERS, f"odd {n}", Certainty.LIKELY, host=f"host-{n}") for n in range(40))
    tell_findings((*denied, *odd), site.inventory, world)
    assert len(said) == 2
    assert said[0].endswith(": denied")
    assert said[1].endswith("and 37 more, for 40 reasons, the first: odd 0")
