"""Clusters, compute resources and resource pools."""

from __future__ import annotations

from typing import Any

from pyVmomi import vim

from vplacer.inventory.cluster import Cluster, HaAdmission, ResourcePool, VmHostRule, VmVmRule
from vplacer.inventory.host import ConnectionState, Host
from vplacer.lab.soap.store import Held, Lazy
from vplacer.lab.soap.views.drs_groups import Group, RuleGroups
from vplacer.lab.soap.views.host import Seen
from vplacer.lab.soap.views.world import ComputeUnit, World, api_name
from vplacer.lab.soap.wire.typetable import Ref

_MHZ = 1_000_000
_MIB = 1024 * 1024
_UNLIMITED = -1
_OFF = "disabled"


def unit_object(world: World, unit: ComputeUnit, folder: Ref) -> Seen:
    """Return a cluster, or the compute resource of a single host."""
    datastores = dict.fromkeys(moid for host in unit.hosts for moid in host.datastores)
    networks = dict.fromkeys(moid for host in unit.hosts for moid in host.networks)
    props: dict[str, Held] = {
        "name": api_name(unit.name),
        "parent": folder,
        "overallStatus": "green",
        "configStatus": "green",
        "host": world.refs(host.moid for host in unit.hosts),
        "resourcePool": None if unit.root_pool is None else world.ref(unit.root_pool.moid),
        "datastore": world.refs(datastores),
        "network": world.refs(networks),
        "environmentBrowser": unit.browser,
        "summary": Lazy(lambda: unit_summary(world, unit)),
    }
    cluster = unit.cluster
    if cluster is None:
        props["configurationEx"] = vim.ComputeResource.ConfigInfo(vmSwapPlacement="vmDirectory")
    else:
        props["configurationEx"] = Lazy(lambda: configuration(world, cluster))
    return Seen(unit.ref, props)


def configuration(world: World, cluster: Cluster) -> Any:
    """Return ``ClusterConfigInfoEx``: HA, DRS, DPM, rules with their groups, levels of single VMs."""
    drs_on = cluster.drs_level is not None
    table = world.group_table(cluster.moid)
    info = vim.cluster.ConfigInfoEx(
        vmSwapPlacement="vmDirectory",
        dasConfig=_ha(world, cluster),
        drsConfig=vim.cluster.DrsConfigInfo(
            enabled=drs_on,
            enableVmBehaviorOverrides=True,
            defaultVmBehavior=cluster.drs_level or "manual",
            vmotionRate=3,
        ),
        drsVmConfig=[
            _override(world.ref(vm), level)
            for vm, level in cluster.drs_overrides
            if world.ref(vm) is not None
        ],
        rule=[
            *(_vm_rule(world, rule) for rule in cluster.vm_vm_rules),
            *(_host_rule(rule, table.of_rule(rule)) for rule in cluster.vm_host_rules),
        ],
        group=[_group(world, group) for group in table.all_of(cluster).values()],
    )
    if cluster.dpm_enabled is not None:
        info.dpmConfigInfo = vim.cluster.DpmConfigInfo(enabled=cluster.dpm_enabled)
    return info


def _ha(world: World, cluster: Cluster) -> Any:
    admission = cluster.admission
    admitted = admission is not None and admission.policy != "none"
    return vim.cluster.DasConfigInfo(
        enabled=cluster.ha_enabled,
        admissionControlEnabled=admitted,
        admissionControlPolicy=_policy(world, admission) if admission is not None and admitted else None,
        failoverLevel=admission.failover_hosts if admission is not None else None,
    )


def _policy(world: World, admission: HaAdmission) -> Any:
    if admission.policy == "hosts":
        return vim.cluster.FailoverLevelAdmissionControlPolicy(failoverLevel=admission.failover_hosts or 0)
    if admission.policy == "percent":
        return vim.cluster.FailoverResourcesAdmissionControlPolicy(
            cpuFailoverResourcesPercent=admission.cpu_percent or 0,
            memoryFailoverResourcesPercent=admission.memory_percent or 0,
        )
    return vim.cluster.FailoverHostAdmissionControlPolicy(failoverHosts=world.refs(admission.dedicated))


def _override(vm: Ref, level: str) -> Any:
    if level == _OFF:
        return vim.cluster.DrsVmConfigInfo(key=vm, enabled=False)
    return vim.cluster.DrsVmConfigInfo(key=vm, enabled=True, behavior=level)


def _vm_rule(world: World, rule: VmVmRule) -> Any:
    kind = vim.cluster.AntiAffinityRuleSpec if rule.apart else vim.cluster.AffinityRuleSpec
    made = kind(
        key=rule.key, name=rule.name, enabled=rule.enabled, mandatory=rule.mandatory, userCreated=True
    )
    vms = world.refs(rule.vms)
    if vms:
        made.vm = vms
    return made


