"""Plans of labels for small sites, as data; planned again with the labels set, nothing is left to do."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from vplacer.inventory.site import Site
from vplacer.inventory.site_load import load_site_text
from vplacer.plan.labels.build import build_label_plan
from vplacer.plan.labels.labels_file import labels_bytes, parse_labels
from vplacer.plan.labels.model import CardState, LabelPlan, LabelScheme, Scheme
from vplacer.plan.labels.outcome import with_labels
from vplacer.plan.labels.staleness import stale_labels
from vplacer.plan.source import source_of
from vplacer.report.labels_text import labels_text
from vplacer.topology.build import build_topologies

FILES = sorted((Path(__file__).parent / "cases").glob("*.yaml"))
STATES = ("kept", "right", "in_use", "left_out")


@dataclass(frozen=True)
class Case:
    id: str
    site: dict[str, Any]
    data: dict[str, Any]

    @property
    def scheme(self) -> LabelScheme:
        data = self.data
        return LabelScheme(
            Scheme(data.get("scheme", "node")),
            data.get("prefix", "gpu"),
            data.get("nic_prefix", "nic"),
            replace=data.get("replace", False),
            in_use=data.get("in_use", False),
        )

    def load(self) -> Site:
        site = copy.deepcopy(self.site) | self.data.get("site", {})
        return load_site_text(json.dumps(site), f"{self.id}.yaml")


def cases() -> list[Any]:
    found = []
    for file in FILES:
        document = yaml.safe_load(file.read_text())
        found += [
            pytest.param(Case(data["name"], document["site"], data), id=data["name"])
            for data in document["cases"]
        ]
    return found


def plan_of(site: Site, scheme: LabelScheme) -> LabelPlan:
    inventory = site.inventory
    return build_label_plan(
        inventory,
        build_topologies(inventory, site.overlays),
        scheme,
        inventory.hosts,
        created="2026-11-30T09:00:00Z",
        tool_version="0.1.0",
        source=source_of(inventory, "f" * 64, ()),
    )


def device_names(site: Site) -> dict[tuple[str, Any], str]:
    """Return names as the site's file has them (gpu0, nic1) by host and address."""
    topologies = build_topologies(site.inventory, site.overlays)
    return {
        (host.moid, device.address): f"{kind}{index}"
        for host in site.inventory.hosts
        for kind, found in (("gpu", topologies[host.moid].gpus), ("nic", topologies[host.moid].nics))
        for index, device in enumerate(found)
    }


@pytest.mark.parametrize("case", cases())
def test_case(case: Case) -> None:
    site, expect = case.load(), case.data["expect"]
    plan = plan_of(site, case.scheme)
    names = device_names(site)
    found: dict[str, Any] = {state.value: {} for state in CardState}
    for card in plan.cards:
        name = names[card.host, card.address]
        host = plan.name(card.host)
        found[card.state.value].setdefault(host, {})[name] = card.after
        reason = expect.get("because", {}).get(host, {}).get(name)
        assert reason is None or reason in (card.why or "")
    if "set" in expect or "kept" not in expect:
        assert found["set"] == expect.get("set", {})
    for state in STATES:
        told = {host: sorted(cards) for host, cards in found[state].items()}
        assert told == {host: sorted(cards) for host, cards in expect.get(state, {}).items()}, state
    uses = {use.label: use for use in plan.labels}
    for label, wanted in expect.get("labels", {}).items():
        use = uses[label]
        words = "not portable" if use.node is None else f"{use.node}{' alike' if use.everywhere else ''}"
        assert words == str(wanted), label
    for label, text in expect.get("why", {}).items():
        assert text in "; ".join(uses[label].why)
        assert uses[label].advice
    hosts = {plan.name(host.host): host.rebind.value for host in plan.hosts}
    assert {name: hosts[name] for name in expect.get("hosts", {})} == expect.get("hosts", {})
    stranded = [
        f"{plan.name(vm.vm)} {vm.needs} of {vm.has}{' running' if vm.running else ''}" for vm in plan.stranded
    ]
    assert stranded == expect.get("stranded", [])
    for text in expect.get("notes", ()):
        assert any(text in note for note in plan.notes)


@pytest.mark.parametrize("case", cases())
def test_with_the_labels_set_nothing_is_left_to_do(case: Case) -> None:
    site = case.load()
    plan = plan_of(site, case.scheme)
    after: dict[str, dict[Any, str | None]] = {}
    for card in plan.changes:
        after.setdefault(card.host, {})[card.address] = card.after
    labelled = replace(site, inventory=with_labels(site.inventory, after))
    again = plan_of(labelled, case.scheme)
    assert again.changes == ()
    assert [use.label for use in again.labels] == [use.label for use in plan.labels]
    topologies = build_topologies(labelled.inventory, labelled.overlays)
    assert stale_labels(plan, site.inventory, topologies) == ()
    assert stale_labels(plan, labelled.inventory, topologies) == ()


@pytest.mark.parametrize("case", cases())
def test_every_plan_comes_back_the_same(case: Case) -> None:
    plan = plan_of(case.load(), case.scheme)
    again = parse_labels(labels_bytes(plan), "labels.json")
    assert again == plan
    assert labels_text(again, verbosity=1) == labels_text(plan, verbosity=1)
