"""Which kinds of hosts a table can price: those whose nodes depend on each other by floating VMs at most."""

from __future__ import annotations

from vplacer.solver.host_model import HostTask


def decomposes(task: HostTask) -> bool:
    """Whether a host is its nodes, and nothing that the tables do not know couples them."""
    state = task.state
    if state.actives or state.overfull or state.scarce:
        return False
    if not state.node_ids or state.held_beside:
        return False
    if any(len(group) > 1 for group in state.topology.ownership_groups):
        return False
    asked = task.options.keys()
    tied = [limit.classes for limit in task.limits] + [members for _, members in task.together]
    tied += [wish.classes for wish in task.wishes]
    return not any(asked & set(members) for members in tied)