def _host_rule(rule: VmHostRule, names: RuleGroups) -> Any:
    side = "antiAffineHostGroupName" if rule.apart else "affineHostGroupName"
    return vim.cluster.VmHostRuleInfo(
        key=rule.key,
        name=rule.name,
        enabled=rule.enabled,
        mandatory=rule.mandatory,
        userCreated=True,
        vmGroupName=names.vms,
        **{side: names.hosts},
    )


def _group(world: World, group: Group) -> Any:
    members = world.refs(group.members)
    if group.of_hosts:
        return vim.cluster.HostGroup(name=group.name, userCreated=True, host=members)
    return vim.cluster.VmGroup(name=group.name, userCreated=True, vm=members)


def unit_summary(world: World, unit: ComputeUnit) -> Any:
    """Return ``ComputeResourceSummary`` of a compute unit as it is now."""
    hosts = world.hosts_of(unit)
    usable = [h for h in hosts if _is_usable(h)]
    members: dict[str, Any] = {
        "totalCpu": sum(_mhz(h) for h in hosts),
        "totalMemory": sum(h.memory_bytes or 0 for h in hosts),
        "numCpuCores": sum(h.core_count or 0 for h in hosts),
        "numCpuThreads": sum(h.thread_count or 0 for h in hosts),
        "effectiveCpu": sum(_mhz(h) for h in usable),
        "effectiveMemory": sum((h.memory_bytes or 0) // _MIB for h in usable),
        "numHosts": len(hosts),
        "numEffectiveHosts": len(usable),
        "overallStatus": "green",
    }
    if unit.cluster is None:
        return vim.ComputeResource.Summary(**members)
    return vim.ClusterComputeResource.Summary(
        **members, currentFailoverLevel=0, numVmotions=0, currentEVCModeKey=unit.cluster.evc_mode
    )


def _is_usable(host: Host) -> bool:
    return host.connection is ConnectionState.CONNECTED and not host.in_maintenance


def _mhz(host: Host) -> int:
    return (host.cpu_hz or 0) // _MHZ * (host.core_count or 0)


def pool_object(world: World, pool: ResourcePool) -> Seen:
    """Return a resource pool."""
    unit = world.unit_by_moid.get(pool.owner)
    owner = None if unit is None else unit.ref
    return Seen(
        world.ref(pool.moid),
        {
            "name": api_name(pool.name),
            "parent": owner if pool.parent is None else world.ref(pool.parent),
            "owner": owner,
            "overallStatus": "green",
            "configStatus": "green",
            "vm": world.vms_at(pool.moid),
            "resourcePool": world.pools_by_parent.get(pool.moid, []),
            "config": Lazy(lambda: _pool_config(world, pool)),
            "runtime": Lazy(lambda: _pool_runtime(world, pool)),
            "summary": Lazy(lambda: _pool_summary(world, pool)),
        },
    )


def _pool_config(world: World, pool: ResourcePool) -> Any:
    return vim.ResourceConfigSpec(
        entity=world.ref(pool.moid),
        cpuAllocation=_allocation(0, True, None),
        memoryAllocation=_allocation(
            pool.memory_reservation_mib, pool.memory_expandable, pool.memory_limit_mib
        ),
    )


def _allocation(reservation: int | None, expandable: bool | None, limit: int | None) -> Any:
    return vim.ResourceAllocationInfo(
        reservation=reservation,
        expandableReservation=expandable,
        limit=_UNLIMITED if limit is None else limit,
        shares=vim.SharesInfo(level="normal", shares=4000),
    )


def _pool_runtime(world: World, pool: ResourcePool) -> Any:
    """Return ``ResourcePoolRuntimeInfo``: memory in bytes, CPU in MHz; None where nothing is known."""
    if pool.memory_unreserved_mib is None:
        return None
    unit = world.unit_by_moid.get(pool.owner)
    total = sum(_mhz(h) for h in world.hosts_of(unit) if _is_usable(h)) if unit else 0
    cpu = total if pool.cpu_unreserved_mhz is None else pool.cpu_unreserved_mhz
    return vim.ResourcePool.RuntimeInfo(
        memory=_usage(pool.memory_unreserved_mib * _MIB, (pool.memory_reservation_mib or 0) * _MIB),
        cpu=_usage(cpu, total),
        overallStatus="green",
    )


def _usage(unreserved: int, most: int) -> Any:
    used = max(0, most - unreserved)
    return vim.ResourcePool.ResourceUsage(
        reservationUsed=used,
        reservationUsedForVm=used,
        unreservedForPool=unreserved,
        unreservedForVm=unreserved,
        overallUsage=0,
        maxUsage=most,
    )


def _pool_summary(world: World, pool: ResourcePool) -> Any:
    runtime = _pool_runtime(world, pool)
    if runtime is None:
        return None
    return vim.ResourcePool.Summary(
        name=api_name(pool.name), config=_pool_config(world, pool), runtime=runtime, configuredMemoryMB=0
    )
