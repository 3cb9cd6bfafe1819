# Plan 8fdbb595d60b079af3e729289e3d7a3fb968aa5aed1c18c1300ba19943857659
# of 2026-11-30T09:00:00Z, by vplacer 0.1.0, request request.yaml
# for vCenter devices: static pins card and nodes and costs vMotion HA DRS and snapshots (4ce11545-4cdd-5d86-835b-bd2f59635983), read 2025-01-01T00:00:00Z
#
# It makes 0 VMs, reconfigures 1, migrates 0: 3 steps.
# Switched off and on again on the way:
#   - train
# Needs consent: --allow-power-cycle (VMs that run are switched off and on again)
#
# Needs VMware PowerCLI (VCF PowerCLI) and a connection: Connect-VIServer asks for the account.
# -Check compares and changes nothing; consents: -AllowPowerCycle, -AllowMigration, -AllowHwUpgrade.
# Fields newer than the vCenter are read back as unset, and then stop the script: use a PowerCLI that is
# not older than vSphere 8.0.
#
# Compared before the first change: vCenter, hosts and VMs as the plan saw them. Not compared:
#   - the hosts' cards, NUMA nodes, vGPU profiles and device groups
#   - which VMs came to a host since
#   - signs that somebody else works on a VM (a pending question, a running backup)
#   - ordinary network cards
# `vplacer apply` compares these too, and restores a VM by itself whose start is refused.

#Requires -Version 5.1
[CmdletBinding()]
param(
  # Compare all that the plan was decided on; change nothing.
  [switch]$Check,
  # VMs that run may be switched off and on again.
  [switch]$AllowPowerCycle,
  # VMs may change their host.
  [switch]$AllowMigration,
  # Virtual hardware may be upgraded; nothing undoes that.
  [switch]$AllowHwUpgrade,
  # A guest that does not shut down in time is switched off at once; suspended memory may be given up.
  [switch]$AllowHardPowerOff,
  # Begin with this step: those before it are done. Only its own guards are compared.
  [ValidateRange(1, 1000000)][int]$From = 1,
  [int]$ShutdownSeconds = 300,
  [int]$PowerOnGapSeconds = 30
)

$ErrorActionPreference = 'Stop'
$script:Step = 0

$InstanceUuid = '4ce11545-4cdd-5d86-835b-bd2f59635983'
$Total = 3
$NeedsPowerCycle = $true
$NeedsMigration = $false
$NeedsHwUpgrade = $false
$NeedsHardPowerOff = $false

function Stop-Plan([string]$Message, [int]$Code) {
  [Console]::Error.WriteLine("STOPPED at step $script:Step of ${Total}: $Message")
  if ($script:Step -gt 0) {
    [Console]::Error.WriteLine("Steps before it are done. Look at the VM, then mend it and go on with -From $script:Step,")
    [Console]::Error.WriteLine('or take back what was done: each step of this file says how.')
  } else {
    [Console]::Error.WriteLine('Nothing was changed.')
  }
  exit $Code
}

# A data object of the vSphere API.
function New-Vim([string]$Type, [hashtable]$Members) {
  $object = New-Object "VMware.Vim.$Type"
  foreach ($name in $Members.Keys) { $object.$name = $Members[$name] }
  $object
}

function New-Reference([string]$Type, [string]$Id) {
  New-Vim ManagedObjectReference @{ Type = $Type; Value = $Id }
}

function Get-PlanVm([string]$Id) { Get-View -Id "VirtualMachine-$Id" }

function ConvertTo-Hex($Number) { '{0:x4}' -f ([int]$Number -band 0xffff) }

function Get-NetworkId($Backing) {
  if ($Backing.Network) { $Backing.Network.Value } elseif ($Backing.Port) { $Backing.Port.PortgroupKey }
}

