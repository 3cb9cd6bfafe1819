"""A plan as an Ansible playbook.

The modules of community.vmware read VMs and shut guests down. They cannot say where a VM is switched on, its
vNUMA, Dynamic DirectPath, what happens in one task, or hosts and pools by id; such changes are calls of the
vSphere JSON API (vCenter 8.0 U1 and later), marked RAW.
"""

from __future__ import annotations

from typing import Final

from vplacer.inventory.vm import SriovBacking, VmPower
from vplacer.plan.changes import (
    Action,
    Change,
    Clone,
    OverrideDrs,
    Power,
    Reconfigure,
    Relocate,
    UpgradeHardware,
)
from vplacer.plan.model import ObjectKind
from vplacer.plan.script.model import Consent, Guard, Script, ScriptStep, Target, Unsaid, Written
from vplacer.report.scripts.ansible_library import BEGIN, HEAD, VARS
from vplacer.report.scripts.formats import ScriptFormat
from vplacer.report.scripts.powershell_text import ascii_comment
from vplacer.report.scripts.vim_objects import Value, Vim, device_work, spec_members, vim
from vplacer.report.scripts.words import (
    api_name,
    checked_facts,
    comment,
    head_lines,
    step_title,
    stop_lines,
    unsaid_steps,
)
from vplacer.report.scripts.yaml_text import fact, facts, quoted, title, vim_json

_NEEDS: Final = (
    "Needs ansible-core 2.19 or later, community.vmware, pyVmomi, and vCenter 8.0 U1 or later. The account:",
    "VMWARE_HOST, VMWARE_USER and VMWARE_PASSWORD in the environment. -e check_only=true compares and",
    "changes nothing; consents: -e allow_power_cycle=true and so on; -e from_step=N goes on with step N.",
    "Tasks marked RAW call the vSphere JSON API, where no module can say it.",
)


def write(script: Script) -> Written:
    """Return the playbook, and the steps that it stops at."""
    unsaid = unsaid_steps(script, _reason_unsaid)
    reasons = {item.number: item.why for item in unsaid}
    lines = ["---", *_comment(head_lines(script, (*_NEEDS, *stop_lines(unsaid, "PLAYBOOK")))), ""]
    lines += ["- name: Carry a vplacer plan out", "  hosts: localhost", "  connection: local"]
    lines += [
        "  gather_facts: false",
        HEAD,
        "  vars:",
        *_vars(script, unsaid),
        "",
        VARS,
        "",
        "  tasks:",
        BEGIN,
    ]
    for item in script.steps:
        lines += ["", *_step(item, reasons.get(item.number))]
    return Written("\n".join([*lines, *_logout()]) + "\n", unsaid)


def _logout() -> list[str]:
    return [
        "",
        "    - name: RAW log out",
        '      ansible.builtin.uri: {url: "{{ api }}/SessionManager/SessionManager/Logout"}',
        "      changed_when: false",
    ]


def _comment(lines: list[str], indent: str = "") -> list[str]:
    return [f"{indent}{line}" for line in comment([ascii_comment(line) for line in lines])]


def _reason_unsaid(change: Change) -> str | None:
    if not isinstance(change, Reconfigure):
        return None
    found = []
    if change.groups:
        found.append("device groups, whose members are copied from the host's templates")
    if any(item.action is Action.EDIT for item in change.devices):
        found.append("the vNUMA node of a device that stays")
    if any(
        item.after is not None and isinstance(item.after.backing, SriovBacking) for item in change.devices
    ):
        found.append("virtual functions")
    return f"the playbook does not say {', '.join(found)}" if found else None


def _vars(script: Script, unsaid: tuple[Unsaid, ...]) -> list[str]:
    needs = {item: fact(item in script.consents) for item in Consent}
    lines = [
        f"    instance_uuid: {quoted(script.plan.source.instance_uuid)}",
        f"    cannot: [{', '.join(str(item.number) for item in unsaid)}]",
        f"    needs_power_cycle: {needs[Consent.POWER_CYCLE]}",
        f"    needs_migration: {needs[Consent.MIGRATION]}",
        f"    needs_hw_upgrade: {needs[Consent.HW_UPGRADE]}",
        f"    needs_hard_power_off: {needs[Consent.HARD_POWER_OFF]}",
    ]
    for kind, name in ((ObjectKind.HOST, "hosts_before"), (ObjectKind.VM, "vms_before")):
        guards = [guard for guard in script.before if guard.kind is kind]
        lines.append(f"    {name}:" if guards else f"    {name}: []")
        for guard in guards:
            named = f"name: {quoted(guard.name)}, id: {quoted(guard.moid or '')}"
            lines.append(f"      - {{{named}, facts: {facts(guard.facts)}}}")
    return lines


