"""The settings a placed VM must have: typed fields and extraConfig keys, as changes against today."""

from __future__ import annotations

import math
from dataclasses import dataclass

from vplacer.constraints.state import Placement
from vplacer.constraints.supply import demand_parts
from vplacer.constraints.vnuma_shape import (
    FEWEST_CPUS_WITH_VNUMA,
    VnumaShape,
    can_have_vnuma,
    max_cores_per_socket,
    nearest_cores_per_socket,
    vnuma_shape,
)
from vplacer.errors import InternalError
from vplacer.inventory.device_kind import DeviceKind, device_kind
from vplacer.inventory.host import Host
from vplacer.inventory.vm import Vm
from vplacer.plan.changes import ExtraConfigChange, Field, FieldChange, Scalar
from vplacer.plan.mmio import DEFAULT_GB, SIZE_GB, USE_64BIT, bar_gib, mmio_size_gb
from vplacer.request.demand import Demand

NODE_AFFINITY = "numa.nodeAffinity"
PREFER_HT = "numa.vcpu.preferHT"
MAX_PER_VIRTUAL_NODE = "numa.vcpu.maxPerVirtualNode"
AUTOSIZE_STATE = ("numa.autosize.cookie", "numa.autosize.vcpu.maxPerVirtualNode")
"""What ESXi writes about a VM's automatic vNUMA: state of the host it ran on, never to be cloned
(Frank Denneman, vNUMA series)."""

EFI = "efi"
_TRUE = frozenset({"true", "1", "yes"})


@dataclass(frozen=True, slots=True)
class Settings:
    """``shape`` None = vNUMA is left automatic, or the hardware version has none to set."""

    fields: tuple[FieldChange, ...]
    extra_config: tuple[ExtraConfigChange, ...]
    shape: VnumaShape | None
    notes: tuple[str, ...]


HOT_FIELDS = frozenset(
    {
        Field.MEMORY_LOCKED_TO_MAX,
        Field.MEMORY_LIMIT_MIB,
        Field.CPU_RESERVATION_MHZ,
        Field.LATENCY_SENSITIVITY,
    }
)
"""Fields that change while a VM runs and count at once (vmware-tanzu/vm-operator)."""


def only_hot(settings: Settings) -> Settings:
    """Leave out what counts only after a power cycle: a VM that moves as it is runs well with what it has."""
    fields = tuple(change for change in settings.fields if change.field in HOT_FIELDS)
    return Settings(fields, (), None, ())


def vnuma_nodes_of(demand: Demand, placement: Placement, host: Host) -> int:
    """Return how many vNUMA nodes the VM is to have: as asked, else one a pNUMA node, else the fewest."""
    if demand.vnuma_nodes is not None:
        return demand.vnuma_nodes
    return len(placement.nodes) if placement.nodes else demand_parts(demand, host)


def wanted_shape(demand: Demand, placement: Placement, host: Host, today: Vm) -> VnumaShape | None:
    """Return the explicit vNUMA topology, None where it is left automatic.

    It is explicit where it was asked for, where devices or bound nodes give several vNUMA nodes a
    meaning, and where a bound VM is large enough for ESXi to divide it by itself.

    Raises:
        InternalError: the vCPUs do not divide; the solver must not have placed it so.
    """
    if not can_have_vnuma(demand.hardware_version):
        return None
    nodes = vnuma_nodes_of(demand, placement, host)
    several = nodes > 1 and (demand.has_devices or bool(placement.nodes))
    divisible = bool(placement.nodes) and demand.cpus >= FEWEST_CPUS_WITH_VNUMA
    if demand.vnuma_nodes is None and not several and not divisible:
        return None
    limit = max_cores_per_socket(host, demand.hardware_version)
    current = None if today.cores_per_socket_auto else today.cores_per_socket
    try:
        return vnuma_shape(demand.cpus, nodes, current, limit)
    except ValueError as error:
        raise InternalError(
            "a placement gives a VM a vNUMA shape it cannot have", obj=demand.name, why=str(error)
        ) from error


