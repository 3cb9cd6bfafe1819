"""Clusters, their rules, resource pools, datastores and networks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class VmVmRule:
    """A DRS rule between VMs. ``apart`` True = anti-affinity."""

    key: int
    name: str
    enabled: bool
    apart: bool
    vms: tuple[str, ...]
    mandatory: bool = True


@dataclass(frozen=True, slots=True)
class VmHostRule:
    """A DRS rule between a group of VMs and a group of hosts. ``apart`` True = keep off them."""

    key: int
    name: str
    enabled: bool
    apart: bool
    vms: tuple[str, ...]
    hosts: tuple[str, ...]
    mandatory: bool


@dataclass(frozen=True, slots=True)
class HaAdmission:
    """HA admission control. ``policy``: hosts | percent | dedicated | none.

    hosts: ``failover_hosts`` failures tolerated; percent: shares of CPU and memory kept free;
    dedicated: the named hosts stay empty.
    """

    policy: str
    failover_hosts: int | None = None
    cpu_percent: int | None = None
    memory_percent: int | None = None
    dedicated: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cluster:
    """One cluster. ``drs_level``: fullyAutomated | partiallyAutomated | manual; None = DRS off.

    ``drs_overrides``: VM moid to its own level ("disabled" = the VM is left alone by DRS).
    """

    moid: str
    name: str
    datacenter: str | None
    drs_level: str | None
    ha_enabled: bool | None
    admission: HaAdmission | None
    dpm_enabled: bool | None
    evc_mode: str | None
    vm_vm_rules: tuple[VmVmRule, ...] = ()
    vm_host_rules: tuple[VmHostRule, ...] = ()
    drs_overrides: tuple[tuple[str, str], ...] = ()
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ResourcePool:
    """A resource pool; the root pool of a cluster has no parent pool.

    ``memory_unreserved_mib`` is what vCenter would still let VMs reserve (runtime.memory.unreservedForVm).
    """

    moid: str
    name: str
    parent: str | None
    owner: str
    memory_reservation_mib: int | None
    memory_expandable: bool | None
    memory_limit_mib: int | None
    memory_unreserved_mib: int | None
    cpu_unreserved_mhz: int | None = None


@dataclass(frozen=True, slots=True)
class Datastore:
    """A datastore; ``accessible`` as vCenter sees it."""

    moid: str
    name: str
    accessible: bool | None = None


@dataclass(frozen=True, slots=True)
class Network:
    """A network or distributed port group."""

    moid: str
    name: str
