"""Who holds which card: what each API generation tells of it."""

from __future__ import annotations

from dataclasses import replace

from tests.constraints.state_case import build_state
from vplacer.constraints.holdings import (
    HostUse,
    devices_of_host,
    host_use,
)
from vplacer.constraints.state import Problem
from vplacer.inventory.host import DeviceBinding, Host
from vplacer.inventory.pci import PciAddress
from vplacer.inventory.vm import DynamicBacking, StaticBacking, Vm, VmPower
from vplacer.request.demand import BoundBy
from vplacer.topology.claims import Claim, Source, host_cards
from vplacer.topology.vm_claims import claims_at_power_on, claims_of_vm

SITE = {
    "host_kinds": {
        "k": {
            "cpu": {"packages": 2, "cores": 32},
            "memory_gib": 512,
            "devices": [
                {"gpu": "A30", "count": 3, "node": 0, "label": "left"},
                {"gpu": "A30", "node": 1},
                {"gpu": "A30", "node": 1, "passthrough": "enabled"},
                {"gpu": "A30", "node": 1, "passthrough": "none"},
                # ASPEED's console adapter is a display controller, and no GPU.
                {"pci": {"ids": "1a03:2000", "class": 0x0300}, "node": 0},
            ],
        },
        "v": {
            "cpu": {"packages": 2, "cores": 32},
            "memory_gib": 512,
            "devices": [{"gpu": "A30", "node": 0}, {"gpu": "A30", "node": 1}],
            "vgpu": {"profiles": ["nvidia_a30-24c", "nvidia_a30-6c"]},
        },
    },
    "clusters": [{"name": "c", "hosts": [{"kind": "k", "name": "whole"}, {"kind": "v", "name": "shared"}]}],
    "vms": [
        {"name": "fixed", "on": "whole", "cpus": 2, "memory_gib": 4, "devices": [{"static": "gpu0"}]},
        {"name": "dyn", "on": "whole", "cpus": 2, "memory_gib": 4, "devices": [{"dynamic": "A30"}]},
        {
            "name": "labelled",
            "on": "whole",
            "cpus": 2,
            "memory_gib": 4,
            "devices": [{"dynamic": "A30", "label": "left"}],
        },
        {
            "name": "off",
            "on": "whole",
            "power": "off",
            "cpus": 2,
            "memory_gib": 4,
            "devices": [{"static": "gpu3"}],
        },
        {
            "name": "vgpu",
            "on": "shared",
            "cpus": 2,
            "memory_gib": 4,
            "devices": [{"vgpu": "nvidia_a30-6c", "holds": "gpu1"}],
        },
    ],
}


def _problem() -> Problem:
    return build_state(SITE, {}).problem


def _host(problem: Problem, name: str) -> Host:
    return next(host for host in problem.inventory.hosts if host.name == name)


def _vm(problem: Problem, name: str) -> Vm:
    return next(vm for vm in problem.inventory.vms if vm.name == name)


def _cards(problem: Problem, host: Host) -> list[PciAddress]:
    return [gpu.address for gpu in problem.topologies[host.moid].gpus]


def _use(problem: Problem, host: Host) -> HostUse:
    return host_use(problem, host, problem.inventory.vms_by_host.get(host.moid, ()))


def _claims(problem: Problem, host: Host, vm: Vm) -> tuple[Claim, ...]:
    return claims_of_vm(vm, host_cards(host, problem.topologies[host.moid]))


def _with_host(problem: Problem, host: Host) -> Problem:
    inventory = replace(
        problem.inventory,
        hosts=tuple(host if old.moid == host.moid else old for old in problem.inventory.hosts),
    )
    return Problem(inventory, problem.topologies, problem.request)


def _with_vms(problem: Problem, *vms: Vm) -> Problem:
    new = {vm.moid: vm for vm in vms}
    inventory = replace(problem.inventory, vms=tuple(new.get(vm.moid, vm) for vm in problem.inventory.vms))
    return Problem(inventory, problem.topologies, problem.request)


def test_cards_and_why_some_are_of_no_use() -> None:
    problem = _problem()
    devices = devices_of_host(problem, _host(problem, "whole").moid)
    assert [device.passthrough for device in devices] == [True, True, True, True, False, False]
    assert devices[4].unusable == "needs reboot: passthrough is enabled but not active yet"
    assert devices[5].unusable == "not capable of passthrough"
    shared = devices_of_host(problem, _host(problem, "shared").moid)
    assert [(d.passthrough, d.vgpu, d.unusable) for d in shared] == [(False, True, None)] * 2


def test_before_api_9_1_a_dynamic_card_is_one_of_several() -> None:
    problem = _problem()
    host = _host(problem, "whole")
    cards = _cards(problem, host)
    (dynamic,) = _claims(problem, host, _vm(problem, "dyn"))
    assert (dynamic.address, dynamic.candidates, dynamic.certain) == (None, tuple(cards[:4]), False)
    (labelled,) = _claims(problem, host, _vm(problem, "labelled"))
    assert (labelled.candidates, labelled.bound_by) == (tuple(cards[:3]), BoundBy.LABEL)
    use = _use(problem, host)
    assert use.free == ()
    # What a static backing holds is no candidate of the others.
    assert sorted(holding.candidates for holding in use.uncertain) == [tuple(cards[1:3]), tuple(cards[1:4])]
    assert not use.held.keys() & set(cards[1:4])


