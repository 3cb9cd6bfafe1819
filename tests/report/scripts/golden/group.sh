#!/usr/bin/env bash
# Plan 3aad3b166a1a95b8524e3760bd198caeadbd802a386ad6e8da7e95601b1fbeab
# of 2026-11-30T09:00:00Z, by vplacer 0.1.0, request request.yaml
# for vCenter vgpu: a device group comes whole (66f60a1f-d37c-5e46-b927-85ea55c904bd), read 2025-01-01T00:00:00Z
#
# It makes 0 VMs, reconfigures 0, migrates 1: 4 steps.
# Switched off and on again on the way:
#   - infer
# Change their host:
#   - infer
# Needs consent: --allow-power-cycle (VMs that run are switched off and on again)
# Needs consent: --allow-migration (VMs change their host)
#
# Needs bash 4 or later, jq, and govc 0.38 or later, with the account in the environment: GOVC_URL,
# GOVC_USERNAME and GOVC_PASSWORD. `--help` tells the options; `--check` compares and changes nothing.
# govc changes settings and devices of a step in several tasks where vplacer uses one.
#
# THE SCRIPT STOPS at these steps; do them with `vplacer apply` or another format:
#   - step 3, reconfigure infer: devices: 2 added: govc cannot set device groups, members of device groups
#
# Compared before the first change: vCenter, hosts and VMs as the plan saw them. Not compared:
#   - the hosts' cards, NUMA nodes, vGPU profiles and device groups
#   - which VMs came to a host since
#   - signs that somebody else works on a VM (a pending question, a running backup)
#   - ordinary network cards
# `vplacer apply` compares these too, and restores a VM by itself whose start is refused.

set -euo pipefail

INSTANCE_UUID=66f60a1f-d37c-5e46-b927-85ea55c904bd
TOTAL=4
CANNOT=3
NEEDS_POWER_CYCLE=1
NEEDS_MIGRATION=1
NEEDS_HW_UPGRADE=''
NEEDS_HARD_POWER_OFF=''

# What vCenter says of a VM, in the words of the plan.
# shellcheck disable=SC2016
FACTS='
def hex: . as $n | [4096, 256, 16, 1] | map("0123456789abcdef"[(($n / .) | floor) % 16:][:1]) | add;
def unsigned: if . < 0 then . + 65536 else . end;
def known_name: gsub("%2[fF]"; "/") | gsub("%5[cC]"; "\\") | gsub("%25"; "%");
def address: ascii_downcase | if test("^[0-9a-f]{2}:") then "0000:" + . else . end;
def sub_ids: [.subVendorId, .subDeviceId] |
  if . == [null, null] then "" else map(if . == null then ":any" else ":" + (unsigned | hex) end) | add end;
