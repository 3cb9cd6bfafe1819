"""HostNumaInfo to `NumaNode`s: which CPUs, memory and devices are on which node."""

from __future__ import annotations

from collections.abc import Iterable

from vplacer.inventory.host import NumaNode
from vplacer.inventory.pci import PciAddress, unsigned8
from vplacer.vsphere.raw import Data, Notes
from vplacer.vsphere.read_address import read_address


def read_numa_nodes(props: Data, host_name: str, notes: Notes) -> tuple[NumaNode, ...]:
    """Return the NUMA nodes of a host, ordered by number; empty where the host tells none.

    Args:
        props: the host's properties.
        host_name: for notes.
        notes: told of what was left out.
    """
    numa = props.data("hardware.numaInfo")
    if numa is None:
        return ()
    packages = _package_of_thread(props.items("hardware.cpuPkg"))
    per_core = _threads_per_core(props.data("hardware.cpuInfo"))
    found: dict[int, NumaNode] = {}
    for item in numa.items("numaNode"):
        number = unsigned8(item.number("typeId") or 0)
        if number in found:
            notes.add(f"{host_name}: NUMA node {number} is listed twice; the first was taken")
            continue
        threads = tuple(sorted(item.numbers("cpuID")))
        found[number] = NumaNode(
            id=number,
            package=_package(threads, packages),
            core_count=len(threads) // per_core,
            thread_ids=threads,
            memory_bytes=_memory(item),
            devices=_devices(item, host_name, notes),
        )
    return tuple(found[number] for number in sorted(found))


def _package_of_thread(packages: Iterable[Data]) -> dict[int, int]:
    return {
        thread: index
        for package in packages
        if (index := package.number("index")) is not None
        for thread in package.numbers("threadId")
    }


def _package(threads: tuple[int, ...], packages: dict[int, int]) -> int | None:
    """Return the package all threads are on; None where they are on several or it is not told."""
    seen = {packages.get(thread) for thread in threads}
    return seen.pop() if len(seen) == 1 else None


def _threads_per_core(cpu: Data | None) -> int:
    if cpu is None:
        return 1
    cores, threads = cpu.number("numCpuCores") or 0, cpu.number("numCpuThreads") or 0
    return max(1, threads // cores) if cores else 1


def _memory(item: Data) -> int | None:
    """Since 8.0 memorySize; before, the length of the node's memory range (vSphere API: HostNumaNode)."""
    size, length = item.number("memorySize"), item.number("memoryRangeLength")
    return size or length or size


def _devices(item: Data, host_name: str, notes: Notes) -> tuple[PciAddress, ...]:
    parsed = (read_address(text, notes, f"{host_name} numaNode.pciId") for text in item.texts("pciId"))
    return tuple(sorted({address for address in parsed if address is not None}))
