"""Which VM each entry of a request means: existing ones by their marks, new ones by their names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import Vm
from vplacer.inventory.yaml_marks import Pointer
from vplacer.request.complaints import Complaints
from vplacer.request.file import Selector, VmEntry
from vplacer.request.lookup import Lookup, Named, matching_moids
from vplacer.request.naming import close_names, is_pattern, listed, matching


@dataclass(frozen=True, slots=True)
class Target:
    """One VM of one entry. ``vm`` None = to be made from ``template``."""

    entry: VmEntry
    name: str
    vm: Vm | None
    template: Vm | None


class Selection:
    """Matches entries with one inventory."""

    def __init__(self, inventory: Inventory, lookup: Lookup, complaints: Complaints) -> None:
        self.inventory = inventory
        self.lookup = lookup
        self.complaints = complaints
        self.vms = [vm for vm in inventory.vms if not vm.template]
        self.by_name = _by_name(self.vms)
        self.order = {vm.moid: index for index, vm in enumerate(self.vms)}

    def targets(self, entries: Sequence[VmEntry]) -> tuple[Target, ...]:
        """Return the VMs of all entries, in the order of the file; a VM named twice is a complaint."""
        found: list[Target] = []
        first: dict[str, Pointer] = {}
        for entry in entries:
            for target in self._of_entry(entry):
                key = target.vm.moid if target.vm is not None else f"new:{target.name}"
                if key in first:
                    other = self.complaints.request.place(first[key])
                    self.complaints.wrong(entry.pointer, f"VM '{target.name}' is named at {other} as well")
                    continue
                first[key] = entry.pointer
                found.append(target)
        return tuple(found)

    def _of_entry(self, entry: VmEntry) -> list[Target]:
        if entry.select is not None:
            return [Target(entry, vm.name, vm, None) for vm in self.select(entry.select, entry.pointer)]
        assert entry.template is not None
        template = self.lookup.find_template((*entry.pointer, "template"), entry.template)
        made = []
        for name in entry.names:
            existing = self.by_name.get(name, [])
            if len(existing) > 1:
                self._ambiguous((*entry.pointer, "name"), name, existing)
            elif existing or template is not None:
                made.append(Target(entry, name, existing[0] if existing else None, template))
        return made

    def select(self, selector: Selector, pointer: Pointer) -> list[Vm]:
        """Return the VMs a selector means, in inventory order; none is a complaint."""
        at: Pointer = (*pointer, "select")
        before = len(self.complaints.errors)
        vms = self._by_folder(self.vms, selector, at)
        vms = self._by_cluster(vms, selector, at)
        vms = self._by_pool(vms, selector, at)
        vms = self._by_tag(vms, selector, at)
        vms = self._by_words(vms, selector.moid, (*at, "moid"), "managed object id", lambda vm: vm.moid)
        vms = self._by_words(
            vms,
            selector.instance_uuid,
            (*at, "instance_uuid"),
            "instance UUID",
            lambda vm: (vm.instance_uuid or "").lower(),
        )
        vms = self._by_name(vms, selector, at)
        if not vms and len(self.complaints.errors) == before:
            self.complaints.unknown(at, "no VM fits all that is stated")
        return vms

    def _by_name(self, vms: list[Vm], selector: Selector, at: Pointer) -> list[Vm]:
        if selector.name is None:
            return vms
        names = self.by_name if vms is self.vms else _by_name(vms)
        chosen: set[str] = set()
        for word in selector.name:
            fitting = frozenset({word}) if word in names else matching(word, names)
            hits = [vm for name in fitting for vm in names[name]]
            if not hits:
                self._no_vm((*at, "name"), word, vms)
            elif word in fitting and len(hits) > 1:
                self._ambiguous((*at, "name"), word, hits)
            chosen |= {vm.moid for vm in hits}
        return [self.inventory.vm_by_moid[moid] for moid in sorted(chosen, key=self.order.__getitem__)]

    def _no_vm(self, pointer: Pointer, word: str, vms: list[Vm]) -> None:
        templates = [vm.name for vm in self.inventory.vms if vm.template]
        if word in templates:
            self.complaints.wrong(
                pointer,
                f"'{word}' is a template, not a VM",
                hint="use 'template' and 'name' to make VMs of it",
            )
            return
        told = "fits" if is_pattern(word) else "is named"
        among = " among those the rest of 'select' leaves" if len(vms) < len(self.vms) else ""
        self.complaints.unknown(
            pointer, f"no VM {told} '{word}'{among}", close_names(word, [vm.name for vm in vms])
        )

    def _ambiguous(self, pointer: Pointer, name: str, vms: Sequence[Vm]) -> None:
        shown = listed([f"{vm.moid} in folder {vm.folder or '/'}" for vm in vms])
        self.complaints.ambiguous(
            pointer,
            f"{len(vms)} VMs are named '{name}': {shown}",
            "select by folder or moid as well",
        )

    def _by_folder(self, vms: list[Vm], selector: Selector, at: Pointer) -> list[Vm]:
        if selector.folder is None:
            return vms
        wanted = selector.folder.strip("/")
        folders = {vm.folder for vm in self.vms}
        fitting = {folder for folder in folders if in_folder(folder, wanted)}
        if not fitting:
            self.complaints.unknown(
                (*at, "folder"), f"no VM is in a folder '{selector.folder}'", close_names(wanted, folders)
            )
        return [vm for vm in vms if vm.folder in fitting]

    def _by_cluster(self, vms: list[Vm], selector: Selector, at: Pointer) -> list[Vm]:
        if selector.cluster is None:
            return vms
        wanted = self.lookup.find_clusters((*at, "cluster"), [selector.cluster])
        return [vm for vm in vms if self.lookup.cluster_of(vm) in wanted]

    def _by_pool(self, vms: list[Vm], selector: Selector, at: Pointer) -> list[Vm]:
        if selector.pool is None:
            return vms
        pools = [Named(pool.moid, pool.name, "") for pool in self.inventory.pools]
        wanted = matching_moids(selector.pool, pools)
        if not wanted:
            self.complaints.unknown(
                (*at, "pool"),
                f"no resource pool is '{selector.pool}'",
                close_names(selector.pool, [pool.name for pool in pools]),
            )
        for pool in self.inventory.pools:  # parents come before children or not: walk up from each
            above = pool.parent
            while above is not None and above not in wanted:
                parent = self.inventory.pool_by_moid.get(above)
                above = parent.parent if parent is not None else None
            if above is not None:
                wanted.add(pool.moid)
        return [vm for vm in vms if vm.pool in wanted]

    def _by_tag(self, vms: list[Vm], selector: Selector, at: Pointer) -> list[Vm]:
        if selector.tag is None:
            return vms
        known = {tag for vm in self.vms for tag in vm.tags}
        wanted: set[str] = set()
        for word in selector.tag:
            hits = matching(word, known)
            if not hits:
                hint = close_names(word, known) if ":" in word else "write a tag as CATEGORY:NAME"
                self.complaints.unknown((*at, "tag"), f"no VM carries the tag '{word}'", hint)
            wanted |= hits
        return [vm for vm in vms if wanted.intersection(vm.tags)]

    def _by_words(
        self,
        vms: list[Vm],
        words: tuple[str, ...] | None,
        pointer: Pointer,
        kind: str,
        key: Callable[[Vm], str],
    ) -> list[Vm]:
        """Narrow by an identifier that is unique, given as a list of alternatives."""
        if words is None:
            return vms
        known = {key(vm) for vm in vms}
        for word in words:
            if word.lower() not in {value.lower() for value in known}:
                self.complaints.unknown(pointer, f"no VM has the {kind} '{word}'")
        wanted = {word.lower() for word in words}
        return [vm for vm in vms if key(vm).lower() in wanted]


def _by_name(vms: list[Vm]) -> dict[str, list[Vm]]:
    found: dict[str, list[Vm]] = {}
    for vm in vms:
        found.setdefault(vm.name, []).append(vm)
    return found


def in_folder(folder: str, wanted: str) -> bool:
    """Whether a folder path is ``wanted``, below it, or fits it as a pattern; the path may be cut above."""
    path = folder.strip("/")
    parts, sought = path.split("/"), wanted.split("/")
    if any(parts[i : i + len(sought)] == sought for i in range(len(parts) - len(sought) + 1)):
        return True
    return is_pattern(wanted) and bool(matching(wanted, [path]))
