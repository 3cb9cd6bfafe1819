"""A served site and a pyVmomi client that changes it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyVim.task import WaitForTask
from pyVmomi import vim, vmodl

from tests.lab.clients import bind, connected
from tests.sites.chain import collected, comparable
from vplacer.inventory.load import load_inventory_file
from vplacer.inventory.vm import Vm
from vplacer.lab.model.machine import MachineOptions
from vplacer.lab.model.tasks import Durations
from vplacer.lab.soap.server import LabServer

REPO = Path(__file__).resolve().parents[2]
QUICK = MachineOptions(durations=Durations.flat(0.02))


class Client:
    """A pyVmomi client of a served site, and the site."""

    def __init__(self, server: LabServer, service: Any) -> None:
        assert server.machine is not None
        self.server = server
        self.machine = server.machine
        self.service = service

    def vm(self, name: str) -> Any:
        return bind(self.service, vim.VirtualMachine(self.held(name).moid))

    def held(self, name: str) -> Vm:
        """What the state machine holds of a VM."""
        return next(vm for vm in self.machine.state.inventory.vms if vm.name == name)

    def seen(self, name: str) -> Vm:
        """What vplacer's collector reads of a VM: also all that the state machine holds."""
        read_back = next(vm for vm in comparable(collected(self.server)).vms if vm.name == name)
        held = next(vm for vm in comparable(self.machine.state.inventory).vms if vm.name == name)
        assert read_back == held
        return read_back

    def do(self, task: Any) -> Any:
        """Wait for a task as pyVim does; return its result."""
        WaitForTask(task)
        return task.info.result

    def fault(self, task: Any) -> Any:
        """Wait for a task that must fail; return its fault."""
        with pytest.raises(vmodl.MethodFault) as caught:
            WaitForTask(task)
        return caught.value


@contextmanager
def serving(site: str, options: MachineOptions = QUICK, **more: Any) -> Iterator[Client]:
    inventory = load_inventory_file(REPO / f"fixtures/sites/{site}.yaml")
    with LabServer(inventory, options=options, **more) as server, connected(server) as service:
        yield Client(server, service)
