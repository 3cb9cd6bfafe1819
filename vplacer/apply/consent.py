"""What a plan needs consent for, and which consents are missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from vplacer.apply.calls import asks_guest
from vplacer.apply.options import ApplyOptions
from vplacer.apply.steps import disrupted_vms, gives_up_memory, switches_off, vm_name
from vplacer.errors import ConsentMissing
from vplacer.plan.changes import Relocate, UpgradeHardware
from vplacer.plan.model import Plan, Step

_MOST_LISTED = 20


@dataclass(frozen=True, slots=True)
class MissingConsent:
    """A consent that was not given. ``option``: how it is given; ``concerns``: what it is about."""

    option: str
    what: str
    concerns: tuple[str, ...]


def missing_consents(
    plan: Plan,
    steps: Sequence[Step],
    options: ApplyOptions,
    now: datetime,
    without_tools: frozenset[str] = frozenset(),
) -> tuple[MissingConsent, ...]:
    """Return the consents that carrying out steps of a plan needs and that the options do not give.

    ``without_tools``: VMs whose guest cannot be asked to shut down.
    """
    cycles = _names(plan, (step for step in steps if switches_off(step.change)))
    moves = _names(plan, (step for step in steps if isinstance(step.change, Relocate)))
    suspended = _names(plan, (step for step in steps if gives_up_memory(step.change)))
    upgrades = [
        f"{vm_name(plan, step.vm)}: {step.change.before} to {step.change.after}"
        for step in steps
        if isinstance(step.change, UpgradeHardware)
    ]
    found = []
    if cycles and not options.allow_power_cycle:
        found.append(MissingConsent("--allow-power-cycle", "VMs are switched off on the way", cycles))
    if moves and not options.allow_migration:
        found.append(MissingConsent("--allow-migration", "VMs go to another host", moves))
    if upgrades and not options.allow_hw_upgrade:
        what = "virtual hardware is upgraded, which cannot be undone"
        found.append(MissingConsent("--allow-hw-upgrade", what, tuple(upgrades)))
    if suspended and not options.allow_hard_power_off:
        what = "the suspended memory of VMs is given up, which cannot be undone"
        found.append(MissingConsent("--allow-hard-power-off", what, suspended))
    unasked = _names(plan, (s for s in steps if s.vm in without_tools and asks_guest(s.change)))
    if unasked and not options.allow_hard_power_off:
        what = (
            "VMware Tools do not run in guests that are to be shut down: they can only be switched off hard"
        )
        found.append(MissingConsent("--allow-hard-power-off", what, unasked))
    disrupted = disrupted_vms(steps)
    if options.max_disruption is not None and len(disrupted) > options.max_disruption:
        what = f"{len(disrupted)} running VMs are switched off or migrated, {options.max_disruption} allowed"
        names = tuple(vm_name(plan, vm) for vm in disrupted)
        found.append(MissingConsent(f"--max-disruption {len(disrupted)}", what, names))
    window = _outside_window(options, now) if disrupted else None
    return (*found, window) if window is not None else tuple(found)


def demand_consents(missing: Sequence[MissingConsent]) -> None:
    """Refuse if a consent is missing.

    Raises:
        ConsentMissing: naming each with what it is about.
    """
    if not missing:
        return
    lines = [f"\n  {item.option}: {item.what}{_listed(item.concerns)}" for item in missing]
    raise ConsentMissing(
        "not carried out: it needs consent that was not given",
        why="".join(lines),
        hint="give these options if that is what you want: " + " ".join(item.option for item in missing),
    )


def _outside_window(options: ApplyOptions, now: datetime) -> MissingConsent | None:
    window = options.window
    if window is None or window.start <= now < window.end:
        return None
    when = "has not opened yet" if now < window.start else "has closed"
    text = f"the window {window.start.isoformat()} to {window.end.isoformat()} {when}"
    return MissingConsent("--window", text, ())


def _names(plan: Plan, steps: Iterable[Step]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(vm_name(plan, step.vm) for step in steps))


def _listed(names: tuple[str, ...]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return f" ({', '.join(names[:_MOST_LISTED])}{more})"
