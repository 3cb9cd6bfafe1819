"""Why a VM changes, what that costs its users, and how near its devices will be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations, product

from vplacer.constraints.locality import ask_locality
from vplacer.constraints.nvlink_use import nvlink_use
from vplacer.constraints.state import Placement, State, Violation
from vplacer.constraints.steering import possible_cards
from vplacer.inventory.device_kind import DeviceKind
from vplacer.inventory.gpu_models import gpu_by_ids
from vplacer.inventory.host import Host, PciDevice
from vplacer.inventory.nic_models import nic_by_ids
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vm import (
    Backing,
    DynamicBacking,
    SriovBacking,
    StaticBacking,
    VgpuBacking,
)
from vplacer.plan.changes import Action, DeviceChange, Field
from vplacer.plan.device_match import managed_kind
from vplacer.plan.draft import Draft
from vplacer.plan.model import Impact, Migration, PlannedAsk, PlannedDevice, Reason
from vplacer.plan.settings import NODE_AFFINITY, memory_is_reserved
from vplacer.plan.wanted_devices import device_refs
from vplacer.request.demand import BoundBy, GpuAsk, NicAsk
from vplacer.topology.host_topology import HostTopology

_STATIC_LOSES = frozenset({"vmotion", "ha_restart", "drs", "snapshots", "suspend"})
_DYNAMIC_LOSES = frozenset({"vmotion", "drs"})
_WORDS = ("PIX", "PXB", "PHB", "NODE", "SYS", "?")


def reasons_of(draft: Draft, violations: Iterable[Violation]) -> tuple[Reason, ...]:
    """Return why a VM changes. ``violations``: what the judge says of it today."""
    if not draft.changes:
        return ()
    if draft.is_new:
        return (Reason("new", f"to be made from template {draft.today.name}"),)
    found = {item.constraint: item.evidence for item in reversed(list(violations))}
    reasons = [Reason(code, text, violation=code != "evacuated") for code, text in sorted(found.items())]
    reasons += _resized(draft)
    if draft.upgrade is not None:
        reasons.append(Reason("hardware-version", f"hardware version {draft.upgrade.before} is too old"))
    if draft.reconfigure.field(Field.MEMORY_LOCKED_TO_MAX) is not None:
        reasons.append(Reason("memory-reservation", "its memory is not all reserved"))
    if not found and _other_devices(draft):
        reasons.append(Reason("devices", "it does not have the devices asked for"))
    if reasons:
        return tuple(reasons)
    if draft.relocate is not None:
        return (
            Reason(
                "make-room",
                "nothing is wrong with it: elsewhere it makes room for others, or meets a preference",
            ),
        )
    affinity = any(item.key == NODE_AFFINITY for item in draft.reconfigure.extra_config)
    if affinity or _device_changes(draft):
        return (Reason("bind", "its devices, vCPUs and memory are to be bound in another way"),)
    if draft.reconfigure:
        return (Reason("settings", "its settings differ from what its devices need"),)
    if draft.drs is not None and not draft.powers_on:
        return (Reason("drs", "DRS could move it away"),)
    return (Reason("power", "it is off" if draft.powers_on else "it is to be off"),)


def _device_changes(draft: Draft) -> list[DeviceChange]:
    changes = (*draft.detach.devices, *draft.reconfigure.devices)
    return [change for change in changes if change.action is not Action.EDIT]


def _other_devices(draft: Draft) -> bool:
    """Whether the VM gets other devices, and not the same ones held in another way."""
    count: Counter[str] = Counter()
    for change in _device_changes(draft):
        value = change.before if change.action is Action.REMOVE else change.after
        if value is not None:
            count[_kind_text(value.backing)] += 1 if change.action is Action.ADD else -1
    return bool(draft.reconfigure.groups) or any(count.values())


def _kind_text(backing: Backing) -> str:
    match backing:
        case StaticBacking(ids=ids):
            return str(ids)
        case DynamicBacking(allowed=(first, *_)):
            return f"{first.vendor:04x}:{first.device:04x}"
        case VgpuBacking(profile=profile):
            return profile
        case _:
            return type(backing).__name__


def _resized(draft: Draft) -> list[Reason]:
    found = []
    cpus = draft.reconfigure.field(Field.CPUS)
    memory = draft.reconfigure.field(Field.MEMORY_MIB)
    if cpus is not None:
        found.append(f"{cpus.before} -> {cpus.after} vCPUs")
    if memory is not None:
        found.append(f"{memory.before} -> {memory.after} MiB")
    return [Reason("resize", ", ".join(found))] if found else []


def impact_of(draft: Draft, hosts: Sequence[Host]) -> Impact:
    """Return what the change costs. ``hosts``: where the VM's cards may be looked up."""
    if not draft.changes:
        return Impact()
    removed, added = [], []
    for change in (*draft.detach.devices, *draft.reconfigure.devices):
        if change.action is Action.REMOVE and change.before is not None:
            removed.append((change.key, change.before.backing))
        if change.action is Action.ADD and change.after is not None:
            added.append(change.after.backing)
    keys = {key for key, _ in removed}
    before = [device.backing for device in draft.today.devices]
    after = [device.backing for device in draft.today.devices if device.key not in keys] + added
    lost = _lost(after) - (frozenset() if draft.is_new else _lost(before))
    migration = Migration.NONE
    if draft.relocate is not None:
        migration = Migration.LIVE if draft.live else Migration.COLD
    locked = draft.reconfigure.field(Field.MEMORY_LOCKED_TO_MAX) is not None
    reserves = draft.demand.memory_mib - (draft.today.memory_reservation_mib or 0) if locked else 0
    if not locked and memory_is_reserved(draft.today, draft.today.memory_mib):
        reserves = draft.demand.memory_mib - draft.today.memory_mib
    changed = [*(backing for _, backing in removed), *added]
    return Impact(
        power_cycle=draft.was_on and draft.off,
        migration=migration,
        loses=tuple(sorted(lost)),
        reserves_memory_mib=max(0, draft.demand.memory_mib if draft.is_new and locked else reserves),
        guest=() if draft.is_new else _guest(draft, changed, hosts),
    )


