"""One placed VM compared with today: everything its steps, reasons and impact are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vplacer.constraints.disturbance import disturbance_of
from vplacer.constraints.migration import can_move_live
from vplacer.constraints.state import Placement, Problem, State
from vplacer.constraints.steering import possible_cards
from vplacer.constraints.vnuma_shape import can_have_vnuma, vnuma_node_of
from vplacer.inventory.host import Host
from vplacer.inventory.vm import DynamicBacking, StaticBacking, Vm, VmPower
from vplacer.plan.changes import (
    Action,
    Clone,
    Field,
    OverrideDrs,
    Reconfigure,
    Relocate,
    UpgradeHardware,
)
from vplacer.plan.device_match import DeviceDifference, device_difference
from vplacer.plan.settings import HOT_FIELDS, Settings, only_hot, wanted_settings
from vplacer.plan.wanted_devices import WantedDevices, group_network, needs_network, wanted_devices
from vplacer.request.demand import Demand

DRS_FULL = "fullyAutomated"
DRS_ASKS = "partiallyAutomated"
"""DRS still places the VM at power-on and only recommends later moves."""


@dataclass(frozen=True, slots=True)
class Draft:
    """What has to change of one VM. ``today`` is the VM itself, or the template it is cloned from.

    ``vnuma_nodes`` None = left automatic. ``off`` True = it cannot be done while the VM runs.
    """

    demand: Demand
    placement: Placement
    host: Host
    today: Vm
    is_new: bool
    vnodes: tuple[int | None, ...]
    settings: Settings
    clone: Clone | None
    relocate: Relocate | None
    upgrade: UpgradeHardware | None
    detach: Reconfigure
    reconfigure: Reconfigure
    drs: OverrideDrs | None
    off: bool
    notes: tuple[str, ...]

    @property
    def was_on(self) -> bool:
        """Whether the VM runs today; a suspended one holds its state and counts as running."""
        return not self.is_new and self.today.power is not VmPower.OFF

    @property
    def live(self) -> bool:
        """Whether it moves by vMotion."""
        return self.relocate is not None and self.relocate.live

    @property
    def powers_on(self) -> bool:
        """Whether the plan switches it on."""
        return self.demand.power_on and (not self.was_on or self.off)

    @property
    def changes(self) -> bool:
        """Whether anything is done to the VM."""
        work = (self.clone, self.relocate, self.upgrade, self.drs)
        return (
            any(item is not None for item in work)
            or bool(self.detach)
            or bool(self.reconfigure)
            or self.powers_on
            or (self.was_on and self.off)
        )


def draft(state: State, placement: Placement, *, cold: bool = False) -> Draft:
    """Compare a placement with today. ``cold`` True = do not use vMotion even where it would do."""
    problem = state.problem
    demand = problem.demand_by_id[placement.demand]
    inventory = problem.inventory
    host = inventory.host_by_moid[placement.host]
    is_new = demand.vm is None
    today = inventory.vm_by_moid[demand.vm or demand.template or ""]
    moves = not is_new and today.host != placement.host
    settings = wanted_settings(demand, placement, host, today, is_new=is_new)
    as_it_is = moves and _moves_as_it_is(problem, placement)
    if as_it_is:
        settings = only_hot(settings)
    vnodes = _vnodes(state, placement, settings)
    wanted = wanted_devices(demand, placement, host, vnodes)
    here = inventory.host_by_moid.get(today.host or "")
    difference = device_difference(today, wanted, here, host, moves=moves or is_new)
    if as_it_is:
        difference = DeviceDifference((), (), ())
    upgrade = _upgrade(demand, today)
    detach = Reconfigure(devices=difference.detach)
    if is_new:  # a clone is made off its template's devices in one task, before its first power-on
        detach = Reconfigure()
        difference_devices = (*difference.detach, *difference.changes)
    else:
        difference_devices = difference.changes
    reconfigure = Reconfigure(settings.fields, settings.extra_config, difference_devices, difference.groups)
    off = upgrade is not None or bool(detach) or needs_off(reconfigure, today, demand)
    live = moves and today.is_on and not off and not cold and can_move_live(today, here)
    off = off or (moves and not live) or (today.is_on and not demand.power_on and not is_new)
    return Draft(
        demand,
        placement,
        host,
        today,
        is_new,
        vnodes,
        settings,
        _clone(demand, host, today) if is_new else None,
        _relocate(demand, placement, today, live) if moves else None,
        upgrade,
        detach,
        reconfigure,
        _drs(state, demand, placement, host, reconfigure, today),
        off,
        (*settings.notes, *_device_notes(demand, host, today, wanted, difference_devices != ())),
    )


def _moves_as_it_is(problem: Problem, placement: Placement) -> bool:
    """Whether a running VM changes its host and nothing else."""
    change = disturbance_of(problem, placement)
    return change.running and change.moves and not change.power_cycle


def needs_off(change: Reconfigure, vm: Vm, demand: Demand) -> bool:
    """Whether a change needs the VM off, or counts only after a power cycle.

    Devices, vNUMA and extraConfig always do. CPUs and memory can grow hot where that is switched on
    and no vNUMA or device depends on them (vmware-tanzu/vm-operator; vSphere resource management).
    """
    if change.devices or change.groups or change.extra_config:
        return True
    for item in change.fields:
        if item.field in HOT_FIELDS:
            continue
        grows = isinstance(item.after, int) and isinstance(item.before, int) and item.after > item.before
        hot = {Field.CPUS: vm.cpu_hot_add, Field.MEMORY_MIB: vm.memory_hot_add}.get(item.field)
        if not (hot and grows and not demand.has_devices):
            return True
    return False


def _vnodes(state: State, placement: Placement, settings: Settings) -> tuple[int | None, ...]:
    """Return for each device the vNUMA node to tell the guest; None where it might be wrong.

    A device whose card the platform chooses is told a node only if every card it may get is there. A
    VM that floats has no fixed order of nodes: its devices' nodes, in order, stand for vNUMA nodes.
    """
    shape = settings.shape
    if shape is None or shape.nodes < 2:
        return tuple(None for _ in placement.devices)
    topology = state.problem.topologies[placement.host]
    nodes: list[int | None] = []
    for cards in possible_cards(state, placement):
        at = {topology.cpu_node_for(card) for card in cards}
        nodes.append(at.pop() if len(at) == 1 else None)
    order: Sequence[int] = sorted(placement.nodes or {node for node in nodes if node is not None})
    if len(order) > shape.nodes:
        return tuple(None for _ in placement.devices)
    if not placement.nodes:
        return tuple(None if node is None else order.index(node) for node in nodes)
    return tuple(vnuma_node_of(node, tuple(order), shape.nodes) for node in nodes)


def _upgrade(demand: Demand, today: Vm) -> UpgradeHardware | None:
    """Return the upgrade to the version the request needs; never more, never "latest"."""
    if today.hardware_version is None or demand.hardware_version <= today.hardware_version:
        return None
    return UpgradeHardware(today.hardware_version, demand.hardware_version)


def _clone(demand: Demand, host: Host, template: Vm) -> Clone:
    seen = set(host.datastores)
    reachable = [store for store in (*demand.datastores, *template.datastores) if not seen or store in seen]
    same = reachable and reachable[0] in template.datastores
    return Clone(
        template.moid,
        demand.name,
        host.moid,
        demand.pool,
        None if same or not reachable else reachable[0],
        template.folder,
    )


def _relocate(demand: Demand, placement: Placement, today: Vm, live: bool) -> Relocate:
    pool = demand.pool if demand.pool is not None else today.pool
    return Relocate(today.host or "", placement.host, today.pool, pool, live)


def _drs(
    state: State, demand: Demand, placement: Placement, host: Host, change: Reconfigure, today: Vm
) -> OverrideDrs | None:
    """Keep DRS from undoing the placement of a VM that it could move: one with vGPUs or bound nodes.

    It never load-balances a VM with DirectPath devices, so that one needs no override.
    """
    cluster = state.problem.inventory.cluster_by_moid.get(host.cluster or "")
    matters = bool(placement.nodes or placement.devices)
    if cluster is None or cluster.drs_level != DRS_FULL or not demand.drs_override or not matters:
        return None
    added = [item.after.backing for item in change.devices if item.action is Action.ADD and item.after]
    removed = {item.key for item in change.devices if item.action is Action.REMOVE}
    kept = [device.backing for device in today.devices if device.key not in removed]
    if any(isinstance(item, StaticBacking | DynamicBacking) for item in (*added, *kept)):
        return None
    before = dict(cluster.drs_overrides).get(demand.vm or "")
    if before is not None and before != DRS_FULL:
        return None
    return OverrideDrs(cluster.moid, before, DRS_ASKS)


def _device_notes(
    demand: Demand, host: Host, today: Vm, wanted: WantedDevices, changes_devices: bool
) -> list[str]:
    notes = []
    names = {group.name for group in wanted.groups}
    if any(needs_network(group) for group in host.device_groups if group.name in names) and (
        group_network(demand) is None
    ):
        notes.append("a device group has a virtual function: state its network under nics in the request")
    if changes_devices and any(
        name.lower().startswith("pcipassthru") and ".cfg." in name.lower() for name, _ in today.extra_config
    ):
        notes.append(
            "pciPassthruN.cfg.* keys follow the order of devices: check them, they are left as they are"
        )
    told = [device for device in today.devices if (device.numa_node or 0) > 0]
    if told and not can_have_vnuma(demand.hardware_version):
        notes.append(f"devices are told vNUMA nodes that hardware version {demand.hardware_version} has not")
    return notes
