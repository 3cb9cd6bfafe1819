"""What rules look at: an inventory, its topologies, what was measured, and what is derived of them once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Concatenate, ParamSpec, TypeVar

from vplacer.audit.as_they_run import as_they_run
from vplacer.audit.plan_drift import PlanDrift
from vplacer.audit.settings import DEFAULTS, Settings
from vplacer.audit.utilisation import Utilisation
from vplacer.audit.waivers import Waiver, WaiverIndex
from vplacer.constraints.ownership import reason_left_alone
from vplacer.constraints.settings_findings import settings_findings
from vplacer.constraints.state import Problem
from vplacer.inventory.finding import Finding
from vplacer.inventory.host import Host
from vplacer.inventory.overlay import Overlay
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import Vm
from vplacer.topology.build import build_topologies
from vplacer.topology.claims import HostCards, host_cards
from vplacer.topology.device_use import DeviceUse, device_use
from vplacer.topology.host_topology import HostTopology
from vplacer.topology.measured import HostMeasurement, esxcli_findings, host_measurement
from vplacer.topology.use_findings import use_findings

P = ParamSpec("P")
T = TypeVar("T")

_MISSING: Any = object()


@dataclass(frozen=True, eq=False)
class Subject:
    """One vCenter at one moment, as rules look at it. Pure: no rule reads anything else.

    ``topologies`` by host moid. ``told``: findings of those who read it (hosts asked that told nothing).
    ``waivers``: what somebody answers for; None = no file of them was given. ``since``: what moved since an
    earlier plan; None = none was given. ``off_since``: of VMs that do not run, by moid, when an audit first
    saw them so (ISO 8601 UTC); what is missing is not known. ``utilisation``: what GPUs did; None = not told.
    """

    inventory: Inventory
    overlays: tuple[Overlay, ...] = ()
    settings: Settings = DEFAULTS
    told: tuple[Finding, ...] = ()
    waivers: tuple[Waiver, ...] | None = None
    since: PlanDrift | None = None
    off_since: Mapping[str, str] = field(default_factory=dict)
    utilisation: Utilisation | None = None
    _derived: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False)

    def derive(self, make: Callable[Concatenate[Subject, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return ``make(self, ...)``, computed once: ``make`` is a pure function, its arguments hashable."""
        key = (make, args, tuple(sorted(kwargs.items())))
        found: T = self._derived.get(key, _MISSING)
        if found is _MISSING:
            found = self._derived[key] = make(self, *args, **kwargs)
        return found

    @cached_property
    def topologies(self) -> Mapping[str, HostTopology]:
        """The topology of each host, by moid."""
        return build_topologies(self.inventory, self.overlays)

    @cached_property
    def problem(self) -> Problem:
        """The problem in which every running VM shall be what it is: see `as_they_run`."""
        return Problem(self.inventory, self.topologies, as_they_run(self.inventory, self.topologies))

    @cached_property
    def vms(self) -> tuple[Vm, ...]:
        """The VMs whose configuration is known, templates left out."""
        return tuple(vm for vm in self.inventory.vms if vm.readable and not vm.template)

    @cached_property
    def placed(self) -> tuple[tuple[Vm, Host, HostTopology], ...]:
        """`vms` that are on a known host, with it."""
        hosts, topologies = self.inventory.host_by_moid, self.topologies
        return tuple(
            (vm, hosts[vm.host], topologies[vm.host])
            for vm in self.vms
            if vm.host is not None and vm.host in hosts
        )

    @cached_property
    def waiver_index(self) -> WaiverIndex:
        """The waivers, by what they are for."""
        return WaiverIndex(self.waivers or ())

    def cards(self, host: Host) -> HostCards:
        """Return the devices of a host, indexed."""
        return self.derive(_cards, host.moid)

    def use(self, host: Host) -> DeviceUse:
        """Return who holds what on a host."""
        return self.derive(_use, host.moid)

    def measured(self, host: Host) -> HostMeasurement | None:
        """Return the last measurement of a host, None = it was never measured."""
        return self.derive(_measured, host.moid)

    def owner(self, vm: Vm) -> str | None:
        """Return why nobody but its owner may change a VM, or None."""
        return self.derive(_owner, vm.moid)

    def said(self, *kinds: str) -> Iterator[Finding]:
        """Yield the findings of some kinds: on device use, settings and esxcli, host by host.

        The kinds are those of docs/topology.md.
        """
        wanted = set(kinds)
        for finding in self._said:
            if finding.kind in wanted:
                yield finding

    @cached_property
    def _said(self) -> tuple[Finding, ...]:
        return (*self.told, *(f for host in self.inventory.hosts for f in self.derive(_host_said, host.moid)))


def _cards(subject: Subject, moid: str) -> HostCards:
    return host_cards(subject.inventory.host_by_moid[moid], subject.topologies[moid])


def _use(subject: Subject, moid: str) -> DeviceUse:
    host = subject.inventory.host_by_moid[moid]
    return device_use(subject.cards(host), subject.inventory.vms_by_host.get(moid, ()))


def _measured(subject: Subject, moid: str) -> HostMeasurement | None:
    vms = subject.inventory.vms_by_host.get(moid, ())
    host = subject.inventory.host_by_moid[moid]
    return host_measurement(host, vms, subject.overlays, subject.inventory.taken_at)


def _owner(subject: Subject, moid: str) -> str | None:
    return reason_left_alone(subject.inventory.vm_by_moid[moid], subject.inventory)


def _host_said(subject: Subject, moid: str) -> tuple[Finding, ...]:
    host, topology = subject.inventory.host_by_moid[moid], subject.topologies[moid]
    vms = subject.inventory.vms_by_host.get(moid, ())
    return (
        *use_findings(subject.cards(host), subject.use(host), topology, vms, subject.inventory.vm_by_moid),
        *settings_findings(host, topology, vms),
        *esxcli_findings(host, subject.overlays),
    )
