"""`vplacer topology import`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vplacer.cli.common import Command, common_of, examples
from vplacer.cli.output import count, remark, warn
from vplacer.cli.run import world_for
from vplacer.cli.source_options import source_of, source_params

if TYPE_CHECKING:
    from vplacer.jobs.topology_import import Imported

# As in `vplacer.topology.importers.registry`, which is imported only when it is used.
FORMATS = ("auto", "nvidia-smi", "nccl", "hwloc", "esxcli")
_NOTHING_ASKED = {"measured": False, "samples": 1, "interval": 0.0, "esxcli": False}
_NOT_HERE = {"overlays", *_NOTHING_ASKED}


@click.pass_context
def _run(ctx: click.Context, /, file: str, host: str, **values: Any) -> None:
    from vplacer.jobs.topology_import import ImportOptions, import_topology

    common = common_of(ctx)
    folder = values.pop("overlays")
    options = ImportOptions(
        source=source_of(ctx, common, {**values, **_NOTHING_ASKED, "overlays": None}),
        file=file,
        host=host,
        format=values["format"],
        folder=folder,
        gpus=values["gpu"],
        query_gpu=values["query_gpu"],
        order_pci=values["order"] == "pci",
        taken_in=values["taken_in"],
        nics=dict(values["nic"]),
        links_only=values["links_only"],
    )
    done = import_topology(options, world_for(common))
    for text in done.result.contradictions:
        warn(common, f"{text}; not used")
    for text in done.result.notes:
        remark(common, f"Note: {text}")
    if options.format == "auto":
        remark(common, f"{file} is {done.title} (--format {done.format})")
    remark(common, _summary(done, given=folder is not None))


def _summary(done: Imported, *, given: bool) -> str:
    overlay = done.result.overlay
    told = sum(1 for device in overlay.devices if device.numa_node is not None)
    linked = sum(1 for link in overlay.links if link.lanes > 0)
    links = f"links between {linked} of {count(overlay.links, 'pair')}" if overlay.links else "no links told"
    use = f"; use it with --overlays {done.folder}" if given else ""
    nodes = f"{count(overlay.devices, 'device')}, {told} with a NUMA node"
    return f"{done.folder}: {overlay.host}: {nodes}, {links}{use}"


def _nic(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> list[tuple[str, str]]:
    found = []
    for text in value:
        name, sign, address = text.partition("=")
        if not (name and sign and address):
            raise click.BadParameter(f"'{text}' is not of the form NIC0=0000:c1:00.0.", ctx, param)
        found.append((name, address))
    return found


command = Command(
    "import",
    callback=_run,
    help="Make an overlay for a host from FILE, what another tool said of it: nvidia-smi topo -m, a topology "
    "XML of NCCL or hwloc, or esxcli hardware pci list; - reads standard input. Links and NUMA nodes are "
    "taken over, held against what vCenter says of the host; what contradicts it is named and left out. What "
    "other sources told stays in the overlay file.",
    params=[
        click.Argument(["file"]),
        click.Option(
            ["--host"],
            metavar="HOST",
            required=True,
            help="The host it is of: its name, that up to the first dot, or the managed object id.",
        ),
        click.Option(
            ["--format"],
            type=click.Choice(FORMATS),
            default="auto",
            help="What the file is; auto tells it from the content.",
        ),
        click.Option(
            ["-o", "--overlays"],
            metavar="DIR",
            type=click.Path(path_type=Path),
            envvar="VPLACER_OVERLAYS",
            help="The overlay folder to write into. Default: the one in your data folder that is used for "
            "this vCenter without --overlays.",
        ),
        click.Option(
            ["--query-gpu"],
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="For nvidia-smi, whose matrix tells no PCI addresses: output of nvidia-smi "
            "--query-gpu=index,pci.bus_id --format=csv on the same machine; more columns may be in it.",
        ),
        click.Option(
            ["--gpu"],
            metavar="ADDRESS",
            multiple=True,
            help="Instead: PCI address on the host of GPU0, then of GPU1 and so on (one each).",
        ),
        click.Option(
            ["--order"],
            type=click.Choice(["pci"]),
            help="Instead: trust that GPUs are numbered in the order of their PCI addresses.",
        ),
        click.Option(
            ["--taken-in"],
            metavar="VM",
            help="The matrix was printed in this VM: only NVLinks count, and GPU numbers are mapped to the "
            "VM's cards where that is determined.",
        ),
        click.Option(["--links-only"], is_flag=True, help="Do not take over NUMA nodes."),
        click.Option(
            ["--nic"],
            metavar="NAME=ADDRESS",
            multiple=True,
            callback=_nic,
            help="PCI address of a NIC by its label (NIC0) or name (mlx5_0); the matrix does not tell it; "
            "NICs without one are left out. More than once.",
        ),
        *(param for param in source_params() if param.name not in _NOT_HERE),
    ],
    epilog=examples(
        "vplacer topology import esx01.txt --query-gpu gpus.csv --host esx01 --from site.json.gz -o overlays",
        "vplacer topology import topo.xml --host esx01 --lab site.yaml --links-only",
    ),
)
