"""Which cards a host can give to VMs, and which of them VMs hold today.

What is held is known exactly for static backings, for vGPUs the host names (HostGraphicsInfo.vm) and,
from API 9.1 on, by AssignableHardwareBinding.pciId. Before that the instance of a Dynamic DirectPath
device is opaque: such a VM holds one of several cards, and is counted against all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from vplacer.constraints.cards import (
    AssignableDevice,
    allowed_by,
    assignable_devices,
    devices_of_host,
    offers,
)
from vplacer.constraints.state import Problem
from vplacer.inventory.hidden_holders import holders_named
from vplacer.inventory.host import DeviceBinding, Host
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vm import (
    DvxBacking,
    DynamicBacking,
    SriovBacking,
    StaticBacking,
    VgpuBacking,
    Vm,
    VmDevice,
)
from vplacer.request.demand import BoundBy
from vplacer.topology.host_topology import HostTopology

__all__ = [
    "PASSTHROUGH",
    "VF",
    "VGPU",
    "AssignableDevice",
    "Holding",
    "HostUse",
    "allowed_by",
    "assignable_devices",
    "claims_at_power_on",
    "devices_of_host",
    "holdings_of_vm",
    "host_use",
    "offers",
    "vm_holdings",
]

PASSTHROUGH = "passthrough"
VGPU = "vgpu"
VF = "vf"


@dataclass(frozen=True, slots=True)
class Holding:
    """One device a VM holds.

    ``kind``: "passthrough" | "vgpu" | "vf" (then the address is that of the physical function).
    ``address`` None = not known which; it is one of ``candidates``. ``certain`` False = the address
    is likely (an instance id that reads like one). ``bound_by`` says who chose the card. ``group``
    names the VM's vendor device group and its key ("4:Nvidia:2@..."). ``device_key`` None = the
    host says the VM holds the card, and which of the VM's devices is not known.
    """

    vm: str
    device_key: int | None
    kind: str
    address: PciAddress | None
    candidates: tuple[PciAddress, ...]
    profile: str | None
    bound_by: BoundBy
    label: str | None
    certain: bool
    group: str | None


@dataclass(frozen=True)
class HostUse:
    """The cards of a host beside what standing VMs hold.

    ``free``: whole cards that certainly nobody holds. ``held``: holdings whose card is known.
    ``uncertain``: holdings whose card is not. ``vgpu_held``: profiles on each card. ``devices``: all.
    """

    free: tuple[AssignableDevice, ...]
    held: Mapping[PciAddress, tuple[Holding, ...]]
    uncertain: tuple[Holding, ...]
    vgpu_held: Mapping[PciAddress, tuple[str, ...]]
    devices: Mapping[PciAddress, AssignableDevice]

    def free_vfs(self, address: PciAddress) -> int:
        """Return the virtual functions certainly free on a port."""
        device = self.devices.get(address)
        if device is None:
            return 0
        known = sum(1 for holding in self.held.get(address, ()) if holding.kind == VF)
        maybe = sum(1 for h in self.uncertain if h.kind == VF and address in h.candidates)
        return max(0, device.sriov_free_vfs - known - maybe)


def holdings_of_vm(vm: Vm, host: Host, topology: HostTopology) -> tuple[Holding, ...]:
    """Return what a VM holds on its host, in the order of its devices.

    A VM that does not run holds nothing, except what the host still says it holds (a claim that
    outlives the VM's run keeps the card from others).
    """
    return _holdings(vm, host, assignable_devices(host, topology))


def _holdings(vm: Vm, host: Host, devices: tuple[AssignableDevice, ...]) -> tuple[Holding, ...]:
    bindings = [binding for binding in host.bindings if binding.vm == vm.moid and binding.address is not None]
    if not vm.is_on:
        return _claims_told(vm.moid, host, bindings, devices)
    resolver = _Resolver(vm, host, devices, bindings)
    return tuple(holding for device in vm.devices for holding in resolver.holdings(device))


def _claims_told(
    vm: str, host: Host, bindings: Iterable[DeviceBinding], devices: tuple[AssignableDevice, ...]
) -> tuple[Holding, ...]:
    """Holdings the host asserts of a VM of which nothing else is known."""
    found = [
        Holding(vm, b.device_key, PASSTHROUGH, b.address, (), None, BoundBy.PLATFORM, None, True, None)
        for b in bindings
    ]
    known = {holding.address for holding in found}
    usable = {device.address for device in devices if device.vgpu}
    for device in host.pci_devices:
        graphics = device.graphics
        if graphics is None or vm not in graphics.vms or device.address in known:
            continue
        kind = VGPU if device.address in usable else PASSTHROUGH
        found.append(Holding(vm, None, kind, device.address, (), None, BoundBy.PLATFORM, None, True, None))
    return tuple(sorted(found, key=lambda h: (str(h.address), h.device_key or 0)))


class _Resolver:
    """Finds the card of each device of one running VM."""

    def __init__(
        self,
        vm: Vm,
        host: Host,
        devices: tuple[AssignableDevice, ...],
        bindings: list[DeviceBinding],
    ) -> None:
        self.vm = vm
        self.host = host
        self.devices = devices
        self.groups = {group.key: f"{group.key}:{group.name}" for group in vm.device_groups}
        self.by_key = {b.device_key: b.address for b in bindings if b.device_key is not None}
        self.unkeyed = [b.address for b in bindings if b.device_key is None and b.address is not None]
        self.listed = [
            device.address
            for device in host.pci_devices
            if device.graphics is not None and vm.moid in device.graphics.vms
        ]
        self.vgpu_count = sum(1 for device in vm.devices if isinstance(device.backing, VgpuBacking))
        self.vgpu_profiles = {d.backing.profile for d in vm.devices if isinstance(d.backing, VgpuBacking)}
        self.vgpus_seen = 0

    def holdings(self, device: VmDevice) -> tuple[Holding, ...]:
        backing = device.backing
        group = self.groups.get(device.group_key) if device.group_key is not None else None
        match backing:
            case StaticBacking():
                return (self._known(device, PASSTHROUGH, backing.address, BoundBy.STATIC, group),)
            case DynamicBacking():
                return (self._dynamic(device, backing, group),)
            case VgpuBacking():
                return (self._vgpu(device, backing, group),)
            case SriovBacking():
                return (self._function(device, backing.physical_function, group),)
            case DvxBacking():
                return (self._function(device, None, group),)
            case _:
                return ()

    def _known(
        self,
        device: VmDevice,
        kind: str,
        address: PciAddress,
        bound_by: BoundBy,
        group: str | None,
        *,
        label: str | None = None,
        profile: str | None = None,
        certain: bool = True,
    ) -> Holding:
        vm = self.vm.moid
        return Holding(vm, device.key, kind, address, (), profile, bound_by, label, certain, group)

    def _bound_address(self, device: VmDevice, fits: Callable[[PciAddress], bool]) -> PciAddress | None:
        """The address the host's bindings give for a device."""
        address = self.by_key.get(device.key)
        if address is not None:
            return address
        for candidate in self.unkeyed:
            if fits(candidate):
                self.unkeyed.remove(candidate)
                return candidate
        return None

    def _dynamic(self, device: VmDevice, backing: DynamicBacking, group: str | None) -> Holding:
        bound_by = BoundBy.LABEL if backing.label else BoundBy.PLATFORM
        matching = tuple(
            d.address
            for d in self.devices
            if d.passthrough and allowed_by(backing.allowed, d.ids) and _label_fits(backing.label, d.label)
        )
        address = self._bound_address(device, lambda candidate: candidate in matching)
        if address is not None:
            return self._known(device, PASSTHROUGH, address, bound_by, group, label=backing.label)
        likely = _parse_on_host(backing.assigned_id, self.host)
        if likely is not None:
            return self._known(
                device, PASSTHROUGH, likely, bound_by, group, label=backing.label, certain=False
            )
        if len(matching) == 1:
            return self._known(device, PASSTHROUGH, matching[0], bound_by, group, label=backing.label)
        return Holding(
            self.vm.moid,
            device.key,
            PASSTHROUGH,
            None,
            matching,
            None,
            bound_by,
            backing.label,
            False,
            group,
        )

    def _vgpu(self, device: VmDevice, backing: VgpuBacking, group: str | None) -> Holding:
        index = self.vgpus_seen
        self.vgpus_seen += 1
        offering = tuple(d.address for d in self.devices if d.vgpu and offers(self.host, d, backing.profile))
        address = self._bound_address(device, lambda candidate: candidate in offering)
        if address is None and len(self.listed) == 1:
            address = self.listed[0]
        elif address is None and len(self.listed) == self.vgpu_count and len(self.vgpu_profiles) == 1:
            # As many cards as vGPUs, all of one profile: one each, and which is which does not matter.
            address = self.listed[index]
        elif address is None and not self.listed and len(offering) == 1:
            address = offering[0]
        if address is not None:
            return self._known(device, VGPU, address, BoundBy.PLATFORM, group, profile=backing.profile)
        return Holding(
            self.vm.moid,
            device.key,
            VGPU,
            None,
            tuple(self.listed) or offering,
            backing.profile,
            BoundBy.PLATFORM,
            None,
            False,
            group,
        )

    def _function(self, device: VmDevice, port: PciAddress | None, group: str | None) -> Holding:
        if port is not None:
            return self._known(device, VF, port, BoundBy.STATIC, group)
        ports = tuple(d.address for d in self.devices if d.sriov_free_vfs)
        vm = self.vm.moid
        return Holding(vm, device.key, VF, None, ports, None, BoundBy.PLATFORM, None, False, group)


def _label_fits(wanted: str | None, has: str | None) -> bool:
    return not wanted or wanted == has


def _parse_on_host(text: str | None, host: Host) -> PciAddress | None:
    """Read an opaque instance id as an address, if it is one of a device of the host."""
    if not text:
        return None
    try:
        address = PciAddress.parse(text)
    except ValueError:
        return None
    return address if host.device(address) is not None else None


def claims_at_power_on(vm: Vm, host: Host) -> tuple[Holding, ...]:
    """Return the static cards a VM that is off will claim when it starts. They are free until then."""
    if vm.is_on:
        return ()
    return tuple(
        Holding(
            vm.moid,
            device.key,
            PASSTHROUGH,
            device.backing.address,
            (),
            None,
            BoundBy.STATIC,
            None,
            True,
            None,
        )
        for device in vm.devices
        if isinstance(device.backing, StaticBacking) and host.device(device.backing.address) is not None
    )


def vm_holdings(problem: Problem, vm: str) -> tuple[Holding, ...]:
    """Return `holdings_of_vm` of a VM on the host it is registered on, computed once a problem."""
    return problem.derive(_vm_holdings, vm)


def _vm_holdings(problem: Problem, moid: str) -> tuple[Holding, ...]:
    vm = problem.inventory.vm_by_moid[moid]
    if vm.host is None or vm.host not in problem.topologies:
        return ()
    host = problem.inventory.host_by_moid[vm.host]
    return _holdings(vm, host, devices_of_host(problem, vm.host))


def host_use(problem: Problem, host: Host, standing_vms: Iterable[Vm]) -> HostUse:
    """Say which cards of a host are left beside what the standing VMs hold.

    Cards the host says are held by a VM that is not registered on it, or not readable, are held.
    """
    devices = devices_of_host(problem, host.moid)
    holdings = [holding for vm in standing_vms for holding in vm_holdings(problem, vm.moid)]
    holdings += problem.derive(_foreign_claims, host.moid)
    holdings = _narrowed(holdings)
    held: dict[PciAddress, list[Holding]] = {}
    uncertain = []
    profiles: dict[PciAddress, list[str]] = {}
    maybe: set[PciAddress] = set()
    for holding in holdings:
        if holding.address is None:
            uncertain.append(holding)
            maybe.update(holding.candidates)
            continue
        held.setdefault(holding.address, []).append(holding)
        if holding.kind == VGPU and holding.profile is not None:
            profiles.setdefault(holding.address, []).append(holding.profile)
    free = tuple(d for d in devices if d.passthrough and d.address not in held and d.address not in maybe)
    return HostUse(
        free,
        {address: tuple(items) for address, items in held.items()},
        tuple(uncertain),
        {address: tuple(items) for address, items in profiles.items()},
        {device.address: device for device in devices},
    )


def _narrowed(holdings: list[Holding]) -> list[Holding]:
    """Take cards that are surely held as a whole off the candidates of uncertain holders.

    A holder with one candidate left holds it, which may narrow others again.
    """
    taken = {h.address for h in holdings if h.address is not None and h.kind == PASSTHROUGH}
    found = list(holdings)
    settled = True
    while settled:
        settled = False
        for index, holding in enumerate(found):
            if holding.address is not None or holding.kind == VF or taken.isdisjoint(holding.candidates):
                continue
            left = tuple(address for address in holding.candidates if address not in taken)
            if len(left) == 1 and holding.kind == PASSTHROUGH:
                found[index] = replace(holding, address=left[0], candidates=())
                taken.add(left[0])
                settled = True
            else:
                found[index] = replace(holding, candidates=left)
    return found


def _foreign_claims(problem: Problem, moid: str) -> tuple[Holding, ...]:
    """Cards the host says are held by VMs that are not known to be on it, or that nobody sees.

    Before API 9.1 a binding does not name its card: it is one of those that can be held as a whole.
    """
    host = problem.inventory.host_by_moid[moid]
    here = {vm.moid for vm in problem.inventory.vms_by_host.get(moid, ())}
    devices = devices_of_host(problem, moid)
    whole = tuple(device.address for device in devices if device.passthrough)
    found: list[Holding] = []
    for vm in sorted(holders_named(host) - here):
        bindings = [b for b in host.bindings if b.vm == vm]
        told = _claims_told(vm, host, [b for b in bindings if b.address is not None], devices)
        found.extend(told)
        # A vGPU has a binding too, and the host's graphics tell its card.
        unknown = [b for b in bindings if b.address is None]
        for binding in unknown[sum(1 for holding in told if holding.device_key is None) :]:
            key, by = binding.device_key, BoundBy.PLATFORM
            found.append(Holding(vm, key, PASSTHROUGH, None, whole, None, by, None, False, None))
    return tuple(found)
