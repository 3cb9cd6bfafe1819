"""Which properties are read of each type: leaves, never whole trees.

A path that the server does not know is dropped and told (see `retrieve`); most hosts of a real vCenter
answer all of these with some tens of kilobytes.
"""

from __future__ import annotations

from typing import Final

from vplacer.inventory.cpu_models import cpu_features

HOST_OPTIONS: Final = (
    "Numa.FollowCoresPerSocket",
    "Numa.InitialPlacementLoadThreshold",
    "Numa.LocalityWeightActionAffinity",
    "Numa.LocalityWeightMem",
    "Numa.PageMigEnable",
    "Numa.PreferHT",
    "Numa.RebalanceEnable",
    "Numa.SwapLocalityEnable",
)
"""Advanced options that change where ESXi puts VMs. All of config.option would be 170 KB a host."""

HOST: Final = (
    "name",
    "parent",
    "runtime.connectionState",
    "runtime.powerState",
    "runtime.inMaintenanceMode",
    "runtime.inQuarantineMode",
    "summary.rebootRequired",
    "hardware.systemInfo",
    "hardware.cpuInfo",
    "hardware.cpuPkg",
    "hardware.memorySize",
    "hardware.memoryTieringType",
    "hardware.numaInfo",
    "hardware.pciDevice",
    "config.product",
    "config.hyperThread",
    "config.pciPassthruInfo",
    "config.graphicsInfo",
    "config.graphicsConfig",
    "config.sharedPassthruGpuTypes",
    "config.sharedGpuCapabilities",
    "config.assignableHardwareBinding",
    "config.network.pnic",
    "config.network.rdmaDevice",
    "config.systemResources",
    "capability.assignableHardwareSupported",
    "capability.assignHwPciConfigSupported",
    "capability.deviceRebindWithoutRebootSupported",
    "capability.maxSupportedSimultaneousThreads",
    "capability.fptHotplugSupported",
    "datastore",
    "network",
    *(f'config.option["{name}"]' for name in HOST_OPTIONS),
)

FEATURE_LISTS: Final = ("featureCapability", "maskedFeatureCapability")
"""What a host's CPUs have, and what masks (EVC) leave of it."""

ALWAYS_THERE: Final = "cpuid.lm"
"""A feature that every host has (64-bit mode): where it is not told, the list was not told."""


def feature_path(name: str, key: str) -> str:
    """Return the path of one CPU feature. A whole list is some 50 KB a host."""
    return f'config.{name}["{key}"]'


def host_paths() -> tuple[str, ...]:
    """Return `HOST` and the CPU features that the catalogue knows."""
    keys = (ALWAYS_THERE, *(feature.key for feature in cpu_features()))
    return (*HOST, *(feature_path(name, key) for name in FEATURE_LISTS for key in keys))


VM: Final = (
    "name",
    "parent",
    "resourcePool",
    "runtime.host",
    "runtime.powerState",
    "runtime.connectionState",
    "runtime.question",
    "runtime.faultToleranceState",
    "runtime.consolidationNeeded",
    "disabledMethod",
    "datastore",
    "network",
    "snapshot",
    "config.template",
    "config.version",
    "config.changeVersion",
    "config.instanceUuid",
    "config.guestId",
    "config.firmware",
    "config.managedBy",
    "config.hardware.numCPU",
    "config.hardware.numCoresPerSocket",
    "config.hardware.autoCoresPerSocket",
    "config.hardware.simultaneousThreads",
    "config.hardware.memoryMB",
    "config.hardware.device",
    "config.extraConfig",
    "config.numaInfo",
    "config.deviceGroups",
    "config.memoryReservationLockedToMax",
    "config.memoryAllocation",
    "config.cpuAllocation",
    "config.initialOverhead",
    "config.latencySensitivity",
    "config.cpuHotAddEnabled",
    "config.memoryHotAddEnabled",
    "config.cpuAffinity",
)

COMPUTE_RESOURCE: Final = ("name", "parent", "host", "environmentBrowser")

# Both hold subtypes (ClusterConfigInfoEx, ClusterComputeResourceSummary) of what their path declares, so
# a longer path is not valid everywhere.
CLUSTER: Final = ("configurationEx", "summary")

POOL: Final = (
    "name",
    "parent",
    "owner",
    "config.memoryAllocation",
    "runtime.memory.unreservedForVm",
    "runtime.cpu.unreservedForVm",
)

FOLDER: Final = ("name", "parent")
DATACENTER: Final = ("name", "parent")
DATASTORE: Final = ("name", "summary.accessible")
NETWORK: Final = ("name",)
