"""What is asked for, after the request file has been matched with an inventory.

A `Demand` is one VM: an existing one that must be (re)placed or one to be made from a template. All
names are resolved to managed object ids; all defaults are filled in. The solver and the judge see
only this, never the file.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from vplacer.inventory.bound_by import BoundBy as BoundBy  # noqa: PLC0414 - part of a demand's words
from vplacer.topology.levels import Level


class Policy(StrEnum):
    """How much the nearness of a device to the VM's vCPUs and memory matters.

    required: same pNUMA node, proved. socket: same socket at least, proved. preferred: counted by
    the second optimisation level. none: not looked at.
    """

    REQUIRED = "required"
    SOCKET = "socket"
    PREFERRED = "preferred"
    NONE = "none"


class AffinityMode(StrEnum):
    """Who fixes which side (see `BoundBy` for the device's side).

    pin: static DirectPath and numa.nodeAffinity. label: Dynamic DirectPath with a label and
    numa.nodeAffinity, where the label is portable. hint: vNUMA shape and device numaNode only;
    the platform chooses cards and nodes.
    """

    PIN = "pin"
    LABEL = "label"
    HINT = "hint"


@dataclass(frozen=True, slots=True)
class GpuAsk:
    """GPUs of one kind.

    ``count`` cards, vGPUs of ``profile``, or whole groups of type ``group``; at most one of profile
    and group is set; ``model`` is a canonical name of `inventory.gpu_models`. ``interconnect`` must
    hold between every two of the ask's cards (of one group: by the vendor's word);
    ``interconnect_required`` False makes it a preference.
    """

    count: int
    model: str | None = None
    label: str | None = None
    profile: str | None = None
    group: str | None = None
    interconnect: Level = Level.ANY
    interconnect_required: bool = False
    policy: Policy = Policy.PREFERRED


@dataclass(frozen=True, slots=True)
class NicAsk:
    """NICs of one kind, whole (``kind`` passthrough) or virtual functions (``kind`` sriov).

    ``near_gpu``: each NIC is within ``at`` of one of the VM's GPUs, GPUs shared out evenly;
    ``at_required`` False makes it a preference. ``min_speed_mbps`` and ``rdma`` None = not asked.
    """

    count: int
    kind: str = "passthrough"
    model: str | None = None
    label: str | None = None
    network: str | None = None
    near_gpu: bool = False
    at: Level = Level.ANY
    at_required: bool = False
    policy: Policy = Policy.PREFERRED
    min_speed_mbps: int | None = None
    rdma: bool | None = None


@dataclass(frozen=True, slots=True)
class SourceLine:
    """Where in the request a demand stands."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Demand:
    """One VM to place.

    ``id`` is the VM's moid, or ``new:<name>`` for one to be made. ``clusters`` and ``hosts`` empty =
    any. ``vnuma_nodes`` None = the fewest equal parts that fit a node. ``weight_milli`` counts at
    level 1 within ``priority`` (higher first). ``memory_reserved`` False only for VMs without
    devices whose reservation is partial: they may then be divided over nodes.
    ``hardware_version`` is the one the VM will have after the plan. ``mode_stated`` False = ``mode`` is the
    default: a VM that meets all else is not changed for its sake. ``kept_nodes``: pNUMA nodes that its
    configuration binds it to and nobody changes, as when HA restarts it; empty = none.
    """

    id: str
    name: str
    vm: str | None
    template: str | None
    clusters: tuple[str, ...]
    hosts: tuple[str, ...]
    cpus: int
    memory_mib: int
    vnuma_nodes: int | None
    gpus: tuple[GpuAsk, ...]
    nics: tuple[NicAsk, ...]
    priority: int
    weight_milli: int
    mode: AffinityMode
    may_move: bool
    pool: str | None
    datastores: tuple[str, ...]
    networks: tuple[str, ...]
    hardware_version: int
    power_on: bool = True
    prefer_ht: bool = False
    latency_high: bool = False
    memory_reserved: bool = True
    cpu_reservation_mhz: int = 0
    overhead_mib: int = 0
    drs_override: bool = True
    source: SourceLine | None = None
    mode_stated: bool = False
    kept_nodes: tuple[int, ...] = ()

    @property
    def has_devices(self) -> bool:
        """Whether any GPU or NIC is asked for."""
        return bool(self.gpus or self.nics)

    @property
    def wants_whole_cores(self) -> bool:
        """GPU VMs and latency-sensitive ones take one physical core a vCPU."""
        return bool(self.gpus) or self.latency_high