def _step(item: ScriptStep, cannot: str | None) -> list[str]:
    body: list[str] = []
    for guard in item.guards:
        body += _compare("is as the plan expects", guard)
    if item.must_be_new is not None:
        body += [
            "- name: There is no VM of this name yet",
            f"  community.vmware.vmware_guest_info: {{name: {quoted(item.must_be_new)}}}",
            "  register: same",
            "  failed_when: \"'non-existing VM' not in same.msg | default('')\"",
        ]
    if cannot is not None:
        text = f"step {item.number} is not for this playbook: {cannot}. Do it with vplacer apply, or as"
        message = quoted(f"{text} --format powercli writes it; then go on with from_step={item.number + 1}")
        body += ["- name: Not for this playbook", f"  ansible.builtin.fail: {{msg: {message}}}"]
    else:
        if item.pause:
            body += ["- name: Let the other VM settle on a NUMA node"]
            body += ['  ansible.builtin.pause: {seconds: "{{ power_on_gap_seconds }}"}']
        body += _tasks(item.step.change, item)
        if picked := checked_facts(item):
            body += _compare(
                "is as it should be", Guard(ObjectKind.VM, item.target.name, item.target.moid, picked)
            )
    return [
        *_comment([step_title(item), *_undo(item)], "    "),
        f"    - name: {title(step_title(item))}",
        f"      when: from_step | int <= {item.number}",
        f"      vars: {{vm_name: {quoted(item.target.name)}, id: {_id(item.target)}}}",
        "      block:",
        *(f"        {line}" for line in body),
    ]


def _undo(item: ScriptStep) -> list[str]:
    if item.step.undo is None:
        return [f"Cannot be undone: {item.step.irreversible}."]
    if isinstance(item.step.undo, Power | Relocate | OverrideDrs):
        return [f"Undo: {_undo_words(item.step.undo)}"]
    if isinstance(item.step.change, Clone):
        return ["Undo: delete the VM that this step made."]
    return ["Undo: with `vplacer rollback`, or as --format powercli writes it."]


def _undo_words(undo: Power | Relocate | OverrideDrs) -> str:
    match undo:
        case Power():
            return f"{'switch it on' if undo.after is VmPower.ON else 'shut it down'} again."
        case Relocate():
            return f"move it back to host {undo.host_after}."
        case OverrideDrs():
            return f"set its own DRS level to {undo.after or 'that of the cluster'}."


def _id(target: Target) -> str:
    if target.moid is not None:
        return quoted(target.moid)
    return '"{{ made[vm_name] | default(given[vm_name]) }}"'


def _compare(words: str, guard: Guard) -> list[str]:
    moid = quoted(guard.moid) if guard.moid is not None else '"{{ id }}"'
    read = f'{{moid: {moid}, schema: vsphere, properties: "{{{{ read_properties }}}}"}}'
    return [
        "- name: Read",
        f"  community.vmware.vmware_guest_info: {read}",
        "  register: seen",
        f"- name: It {words}",
        '  ansible.builtin.assert: {that: "different == []", fail_msg: "{{ vm_name }}: {{ different }}"}',
        f"  vars: {{expected: {facts(guard.facts)}}}",
    ]


def _raw(name: str, path: str, body: str) -> list[str]:
    return [
        f"- name: RAW {name}",
        f'  ansible.builtin.uri: {{url: "{{{{ api }}}}/{path}", body: {body}}}',
        "  register: started",
        "- name: RAW wait",
        '  ansible.builtin.uri: {url: "{{ api }}/Task/{{ started.json.value }}/info", method: GET}',
        "  register: task",
        "  until: task.json.state in ['success', 'error']",
        "  retries: 3600",
        "  delay: 1",
        "  failed_when: task.json.state | default('error') != 'success'",
        "  changed_when: true",
    ]


def _reference(kind: str, moid: str) -> Vim:
    return vim("ManagedObjectReference", type=kind, value=moid)


def _tasks(change: Change, item: ScriptStep) -> list[str]:
    vm = "VirtualMachine/{{ id }}"
    match change:
        case Clone():
            return _clone(change)
        case UpgradeHardware():
            body = f"{{version: {quoted(f'vmx-{change.after}')}}}"
            return _raw("upgrade the virtual hardware", f"{vm}/UpgradeVM_Task", body)
        case Power():
            return _power(change)
        case Relocate():
            where: dict[str, Value] = {"host": _reference("HostSystem", change.host_after)}
            if change.pool_after is not None:
                where["pool"] = _reference("ResourcePool", change.pool_after)
            body = f"{{spec: {vim_json(Vim('VirtualMachineRelocateSpec', tuple(where.items())))}}}"
            return _raw("move it", f"{vm}/RelocateVM_Task", body)
        case OverrideDrs():
            return _override(change)
        case Reconfigure():
            return _reconfigure(change, item.hardware_version)
        case _:
            raise AssertionError(change)


