"""The starter file: it loads, resolves, and asks for nothing but what every VM has today."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.conftest import REPO
from vplacer.constraints.state import Problem
from vplacer.constraints.today import differences_today
from vplacer.errors import UnknownObjectError
from vplacer.inventory.load import load_inventory_file
from vplacer.inventory.site import Site
from vplacer.inventory.vm import Vm
from vplacer.request.demand import Demand, ResolvedRequest
from vplacer.request.init import Scope, request_text
from vplacer.request.load import parse_request
from vplacer.request.resolve import resolve
from vplacer.topology.build import build_topologies

SITES = {
    "shop": REPO / "tests" / "cases" / "request" / "sites" / "shop.yaml",
    **{path.stem: path for path in sorted((REPO / "fixtures" / "sites").glob("*.yaml"))},
}


def _owner(vm: Vm) -> str | None:
    return f"managed by {vm.ownership.managed_by}" if vm.ownership.managed_by else None


def _resolve(site: Site, text: str) -> ResolvedRequest:
    topologies = build_topologies(site.inventory, site.overlays)
    return resolve(parse_request(text, "init.yaml"), site.inventory, topologies, owner_reason=_owner)


def _text(site: Site, scope: Scope | None = None) -> str:
    topologies = build_topologies(site.inventory, site.overlays)
    return request_text(site.inventory, topologies, scope or Scope(), _owner)


def _essence(demand: Demand) -> Demand:
    """Return a demand without what says only where and how it was asked for."""
    return replace(demand, source=None, mode_stated=False)


@pytest.mark.parametrize("name", sorted(SITES))
def test_it_asks_for_what_is(name: str) -> None:
    site = load_inventory_file(SITES[name])
    found = _resolve(site, _text(site))
    movable = [vm for vm in site.inventory.vms if not vm.template]
    # The same VMs by a mere selection, which asks for what they have; static cards need the mode stated.
    pins = {d.name for d in found.demands if d.mode == "pin"}
    plain = "version: 1\nvms:\n" + "".join(
        f"  - {{select: {{moid: {vm.moid}}}{', affinity: pin' if vm.name in pins else ''}}}\n"
        for vm in movable
    )
    wanted = _resolve(site, plain)
    by_id = {demand.id: _essence(demand) for demand in wanted.demands}
    assert {demand.id: _essence(demand) for demand in found.demands} == by_id
    assert len(found.demands) + len(wanted.left_alone) == len(movable)
    problem = Problem(site.inventory, build_topologies(site.inventory, site.overlays), found)
    for demand in found.demands:
        assert differences_today(problem, demand) == ()
        vm = site.inventory.vm_by_moid[demand.id]
        now = (vm.cpus, vm.memory_mib, vm.hardware_version, vm.is_on, vm.overhead_mib)
        assert now == (
            demand.cpus,
            demand.memory_mib,
            demand.hardware_version,
            demand.power_on,
            demand.overhead_mib,
        )
        assert not demand.may_move


def test_names_that_need_care() -> None:
    site = load_inventory_file(SITES["shop"])
    names = {
        "twin-2": "twin",
        "web-1": 'a "quoted\\" {n}: #x',
        "web-2": "null",
        "web-3": "20",
        "db-1": "x\n- y",
    }
    vms = tuple(replace(vm, name=names.get(vm.name, vm.name)) for vm in site.inventory.vms)
    renamed = replace(site, inventory=replace(site.inventory, vms=vms))
    text = _text(renamed)
    found = _resolve(renamed, text)
    assert set(names.values()) <= {demand.name for demand in found.demands}
    assert "select: {moid: vm-2004}" in text
    assert "select: {moid: vm-2006}" in text  # odd[1] reads like a pattern


def test_scope() -> None:
    site = load_inventory_file(SITES["shop"])
    silver = _resolve(site, _text(site, Scope(cluster="silver")))
    assert sorted(demand.name for demand in silver.demands) == ["bare-1", "bios-1", "snap-1", "wide-1"]
    assert [item.name for item in silver.left_alone] == ["static-1"]
    tagged = _resolve(site, _text(site, Scope(cluster="gold", tag="team:*")))
    assert [demand.name for demand in tagged.demands] == ["web-1", "web-2"]
    folder = _resolve(site, _text(site, Scope(folder="vm/right")))
    assert [demand.name for demand in folder.demands] == ["twin-2"]


def test_left_alone_stands_there_as_a_comment() -> None:
    text = _text(load_inventory_file(SITES["shop"]))
    assert "#  vcls-1: managed by com.vmware.vim.eam\n" in text
    assert "#  asleep: it is suspended" in text


@pytest.mark.parametrize(
    ("scope", "what"),
    [
        (Scope(cluster="gould"), "gould: no such cluster\n  next: did you mean gold?"),
        (Scope(folder="nowhere"), "nowhere: no VM is in such a folder"),
        (Scope(tag="team:wob"), "team:wob: no VM carries such a tag\n  next: did you mean team:web?"),
    ],
)
def test_a_scope_that_is_not(scope: Scope, what: str) -> None:
    with pytest.raises(UnknownObjectError) as caught:
        _text(load_inventory_file(SITES["shop"]), scope)
    assert caught.value.render().startswith(what)
