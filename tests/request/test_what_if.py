"""A site as it might be: the cases of tests/cases/what_if, and what does not depend on a case.

``expect`` of a case, any of: ``changes`` (the sentences), ``hosts`` (names), ``same_as`` (a host and the one
whose hardware it has), ``gpus`` (node and model of each card), ``nvlink_groups`` (how many), ``vms`` (of a
host), ``all_vms``, ``displaced``, ``held`` (VMs that hold cards of a host), ``groups`` (hosts of a VM-host
rule), ``pool`` (MiB unreserved) and ``pool_less`` (how much less than before).
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.conftest import REPO
from vplacer.errors import RequestError
from vplacer.inventory.host import Host
from vplacer.inventory.site import Site
from vplacer.inventory.site_load import load_site_text
from vplacer.inventory.yaml_marks import parse_document
from vplacer.request.what_if.change import change_site
from vplacer.request.what_if.file import parse_what_if
from vplacer.request.what_if.site_draft import ChangedSite
from vplacer.topology.build import build_topologies

PATH = REPO / "tests" / "cases" / "what_if" / "changes.yaml"
DOCUMENT = parse_document(PATH.read_text(), PATH.name).data


def _site() -> Site:
    return load_site_text(json.dumps({"format_version": 1, **DOCUMENT["site"]}), "site.yaml")


def _changed(section: dict[str, Any], site: Site) -> ChangedSite:
    text = json.dumps({"version": 1, "what_if": section}, indent=1)
    return change_site(parse_what_if(text, "what-if.yaml"), site.inventory, site.overlays)


@pytest.mark.parametrize("case", DOCUMENT["cases"], ids=lambda case: str(case["title"]))
def test_change(case: dict[str, Any]) -> None:
    site = _site()
    told = _told(_changed(case["what_if"], site), site, case["expect"])
    assert told == case["expect"]


def _told(changed: ChangedSite, before: Site, expected: dict[str, Any]) -> dict[str, Any]:
    inventory = changed.inventory
    hosts = {host.name: host for host in inventory.hosts}
    topologies = build_topologies(inventory, changed.overlays)
    was = {pool.name: pool.memory_unreserved_mib or 0 for pool in before.inventory.pools}
    now = {pool.name: pool.memory_unreserved_mib or 0 for pool in inventory.pools}
    rules = {rule.name: rule for cluster in inventory.clusters for rule in cluster.vm_host_rules}
    names = {host.moid: host.name for host in inventory.hosts}
    told: dict[str, Any] = {
        "changes": list(changed.changes),
        "hosts": list(hosts),
        "same_as": {
            name: other
            for name, other in expected.get("same_as", {}).items()
            if _hardware(hosts[name]) == _hardware(hosts[other])
            and topologies[hosts[name].moid].nvlink_groups == topologies[hosts[other].moid].nvlink_groups
        },
        "gpus": {
            name: [[gpu.node, gpu.model] for gpu in topologies[hosts[name].moid].gpus]
            for name in expected.get("gpus", {})
        },
        "nvlink_groups": {
            name: len(topologies[hosts[name].moid].nvlink_groups)
            for name in expected.get("nvlink_groups", {})
        },
        "vms": {
            name: sorted(vm.name for vm in inventory.vms_by_host.get(hosts[name].moid, ()))
            for name in expected.get("vms", {})
        },
        "all_vms": sorted(vm.name for vm in inventory.vms),
        "displaced": sorted(vm.name for vm in changed.displaced),
        "held": {name: [b.vm for b in hosts[name].bindings] for name in expected.get("held", {})},
        "groups": {name: [names[h] for h in rules[name].hosts] for name in expected.get("groups", {})},
        "pool": {name: now[name] for name in expected.get("pool", {})},
        "pool_less": {name: was[name] - now[name] for name in expected.get("pool_less", {})},
    }
    return {key: told[key] for key in expected}


def _hardware(host: Host) -> Host:
    """Return a host without what is its own."""
    devices = tuple(replace(d, system_id=None, graphics=None) for d in host.pci_devices)
    pnics = tuple(replace(pnic, mac=None) for pnic in host.pnics)
    return replace(host, moid="", name="", uuid=None, bindings=(), pci_devices=devices, pnics=pnics)


@pytest.mark.parametrize("case", DOCUMENT["faults"], ids=lambda case: str(case["error"]))
def test_what_cannot_be_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(RequestError) as refused:
        _changed(case["what_if"], _site())
    assert case["error"] in str(refused.value)
    assert str(refused.value).startswith("what-if.yaml")


def test_the_inventory_read_is_not_touched() -> None:
    site = _site()
    for case in DOCUMENT["cases"]:
        _changed(case["what_if"], site)
    assert site == _site()


def test_the_same_change_gives_the_same_site() -> None:
    for case in DOCUMENT["cases"]:
        assert _changed(case["what_if"], _site()) == _changed(case["what_if"], _site())
