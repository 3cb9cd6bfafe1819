"""Which low precisions a host's processors offer to VMs, and why not.

A VM sees a feature if the CPUs have it, ESXi knows it, and no mask hides it; EVC is a mask. The host
tells the features before and after masks (HostConfigInfo.featureCapability, maskedFeatureCapability).
A VM may see less: its hardware version must be high enough, and it may have an EVC mode of its own,
which is not read.
"""

from __future__ import annotations

from dataclasses import dataclass

from vplacer.inventory.cluster import Cluster
from vplacer.inventory.cpu_models import CPU_PRECISIONS, CpuFeature, cpu_features
from vplacer.inventory.host import Host
from vplacer.inventory.limits_table import table_limits


@dataclass(frozen=True, slots=True)
class CpuOffer:
    """Whether a host's CPUs offer VMs a precision.

    ``name``: INT8, BF16 or AMX (a matrix unit, for either). ``offered`` None = not known. ``features``:
    labels of what offers it. ``hardware_version``: the lowest whose VMs see one of them; None where not
    offered. ``why``: why it is not offered or not known.
    """

    name: str
    offered: bool | None
    features: tuple[str, ...] = ()
    hardware_version: int | None = None
    why: str | None = None


def cpu_precisions(host: Host, cluster: Cluster | None) -> tuple[CpuOffer, ...]:
    """Return what a host's CPUs offer, in the order of `CPU_PRECISIONS`.

    Args:
        host: the host.
        cluster: the cluster it is in, which names the EVC mode; None = in none.
    """
    return tuple(_offer(name, host, cluster) for name in CPU_PRECISIONS)


def _offer(name: str, host: Host, cluster: Cluster | None) -> CpuOffer:
    ways = [feature for feature in cpu_features() if name in feature.gives]
    visible, physical = host.cpu_features_visible, host.cpu_features
    mode = cluster.evc_mode if cluster is not None else None
    seen = _usable(ways, visible)
    if seen:
        lowest = min(_version(feature) for feature in seen)
        return CpuOffer(name, True, tuple(feature.label for feature in seen), lowest)
    has = _usable(ways, physical)
    if physical is not None and not has:
        return CpuOffer(name, False, why=_why_lacking(ways, host))
    if visible is None:
        told = "the host does not tell its CPU features"
        if physical is not None:
            told = f"whether EVC mode {mode} hides it is not told" if mode else "what masks leave is not told"
        return CpuOffer(name, None, why=told)
    if physical is None:
        return CpuOffer(name, False, why="not visible to VMs")
    return CpuOffer(name, False, why=f"hidden by EVC mode {mode}" if mode else "hidden by a mask on the host")


def _why_lacking(ways: list[CpuFeature], host: Host) -> str:
    newest = max((limit.version for limit in table_limits(host.version)), default=None)
    if newest is not None and all(_version(feature) <= newest for feature in ways):
        return "the CPUs do not have it"
    return f"the CPUs do not have it, or ESXi {host.version or 'of this host'} does not know it"


def _usable(ways: list[CpuFeature], there: tuple[str, ...] | None) -> list[CpuFeature]:
    """Return those features that are there with all that they need."""
    known = set(there or ())
    return [feature for feature in ways if {feature.key, *feature.needs} <= known]


def _version(feature: CpuFeature) -> int:
    needed = [other.hardware_version for other in cpu_features() if other.key in feature.needs]
    return max((feature.hardware_version, *needed))