# What a device is, in the words of the plan; nothing for a device that no plan changes.
function Get-BackingText($Device) {
  $backing = $Device.Backing
  if ($Device -is [VMware.Vim.VirtualSriovEthernetCard] -and -not $Device.DvxBackingInfo) {
    $port = $Device.SriovBacking.PhysicalFunctionBacking.Id
    $text = if (-not $port -or $port.StartsWith('Automatic')) { 'sriov any port' } else { "sriov $($port.ToLowerInvariant())" }
    $network = Get-NetworkId $backing
    if ($network) { "$text on $network" } else { $text }
    return
  }
  if ($Device.DvxBackingInfo) { $backing = $Device.DvxBackingInfo }
  elseif ($Device -isnot [VMware.Vim.VirtualPCIPassthrough]) { return }
  if ($backing -is [VMware.Vim.VirtualPCIPassthroughVmiopBackingInfo]) { "vgpu $($backing.Vgpu)" }
  elseif ($backing -is [VMware.Vim.VirtualPCIPassthroughDynamicBackingInfo]) {
    $allowed = foreach ($one in $backing.AllowedDevice) {
      $text = (ConvertTo-Hex $one.VendorId) + ':' + (ConvertTo-Hex $one.DeviceId)
      if ($null -ne $one.SubVendorId -or $null -ne $one.SubDeviceId) {
        foreach ($id in $one.SubVendorId, $one.SubDeviceId) {
          $text += if ($null -eq $id) { ':any' } else { ':' + (ConvertTo-Hex $id) }
        }
      }
      $text
    }
    $text = 'dynamic ' + ($allowed -join ',')
    if ($backing.CustomLabel) { "$text label $($backing.CustomLabel)" } else { $text }
  }
  elseif ($backing -is [VMware.Vim.VirtualPCIPassthroughDvxBackingInfo]) {
    $params = foreach ($one in $backing.ConfigParams) { " $($one.Key)=$($one.Value)" }
    "dvx $($backing.DeviceClass)" + ((@($params) | Sort-Object -CaseSensitive) -join '')
  }
  elseif ($backing -is [VMware.Vim.VirtualPCIPassthroughDeviceBackingInfo]) {
    $device = ('0000' + ($backing.DeviceId.ToLowerInvariant() -replace '^0x', ''))
    $device = $device.Substring($device.Length - 4)
    "static $($backing.Id.ToLowerInvariant()) $(ConvertTo-Hex $backing.VendorId):$device"
  }
}

function Get-DeviceTexts($Config) {
  $texts = foreach ($device in $Config.Hardware.Device) {
    $text = Get-BackingText $device
    if (-not $text) { continue }
    if ($device.DeviceGroupInfo) {
      $group = $Config.DeviceGroups.DeviceGroup |
        Where-Object { $_.GroupInstanceKey -eq $device.DeviceGroupInfo.GroupInstanceKey }
      $text += " in $($group.DeviceGroupName)"
    }
    if ($null -ne $device.NumaNode -and $device.NumaNode -ge 0) { $text += " vNUMA $($device.NumaNode)" }
    $text
  }
  $sorted = [string[]]@($texts | Where-Object { $_ })
  [Array]::Sort($sorted, [StringComparer]::Ordinal)
  , $sorted
}

function ConvertFrom-ApiName([string]$Name) {
  $Name -replace '%2f', '/' -replace '%5c', '\' -replace '%25', '%'
}

# What vCenter says of a VM, by the names of the plan.
function Get-VmFacts($Vm) {
  $config = $Vm.Config
  $hardware = $config.Hardware
  $numa = $config.NumaInfo
  $locked = [bool]$config.MemoryReservationLockedToMax
  $facts = @{
    name = ConvertFrom-ApiName $Vm.Name
    instance_uuid = $config.InstanceUuid
    host = $Vm.Runtime.Host.Value
    pool = $Vm.ResourcePool.Value
    power = "$($Vm.Runtime.PowerState)"
    connection = "$($Vm.Runtime.ConnectionState)"
    template = [bool]$config.Template
    hardware_version = [int]($config.Version -replace '^vmx-', '')
    firmware = $config.Firmware
    has_snapshots = $null -ne $Vm.Snapshot
    cpu_hot_add = $config.CpuHotAddEnabled
    cpus = $hardware.NumCPU
    cores_per_socket = if ($hardware.AutoCoresPerSocket) { $null } else { $hardware.NumCoresPerSocket }
    cores_per_numa_node = if ($numa.AutoCoresPerNumaNode -or -not $numa.CoresPerNumaNode) { $null } else { $numa.CoresPerNumaNode }
    vnuma_on_hot_add = $numa.VnumaOnCpuHotaddExposed
    memory_mib = $hardware.MemoryMB
    memory_locked_to_max = $locked
    memory_reserved_mib = if ($locked) { $hardware.MemoryMB } else { [long]$config.MemoryAllocation.Reservation }
    memory_limit_mib = if ($config.MemoryAllocation.Limit -ge 0) { $config.MemoryAllocation.Limit } else { $null }
    cpu_reservation_mhz = [long]$config.CpuAllocation.Reservation
    latency_sensitivity = if ($config.LatencySensitivity) { "$($config.LatencySensitivity.Level)" } else { 'normal' }
    cpu_affinity = @($config.CpuAffinity.AffinitySet | Where-Object { $null -ne $_ } | ForEach-Object { "$_" })
    devices = Get-DeviceTexts $config
  }
  foreach ($option in $config.ExtraConfig) {
    $facts["extra.$($option.Key.ToLowerInvariant())"] = if ("$($option.Value)" -eq '') { $null } else { "$($option.Value)" }
  }
  $facts
}

