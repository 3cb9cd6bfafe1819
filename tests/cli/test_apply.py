"""`vplacer apply`, `rollback` and `rehearse` at a simulated vCenter, over HTTPS."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Outcome, Runner
from tests.conftest import REPO
from vplacer.apply.clock import FastClock
from vplacer.inventory.load import load_inventory_file
from vplacer.inventory.vcenter import Inventory
from vplacer.jobs.overlays import save_overlays
from vplacer.lab.model.orders import Call, DropConnection, FailTask, When
from vplacer.lab.soap.server import LabServer
from vplacer.plan.changes import Clone, UpgradeHardware
from vplacer.plan.model import Plan
from vplacer.plan.observed import vm_facts
from vplacer.plan.plan_file import load_plan

pytestmark = pytest.mark.usefixtures("own_locks")

PASSWORD = "pass-7f3c-word"
SPEED = 50.0
CONSENTS = "--allow-power-cycle --allow-migration --allow-hw-upgrade"
Served = Callable[..., "Site"]


class Site:
    """A served site and how to reach it."""

    def __init__(self, server: LabServer, vplacer: Runner, name: str) -> None:
        self.server = server
        self.name = name
        self._run = vplacer
        overlays = "--overlays overlays" if Path("overlays").is_dir() else ""
        self.login = (
            f"--vcenter 127.0.0.1:{server.port} --ca-file {server.ca_file} --username {server.username} "
            f"--password-file secret {overlays}"
        )

    def __call__(self, command: str, stdin: str = "") -> Outcome:
        """Run a command at the site."""
        return self._run(f"{command} {self.login}", stdin)

    def inventory(self) -> Inventory:
        assert self.server.machine is not None
        return self.server.machine.state.inventory


@pytest.fixture
def served(vplacer: Runner, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """Return a function that serves an example site, whose clock and the program's run fast."""
    servers = []

    def serve(name: str, **options: Any) -> Site:
        site = load_inventory_file(REPO / "fixtures" / "sites" / f"{name}.yaml")
        server = LabServer(site, password=PASSWORD, speed=SPEED, clock_runs=True, **options).start()
        servers.append(server)
        Path("secret").write_text(PASSWORD)
        Path("secret").chmod(0o600)
        if site.overlays:
            save_overlays(Path("overlays"), tuple(site.overlays))
        assert server.machine is not None
        clock = FastClock(server.machine.clock(), SPEED)
        monkeypatch.setattr("vplacer.jobs.apply.MachineClock", lambda: clock)
        return Site(server, vplacer, name)

    yield serve
    for server in servers:
        server.stop()


def saved(site: Site, *options: str) -> Plan:
    """Plan the request of the site's name and save the plan."""
    outcome = site(f"plan -r {site.name} -o plan.json -q {' '.join(options)}")
    assert outcome.code == 0, outcome.err
    return load_plan(Path("plan.json"))


SITES = ["a100pcie", "a30pairs", "dgx2", "floating", "nvswitch", "subnuma", "untold", "vgpu"]


@pytest.mark.parametrize("name", SITES)
def test_planned_rehearsed_applied_planned_again_and_taken_back(
    name: str, served: Served, vplacer: Runner
) -> None:
    site = served(name)
    before = site.inventory()
    plan = saved(site)
    assert plan.rehearsal is not None
    assert (plan.rehearsal.faults, plan.rehearsal.steps) == ((), len(plan.steps))
    rehearsed = site(f"rehearse plan.json --speed 200 {CONSENTS} --format json")
    assert (rehearsed.code, json.loads(rehearsed.out)["status"]) == (0, "done")
    assert site.inventory() == before

    applied = site(f"apply plan.json {CONSENTS}")
    assert applied.code == 0, applied.out + applied.err
    assert applied.out.startswith(f"Apply complete: {len(plan.steps)} steps done;")
    again = site(f"plan -r {name} --format json")
    document = json.loads(again.out)
    assert document["steps"] == []
    assert document["summary"]["violations_after"] == 0

    back = site(f"rollback plan.json --yes {CONSENTS} --format json")
    assert back.code == 0, back.out
    restored(plan, before, site.inventory())


def restored(plan: Plan, before: Inventory, after: Inventory) -> None:
    """Every field that the plan wrote is as it was, but for what cannot be taken back."""
    then = {vm.moid: dict(vm_facts(vm)) for vm in before.vms}
    now = {vm.moid: dict(vm_facts(vm)) for vm in after.vms}
    written = [
        (step.vm, fact.field)
        for step in plan.steps
        if step.vm in then and not isinstance(step.change, Clone | UpgradeHardware)
        for fact in step.checks
        if fact.object == step.vm and fact.field in then[step.vm]
    ]
    assert [(vm, field) for vm, field in written if now[vm][field] != then[vm][field]] == []


