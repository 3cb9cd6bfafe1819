"""What may run when: hosts and groups, parallelism, waves, windows, spacing, and the wish to stop."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.apply.scenes import ALL_CONSENTS, Scene, fixture_scene, site_scene
from vplacer.apply.events import ApplyEvent, EventType
from vplacer.apply.lock import apply_lock
from vplacer.apply.options import ApplyOptions, Window
from vplacer.apply.outcome import Outcome, ProblemKind, Status, StepState
from vplacer.apply.run import apply_plan, check_only, resume, roll_back
from vplacer.apply.stop import Stop, StopLevel
from vplacer.errors import ConsentMissing, RequestError, StaleError, UsageError, VplacerError
from vplacer.inventory.vm import VmPower
from vplacer.lab.model.edit import VmEdit
from vplacer.lab.model.machine import MachineOptions
from vplacer.lab.model.port import LabPort
from vplacer.plan.model import StepKind


@dataclass
class Log:
    """Keeps events."""

    events: list[ApplyEvent] = field(default_factory=list)

    def __call__(self, event: ApplyEvent) -> None:
        self.events.append(event)

    def spans(self) -> dict[str, tuple[datetime, datetime]]:
        """Return from when to when each step ran."""
        began = {e.step: e.at for e in self.events if e.type is EventType.APPLY_START and e.step}
        return {
            e.step: (began[e.step], e.at)
            for e in self.events
            if e.type is EventType.APPLY_COMPLETE and e.step
        }

    def off(self) -> dict[str, tuple[datetime, datetime]]:
        """Return from when to when each VM was disturbed."""
        found = {}
        spans = self.spans()
        for step, (start, _) in spans.items():
            vm = step.rpartition("/")[0]
            if step.endswith("/power_off"):
                found[vm] = (start, spans[f"{vm}/power_on"][1])
        return found


def _run(
    scene: Scene, folder: Path, options: ApplyOptions = ALL_CONSENTS, stop: Stop | None = None
) -> tuple[Outcome, Log, LabPort]:
    port, log = scene.port(), Log()
    outcome = apply_plan(
        scene.plan, port, options, folder / "plan.journal", port.clock, log, stop, lock_folder=folder
    )
    return outcome, log, port


def _overlap(one: tuple[datetime, datetime], other: tuple[datetime, datetime]) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _most_at_once(spans: list[tuple[datetime, datetime]]) -> int:
    return max(sum(start <= moment < end for start, end in spans) for moment, _ in spans)


def test_one_vm_of_a_host_at_a_time(tmp_path: Path) -> None:
    scene = site_scene("resize")
    outcome, log, _ = _run(scene, tmp_path, replace(ALL_CONSENTS, parallelism=12))
    assert outcome.status is Status.DONE
    hosts = {vm.moid: vm.host for vm in scene.site.inventory.vms}
    off = log.off()
    assert len(off) == 12
    for one, span in off.items():
        for other, span_of_other in off.items():
            if one < other and hosts[one] == hosts[other]:
                assert not _overlap(span, span_of_other), f"{one} and {other}"
    assert _most_at_once(list(off.values())) == 3


def test_one_vm_of_a_group_at_a_time(tmp_path: Path) -> None:
    scene = site_scene("resize-apart")
    outcome, log, _ = _run(scene, tmp_path, replace(ALL_CONSENTS, parallelism=12))
    assert outcome.status is Status.DONE
    names = {vm.moid: vm.name for vm in scene.site.inventory.vms}
    group = [span for vm, span in log.off().items() if names[vm] in ("web-1", "web-2", "web-3")]
    assert len(group) == 3
    assert not any(_overlap(a, b) for a in group for b in group if a is not b)


@pytest.mark.parametrize("parallelism", [1, 2])
def test_no_more_tasks_than_allowed(parallelism: int, tmp_path: Path) -> None:
    outcome, log, _ = _run(site_scene("resize"), tmp_path, replace(ALL_CONSENTS, parallelism=parallelism))
    assert outcome.status is Status.DONE
    assert _most_at_once(list(log.spans().values())) == parallelism
    assert _most_at_once(list(log.off().values())) <= parallelism


def test_a_wave_begins_when_the_one_before_is_done(tmp_path: Path) -> None:
    outcome, log, _ = _run(site_scene("resize"), tmp_path, replace(ALL_CONSENTS, waves=(1, 3)))
    assert outcome.status is Status.DONE
    spans = sorted(log.off().values())
    waves = [spans[:1], spans[1:4], spans[4:7], spans[7:10], spans[10:]]
    for earlier, later in itertools.pairwise(waves):
        assert max(end for _, end in earlier) <= min(start for start, _ in later)


def test_a_failure_keeps_the_next_wave_from_beginning(tmp_path: Path) -> None:
    scene = site_scene("resize")
    port = LabPort(scene.port(MachineOptions(deaf=frozenset({scene.plan.steps[0].vm}))).machine)
    options = replace(ALL_CONSENTS, waves=(1,), allow_hard_power_off=False)
    outcome = apply_plan(scene.plan, port, options, tmp_path / "j", port.clock, lock_folder=tmp_path)
    assert (outcome.status, outcome.changed, outcome.exit_code) == (Status.STOPPED, False, 1)
    assert outcome.count(StepState.DONE) == 0
    assert "did not shut down" in outcome.troubles[0].what
    assert all(vm.power is VmPower.ON for vm in port.read().vms if not vm.template)


def test_nothing_begins_that_would_not_end_in_the_window(tmp_path: Path) -> None:
    scene = site_scene("resize")
    start = scene.port().clock.now()
    window = Window(start, start + timedelta(seconds=100))
    outcome, _, port = _run(scene, tmp_path, replace(ALL_CONSENTS, window=window, parallelism=1))
    assert outcome.status is Status.STOPPED
    assert {item.kind for item in outcome.troubles} == {ProblemKind.WINDOW}
    assert outcome.left_off == ()
    assert 0 < outcome.count(StepState.DONE) < len(scene.plan.steps)
    assert all(vm.power is VmPower.ON for vm in port.read().vms if not vm.template)
    again = resume(
        scene.plan, port, ALL_CONSENTS, tmp_path / "plan.journal", port.clock, lock_folder=tmp_path
    )
    assert again.status is Status.DONE


def test_power_ons_of_vms_without_a_node_are_spaced_apart(tmp_path: Path) -> None:
    scene = site_scene("resize")
    timing = replace(ALL_CONSENTS.timing, power_on_spacing_s=60.0)
    outcome, log, _ = _run(scene, tmp_path, replace(ALL_CONSENTS, timing=timing))
    assert outcome.status is Status.DONE
    hosts = {vm.moid: vm.host for vm in scene.site.inventory.vms}
    starts: dict[str | None, list[datetime]] = {}
    for step, (start, _) in sorted(log.spans().items(), key=lambda item: item[1]):
        if step.endswith("/power_on"):
            starts.setdefault(hosts[step.rpartition("/")[0]], []).append(start)
    for times in starts.values():
        assert all(b - a >= timedelta(seconds=60) for a, b in itertools.pairwise(times))


def test_the_first_wish_to_stop_lets_no_vm_off(tmp_path: Path) -> None:
    scene, stop = site_scene("resize"), Stop()
    port = scene.port()

    def listen(event: ApplyEvent) -> None:
        is_off = event.type is EventType.APPLY_COMPLETE and event.kind is StepKind.POWER_OFF
        if is_off and stop.level is StopLevel.NONE:
            stop.request()

    outcome = apply_plan(
        scene.plan, port, ALL_CONSENTS, tmp_path / "j", port.clock, listen, stop, lock_folder=tmp_path
    )
    assert (outcome.status, outcome.left_off, outcome.detached) == (Status.STOPPED, (), False)
    assert all(vm.power is VmPower.ON for vm in port.read().vms if not vm.template)
    assert outcome.count(StepState.PENDING) > 0


def test_the_second_wish_detaches_and_says_what_is_off(tmp_path: Path) -> None:
    scene, stop = site_scene("resize"), Stop()
    port = scene.port()

    def listen(event: ApplyEvent) -> None:
        if event.type is EventType.APPLY_START and event.kind is StepKind.RECONFIGURE:
            stop.request()
            stop.request()

    path = tmp_path / "j"
    outcome = apply_plan(scene.plan, port, ALL_CONSENTS, path, port.clock, listen, stop, lock_folder=tmp_path)
    assert (outcome.status, outcome.detached) == (Status.STOPPED, True)
    off = {vm.moid for vm in port.read().vms if vm.power is VmPower.OFF and not vm.template}
    assert off
    assert off <= set(outcome.left_off)
    again = resume(scene.plan, port, ALL_CONSENTS, path, port.clock, lock_folder=tmp_path)
    assert (again.status, again.troubles) == (Status.DONE, ())


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (ApplyOptions(), ["--allow-power-cycle", "web-1", "web-12"]),
        (ApplyOptions(allow_power_cycle=True, max_disruption=5), ["--max-disruption 12", "5 allowed"]),
    ],
)
def test_a_consent_that_is_missing_is_named_with_what_it_concerns(
    options: ApplyOptions, names: list[str], tmp_path: Path
) -> None:
    with pytest.raises(ConsentMissing) as caught:
        _run(site_scene("resize"), tmp_path, options)
    assert all(name in str(caught.value) for name in names)
    assert not (tmp_path / "plan.journal").exists()


def test_out_of_the_window_nothing_is_begun(tmp_path: Path) -> None:
    scene = site_scene("resize")
    later = scene.port().clock.now() + timedelta(days=1)
    window = Window(later, later + timedelta(hours=1))
    with pytest.raises(ConsentMissing, match="has not opened yet"):
        _run(scene, tmp_path, replace(ALL_CONSENTS, window=window))


def test_what_moved_is_named_and_nothing_is_changed(tmp_path: Path) -> None:
    scene = site_scene("resize")
    port = scene.port()
    vm = scene.plan.steps[0].vm
    port.machine.reconfigure(vm, VmEdit(latency_sensitivity="high", memory_locked_to_max=True))
    port.machine.run_out()
    found = check_only(scene.plan, port, ALL_CONSENTS, port.clock)
    assert not found.clear
    with pytest.raises(StaleError) as caught:
        apply_plan(scene.plan, port, ALL_CONSENTS, tmp_path / "j", port.clock, lock_folder=tmp_path)
    assert "latency sensitivity is high, was" in str(caught.value)
    assert caught.value.exit_code == 6


def test_a_change_version_that_moved_alone_is_adopted_and_logged(tmp_path: Path) -> None:
    scene = site_scene("resize")
    port = scene.port()
    port.machine.reconfigure(scene.plan.steps[0].vm, VmEdit(extra_config=(("guestinfo.x", "1"),)))
    port.machine.run_out()
    outcome = apply_plan(scene.plan, port, ALL_CONSENTS, tmp_path / "j", port.clock, lock_folder=tmp_path)
    assert outcome.status is Status.DONE
    assert any("no field that matters" in note for note in outcome.notes)


def test_a_second_apply_of_a_plan_is_refused(tmp_path: Path) -> None:
    scene = site_scene("resize")
    _, _, port = _run(scene, tmp_path)
    with pytest.raises(UsageError, match="has a journal already"):
        apply_plan(
            scene.plan, port, ALL_CONSENTS, tmp_path / "plan.journal", port.clock, lock_folder=tmp_path
        )
    other = fixture_scene("floating")
    with pytest.raises(RequestError, match="another plan"):
        roll_back(other.plan, port, ALL_CONSENTS, tmp_path / "plan.journal", port.clock, lock_folder=tmp_path)


def test_two_applies_on_one_machine_exclude_each_other(tmp_path: Path) -> None:
    scene = site_scene("resize")
    source = scene.plan.source
    with (
        apply_lock(source.instance_uuid, source.vcenter, "apply of other.json", tmp_path),
        pytest.raises(StaleError, match=r"apply of other\.json") as caught,
    ):
        _run(scene, tmp_path)
    assert caught.value.exit_code == 6
    outcome, _, _ = _run(scene, tmp_path)
    assert outcome.status is Status.DONE


@pytest.mark.parametrize("delay_s", [0.0, 1.0, 30.0, 45.0])
def test_of_two_applies_on_two_machines_one_stops_before_its_next_step(
    delay_s: float, tmp_path: Path
) -> None:
    """The second begins while the first is under way: it lets go, and the first comes to the end."""
    scene = site_scene("resize")
    port = scene.port()
    second: list[Outcome | VplacerError] = []
    began = port.clock.now()

    def listen(event: ApplyEvent) -> None:
        due = (event.at - began).total_seconds() >= delay_s
        if second or not due or event.type is not EventType.APPLY_START:
            return
        second.append(StaleError("under way"))
        folder = tmp_path / "other"
        folder.mkdir()
        other = LabPort(port.machine)
        try:
            second[0] = apply_plan(
                scene.plan, other, ALL_CONSENTS, folder / "j", other.clock, lock_folder=folder
            )
        except VplacerError as error:
            second[0] = error

    first = apply_plan(
        scene.plan, port, ALL_CONSENTS, tmp_path / "j", port.clock, listen, lock_folder=tmp_path
    )
    (other_end,) = second
    codes = sorted([first.exit_code, other_end.exit_code])
    assert codes[0] in (0, 6, 7)
    assert codes[1] in (6, 7)
    machine = port.machine
    machine.run_out()
    off = {vm.moid for vm in machine.state.inventory.vms if vm.power is VmPower.OFF and not vm.template}
    told = set(first.left_off) | set(getattr(other_end, "left_off", ()))
    assert off <= told