function Get-HostFacts($Esx) {
  @{
    uuid = $Esx.Hardware.SystemInfo.Uuid
    connection = "$($Esx.Runtime.ConnectionState)"
    power = "$($Esx.Runtime.PowerState)"
    maintenance = $Esx.Runtime.InMaintenanceMode
  }
}

function Show-Value($Value) {
  if ($null -eq $Value) { 'unset' }
  elseif ($Value -is [bool]) { if ($Value) { 'true' } else { 'false' } }
  elseif ($Value -is [array]) { '[' + ($Value -join '; ') + ']' }
  else { "$Value" }
}

function Compare-Facts([string]$Name, [hashtable]$Found, [hashtable]$Expected, [int]$Code, [string]$Words) {
  $different = foreach ($field in ($Expected.Keys | Sort-Object)) {
    $now = Show-Value $Found[$field]
    $want = Show-Value $Expected[$field]
    if ($now -cne $want) { "$field is $now, not $want" }
  }
  if ($different) { Stop-Plan "$Name ${Words}: $($different -join '; ')" $Code }
}

function Assert-Vm([string]$Name, [string]$Id, [hashtable]$Expected) {
  Compare-Facts $Name (Get-VmFacts (Get-PlanVm $Id)) $Expected $Stale 'is not as the plan expects'
}

function Assert-Host([string]$Name, [string]$Id, [hashtable]$Expected) {
  Compare-Facts $Name (Get-HostFacts (Get-View -Id "HostSystem-$Id")) $Expected $Stale 'is not as the plan expects'
}

function Confirm-Vm([string]$Name, [string]$Id, [hashtable]$Expected) {
  Compare-Facts $Name (Get-VmFacts (Get-PlanVm $Id)) $Expected 7 'was changed, and is not as it should be'
}

function Get-VmIdsByName([string]$Name) {
  Get-View -ViewType VirtualMachine -Property Name |
    Where-Object { (ConvertFrom-ApiName $_.Name) -ceq $Name } | ForEach-Object { $_.MoRef.Value }
}

function Assert-New([string]$Name) {
  if (Get-VmIdsByName $Name) { Stop-Plan "${Name}: there is a VM of this name already" $Stale }
}

$Made = @{}
function Get-MadeId([string]$Name) {
  if (-not $Made[$Name]) {
    $found = @(Get-VmIdsByName $Name)
    if ($found.Count -ne 1) { Stop-Plan "${Name}: there are $($found.Count) VMs of this name, not one" 7 }
    $Made[$Name] = $found[0]
  }
  $Made[$Name]
}

function Wait-PlanTask([string]$Name, $Reference) {
  $task = Get-View -Id $Reference -Property Info
  while ("$($task.Info.State)" -in 'queued', 'running') {
    Start-Sleep -Seconds 1
    $task.UpdateViewData('Info')
  }
  if ("$($task.Info.State)" -ne 'success') {
    Stop-Plan "${Name}: vCenter refused: $($task.Info.Error.LocalizedMessage)" 7
  }
  $task.Info.Result
}

function New-NetworkBacking([string]$Id) {
  if ($Id.StartsWith('dvportgroup-')) {
    $group = Get-View -Id "DistributedVirtualPortgroup-$Id"
    $switch = Get-View -Id $group.Config.DistributedVirtualSwitch
    $port = New-Vim DistributedVirtualSwitchPortConnection @{ SwitchUuid = $switch.Uuid; PortgroupKey = $Id }
    New-Vim VirtualEthernetCardDistributedVirtualPortBackingInfo @{ Port = $port }
  } else {
    $network = Get-View -Id "Network-$Id"
    New-Vim VirtualEthernetCardNetworkBackingInfo @{ DeviceName = $network.Name; Network = $network.MoRef }
  }
}