def test_what_needs_consent_is_named_and_nothing_is_changed(served: Served) -> None:
    site = served("a30pairs")
    saved(site)
    before = site.inventory()
    outcome = site("apply plan.json")
    assert outcome.code == 3
    assert "--allow-power-cycle: VMs are switched off on the way (notebook-1)" in outcome.err
    checked = site("apply plan.json --check")
    assert checked.code == 3
    assert "Needs consent\n  --allow-power-cycle" in checked.out
    assert site(f"apply plan.json --check {CONSENTS}").code == 0
    assert site.inventory() == before
    assert not Path("plan.json.journal").exists()


def test_a_plan_for_another_vcenter_is_refused(served: Served, vplacer: Runner) -> None:
    assert vplacer("plan --from floating -r floating -o plan.json").code == 0
    outcome = served("a30pairs")("apply plan.json")
    assert outcome.code == 3
    assert "this is not the vCenter that the plan was made for; nothing was changed" in outcome.err


def test_a_stale_plan_is_refused_and_what_moved_is_named(served: Served) -> None:
    site = served("floating")
    plan = saved(site)
    assert site.server.machine is not None
    site.server.machine.power_on(plan.steps[0].vm)
    site.server.machine.advance(60)
    outcome = site("apply plan.json")
    assert outcome.code == 6
    assert "the plan is stale; nothing was changed" in outcome.err
    assert site("apply plan.json --check --format json").code == 6


def test_a_hypothetical_or_damaged_plan_is_never_carried_out(served: Served) -> None:
    site = served("floating")
    text = json.dumps(json.loads(plan_text(site)) | {"seed": 2})
    Path("edited.json").write_text(text)
    outcome = site("apply edited.json")
    assert (outcome.code, "FileFormatError" in outcome.err) == (3, True)


def plan_text(site: Site) -> str:
    saved(site)
    return Path("plan.json").read_text()


def test_events_are_lines_of_json_and_the_outcome_is_the_last(served: Served) -> None:
    site = served("floating")
    plan = saved(site)
    outcome = site("apply plan.json --format ndjson")
    lines = [json.loads(line) for line in outcome.out.splitlines()]
    assert (outcome.code, outcome.err) == (0, "")
    assert lines[0]["type"] == "version"
    assert all({"@timestamp", "@level", "type"} <= line.keys() for line in lines)
    types = [line["type"] for line in lines]
    assert types.count("planned_change") == types.count("apply_start") == len(plan.steps)
    assert types.count("apply_complete") == len(plan.steps)
    assert types[-2:] == ["change_summary", "outcome"]
    assert (lines[-1]["status"], lines[-1]["exit_code"]) == ("done", 0)


def test_an_error_before_the_first_change_is_an_event_too(served: Served) -> None:
    site = served("a30pairs")
    saved(site)
    outcome = site("apply plan.json --format ndjson")
    last = json.loads(outcome.out.splitlines()[-1])
    assert (last["type"], last["code"], last["exit_code"]) == ("diagnostic", "ConsentMissing", 3)


def test_a_step_that_fails_is_told_first_with_what_to_do(served: Served) -> None:
    site = served("a30pairs")
    plan = saved(site)
    power_on = next(step for step in plan.steps if step.id == "vm-2006/power_on")
    assert site.server.machine is not None
    site.server.machine.orders.add(FailTask(When(Call.POWER_ON, power_on.vm)))
    outcome = site(f"apply plan.json {CONSENTS} -q")
    assert outcome.code == 7
    assert outcome.out.splitlines()[0] == "NEEDS ATTENTION"
    assert "notebook-1" in outcome.out.splitlines()[1]
    assert "Journal: plan.json.journal\n  go on:      vplacer apply --resume plan.json" in outcome.out
    vm = next(vm for vm in site.inventory().vms if vm.moid == power_on.vm)
    assert vm.is_on


def test_after_a_lost_answer_nothing_is_done_twice(served: Served) -> None:
    site = served("floating")
    plan = saved(site)
    assert site.server.machine is not None
    site.server.machine.orders.add(DropConnection(When(Call.RECONFIGURE), carried_out=True))
    outcome = site("apply plan.json")
    assert outcome.code == 0, outcome.out
    assert site.server.calls["ReconfigVM_Task"] == sum(s.kind.value == "reconfigure" for s in plan.steps)


def test_a_fresh_plan_is_never_asked_about_without_a_terminal(served: Served) -> None:
    site = served("floating")
    outcome = site("apply -r floating", stdin="vc-lab\n")
    assert outcome.code == 3
    assert "nobody can be asked for consent; nothing was changed" in outcome.err
    assert list(Path().glob("*.json")) == []


