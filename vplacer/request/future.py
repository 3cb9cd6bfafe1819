"""The mix of VMs expected later: stated under ``future``, else the VMs of the request themselves.

Later VMs are not placed. What could still be placed of the mix is the objective's level "room", and
what room is kept for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from vplacer.inventory.host import ConnectionState
from vplacer.inventory.limits_table import FIRST_WITH_VNUMA
from vplacer.inventory.vm import Ownership, Vm, VmPower, VnumaConfig
from vplacer.request.complaints import Complaints
from vplacer.request.demand import Demand, FutureShape, ResolvedRequest
from vplacer.request.demands import DemandMaker
from vplacer.request.file import FutureSpec, VmEntry
from vplacer.request.lookup import Lookup
from vplacer.request.naming import close_names, is_pattern, listed, matching, without_number
from vplacer.request.select import Target
from vplacer.request.sizing import estimated_overhead_mib, needed_hardware_version

OLDEST_VERSION = 13
"""The oldest hardware version that a request can ask for: every host offers it."""


def future_mix(request: ResolvedRequest) -> tuple[FutureShape, ...]:
    """Return the mix to count with: the one stated, else the request's own shapes by number asked.

    In the order of the file; a shape that is not stated has the name of its first VM.
    """
    if request.future:
        return request.future
    twins: dict[Demand, list[Demand]] = {}
    for demand in request.demands:
        twins.setdefault(replace(demand, id="", name="", source=None), []).append(demand)
    found: dict[Demand, FutureShape] = {}
    for first, *others in twins.values():
        shape = shape_of(first, first.name)
        kind = _alike(shape)
        known = found.get(kind, FutureShape(first.name, shape, 0))
        found[kind] = replace(known, share=known.share + 1 + len(others))
    return tuple(found.values())


def shape_of(demand: Demand, name: str) -> Demand:
    """Return what VMs like a demand's are to have, without what is that VM's own: id, pool, priority."""
    return replace(
        demand,
        id=f"future:{name}",
        name=name,
        vm=None,
        template=None,
        priority=0,
        may_move=False,
        pool=None,
        power_on=True,
        hardware_version=_hardware_version(demand),
        overhead_mib=estimated_overhead_mib(demand.cpus, demand.memory_mib),
        drs_override=True,
        source=None,
        mode_stated=False,
    )


def shape_like(mix: Iterable[FutureShape], demand: Demand) -> FutureShape | None:
    """Return the first shape of a mix that a demand is of; None = of none.

    A shape for any host is that of a VM for some hosts, too.
    """
    wanted = _alike(shape_of(demand, demand.name))
    for shape in mix:
        hosts = shape.demand.hosts or wanted.hosts
        if _alike(replace(shape.demand, hosts=hosts)) == wanted:
            return shape
    return None


def _hardware_version(demand: Demand) -> int:
    """Return the version that a new VM of this shape needs, the oldest where any will do."""
    least = FIRST_WITH_VNUMA if demand.has_devices or demand.vnuma_nodes is not None else OLDEST_VERSION
    return needed_hardware_version(demand.gpus, demand.nics, least, demand.cpus, demand.memory_mib)


def _alike(shape: Demand) -> Demand:
    """Return what tells shapes apart: not on which datastores a VM's disks happen to be."""
    return replace(shape, id="", name="", datastores=(), networks=(), source=None)


