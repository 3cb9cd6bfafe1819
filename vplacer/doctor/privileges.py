"""Which privileges each use of an account takes, and on which objects. The documentation prints this table.

Ids are those of the vSphere API: the privilege of each method in its type tables (PowerOnVM_Task:
VirtualMachine.Interact.PowerOn), and for members of VirtualMachineConfigSpec the comments "Reconfigure
privilege" of the API reference. Where no source names one, the assumption is given.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from vplacer.doctor.marks import named
from vplacer.doctor.model import MissingPrivilege, Outcome, Verb, VerbResult
from vplacer.doctor.observed import Rights, Untold

ROOT: Final = "Folder"
"""The root folder: rights that hold for the vCenter as a whole are asked for there."""


@dataclass(frozen=True, slots=True)
class Need:
    """A privilege on all objects of a kind. ``kind`` is the API's name; "Folder" means the root folder."""

    verb: Verb
    privilege: str
    kind: str
    why: str
    assumption: str | None = None


_CLUSTER, _HOST, _VM = "ClusterComputeResource", "HostSystem", "VirtualMachine"
_POOL, _NETWORK, _DATASTORE = "ResourcePool", "Network", "Datastore"

_EVERYTHING: Final = (ROOT, _CLUSTER, _HOST, _VM, _POOL, _NETWORK, _DATASTORE)

NEEDS: Final[tuple[Need, ...]] = (
    *(Need(Verb.READ, "System.View", kind, "to see that it exists") for kind in _EVERYTHING),
    *(Need(Verb.READ, "System.Read", kind, "to read its properties") for kind in _EVERYTHING),
    Need(Verb.MEASURE, "Global.ServiceManagers", ROOT, "the hosts' esxtop service", "A-28"),
    Need(Verb.APPLY, "Global.LogEvent", ROOT, "to log what was changed as an event"),
    Need(Verb.APPLY, "VirtualMachine.Config.AddRemoveDevice", _VM, "to add and remove GPUs and NICs"),
    Need(Verb.APPLY, "VirtualMachine.Config.EditDevice", _VM, "to tell a device its vNUMA node"),
    Need(Verb.APPLY, "VirtualMachine.Config.AdvancedConfig", _VM, "extraConfig: numa.*, pciPassthru.*"),
    Need(Verb.APPLY, "VirtualMachine.Config.CPUCount", _VM, "vCPUs, cores per socket, vNUMA"),
    Need(Verb.APPLY, "VirtualMachine.Config.Memory", _VM, "memory size"),
    Need(Verb.APPLY, "VirtualMachine.Config.Resource", _VM, "reservations, latency sensitivity"),
    Need(Verb.APPLY, "VirtualMachine.Config.UpgradeVirtualHardware", _VM, "hardware version"),
    Need(Verb.APPLY, "VirtualMachine.Interact.PowerOn", _VM, "to switch it on again"),
    Need(Verb.APPLY, "VirtualMachine.Interact.PowerOff", _VM, "to switch it off for a change"),
    Need(Verb.APPLY, "Resource.ColdMigrate", _VM, "to move it while it is off"),
    Need(Verb.APPLY, "Resource.HotMigrate", _VM, "to move it while it runs"),
    Need(Verb.APPLY, "VirtualMachine.Provisioning.DeployTemplate", _VM, "to make VMs from a template"),
    Need(Verb.APPLY, "VirtualMachine.Inventory.CreateFromExisting", ROOT, "to make VMs in a folder"),
    Need(Verb.APPLY, "VirtualMachine.Inventory.Delete", _VM, "to take away a VM that the plan made"),
    Need(Verb.APPLY, "Resource.AssignVMToPool", _POOL, "to put a VM into a resource pool"),
    Need(Verb.APPLY, "Network.Assign", _NETWORK, "to give a VM a network card"),
    Need(Verb.APPLY, "Datastore.AllocateSpace", _DATASTORE, "disks of VMs made from a template"),
    Need(Verb.APPLY, "Host.Config.PciPassthru", _HOST, "to set hardware labels"),
    Need(Verb.APPLY, "Host.Inventory.EditCluster", _CLUSTER, "DRS rules and overrides", "A-29"),
)
"""Everything that the product asks of an account. `needs_of` tells what a verb takes in all. What apply
takes is what `plan.features` says that its steps need; a test compares the two."""

