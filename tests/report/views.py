"""Every host of the example sites and of the hosts that are hard to draw."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tests.conftest import REPO
from vplacer.inventory.load import load_inventory_file
from vplacer.inventory.measured import MeasuredHome, Spread
from vplacer.inventory.vm import Vm
from vplacer.topology.build import build_topologies
from vplacer.topology.host_view import HostView, view_host
from vplacer.topology.measured import HostMeasurement, MeasuredVm

HARD = Path(__file__).parent / "cases" / "pictures.yaml"
AT = "2025-01-01T00:00:00Z"
_BIG = 7
"""Hosts of a site that are taken at most; those of a big one are alike."""


@cache
def views_of(path: Path) -> tuple[HostView, ...]:
    """Return the hosts of a site as the formats want them."""
    site = load_inventory_file(path)
    topologies = build_topologies(site.inventory, site.overlays)
    return tuple(
        view_host(
            host,
            topologies[host.moid],
            site.inventory.vms_by_host.get(host.moid, ()),
            measured=_seen(site.inventory.vms_by_host.get(host.moid, ())),
        )
        for host in site.inventory.hosts
    )


def _seen(vms: tuple[Vm, ...]) -> HostMeasurement | None:
    """Return a measurement that saw the VMs called meas-1 and so on, on node 2."""
    home = MeasuredHome((2,), AT, Spread(62, 60, 70))
    seen = tuple(MeasuredVm(vm.moid, vm.name, home) for vm in vms if vm.name.startswith("meas-"))
    return HostMeasurement(AT, 0, seen, (), ()) if seen else None


def hard(name: str) -> HostView:
    """Return one of the hosts that are hard to draw."""
    return next(view for view in views_of(HARD) if view.host.name == name)


def sites() -> list[Path]:
    """Return the example sites and the hard hosts."""
    return [*sorted((REPO / "fixtures" / "sites").glob("*.yaml")), HARD]


def some_views(path: Path) -> tuple[HostView, ...]:
    """Return the hosts of a site, of a big one some."""
    return views_of(path)[:_BIG]
