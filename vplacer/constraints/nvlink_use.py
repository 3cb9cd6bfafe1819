"""Whether two GPUs of a VM can use the NVLink between them, by the way in which the VM gets them.

The link is a fact of the hardware; that a VM has it is another one:

- vGPUs: only time-sliced ones that take the whole framebuffer of a card; not MIG, not fractions (NVIDIA AI
  Enterprise, Peer-to-Peer CUDA Transfers).
- Over NVSwitch: GPU passthrough is not supported on vSphere (NVIDIA AI Enterprise, NVSwitch limitations),
  and vGPUs that are given out singly are partitions of one GPU, whose links Fabric Manager may turn off.
  Device groups are the way there; they are joined by the vendor's word and are not asked about here.
"""

from __future__ import annotations

from dataclasses import dataclass

from vplacer.inventory.host import Host
from vplacer.request.demand import GpuAsk
from vplacer.topology.host_topology import HostTopology
from vplacer.topology.vgpu_room import TIME_SLICED, profile_shape


@dataclass(frozen=True, slots=True)
class NvlinkUse:
    """``carries``: True = the links between the cards decide; None = not known. ``why``: unless True."""

    carries: bool | None
    why: str = ""


_DECIDED_BY_LINKS = NvlinkUse(True)


def nvlink_use(host: Host, topology: HostTopology, ask: GpuAsk) -> NvlinkUse:
    """Say whether GPUs of an ask, each given singly, can use NVLink on a host."""
    if ask.profile is not None:
        shape = profile_shape(host, ask.profile)
        if shape is None or shape.sharing != TIME_SLICED or shape.per_card_max not in (None, 1):
            return NvlinkUse(False, "NVLink serves only vGPUs that take a whole card, time-sliced")
        if topology.nvswitch:
            return NvlinkUse(None, "over NVSwitch, only the GPUs of one device group are sure to be joined")
        if shape.per_card_max is None:
            return NvlinkUse(None, f"whether {ask.profile} takes a whole card is not known")
        return _DECIDED_BY_LINKS
    if ask.group is None and topology.nvswitch:
        return NvlinkUse(None, "NVIDIA does not support NVSwitch with passed-through GPUs on vSphere")
    return _DECIDED_BY_LINKS
