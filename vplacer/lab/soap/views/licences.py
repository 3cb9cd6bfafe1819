"""LicenseManager and its assignments: by default one licence for the vCenter and one for all hosts.

The form is that of real listings: ``feature`` properties with a key-value pair each, ProductName and
ProductVersion beside them (govmomi's license package reads it so). Keys are made up.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyVmomi import vim, vmodl

from vplacer.inventory.host import Host
from vplacer.lab.soap.views.host import Seen
from vplacer.lab.soap.views.world import World
from vplacer.lab.soap.wire import typetable

_MANAGER = vim.LicenseManager("LicenseManager")
_ASSIGNER = vim.LicenseAssignmentManager("LicenseAssignmentManager")
_HOST_FEATURES = (
    ("vsmp:0", "Unlimited virtual SMP"),
    ("sriov", "SR-IOV"),
    ("das", "vSphere HA"),
    ("vmotion", "vSphere vMotion"),
    ("drs", "vSphere DRS"),
    ("dvs", "vSphere Distributed Switch"),
)


def licence_objects(world: World) -> Iterator[Seen]:
    """Yield the two managers."""
    major = world.inventory.about.version.partition(".")[0]
    hosts = world.inventory.hosts
    of_hosts = _licence(
        "LAB00-00000-00000-00000-HOSTS",
        "esx.enterprisePlus.cpuPackageCoreLimited",
        f"VMware vSphere {major} Enterprise Plus",
        sum(host.package_count or 0 for host in hosts),
        (("ProductName", "VMware ESX Server"), ("ProductVersion", f"{major}.0")),
        _HOST_FEATURES,
    )
    of_vcenter = _licence(
        "LAB00-00000-00000-0VCEN-TER01",
        "vc.standard.instance",
        f"VMware vCenter Server {major} Standard",
        1,
        (("ProductName", "VMware VirtualCenter Server"), ("ProductVersion", f"{major}.0")),
        (),
    )
    assignments = [_assignment(host, of_hosts) for host in hosts]
    about = world.inventory.about
    assignments.append(
        vim.LicenseAssignmentManager.LicenseAssignment(
            entityId=about.instance_uuid, entityDisplayName=about.name, assignedLicense=of_vcenter
        )
    )

    def assigned(entity_id: str | None) -> list[Any]:
        return [item for item in assignments if entity_id is None or item.entityId == entity_id]

    yield Seen(
        _MANAGER,
        {
            "licenses": [of_hosts, of_vcenter],
            "licenseAssignmentManager": _ASSIGNER,
            "licensedEdition": "vc.standard.instance",
            "evaluation": evaluation(),
        },
    )
    yield Seen(_ASSIGNER, {}, {"QueryAssignedLicenses": assigned})


def evaluation() -> Any:
    """Return ``EvaluationInfo`` of a vCenter that is not evaluated any more."""
    none = vmodl.KeyAnyValue(key="expirationHours", value=0)
    return vim.LicenseManager.EvaluationInfo(properties=[none])


def _assignment(host: Host, licence: Any) -> Any:
    return vim.LicenseAssignmentManager.LicenseAssignment(
        entityId=host.moid, entityDisplayName=host.name, assignedLicense=licence
    )


def _licence(
    key: str,
    edition: str,
    name: str,
    used: int,
    properties: tuple[tuple[str, str], ...],
    features: tuple[tuple[str, str], ...],
) -> Any:
    listed = [vmodl.KeyAnyValue(key=text, value=value) for text, value in properties]
    pairs = [vim.KeyValue(key=text, value=value) for text, value in features]
    listed += [vmodl.KeyAnyValue(key="feature", value=pair) for pair in pairs]
    return vim.LicenseManager.LicenseInfo(
        licenseKey=key,
        editionKey=edition,
        name=name,
        total=used,
        used=used,
        costUnit="cpuPackage" if features else "server",
        properties=typetable.array_of(vmodl.KeyAnyValue, listed),
    )
