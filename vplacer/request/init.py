"""Writes a request from today's VMs: a file to edit, which as it stands changes nothing.

It states only what the person may want to change. Devices stand active, so that the file shows what each
VM holds; a VM bound to cards and NUMA nodes says ``affinity: pin``, which is what it has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from vplacer.errors import UnknownObjectError
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import Vm
from vplacer.request.asks import group_sizes
from vplacer.request.demand import GpuAsk, NicAsk, Policy
from vplacer.request.naming import close_names, is_pattern, matching
from vplacer.request.refusal import why_untouchable
from vplacer.request.select import in_folder
from vplacer.request.today import DeviceReader, TodaysDevices
from vplacer.request.units import memory_text
from vplacer.topology.host_topology import HostTopology

_HEAD = """\
# Request for vCenter {name}, as it was at {taken_at}{scope}.
#
# As it stands it changes nothing. Edit the figures; `vplacer plan --dry-run -r FILE` shows what would follow.
# Every key: `vplacer schema request`.
version: 1

defaults:
  policy: preferred      # required | socket | preferred | none: devices on the vCPUs' NUMA node
  # affinity: label      # pin | label | hint; default: label where portable labels exist, else hint
  # may_move: true       # VMs that meet the request may be changed for others' sake

"""

_FOOT = """
# New VMs:
#  - template: NAME
#    name: "NAME-{n:02}"
#    count: 2
#    gpus: {count: 1}

