"""A host's topology as the matrix of ``nvidia-smi topo -m``: same words, same columns, same tabs."""

from __future__ import annotations

from vplacer.report.host_formats import Format
from vplacer.topology.describe import HostDescription, MatrixRow

_LEGEND = """\
Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node
  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)
  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)
  PIX  = Connection traversing at most a single PCIe bridge
  NV#  = Connection traversing a bonded set of # NVLinks
"""
_UNKNOWN = "  ?    = Not known"
_OPEN = "  NODE? (and the like) = The word of the PCIe way; whether NVLink joins the two is not known"


def render_matrix(description: HostDescription) -> str:
    """Return the matrix, its legend, and which device each label is, ending in a newline.

    Rows are tab-separated, as nvidia-smi's are, so that what reads its output reads this.
    """
    rows = description.matrix
    if not rows:
        return f"{description.name}: no GPU and no NIC is listed\n"
    heads = [row.label for row in rows]
    lines = ["\t" + "\t".join([*heads, "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"])]
    lines += [_row(row) for row in rows]
    lines += ["", _LEGEND.rstrip("\n")]
    cells = {cell for row in rows for cell in row.cells}
    affinities = {cell for row in rows for cell in (row.cpu_affinity, row.numa_affinity)}
    if "?" in cells | affinities:
        lines.append(_UNKNOWN)
    if any(cell.endswith("?") and cell != "?" for cell in cells):
        lines.append(_OPEN)
    for title, prefix in (("GPU Legend:", "GPU"), ("NIC Legend:", "NIC")):
        named = [line for line in description.devices if line.label.rstrip("0123456789") == prefix]
        if named:
            lines += ["", title, ""]
            lines += [f"  {line.label}: {line.place.address} {line.name}" for line in named]
    return "\n".join(lines) + "\n"


def _row(row: MatrixRow) -> str:
    cells = [f" {cell} " if cell == "X" else cell for cell in row.cells]
    if row.cpu_affinity is None or row.numa_affinity is None or row.gpu_numa_id is None:
        return "\t".join([row.label, *cells, "", "", "", ""])
    # nvidia-smi leaves an empty column between the last two.
    return "\t".join([row.label, *cells, row.cpu_affinity, row.numa_affinity, "", row.gpu_numa_id])


FORMAT = Format(".matrix.txt", lambda view: render_matrix(view.description), ("\tGPU0", "\tNIC0"))
