"""The page of a plan in a browser, and what it is made of."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.page.browser import LOOKS, opened, violations
from tests.page.reports import HOSTILE, shown_site
from vplacer.inventory.load import load_inventory_file
from vplacer.inventory.moids import moid_order
from vplacer.plan.before_after import Part, host_changes
from vplacer.plan.model import Plan
from vplacer.plan.observed import observe_host, observe_vm
from vplacer.plan.observed_read import observed_cards, observed_holdings, observed_nodes
from vplacer.plan.plan_file import load_plan
from vplacer.report.plan_html import plan_html
from vplacer.topology.build import build_topologies
from vplacer.topology.levels import NumaRelation

if TYPE_CHECKING:
    from playwright.sync_api import Browser

REPO = Path(__file__).resolve().parents[2]
SITES = sorted((REPO / "fixtures" / "sites").glob("*.yaml"))


def made(folder: Path, *arguments: str) -> Plan:
    """Return what `vplacer plan` saves."""
    file = folder / "plan.json"
    command = [sys.executable, "-m", "vplacer", "plan", *arguments, "-o", str(file), "--force"]
    done = subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=False)
    assert file.is_file(), done.stderr
    return load_plan(file)


@pytest.fixture(scope="module")
def repair(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    folder = tmp_path_factory.mktemp("repair")
    folder.joinpath("site.yaml").write_text(shown_site(), encoding="utf-8")
    return made(folder, "--from", str(folder / "site.yaml"), "--repair")


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return made(tmp_path_factory.mktemp("mixed"), "--lab", "a30pairs", "-r", "a30pairs")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, repair: Plan, mixed: Plan) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    hostile = tuple(replace(vm, name=name) for vm, name in zip(mixed.vms, HOSTILE, strict=False))
    plans = {
        "repair": repair,
        "mixed": mixed,
        "hostile": replace(mixed, vms=(*hostile, *mixed.vms[len(hostile) :]), notes=HOSTILE),
    }
    for name, plan in plans.items():
        folder.joinpath(f"{name}.html").write_text(plan_html(plan), encoding="utf-8")
    return folder


@pytest.mark.parametrize("path", SITES, ids=lambda path: path.stem)
def test_what_a_plan_remembers_of_hosts_and_vms_is_read_back(path: Path) -> None:
    inventory = load_inventory_file(path).inventory
    topologies = build_topologies(inventory)
    for host in inventory.hosts[:6]:
        vms = inventory.vms_by_host.get(host.moid, ())
        fields = dict(observe_host(host, vms).fields)
        topology = topologies[host.moid]
        assert [(n.id, n.cores, n.memory_bytes, n.package) for n in observed_nodes(fields["numa_nodes"])] == [
            (n.id, n.core_count, n.memory_bytes, n.package) for n in host.numa_nodes
        ]
        cards = [card.address for card in observed_cards(fields["cards"])]
        assert cards == sorted(d.address for d in (*topology.gpus, *topology.nics))
        for vm in vms:
            named, untold = observed_holdings(dict(observe_vm(vm).fields)["devices"])
            assert len(named) + len(untold) == sum(
                1 for device in vm.devices if type(device.backing).__name__ != "NetworkBacking"
            )


def test_a_repair_brings_remote_cards_home(repair: Plan) -> None:
    changes = host_changes(repair)
    assert [item.before.moid for item in changes] == sorted(
        (item.before.moid for item in changes), key=moid_order
    )
    before = {vm.place.name: vm for change in changes for vm in change.before.vms}
    after = {vm.place.name: vm for change in changes for vm in change.after.vms}
    assert before["vision-etl"].farthest is NumaRelation.OTHER_SOCKET
    assert after["vision-etl"].farthest is NumaRelation.SAME_NODE
    assert before["train-7b"].farthest is after["train-7b"].farthest is NumaRelation.SAME_NODE


def test_a_card_is_never_free_while_a_vm_may_hold_it(mixed: Plan) -> None:
    host = next(change for change in host_changes(mixed) if change.before.name == "esx04")
    assert set(host.parts.values()) == {Part.NEW, Part.CHANGES}
    gpus = [card for card in host.before.cards if card.label.startswith("GPU")]
    assert all(card.maybe_held for card in gpus), "notebook-1 holds one of them"
    nics = [card for card in host.before.cards if card.label.startswith("NIC")]
    assert not any(card.maybe_held for card in nics)


def test_before_and_after_stand_side_by_side_with_impact_and_steps(
    browser: Browser, files: Path, repair: Plan
) -> None:
    with opened(browser, files / "repair.html") as page:
        page.locator("details.host").first.scroll_into_view_if_needed()
        first = page.locator("details.host", has_text="vision-etl").first
        first.locator(".before .vm").first.wait_for()
        assert "other socket" in first.locator(".before .vm", has_text="vision-etl").inner_text()
        assert "other socket" not in first.locator(".after").inner_text()
        left, right = (first.locator(f".{side}").bounding_box() for side in ("before", "after"))
        assert left is not None
        assert right is not None
        assert right["x"] >= left["x"] + left["width"]
        assert page.locator(".steps > li").count() == len(repair.steps)
        assert "power cycle" in page.locator(".steps").inner_text()
        assert "Rehearsed:" in page.locator("main").inner_text()
        assert "Optimal, proved" in page.locator(".verdict").inner_text()


def test_hostile_names_stay_text(browser: Browser, files: Path) -> None:
    with opened(browser, files / "hostile.html") as page:
        page.on("dialog", lambda dialog: pytest.fail(f"a name ran as script: {dialog.message}"))
        assert "<script>alert(1)" in page.locator("main").inner_text()
        assert page.locator("img").count() == 0


@pytest.mark.parametrize("look", [*LOOKS, "print"])
def test_axe_finds_nothing(browser: Browser, axe: Path, files: Path, look: str) -> None:
    name = "hostile" if look == "narrow" else "mixed"
    with opened(browser, files / f"{name}.html", **LOOKS.get(look, {})) as page:
        if look == "print":
            page.emulate_media(media="print")
        page.evaluate("document.querySelectorAll('details').forEach((item) => { item.open = true; })")
        page.wait_for_timeout(200)
        assert violations(page) == []
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0


def test_what_cannot_be_placed_is_there_with_reasons(tmp_path: Path, browser: Browser) -> None:
    plan = made(tmp_path, "--lab", "floating", "-r", "floating-nofit", "--partial")
    file = tmp_path / "page.html"
    file.write_text(plan_html(plan), encoding="utf-8")
    with opened(browser, file) as page:
        assert "NUMA node room" in page.locator("[aria-labelledby=unplaced]").inner_text()


def test_a_plan_is_the_same_bytes_each_time(mixed: Plan) -> None:
    assert plan_html(mixed) == plan_html(mixed)
