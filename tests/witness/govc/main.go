// Command govc is the govmomi command line, unmodified, with the commands that the tests call.
//
// It reads the simulated vCenter with other code than vplacer's own, so a mistake that the two ends
// of vplacer share shows here.
package main

import (
	"os"

	"github.com/vmware/govmomi/cli"

	_ "github.com/vmware/govmomi/cli/about"
	_ "github.com/vmware/govmomi/cli/cluster/group"
	_ "github.com/vmware/govmomi/cli/cluster/override"
	_ "github.com/vmware/govmomi/cli/cluster/rule"
	_ "github.com/vmware/govmomi/cli/device"
	_ "github.com/vmware/govmomi/cli/device/pci"
	_ "github.com/vmware/govmomi/cli/events"
	_ "github.com/vmware/govmomi/cli/gpu"
	_ "github.com/vmware/govmomi/cli/host"
	_ "github.com/vmware/govmomi/cli/host/esxcli"
	_ "github.com/vmware/govmomi/cli/object"
	_ "github.com/vmware/govmomi/cli/task"
	_ "github.com/vmware/govmomi/cli/vm"
	_ "github.com/vmware/govmomi/cli/vm/check"
	_ "github.com/vmware/govmomi/cli/vm/network"
)

func main() {
	os.Exit(cli.Run(os.Args[1:]))
}
