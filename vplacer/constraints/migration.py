"""Whether vMotion can move a VM as it is: shared by what a plan does and by what it is said to cost."""

from __future__ import annotations

from vplacer.inventory.host import Host
from vplacer.inventory.vm import DvxBacking, DynamicBacking, SriovBacking, StaticBacking, VgpuBacking, Vm


def can_move_live(vm: Vm, host: Host | None) -> bool:
    """Whether vMotion can move a VM with its devices: none but vGPUs known to be migratable.

    DirectPath of either kind cannot be moved; pinned CPUs make it fail (AffinityConfigured). ``host``: the
    one the VM is on.
    """
    if vm.cpu_affinity:
        return False
    profiles = {profile.name: profile.migratable for profile in host.vgpu_profiles} if host else {}
    for device in vm.devices:
        match device.backing:
            case StaticBacking() | DynamicBacking() | SriovBacking() | DvxBacking():
                return False
            case VgpuBacking(profile=profile, migratable=migratable):
                known = migratable if migratable is not None else profiles.get(profile)
                if known is not True:
                    return False
            case _:
                pass
    return True
