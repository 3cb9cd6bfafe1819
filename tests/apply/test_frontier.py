"""Free steps are kept up to date as steps move: they must be those that are found by looking at all anew."""

from __future__ import annotations

import random

import pytest

from vplacer.apply.frontier import Frontier
from vplacer.apply.units import Unit, make_units
from vplacer.inventory.vm import VmPower
from vplacer.plan.changes import Power
from vplacer.plan.model import Step, StepKind

VMS = 9
OFF = Power(VmPower.ON, VmPower.OFF, "host-1")
ON = Power(VmPower.OFF, VmPower.ON, "host-1")


def _steps(rng: random.Random) -> list[Step]:
    """Chains of steps, some of which wait for steps of VMs before, some of VMs after: those make one unit."""
    chains = []
    for vm in range(VMS):
        count = rng.randint(1, 3)
        for number in range(count):
            waits = [f"vm-{rng.randrange(VMS)}/{rng.randint(1, 3)}" for _ in range(rng.choice((0, 0, 1)))]
            own = [f"vm-{vm}/{number}"] if number else []
            others = [name for name in waits if not name.startswith(f"vm-{vm}/")]
            change = OFF if number == 0 and rng.random() < 0.5 else ON
            chains.append(
                Step(
                    id=f"vm-{vm}/{number + 1}",
                    kind=StepKind.POWER_OFF if change is OFF else StepKind.POWER_ON,
                    vm=f"vm-{vm}",
                    change=change,
                    effect="",
                    preconditions=(),
                    checks=(),
                    undo=None,
                    irreversible=None,
                    depends_on=(*own, *others),
                )
            )
    return chains


def _free(frontier: Frontier, units: tuple[Unit, ...]) -> list[list[str]]:
    return [[step.id for step in frontier.of_unit(unit)] for unit in units]


@pytest.mark.parametrize("seed", range(40))
def test_is_what_a_look_at_everything_finds(seed: int) -> None:
    rng = random.Random(seed)
    steps = _steps(rng)
    units = make_units(steps, {}, {f"vm-{vm}": "host-1" for vm in range(VMS)})
    done = {step.id for step in steps if rng.random() < 0.1}
    running: set[str] = set()
    frontier = Frontier(units, done, running)
    free = _free(frontier, units.units)
    for _ in range(80):
        step = rng.choice(steps)
        for names in (done, running):
            names.discard(step.id)
        rng.choice((done, done, running, set())).add(step.id)
        freed = frontier.moved(step)
        anew = Frontier(units, done, running)
        after = _free(anew, units.units)
        assert _free(frontier, units.units) == after
        told = {(unit.index, step.id) for unit, found in freed for step in found}
        assert told == {
            (index, name) for index, names in enumerate(after) for name in names if name not in free[index]
        }
        assert [frontier.is_done(unit) for unit in units.units] == [
            anew.is_done(unit) for unit in units.units
        ]
        free = after
