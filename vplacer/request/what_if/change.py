"""Changes an inventory as a section ``what_if`` says. Pure: the same inventory and section, the same site."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from vplacer.inventory.gpu_models import gpu_by_ids, gpu_by_name, gpu_candidates
from vplacer.inventory.host import Host, NumaNode
from vplacer.inventory.overlay import Overlay
from vplacer.inventory.overlay_file import belongs_to
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import Vm
from vplacer.inventory.yaml_marks import Pointer
from vplacer.request.complaints import Complaints
from vplacer.request.lookup import Lookup
from vplacer.request.naming import close_names, expand_names, is_pattern, listed, matching
from vplacer.request.what_if import gpus, hosts, vms
from vplacer.request.what_if.file import WhatIfFile
from vplacer.request.what_if.site_draft import ChangedSite, SiteDraft, names_of, plural
from vplacer.topology.build import build_topologies
from vplacer.topology.claims import host_cards
from vplacer.topology.device_use import device_use


def change_site(what_if: WhatIfFile, inventory: Inventory, overlays: Sequence[Overlay]) -> ChangedSite:
    """Return the site as it might be.

    Things are taken out before any is added: VMs, then hosts, then GPUs. Names are those of the site as it
    stands at that point, so that GPUs and VMs may be added to hosts that are new.

    Raises:
        UnknownObjectError, AmbiguousObjectError, FileFormatError: a name fits nothing, or what is asked
            cannot be; the text lists all faults of the step.
    """
    return _Changer(what_if, inventory, overlays).run()


class _Changer:
    def __init__(self, what_if: WhatIfFile, inventory: Inventory, overlays: Sequence[Overlay]) -> None:
        self.what_if = what_if
        self.draft = SiteDraft(inventory, list(overlays))
        self.complaints = Complaints(what_if)

    def run(self) -> ChangedSite:
        remove, add = self.what_if.section.get("remove", {}), self.what_if.section.get("add", {})
        if "vms" in remove:
            self._remove_vms(remove["vms"])
        self._each("remove", "hosts", remove, self._remove_hosts)
        self._each("remove", "gpus", remove, self._remove_gpus)
        self._each("add", "hosts", add, self._add_hosts)
        self._each("add", "gpus", add, self._add_gpus)
        self._each("add", "vms", add, self._add_vms)
        return self.draft.done()

    def _each(
        self, verb: str, kind: str, section: dict[str, Any], change: Callable[[Pointer, Any], None]
    ) -> None:
        for index, entry in enumerate(section.get(kind, ())):
            change(("what_if", verb, kind, index), entry)
        self.complaints.raise_all()

    def _hosts(self, pointer: Pointer, word: str) -> list[Host]:
        found = Lookup(self.draft.inventory(), self.complaints).find_hosts(pointer, [word])
        return [self.draft.hosts[moid] for moid in found]

    def _host(self, pointer: Pointer, word: str) -> Host | None:
        found = self._hosts(pointer, word)
        if len(found) > 1:
            self.complaints.ambiguous(
                pointer, f"several hosts are '{word}': {listed([h.name for h in found])}", "name one of them"
            )
        return found[0] if len(found) == 1 else None

    def _vms(self, pointer: Pointer, word: str) -> list[Vm]:
        everyone = [vm for vm in self.draft.vms.values() if not vm.template]
        direct = [vm for vm in everyone if vm.moid == word]
        fitting = matching(word, (vm.name for vm in everyone))
        found = direct or [vm for vm in everyone if vm.name in fitting]
        if not found:
            fits = "fits" if is_pattern(word) else "is"
            self.complaints.unknown(
                pointer, f"no VM {fits} '{word}'", close_names(word, [vm.name for vm in everyone])
            )
        return found

    def _remove_vms(self, words: str | list[str]) -> None:
        pointer: Pointer = ("what_if", "remove", "vms")
        names = [words] if isinstance(words, str) else words
        found = {vm.moid: vm for word in names for vm in self._vms(pointer, word)}
        self.complaints.raise_all()
        for vm in found.values():
            vms.take_out(self.draft, vm)
        self.draft.changes.append(f"{plural(len(found), 'VM')} removed: {names_of(found.values())}")

    def _remove_hosts(self, pointer: Pointer, entry: str | dict[str, str]) -> None:
        whole = {"host": entry} if isinstance(entry, str) else entry
        for host in self._hosts(pointer, whole["host"]):
            hosts.remove_host(self.draft, host, whole.get("vms", "place") == "place")

    def _remove_gpus(self, pointer: Pointer, entry: dict[str, Any]) -> None:
        host = self._host((*pointer, "host"), entry["host"])
        if host is None:
            return
        gone = (
            self._named_cards(pointer, host, entry["address"])
            if "address" in entry
            else self._free_cards(pointer, host, entry)
        )
        if not gone:
            return
        self.draft.hosts[host.moid] = gpus.without_devices(host, gone)
        self.draft.overlays = [
            gpus.without_cards(overlay, gone) if belongs_to(overlay, host) else overlay
            for overlay in self.draft.overlays
        ]
        told = " ".join(address.short for address in gone)
        self.draft.changes.append(f"{plural(len(gone), 'GPU')} removed from {host.name}: {told}")

    def _named_cards(self, pointer: Pointer, host: Host, words: str | list[str]) -> list[PciAddress]:
        holders, _ = self._use(host)
        cards = {device.address for device in host.pci_devices if gpus.is_gpu(device)}
        found = []
        for word in [words] if isinstance(words, str) else words:
            try:
                address = PciAddress.parse(word)
            except ValueError as error:
                self.complaints.wrong((*pointer, "address"), str(error))
                continue
            if address not in cards:
                have = listed([card.short for card in sorted(cards)]) or "none"
                self.complaints.unknown(
                    (*pointer, "address"), f"{host.name} has no GPU at {address}", f"it has: {have}"
                )
            elif address in holders:
                self._held(pointer, f"{address.short} of {host.name} is held by {holders[address]}")
            else:
                found.append(address)
        return found

    def _free_cards(self, pointer: Pointer, host: Host, entry: dict[str, Any]) -> list[PciAddress]:
        model = self._model((*pointer, "model"), entry.get("model"))
        _, free = self._use(host)
        fitting = [a for a in free if model is None or model == self._model_of(host, a)]
        if len(fitting) < entry["count"]:
            some = f" of model {model}" if model is not None else ""
            self._held(
                pointer,
                f"{host.name} has {len(fitting)} GPUs{some} that no VM holds or may hold, "
                f"{entry['count']} are to go",
            )
            return []
        return fitting[-entry["count"] :]

    def _held(self, pointer: Pointer, text: str) -> None:
        self.complaints.wrong(pointer, text, "remove the VM that holds it too (remove: {vms: ...})")

    def _use(self, host: Host) -> tuple[dict[PciAddress, str], list[PciAddress]]:
        """Return who holds each GPU, and the GPUs that surely nobody holds, in the order of addresses."""
        inventory = self.draft.inventory()
        mine = [overlay for overlay in self.draft.overlays if belongs_to(overlay, host)]
        topology = build_topologies(inventory, mine)[host.moid]
        use = device_use(host_cards(host, topology), inventory.vms_by_host.get(host.moid, ())).use
        names = {vm.moid: vm.name for vm in inventory.vms}
        holders = {
            address: names.get(claims[0].vm, claims[0].vm) for address, claims in use.held.items() if claims
        }
        maybe = {address for claim in use.uncertain for address in claim.candidates}
        cards = sorted(device.address for device in host.pci_devices if gpus.is_gpu(device))
        return holders, [card for card in cards if card not in holders and card not in maybe]

    def _model(self, pointer: Pointer, word: str | None) -> str | None:
        if word is None:
            return None
        known = gpu_by_name(word)
        if known is None:
            close = gpu_candidates(word)
            hint = f"there is: {listed(list(close))}" if close else "vplacer hardware list names the models"
            self.complaints.unknown(pointer, f"no GPU model is '{word}'", hint)
            return word
        return known.name

    def _model_of(self, host: Host, address: PciAddress) -> str | None:
        device = host.device(address)
        known = gpu_by_ids(device.ids) if device is not None else None
        return known.name if known is not None else None

    def _add_hosts(self, pointer: Pointer, entry: dict[str, Any]) -> None:
        like = self._host((*pointer, "like"), entry["like"])
        names = expand_names(entry["name"], entry.get("count", 1))
        taken = {host.name for host in self.draft.hosts.values()}
        for name in names:
            if name in taken:
                self.complaints.wrong((*pointer, "name"), f"a host is called '{name}' already")
        if like is None or self.complaints.errors:
            return
        if like.moid in self.draft.original.gaps_by_object or not like.numa_nodes:
            self.complaints.wrong(
                (*pointer, "like"), f"host '{like.name}' was not fully read, so no other can be like it"
            )
            return
        for name in names:
            hosts.add_host(self.draft, like, name)
        cluster = self.draft.clusters.get(like.cluster or "")
        where = f" in cluster {cluster.name}" if cluster is not None else ""
        self.draft.changes.append(
            f"{plural(len(names), 'host')} like {like.name} added{where}: {' '.join(names)}"
        )

    def _add_gpus(self, pointer: Pointer, entry: dict[str, Any]) -> None:
        host = self._host((*pointer, "host"), entry["host"])
        model = self._model((*pointer, "model"), entry["model"])
        if host is None or model is None or self.complaints.errors:
            return
        node = self._node(pointer, host, entry.get("numa_node"))
        others = [other for other in self.draft.hosts.values() if other.moid != host.moid]
        pattern = gpus.pattern_of(model, host, others)
        count = entry.get("count", 1)
        if pattern is None:
            self.complaints.wrong(
                (*pointer, "model"), f"the PCI ids of {model} are not known, and no host has one"
            )
        elif len(gpus.free_addresses(host, count)) < count:
            self.complaints.wrong((*pointer, "count"), f"{host.name} has not that many free PCI buses")
        elif node is not None:
            like, source = pattern
            label = entry.get("label") or gpus.usual_label(host, node, model)
            changed, added = gpus.with_cards(host, like, source, count, node, label)
            self.draft.hosts[host.moid] = changed
            told = " ".join(address.short for address in added)
            what = model if count == 1 else f"{count} x {model}"
            marked = f", label {label}" if label is not None else ""
            self.draft.changes.append(f"{what} added to {host.name}, pNUMA {node.id}{marked}: {told}")

    def _node(self, pointer: Pointer, host: Host, number: int | None) -> NumaNode | None:
        nodes = {node.id: node for node in host.numa_nodes}
        if number is None and len(nodes) == 1:
            return next(iter(nodes.values()))
        if number is not None and number in nodes:
            return nodes[number]
        have = listed([str(node) for node in nodes]) or "none that vCenter tells of"
        if number is None:
            self.complaints.wrong(pointer, f"{host.name} has several NUMA nodes", f"state numa_node: {have}")
        else:
            self.complaints.unknown((*pointer, "numa_node"), f"{host.name} has no pNUMA node {number}", have)
        return None

    def _add_vms(self, pointer: Pointer, entry: dict[str, Any]) -> None:
        host = self._host((*pointer, "on"), entry["on"])
        found = self._vms((*pointer, "like"), entry["like"])
        names = expand_names(entry["name"], entry.get("count", 1))
        taken = {vm.name for vm in self.draft.vms.values()}
        for name in names:
            if name in taken:
                self.complaints.wrong((*pointer, "name"), f"a VM is called '{name}' already")
        if len(found) > 1:
            self.complaints.ambiguous(
                (*pointer, "like"), f"several VMs are '{entry['like']}': {listed([vm.name for vm in found])}"
            )
        if host is None or len(found) != 1 or self.complaints.errors:
            return
        static = vms.static_device(found[0])
        if static is not None:
            self.complaints.wrong(
                (*pointer, "like"),
                f"{found[0].name} is bound to the card {static.address} of its host: none can be like it",
                "name a VM with Dynamic DirectPath I/O or a vGPU",
            )
            return
        for name in names:
            vms.add_running(self.draft, found[0], host, name)
        where = f"running on {host.name}"
        self.draft.changes.append(
            f"{plural(len(names), 'VM')} like {found[0].name} added, {where}: {' '.join(names)}"
        )
