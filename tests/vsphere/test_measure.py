"""Measuring hosts: samples in rounds, VMs matched by name, and reasons instead of errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tests.conftest import REPO
from tests.vsphere.test_esxtop import COUNTERS
from vplacer.errors import PermissionMissing, SessionLost, VSphereFault
from vplacer.inventory.host import ConnectionState
from vplacer.inventory.load import load_inventory_file
from vplacer.inventory.measured import NOT_MEASURED, NodeMemory, Spread
from vplacer.inventory.overlay import Overlay
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import Vm
from vplacer.vsphere.measure import Measurement, MeasureOptions, measure_homes
from vplacer.vsphere.raw import Data, MoRef

SERVICES = MoRef("ServiceManager", "sm")
NOW = "2025-01-01T00:00:10Z"
SITE = load_inventory_file(REPO / "fixtures" / "sites" / "a30pairs.yaml").inventory
FIRST, SECOND = SITE.hosts[:2]


def named(*names: str, host: str = FIRST.moid) -> tuple[Vm, ...]:
    model = next(vm for vm in SITE.vms if vm.is_on)
    return tuple(
        replace(model, moid=f"vm-{host}-{n}", name=name, instance_uuid=f"u-{host}-{n}", host=host)
        for n, name in enumerate(names)
    )


def inventory(*vms: Vm, hosts: int = 1) -> Inventory:
    return replace(SITE, hosts=SITE.hosts[:hosts], vms=vms)


def row(name: str, mask: int | str = 1, local: int = 2048, percent: int = 100, moves: int = 0) -> str:
    return f"|SchedGroup|3|vm.1|{name}|1|{mask}|{moves}|1024|{local}|{percent}|2|\n"


@dataclass
class Hosts:
    """A vCenter whose hosts answer with these texts, sample by sample; an error is raised."""

    stats: Mapping[str, list[str | Exception]]
    refused: Mapping[str, Exception] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)

    def call(self, ref: MoRef, method: str, arguments: Mapping[str, Any]) -> object:
        if method == "QueryServiceList":
            host = arguments["location"][0].removeprefix("vmware.host.")
            self.calls.append(f"{host} services")
            if host in self.refused:
                raise self.refused[host]
            command = MoRef("SimpleCommand", host)
            found = {"serviceName": "Esxtop", "service": command}
            return [Data("ServiceManagerServiceInfo", (), found)] if host in self.stats else []
        (what,) = arguments["arguments"]
        self.calls.append(f"{ref.moid} {what}")
        if what != "FetchStats":
            return {"CounterInfo": COUNTERS, "FreeStats": ""}[what]
        answer = self.stats[ref.moid].pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def measured(hosts: Hosts, site: Inventory, **options: Any) -> Measurement:
    given: dict[str, Any] = {"workers": 1, "sleep": lambda _: None, "seconds": lambda: 0.0, **options}
    return measure_homes(hosts, SERVICES, site, lambda: NOW, MeasureOptions(**given))  # type: ignore[arg-type]


def only(measurement: Measurement) -> Overlay:
    (overlay,) = measurement.overlays
    return overlay


def test_spread_over_samples() -> None:
    stats: list[str | Exception] = [
        row("a", 1, 4096, 80, 5) + "|NUMANode|0|512|256|\n",
        row("a", 2, 2048, 95, 6) + "|NUMANode|0|512|512|\n",
        row("a", 2, 1024, 60, 7) + "|NUMANode|0|512|0|\n",
    ]
    overlay = only(measured(Hosts({FIRST.name: stats}), inventory(*named("a"))))
    assert (overlay.host, overlay.host_uuid, overlay.source, overlay.created) == (
        FIRST.name, FIRST.uuid, "esxtop", NOW,
    )  # fmt: skip
    (found,) = overlay.homes
    assert found.vm_uuid == f"u-{FIRST.moid}-0"
    home = found.home
    assert (home.nodes, home.earlier_nodes, home.samples, home.at) == ((1,), (0,), 3, NOW)
    assert (home.locality_percent, home.local_mib) == (Spread(80, 60, 95), Spread(2, 1, 4))
    assert (home.remote_mib, home.migrations, home.migrations_seen) == (Spread(1, 1, 1), 7, 2)
    assert overlay.node_memory == (NodeMemory(0, 2, Spread(1, 0, 2)),)
    assert overlay.notes == ()


def test_a_vm_powered_on_in_between_has_no_number_of_moves() -> None:
    stats: list[str | Exception] = [row("a", moves=5), row("a", moves=0)]
    (found,) = only(measured(Hosts({FIRST.name: stats}), inventory(*named("a")), samples=2)).homes
    assert (found.home.migrations, found.home.migrations_seen) == (0, None)


def test_nodes_that_are_not_understood_are_kept_as_text() -> None:
    overlay = only(measured(Hosts({FIRST.name: [row("a", "0,1")]}), inventory(*named("a")), samples=1))
    (found,) = overlay.homes
    assert (found.home.nodes, found.home.nodes_told, found.home.locality_percent) == (
        (), "0,1", Spread(100, 100, 100),
    )  # fmt: skip


def test_each_vm_that_was_not_measured_has_its_reason() -> None:
    vms = named("fine", "twin", "twin", "bar|name", "absent", "unmanaged", "nameless")
    vms = (*vms[:-1], replace(vms[-1], instance_uuid=None))
    off = replace(named("off", host=FIRST.moid)[0], moid="vm-off", power=type(vms[0].power)("poweredOff"))
    stats = row("fine") + row("twin") + row("twin") + row("bar|name") + row("nameless") + row("stranger")
    stats += row("unmanaged").replace("|unmanaged|1|", "|unmanaged|0|")
    overlay = only(measured(Hosts({FIRST.name: [stats]}), inventory(*vms, off), samples=1))
    assert [item.vm_uuid for item in overlay.homes] == [f"u-{FIRST.moid}-0"]
    assert overlay.notes == (
        "1 row does not fit esxtop's columns, as when a VM's name holds a bar; left out",
        "twin was not measured: another VM of its name runs on the host",
        "bar|name was not measured: its name holds a bar, which shifts esxtop's columns",
        "absent was not measured: esxtop has no row for it",
        "unmanaged was not measured: the host's NUMA scheduler does not manage it",
        "nameless was not measured: vCenter tells no instance uuid of it",
        "esxtop tells of VMs that vCenter does not have running here: stranger",
    )


def test_one_name_on_two_hosts_is_two_vms() -> None:
    vms = (*named("a"), *named("a", host=SECOND.moid))
    hosts = Hosts({FIRST.name: [row("a", 1)], SECOND.name: [row("a", 2)]})
    overlays = measured(hosts, inventory(*vms, hosts=2), samples=1).overlays
    assert [(o.host, o.homes[0].home.nodes) for o in overlays] == [(FIRST.name, (0,)), (SECOND.name, (1,))]


def test_samples_are_taken_in_rounds_and_the_interval_counts_from_the_start_of_each() -> None:
    hosts = Hosts({FIRST.name: [row("a")] * 2, SECOND.name: [row("b")] * 2})
    waits: list[float] = []
    clock = iter([0.0, 0.5, 2.0, 9.0])
    site = inventory(*named("a"), *named("b", host=SECOND.moid), hosts=2)
    measured(hosts, site, samples=2, interval_s=2.0, sleep=waits.append, seconds=lambda: next(clock))
    fetched = [call for call in hosts.calls if call.endswith("FetchStats")]
    assert fetched == [f"{host.name} FetchStats" for host in (FIRST, SECOND)] * 2
    assert hosts.calls.count(f"{FIRST.name} FreeStats") == 3
    assert waits == [1.5]


def test_a_host_that_cannot_be_asked_is_a_finding_and_the_others_are_measured() -> None:
    third = SITE.hosts[2]
    hosts = Hosts(
        {SECOND.name: [row("b")] * 3, third.name: [VSphereFault("busy", fault_type="SystemError")] * 3},
        refused={FIRST.name: PermissionMissing("x", why="the account lacks Global.ServiceManagers")},
    )
    found = measured(hosts, inventory(*named("b", host=SECOND.moid), hosts=4))
    assert [overlay.host for overlay in found.overlays] == [SECOND.name]
    assert [(item.kind, item.host, item.text) for item in found.findings] == [
        (NOT_MEASURED, FIRST.moid, "the account lacks Global.ServiceManagers"),
        (NOT_MEASURED, third.moid, "SystemError"),
        (NOT_MEASURED, SITE.hosts[3].moid, "the host offers no esxtop service"),
    ]


def test_some_samples_that_fail_are_told() -> None:
    stats = [row("a"), VSphereFault("busy", fault_type="SystemError"), row("a")]
    overlay = only(measured(Hosts({FIRST.name: stats}), inventory(*named("a"))))
    assert overlay.homes[0].home.samples == 2
    assert overlay.notes == ("only 2 of 3 samples could be taken",)


def test_hosts_without_connection_are_not_asked() -> None:
    hosts = Hosts({})
    away = replace(inventory(), hosts=(replace(FIRST, connection=ConnectionState.DISCONNECTED),))
    assert measured(hosts, away) == Measurement()
    assert hosts.calls == []


def test_a_lost_session_ends_it() -> None:
    with pytest.raises(SessionLost):
        measured(Hosts({FIRST.name: [SessionLost("gone")]}), inventory(*named("a")))