def network: if .network then .network.value elif .port then .port.portgroupKey else null end;
def backing:
  if .backing.vgpu then "vgpu " + .backing.vgpu
  elif .dvxBackingInfo or .backing.deviceClass then (.dvxBackingInfo // .backing) |
    "dvx " + .deviceClass + ([.configParams[]? | " " + .key + "=" + (.value | tostring)] | sort | add // "")
  elif .backing.allowedDevice then
    "dynamic " + ([.backing.allowedDevice[] |
      (.vendorId | unsigned | hex) + ":" + (.deviceId | unsigned | hex) + sub_ids] | join(","))
    + (if (.backing.customLabel // "") != "" then " label " + .backing.customLabel else "" end)
  elif .sriovBacking or .allowGuestOSMtuChange != null then
    "sriov " + ((.sriovBacking.physicalFunctionBacking.id // "Automatic") |
      if startswith("Automatic") then "any port" else address end)
    + ((.backing | network) as $net | if $net then " on " + $net else "" end)
  elif .backing.systemId and .backing.id then
    "static " + (.backing.id | address) + " " + (.backing.vendorId | unsigned | hex) + ":"
    + (.backing.deviceId | ascii_downcase | ltrimstr("0x") | ("0000" + .)[-4:])
  else empty end;
def device_texts: .config as $config | [$config.hardware.device[]? | . as $device | backing
  + (if $device.deviceGroupInfo then " in " + ([$config.deviceGroups.deviceGroup[]? |
      select(.groupInstanceKey == $device.deviceGroupInfo.groupInstanceKey) | .deviceGroupName] |
      first // "?")
    else "" end)
  + (if ($device.numaNode // -1) >= 0 then " vNUMA \($device.numaNode)" else "" end)] | sort;
map({(.name): .val}) | add // {} |
{
  name: (.name // "" | known_name),
  instance_uuid: .config.instanceUuid,
  host: ."runtime.host".value,
  pool: .resourcePool.value,
  power: ."runtime.powerState",
  connection: ."runtime.connectionState",
  template: .config.template,
  hardware_version: (.config.version // "" | ltrimstr("vmx-") | tonumber? // null),
  firmware: .config.firmware,
  has_snapshots: (.snapshot != null),
  cpu_hot_add: .config.cpuHotAddEnabled,
  cpus: .config.hardware.numCPU,
  cores_per_socket: (.config.hardware |
    if .autoCoresPerSocket then null else .numCoresPerSocket end),
  cores_per_numa_node: ((.config.numaInfo // {}) |
    if .autoCoresPerNumaNode or .coresPerNumaNode == 0 then null else .coresPerNumaNode end),
  vnuma_on_hot_add: .config.numaInfo.vnumaOnCpuHotaddExposed,
  memory_mib: .config.hardware.memoryMB,
  memory_locked_to_max: (.config.memoryReservationLockedToMax // false),
  memory_reserved_mib: (.config | if .memoryReservationLockedToMax then .hardware.memoryMB
    else (.memoryAllocation.reservation // 0) end),
  memory_limit_mib: (.config.memoryAllocation.limit | if . != null and . < 0 then null else . end),
  cpu_reservation_mhz: (.config.cpuAllocation.reservation // 0),
  latency_sensitivity: (.config.latencySensitivity.level // "normal"),
  cpu_affinity: [.config.cpuAffinity.affinitySet[]? | tostring],
  devices: device_texts
} + ([.config.extraConfig[]? | {("extra." + (.key | ascii_downcase)):
  (if .value == "" then null else .value end)}] | add // {})
'


STEP=0

stop() {
  printf 'STOPPED at step %s of %s: %s\n' "$STEP" "$TOTAL" "$1" >&2
  if ((STEP > 0)); then
    printf 'Steps before it are done. Look at the VM, then mend it and go on with --from %s,\n' "$STEP" >&2
    printf 'or take back what was done: each step of this file says how.\n' >&2
  else
    printf 'Nothing was changed.\n' >&2
  fi
  exit "${2:-1}"
}

change() {
  "$@" >/dev/null || stop "${NAME}: govc refused: ${*:1:3}" 7
}

vm_facts() {
  govc collect -json "$1" name config runtime.powerState runtime.connectionState runtime.host \
    resourcePool snapshot | jq -c "$FACTS"
}

host_facts() {
  govc collect -json "$1" runtime.connectionState runtime.powerState runtime.inMaintenanceMode \
    hardware.systemInfo.uuid | jq -c 'map({(.name): .val}) | add // {} | {
      connection: ."runtime.connectionState", power: ."runtime.powerState",
      maintenance: ."runtime.inMaintenanceMode", uuid: ."hardware.systemInfo.uuid"}'
}

# Prints the fields of $1 (JSON) that have another value in $2 (JSON).
differences() {
  jq -rn --argjson want "$1" --argjson have "$2" '$want | to_entries[] | select(.value != $have[.key]) |
    "\(.key) is \($have[.key] | tojson), not \(.value | tojson)"'
}

compare() { # kind, name, object, fields, exit code, words
  local found different
  found=$("$1_facts" "$3") || stop "$2 ($3) cannot be read" "$5"
  different=$(differences "$4" "$found") || stop "$2 ($3): what was read cannot be compared" "$5"
  [ -z "$different" ] || stop "$2 ($3) $6: $different" "$5"
}

expect_vm() { compare vm "$1" "$2" "$3" "$STALE" 'is not as the plan expects'; }
expect_host() { compare host "$1" "$2" "$3" "$STALE" 'is not as the plan expects'; }
check_vm() { compare vm "$1" "$2" "$3" 7 'was changed, and is not as it should be'; }
check_host() { compare vm "$1" "$2" "{\"host\": \"$3\"}" 7 'was switched on elsewhere'; }

# Prints the references of the VMs with exactly this name.
vms_named() {
  govc collect -json -type m / name | jq -r --arg name "$1" '
    select(.changeSet[]? | .name == "name" and
      (.val | gsub("%2[fF]"; "/") | gsub("%5[cC]"; "\\") | gsub("%25"; "%")) == $name) |
    .obj | "\(.type):\(.value)"'
}

must_be_new() {
  local found
  found=$(vms_named "$1") || stop "the names of the VMs cannot be read" "$STALE"
  [ -z "$found" ] || stop "$1: there is a VM of this name already" "$STALE"
}

NAME='' VM=''
declare -A MADE=()

known() { NAME=$1 VM=$2; }

made() {
  NAME=$1 VM=${MADE[$1]:-}
  if [ -z "$VM" ]; then
    VM=$(vms_named "$1") || stop "the names of the VMs cannot be read"
    [ -n "$VM" ] || stop "$1: there is no VM of this name"
    [ "$(wc -l <<<"$VM")" -eq 1 ] || stop "$1: there are several VMs of this name"
    MADE[$1]=$VM
  fi
}

clone_vm() { # template, host, datastore or '', name, name as the API wants it
  local folder store
  folder=$(govc collect -s "$1" parent) || stop "$4: the template cannot be read"
  store=${3:-$(govc collect -s "$1" datastore)} || stop "$4: the template cannot be read"
  NAME=$4
  change govc vm.clone -vm "$1" -on=false -host "$2" -ds "${store%%,*}" -folder "$folder" "$5"
}

into_pool() {
  local pool
  pool=$(govc collect -s "$1" resourcePool) || stop "$NAME: cannot be read" 7
  [ "$pool" = "$2" ] || change govc vm.migrate -pool "$2" "$1"
}

device_name() {
  govc device.info -json -vm "$1" | jq -r --argjson key "$2" '.devices[] | select(.key == $key) | .name'
}

# govc takes the last card of this address that any host of the cluster has; its system id names the host.
add_card() { # VM, address, system id
  local ids
  ids=$(govc device.pci.ls -json -vm "$1" | jq -r --arg id "$2" '
    [.. | objects | select(.pciDevice.id? == $id) | .systemId] | unique | join(" ")') ||
    stop "$NAME: the cards that a VM can have cannot be read" 7
  [ -n "$ids" ] || stop "$NAME: no host offers $2 for passthrough" 7
  [ "$ids" = "$3" ] || stop "$NAME: hosts of the cluster have several cards at $2, and govc cannot say
  which. Do this step with vplacer apply, or as --format powercli writes it, and go on with
  --from $((STEP + 1))" 7
  change govc device.pci.add -vm "$1" "$2"
}

shut_down() {
  local left=$SHUTDOWN_SECONDS
  if govc vm.power -s "$2" >/dev/null; then
    while [ "$(govc collect -s "$2" runtime.powerState)" != poweredOff ] && ((left > 0)); do
      sleep 5
      left=$((left - 5))
    done
  fi
  if [ "$(govc collect -s "$2" runtime.powerState)" != poweredOff ]; then
    [ -n "$HARD" ] || stop "$1: the guest did not shut down; --allow-hard-power-off switches it off at once" 7
    change govc vm.power -off "$2"
  fi
}

pause_before_power_on() { sleep "$POWER_ON_GAP_SECONDS"; }

override() {
  govc collect -json "$1" configurationEx | jq -r --arg vm "${2#*:}" '
    [.[].val.drsVmConfig[]? | select(.key.value == $vm) |
      if .enabled == false then "disabled" else .behavior end] | first // ""'
}

expect_override() {
  local found
  found=$(override "$2" "$3") || stop "$1: the overrides of its cluster cannot be read" "$STALE"
  [ "$found" = "$4" ] || stop "$1: its own DRS level is '$found', not '$4'" "$STALE"
}

check_override() {
  local found
  found=$(override "$2" "$3") || stop "$1: the overrides of its cluster cannot be read" 7
  [ "$found" = "$4" ] || stop "$1: its own DRS level was set, and is '$found', not '$4'" 7
}

cannot() {
  stop "this step is not for govc: $2: $3. Do it with vplacer apply, or by hand as
  \`vplacer show PLAN --format powercli\` writes it, and go on with --from $(($1 + 1))" 7
}

# All that is compared before the first change.
compare_all() {
  expect_host esx1 HostSystem:host-1001 '{"connection": "connected", "maintenance": false, "power": "poweredOn", "uuid": "09d87c95-3eb3-596b-8949-2e1975d3642f"}'
  expect_host esx2 HostSystem:host-1002 '{"connection": "connected", "maintenance": false, "power": "poweredOn", "uuid": "60bd9493-14d1-5ecb-8c86-c2e03eaaf8e1"}'
  expect_vm infer VirtualMachine:vm-2001 '{"connection": "connected", "cores_per_numa_node": null, "cores_per_socket": null, "cpu_affinity": [], "cpu_hot_add": false, "cpu_reservation_mhz": 0, "cpus": 8, "devices": [], "extra.numa.nodeaffinity": null, "extra.numa.vcpu.maxpervirtualnode": null, "extra.numa.vcpu.preferht": null, "extra.pcipassthru.64bitmmiosizegb": "512", "extra.pcipassthru.use64bitmmio": "TRUE", "firmware": "efi", "hardware_version": 21, "has_snapshots": false, "host": "host-1001", "instance_uuid": "7e3f0ff9-ad10-5dfc-8a12-8a33d90ac6bb", "latency_sensitivity": "normal", "memory_limit_mib": null, "memory_locked_to_max": false, "memory_mib": 65536, "memory_reserved_mib": 65536, "pool": "resgroup-9", "power": "poweredOn", "template": false, "vnuma_on_hot_add": false}'
  expect_vm pair VirtualMachine:vm-2002 '{"cpus": 16, "devices": ["vgpu grid_a30-24c in Nvidia:2@grid_a30-24c%NVLink", "vgpu grid_a30-24c in Nvidia:2@grid_a30-24c%NVLink"], "extra.numa.nodeaffinity": null, "host": "host-1001", "latency_sensitivity": "normal", "memory_mib": 131072, "memory_reserved_mib": 131072, "power": "poweredOn"}'
  return 0
}

# Step 1: switch infer off
# Undo: govc vm.power -on VirtualMachine:vm-2001
step_1() {
  known infer VirtualMachine:vm-2001
  expect_vm "$NAME" "$VM" '{"power": "poweredOn"}'
  shut_down "$NAME" "$VM"
  check_vm "$NAME" "$VM" '{"power": "poweredOff"}'
}

# Step 2: move infer switched off to esx2 (after 1)
# Undo: govc vm.migrate -host HostSystem:host-1001 -pool ResourcePool:resgroup-9 VirtualMachine:vm-2001
step_2() {
  known infer VirtualMachine:vm-2001
  expect_vm "$NAME" "$VM" '{"host": "host-1001", "power": "poweredOff"}'
  change govc vm.migrate -host HostSystem:host-1002 -pool ResourcePool:resgroup-9 "$VM"
  check_vm "$NAME" "$VM" '{"host": "host-1002"}'
}

# Step 3: reconfigure infer: devices: 2 added (after 2)
# Undo: with `vplacer rollback`, since govc cannot set device groups, members of device groups.
step_3() {
  known infer VirtualMachine:vm-2001
  expect_vm "$NAME" "$VM" '{"devices": [], "power": "poweredOff"}'
  cannot 3 'reconfigure infer: devices: 2 added' 'govc cannot set device groups, members of device groups'
}

# Step 4: switch infer on at esx2 (after 3)
# Undo: govc vm.power -s VirtualMachine:vm-2001
step_4() {
  known infer VirtualMachine:vm-2001
  expect_vm "$NAME" "$VM" '{"power": "poweredOff"}'
  change govc vm.power -on "$VM"
  check_host "$NAME" "$VM" host-1002
  check_vm "$NAME" "$VM" '{"power": "poweredOn"}'
}


usage() {
  cat <<'END'
Options:
  --check                  Compare all that the plan was decided on; change nothing.
  --allow-power-cycle      VMs that run may be switched off and on again.
  --allow-migration        VMs may change their host.
  --allow-hw-upgrade       Virtual hardware may be upgraded; nothing undoes that.
  --allow-hard-power-off   A guest that does not shut down in time is switched off at once; suspended memory
                           may be given up.
  --partial                Begin although govc cannot do every step; stop at the first that it cannot do.
  --from N                 Begin with step N: those before it are done. Only its own guards are compared.
Environment: SHUTDOWN_SECONDS (300), POWER_ON_GAP_SECONDS (30), and govc's own.
Exit codes: 0 done; 1 could not be read or begun; 3 usage, consent missing; 6 not as the plan expects,
nothing changed; 7 stopped part way.
END
}

refuse() {
  printf '%s\n' "$1" >&2
  exit 3
}

FROM=1 CHECK='' CYCLE='' MIGRATE='' UPGRADE='' HARD='' PARTIAL='' STALE=6
: "${SHUTDOWN_SECONDS:=300}" "${POWER_ON_GAP_SECONDS:=30}"
while (($# > 0)); do
  case $1 in
    --check) CHECK=1 ;;
    --allow-power-cycle) CYCLE=1 ;;
    --allow-migration) MIGRATE=1 ;;
    --allow-hw-upgrade) UPGRADE=1 ;;
    --allow-hard-power-off) HARD=1 ;;
    --partial) PARTIAL=1 ;;
    --from)
      [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || refuse '--from wants the number of a step'
      FROM=$2
      shift
      ;;
    -h | --help)
      usage
      exit 0
      ;;
    *) refuse "unknown option: $1 (--help tells them)" ;;
  esac
  shift
done
for program in govc jq; do
  command -v "$program" >/dev/null || refuse "$program is needed and not found"
done
if [ -z "$CHECK" ]; then
  [ -z "$NEEDS_POWER_CYCLE" ] || [ -n "$CYCLE" ] ||
    refuse 'VMs that run would be switched off: --allow-power-cycle'
  [ -z "$NEEDS_MIGRATION" ] || [ -n "$MIGRATE" ] ||
    refuse 'VMs would change their host: --allow-migration'
  [ -z "$NEEDS_HW_UPGRADE" ] || [ -n "$UPGRADE" ] ||
    refuse 'virtual hardware would be upgraded: --allow-hw-upgrade'
  [ -z "$NEEDS_HARD_POWER_OFF" ] || [ -n "$HARD" ] ||
    refuse 'the suspended memory of VMs would be given up: --allow-hard-power-off'
  for number in $CANNOT; do
    ((number < FROM)) || [ -n "$PARTIAL" ] ||
      refuse "govc cannot do steps $CANNOT; the head of this file says why. --partial does those before them"
  done
fi

found=$(govc collect -s - content.about.instanceUuid) || stop 'the vCenter cannot be read'
[ "$found" = "$INSTANCE_UUID" ] || stop "this is the vCenter $found, not $INSTANCE_UUID" 6
if ((FROM == 1)); then
  compare_all
fi
if [ -n "$CHECK" ]; then
  printf 'All is as the plan expects; nothing was changed.\n'
  exit 0
fi
for ((STEP = FROM; STEP <= TOTAL; STEP++)); do
  ((STEP == 1)) || STALE=7
  "step_$STEP"
  printf 'step %s of %s done\n' "$STEP" "$TOTAL"
done
printf 'All steps are done.\n'

