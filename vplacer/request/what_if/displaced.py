"""VMs of hosts that a what-if removes: what each needs elsewhere, as it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import Vm, VmPower
from vplacer.request.demand import AffinityMode, Demand, OnHosts, Policy, ResolvedRequest, Rules
from vplacer.request.rules import joined, touching, vcenter_rules
from vplacer.request.sizing import GpuFigures
from vplacer.request.today import DeviceReader


def with_displaced(
    request: ResolvedRequest, inventory: Inventory, displaced: Sequence[Vm], sizes: Mapping[str, int]
) -> tuple[ResolvedRequest, tuple[str, ...]]:
    """Return a request that asks for a place for displaced VMs as well, and the ids of their demands.

    They come before the request's own, in priority and in order: they run. Each is asked for like a VM to
    be made from itself as a template: as the request says where it names it, else as it is; under the rules
    that vCenter has for it.
    """
    reader, figures = DeviceReader(inventory), GpuFigures(inventory, sizes)
    priority = max((demand.priority for demand in request.demands), default=0) + 1
    named = {demand.vm: demand for demand in request.demands if demand.vm is not None}
    made: list[Demand] = []
    notes: list[str] = []
    for vm in displaced:
        others = reader.read(vm, Policy.PREFERRED).others
        if others and vm.moid not in named:
            told = ", ".join(others)
            notes.append(
                f"{vm.name} is not placed: whether another host has what it holds is not told: {told}"
            )
            continue
        asked = named.get(vm.moid) or _as_it_is(vm, reader, figures, inventory)
        made.append(
            replace(
                asked,
                id=f"new:{vm.name}",
                vm=None,
                template=vm.moid,
                may_move=True,
                power_on=True,
                priority=priority,
            )
        )
    ids = {demand.template: demand.id for demand in made if demand.template is not None}
    vcenter = touching(_renamed(vcenter_rules(inventory), ids), made)
    left = tuple(demand for demand in request.demands if demand.vm not in ids)
    whole = replace(
        request,
        demands=(*made, *left),
        rules=_each_once(joined(_renamed(request.rules, ids), vcenter)),
        notes=(*request.notes, *notes),
    )
    return whole, tuple(demand.id for demand in made)


def as_templates(inventory: Inventory, displaced: Sequence[Vm]) -> Inventory:
    """Return an inventory in which displaced VMs are but templates of themselves."""
    gone = {vm.moid for vm in displaced}
    vms = tuple(
        replace(vm, power=VmPower.OFF, template=True) if vm.moid in gone else vm for vm in inventory.vms
    )
    return replace(inventory, vms=vms)


def _as_it_is(vm: Vm, reader: DeviceReader, figures: GpuFigures, inventory: Inventory) -> Demand:
    devices = reader.read(vm, Policy.PREFERRED)
    labels = [ask.label for ask in devices.gpus] + [ask.label for ask in devices.nics]
    mode = AffinityMode.LABEL if any(label is not None for label in labels) else AffinityMode.HINT
    locked = vm.memory_locked_to_max or (vm.memory_reservation_mib or 0) >= vm.memory_mib
    pool = inventory.pool_by_moid.get(vm.pool or "")
    cluster = pool.owner if pool is not None and pool.owner in inventory.cluster_by_moid else None
    return Demand(
        id=vm.moid,
        name=vm.name,
        vm=vm.moid,
        template=None,
        clusters=(cluster,) if cluster is not None else (),
        hosts=(),
        cpus=vm.cpus,
        memory_mib=vm.memory_mib,
        vnuma_nodes=None,
        gpus=devices.gpus,
        nics=devices.nics,
        priority=0,
        weight_milli=figures.weight_milli(devices.gpus),
        mode=AffinityMode.PIN if devices.static else mode,
        may_move=True,
        pool=vm.pool,
        datastores=vm.datastores,
        networks=vm.networks,
        hardware_version=vm.hardware_version or 0,
        prefer_ht=vm.prefers_threads,
        latency_high=vm.latency_sensitivity == "high",
        memory_reserved=bool(devices.gpus or devices.nics or locked),
        cpu_reservation_mhz=vm.cpu_reservation_mhz or 0,
        overhead_mib=vm.overhead_mib or 0,
    )


def _renamed(rules: Rules, ids: Mapping[str, str]) -> Rules:
    """Return rules that name demands in place of the VMs they are of."""

    def named(vms: Iterable[str]) -> tuple[str, ...]:
        return tuple(ids.get(vm, vm) for vm in vms)

    return Rules(
        tuple(replace(rule, vms=named(rule.vms)) for rule in rules.apart),
        tuple(replace(rule, vms=named(rule.vms)) for rule in rules.together),
        tuple(replace(rule, vms=named(rule.vms)) for rule in rules.on_hosts),
        tuple(replace(gang, vms=named(gang.vms)) for gang in rules.gangs),
    )


def _each_once(rules: Rules) -> Rules:
    """Drop a rule of which a later one of the same name says more: it names the displaced VMs too."""
    apart = {rule.name: rule for rule in rules.apart}
    together = {rule.name: rule for rule in rules.together}
    on_hosts: dict[str, OnHosts] = {rule.name: rule for rule in rules.on_hosts}
    return Rules(tuple(apart.values()), tuple(together.values()), tuple(on_hosts.values()), rules.gangs)
