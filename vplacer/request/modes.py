"""The affinity mode of a VM that does not state one."""

from __future__ import annotations

from collections.abc import Mapping

from vplacer.inventory.device_kind import DeviceKind
from vplacer.inventory.vcenter import Inventory
from vplacer.request.demand import AffinityMode, GpuAsk, NicAsk
from vplacer.topology.host_topology import HostTopology
from vplacer.topology.labels import LabelledDevice, labelled_devices, nic_name, portable_nodes

_Key = tuple[tuple[GpuAsk, ...], tuple[NicAsk, ...], tuple[str, ...], tuple[str, ...]]


class ModeChooser:
    """Knows the portable labels of every cluster."""

    def __init__(self, inventory: Inventory, topologies: Mapping[str, HostTopology]) -> None:
        self.inventory = inventory
        self.topologies = topologies
        self.labelled: dict[str, tuple[LabelledDevice, ...]] = {}
        self.portable: dict[str, tuple[LabelledDevice, ...]] = {}
        self.cards: dict[str, set[tuple[DeviceKind, str | None, str]]] = {}
        self._known: dict[_Key, AffinityMode] = {}
        for cluster in inventory.clusters:
            devices = labelled_devices(inventory, topologies, cluster.moid)
            nodes = portable_nodes(devices)
            self.labelled[cluster.moid] = devices
            self.portable[cluster.moid] = tuple(device for device in devices if device.label in nodes)
            self.cards[cluster.moid] = {
                (device.kind, device.model or nic_name(device.ids), str(device.ids))
                for host in inventory.hosts
                if host.cluster == cluster.moid and host.moid in topologies
                for device in topologies[host.moid].devices
            }

    def default(
        self,
        gpus: tuple[GpuAsk, ...],
        nics: tuple[NicAsk, ...],
        clusters: tuple[str, ...],
        hosts: tuple[str, ...],
    ) -> AffinityMode:
        """Return label where portable labels can serve every ask in every cluster that has the cards.

        ``clusters`` empty = all; ``hosts`` empty = all of the clusters. vGPUs and device groups take no
        label, so such a VM gets hint; so does one without devices. NICs count only for VMs without GPUs:
        beside a GPU they follow it.
        """
        key = (gpus, nics, clusters, hosts)
        if key not in self._known:
            self._known[key] = self._default(*key)
        return self._known[key]

    def _default(
        self,
        gpus: tuple[GpuAsk, ...],
        nics: tuple[NicAsk, ...],
        clusters: tuple[str, ...],
        hosts: tuple[str, ...],
    ) -> AffinityMode:
        wanted = clusters or tuple(self.cards)
        if any(ask.profile or ask.group for ask in gpus):
            return AffinityMode.HINT
        asks = [(DeviceKind.GPU, ask.model, ask.label) for ask in gpus]
        if not asks:
            asks = [(DeviceKind.NIC, ask.model, ask.label) for ask in nics if ask.kind == "passthrough"]
        if not asks:
            return AffinityMode.HINT
        known = [cluster for cluster in wanted if cluster in self.cards]
        having = [cluster for cluster in known if all(self._has(cluster, *ask) for ask in asks)]
        if having and all(self._served(c, hosts, *ask) for c in having for ask in asks):
            return AffinityMode.LABEL
        return AffinityMode.HINT

    def _has(self, cluster: str, kind: DeviceKind, model: str | None, label: str | None) -> bool:
        if label is not None:
            return any(device.label == label and device.kind is kind for device in self.labelled[cluster])
        return any(kind is k and model in (None, name, ids) for k, name, ids in self.cards[cluster])

    def _served(
        self, cluster: str, hosts: tuple[str, ...], kind: DeviceKind, model: str | None, label: str | None
    ) -> bool:
        return any(
            device.kind is kind
            and (not hosts or device.host in hosts)
            and model in (None, device.model, device.ids)
            and label in (None, device.label)
            for device in self.portable[cluster]
        )