# rules:
#   - {apart: "PATTERN", at_most: 1}
#   - {together: [VM, VM]}
#   - {on: [HOST], vms: "PATTERN"}
# gangs:
#   - {name: NAME, vms: "PATTERN", fabric: same}
# future:                # VMs expected later, for which room is kept; default: the VMs of this request
#   - {like: VM, share: 3}
#   - {name: NAME, cpus: 8, memory: 64 GiB, gpus: 1, share: 1}
"""


@dataclass(frozen=True, slots=True)
class Scope:
    """Which VMs to write; None = all. Names may be patterns. What is stated must all hold."""

    cluster: str | None = None
    folder: str | None = None
    tag: str | None = None

    def text(self) -> str:
        """Return the scope in words, empty for all."""
        stated = (("cluster", self.cluster), ("folder", self.folder), ("tag", self.tag))
        return "".join(f", {kind} {word}" for kind, word in stated if word is not None)


def request_text(
    inventory: Inventory,
    topologies: Mapping[str, HostTopology],
    scope: Scope = Scope(),
    owner_reason: Callable[[Vm], str | None] = lambda _vm: None,
) -> str:
    """Return a commented request file for the VMs of the scope, by name.

    VMs that would be left alone stand in it as comments, with the reason.

    Raises:
        UnknownObjectError: no cluster, folder or tag is so named, or no VM is in the scope.
    """
    chosen = _in_scope(inventory, scope)
    reader = DeviceReader(inventory)
    sizes = group_sizes(inventory, topologies)
    names = Counter(vm.name for vm in inventory.vms if not vm.template)
    lines, comments = [], []
    for vm in sorted(chosen, key=lambda vm: (vm.name, vm.moid)):
        reason = why_untouchable(vm) or owner_reason(vm)
        if reason is not None:
            comments.append(f"#  {vm.name}: {reason}")
            continue
        lines += _entry(vm, inventory, reader.read(vm, Policy.PREFERRED), sizes, names[vm.name] > 1)
    if not lines:
        raise UnknownObjectError(
            "no VM is left to write a request for",
            why=f"{len(comments)} are left alone" if comments else None,
            hint="\n".join(comments) or None,
        )
    head = _HEAD.format(name=inventory.about.name, taken_at=inventory.taken_at, scope=scope.text())
    left = "\n# Left alone:\n" + "\n".join(comments) + "\n" if comments else ""
    return head + "vms:\n" + "\n".join(lines) + "\n" + left + _FOOT


def _in_scope(inventory: Inventory, scope: Scope) -> list[Vm]:
    vms = [vm for vm in inventory.vms if not vm.template]
    if scope.cluster is not None:
        names = [cluster.name for cluster in inventory.clusters]
        fitting = matching(scope.cluster, names)
        moids = {c.moid for c in inventory.clusters if c.name in fitting or c.moid == scope.cluster}
        if not moids:
            raise UnknownObjectError(
                "no such cluster", obj=scope.cluster, hint=close_names(scope.cluster, names)
            )
        hosts = {host.moid for host in inventory.hosts if host.cluster in moids}
        vms = [vm for vm in vms if vm.host in hosts]
    if scope.folder is not None:
        folders = {vm.folder for vm in vms}
        wanted = scope.folder.strip("/")
        vms = [vm for vm in vms if in_folder(vm.folder, wanted)]
        if not vms:
            raise UnknownObjectError(
                "no VM is in such a folder", obj=scope.folder, hint=close_names(wanted, folders)
            )
    if scope.tag is not None:
        tags = {tag for vm in vms for tag in vm.tags}
        wanted_tags = matching(scope.tag, tags)
        vms = [vm for vm in vms if wanted_tags.intersection(vm.tags)]
        if not vms:
            raise UnknownObjectError(
                "no VM carries such a tag", obj=scope.tag, hint=close_names(scope.tag, tags)
            )
    return vms


def _entry(
    vm: Vm, inventory: Inventory, today: TodaysDevices, sizes: Mapping[str, int], by_moid: bool
) -> list[str]:
    host = inventory.host_by_moid.get(vm.host) if vm.host else None
    where = host.name if host is not None else "no host"
    state = "" if vm.is_on else ", off"
    needs_moid = by_moid or is_pattern(vm.name)
    select = f"{{moid: {_quoted(vm.moid)}}}" if needs_moid else f"{{name: {_quoted(vm.name)}}}"
    lines = [
        f"  - select: {select}  # {f'{_plain(vm.name)} in {_plain(vm.folder)}, ' if needs_moid else ''}"
        f"on {_plain(where)}{state}",
        f"    cpus: {vm.cpus}",
        f"    memory: {memory_text(vm.memory_mib)}",
    ]
    devices = _asks("gpus", [_gpu(ask, sizes) for ask in today.gpus])
    devices += _asks("nics", [_nic(ask, inventory) for ask in today.nics])
    if today.static and not vm.node_affinity:
        # Half of what `pin` means; stating devices or affinity would ask for the other half.
        lines.append(f"    # left alone: static DirectPath I/O holds {', '.join(today.static)}")
        devices = [f"    # {line.strip()}" for line in devices] + ["    # affinity: pin"]
    elif today.static:
        devices.append(f"    affinity: pin  # static DirectPath I/O: {', '.join(today.static)}")
    lines += devices
    lines += [f"    # kept as it is, on its host: {_plain(other)}" for other in today.others]
    return lines


def _asks(key: str, asks: list[str]) -> list[str]:
    if not asks:
        return []
    if len(asks) == 1:
        return [f"    {key}: {asks[0]}"]
    return [f"    {key}:", *(f"      - {ask}" for ask in asks)]


def _gpu(ask: GpuAsk, sizes: Mapping[str, int]) -> str:
    count = ask.count * max(1, sizes.get(ask.group, 1)) if ask.group is not None else ask.count
    return _flow(count=count, model=ask.model, profile=ask.profile, group=ask.group, label=ask.label)


def _nic(ask: NicAsk, inventory: Inventory) -> str:
    kind = ask.kind if ask.kind != "passthrough" else None
    known = {network.moid for network in inventory.networks}
    network = ask.network if ask.network in known else None
    return _flow(count=ask.count, kind=kind, model=ask.model, label=ask.label, network=network)


def _flow(**items: str | int | None) -> str:
    shown = [
        f"{key}: {_quoted(value) if isinstance(value, str) else value}"
        for key, value in items.items()
        if value is not None
    ]
    return f"{{{', '.join(shown)}}}"


def _quoted(text: str) -> str:
    """Return text as a YAML scalar: plain where that is safe, else in double quotes."""
    safe = text[:1].isalpha() and all(sign.isalnum() or sign in "-_." for sign in text)
    if safe and text.lower() not in ("true", "false", "null"):
        return text
    escaped = "".join(
        f"\\{sign}" if sign in '"\\' else sign if sign.isprintable() else f"\\U{ord(sign):08x}"
        for sign in text
    )
    return f'"{escaped}"'


def _plain(text: str) -> str:
    """Return text fit for a comment: one line, nothing unprintable."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)
