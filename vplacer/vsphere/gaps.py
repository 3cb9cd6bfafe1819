"""What could not be read, and whether the picture is incomplete for it."""

from __future__ import annotations

from collections.abc import Iterable

from vplacer.errors import PermissionMissing, VSphereError, VSphereFault
from vplacer.inventory.moids import moid_order
from vplacer.inventory.vcenter import Gap
from vplacer.vsphere.faults import describe
from vplacer.vsphere.raw import Data, Missing, Notes, RawAnswer

_DISCONNECTED_FAULTS = ("HostNotConnected", "HostNotReachable", "HostCommunication", "HostConnectFault")
_CONNECTION_PATHS = ("config", "capability", "hardware")

# Without these no sound placement can be computed; other paths a server does not know are only noted.
_ESSENTIAL = frozenset(
    {
        "name",
        "parent",
        "runtime.connectionState",
        "runtime.powerState",
        "runtime.host",
        "hardware.cpuInfo",
        "hardware.memorySize",
        "hardware.numaInfo",
        "hardware.pciDevice",
        "config.pciPassthruInfo",
        "config.hardware.numCPU",
        "config.hardware.memoryMB",
        "config.hardware.device",
        "configurationEx",
    }
)


class Gaps:
    """Gathers gaps, each object and path once."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], Gap] = {}

    def add(self, moid: str, path: str, kind: str, reason: str) -> None:
        """Add a gap; the first reason for an object and path stays."""
        self._found.setdefault((moid, path), Gap(moid, path, kind, reason))

    def add_answer(self, kind: str, answer: RawAnswer, disconnected: Iterable[str], notes: Notes) -> None:
        """Add what an answer lacks.

        Args:
            kind: the type that was read.
            answer: the answer.
            disconnected: hosts without connection: their ``config`` has a gap of its own already.
            notes: told of paths the server does not know and that can be done without.
        """
        known = set(disconnected)
        for entry in answer.missing:
            if entry.ref.moid not in known or entry.path.partition(".")[0] not in _CONNECTION_PATHS:
                self.add(entry.ref.moid, entry.path, _kind(entry), describe(entry.fault))
        for path in answer.unknown_paths:
            if path in _ESSENTIAL:
                self.add(kind, path, "too_old", "the server does not know this property")
            else:
                notes.add(f"the server does not know {kind} {path}")

    def add_error(self, moid: str, path: str, error: VSphereError) -> None:
        """Add a query that failed for one object."""
        kind = "permission" if isinstance(error, PermissionMissing) else "fault"
        if isinstance(error, VSphereFault) and error.fault_type in _DISCONNECTED_FAULTS:
            kind = "disconnected"
        self.add(moid, path, kind, error.why or error.what)

    def sorted(self) -> tuple[Gap, ...]:
        """Return the gaps in order."""
        return tuple(
            sorted(self._found.values(), key=lambda gap: (moid_order(gap.object), gap.path, gap.kind))
        )


def _kind(entry: Missing) -> str:
    fault: Data = entry.fault
    if fault.is_a("NoPermission"):
        return "permission"
    return "disconnected" if any(fault.is_a(name) for name in _DISCONNECTED_FAULTS) else "fault"
