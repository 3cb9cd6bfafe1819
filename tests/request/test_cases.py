"""Runs the cases of tests/cases/request: a request, and the demands or the exact error lines it leads to.

A case has ``request`` (text, called request.yaml) and either ``error`` (class) with ``says`` (the whole
text), or ``expect``: per demand the fields to compare, ``left_alone`` by VM name, ``notes``, ``rules``,
``options``, ``future``, or the ``mix`` to count with. With ``site`` the request is resolved, without it only
loaded. ``rename`` gives VMs or pools of the site another name (a site file cannot have two VMs of one name).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import REPO
from vplacer.errors import VplacerError
from vplacer.inventory.load import load_inventory_file
from vplacer.inventory.site import Site
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import Vm
from vplacer.request.future import future_mix
from vplacer.request.load import parse_request
from vplacer.request.resolve import resolve
from vplacer.topology.build import build_topologies
from vplacer.topology.host_topology import HostTopology

CASES = REPO / "tests" / "cases" / "request"


def _cases() -> list[Any]:
    return list(_each_case())


def _each_case() -> Iterator[Any]:
    for path in sorted(CASES.glob("*.yaml")):
        document = yaml.safe_load(path.read_text())
        for case in document["cases"]:
            yield pytest.param({"site": document.get("site"), **case}, id=f"{path.stem}: {case['name']}")


@cache
def _site(name: str) -> tuple[Site, dict[str, HostTopology]]:
    site = load_inventory_file(CASES / "sites" / f"{name}.yaml")
    return site, build_topologies(site.inventory, site.overlays)


def _renamed(inventory: Inventory, names: dict[str, str]) -> Inventory:
    known = {vm.name for vm in inventory.vms} | {pool.name for pool in inventory.pools}
    assert set(names) <= known, "the case renames what the site does not have"
    return replace(
        inventory,
        vms=tuple(replace(vm, name=names.get(vm.name, vm.name)) for vm in inventory.vms),
        pools=tuple(replace(pool, name=names.get(pool.name, pool.name)) for pool in inventory.pools),
    )


def _owner(vm: Vm) -> str | None:
    return f"managed by {vm.ownership.managed_by}" if vm.ownership.managed_by else None


def _run(case: dict[str, Any]) -> Any:
    request = parse_request(case["request"], "request.yaml")
    if case["site"] is None:
        return request
    site, topologies = _site(case["site"])
    inventory = _renamed(site.inventory, case.get("rename", {}))
    managed = frozenset(case.get("include_managed", ()))
    return resolve(request, inventory, topologies, owner_reason=_owner, include_managed=managed)


@pytest.mark.parametrize("case", _cases())
def test_case(case: dict[str, Any]) -> None:
    if "error" in case:
        with pytest.raises(VplacerError) as caught:
            _run(case)
        assert caught.value.render().rstrip() == case["says"].rstrip()
        assert type(caught.value).__name__ == case["error"]
        assert caught.value.exit_code == 3
        return
    found = _run(case)
    for key, wanted in case["expect"].items():
        if key == "demands":
            by_name = {demand.name: demand for demand in found.demands}
            assert sorted(wanted) == sorted(by_name)
            for name, want in wanted.items():
                _same(want or {}, by_name[name], name)
        elif key == "left_alone":
            assert {item.name: item.reason for item in found.left_alone} == wanted
        elif key == "mix":
            _same(wanted, future_mix(found), key)
        else:
            _same(wanted, getattr(found, key), key)


def _same(wanted: Any, found: Any, where: str) -> None:
    """Compare what the case states; fields of a value that it does not state are not looked at."""
    if is_dataclass(found):
        known = {item.name for item in fields(found)}
        assert set(wanted) <= known, f"{where}: no such field"
        for key, value in wanted.items():
            _same(value, getattr(found, key), f"{where}.{key}")
    elif isinstance(found, tuple):
        assert len(wanted) == len(found), f"{where}: {found}"
        for index, (want, have) in enumerate(zip(wanted, found, strict=True)):
            _same(want, have, f"{where}[{index}]")
    else:
        assert found == wanted, where


def test_every_case_file_is_read() -> None:
    assert {Path(path).stem for path in CASES.glob("*.yaml")} >= {"faults", "defaults", "selection", "rules"}