@dataclass(frozen=True, slots=True)
class Apart:
    """At most ``at_most`` of ``vms`` on one host. Ids of demands or of VMs outside the request."""

    name: str
    vms: tuple[str, ...]
    at_most: int = 1
    required: bool = True


@dataclass(frozen=True, slots=True)
class Together:
    """All of ``vms`` on one host."""

    name: str
    vms: tuple[str, ...]
    required: bool = True


@dataclass(frozen=True, slots=True)
class OnHosts:
    """``vms`` only on ``hosts`` (``apart`` False) or never on them (True)."""

    name: str
    vms: tuple[str, ...]
    hosts: tuple[str, ...]
    apart: bool
    required: bool = True


@dataclass(frozen=True, slots=True)
class Gang:
    """All or none of ``vms``, at most one a host.

    ``fabric`` None = any; else host moid to fabric name: all on hosts of one fabric; a host that is
    not in it has no fabric and takes no member.
    """

    name: str
    vms: tuple[str, ...]
    fabric: tuple[tuple[str, str], ...] | None = None


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """Settings of the whole request.

    ``cpu_overcommit``: cluster moid to vCPUs a core for VMs that do not take whole cores; "" is the
    default of clusters not named. ``memory_overcommit`` likewise for memory that is not reserved.
    ``headroom_hosts``: hosts whose loss must be survivable. ``hosts_goal``: "fewest" or "spread".
    ``max_power_cycles`` and ``max_moves`` of existing VMs in the whole plan; None = no limit. ``evacuate``:
    moids of hosts to be emptied; ``evacuate_off``: of VMs that are off too.
    """

    cpu_overcommit: tuple[tuple[str, float], ...] = (("", 4.0),)
    memory_overcommit: tuple[tuple[str, float], ...] = (("", 1.0),)
    memory_margin_percent: float = 4.0
    headroom_hosts: int = 0
    partial: bool = False
    hosts_goal: str = "fewest"
    max_power_cycles: int | None = None
    max_moves: int | None = None
    evacuate: tuple[str, ...] = ()
    evacuate_off: bool = False


@dataclass(frozen=True, slots=True)
class Rules:
    """All rules that bind the placement: the request's and those vCenter already has."""

    apart: tuple[Apart, ...] = ()
    together: tuple[Together, ...] = ()
    on_hosts: tuple[OnHosts, ...] = ()
    gangs: tuple[Gang, ...] = ()


@dataclass(frozen=True, slots=True)
class LeftAlone:
    """A VM that the request named and that is not changed, with the reason."""

    vm: str
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class FutureShape:
    """VMs expected later: one of them as a demand of id ``future:<name>``, and its share of the mix.

    Shares are whole numbers; only their ratio to each other counts. The demand names no VM, and places none.
    """

    name: str
    demand: Demand
    share: int


@dataclass(frozen=True, slots=True)
class ResolvedRequest:
    """The request matched with one inventory.

    ``left_alone``: VMs others own, busy ones, pinned ones. ``notes``: what the user should know.
    ``sha256`` of the canonical request document goes into the plan. ``future``: the mix of VMs expected
    later, as stated; empty = not stated (see `future.future_mix`). ``derived``: ids of demands that no
    request describes: VMs that shall be what they are today.
    """

    demands: tuple[Demand, ...]
    rules: Rules
    options: RequestOptions
    left_alone: tuple[LeftAlone, ...] = ()
    notes: tuple[str, ...] = ()
    sha256: str = ""
    source: str = ""
    future: tuple[FutureShape, ...] = ()
    derived: tuple[str, ...] = ()
