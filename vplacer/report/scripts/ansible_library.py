"""The parts of a playbook that are the same in every one."""

# ruff: noqa: E501 - a template statement is one line.

from __future__ import annotations

from typing import Final

VARS: Final = r"""
    # Consents and limits: -e allow_power_cycle=true and so on.
    check_only: false
    allow_power_cycle: false
    allow_migration: false
    allow_hw_upgrade: false
    allow_hard_power_off: false
    partial: false
    from_step: 1
    shutdown_seconds: 300
    power_on_gap_seconds: 30
    # Ids of VMs that this plan made in an earlier run, by name: needed with from_step.
    given: {}
    made: {}

    vcenter: "{{ lookup('ansible.builtin.env', 'VMWARE_HOST') }}"
    account: "{{ lookup('ansible.builtin.env', 'VMWARE_USER') }}"
    password: "{{ lookup('ansible.builtin.env', 'VMWARE_PASSWORD') }}"
    verify: "{{ lookup('ansible.builtin.env', 'VMWARE_VALIDATE_CERTS') | default('true', true) | bool }}"
    api: "https://{{ vcenter }}/sdk/vim25/8.0.1.0"

    # What vCenter says of the VM read last (seen), in the words of the plan.
    vm: "{{ seen.instance }}"
    device_texts: >-
      {%- set texts = [] -%}
      {%- for d in vm.config.hardware.device -%}
      {%- set b = d.dvxBackingInfo | default(none) or d.backing | default(none) or {} -%}
      {%- set kind = b._vimtype | default('') -%}
      {%- set text = namespace(it='') -%}
      {%- if d._vimtype.endswith('VirtualSriovEthernetCard') and not d.dvxBackingInfo | default(none) -%}
      {%- set port = ((d.sriovBacking | default(none) or {}).physicalFunctionBacking | default(none) or {}).id | default('Automatic') -%}
      {%- set net = (b.network | default('', true)).split(':') | last or (b.port | default(none) or {}).portgroupKey | default('') -%}
      {%- set text.it = 'sriov ' ~ ('any port' if port.startswith('Automatic') else port | lower) ~ (' on ' ~ net if net else '') -%}
      {%- elif kind.endswith('.VmiopBackingInfo') -%}
      {%- set text.it = 'vgpu ' ~ b.vgpu -%}
      {%- elif kind.endswith('.DynamicBackingInfo') -%}
      {%- set allowed = [] -%}
      {%- for a in b.allowedDevice -%}
      {%- set sub = [a.subVendorId | default(none), a.subDeviceId | default(none)] -%}
      {%- set tail = namespace(it='') -%}
      {%- for one in sub if sub != [none, none] -%}
      {%- set tail.it = tail.it ~ (':any' if one is none else ':%04x' | format(one % 65536)) -%}
      {%- endfor -%}
      {%- set _ = allowed.append('%04x:%04x' | format(a.vendorId % 65536, a.deviceId % 65536) ~ tail.it) -%}
      {%- endfor -%}
      {%- set text.it = 'dynamic ' ~ allowed | join(',') ~ (' label ' ~ b.customLabel if b.customLabel | default('') else '') -%}
      {%- elif kind.endswith('.DvxBackingInfo') -%}
      {%- set params = [] -%}
      {%- for p in b.configParams | default([]) -%}{%- set _ = params.append(' ' ~ p.key ~ '=' ~ p.value) -%}{%- endfor -%}
      {%- set text.it = 'dvx ' ~ b.deviceClass ~ params | sort | join('') -%}
      {%- elif kind.endswith('VirtualPCIPassthrough.DeviceBackingInfo') -%}
      {%- set hex = ('0000' ~ b.deviceId | lower | regex_replace('^0x', ''))[-4:] -%}
      {%- set text.it = 'static ' ~ b.id | lower ~ ' ' ~ '%04x' | format(b.vendorId % 65536) ~ ':' ~ hex -%}
      {%- endif -%}
      {%- if text.it -%}
      {%- set key = (d.deviceGroupInfo | default(none) or {}).groupInstanceKey | default(none) -%}
      {%- for g in (vm.config.deviceGroups | default(none) or {}).deviceGroup | default([]) if key is not none and g.groupInstanceKey == key -%}
      {%- set text.it = text.it ~ ' in ' ~ g.deviceGroupName -%}
      {%- endfor -%}
      {%- if (d.numaNode | default(none)) is not none and d.numaNode >= 0 -%}
      {%- set text.it = text.it ~ ' vNUMA ' ~ d.numaNode -%}
      {%- endif -%}
      {%- set _ = texts.append(text.it) -%}
      {%- endif -%}
      {%- endfor -%}
      {{ texts | sort(case_sensitive=true) }}
    extra_facts: >-
      {%- set found = {} -%}
      {%- for o in vm.config.extraConfig | default([]) -%}
      {%- set _ = found.update({'extra.' ~ o.key | lower: (o.value | string) or none}) -%}
      {%- endfor -%}
      {{ found }}
    numa: "{{ vm.config.numaInfo | default(none) or {} }}"
    locked: "{{ vm.config.memoryReservationLockedToMax | default(none) or false }}"
    limit: "{{ vm.config.memoryAllocation.limit | default(none) }}"
    facts: >-
      {{ {
        'name': vm.name | regex_replace('%2[fF]', '/') | regex_replace('%5[cC]', '\\\\') | replace('%25', '%'),
        'instance_uuid': vm.config.instanceUuid,
        'host': (vm.runtime.host | default('', true)).split(':') | last or none,
        'pool': (vm.resourcePool | default(none) or {})._vimid | default(none),
        'power': vm.runtime.powerState,
        'connection': vm.runtime.connectionState,
        'template': vm.config.template,
        'hardware_version': vm.config.version | replace('vmx-', '') | int,
        'firmware': vm.config.firmware | default(none),
        'has_snapshots': (vm.snapshot | default(none)) is not none,
        'cpu_hot_add': vm.config.cpuHotAddEnabled | default(none),
        'cpus': vm.config.hardware.numCPU,
        'cores_per_socket': none if vm.config.hardware.autoCoresPerSocket | default(none)
          else vm.config.hardware.numCoresPerSocket | default(none),
        'cores_per_numa_node': none if numa.autoCoresPerNumaNode | default(none)
          else numa.coresPerNumaNode | default(none) or none,
        'vnuma_on_hot_add': numa.vnumaOnCpuHotaddExposed | default(none),
        'memory_mib': vm.config.hardware.memoryMB,
        'memory_locked_to_max': locked,
        'memory_reserved_mib': vm.config.hardware.memoryMB if locked
          else vm.config.memoryAllocation.reservation | default(0, true),
        'memory_limit_mib': none if limit is none or limit < 0 else limit,
        'cpu_reservation_mhz': vm.config.cpuAllocation.reservation | default(0, true),
        'latency_sensitivity': (vm.config.latencySensitivity | default(none) or {}).level | default('normal', true),
        'cpu_affinity': ((vm.config.cpuAffinity | default(none) or {}).affinitySet | default([], true)) | map('string') | list,
        'devices': device_texts,
      } | combine(extra_facts) }}
    different: >-
      {%- set found = [] -%}
      {%- for field, value in expected.items() if facts[field] | default(none) != value -%}
      {%- set _ = found.append(field ~ ' is ' ~ (facts[field] | default(none) | to_json) ~ ', not ' ~ (value | to_json)) -%}
      {%- endfor -%}
      {{ found }}
    read_properties: [name, config, runtime, resourcePool, snapshot]
""".strip("\n")

