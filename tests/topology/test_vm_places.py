"""Which VM sits where, and which GPUs are one NVLink set."""

from __future__ import annotations

from dataclasses import replace

from tests.report.views import hard
from tests.topology.hosts import address
from vplacer.inventory.measured import MeasuredHome, Spread
from vplacer.inventory.vm import Vm
from vplacer.topology.build import build_host_topology
from vplacer.topology.nvlink_sets import nvlink_sets
from vplacer.topology.values import NvLink
from vplacer.topology.vm_places import Home, VmPlace, vm_places

NPS4 = hard("nps4")
FLOATING = next(vm for vm in NPS4.vms if vm.name == "vf-1")
AFFINITY = "numa.nodeAffinity"


def place(vm: Vm, seen: MeasuredHome | None = None) -> VmPlace:
    measured = {} if seen is None else {vm.moid: seen}
    (found,) = vm_places(NPS4.host, NPS4.topology, [vm], {}, measured)
    return found


def bound(nodes: str) -> Vm:
    return replace(FLOATING, extra_config=((AFFINITY, nodes),))


def test_an_affinity_fixes_a_home() -> None:
    assert place(bound("5")).nodes == (5,)
    assert place(bound("2,5")).home is Home.FIXED
    assert place(replace(FLOATING, cpu_affinity=(33, 40))).nodes == (1,)
    assert place(FLOATING).home is Home.FLOATING


def test_an_affinity_to_a_node_that_is_not_there_fixes_nothing() -> None:
    lost = place(bound("5,9"))
    assert (lost.home, lost.nodes) == (Home.FLOATING, ())
    assert lost.why == "numa.nodeAffinity names pNUMA 9, which nps4 does not have"


def test_a_measured_home_counts_while_the_vm_runs_and_below_an_affinity() -> None:
    seen = MeasuredHome((3,), "2025-01-01T00:00:00Z", Spread(62, 60, 70))
    measured = place(FLOATING, seen)
    assert (measured.home, measured.nodes, measured.local_percent) == (Home.MEASURED, (3,), 62)
    assert place(bound("5"), seen).nodes == (5,)
    away = replace(seen, nodes=(11,))
    assert place(FLOATING, away).home is Home.FLOATING
    off = next(vm for vm in hard("odd").vms if vm.name == "off")
    assert place(off, seen).home is Home.FLOATING


def test_the_only_node_with_cores_is_the_home_of_all() -> None:
    split = hard("split")
    (found,) = vm_places(split.host, split.topology, [FLOATING], {}, {})
    assert (found.home, found.nodes) == (Home.FIXED, (0,))
    two = replace(split.host, numa_nodes=(*split.host.numa_nodes, replace(split.host.numa_nodes[0], id=1)))
    (found,) = vm_places(two, build_host_topology(two), [FLOATING], {}, {})
    assert found.home is Home.FLOATING


def test_an_unread_vm_is_not_floating_and_a_template_is_nowhere() -> None:
    unread = place(replace(FLOATING, readable=False, cpus=0, memory_mib=0))
    assert (unread.home, unread.cpus, unread.memory_mib) == (Home.UNREAD, None, None)
    assert vm_places(NPS4.host, NPS4.topology, [replace(FLOATING, template=True)], {}, {}) == ()


def test_vms_come_running_first_and_in_the_order_people_count() -> None:
    names = [vm.name for vm in hard("odd").description.vms]
    assert names.index("off") > 39
    counted = [name.rsplit("-", 1)[1] for name in names if name.startswith("web-")]
    assert counted == [str(number) for number in range(1, 41)]


def test_sets_of_gpus_by_nvlink() -> None:
    gpus = hard("dgx2").topology.gpus
    at = [gpu.address for gpu in gpus]
    links = [NvLink(at[0], at[1], 4, "x"), NvLink(at[1], at[2], 2, "x"), NvLink(at[4], at[9], 4, "y")]
    links.append(NvLink(at[5], at[6], 0, "proved none"))
    chain, pair = nvlink_sets(gpus, links)
    assert (chain.name, chain.gpus, chain.lanes) == ("A", tuple(at[:3]), None)
    assert (pair.name, pair.gpus, pair.lanes, pair.nodes) == ("B", (at[4], at[9]), 4, (0, 1))
    assert not pair.switched


def test_links_that_direct_ones_cannot_be_are_switched() -> None:
    (board,) = hard("dgx2").description.nvlink_sets
    assert (board.lanes, board.switched, len(board.gpus)) == (6, True, 16)
    gpus = hard("dgx2").topology.gpus[:4]
    mesh = [NvLink(a.address, b.address, 6, "x") for a in gpus for b in gpus if a.address < b.address]
    (direct,) = nvlink_sets(gpus, mesh)
    assert (direct.lanes, direct.switched) == (6, False), "18 links, 6 to each of three others (H100 SXM x 4)"


def test_names_go_on_after_z() -> None:
    gpus = [
        replace(hard("dgx2").topology.gpus[0], address=address(f"{bus:02x}:00.0")) for bus in range(1, 57)
    ]
    pairs = [NvLink(gpus[i].address, gpus[i + 1].address, 4, "x") for i in range(0, 56, 2)]
    names = [found.name for found in nvlink_sets(gpus, pairs)]
    assert names[25:] == ["Z", "AA", "AB"]