# What the VM's host offers to VMs.
function Get-PlanTarget($Vm) {
  $esx = Get-View -Id $Vm.Runtime.Host -Property Parent
  $compute = Get-View -Id $esx.Parent -Property EnvironmentBrowser
  (Get-View -Id $compute.EnvironmentBrowser).QueryConfigTarget($Vm.Runtime.Host)
}

function New-FunctionBacking($Vm, [string]$Address) {
  $target = Get-PlanTarget $Vm
  $found = @($target.Sriov) + @($target.PciPassthrough) |
    Where-Object { $_ -and $_.PciDevice.Id -eq $Address } | Select-Object -First 1
  if (-not $found) { Stop-Plan "the host does not offer $Address to VMs" 7 }
  New-Vim VirtualPCIPassthroughDeviceBackingInfo @{
    DeviceName = $found.PciDevice.DeviceName
    Id = $Address
    DeviceId = '{0:x}' -f ([int]$found.PciDevice.DeviceId -band 0xffff)
    SystemId = $found.SystemId
    VendorId = $found.PciDevice.VendorId
  }
}

function New-Change([string]$Operation, $Device) {
  New-Vim VirtualDeviceConfigSpec @{ Operation = $Operation; Device = $Device }
}

function Get-PlanDevice([string]$Name, $Vm, [int]$Key) {
  $found = $Vm.Config.Hardware.Device | Where-Object { $_.Key -eq $Key }
  if (-not $found) { Stop-Plan "${Name}: it has no device $Key any more" 7 }
  if ($found.Backing -is [VMware.Vim.VirtualPCIPassthroughDynamicBackingInfo]) { $found.Backing.AssignedId = $null }
  $found
}

# The members of a device group, copies of the templates that the host's driver gives.
function New-GroupChanges([string]$Name, $Vm, [string]$Group, [int]$Key, [hashtable[]]$Members) {
  $offered = (Get-PlanTarget $Vm).VendorDeviceGroupInfo | Where-Object { $_.DeviceGroupName -ceq $Group }
  if (-not $offered) { Stop-Plan "${Name}: its host does not offer the device group $Group" 7 }
  $components = @($offered.ComponentDeviceInfo)
  if ($components.Count -ne $Members.Count) { Stop-Plan "${Name}: $Group has $($components.Count) members, not $($Members.Count)" 7 }
  for ($position = 0; $position -lt $components.Count; $position++) {
    $device = $components[$position].Device
    $sequence = if ($device.DeviceGroupInfo) { $device.DeviceGroupInfo.SequenceId } else { $position }
    $member = $Members | Where-Object { $_.Sequence -eq $sequence }
    if (-not $member) { Stop-Plan "${Name}: $Group has a member $sequence that the plan does not know" 7 }
    $device.Key = $Key - 1 - $position
    $device.DeviceGroupInfo = New-Vim VirtualDeviceDeviceGroupInfo @{ GroupInstanceKey = $Key; SequenceId = $sequence }
    if ($null -ne $member.NumaNode) { $device.NumaNode = $member.NumaNode }
    if ($member.Network) { $device.Backing = New-NetworkBacking $member.Network }
    New-Change add $device
  }
}

function Invoke-Reconfigure([string]$Name, $Vm, $Spec) {
  $Spec.ChangeVersion = $Vm.Config.ChangeVersion
  Wait-PlanTask $Name ($Vm.ReconfigVM_Task($Spec)) | Out-Null
}

function Stop-PlanVm([string]$Name, [string]$Id) {
  $vm = Get-PlanVm $Id
  try { $vm.ShutdownGuest() } catch { Write-Warning "${Name}: the guest cannot be asked to shut down: $_" }
  $end = (Get-Date).AddSeconds($ShutdownSeconds)
  while ("$($vm.Runtime.PowerState)" -ne 'poweredOff' -and (Get-Date) -lt $end) {
    Start-Sleep -Seconds 5
    $vm.UpdateViewData('Runtime')
  }
  if ("$($vm.Runtime.PowerState)" -ne 'poweredOff') {
    if (-not $AllowHardPowerOff) {
      Stop-Plan "${Name}: the guest did not shut down; -AllowHardPowerOff switches it off at once" 7
    }
    Wait-PlanTask $Name ($vm.PowerOffVM_Task()) | Out-Null
  }
}

