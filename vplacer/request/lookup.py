"""Finds the objects a request names: hosts, clusters, pools, datastores, networks, templates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vplacer.inventory.host import Host
from vplacer.inventory.vcenter import Inventory
from vplacer.inventory.vm import Vm
from vplacer.inventory.yaml_marks import Pointer
from vplacer.request.complaints import Complaints
from vplacer.request.naming import close_names, is_pattern, listed, matching


@dataclass(frozen=True, slots=True)
class Named:
    """An object as a person may name it; ``where`` tells it from others of the same name."""

    moid: str
    name: str
    where: str


class Lookup:
    """The named objects of one inventory. Every miss goes to the complaints, with close names."""

    def __init__(self, inventory: Inventory, complaints: Complaints) -> None:
        self.inventory = inventory
        self.complaints = complaints
        self.hosts = [Named(h.moid, h.name, self.cluster_name(h.cluster)) for h in inventory.hosts]
        self.clusters = [
            Named(c.moid, c.name, f"datacenter {c.datacenter}" if c.datacenter else "")
            for c in inventory.clusters
        ]
        self.pools = [Named(p.moid, p.name, self.owner_name(p.owner)) for p in inventory.pools]
        self.templates = [Named(v.moid, v.name, f"folder {v.folder}") for v in inventory.vms if v.template]

    def cluster_name(self, moid: str | None) -> str:
        """Return a cluster's name for people; "no cluster" for none."""
        if moid is None:
            return "no cluster"
        cluster = self.inventory.cluster_by_moid.get(moid)
        return f"cluster {cluster.name}" if cluster else moid

    def owner_name(self, moid: str) -> str:
        """Return what a pool belongs to: a cluster by name, else the managed object id."""
        return self.cluster_name(moid)

    def cluster_of(self, vm: Vm) -> str | None:
        """Return the cluster of a VM: its host's, else its pool's owner where that is a cluster."""
        host = self.inventory.host_by_moid.get(vm.host) if vm.host else None
        if host is not None:
            return host.cluster
        pool = self.inventory.pool_by_moid.get(vm.pool) if vm.pool else None
        return pool.owner if pool is not None and pool.owner in self.inventory.cluster_by_moid else None

    def find_hosts(self, pointer: Pointer, words: Iterable[str]) -> tuple[str, ...]:
        """Return the moids of hosts by name, name without domain, pattern or moid, in inventory order."""
        return self._find_many("host", pointer, words, self.hosts, short=True)

    def find_clusters(self, pointer: Pointer, words: Iterable[str]) -> tuple[str, ...]:
        """Return the moids of clusters by name, pattern or moid, in inventory order."""
        return self._find_many("cluster", pointer, words, self.clusters)

    def find_pool(self, pointer: Pointer, word: str, owners: Sequence[str]) -> str | None:
        """Return the moid of a pool; of several with one name the one whose owner is in ``owners``."""
        return self._find_one("resource pool", pointer, word, self.pools, self._owned(owners))

    def find_template(self, pointer: Pointer, word: str) -> Vm | None:
        """Return a template by name or moid. A VM that is no template is refused as such."""
        if not any(word in (named.name, named.moid) for named in self.templates) and any(
            word in (vm.name, vm.moid) for vm in self.inventory.vms if not vm.template
        ):
            self.complaints.wrong(
                pointer, f"'{word}' is a VM, not a template", hint="convert it to a template, or name one"
            )
            return None
        moid = self._find_one("template", pointer, word, self.templates, None)
        return self.inventory.vm_by_moid[moid] if moid is not None else None

    def find_datastore(self, pointer: Pointer, word: str, hosts: Iterable[Host]) -> str | None:
        """Return the moid of a datastore; of several with one name the one that the hosts reach."""
        named = [Named(d.moid, d.name, "") for d in self.inventory.datastores]
        reached = {moid for host in hosts for moid in host.datastores}
        return self._find_one("datastore", pointer, word, named, reached)

    def find_network(self, pointer: Pointer, word: str, hosts: Iterable[Host]) -> str | None:
        """Return the moid of a network; of several with one name the one that the hosts have."""
        named = [Named(n.moid, n.name, "") for n in self.inventory.networks]
        reached = {moid for host in hosts for moid in host.networks}
        return self._find_one("network", pointer, word, named, reached)

    def _owned(self, owners: Sequence[str]) -> set[str] | None:
        if not owners:
            return None
        return {pool.moid for pool in self.inventory.pools if pool.owner in owners}

    def _find_many(
        self,
        kind: str,
        pointer: Pointer,
        words: Iterable[str],
        objects: Sequence[Named],
        *,
        short: bool = False,
    ) -> tuple[str, ...]:
        found: set[str] = set()
        for word in words:
            hits = matching_moids(word, objects, short=short)
            if not hits:
                fits = "fits" if is_pattern(word) else "is"
                self.complaints.unknown(
                    pointer, f"no {kind} {fits} '{word}'", close_names(word, [o.name for o in objects])
                )
            found |= hits
        return tuple(named.moid for named in objects if named.moid in found)

    def _find_one(
        self,
        kind: str,
        pointer: Pointer,
        word: str,
        objects: Sequence[Named],
        preferred: set[str] | None,
    ) -> str | None:
        hits = [named for named in objects if named.moid == word] or [o for o in objects if o.name == word]
        if len(hits) > 1 and preferred is not None:
            hits = [named for named in hits if named.moid in preferred] or hits
        if len(hits) == 1:
            return hits[0].moid
        if not hits:
            self.complaints.unknown(
                pointer, f"no {kind} is '{word}'", close_names(word, [named.name for named in objects])
            )
        else:
            shown = listed([f"{o.moid} ({o.where})" if o.where else o.moid for o in hits])
            self.complaints.ambiguous(
                pointer,
                f"{len(hits)} objects are a {kind} '{word}': {shown}",
                "name it by its managed object id",
            )
        return None


def matching_moids(word: str, objects: Sequence[Named], *, short: bool = False) -> set[str]:
    """Return the moids that a name, pattern or moid means; ``short``: names without domain count too."""
    direct = {named.moid for named in objects if named.moid == word}
    if direct:
        return direct
    fitting = matching(word, (named.name for named in objects))
    if fitting:
        return {named.moid for named in objects if named.name in fitting}
    if not short:
        return set()
    without_domain = {named.moid: _short(named.name) for named in objects}
    fitting = matching(word, without_domain.values())
    return {moid for moid, name in without_domain.items() if name in fitting}


def _short(name: str) -> str:
    """Return a host name without its domain; an IP address stays whole."""
    head = name.split(".", 1)[0]
    return name if head.isdigit() else head