def test_from_api_9_1_the_binding_names_it() -> None:
    problem = _problem()
    host = _host(problem, "whole")
    cards = _cards(problem, host)
    dyn, labelled = _vm(problem, "dyn"), _vm(problem, "labelled")
    host = replace(
        host,
        bindings=(
            DeviceBinding("i1", dyn.moid, cards[3], dyn.devices[0].key),
            DeviceBinding("i2", labelled.moid, cards[2], None),
        ),
    )
    use = _use(_with_host(problem, host), host)
    assert use.uncertain == ()
    assert {address: holdings[0].vm for address, holdings in use.held.items()} == {
        cards[0]: _vm(problem, "fixed").moid,
        cards[3]: dyn.moid,
        cards[2]: labelled.moid,
    }
    assert [device.address for device in use.free] == [cards[1]]


def test_an_assigned_id_that_reads_like_an_address_is_likely_one() -> None:
    problem = _problem()
    host = _host(problem, "whole")
    cards = _cards(problem, host)
    dyn = _vm(problem, "dyn")
    device = dyn.devices[0]
    assert isinstance(device.backing, DynamicBacking)
    told = replace(
        dyn, devices=(replace(device, backing=replace(device.backing, assigned_id=str(cards[3]))),)
    )
    (holding,) = _claims(problem, host, told)
    assert (holding.address, holding.certain) == (cards[3], False)
    opaque = replace(dyn, devices=(replace(device, backing=replace(device.backing, assigned_id="7f3a")),))
    (holding,) = _claims(problem, host, opaque)
    assert holding.address is None


def test_holders_that_leave_one_card_hold_it() -> None:
    problem = _problem()
    host = _host(problem, "whole")
    cards = _cards(problem, host)
    labelled = _vm(problem, "labelled")
    fixed = _vm(problem, "fixed")
    device = fixed.devices[0]
    assert isinstance(device.backing, StaticBacking)
    second = replace(device, key=device.key + 1, backing=replace(device.backing, address=cards[1]))
    problem = _with_vms(problem, replace(fixed, devices=(device, second)))
    use = _use(problem, host)
    assert use.held[cards[2]][0].vm == labelled.moid


def test_a_powered_off_vm_holds_nothing_and_claims_its_static_card_later() -> None:
    problem = _problem()
    host = _host(problem, "whole")
    off = _vm(problem, "off")
    assert _claims(problem, host, off) == ()
    (claim,) = claims_at_power_on(off, host_cards(host, problem.topologies[host.moid]))
    assert claim.address == _cards(problem, host)[3]
    assert claims_at_power_on(_vm(problem, "fixed"), host_cards(host, problem.topologies[host.moid])) == ()


def test_a_claim_that_outlives_the_run_keeps_the_card() -> None:
    problem = _problem()
    host = _host(problem, "whole")
    cards = _cards(problem, host)
    off = _vm(problem, "off")
    host = replace(host, bindings=(DeviceBinding("i", off.moid, cards[3]),))
    use = _use(_with_host(problem, host), host)
    assert use.held[cards[3]][0].vm == off.moid
    assert cards[3] not in {device.address for device in use.free}


def test_a_card_held_by_a_vm_nobody_can_read_is_held() -> None:
    problem = _problem()
    host = _host(problem, "whole")
    cards = _cards(problem, host)
    host = replace(host, bindings=(DeviceBinding("i", "vm-9999", cards[3]),))
    use = _use(_with_host(problem, host), host)
    assert use.held[cards[3]][0].vm == "vm-9999"


def test_the_host_names_the_card_of_a_vgpu() -> None:
    problem = _problem()
    host = _host(problem, "shared")
    cards = _cards(problem, host)
    vgpu = _vm(problem, "vgpu")
    graphics = [device for device in host.pci_devices if device.graphics is not None]
    assert any(device.graphics and vgpu.moid in device.graphics.vms for device in graphics)
    use = _use(problem, host)
    assert dict(use.vgpu_held) == {cards[1]: ("nvidia_a30-6c",)}
    assert use.free == ()


def test_a_vgpu_nobody_places_may_be_on_any_card_that_offers_it() -> None:
    problem = _problem()
    host = _host(problem, "shared")
    silent = replace(
        host,
        pci_devices=tuple(
            replace(device, graphics=replace(device.graphics, vms=())) if device.graphics else device
            for device in host.pci_devices
        ),
    )
    use = _use(_with_host(problem, silent), silent)
    assert [holding.candidates for holding in use.uncertain] == [tuple(_cards(problem, host))]


def test_suspended_is_not_running() -> None:
    problem = _problem()
    host = _host(problem, "whole")
    vm = replace(_vm(problem, "dyn"), power=VmPower.SUSPENDED)
    device = vm.devices[0]
    assert isinstance(device.backing, DynamicBacking)
    (claim,) = _claims(problem, host, vm)  # the host still has a binding of it
    assert (claim.address, claim.sources) == (None, (Source.BINDING,))
    assert _claims(problem, replace(host, bindings=()), vm) == ()
