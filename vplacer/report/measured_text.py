"""What was measured, as lines of text."""

from __future__ import annotations

from collections.abc import Sequence

from vplacer.inventory.measured import MeasuredHome, NodeMemory, Spread
from vplacer.topology.measured import HostMeasurement, MeasuredVm

_MIB_PER_GIB = 1024
_HOUR_S = 3600
_OLD_S = 24 * _HOUR_S
"""From this age on a measurement is told with its age."""


def measurement_lines(measured: HostMeasurement | None) -> list[str]:
    """Return the lines of one host: a heading, free memory of the nodes, where each VM was."""
    if measured is None:
        return []
    samples = max((vm.home.samples for vm in measured.vms if vm.home is not None), default=0)
    counted = f", {samples} samples" if samples > 1 else ""
    lines = [f"measured {measured_when(measured)}{counted}"]
    lines += [f"  {_node(node)}" for node in measured.nodes]
    lines += _vm_lines(measured.vms)
    lines += [f"  note: {note}" for note in measured.notes]
    return lines


def homes_text(homes: Sequence[tuple[str, HostMeasurement]]) -> str:
    """Return where VMs were, host by host, under one heading; each host with the time it was measured at."""
    lines = ["Where they are now, as measured (no decision uses it)"]
    for host, measured in homes:
        lines.append(f"  {host}, {measured_when(measured)}")
        lines += [f"  {line}" for line in _vm_lines(measured.vms)]
    return "\n".join(lines) + "\n"


def measured_when(measured: HostMeasurement) -> str:
    """Say when something was measured, with its age if it is old."""
    at = measured.at
    text = f"{at[:10]} {at[11:16]}Z" if len(at) >= 17 else at
    age = measured.age_s
    if age is None or abs(age) < _OLD_S:
        return text
    hours = abs(age) // _HOUR_S
    how_long = f"{hours} hours" if hours < 72 else f"{hours // 24} days"
    return f"{text}, {how_long} {'older' if age > 0 else 'newer'} than the inventory"


def home_text(home: MeasuredHome) -> str:
    """Say where a VM was: nodes, local memory with its spread, memory elsewhere, moves."""
    facts = [_nodes(home)]
    if home.locality_percent is not None:
        facts.append(f"{_spread(home.locality_percent)} % local")
    if home.remote_mib is not None and home.remote_mib.high > 0:
        facts.append(f"{_gib(home.remote_mib)} GiB remote")
    if home.migrations:
        seen = f", {home.migrations_seen} just now" if home.migrations_seen else ""
        facts.append(f"moved {home.migrations} times{seen}" if home.migrations > 1 else f"moved once{seen}")
    return "  ".join(facts)


def _vm_lines(vms: Sequence[MeasuredVm]) -> list[str]:
    width = max((len(vm.name) for vm in vms), default=0)
    return [
        f"  {vm.name:<{width}}  {'not measured' if vm.home is None else home_text(vm.home)}" for vm in vms
    ]


def _nodes(home: MeasuredHome) -> str:
    if not home.nodes:
        told = f" (the host says '{home.nodes_told}')" if home.nodes_told else ""
        return f"node not known{told}"
    text = f"pNUMA {','.join(map(str, home.nodes))}"
    if home.earlier_nodes:
        text += f" (just before {','.join(map(str, home.earlier_nodes))})"
    return text


def _node(node: NodeMemory) -> str:
    free = "not told" if node.free_mib is None else f"{_gib(node.free_mib)} GiB"
    total = "" if node.total_mib is None else f" of {node.total_mib / _MIB_PER_GIB:.1f} GiB"
    return f"pNUMA {node.node}  free {free}{total}"


def _spread(spread: Spread) -> str:
    if spread.low == spread.high:
        return str(spread.median)
    return f"{spread.median} ({spread.low}-{spread.high})"


def _gib(spread: Spread) -> str:
    low, high = spread.low / _MIB_PER_GIB, spread.high / _MIB_PER_GIB
    middle = f"{spread.median / _MIB_PER_GIB:.1f}"
    return middle if f"{low:.1f}" == f"{high:.1f}" else f"{middle} ({low:.1f}-{high:.1f})"
