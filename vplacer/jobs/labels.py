"""From an inventory to a plan of hardware labels."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from vplacer.errors import AmbiguousObjectError, InventoryIncomplete, UnknownObjectError, UsageError
from vplacer.jobs.file_kind import FileKind
from vplacer.jobs.output_file import check_output, refuse_one_file_twice
from vplacer.jobs.plan import overlay_refs
from vplacer.jobs.source import SourceOptions, read_source, source_files
from vplacer.jobs.world import World, timestamp

if TYPE_CHECKING:
    from vplacer.inventory.host import Host
    from vplacer.inventory.vcenter import Inventory
    from vplacer.plan.labels.model import LabelPlan, LabelScheme


@dataclass(frozen=True, slots=True)
class LabelOptions:
    """Which labels to plan.

    Args:
        source: where the inventory comes from.
        scheme: what cards of one label have in common.
        clusters: names or ids; empty = all hosts.
        now: the time the plan is stamped with; None = the clock's.
        output: where the plan is saved; None = nowhere.
    """

    source: SourceOptions
    scheme: LabelScheme
    clusters: tuple[str, ...] = ()
    now: datetime | None = None
    output: Path | None = None


@dataclass(frozen=True, slots=True)
class LabelResult:
    """A plan of labels; ``saved`` None = it was not to be saved."""

    plan: LabelPlan
    saved: Path | None


def run_labels(options: LabelOptions, world: World) -> LabelResult:
    """Plan the hardware labels of the hosts of clusters.

    Raises:
        UsageError: the two prefixes are one.
        UnknownObjectError, AmbiguousObjectError: a name fits no cluster, or several.
        InventoryIncomplete: there is no host to label.
        VplacerError: the inventory cannot be read.
    """
    import vplacer
    from vplacer.inventory.snapshot import inventory_fingerprint
    from vplacer.plan.labels.build import build_label_plan
    from vplacer.plan.labels.labels_file import save_labels
    from vplacer.plan.source import source_of
    from vplacer.topology.build import build_topologies

    _check(options)
    reading = read_source(options.source, world)
    inventory = reading.inventory
    topologies = build_topologies(inventory, reading.overlays)
    hosts = [host for host in _hosts(inventory, options.clusters) if host.moid in topologies]
    if not hosts:
        raise InventoryIncomplete("there is no host whose cards could get labels", obj=inventory.about.name)
    plan = build_label_plan(
        inventory,
        topologies,
        options.scheme,
        hosts,
        created=timestamp(options.now or world.clock()),
        tool_version=vplacer.__version__,
        source=source_of(inventory, inventory_fingerprint(inventory), overlay_refs(reading)),
    )
    if options.output is not None:
        save_labels(plan, options.output)
    return LabelResult(plan, options.output)


def _check(options: LabelOptions) -> None:
    scheme = options.scheme
    if scheme.prefix == scheme.nic_prefix:
        raise UsageError(
            "--prefix and --nic-prefix are the same",
            why="a label that GPUs and NICs share tells neither how many there are of each",
        )
    refuse_one_file_twice(options.output, options.source.record)
    if options.output is not None:
        inputs = source_files(options.source)
        check_output(options.output, FileKind.LABELS, inputs=inputs, force=options.source.force)


def _hosts(inventory: Inventory, names: tuple[str, ...]) -> list[Host]:
    if not names:
        return list(inventory.hosts)
    chosen = {_cluster(inventory, name) for name in names}
    return [host for host in inventory.hosts if host.cluster in chosen]


def _cluster(inventory: Inventory, name: str) -> str:
    found = [cluster.moid for cluster in inventory.clusters if name in (cluster.name, cluster.moid)]
    if len(found) > 1:
        raise AmbiguousObjectError(
            "several clusters have this name", obj=name, hint=f"name one by its id: {', '.join(found)}"
        )
    if not found:
        names = sorted(cluster.name for cluster in inventory.clusters)
        close = difflib.get_close_matches(name, names, n=1)
        raise UnknownObjectError(
            "no cluster has this name",
            obj=name,
            hint=f"did you mean {close[0]}?" if close else f"there are: {', '.join(names) or 'none'}",
        )
    return found[0]
