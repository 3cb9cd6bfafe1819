"""Cards of an NVSwitch board that are passed through whole: NVIDIA does not support that on vSphere.

"GPU passthrough is not supported on NVIDIA Systems that include NVSwitch when using VMware vSphere"
(NVIDIA AI Enterprise 8.0, NVIDIA NVSwitch, limitations): there, vGPUs and vendor device groups use the
switch, whose partitions Fabric Manager makes.
"""

from __future__ import annotations

from collections.abc import Sequence

from vplacer.constraints.state import State
from vplacer.inventory.device_kind import DeviceKind
from vplacer.plan.draft import Draft


def nvswitch_notes(state: State, drafts: Sequence[Draft]) -> tuple[str, ...]:
    """Return a remark that names the changed VMs which get whole GPUs of a host with NVSwitches."""
    names = [item.demand.name for item in drafts if _passes_through(state, item)]
    if not names:
        return ()
    return (
        "NVIDIA does not support passing GPUs of an NVSwitch system through on vSphere, so NVLink between "
        f"them is not sure; vGPU profiles and device groups are its way: {', '.join(names)}",
    )


def _passes_through(state: State, item: Draft) -> bool:
    if not state.problem.topologies[item.host.moid].of_kind(DeviceKind.NVSWITCH):
        return False
    return any(ask.profile is None and ask.group is None for ask in item.demand.gpus)