def wanted_settings(demand: Demand, placement: Placement, host: Host, today: Vm, *, is_new: bool) -> Settings:
    """Compare settings with those of the VM today, or of the template it is cloned from."""
    shape = wanted_shape(demand, placement, host, today)
    notes: list[str] = []
    fields = [
        _change(Field.CPUS, today.cpus, demand.cpus),
        *_topology_fields(demand, host, today, shape),
        *_memory_fields(demand, today),
        *_latency_fields(demand, host, today),
    ]
    if placement.nodes and today.cpu_affinity:
        fields.append(_change(Field.CPU_AFFINITY, today.cpu_affinity, ()))
        notes.append("CPU affinity is cleared: it takes the VM out of NUMA scheduling")
    extra = [
        _node_affinity(placement, today),
        _flag(PREFER_HT, demand.prefer_ht, today),
        *_mmio(demand, placement, host, today, notes),
        *_stale_keys(today, shape, is_new=is_new),
    ]
    _vnuma_notes(demand, placement, today, shape, notes)
    return Settings(
        tuple(change for change in fields if change is not None),
        tuple(change for change in extra if change is not None),
        shape,
        tuple(notes),
    )


def manual_cores_per_node(vm: Vm) -> int | None:
    """Return the cores per vNUMA node set by hand; what stands beside "automatic" is stale."""
    return None if vm.vnuma.auto else (vm.vnuma.cores_per_node or None)


def memory_is_reserved(vm: Vm, memory_mib: int) -> bool:
    """Whether all of so much memory is reserved, by the lock or by the figure."""
    return bool(vm.memory_locked_to_max) or (vm.memory_reservation_mib or 0) >= memory_mib


def is_true(text: str | None) -> bool:
    """Read a VMX truth value."""
    return (text or "").strip().lower() in _TRUE


def _change(field: Field, before: Scalar, after: Scalar) -> FieldChange | None:
    return None if before == after else FieldChange(field, before, after)


def _topology_fields(
    demand: Demand, host: Host, today: Vm, shape: VnumaShape | None
) -> list[FieldChange | None]:
    sockets = None if today.cores_per_socket_auto else today.cores_per_socket
    manual = manual_cores_per_node(today)
    if shape is None:
        found: list[FieldChange | None] = []
        if sockets is not None and demand.cpus % sockets:
            limit = max_cores_per_socket(host, demand.hardware_version)
            legal = nearest_cores_per_socket(demand.cpus, sockets, limit)
            found.append(_change(Field.CORES_PER_SOCKET, sockets, legal))
        if manual is not None and can_have_vnuma(today.hardware_version):
            found.append(_change(Field.CORES_PER_NUMA_NODE, manual, None))
        return found
    if manual is None and _already_one_node(today, demand, shape):
        return []
    found = [
        _change(Field.CORES_PER_SOCKET, sockets, shape.cores_per_socket),
        _change(Field.CORES_PER_NUMA_NODE, manual, shape.cores_per_node),
    ]
    if shape.nodes > 1 and today.cpu_hot_add and not today.vnuma.exposed_on_hot_add:
        found.append(_change(Field.VNUMA_ON_HOT_ADD, today.vnuma.exposed_on_hot_add, True))
    return found


def _already_one_node(today: Vm, demand: Demand, shape: VnumaShape) -> bool:
    """Whether the running VM has the one vNUMA node wanted, though nobody set it."""
    return (
        shape.nodes == 1
        and demand.vnuma_nodes is None
        and today.is_on
        and today.cpus == demand.cpus
        and today.vnuma.cores_per_node == shape.cores_per_node
    )


def _memory_fields(demand: Demand, today: Vm) -> list[FieldChange | None]:
    found = [_change(Field.MEMORY_MIB, today.memory_mib, demand.memory_mib)]
    must = demand.memory_reserved or demand.has_devices
    if must and not memory_is_reserved(today, demand.memory_mib):
        found.append(_change(Field.MEMORY_LOCKED_TO_MAX, bool(today.memory_locked_to_max), True))
    limit = today.memory_limit_mib
    if limit is not None and 0 <= limit < demand.memory_mib:
        found.append(_change(Field.MEMORY_LIMIT_MIB, limit, None))
    return found


