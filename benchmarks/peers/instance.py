"""From a problem of vplacer's to the neutral form, and from a peer's answer to vplacer's placements.

Taken from vplacer: how much memory a host gives, what running VMs hold, which hosts a filter rules out, how
near two cards are. Not taken: anything of how an answer is found.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace

from benchmarks.peers.form import (
    LEVELS,
    Ask,
    Card,
    Floating,
    Host,
    Instance,
    Node,
    Place,
    Pool,
    Shape,
    Size,
)
from vplacer.constraints.checks.pool_memory import pool_of, vm_needs
from vplacer.constraints.locality import card_relation
from vplacer.constraints.matching import gpu_matches, nic_matches, takes_profile
from vplacer.constraints.nvlink_use import nvlink_use
from vplacer.constraints.registry import filters
from vplacer.constraints.state import DeviceAssignment, Placement, Problem
from vplacer.constraints.supply import consumer_of_demand, demand_parts
from vplacer.inventory import host as inventory
from vplacer.inventory.pci import PciAddress
from vplacer.request.demand import AffinityMode, BoundBy, Demand, GpuAsk, NicAsk
from vplacer.solver.host_state import HostState, build_host_state
from vplacer.solver.options import fixes_nodes
from vplacer.topology.assignable import AssignableDevice
from vplacer.topology.levels import Level, NumaRelation
from vplacer.topology.vgpu_room import profile_shape, room_for


def neutral(problem: Problem) -> Instance:
    """Return the problem in the neutral form."""
    return _Export(problem).run()


class _Export:
    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.missing: set[str] = set()
        self.profiles = sorted(
            {ask.profile for d in problem.request.demands for ask in d.gpus if ask.profile is not None}
        )
        self.states: dict[str, HostState] = {}

    def run(self) -> Instance:
        self._across()
        groups: dict[object, list[Demand]] = defaultdict(list)
        for demand in self.problem.request.demands:
            if demand.vm is not None:
                self.missing.add("existing VMs that the request names: they stay as they are")
            elif not demand.power_on:
                self.missing.add("VMs that stay powered off")
            else:
                groups[replace(demand, id="", name="", source=None)].append(demand)
        members = [sorted(group, key=lambda d: d.id) for group in groups.values()]
        members.sort(key=lambda group: group[0].id)
        hosts = [host for host in self.problem.inventory.hosts if host.moid in self.problem.topologies]
        for host in hosts:
            standing = tuple(
                vm for vm in self.problem.inventory.vms_by_host.get(host.moid, ()) if not vm.template
            )
            state = build_host_state(self.problem, host, standing, ())
            if state.overfull:
                self.missing.add("hosts that are over-full today: they take nothing")
            else:
                self.states[host.moid] = state
        open_hosts = [host for host in hosts if host.moid in self.states]
        shapes = tuple(self._shape(group, open_hosts) for group in members)
        return Instance(
            hosts=tuple(self._host(host) for host in open_hosts),
            shapes=shapes,
            pools=self._pools(members, open_hosts),
            missing=tuple(sorted(self.missing)),
        )

    def _across(self) -> None:
        request = self.problem.request
        rules = request.rules
        if rules.apart or rules.together or rules.on_hosts or rules.gangs:
            self.missing.add("rules that keep VMs together, apart or on hosts, and gangs")
        if request.options.headroom_hosts:
            self.missing.add("headroom for the loss of hosts")
        if any(c.ha_enabled and c.admission is not None for c in self.problem.inventory.clusters):
            self.missing.add("HA admission control")

    def _host(self, host: inventory.Host) -> Host:
        state = self.states[host.moid]
        cards = [(a, cell.card) for cell in state.cells for a in cell.addresses]
        unsure = {a for cells, _ in state.scarce for cell in cells for a in state.cells[cell].addresses}
        if unsure:
            self.missing.add("cards one of which is held, nobody knows which: they are left out")
        cards = sorted((a, card) for a, card in cards if a not in unsure)
        held = dict(state.vgpu_held)
        addresses = [a for a, _ in cards]
        relation = state.topology.relation
        position = {a: at for at, a in enumerate(addresses)}
        free = {a for a in addresses if not held.get(a)}
        return Host(
            id=host.moid,
            nodes=tuple(
                Node(supply.id, supply.package, max(0, room.millicores), max(0, room.memory_mib))
                for supply, room in zip(state.supply.nodes, state.room, strict=True)
            ),
            millicores=max(0, state.total_room.millicores),
            memory_mib=max(0, state.total_room.memory_mib),
            cards=tuple(self._card(host, state, a, card, held.get(a, ())) for a, card in cards),
            near=tuple(
                tuple(
                    tuple(level for level in LEVELS if a != b and relation(a, b).satisfies(Level(level)))
                    for b in addresses
                )
                for a in addresses
            ),
            groups={
                offer.name: tuple(
                    tuple(position[a] for a in members)
                    for members in offer.sets or ()
                    if all(a in free for a in members)
                )
                for offer in state.topology.device_groups
            },
            floating=self._floating(state),
        )

    def _floating(self, state: HostState) -> tuple[Floating, ...]:
        ids = state.node_ids
        found = [
            Floating(parts, part.millicores, part.memory_mib, tuple(ids[at] for at in allowed) or ids)
            for part, parts, allowed in state.items
        ]
        for whole, allowed in state.divisible:
            nodes = tuple(ids[at] for at in allowed) or ids
            found.append(Floating(0, whole.millicores, whole.memory_mib, nodes))
        return tuple(found)

    def _card(
        self,
        host: inventory.Host,
        state: HostState,
        address: PciAddress,
        card: AssignableDevice,
        held: tuple[str, ...],
    ) -> Card:
        near = {node: card_relation(state.topology, address, (node,)) for node in state.node_ids}
        vgpus = {}
        for profile in self.profiles:
            shape = profile_shape(host, profile)
            if shape is not None and takes_profile(host, card, profile):
                shapes = tuple(s for name in held if (s := profile_shape(host, name)) is not None)
                vgpus[profile] = room_for(card, shape, shapes)
        if card.mode is inventory.GpuMode.MIXED_SIZE:
            self.missing.add("cards that take vGPUs of several sizes: one profile at a time is said")
        return Card(
            address=str(address),
            kind=card.kind,
            type=_type(card),
            label=card.label,
            whole=card.passthrough and not held,
            on=tuple(node for node, r in near.items() if r is NumaRelation.SAME_NODE),
            beside=tuple(node for node, r in near.items() if r is NumaRelation.SAME_SOCKET),
            vgpus={profile: room for profile, room in vgpus.items() if room > 0},
        )

    def _shape(self, group: list[Demand], hosts: list[inventory.Host]) -> Shape:
        demand = group[0]
        bound = fixes_nodes(demand)
        sizes = {}
        for host in hosts:
            if any(item.rejects(self.problem, demand, host) for item in filters()):
                continue
            if any(
                nvlink_use(host, self.problem.topologies[host.moid], ask).carries is not True
                for ask in demand.gpus
                if ask.interconnect is Level.NVLINK and ask.group is None
            ):
                continue
            parts = demand_parts(demand, host)
            nodes = tuple(node.id for node in host.numa_nodes[:parts])
            if bound and (demand.cpus % parts or len(nodes) < parts):
                continue
            consumer = consumer_of_demand(demand, nodes if bound else (), host, self.problem.request.options)
            assert consumer is not None
            sizes[host.moid] = Size(consumer.parts, consumer.part.millicores, consumer.part.memory_mib)
        asks = [self._gpu(ask) for ask in demand.gpus] + [self._nic(ask) for ask in demand.nics]
        return Shape(
            vms=tuple(d.id for d in group),
            priority=demand.priority,
            weight=demand.weight_milli,
            seat="bound" if bound else "item" if demand.memory_reserved else "spread",
            chooser=_CHOOSERS[demand.mode],
            asks=tuple(asks),
            sizes=sizes,
        )

    def _gpu(self, ask: GpuAsk) -> Ask:
        types = self._types(lambda host, card: gpu_matches(host, card, ask))
        return Ask(
            "gpu",
            ask.count,
            types,
            ask.policy.value,
            ask.interconnect.value,
            ask.interconnect_required,
            ask.profile,
            ask.group,
        )

    def _nic(self, ask: NicAsk) -> Ask:
        if ask.kind != "passthrough":
            self.missing.add("virtual functions of NICs: VMs that want them are offered no host")
        types = self._types(lambda _, card: ask.kind == "passthrough" and nic_matches(card, ask))
        level = ask.at.value if ask.near_gpu else Level.ANY.value
        return Ask("nic", ask.count, types, ask.policy.value, level, ask.at_required)

    def _types(self, serves: Callable[[inventory.Host, AssignableDevice], bool]) -> tuple[str, ...]:
        """Card types for which a predicate on host and card holds."""
        found = set()
        for moid, state in self.states.items():
            for cell in state.cells:
                if serves(self.problem.inventory.host_by_moid[moid], cell.card):
                    found.add(_type(cell.card))
        return tuple(sorted(found))

    def _pools(self, members: list[list[Demand]], hosts: list[inventory.Host]) -> tuple[Pool, ...]:
        found: dict[str, tuple[list[str], dict[int, int]]] = {}
        for number, group in enumerate(members):
            for host in hosts:
                pool = pool_of(self.problem, group[0], Placement(group[0].id, host.moid, ()))
                if pool is None or pool.memory_unreserved_mib is None:
                    continue
                if pool.memory_expandable and pool.parent in self.problem.inventory.pool_by_moid:
                    self.missing.add("resource pools that may expand into their parent")
                hosts_of, takes = found.setdefault(pool.moid, ([], {}))
                if host.moid not in hosts_of:
                    hosts_of.append(host.moid)
                takes[number] = vm_needs(group[0], None)
        pools = self.problem.inventory.pool_by_moid
        return tuple(
            Pool(moid, max(0, pools[moid].memory_unreserved_mib or 0), tuple(hosts_of), takes)
            for moid, (hosts_of, takes) in sorted(found.items())
        )


_CHOOSERS = {AffinityMode.PIN: "plan", AffinityMode.LABEL: "label", AffinityMode.HINT: "platform"}


def _type(card: AssignableDevice) -> str:
    """Name what a request can tell of a card: all that an ask looks at but its place."""
    told = (card.model, card.ids, card.label, card.passthrough, card.vgpu, card.mode.value)
    return " ".join(map(str, (*told, card.link_mbps, card.rdma)))


def placements(problem: Problem, places: Iterable[Place]) -> tuple[Placement, ...]:
    """Return a peer's answer as vplacer's judge takes it."""
    found = []
    for place in places:
        demand = problem.demand_by_id[place.vm]
        devices = []
        for number, cards in enumerate(place.cards):
            gpu = number < len(demand.gpus)
            index = number if gpu else number - len(demand.gpus)
            members = demand.gpus[index] if gpu else None
            bound_by = _bound_by(demand, members)
            size = len(cards) // members.count if members is not None and members.group else 0
            for at, address in enumerate(cards):
                label = _label(problem, place.host, address) if bound_by is BoundBy.LABEL else None
                devices.append(
                    DeviceAssignment(
                        "gpu" if gpu else "nic",
                        index,
                        PciAddress.parse(address),
                        bound_by,
                        label,
                        at // size if size else None,
                    )
                )
        found.append(Placement(place.vm, place.host, place.nodes, tuple(devices)))
    return tuple(sorted(found, key=lambda placement: placement.demand))


def _bound_by(demand: Demand, ask: GpuAsk | None) -> BoundBy:
    if ask is not None and (ask.profile is not None or ask.group is not None):
        return BoundBy.PLATFORM
    return {AffinityMode.PIN: BoundBy.STATIC, AffinityMode.LABEL: BoundBy.LABEL}.get(
        demand.mode, BoundBy.PLATFORM
    )


def _label(problem: Problem, host: str, address: str) -> str | None:
    wanted = PciAddress.parse(address)
    for device in problem.inventory.host_by_moid[host].pci_devices:
        if device.address == wanted and device.passthrough is not None:
            return device.passthrough.label
    return None
