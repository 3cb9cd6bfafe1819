"""What could not be read, where the inventory itself says less than an inventory file can."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.constraints.state_case import build_state
from vplacer.constraints.holdings import host_use
from vplacer.constraints.state import Problem
from vplacer.constraints.unread import unread_on_host
from vplacer.inventory.hidden_holders import hidden_holder_gaps
from vplacer.inventory.vcenter import Gap, Inventory

KIND = {
    "cpu": {"packages": 1, "cores": 8},
    "memory_gib": 64,
    "devices": [{"gpu": "L40S", "count": 2, "node": 0}],
}
SITE = {
    "host_kinds": {"k": KIND},
    "clusters": [
        {"name": "a", "hosts": [{"kind": "k", "name": "a1"}, {"kind": "k", "name": "a2"}]},
        {"name": "b", "hosts": [{"kind": "k", "name": "b1"}]},
    ],
    "vms": [{"name": "vm", "on": "a1", "cpus": 2, "memory_gib": 4, "devices": [{"dynamic": "L40S"}]}],
}
WHOLE = build_state(SITE, {}).problem


def _problem(inventory: Inventory) -> Problem:
    return Problem(inventory, WHOLE.topologies, WHOLE.request)


def _unknown_hosts(inventory: Inventory) -> list[str]:
    problem = _problem(inventory)
    return [host.name for host in inventory.hosts if unread_on_host(problem, host) is not None]


@pytest.mark.parametrize(
    ("pool_known", "expected"), [(True, ["a1", "a2"]), (False, ["a1", "a2", "b1"])], ids=["pool", "no pool"]
)
def test_a_vm_of_unknown_host_may_be_on_any_of_its_cluster(pool_known: bool, expected: list[str]) -> None:
    (vm,) = WHOLE.inventory.vms
    vm = replace(vm, host=None, pool=vm.pool if pool_known else None)
    gaps = (Gap(vm.moid, "runtime.host", "permission", "no"),)
    assert _unknown_hosts(replace(WHOLE.inventory, vms=(vm,), gaps=gaps)) == expected


@pytest.mark.parametrize(
    ("kind", "path", "expected"),
    [
        ("HostSystem", "config.pciPassthruInfo", ["a1", "a2", "b1"]),
        ("VirtualMachine", "config.hardware.device", ["a1"]),
        ("ClusterComputeResource", "configurationEx", ["a1", "a2", "b1"]),
        ("VirtualMachine", "runtime.question", []),
    ],
)
def test_a_property_that_no_object_of_a_type_tells(kind: str, path: str, expected: list[str]) -> None:
    assert _unknown_hosts(replace(WHOLE.inventory, gaps=(Gap(kind, path, "too_old", "old"),))) == expected


def test_a_vm_nobody_sees_holds_its_card_and_keeps_others_off() -> None:
    inventory = WHOLE.inventory
    (vm,) = inventory.vms
    (host, *_) = inventory.hosts
    assert [b.address for b in host.bindings] == [None], "this API does not name the card"
    hidden = replace(inventory, vms=())
    use = host_use(_problem(hidden), host, ())
    assert use.free == ()
    assert [(h.vm, h.address, len(h.candidates)) for h in use.uncertain] == [(vm.moid, None, 2)]
    text = unread_on_host(_problem(hidden), host)
    assert text is not None
    assert f"the host holds cards for VM {vm.moid}, which this account cannot see" in text
    assert _unknown_hosts(hidden) == ["a1"]
    (gap,) = hidden_holder_gaps(hidden.hosts, hidden.vm_by_moid)
    assert (gap.object, gap.path, gap.kind) == (vm.moid, "", "permission")
    assert "cards of a1" in gap.reason
    assert hidden_holder_gaps(inventory.hosts, inventory.vm_by_moid) == ()


def test_a_binding_of_a_vm_that_is_elsewhere_now_holds_one_card() -> None:
    inventory = WHOLE.inventory
    (vm,) = inventory.vms
    (host, other, _) = inventory.hosts
    moved = replace(inventory, vms=(replace(vm, host=other.moid),))
    use = host_use(_problem(moved), host, ())
    assert use.free == ()
    assert len(use.uncertain) == 1
    assert _unknown_hosts(moved) == []