function Start-PlanVm([string]$Name, [string]$Id, [string]$HostId) {
  $vm = Get-PlanVm $Id
  Wait-PlanTask $Name ($vm.PowerOnVM_Task((New-Reference HostSystem $HostId))) | Out-Null
  $vm.UpdateViewData('Runtime')
  if ($vm.Runtime.Host.Value -ne $HostId) { Stop-Plan "$Name was switched on elsewhere, at $($vm.Runtime.Host.Value)" 7 }
}

function New-PlanClone([string]$Name, [string]$ApiName, [string]$Template, [string]$HostId, [string]$PoolId, [string]$StoreId) {
  $source = Get-PlanVm $Template
  $where = New-Vim VirtualMachineRelocateSpec @{ Host = (New-Reference HostSystem $HostId) }
  if ($PoolId) { $where.Pool = New-Reference ResourcePool $PoolId }
  else {
    $esx = Get-View -Id "HostSystem-$HostId" -Property Parent
    $where.Pool = (Get-View -Id $esx.Parent -Property ResourcePool).ResourcePool
  }
  if ($StoreId) { $where.Datastore = New-Reference Datastore $StoreId }
  $spec = New-Vim VirtualMachineCloneSpec @{ Location = $where; PowerOn = $false; Template = $false }
  $made = Wait-PlanTask $Name ($source.CloneVM_Task($source.Parent, $ApiName, $spec))
  $Made[$Name] = $made.Value
}

function Move-PlanVm([string]$Name, [string]$Id, [string]$HostId, [string]$PoolId) {
  $spec = New-Vim VirtualMachineRelocateSpec @{ Host = (New-Reference HostSystem $HostId) }
  if ($PoolId) { $spec.Pool = New-Reference ResourcePool $PoolId }
  Wait-PlanTask $Name ((Get-PlanVm $Id).RelocateVM_Task($spec, 'defaultPriority')) | Out-Null
}

function Get-PlanOverride($Cluster, [string]$Id) {
  $found = $Cluster.ConfigurationEx.DrsVmConfig | Where-Object { $_.Key.Value -eq $Id }
  if (-not $found) { $null } elseif ($found.Enabled -eq $false) { 'disabled' } else { "$($found.Behavior)" }
}

function Set-PlanOverride([string]$Name, [string]$Id, [string]$ClusterId, $Before, $After) {
  $cluster = Get-View -Id "ClusterComputeResource-$ClusterId"
  $now = Get-PlanOverride $cluster $Id
  if ((Show-Value $now) -ne (Show-Value $Before)) {
    Stop-Plan "${Name}: its own DRS level is $(Show-Value $now), not $(Show-Value $Before)" $Stale
  }
  $vm = New-Reference VirtualMachine $Id
  if ($null -eq $After) { $entry = New-Vim ClusterDrsVmConfigSpec @{ Operation = 'remove'; RemoveKey = $vm } }
  else {
    $info = New-Vim ClusterDrsVmConfigInfo @{ Key = $vm; Enabled = ($After -ne 'disabled') }
    if ($After -ne 'disabled') { $info.Behavior = $After }
    $operation = if ($null -eq $now) { 'add' } else { 'edit' }
    $entry = New-Vim ClusterDrsVmConfigSpec @{ Operation = $operation; Info = $info }
  }
  $spec = New-Vim ClusterConfigSpecEx @{ DrsVmConfigSpec = @($entry) }
  Wait-PlanTask $Name ($cluster.ReconfigureComputeResource_Task($spec, $true)) | Out-Null
  $cluster.UpdateViewData('ConfigurationEx')
  $now = Get-PlanOverride $cluster $Id
  if ((Show-Value $now) -ne (Show-Value $After)) { Stop-Plan "${Name}: its own DRS level was set, and is $(Show-Value $now)" 7 }
}

