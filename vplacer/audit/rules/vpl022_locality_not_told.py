"""Nobody tells on which NUMA node a host's GPUs and NICs for passthrough are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vplacer.audit.model import Hit, Outcome, Rule, Severity
from vplacer.audit.node_room import on_several_nodes
from vplacer.audit.subject import Subject
from vplacer.inventory.device_kind import DeviceKind
from vplacer.inventory.finding import Certainty
from vplacer.inventory.host import ConnectionState, Host
from vplacer.inventory.measured import ESXCLI_SILENT
from vplacer.topology.values import DeviceTopology

_SHOWN = 4


def find(subject: Subject) -> Iterator[Outcome]:
    """Yield hosts with devices for VMs whose node neither vCenter nor an overlay tells."""
    silent = {finding.host: finding.text for finding in subject.told if finding.kind == ESXCLI_SILENT}
    for host in subject.inventory.hosts:
        if host.connection is not ConnectionState.CONNECTED:
            continue
        topology = subject.topologies[host.moid]
        unknown = [card for card in topology.devices if not card.cpu_nodes and card.kind in _WORDS]
        found = [card for card in unknown if card.kind is DeviceKind.GPU or _for_vms(subject, host, card)]
        bare = [card for card in found if card.node is not None]
        nowhere = [card for card in found if card.node is None]
        if nowhere:
            asked = silent.get(host.moid)
            also = f"; esxcli did not tell it either: {asked}" if asked else ""
            text = f"the pNUMA node of {_names(nowhere)} is not told: {_why(host, nowhere)}{also}"
            yield _hit(host, nowhere, text, "")
        if bare:
            nodes = ", ".join(
                str(node) for node in sorted({card.node for card in bare if card.node is not None})
            )
            text = (
                f"{_names(bare)}: on pNUMA {nodes}, without cores, and which node with cores is nearest is "
                "not told"
            )
            yield _hit(host, bare, text, "without cores")


def _for_vms(subject: Subject, host: Host, card: DeviceTopology) -> bool:
    device = subject.cards(host).by_address.get(card.address)
    return device is not None and (device.passthrough or device.sriov_free_vfs > 0)


def _why(host: Host, cards: Sequence[DeviceTopology]) -> str:
    if not host.numa_nodes:
        return "the host does not describe its NUMA nodes"
    if not any(node.devices for node in host.numa_nodes):
        return "no NUMA node lists any device"
    return "no NUMA node lists it" if len(cards) == 1 else "no NUMA node lists them"


def _names(cards: Sequence[DeviceTopology]) -> str:
    names = ", ".join(f"{_WORDS[card.kind]} {card.address}" for card in cards[:_SHOWN])
    return names if len(cards) <= _SHOWN else f"{names} and {len(cards) - _SHOWN} more"


def _hit(host: Host, cards: Sequence[DeviceTopology], text: str, key: str) -> Hit:
    return Hit(
        text,
        Certainty.PROVED,
        host=host.moid,
        key=key,
        severity=Severity.WARNING if on_several_nodes(host) else Severity.NOTE,
        numbers=(("devices", len(cards)),),
    )


_WORDS = {DeviceKind.GPU: "GPU", DeviceKind.NIC: "NIC"}

RULE = Rule(
    id="VPL022",
    name="locality-not-told",
    title="NUMA node of devices is not told",
    severity=Severity.WARNING,
    cause="vCenter lists devices under their NUMA node from vSphere 7.0 update 1 on, and nested hosts not at "
    "all. A device of unknown node is never called local: no placement can promise it, and no rule can say "
    "that it is far.",
    evidence="GPUs, and NICs that VMs can get, in no NumaNode.pciId list of the host and in no overlay; and "
    "those on a node without cores, where no overlay tells which node with cores is nearest. On a host of "
    "one NUMA node it is a note.",
    fix="Ask the host: vplacer collect --esxcli (or audit --esxcli), or import what a tool told on it: "
    "nvidia-smi topo -m, NCCL, lstopo, by vplacer topology import FILE --host NAME.",
    sample="the pNUMA node of GPU 0000:3b:00.0, GPU 0000:af:00.0 is not told: no NUMA node lists any device",
    find=find,
)
