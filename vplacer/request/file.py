"""The request file as values: what the person wrote, before it is matched with an inventory.

None = not stated, which is different from empty. `Pointer` leads back to file, line and column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vplacer.inventory.yaml_marks import Document, Pointer
from vplacer.request.demand import AffinityMode, Policy, SourceLine
from vplacer.topology.levels import Level


@dataclass(frozen=True, slots=True)
class Selector:
    """Which existing VMs; all that is stated must hold. Names may be patterns with ``*`` and ``?``."""

    name: tuple[str, ...] | None = None
    folder: str | None = None
    tag: tuple[str, ...] | None = None
    pool: str | None = None
    cluster: str | None = None
    moid: tuple[str, ...] | None = None
    instance_uuid: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class GpuSpec:
    """GPUs of one kind. ``count`` counts GPUs or vGPUs, those of groups too."""

    pointer: Pointer
    count: int | None = None
    model: str | None = None
    label: str | None = None
    profile: str | None = None
    group: str | None = None
    interconnect: Level = Level.ANY
    interconnect_policy: str | None = None
    policy: Policy | None = None


@dataclass(frozen=True, slots=True)
class NicSpec:
    """NICs of one kind."""

    pointer: Pointer
    count: int = 1
    kind: str = "passthrough"
    model: str | None = None
    label: str | None = None
    network: str | None = None
    near_gpu: bool = False
    at: Level | None = None
    at_policy: str | None = None
    policy: Policy | None = None
    min_speed_mbps: int | None = None
    rdma: bool | None = None


@dataclass(frozen=True, slots=True)
class Placing:
    """Keys that may stand in an entry and in ``defaults``."""

    policy: Policy | None = None
    affinity: AffinityMode | None = None
    priority: int | None = None
    may_move: bool | None = None
    prefer_ht: bool | None = None
    latency: str | None = None
    power_on: bool | None = None
    include_managed: bool | None = None
    hosts: tuple[str, ...] | None = None
    clusters: tuple[str, ...] | None = None
    pool: str | None = None
    datastore: tuple[str, ...] | None = None
    networks: tuple[str, ...] | None = None
    hardware_version: int | None = None


@dataclass(frozen=True, slots=True)
class VmEntry:
    """One entry of ``vms``.

    ``name`` is that of VMs to be made as it stands, None for existing ones; ``names`` are all of them, in
    order. ``vnuma_nodes`` None = auto where ``vnuma_stated``, else not stated. ``gpus`` and ``nics`` None =
    as the VM has them, empty = none. ``placing`` has the defaults of the file merged in; ``own_affinity`` is
    what the entry itself states.
    """

    pointer: Pointer
    select: Selector | None
    template: str | None
    name: str | None
    names: tuple[str, ...]
    cpus: int | None
    memory_mib: int | None
    vnuma_stated: bool
    vnuma_nodes: int | None
    gpus: tuple[GpuSpec, ...] | None
    nics: tuple[NicSpec, ...] | None
    weight: float | None
    placing: Placing
    own_affinity: AffinityMode | None


@dataclass(frozen=True, slots=True)
class RuleSpec:
    """One rule. ``kind``: apart | together | on | off; ``hosts`` only for on and off."""

    pointer: Pointer
    kind: str
    name: str
    vms: tuple[str, ...]
    hosts: tuple[str, ...]
    at_most: int
    required: bool


@dataclass(frozen=True, slots=True)
class FabricSource:
    """Where fabrics are written: a tag category, or fabric name to host patterns."""

    pointer: Pointer
    tag_category: str | None = None
    hosts: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class GangSpec:
    """One gang. ``fabric_from`` is set where ``same_fabric``."""

    pointer: Pointer
    name: str
    vms: tuple[str, ...]
    same_fabric: bool
    fabric_from: FabricSource | None


@dataclass(frozen=True, slots=True)
class FutureSpec:
    """One shape of the mix expected later: like VMs of the request (``like``), or stated (``shape``)."""

    pointer: Pointer
    name: str
    share: int
    like: str | None
    shape: VmEntry | None


@dataclass(frozen=True, slots=True)
class OptionsSpec:
    """Settings of the whole request; cluster names not yet resolved, "" = the others."""

    cpu_overcommit: tuple[tuple[str, float], ...]
    memory_overcommit: tuple[tuple[str, float], ...]
    memory_margin_percent: float
    headroom_hosts: int
    partial: bool
    hosts_goal: str
    max_power_cycles: int | None
    max_moves: int | None


@dataclass(frozen=True)
class RequestFile:
    """A request file that is right in itself."""

    document: Document
    entries: tuple[VmEntry, ...]
    rules: tuple[RuleSpec, ...]
    gangs: tuple[GangSpec, ...]
    options: OptionsSpec
    notes: tuple[str, ...]
    future: tuple[FutureSpec, ...] = ()

    @property
    def data(self) -> Any:
        """The document as plain values."""
        return self.document.data

    def place(self, pointer: Pointer) -> str:
        """Return ``file:line:column`` of a pointer."""
        mark = self.document.mark(pointer)
        return self.document.path if mark is None else f"{self.document.path}:{mark.line}:{mark.column}"

    def source_line(self, pointer: Pointer) -> SourceLine:
        """Return file and line of a pointer."""
        mark = self.document.mark(pointer)
        return SourceLine(self.document.path, mark.line if mark else 1)