# All that is compared before the first change.
function Compare-All {
  Assert-Host 'esx1' 'host-1001' @{
      'connection' = 'connected'
      'maintenance' = $false
      'power' = 'poweredOn'
      'uuid' = '141fc0f9-59f5-5d67-afd8-de7794a6facc'
    }
  Assert-Vm 'train' 'vm-2001' @{
      'connection' = 'connected'
      'cores_per_numa_node' = $null
      'cores_per_socket' = $null
      'cpu_affinity' = @()
      'cpu_hot_add' = $false
      'cpu_reservation_mhz' = 0
      'cpus' = 16
      'devices' = @('dynamic 10de:20b7', 'dynamic 10de:20b7')
      'extra.numa.nodeaffinity' = $null
      'extra.numa.vcpu.maxpervirtualnode' = $null
      'extra.numa.vcpu.preferht' = $null
      'extra.pcipassthru.64bitmmiosizegb' = $null
      'extra.pcipassthru.use64bitmmio' = $null
      'firmware' = 'efi'
      'hardware_version' = 21
      'has_snapshots' = $false
      'host' = 'host-1001'
      'instance_uuid' = '2b0267cb-9056-54d8-b4c2-7e8bd52752f9'
      'latency_sensitivity' = 'normal'
      'memory_limit_mib' = $null
      'memory_locked_to_max' = $true
      'memory_mib' = 131072
      'memory_reserved_mib' = 131072
      'pool' = 'resgroup-9'
      'power' = 'poweredOn'
      'template' = $false
      'vnuma_on_hot_add' = $false
    }
}

# Step 1: switch train off
# Undo:
#   Start-PlanVm 'train' 'vm-2001' 'host-1001'
function Invoke-Step1 {
  Assert-Vm 'train' 'vm-2001' @{
    'power' = 'poweredOn'
  }
  Stop-PlanVm 'train' 'vm-2001'
  Confirm-Vm 'train' 'vm-2001' @{
    'power' = 'poweredOff'
  }
}

# Step 2: reconfigure train: 5 settings; devices: 2 removed, 3 added (after 1)
# Undo: `vplacer rollback`, or these lines, and take away by hand the devices it added:
#   $vm = Get-PlanVm 'vm-2001'
#   $spec = New-Object VMware.Vim.VirtualMachineConfigSpec
#   $spec.NumCoresPerSocket = 0
#   $spec.VirtualNuma = (New-Vim VirtualMachineVirtualNuma @{
#     CoresPerNumaNode = 0
#   })
#   $spec.ExtraConfig = @(
#     (New-Vim OptionValue @{
#       Key = 'numa.nodeAffinity'
#       Value = ''
#     }),
#     (New-Vim OptionValue @{
#       Key = 'pciPassthru.use64bitMMIO'
#       Value = ''
#     }),
#     (New-Vim OptionValue @{
#       Key = 'pciPassthru.64bitMMIOSizeGB'
#       Value = ''
#     })
#   )
#   $changes = @()
#   # device 13000
#   $device = (New-Vim VirtualPCIPassthrough @{
#     Key = -1
#     Backing = (New-Vim VirtualPCIPassthroughDynamicBackingInfo @{
#       DeviceName = ''
#       AllowedDevice = @(
#         (New-Vim VirtualPCIPassthroughAllowedDevice @{
#           VendorId = 4318
#           DeviceId = 8375
#         })
#       )
#     })
#   })
#   $changes += New-Change add $device
#   # device 13001
#   $device = (New-Vim VirtualPCIPassthrough @{
#     Key = -2
#     Backing = (New-Vim VirtualPCIPassthroughDynamicBackingInfo @{
#       DeviceName = ''
#       AllowedDevice = @(
#         (New-Vim VirtualPCIPassthroughAllowedDevice @{
#           VendorId = 4318
#           DeviceId = 8375
#         })
#       )
#     })
#   })
#   $changes += New-Change add $device
#   $spec.DeviceChange = $changes
#   Invoke-Reconfigure 'train' $vm $spec
function Invoke-Step2 {
  Assert-Vm 'train' 'vm-2001' @{
    'cores_per_numa_node' = $null
    'cores_per_socket' = $null
    'devices' = @('dynamic 10de:20b7', 'dynamic 10de:20b7')
    'extra.numa.nodeaffinity' = $null
    'extra.pcipassthru.64bitmmiosizegb' = $null
    'extra.pcipassthru.use64bitmmio' = $null
    'power' = 'poweredOff'
  }
  $vm = Get-PlanVm 'vm-2001'
  $spec = New-Object VMware.Vim.VirtualMachineConfigSpec
  $spec.NumCoresPerSocket = 16
  $spec.VirtualNuma = (New-Vim VirtualMachineVirtualNuma @{
    CoresPerNumaNode = 16
  })
  $spec.ExtraConfig = @(
    (New-Vim OptionValue @{
      Key = 'numa.nodeAffinity'
      Value = '1'
    }),
    (New-Vim OptionValue @{
      Key = 'pciPassthru.use64bitMMIO'
      Value = 'TRUE'
    }),
    (New-Vim OptionValue @{
      Key = 'pciPassthru.64bitMMIOSizeGB'
      Value = '128'
    })
  )
  $changes = @()
  $changes += New-Change remove (Get-PlanDevice 'train' $vm 13000)
  $changes += New-Change remove (Get-PlanDevice 'train' $vm 13001)
  # gpu0
  $device = (New-Vim VirtualPCIPassthrough @{
    Key = -1
    Backing = (New-Vim VirtualPCIPassthroughDeviceBackingInfo @{
      DeviceName = 'GA100GL [A30 PCIe]'
      Id = '0000:4b:00.0'
      DeviceId = '20b7'
      SystemId = 'ea75cc1a-d068-5f5b-8aed-be8993744848'
      VendorId = 4318
    })
  })
  $changes += New-Change add $device
  # gpu1
  $device = (New-Vim VirtualPCIPassthrough @{
    Key = -2
    Backing = (New-Vim VirtualPCIPassthroughDeviceBackingInfo @{
      DeviceName = 'GA100GL [A30 PCIe]'
      Id = '0000:65:00.0'
      DeviceId = '20b7'
      SystemId = 'ea75cc1a-d068-5f5b-8aed-be8993744848'
      VendorId = 4318
    })
  })
  $changes += New-Change add $device
  # nic0
  $device = (New-Vim VirtualPCIPassthrough @{
    Key = -3
    Backing = (New-Vim VirtualPCIPassthroughDeviceBackingInfo @{
      DeviceName = 'MT2892 Family [ConnectX-6 Dx]'
      Id = '0000:66:00.0'
      DeviceId = '101d'
      SystemId = 'ea75cc1a-d068-5f5b-8aed-be8993744848'
      VendorId = 5555
    })
  })
  $changes += New-Change add $device
  $spec.DeviceChange = $changes
  Invoke-Reconfigure 'train' $vm $spec
  Confirm-Vm 'train' 'vm-2001' @{
    'cores_per_numa_node' = 16
    'cores_per_socket' = 16
    'devices' = @('static 0000:4b:00.0 10de:20b7', 'static 0000:65:00.0 10de:20b7', 'static 0000:66:00.0 15b3:101d')
    'extra.numa.nodeaffinity' = '1'
    'extra.pcipassthru.64bitmmiosizegb' = '128'
    'extra.pcipassthru.use64bitmmio' = 'TRUE'
  }
}

