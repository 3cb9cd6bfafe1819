"""A vGPU profile that no card gives in the mode it is in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from vplacer.audit.model import Hit, NotEvaluated, Outcome, Rule, Severity
from vplacer.audit.moves import all_known
from vplacer.audit.subject import Subject
from vplacer.audit.words import listed
from vplacer.constraints.labels import scope_of
from vplacer.inventory.finding import Certainty
from vplacer.inventory.host import GpuMode, Host
from vplacer.inventory.vm import VgpuBacking, Vm
from vplacer.topology.assignable import AssignableDevice, offers
from vplacer.topology.device_use import HostUse
from vplacer.topology.vgpu_capacity import held_shapes
from vplacer.topology.vgpu_room import ProfileShape, profile_shape, room_for, why_mode_refuses


@dataclass(frozen=True, slots=True)
class _Answer:
    """What the cards of a cluster say to a profile.

    ``offering``: how many cards offer it. ``refused``: why the mode of each refuses, by card; ``open``: cards
    whose mode is not told. ``locked``: cards that have the room and are fixed to another size; ``room``: some
    card takes one more.
    """

    offering: int
    refused: tuple[str, ...]
    open: int
    locked: tuple[str, ...]
    room: bool


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield VMs whose profile no card of their cluster gives, or none before it is empty."""
    hosts = subject.inventory.host_by_moid
    for vm in subject.inventory.vms:
        if not vm.readable or vm.host not in hosts or not vm.devices:
            continue
        names = {d.backing.profile for d in vm.devices if isinstance(d.backing, VgpuBacking)}
        for profile in sorted(names):
            yield from _of_vm(subject, vm, hosts[vm.host], profile)


def _of_vm(subject: Subject, vm: Vm, host: Host, profile: str) -> Iterator[Outcome]:
    answer = subject.derive(_answer, scope_of(host), profile)
    where = "its cluster" if host.cluster is not None else "its host"
    end = "VMs made from it will not start" if vm.template else "it cannot be switched on"
    end = "it will not start again" if vm.is_on else end
    now = None if vm.is_on or vm.template else Severity.ERROR
    if answer.offering == 0:
        if host.cluster is not None and not all_known(subject, host.cluster):
            why = f"no card that is known offers {profile}, and not all hosts of its cluster are connected"
            yield NotEvaluated(why, vm=vm.moid)
        else:
            text = f"no card of {where} offers its profile {profile}: {end}"
            yield Hit(text, Certainty.PROVED, vm=vm.moid, host=vm.host, key=profile, severity=now)
    elif len(answer.refused) == answer.offering:
        text = f"no card of {where} gives {profile} in its present mode ({listed(answer.refused, 2)}): {end}"
        yield Hit(text, Certainty.PROVED, vm=vm.moid, host=vm.host, key=profile, severity=now)
    elif not vm.is_on and not vm.template and not answer.room and answer.locked and not answer.open:
        text = (
            f"no card of {where} has room for {profile}, and {listed(answer.locked, 2)}: {end} before one is "
        )
        text += "empty"
        yield Hit(text, Certainty.PROVED, vm=vm.moid, host=vm.host, key=profile)


def _answer(subject: Subject, scope: str, profile: str) -> _Answer:
    offering = open_ = 0
    refused: list[str] = []
    locked: list[str] = []
    room = False
    for host in subject.derive(_hosts).get(scope, ()):
        shape = profile_shape(host, profile)
        if shape is None or host.in_maintenance:
            continue
        use = subject.use(host).use
        for card in use.devices.values():
            if not card.vgpu or not offers(host, card, profile):
                continue
            offering += 1
            why = why_mode_refuses(card, shape)
            if card.may_be_mig:
                open_ += 1
            elif why is not None:
                refused.append(f"{host.name} {card.address}: {why}")
            else:
                fits, told = _room(host, use, card, shape)
                room = room or fits
                if told:
                    locked.append(f"{host.name} {card.address} {told}")
    return _Answer(offering, tuple(refused), open_, tuple(locked), room)


def _hosts(subject: Subject) -> Mapping[str, tuple[Host, ...]]:
    found: dict[str, list[Host]] = {}
    for host in subject.inventory.hosts:
        found.setdefault(scope_of(host), []).append(host)
    return {scope: tuple(hosts) for scope, hosts in found.items()}


def _room(host: Host, use: HostUse, card: AssignableDevice, shape: ProfileShape) -> tuple[bool, str]:
    """Return whether a card takes one more, and, if only another size keeps it from it, that size."""
    here = use.held.get(card.address, ())
    claims = (*here, *(claim for claim in use.uncertain if card.address in claim.candidates))
    held = held_shapes(host, card, claims)
    if any(claim.profile is None for claim in claims):
        return False, ""
    if room_for(card, shape, held) > 0:
        return True, ""
    used = sum(other.framebuffer_mib for other in held)
    sizes = {other.framebuffer_mib for other in held} - {shape.framebuffer_mib}
    memory = card.framebuffer_mib or 0
    if card.mode is not GpuMode.SAME_SIZE or not sizes or memory - used < shape.framebuffer_mib:
        return False, ""
    size = listed(f"{mib / 1024:g} GiB" for mib in sorted(sizes))
    return False, f"has {(memory - used) / 1024:g} GiB free and is fixed to {size}"


RULE = Rule(
    id="VPL039",
    name="profile-dead-end",
    title="vGPU profile that no card gives as it is",
    severity=Severity.WARNING,
    cause="The mode a card is in decides which profiles it gives: MIG instances only in MIG mode, "
    "time-sliced ones only without, one size at a time in same-size mode. A VM with another profile fails "
    "at power-on with insufficient graphics resources although cards look free.",
    evidence="Profiles of the VMs' vGPUs, HostGraphicsInfo.vgpuMode of the cluster's cards, "
    "VgpuProfileInfo, and what the cards hold. An error where a VM that is off cannot be switched on "
    "whatever else is free; a warning where it would not start again, or where every card with room is "
    "fixed to another size.",
    fix="Switch a card to the mode the profile needs while it is empty (mixed-size: host graphics "
    "settings; MIG: nvidia-smi -mig), or give the VM a profile that the cards give.",
    sample="no card of its cluster gives nvidia_h100-1-10c in its present mode (esx03 0000:3b:00.0: "
    "nvidia_h100-1-10c needs a card in MIG mode; this one is in mode sameSize): it cannot be switched on",
    find=find,
)