class FutureMaker:
    """Makes the shapes of one request's ``future``, from the VMs that its entries mean."""

    def __init__(self, lookup: Lookup, complaints: Complaints, maker: DemandMaker) -> None:
        self.lookup = lookup
        self.complaints = complaints
        self.maker = maker
        self._made: list[tuple[Target, Demand]] = []
        self._left_alone: list[Target] = []
        self._skipped: list[str] = []

    def made(self, target: Target, demand: Demand) -> None:
        """Remember the demand of a target."""
        self._made.append((target, demand))

    def left_alone(self, target: Target) -> None:
        """Remember a target that is left alone: nothing is known of what it would have got."""
        self._left_alone.append(target)

    def notes(self) -> tuple[str, ...]:
        """Return what the user should know of the shapes made."""
        if not self._skipped:
            return ()
        told = "not counted in the mix expected later, since all VMs meant are left alone"
        return (f"{told}: {listed(self._skipped)}",)

    def shapes(self, specs: Iterable[FutureSpec]) -> tuple[FutureShape, ...]:
        """Return the shapes; a name that matches nothing is a complaint."""
        found = []
        for spec in specs:
            demand = self._stated(spec, spec.shape) if spec.shape is not None else self._like(spec)
            if demand is not None:
                found.append(FutureShape(spec.name, demand, spec.share))
        return tuple(found)

    def _stated(self, spec: FutureSpec, entry: VmEntry) -> Demand | None:
        base: Vm | None = _blank(spec.name)
        if entry.template is not None:
            base = self.lookup.find_template((*spec.pointer, "template"), entry.template)
        if base is None:
            return None
        demand = shape_of(self.maker.shape(entry, base, spec.name), spec.name)
        return replace(demand, source=self.complaints.request.source_line(spec.pointer))

    def _like(self, spec: FutureSpec) -> Demand | None:
        """Return the shape of the VMs that ``like`` means; several shapes are a complaint."""
        word, at = spec.like or "", (*spec.pointer, "like")
        names = [target.name for target, _ in self._made] + [t.name for t in self._left_alone]
        fitting = matching(word, names)
        meant: dict[Demand, tuple[Demand, str]] = {}
        for target, demand in self._made:
            if target.name in fitting or word in _entry_names(target):
                shape = replace(shape_of(demand, spec.name), hosts=_stated_hosts(target, demand))
                meant.setdefault(_alike(shape), (shape, target.name))
        if len(meant) == 1:
            shape, _ = next(iter(meant.values()))
            return replace(shape, source=self.complaints.request.source_line(spec.pointer))
        if meant:
            told = f"the VMs meant by '{word}' have {len(meant)} different shapes"
            shown = listed([name for _, name in meant.values()])
            self.complaints.ambiguous(at, told, f"name one of {shown}")
        elif any(t.name in fitting or word in _entry_names(t) for t in self._left_alone):
            self._skipped.append(spec.name)
        else:
            told = "fits" if is_pattern(word) else "is named"
            known = {*names, *(name for t, _ in self._made for name in _entry_names(t))}
            self.complaints.unknown(at, f"no VM of this request {told} '{word}'", close_names(word, known))
        return None


def _entry_names(target: Target) -> set[str]:
    """Return what the entry of a target is called: the name of its new VMs, with the number and without."""
    entry = target.entry
    if entry.name is None:
        return set()
    return {entry.name, without_number(entry.name)}


def _stated_hosts(target: Target, demand: Demand) -> tuple[str, ...]:
    """Return the hosts a VM like it may be on: not the one that only this VM cannot leave."""
    return demand.hosts if target.entry.placing.hosts is not None else ()


def _blank(name: str) -> Vm:
    """Return a VM that tells nothing: the base of a shape that needs no template."""
    return Vm(
        moid="",
        name=name,
        instance_uuid=None,
        datacenter=None,
        folder="",
        host=None,
        pool=None,
        power=VmPower.OFF,
        connection=ConnectionState.CONNECTED,
        template=True,
        readable=True,
        hardware_version=None,
        change_version=None,
        cpus=1,
        cores_per_socket=None,
        cores_per_socket_auto=None,
        simultaneous_threads=None,
        memory_mib=4,
        memory_reservation_mib=None,
        memory_limit_mib=None,
        memory_locked_to_max=None,
        cpu_reservation_mhz=None,
        overhead_mib=None,
        latency_sensitivity=None,
        cpu_hot_add=None,
        memory_hot_add=None,
        firmware=None,
        guest_id=None,
        vnuma=VnumaConfig(None, None, None),
        cpu_affinity=(),
        devices=(),
        device_groups=(),
        extra_config=(),
        datastores=(),
        networks=(),
        snapshot_count=0,
        linked_clone=None,
        ownership=Ownership(),
    )