# Step 3: switch train on at esx1 (after 2)
# Undo:
#   Stop-PlanVm 'train' 'vm-2001'
function Invoke-Step3 {
  Assert-Vm 'train' 'vm-2001' @{
    'power' = 'poweredOff'
  }
  Start-PlanVm 'train' 'vm-2001' 'host-1001'
  Confirm-Vm 'train' 'vm-2001' @{
    'power' = 'poweredOn'
  }
}

$Stale = 6
function Stop-Usage([string]$Message) {
  [Console]::Error.WriteLine($Message)
  exit 3
}
if (-not $global:DefaultVIServer) { Stop-Usage 'No connection: Connect-VIServer first.' }
if (-not $Check) {
  if ($NeedsPowerCycle -and -not $AllowPowerCycle) { Stop-Usage 'VMs that run would be switched off: -AllowPowerCycle' }
  if ($NeedsMigration -and -not $AllowMigration) { Stop-Usage 'VMs would change their host: -AllowMigration' }
  if ($NeedsHwUpgrade -and -not $AllowHwUpgrade) { Stop-Usage 'virtual hardware would be upgraded: -AllowHwUpgrade' }
  if ($NeedsHardPowerOff -and -not $AllowHardPowerOff) { Stop-Usage 'the suspended memory of VMs would be given up: -AllowHardPowerOff' }
}
$uuid = (Get-View ServiceInstance).Content.About.InstanceUuid
if ($uuid -ne $InstanceUuid) { Stop-Plan "this is the vCenter $uuid, not $InstanceUuid" 6 }
if ($From -eq 1) { Compare-All }
if ($Check) {
  Write-Output 'All is as the plan expects; nothing was changed.'
  exit 0
}
for ($script:Step = $From; $script:Step -le $Total; $script:Step++) {
  if ($script:Step -gt 1) { $Stale = 7 }
  & "Invoke-Step$script:Step"
  Write-Output "step $script:Step of $Total done"
}
Write-Output 'All steps are done.'
