"""A host's topology as JSON. The format is described in docs/topology.md and changes only by number."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from vplacer.inventory.pci import PciAddress
from vplacer.report.host_formats import Format
from vplacer.topology.cpu_features import CpuOffer
from vplacer.topology.describe import DeviceLine, HostDescription, PairLine
from vplacer.topology.describe_use import ClaimLine, FindingLine, HolderLine, OpaqueHolder
from vplacer.topology.measured import HostMeasurement
from vplacer.topology.nvlink_sets import NvlinkSet
from vplacer.topology.values import GroupOffer, NodeTopology
from vplacer.topology.vgpu_capacity import CardCapacity
from vplacer.topology.vm_places import VmPlace

DOCUMENT_FORMAT = "vplacer-topology"
FORMAT_VERSION = 1


def render_json(description: HostDescription) -> str:
    """Return the document, ending in a newline. ``null`` = not known; it never stands for 0 or none."""
    document = topology_document(description)
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def topology_document(description: HostDescription) -> dict[str, Any]:
    """Return the document as plain values."""
    labels = {line.place.address: line.label for line in description.devices}
    return {
        "format": DOCUMENT_FORMAT,
        "format_version": FORMAT_VERSION,
        "host": _host(description),
        "cpu_precisions": [_precision(offer) for offer in description.cpu],
        "nodes": [_node(node) for node in description.nodes],
        "node_relations": [
            {"a": pair.a, "b": pair.b, "relation": str(pair.relation)} for pair in description.node_pairs
        ],
        "devices": [_device(line) for line in description.devices],
        "relations": [_relation(pair) for pair in description.pairs],
        "held_card_not_told": [_opaque(held) for held in description.opaque_holders],
        "use": [_claim(line) for line in description.use],
        "findings": [_finding(line) for line in description.findings],
        "vgpu_capacity": [_capacity(card) for card in description.vgpu_capacity],
        "vms": [_vm(vm) for vm in description.vms],
        "nvlink_sets": [_nvlink_set(found, labels) for found in description.nvlink_sets],
        "board": description.board,
        "device_groups": [_group(offer) for offer in description.device_groups],
        "ownership_groups": [[str(address) for address in group] for group in description.ownership_groups],
        "assumptions": list(description.assumptions),
        "mismatches": list(description.mismatches),
        "measured": None if description.measured is None else _measured(description.measured),
    }


def _host(description: HostDescription) -> dict[str, Any]:
    state = description.state
    return {
        "moid": description.moid,
        "name": description.name,
        "hardware": description.hardware,
        "packages": description.package_count,
        "connection": str(state.connection),
        "in_maintenance": state.in_maintenance,
        "in_quarantine": state.in_quarantine,
        "reboot_required": state.reboot_required,
    }


def _precision(offer: CpuOffer) -> dict[str, Any]:
    return {
        "name": offer.name,
        "offered": offer.offered,
        "features": list(offer.features),
        "from_hardware_version": offer.hardware_version,
        "why": offer.why,
    }


def _node(node: NodeTopology) -> dict[str, Any]:
    return {
        "id": node.id,
        "package": node.package,
        "cores": node.core_count,
        "threads": list(node.thread_ids),
        "memory_bytes": node.memory_bytes,
        "devices": [str(address) for address in node.devices],
    }


def _relation(pair: PairLine) -> dict[str, Any]:
    return {
        "a": pair.a,
        "b": pair.b,
        "pcie": str(pair.relation.pcie),
        "numa": str(pair.relation.numa),
        "nvlinks": pair.relation.nvlink,
        "nearest": str(pair.nearest),
        "word": pair.word,
    }


def _opaque(held: OpaqueHolder) -> dict[str, Any]:
    return {
        "vm": held.moid,
        "name": held.name,
        "count": held.count,
        "hardware_label": held.label,
        "profile": held.profile,
    }


def _group(offer: GroupOffer) -> dict[str, Any]:
    sets = offer.sets
    return {
        "name": offer.name,
        "gpus": offer.gpu_count,
        "nics": offer.nic_count,
        "sets": None if sets is None else [[str(address) for address in cards] for cards in sets],
        "why": offer.why,
    }


def _measured(measured: HostMeasurement) -> dict[str, Any]:
    return {
        "at": measured.at,
        "age_seconds": measured.age_s,
        "nodes": [asdict(node) for node in measured.nodes],
        "vms": [
            {"vm": vm.moid, "name": vm.name, "home": None if vm.home is None else asdict(vm.home)}
            for vm in measured.vms
        ],
        "notes": list(measured.notes),
    }


def _claim(line: ClaimLine) -> dict[str, Any]:
    claim = line.claim
    return {
        "vm": claim.vm,
        "name": line.name,
        "device_key": claim.device_key,
        "kind": claim.kind,
        "address": _address(claim.address),
        "virtual_function": _address(claim.function),
        "candidates": [str(address) for address in claim.candidates],
        "profile": claim.profile,
        "bound_by": str(claim.bound_by),
        "hardware_label": claim.label,
        "group": claim.group,
        "when": str(claim.when),
        "certainty": str(claim.certainty),
        "sources": [str(source) for source in claim.sources],
        "instance": claim.instance,
    }


def _finding(line: FindingLine) -> dict[str, Any]:
    finding = line.finding
    return {
        "kind": finding.kind,
        "certainty": str(finding.certainty),
        "vm": finding.vm,
        "name": line.name,
        "address": _address(finding.address),
        "text": finding.text,
    }


def _capacity(card: CardCapacity) -> dict[str, Any]:
    return {
        "address": str(card.address),
        "mode": card.mode.value,
        "memory_mib": card.memory_mib,
        "free_mib": card.free_mib,
        "unplaceable_mib": card.unplaceable_mib,
        "held": [{"vm": held.vm, "profile": held.profile, "sure": held.sure} for held in card.held],
        "profiles": [{"profile": room.profile, "more": room.more, "why": room.why} for room in card.rooms],
    }


def _address(address: PciAddress | None) -> str | None:
    return None if address is None else str(address)


def _vm(vm: VmPlace) -> dict[str, Any]:
    return {
        "vm": vm.moid,
        "name": vm.name,
        "power": vm.power,
        "cpus": vm.cpus,
        "memory_mib": vm.memory_mib,
        "home": str(vm.home),
        "nodes": list(vm.nodes),
        "why": vm.why,
        "measured_at": vm.measured_at,
        "local_percent": vm.local_percent,
        "devices": list(vm.held.now),
        "devices_at_power_on": list(vm.held.at_power_on),
        "devices_at_power_on_not_settled": vm.held.unsettled,
        "devices_not_told": vm.held.untold,
    }


def _nvlink_set(found: NvlinkSet, labels: Mapping[PciAddress, str]) -> dict[str, Any]:
    return {
        "name": found.name,
        "gpus": [labels[address] for address in found.gpus],
        "links_between_any_two": found.lanes,
        "switched": found.switched,
        "nodes": list(found.nodes),
        "sources": list(found.sources),
    }


def _device(line: DeviceLine) -> dict[str, Any]:
    place = line.place
    return {
        "label": line.label,
        "address": str(place.address),
        "ids": str(place.ids),
        "kind": str(place.kind),
        "name": line.name,
        "model": place.model,
        "precisions": None if line.precisions is None else list(line.precisions),
        "node": place.node,
        "package": place.package,
        "cpu_nodes": list(place.cpu_nodes),
        "locality_source": str(place.source),
        "node_hint": place.node_hint,
        "bridges": [str(bridge) for bridge in place.bridges],
        "switches": [str(switch) for switch in place.switches],
        "root_port": None if place.root is None else str(place.root),
        "virtual_functions": [str(function) for function in place.functions],
        "nvlinks": [{"to": link.label, "links": link.lanes} for link in line.links],
        "nvlinks_unknown": list(line.open_links),
        "passthrough": line.state,
        "hardware_label": line.hardware_label,
        "link_mbps": line.link_mbps,
        "held_by": [_holder(holder) for holder in line.holders],
        "reset_with": [{"address": str(t.address), **_holder(t.holder)} for t in line.tied],
    }


def _holder(holder: HolderLine) -> dict[str, Any]:
    return {
        "vm": holder.moid,
        "name": holder.name,
        "how": holder.how,
        "when": str(holder.when),
        "certainty": str(holder.certainty),
    }


FORMAT = Format(".json", lambda view: render_json(view.description), ('{\n  "format": "vplacer-topology"',))