HEAD: Final = r"""
  module_defaults:
    community.vmware.vmware_guest_info: &login
      hostname: "{{ vcenter }}"
      username: "{{ account }}"
      password: "{{ password }}"
      validate_certs: "{{ verify }}"
    community.vmware.vmware_guest_powerstate: *login
    ansible.builtin.uri:
      method: POST
      body_format: json
      return_content: true
      validate_certs: "{{ verify }}"
      headers: {vmware-api-session-id: "{{ session.vmware_api_session_id | default('') }}"}
      status_code: [200, 204]
""".strip("\n")

BEGIN: Final = r"""
    - name: Consents and versions
      ansible.builtin.assert:
        that:
          - ansible_version.full is version('2.19', '>=')
          - check_only | bool or not needs_power_cycle or allow_power_cycle | bool
          - check_only | bool or not needs_migration or allow_migration | bool
          - check_only | bool or not needs_hw_upgrade or allow_hw_upgrade | bool
          - check_only | bool or not needs_hard_power_off or allow_hard_power_off | bool
          - check_only | bool or cannot | select('ge', from_step | int) | length == 0 or partial | bool
        fail_msg: >-
          ansible-core 2.19 is needed, and consent: see the head of this file. Steps that this playbook cannot
          do: {{ cannot }}; partial=true does those before them.
    - name: RAW log in to the vSphere JSON API
      ansible.builtin.uri:
        url: "{{ api }}/SessionManager/SessionManager/Login"
        body: {userName: "{{ account }}", password: "{{ password }}"}
        headers: {}
      no_log: true
      register: session
      changed_when: false
    - name: RAW which vCenter is it
      ansible.builtin.uri: {url: "{{ api }}/ServiceInstance/ServiceInstance/content", method: GET}
      register: content
    - name: It is the vCenter of the plan
      ansible.builtin.assert:
        that: content.json.about.instanceUuid == instance_uuid
        fail_msg: "this is the vCenter {{ content.json.about.instanceUuid }}, not {{ instance_uuid }}"
    - name: Compare all before the first change
      when: from_step | int == 1
      block:
        - name: RAW read hosts
          ansible.builtin.uri: {url: "{{ api }}/HostSystem/{{ item.id }}/summary", method: GET}
          loop: "{{ hosts_before }}"
          loop_control: {label: "{{ item.name }}"}
          register: hosts_seen
        - name: Hosts are as the plan expects
          ansible.builtin.assert:
            that: host_facts == item.item.facts
            fail_msg: "{{ item.item.name }} is {{ host_facts }}, not {{ item.item.facts }}; nothing was changed"
          vars:
            runtime: "{{ item.json.runtime }}"
            host_facts: "{{ {'uuid': item.json.hardware.uuid, 'connection': runtime.connectionState,
              'power': runtime.powerState, 'maintenance': runtime.inMaintenanceMode} }}"
          loop: "{{ hosts_seen.results }}"
          loop_control: {label: "{{ item.item.name }}"}
        - name: Read VMs
          community.vmware.vmware_guest_info: {moid: "{{ item.id }}", schema: vsphere, properties: "{{ read_properties }}"}
          loop: "{{ vms_before }}"
          loop_control: {label: "{{ item.name }}"}
          register: vms_seen
        - name: VMs are as the plan expects
          ansible.builtin.assert:
            that: "different == []"
            fail_msg: "{{ item.item.name }}: {{ different }}; nothing was changed"
          vars: {seen: "{{ item }}", expected: "{{ item.item.facts }}"}
          loop: "{{ vms_seen.results }}"
          loop_control: {label: "{{ item.item.name }}"}
    - name: Only compared
      ansible.builtin.meta: end_play
      when: check_only | bool
""".strip("\n")