_INCLUDES: Final[dict[Verb, tuple[Verb, ...]]] = {
    Verb.READ: (Verb.READ,),
    Verb.MEASURE: (Verb.READ, Verb.MEASURE),
    Verb.PLAN: (Verb.READ,),
    Verb.APPLY: (Verb.READ, Verb.APPLY),
}
"""Planning changes nothing, and its checks (CheckVmConfig, PlaceVm) take System.View: it needs what
reading needs."""

_EXAMPLES: Final = 3


def needs_of(verb: Verb) -> tuple[Need, ...]:
    """Return all that a verb takes, what it includes of others too."""
    return tuple(need for need in NEEDS if need.verb in _INCLUDES[verb])


def privileges_by_kind() -> dict[str, tuple[str, ...]]:
    """Return which privileges to ask about on each kind of object."""
    found: dict[str, list[str]] = {}
    for need in NEEDS:
        found.setdefault(need.kind, []).append(need.privilege)
    return {kind: tuple(dict.fromkeys(privileges)) for kind, privileges in found.items()}


def judge_verbs(rights: Rights | Untold, asked: Iterable[Verb]) -> tuple[VerbResult, ...]:
    """Say for each verb whether the account may do it.

    Args:
        rights: what was read.
        asked: the verbs that the user means to use: what they lack counts.
    """
    wanted = frozenset(asked)
    return tuple(_judge(verb, rights, verb in wanted) for verb in Verb)


def _judge(verb: Verb, rights: Rights | Untold, asked: bool) -> VerbResult:
    if isinstance(rights, Untold):
        untold = (rights.why,) if rights.failed else ()
        return VerbResult(verb, asked, Outcome.NOT_CHECKED, (), untold, ())
    missing: list[MissingPrivilege] = []
    untold_kinds: dict[str, str] = {}
    looked_at: dict[str, str] = {}
    for need in needs_of(verb):
        found = rights.kinds.get(need.kind)
        if found is None:
            continue
        if isinstance(found, Untold):
            untold_kinds[need.kind] = f"{need.kind}: {found.why}"
            continue
        words = found.sample.words if found.sample.of else "none to ask about"
        looked_at[need.kind] = f"{need.kind}: {words}"
        lacking = found.lacking.get(need.privilege, ())
        if lacking:
            shown = () if need.kind == ROOT else lacking[:_EXAMPLES]
            examples = tuple(named(KIND_WORDS[need.kind], moid) for moid in shown)
            missing.append(
                MissingPrivilege(
                    need.privilege, need.kind, need.why, len(lacking), found.sample.looked_at, examples
                )
            )
    outcome = Outcome.DIFFERS if missing else Outcome.NOT_CHECKED if untold_kinds else Outcome.OK
    return VerbResult(
        verb, asked, outcome, tuple(missing), tuple(untold_kinds.values()), tuple(looked_at.values())
    )


KIND_WORDS: Final[dict[str, str]] = {
    ROOT: "folder",
    "Datacenter": "datacenter",
    _CLUSTER: "cluster",
    _HOST: "host",
    _VM: "vm",
    _POOL: "pool",
    _NETWORK: "network",
    _DATASTORE: "datastore",
}
"""The words of the report, and with them the pseudonyms, for the API's kinds of objects."""


def table_markdown() -> str:
    """Return the table as the documentation prints it."""
    lines = ["| verb | privilege | on | for |", "|---|---|---|---|"]
    for need in NEEDS:
        place = "root folder" if need.kind == ROOT else f"every {need.kind}"
        assumed = f" ([{need.assumption}](assumptions.md))" if need.assumption else ""
        lines.append(f"| {need.verb.value} | `{need.privilege}` | {place} | {need.why}{assumed} |")
    return "\n".join(lines)