def _lost(backings: Iterable[Backing]) -> frozenset[str]:
    """Return what a VM with these devices cannot do (vSphere: DirectPath I/O, SR-IOV, vGPU)."""
    lost: set[str] = set()
    for backing in backings:
        match backing:
            case StaticBacking() | SriovBacking():
                lost |= _STATIC_LOSES
            case DynamicBacking():
                lost |= _DYNAMIC_LOSES
            case VgpuBacking(migratable=False):
                lost |= _DYNAMIC_LOSES
            case _:
                pass
    return frozenset(lost)


def _guest(draft: Draft, changed: Sequence[Backing], hosts: Sequence[Host]) -> tuple[str, ...]:
    change = draft.reconfigure
    fields = {item.field for item in change.fields}
    edits = any(item.action is Action.EDIT for item in change.devices)
    marks = {
        "cpu_count": Field.CPUS in fields,
        "cpu_topology": Field.CORES_PER_SOCKET in fields,
        "memory_size": Field.MEMORY_MIB in fields,
        "numa_topology": edits or bool(fields & {Field.CORES_PER_NUMA_NODE, Field.VNUMA_ON_HOT_ADD}),
        "devices": bool(changed),
        "nic_names": any(managed_kind(item, hosts) is DeviceKind.NIC for item in changed),
        "hardware": draft.upgrade is not None,
    }
    return tuple(sorted(name for name, noticed in marks.items() if noticed))


