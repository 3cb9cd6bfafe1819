"""The plan: what would be done, in which order, why, at what price, and how to take it back.

One record for everything that follows a decision: text, JSON, the plan file, staleness, apply,
rollback. Objects are named by managed object id; a VM to be made by ``new:<name>``, as in the request.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TypeAlias

from vplacer.inventory.pci import PciAddress
from vplacer.plan.changes import Change
from vplacer.request.demand import AffinityMode, BoundBy, LeftAlone, Policy
from vplacer.solver.relaxing.model import WayOut
from vplacer.solver.verdict import DemandReasons, LevelResult, Status, StoppedBy
from vplacer.topology.levels import NumaRelation

Fact: TypeAlias = int | bool | str | tuple[str, ...] | None
"""An observed field as a plan keeps it: a number, a text, or a sorted list of texts."""


class Symbol(StrEnum):
    """The sign before a line; each comes with words, so that nothing hangs on it alone."""

    CREATE = "+"
    CHANGE = "~"
    DESTROY = "-"
    REPLACE = "-/+"
    MIGRATE = ">"
    POWER_CYCLE = "!"
    UNCHANGED = "="


class StepKind(StrEnum):
    """What a step does. RELOCATE is with the VM off, MIGRATE with it on (vMotion)."""

    CLONE = "clone"
    UPGRADE_HARDWARE = "upgrade_hardware"
    POWER_OFF = "power_off"
    RECONFIGURE = "reconfigure"
    RELOCATE = "relocate"
    MIGRATE = "migrate"
    OVERRIDE_DRS = "override_drs"
    POWER_ON = "power_on"


class ObjectKind(StrEnum):
    """Kinds of objects whose fields are compared."""

    VCENTER = "vcenter"
    HOST = "host"
    VM = "vm"


@dataclass(frozen=True, slots=True)
class FieldFact:
    """One field of one object with the value it must have."""

    object: str
    field: str
    value: Fact


@dataclass(frozen=True, slots=True)
class Observed:
    """The fields of one object that the decision used.

    ``change_version`` is for the log only: it moves at power-on and with any client's write, so it
    guards one call, never a plan.
    """

    kind: ObjectKind
    id: str
    name: str
    fields: tuple[tuple[str, Fact], ...]
    change_version: str | None = None


class Migration(StrEnum):
    """How a VM changes its host."""

    NONE = "none"
    COLD = "cold"
    LIVE = "live"


@dataclass(frozen=True, slots=True)
class Impact:
    """What a change costs the VM's users.

    ``power_cycle``: a VM that runs now is switched off on the way. ``loses``: what the VM can do today
    and not afterwards ("vmotion", "ha_restart", "drs", "snapshots", "suspend").
    ``reserves_memory_mib``: memory newly reserved. ``guest``: what the guest will notice ("cpu_count",
    "cpu_topology", "memory_size", "numa_topology", "devices", "nic_names", "hardware").
    """

    power_cycle: bool = False
    migration: Migration = Migration.NONE
    loses: tuple[str, ...] = ()
    reserves_memory_mib: int = 0
    guest: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a VM changes: a stable code and a sentence.

    ``violation`` True = the judge says so of the VM as it is today; the code is then the constraint's.
    """

    code: str
    text: str
    violation: bool = False


@dataclass(frozen=True, slots=True)
class PlannedDevice:
    """One device a placed VM will have.

    ``ref`` is its name in the steps. ``address``: the card, where ``settled`` says that it can be no
    other; else only a witness that there is room. ``node``: pNUMA node of that card, ``vnode``: vNUMA
    node told to the guest; None = unknown, not told.
    """

    ref: str
    address: PciAddress
    settled: bool
    node: int | None
    vnode: int | None
    bound_by: BoundBy
    label: str | None
    group: int | None


@dataclass(frozen=True, slots=True)
class PlannedAsk:
    """The devices of one line of the request.

    ``ask``: "gpu" or "nic". ``what``: model, vGPU profile or group as people say it. ``path``: in the
    words of nvidia-smi the weakest way between any two GPUs of the ask, or from a NIC to the GPU it is
    near; None where there is no pair, or the cards are vSphere's choice. ``numa``: the farthest any of
    its cards may be from the VM's nodes, whatever vSphere chooses; ``fixed``: both sides are bound, so
    that this holds.
    """

    ask: str
    index: int
    what: str
    policy: Policy
    path: str | None
    numa: NumaRelation
    fixed: bool
    devices: tuple[PlannedDevice, ...]