def _power(change: Power) -> list[str]:
    if change.after is VmPower.ON:
        body = f"{{host: {vim_json(_reference('HostSystem', change.host or ''))}}}"
        lines = _raw("switch it on at its host", "VirtualMachine/{{ id }}/PowerOnVM_Task", body)
        guard = Guard(ObjectKind.VM, "", None, (("host", change.host),))
        return [*lines, *_compare("is at its host", guard)]
    if change.before is VmPower.SUSPENDED:
        return _raw(
            "switch it off; its suspended memory is given up", "VirtualMachine/{{ id }}/PowerOffVM_Task", "{}"
        )
    return [
        "- name: Switch it off",
        "  block:",
        "    - name: Ask the guest to shut down",
        "      community.vmware.vmware_guest_powerstate:",
        '        moid: "{{ id }}"',
        "        state: shutdown-guest",
        '        state_change_timeout: "{{ shutdown_seconds }}"',
        "  rescue:",
        "    - name: The guest did not shut down",
        "      ansible.builtin.fail:",
        "        msg: >-",
        "          {{ vm_name }}: the guest did not shut down:",
        "          {{ ansible_failed_result.msg | default('it is not told why') }};",
        "          allow_hard_power_off=true switches it off at once",
        "      when: not allow_hard_power_off | bool",
        "    - name: Switch it off at once",
        '      community.vmware.vmware_guest_powerstate: {moid: "{{ id }}", state: powered-off, force: true}',
    ]


def _clone(change: Clone) -> list[str]:
    where = ['"_typeName": "VirtualMachineRelocateSpec"']
    where.append(f'"host": {vim_json(_reference("HostSystem", change.host))}')
    where.append(f'"pool": {_pool(change.pool)}')
    if change.datastore is not None:
        where.append(f'"datastore": {vim_json(_reference("Datastore", change.datastore))}')
    location = "{" + ", ".join(where) + "}"
    spec = (
        '{"_typeName": "VirtualMachineCloneSpec", "powerOn": false, "template": false, '
        f'"location": {location}}}'
    )
    folder = _told("Folder", "parent.json.value")
    body = f"{{folder: {folder}, name: {quoted(api_name(change.name))}, spec: {spec}}}"
    lines = _read("the template's folder", f"VirtualMachine/{change.template}/parent", "parent")
    if change.pool is None:
        lines += _read("the host's cluster", f"HostSystem/{change.host}/parent", "compute")
        path = "{{ compute.json.type }}/{{ compute.json.value }}/resourcePool"
        lines += _read("its root pool", path, "root_pool")
    return [
        *lines,
        *_raw("clone it", f"VirtualMachine/{change.template}/CloneVM_Task", body),
        "- name: Remember which VM it is",
        "  ansible.builtin.set_fact:",
        '    made: "{{ made | combine({vm_name: task.json.result.value}) }}"',
    ]


def _pool(moid: str | None) -> str:
    if moid is not None:
        return vim_json(_reference("ResourcePool", moid))
    return _told("ResourcePool", "root_pool.json.value")


def _told(kind: str, variable: str) -> str:
    """Return a reference whose id the playbook finds out."""
    return f'{{"_typeName": "ManagedObjectReference", "type": "{kind}", "value": "{{{{ {variable} }}}}"}}'


def _read(what: str, path: str, register: str) -> list[str]:
    return [
        f"- name: RAW read {what}",
        f'  ansible.builtin.uri: {{url: "{{{{ api }}}}/{path}", method: GET}}',
        f"  register: {register}",
    ]


def _override(change: OverrideDrs) -> list[str]:
    key = _told("VirtualMachine", "id")
    if change.after is None:
        entry = f'{{"_typeName": "ClusterDrsVmConfigSpec", "operation": "remove", "removeKey": {key}}}'
    else:
        enabled = fact(change.after != "disabled")
        level = f', "behavior": {quoted(change.after)}' if change.after != "disabled" else ""
        operation = "add" if change.before is None else "edit"
        info = f'{{"_typeName": "ClusterDrsVmConfigInfo", "key": {key}, "enabled": {enabled}{level}}}'
        entry = f'{{"_typeName": "ClusterDrsVmConfigSpec", "operation": "{operation}", "info": {info}}}'
    spec = f'{{"_typeName": "ClusterConfigSpecEx", "drsVmConfigSpec": [{entry}]}}'
    path = f"ClusterComputeResource/{change.cluster}/ReconfigureComputeResource_Task"
    return _raw("set its own DRS level", path, f"{{spec: {spec}, modify: true}}")


def _reconfigure(change: Reconfigure, hardware_version: int | None) -> list[str]:
    work = device_work(change)
    devices: list[Value] = [
        vim("VirtualDeviceConfigSpec", operation="remove", device=vim("VirtualPCIPassthrough", key=key))
        for key in work.removed
    ]
    devices += [vim("VirtualDeviceConfigSpec", operation="add", device=new.device) for new in work.added]
    members = [
        '"_typeName": "VirtualMachineConfigSpec"',
        '"changeVersion": "{{ seen.instance.config.changeVersion }}"',
        *(f"{quoted(name)}: {vim_json(value)}" for name, value in spec_members(change, hardware_version)),
    ]
    if devices:
        members.append(f'"deviceChange": {vim_json(tuple(devices))}')
    lines = ["{", *(f"    {member}," for member in members), "  }"]
    body = "{spec: {\n" + "\n".join(f"            {line.strip()}" for line in lines[1:-1]) + "\n          }}"
    return _raw("reconfigure it in one task", "VirtualMachine/{{ id }}/ReconfigVM_Task", body)


FORMAT = ScriptFormat(write)
