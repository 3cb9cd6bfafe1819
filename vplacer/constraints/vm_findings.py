"""What is odd about a VM's CPU and NUMA settings on the host it is on, as findings.

Nothing here is a violation of a request: the VM may run so for years. The kinds are stable words, listed
with their meaning in docs/topology.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from vplacer.constraints.supply import threads_per_core
from vplacer.constraints.vnuma_shape import FEWEST_CPUS_WITH_VNUMA, can_have_vnuma, vnuma_node_of
from vplacer.inventory.finding import Certainty, Finding
from vplacer.inventory.host import Host
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vm import StaticBacking, Vm, VmDevice
from vplacer.topology.host_topology import HostTopology

_FOLLOW_SOCKETS: Final = "numa.vcpu.followcorespersocket"
_FOLLOW_SOCKETS_HOST: Final = "Numa.FollowCoresPerSocket"
_PREFER_THREADS: Final = "numa.vcpu.preferHT"
_PREFER_THREADS_HOST: Final = "Numa.PreferHT"
_FEWEST_CPUS: Final = "numa.vcpu.min"
_TRUE: Final = frozenset({"1", "true"})


@dataclass(frozen=True, slots=True)
class GuestNodes:
    """How many vNUMA nodes a guest is shown; ``why`` ends a sentence, ``sure`` = no mere default."""

    count: int
    why: str
    sure: bool


def vm_findings(
    vm: Vm, host: Host, topology: HostTopology, held: Mapping[int, PciAddress]
) -> tuple[Finding, ...]:
    """Return what is odd about a VM's CPU and NUMA settings, in a stable order.

    Args:
        vm: a VM of the host; of a template or one that cannot be read nothing is said.
        host: the host it is registered on.
        topology: of that host.
        held: the cards it surely holds, by device key; those its configuration names need not be there.
    """
    if vm.template or not vm.readable:
        return ()
    return (
        *_affinity_findings(vm, host),
        *_socket_findings(vm, host),
        *_guest_findings(vm, host, topology, held),
    )


def guest_nodes(vm: Vm) -> GuestNodes | None:
    """Return how many vNUMA nodes the guest is shown; None where only the power-on decides.

    CPU hot add hides them unless told otherwise (vSphere API: VirtualNumaInfo.vnumaOnCpuHotaddExposed), and
    a VM of up to 8 vCPUs has none (VMware: Using NUMA Systems with ESXi; numa.vcpu.min). The cores of a
    node that vSphere chose are stale while the VM is off (vSphere API: VirtualNumaInfo).
    """
    if vm.cpu_hot_add and vm.vnuma.exposed_on_hot_add is not True:
        return GuestNodes(1, "CPU hot add is on and hides vNUMA", vm.vnuma.exposed_on_hot_add is False)
    cores = vm.vnuma.cores_per_node
    if cores and (vm.vnuma.auto is False or vm.is_on):
        return GuestNodes(-(-vm.cpus // cores), f"a vNUMA node has {cores} of its {vm.cpus} vCPUs", True)
    fewest = _number(vm.extra(_FEWEST_CPUS), FEWEST_CPUS_WITH_VNUMA)
    if vm.cpus < fewest:
        return GuestNodes(1, f"vNUMA starts at {fewest} vCPUs, it has {vm.cpus}", False)
    return None


def counts_threads(vm: Vm, host: Host) -> bool:
    """Whether the scheduler sizes a VM by a node's threads: numa.vcpu.preferHT, else the host's option."""
    if vm.extra(_PREFER_THREADS) is not None:
        return vm.prefers_threads
    return (dict(host.options).get(_PREFER_THREADS_HOST) or "").lower() in _TRUE


def _number(text: str | None, default: int) -> int:
    try:
        return int(text) if text is not None else default
    except ValueError:
        return default


def _affinity_findings(vm: Vm, host: Host) -> Iterable[Finding]:
    """Affinities that exclude each other, or name what the host does not have."""
    nodes = vm.node_affinity
    several = sum(1 for node in host.numa_nodes if node.core_count > 0) > 1
    if vm.cpu_affinity and (nodes or several):
        beside = f" and numa.nodeAffinity {_listed(nodes)}" if nodes else ""
        yield _finding(
            vm,
            host,
            "cpu-affinity-ends-numa",
            f"it has CPU affinity{beside}: CPU affinity takes a VM out of NUMA scheduling, so nothing keeps "
            "its memory near",
            Certainty.PROVED,
        )
    unread = vm.unreadable_node_affinity
    if unread is not None:
        yield _finding(
            vm,
            host,
            "node-affinity-unreadable",
            f"numa.nodeAffinity is '{unread}', which is no list of node numbers: where it binds the VM is "
            "not known, and it counts as not bound",
            Certainty.UNKNOWN,
        )
    if not host.numa_nodes:
        return
    cores = {node.id: node.core_count for node in host.numa_nodes}
    absent = [node for node in nodes if node not in cores]
    if absent:
        yield _finding(
            vm,
            host,
            "node-affinity-absent",
            f"numa.nodeAffinity names pNUMA {_listed(absent)}, which the host does not have",
            Certainty.PROVED,
        )
    empty = [node for node in nodes if cores.get(node) == 0]
    if empty:
        yield _finding(
            vm,
            host,
            "node-affinity-without-cores",
            f"numa.nodeAffinity names pNUMA {_listed(empty)}, which has no cores",
            Certainty.PROVED,
        )


def _socket_findings(vm: Vm, host: Host) -> Iterable[Finding]:
    """One core a socket, where vNUMA follows the sockets.

    Since ESXi 6.5 it does not unless told so (VMware: Advanced virtual NUMA attributes,
    numa.vcpu.followcorespersocket); from hardware version 20 on it has a setting of its own.
    """
    if vm.cores_per_socket != 1 or can_have_vnuma(vm.hardware_version):
        return
    if vm.cpus < _number(vm.extra(_FEWEST_CPUS), FEWEST_CPUS_WITH_VNUMA):
        return
    own = vm.extra(_FOLLOW_SOCKETS)
    of_host = dict(host.options).get(_FOLLOW_SOCKETS_HOST)
    who = _FOLLOW_SOCKETS if own is not None else f"{_FOLLOW_SOCKETS_HOST} of the host"
    if (own if own is not None else of_host or "").lower() in _TRUE:
        yield _finding(
            vm,
            host,
            "cores-per-socket-shapes-vnuma",
            f"it has {vm.cpus} sockets of one core, and {who} makes vNUMA nodes follow the sockets",
            Certainty.LIKELY,
        )


def _guest_findings(
    vm: Vm, host: Host, topology: HostTopology, held: Mapping[int, PciAddress]
) -> Iterable[Finding]:
    """What the guest is told, against where the VM and its devices are."""
    shown = guest_nodes(vm)
    cards = {
        device.key: device.backing.address
        for device in vm.devices
        if isinstance(device.backing, StaticBacking)
    } | dict(held)
    if shown is not None:
        places = {node for card in cards.values() if (node := topology.cpu_node_for(card)) is not None}
        yield from _one_node_shown(vm, host, shown, places)
    for device in vm.devices:
        told = device.numa_node
        if told is None or told < 0:
            continue
        if shown is not None and told >= shown.count:
            count = "1 vNUMA node" if shown.count == 1 else f"{shown.count} vNUMA nodes"
            text = f"{device.label} is told to be on vNUMA {told}, and the guest sees {count}: {shown.why}"
            sure = Certainty.PROVED if shown.sure else Certainty.LIKELY
            yield _finding(vm, host, "device-vnuma-node-absent", text, sure, cards.get(device.key))
        elif device.key in cards:
            at = topology.cpu_node_for(cards[device.key])
            finding = None if at is None else _told_and_true(vm, device, at, shown)
            if finding is not None:
                kind, text, sure = finding
                yield _finding(vm, host, kind, text, sure, cards[device.key])


def _one_node_shown(vm: Vm, host: Host, shown: GuestNodes, devices: set[int]) -> Iterable[Finding]:
    """A guest that sees one node while the VM is on several: it cannot keep its work near a device."""
    if shown.count > 1:
        return
    nodes = set(vm.node_affinity) & {node.id for node in host.numa_nodes}
    largest = max((node.core_count for node in host.numa_nodes), default=0)
    by_threads = counts_threads(vm, host)
    room = largest * threads_per_core(host) if by_threads else largest
    if len(nodes) > 1:
        span = f"it is bound to pNUMA {_listed(nodes)}"
    elif 0 < room < vm.cpus:
        what = "threads" if by_threads else "cores"
        span = f"its {vm.cpus} vCPUs are more than the {room} {what} of a node"
    elif len(devices) > 1:
        span = f"its devices are on pNUMA {_listed(devices)}"
    else:
        return
    text = f"{span}, and the guest sees one vNUMA node: {shown.why}"
    sure = Certainty.PROVED if shown.sure else Certainty.LIKELY
    yield _finding(vm, host, "guest-sees-one-node", text, sure)


def _told_and_true(
    vm: Vm, device: VmDevice, at: int, shown: GuestNodes | None
) -> tuple[str, str, Certainty] | None:
    """Compare the vNUMA node a device is told to be on with the pNUMA node ``at`` of its card.

    Bound to one pNUMA node, every vNUMA node is there. Bound to several, vSphere is taken to deal the
    vNUMA nodes out over them in their order.
    """
    nodes = vm.node_affinity
    if not nodes:
        return None
    told = f"{device.label} is told to be on vNUMA {device.numa_node}; its card is on pNUMA {at}"
    if at not in nodes:
        text = f"{told}, and the VM is bound to pNUMA {_listed(nodes)}"
        return "device-told-near-is-far", text, Certainty.PROVED
    right = vnuma_node_of(at, nodes, shown.count) if shown is not None else None
    if right is None or shown is None or len(nodes) < 2 or device.numa_node is None:
        return None
    if right <= device.numa_node < right + shown.count // len(nodes):
        return None
    return "device-vnuma-node-differs", f"{told}, that is vNUMA {right}", Certainty.LIKELY


def _listed(nodes: Iterable[int]) -> str:
    return ", ".join(str(node) for node in sorted(nodes))


def _finding(
    vm: Vm, host: Host, kind: str, text: str, certainty: Certainty, address: PciAddress | None = None
) -> Finding:
    return Finding(kind, text, certainty, host.moid, vm.moid, address)