@dataclass(frozen=True, slots=True)
class VmPlan:
    """One VM of the request that has a place.

    ``vm`` None = made by this plan. ``host_before`` None = none today. ``nodes``: pNUMA nodes its vCPUs
    and memory are bound to; empty = vSphere chooses. ``steps``: ids, in order; empty = unchanged.
    """

    demand: str
    name: str
    vm: str | None
    symbol: Symbol
    host_before: str | None
    host_after: str
    nodes: tuple[int, ...]
    vnuma_nodes: int | None
    cpus: int
    memory_mib: int
    mode: AffinityMode
    asks: tuple[PlannedAsk, ...]
    reasons: tuple[Reason, ...]
    impact: Impact
    steps: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether the plan does anything to the VM."""
        return bool(self.steps)


@dataclass(frozen=True, slots=True)
class Step:
    """One task at the vCenter.

    ``vm`` is a moid, or a demand id for a VM made by this plan. ``preconditions`` must hold right
    before it, ``checks`` are read back after it. ``effect`` says it in a sentence. ``undo``: the change
    that restores the state before, None = ``irreversible`` says why. ``depends_on``: ids of steps that
    must have succeeded.
    """

    id: str
    kind: StepKind
    vm: str
    change: Change
    effect: str
    preconditions: tuple[FieldFact, ...]
    checks: tuple[FieldFact, ...]
    undo: Change | None
    irreversible: str | None
    depends_on: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OverlayRef:
    """An overlay the decision used. ``sha256`` of its canonical content."""

    host: str
    source: str
    created: str
    sha256: str


@dataclass(frozen=True, slots=True)
class MissingPart:
    """Something that could not be read. ``name`` of the object where it has one; the rest as in `Gap`."""

    object: str
    name: str | None
    path: str
    kind: str
    reason: str


@dataclass(frozen=True, slots=True)
class Source:
    """The inventory the plan was made from.

    ``fingerprint`` of the whole snapshot; ``hosts`` and ``vms`` count what was read, templates not
    counted; ``gaps``: what could not be read; none = complete.
    """

    vcenter: str
    instance_uuid: str
    version: str
    api_version: str
    taken_at: str
    fingerprint: str
    hosts: int
    vms: int
    gaps: tuple[MissingPart, ...]
    overlays: tuple[OverlayRef, ...]


@dataclass(frozen=True, slots=True)
class RequestRef:
    """The request: the file's name, its canonical document as JSON text, and the hash of that."""

    file: str
    sha256: str
    document: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the solver said."""

    status: Status
    stopped_by: StoppedBy | None
    seed: int
    solver_version: str
    levels: tuple[LevelResult, ...]
    assumptions: tuple[str, ...]
    reasons: tuple[DemandReasons, ...]
    ways_out: tuple[WayOut, ...]


@dataclass(frozen=True, slots=True)
class DriftItem:
    """A field that moved since the previous plan, other than by that plan itself."""

    kind: ObjectKind
    object: str
    name: str
    field: str
    was: Fact
    now: Fact


@dataclass(frozen=True, slots=True)
class Summary:
    """Counts for the last line. ``violations_*`` None = not judged.

    Each changed VM is counted once: created, else migrated, else reconfigured. ``unchanged``: all other
    VMs that were read; ``unchanged_requested``: those of them that the request names and that have a
    place.
    """

    created: int
    reconfigured: int
    migrated: int
    power_cycles: int
    unchanged: int
    unchanged_requested: int
    requested: int
    placed: int
    violations_before: int | None
    violations_after: int | None


@dataclass(frozen=True, slots=True)
class FutureRoom:
    """How many VMs of a shape of the mix fit, each shape by itself: before the plan and after it.

    ``stated``: by the request's ``future``; else it is a shape of the request. ``share``: of the mix.
    ``points``: what each counts at the level "room".
    """

    name: str
    stated: bool
    share: int
    points: int
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Unplaced:
    """A VM of the request that has no place."""

    demand: str
    name: str


@dataclass(frozen=True, slots=True)
class EvacuatedHost:
    """A host that was to be emptied.

    ``empty``: whether every VM that had to leave does. ``stays``: ids of those that do not: they are left
    alone, or have no place. Templates, and VMs that are off and may stay, are not among them.
    """

    host: str
    empty: bool
    stays: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What carrying a plan out at a simulated vCenter came to.

    ``steps``: how many were carried out and read back; fewer than the plan has where it stopped, or only
    a part was rehearsed. ``seconds``: of the simulated vCenter's time, with tasks as long as usual.
    ``faults``: what failed, the worst first; empty = nothing. ``complete``: the whole plan was rehearsed.
    """

    steps: int
    seconds: int
    faults: tuple[str, ...]
    complete: bool


@dataclass(frozen=True)
class Plan:
    """A complete plan.

    ``applyable``: the verdict allows it to be carried out and there is something to do; a partial
    placement of an infeasible request is shown, never applied. ``names``: display names of the hosts
    and other objects that ids stand for. ``observed``: what must still be so when it is applied.
    ``future``: what could still be placed of the VMs expected later.
    ``hypothetical``: it was made for a site that is not so, changed as ``what_if`` says: never applied.
    ``rehearsal``: None = it was not rehearsed.
    """

    tool_version: str
    created: str
    source: Source
    request: RequestRef
    verdict: Verdict
    applyable: bool
    summary: Summary
    vms: tuple[VmPlan, ...]
    unplaced: tuple[Unplaced, ...]
    left_alone: tuple[LeftAlone, ...]
    steps: tuple[Step, ...]
    observed: tuple[Observed, ...]
    drift: tuple[DriftItem, ...]
    notes: tuple[str, ...]
    names: tuple[tuple[str, str], ...]
    evacuated: tuple[EvacuatedHost, ...] = ()
    future: tuple[FutureRoom, ...] = ()
    hypothetical: bool = False
    what_if: tuple[str, ...] = ()
    rehearsal: Rehearsal | None = None

    @cached_property
    def step_by_id(self) -> dict[str, Step]:
        """Steps by id."""
        return {step.id: step for step in self.steps}

    @cached_property
    def vm_names(self) -> dict[str, str]:
        """Names of the VMs of the request by the ids that steps call them by.

        Where several have one name, the id stands beside it.
        """
        names = {item.vm or item.demand: item.name for item in self.vms}
        often = Counter(names.values())
        return {vm: f"{name} ({vm})" if often[name] > 1 else name for vm, name in names.items()}

    @cached_property
    def _name_by_id(self) -> dict[str, str]:
        return dict(self.names)

    def name(self, moid: str) -> str:
        """Return the display name of an object, or its id where there is none."""
        return self._name_by_id.get(moid, moid)
