"""Turns what a request says of GPUs and NICs into asks, names checked against the inventory."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from vplacer.inventory.gpu_models import gpu_by_ids, gpu_by_name, gpu_candidates, gpu_models
from vplacer.inventory.nic_models import nic_by_name, nic_models
from vplacer.inventory.pci import PciIds
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.yaml_marks import Pointer
from vplacer.request.complaints import Complaints
from vplacer.request.demand import GpuAsk, NicAsk, Policy
from vplacer.request.file import GpuSpec, NicSpec
from vplacer.request.naming import close_names
from vplacer.topology.host_topology import HostTopology
from vplacer.topology.labels import nic_name
from vplacer.topology.levels import Level

_IDS_RE = re.compile(r"^(?P<vendor>[0-9a-fA-F]{4}):(?P<device>[0-9a-fA-F]{4})$")

FindNetwork = Callable[[Pointer, str], str | None]


class AskMaker:
    """Makes asks from the specs of one request."""

    def __init__(
        self, inventory: Inventory, topologies: Mapping[str, HostTopology], complaints: Complaints
    ) -> None:
        self.complaints = complaints
        self.profiles = {name for host in inventory.hosts for name in host.vgpu_types} | {
            profile.name for host in inventory.hosts for profile in host.vgpu_profiles
        }
        self.labels = {
            device.passthrough.label
            for host in inventory.hosts
            for device in host.pci_devices
            if device.passthrough is not None and device.passthrough.label
        }
        self.group_sizes = group_sizes(inventory, topologies)
        self.models = {gpu.model for topology in topologies.values() for gpu in topology.gpus}

    def gpu(self, spec: GpuSpec, default: Policy) -> GpuAsk:
        """Return the ask for GPUs of one kind; what matches nothing becomes a complaint."""
        policy = spec.policy or default
        return GpuAsk(
            count=self._group_count(spec) if spec.group is not None else (spec.count or 1),
            model=self._gpu_model(spec),
            label=self._known(spec.pointer, "label", spec.label, self.labels, "device has the label"),
            profile=self._known(
                spec.pointer, "profile", spec.profile, self.profiles, "host offers the vGPU profile"
            ),
            group=self._known(
                spec.pointer, "group", spec.group, self.group_sizes, "host offers the device group"
            ),
            interconnect=spec.interconnect,
            interconnect_required=_is_required(spec.interconnect_policy, policy, spec.interconnect),
            policy=policy,
        )

    def nic(self, spec: NicSpec, default: Policy, has_gpus: bool, find_network: FindNetwork) -> NicAsk:
        """Return the ask for NICs of one kind; ``has_gpus``: whether the VM will hold any GPU."""
        if spec.near_gpu and not has_gpus:
            self.complaints.wrong((*spec.pointer, "near"), "the VM has no GPU to be near to")
        policy = spec.policy or default
        at = (spec.at or Level.NUMA) if spec.near_gpu else Level.ANY
        network = None
        if spec.network is not None:
            network = find_network((*spec.pointer, "network"), spec.network)
        return NicAsk(
            count=spec.count,
            kind=spec.kind,
            model=self._nic_model(spec),
            label=self._known(spec.pointer, "label", spec.label, self.labels, "device has the label"),
            network=network,
            near_gpu=spec.near_gpu,
            at=at,
            at_required=_is_required(spec.at_policy, policy, at),
            policy=policy,
            min_speed_mbps=spec.min_speed_mbps,
            rdma=spec.rdma or None,
        )

    def _group_count(self, spec: GpuSpec) -> int:
        """Return how many groups hold the GPUs asked for."""
        size = self.group_sizes.get(spec.group or "", 0)
        if spec.count is None or size == 0:
            return 1
        if spec.count % size:
            self.complaints.wrong(
                (*spec.pointer, "count"),
                f"a group '{spec.group}' has {size} GPUs, and groups are taken whole: {spec.count} GPUs are "
                f"no whole number of groups",
                hint=f"ask for {size} or a multiple of it",
            )
            return 1
        return spec.count // size

    def _gpu_model(self, spec: GpuSpec) -> str | None:
        if spec.model is None:
            return None
        ids = _IDS_RE.match(spec.model)
        if ids:
            found = gpu_by_ids(PciIds(int(ids["vendor"], 16), int(ids["device"], 16)))
            return found.name if found else spec.model.lower()
        model = gpu_by_name(spec.model)
        if model is not None:
            return model.name
        meant = gpu_candidates(spec.model)
        here = [name for name in meant if name in self.models]
        if len(here) == 1:  # "H100" is clear where there is one kind of H100
            return here[0]
        at = (*spec.pointer, "model")
        if len(meant) > 1:
            self.complaints.ambiguous(at, f"several GPU models are called '{spec.model}'", _one_of(meant))
        else:
            self.complaints.unknown(
                at,
                f"no GPU model is called '{spec.model}'",
                _model_hint(spec.model, [m.name for m in gpu_models()]),
            )
        return None

    def _nic_model(self, spec: NicSpec) -> str | None:
        if spec.model is None:
            return None
        ids = _IDS_RE.match(spec.model)
        if ids:
            return nic_model_name(PciIds(int(ids["vendor"], 16), int(ids["device"], 16)))
        model = nic_by_name(spec.model)
        if model is not None:
            return model.name
        self.complaints.unknown(
            (*spec.pointer, "model"),
            f"no NIC model is called '{spec.model}'",
            _model_hint(spec.model, [m.name for m in nic_models()]),
        )
        return None

    def _known(
        self, pointer: Pointer, key: str, word: str | None, known: Iterable[str], says: str
    ) -> str | None:
        if word is None or word in known:
            return word
        self.complaints.unknown((*pointer, key), f"no {says} '{word}'", close_names(word, known))
        return None


def group_sizes(inventory: Inventory, topologies: Mapping[str, HostTopology]) -> dict[str, int]:
    """Return how many GPUs a device group of each name has; 0 where no host's description tells."""
    sizes: dict[str, int] = {}
    for host in inventory.hosts:
        topology = topologies.get(host.moid)
        for offer in topology.device_groups if topology is not None else ():
            sizes[offer.name] = max(sizes.get(offer.name, 0), offer.gpu_count)
    return sizes


def nic_model_name(ids: PciIds) -> str:
    """Return a NIC's model name, or its ids where the model is not known."""
    return nic_name(ids) or str(ids)


def _is_required(stated: str | None, policy: Policy, level: Level) -> bool:
    if level is Level.ANY:
        return False
    if stated is not None:
        return stated == "required"
    return policy in (Policy.REQUIRED, Policy.SOCKET)


def _one_of(models: Iterable[str]) -> str:
    return f"write one of {', '.join(models)}"


def _model_hint(word: str, models: list[str]) -> str | None:
    return close_names(word, models) or "a model that is not known can be named by its ids, vendor:device"