def _latency_fields(demand: Demand, host: Host, today: Vm) -> list[FieldChange | None]:
    """Latency sensitivity "high" wants all CPU reserved: vCPUs times the host's clock (vm-operator)."""
    is_high = today.latency_sensitivity == "high"
    reservation = demand.cpu_reservation_mhz
    if demand.latency_high and host.cpu_hz:
        reservation = max(reservation, math.floor(demand.cpus * host.cpu_hz / 1_000_000))
    found = []
    if demand.latency_high != is_high:
        after = "high" if demand.latency_high else "normal"
        found.append(_change(Field.LATENCY_SENSITIVITY, today.latency_sensitivity or "normal", after))
    if reservation != (today.cpu_reservation_mhz or 0):
        found.append(_change(Field.CPU_RESERVATION_MHZ, today.cpu_reservation_mhz or 0, reservation))
    return found


def _node_affinity(placement: Placement, today: Vm) -> ExtraConfigChange | None:
    before = today.extra(NODE_AFFINITY)
    if not placement.nodes:
        return None if before is None else ExtraConfigChange(NODE_AFFINITY, before, None)
    if before is not None and today.node_affinity == tuple(sorted(placement.nodes)):
        return None
    after = ",".join(str(node) for node in sorted(placement.nodes))
    return ExtraConfigChange(NODE_AFFINITY, before, after)


def _flag(key: str, wanted: bool, today: Vm) -> ExtraConfigChange | None:
    before = today.extra(key)
    if wanted == is_true(before):
        return None
    return ExtraConfigChange(key, before, "TRUE" if wanted else None)


def _mmio(
    demand: Demand, placement: Placement, host: Host, today: Vm, notes: list[str]
) -> list[ExtraConfigChange | None]:
    """Size the MMIO region; never below what the VM has; it needs EFI, and BIOS is never turned into it."""
    if not demand.gpus:
        return []
    cards = [host.device(item.address) for item in placement.devices if item.ask == "gpu"]
    size = mmio_size_gb(
        bar_gib(card) for card in cards if card is not None and device_kind(card) is DeviceKind.GPU
    )
    if size is None:
        notes.append("MMIO space is left as it is: the size of a card's memory window is not known")
        return []
    before = today.extra(SIZE_GB)
    have = int(before) if before is not None and before.isdigit() else None
    if size <= DEFAULT_GB and have is None:
        return []
    if today.firmware is not None and today.firmware != EFI:
        notes.append(f"firmware is {today.firmware}: GPUs of this size need EFI, set up anew")
        return []
    found = [_flag(USE_64BIT, True, today)]
    if have is None or have < size:
        found.append(ExtraConfigChange(SIZE_GB, before, str(size)))
    return found


def _stale_keys(today: Vm, shape: VnumaShape | None, *, is_new: bool) -> list[ExtraConfigChange]:
    """Keys to take away: an older way to say the shape, and state cloned from another VM."""
    keys = [MAX_PER_VIRTUAL_NODE] if shape is not None else []
    if is_new:
        keys += AUTOSIZE_STATE
    found = []
    for key in keys:
        before = today.extra(key)
        if before is not None:
            found.append(ExtraConfigChange(key, before, None))
    return found


def _vnuma_notes(
    demand: Demand, placement: Placement, today: Vm, shape: VnumaShape | None, notes: list[str]
) -> None:
    if shape is None and len(placement.nodes) > 1:
        notes.append(
            f"hardware version {demand.hardware_version} has no vNUMA to set: "
            "the guest may not see the nodes as they are"
            + (", and with CPU hot-add on it sees one" if today.cpu_hot_add else "")
        )
    if shape is None or shape.nodes < 2:
        return
    if demand.cpus < FEWEST_CPUS_WITH_VNUMA:
        notes.append(f"with {demand.cpus} vCPUs the guest may see one node only")
    if len(placement.nodes) > 1:
        nodes = ", ".join(
            f"pNUMA {node} = vNUMA {index}" for index, node in enumerate(sorted(placement.nodes))
        )
        notes.append(f"vNUMA nodes are taken to follow the nodes they are bound to in order: {nodes}")