def test_a_fresh_plan_is_saved_and_carried_out_with_yes(served: Served) -> None:
    site = served("floating")
    outcome = site("apply -r floating --yes -o fresh.json")
    assert outcome.code == 0, outcome.err
    assert "Plan: 1 to reconfigure" in outcome.out
    assert "Apply complete" in outcome.out
    assert Path("fresh.json.journal").exists()


@pytest.mark.parametrize(
    ("typed", "code", "word"), [("floating", 0, "Apply complete"), ("yes", 3, "Not begun")]
)
def test_consent_is_the_vcenters_name(
    typed: str, code: int, word: str, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = served("floating")
    monkeypatch.setattr("vplacer.cli.confirm.is_terminal", lambda stream: True)
    outcome = site("apply -r floating -o fresh.json", stdin=f"{typed}\n")
    assert (outcome.code, word in outcome.out) == (code, True)
    assert "Type the vCenter's name (floating)" in outcome.err


def test_insecure_and_yes_go_together_only_by_configuration(served: Served) -> None:
    site = served("floating")
    outcome = site("apply -r floating --yes --insecure")
    assert (outcome.code, "--insecure and --yes exclude each other" in outcome.err) == (3, True)
    Path("config.toml").write_text("[apply]\ninsecure = true\n")
    assert site("apply -r floating --yes --insecure --config config.toml").code == 0


def test_a_rollback_shows_itself_first(served: Served, vplacer: Runner) -> None:
    site = served("a30pairs")
    saved(site)
    assert vplacer("rollback plan.json --dry-run").code == 3
    assert site(f"apply plan.json {CONSENTS}").code == 0
    shown = vplacer("rollback plan.json.journal --dry-run")
    assert shown.code == 0
    assert "llm-1: the VM was made by this plan and has run since: it is kept" in shown.out
    assert "Rollback: 3 steps to take back." in shown.out
    assert site("rollback plan.json").code == 3
    refused = site("rollback plan.json --yes")
    assert (refused.code, "--allow-power-cycle" in refused.err) == (3, True)


def test_rehearsals_with_faults(served: Served, vplacer: Runner) -> None:
    assert vplacer("plan --from a30pairs -r a30pairs -o plan.json").code == 0
    command = f"rehearse plan.json --from a30pairs --speed 200 {CONSENTS}"
    outcome = vplacer(f"{command} --fault fail@vm-2006/power_on")
    assert outcome.code == 7
    assert "Ordered to go wrong: the task of the step fails: switch notebook-1 on at esx04" in outcome.out
    assert "NEEDS ATTENTION\n  ! notebook-1: " in outcome.out
    assert vplacer(f"{command} --fault drop-after@21 --fault expire@3").code == 0
    assert vplacer(f"{command} --fault nonsense").code == 3
    assert vplacer(f"{command} --fault fail@99").code == 3
    assert vplacer(f"rehearse plan.json --from floating {CONSENTS}").code == 3


def test_a_failed_rehearsal_is_loud(vplacer: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vplacer.lab.model.orders.Orders.failure", lambda *_: refusal())
    outcome = vplacer("plan --from floating -r floating")
    assert "REHEARSAL FAILED: 0 of 2 steps carried out" in outcome.out
    assert "Warning: the rehearsal of this plan failed: " in outcome.err
    assert "Rehears" not in vplacer("plan --from floating -r floating --no-rehearsal").out


def refusal() -> object:
    from vplacer.lab.model.faults import LabFault

    return LabFault("SystemError", "ordered")


def test_plan_asks_the_vcenter_about_its_steps(served: Served, vplacer: Runner) -> None:
    site = served("a30pairs")
    outcome = site("plan -r a30pairs --check")
    assert outcome.code == 0
    assert outcome.out.endswith("Checked: 21 steps, nothing stands in the way.\n")
    assert site.server.calls["CheckVmConfig_Task"] > 0
    printed = site("plan -r a30pairs --check --format json")
    assert "Checked:" not in printed.err
    assert json.loads(printed.out)["check"]["clear"] is True
    Path("printed.json").write_text(printed.out)
    assert vplacer("show printed.json").code == 0
    assert vplacer("plan --from a30pairs -r a30pairs --check").code == 3


def test_the_password_is_in_nothing_that_is_written(served: Served) -> None:
    site = served("a30pairs")
    saved(site)
    outcomes = [
        site(f"apply plan.json {CONSENTS} --format ndjson --debug"),
        site("apply plan.json --check --debug -vv"),
        site(f"rollback plan.json --yes {CONSENTS} -v --debug"),
    ]
    written = [path.read_text() for path in Path().rglob("*") if path.is_file() and path.name != "secret"]
    assert len(written) >= 2
    for text in (*written, *(outcome.out + outcome.err for outcome in outcomes)):
        assert PASSWORD not in text