def planned_asks(state: State, placement: Placement, vnodes: Sequence[int | None]) -> tuple[PlannedAsk, ...]:
    """Return the devices of a placement by line of the request. ``vnodes``: vNUMA node told, by device."""
    demand = state.problem.demand_by_id[placement.demand]
    host = state.problem.inventory.host_by_moid[placement.host]
    topology = state.problem.topologies[placement.host]
    options = possible_cards(state, placement)
    gpus = [cards for item, cards in zip(placement.devices, options, strict=True) if item.ask == "gpu"]
    found = []
    asks: list[tuple[str, int, GpuAsk | NicAsk]] = [("gpu", i, ask) for i, ask in enumerate(demand.gpus)]
    asks += [("nic", i, ask) for i, ask in enumerate(demand.nics)]
    for kind, index, ask in asks:
        mine = [
            (item, cards, ref, vnode)
            for item, cards, ref, vnode in zip(
                placement.devices, options, device_refs(placement), vnodes, strict=True
            )
            if (item.ask, item.index) == (kind, index)
        ]
        locality = ask_locality(state, demand, placement, kind, index)
        cards = [cards for _, cards, _, _ in mine]
        open_choice = any(
            item.bound_by is BoundBy.PLATFORM and len(choice) != 1 for item, choice, _, _ in mine
        )
        path = None
        if not open_choice:
            path = _nic_word(topology, cards, gpus)
            if isinstance(ask, GpuAsk):
                path = _pair_word(topology, cards, nvlink=_joined_by_nvlink(host, topology, ask))
        devices = tuple(
            PlannedDevice(
                ref,
                item.address,
                len(choice) == 1,
                topology.cpu_node_for(item.address),
                vnode,
                item.bound_by,
                item.label,
                item.group,
            )
            for item, choice, ref, vnode in mine
        )
        what = _what(ask, host, devices)
        found.append(
            PlannedAsk(kind, index, what, ask.policy, path, locality.numa, locality.both_sides_fixed, devices)
        )
    return tuple(found)


def _what(ask: GpuAsk | NicAsk, host: Host, devices: Sequence[PlannedDevice]) -> str:
    if isinstance(ask, GpuAsk) and ask.group is not None:
        return ask.group
    if isinstance(ask, GpuAsk) and ask.profile is not None:
        return ask.profile.removeprefix("grid_").removeprefix("nvidia_").upper()
    if ask.model is not None:
        return ask.model
    cards = (host.device(device.address) for device in devices)
    names = {card_name(card) for card in cards if card is not None}
    return " + ".join(sorted(names)) or "device"


def card_name(card: PciDevice) -> str:
    """Return the model of a card as people call it, else what the host calls it."""
    model = gpu_by_ids(card.ids)
    if model is not None:
        return model.name
    nic = nic_by_ids(card.ids)
    return nic.name if nic is not None else card.device_name or str(card.ids)


def _joined_by_nvlink(host: Host, topology: HostTopology, ask: GpuAsk) -> bool:
    return ask.group is not None or nvlink_use(host, topology, ask).carries is True


def _pair_word(
    topology: HostTopology, cards: Sequence[tuple[PciAddress, ...]], *, nvlink: bool
) -> str | None:
    """Return the weakest way between any two cards of an ask, for every choice, with or without NVLink.

    A word ends in "?" where a link may be there that nobody told of, and the cards could use it.
    """
    relations = [
        topology.relation(a, b)
        for one, other in combinations(cards, 2)
        for a, b in product(one, other)
        if a != b
    ]
    words = {
        relation.open_word() if nvlink else replace(relation, nvlink=None).word() for relation in relations
    }
    return max(words, key=_weakness) if words else None


def _nic_word(
    topology: HostTopology,
    nics: Sequence[tuple[PciAddress, ...]],
    gpus: Sequence[tuple[PciAddress, ...]],
) -> str | None:
    """Return the weakest way from any of the NICs to the GPU nearest to it."""
    if not gpus or any(len(cards) != 1 for cards in gpus):
        return None
    nearest = [
        min((topology.relation(nic, gpu[0]).word() for gpu in gpus), key=_weakness)
        for cards in nics
        for nic in cards
    ]
    return max(nearest, key=_weakness) if nearest else None


def _weakness(word: str) -> tuple[int, int]:
    """Order the words of nvidia-smi, nearest first; more NVLinks are nearer."""
    if word.startswith("NV"):
        return (-1, -int(word[2:]))
    plain = word if word == "?" else word.removesuffix("?")
    return (_WORDS.index(plain), int(plain != word)) if plain in _WORDS else (-2, 0)
