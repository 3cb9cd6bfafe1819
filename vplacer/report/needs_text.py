"""What the steps of a plan need: versions, power states, privileges."""

from __future__ import annotations

from collections.abc import Iterable

from vplacer.plan.features import Needs, PowerNeed, features_of, needs_of, version_number
from vplacer.plan.model import Plan, Step

_EVERYWHERE = (7,)
"""Every vCenter and host in use has what is older."""

_POWER = {
    PowerNeed.ANY: "any power state",
    PowerNeed.CYCLE: "counts after a power cycle",
    PowerNeed.GROW: "off, or upwards with hot-add",
    PowerNeed.OFF: "off",
    PowerNeed.ON: "on",
}
_KINDS = {
    "VirtualMachine": "VMs",
    "ResourcePool": "pools",
    "HostSystem": "hosts",
    "ClusterComputeResource": "clusters",
    "Folder": "the root folder",
    "Network": "networks",
    "Datastore": "datastores",
}


def plan_needs(plan: Plan) -> list[str]:
    """Return what all steps of a plan need together; nothing for a plan without steps."""
    if not plan.steps:
        return []
    needs = needs_of(feature for step in plan.steps for feature in features_of(step.change))
    by_kind: dict[str, list[str]] = {}
    for kind, privilege in needs.privileges:
        by_kind.setdefault(kind, []).append(privilege)
    lines = [f"Needs: {', '.join(_versions(needs))}".removesuffix(" ")]
    lines += [f"  on {_KINDS[kind]}: {', '.join(names)}" for kind, names in by_kind.items()]
    return lines


def step_needs(step: Step) -> str:
    """Return what one step needs, as a line."""
    needs = needs_of(features_of(step.change))
    parts = ", ".join([*_versions(needs), *_power_words(needs.power)])
    privileges = ", ".join(name for _, name in needs.privileges)
    return f"{parts}; {privileges}" if parts else privileges


def _versions(needs: Needs) -> list[str]:
    """Return the versions that a host in use may lack."""
    found = [f"API {needs.api}"] if version_number(needs.api) >= _EVERYWHERE else []
    return found if needs.hardware is None else [*found, f"hardware version {needs.hardware}"]


def _power_words(needs: Iterable[PowerNeed]) -> list[str]:
    """Return the states that bind; "off" says it all."""
    found = [need for need in needs if need is not PowerNeed.ANY]
    return [_POWER[PowerNeed.OFF]] if PowerNeed.OFF in found else [_POWER[need] for need in found]
