// Command vcsim serves govmomi's vCenter simulator, unmodified, on loopback.
//
// When it is ready it prints one line, "export GOVC_URL=https://user:pass@127.0.0.1:PORT/sdk". It
// stops on SIGINT or SIGTERM, and with -stdinexit when its standard input ends.
package main

import (
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/vmware/govmomi/simulator"
	_ "github.com/vmware/govmomi/vapi/simulator" // registers sessions and tags of the REST API
)

type options struct {
	listen, load, apiVersion, username, password, methodDelay string
	tls, stdinExit, trace                                     bool
	clusters, hosts, machines                                 int
}

func main() {
	if err := run(parse()); err != nil {
		fmt.Fprintln(os.Stderr, "vcsim:", err)
		os.Exit(1)
	}
}

func parse() options {
	var o options
	flag.StringVar(&o.listen, "l", "127.0.0.1:0", "listen on this `address`; port 0 takes a free one")
	flag.StringVar(&o.load, "load", "", "load the inventory from the *.xml files of this `folder`")
	flag.StringVar(&o.apiVersion, "api-version", "", "announce this API `version` (not with a loaded ServiceInstance)")
	flag.StringVar(&o.username, "username", "", "accept this `user` alone; otherwise any")
	flag.StringVar(&o.password, "password", "", "password of that user")
	flag.StringVar(&o.methodDelay, "method-delay", "", "delay methods or tasks: `Name:ms,...`")
	flag.BoolVar(&o.tls, "tls", true, "serve https, with govmomi's own certificate")
	flag.BoolVar(&o.stdinExit, "stdinexit", false, "stop when standard input ends")
	flag.BoolVar(&o.trace, "trace", false, "print each message on standard error")
	flag.IntVar(&o.clusters, "cluster", 1, "`number` of clusters, unless loaded")
	flag.IntVar(&o.hosts, "host", 3, "`number` of hosts in each cluster, unless loaded")
	flag.IntVar(&o.machines, "vm", 2, "`number` of VMs in each resource pool, unless loaded")
	flag.Parse()
	return o
}

func run(o options) error {
	delays, err := parseDelays(o.methodDelay)
	if err != nil {
		return err
	}
	inventory, err := checkInventory(o.load)
	if err != nil {
		return err
	}
	leave, err := enterScratchFolder()
	if err != nil {
		return err
	}
	defer leave()

	model := simulator.VPX()
	model.Cluster, model.ClusterHost, model.Machine = o.clusters, o.hosts, o.machines
	model.DelayConfig.MethodDelay = delays
	simulator.TaskDelay.MethodDelay = delays
	simulator.Trace = o.trace
	if o.apiVersion != "" {
		model.ServiceContent.About.ApiVersion = o.apiVersion
	}
	if inventory == "" {
		err = model.Create()
	} else {
		err = model.Load(inventory)
	}
	if err != nil {
		return err
	}
	defer model.Remove()

	service := model.Service
	service.RegisterEndpoints = true
	service.Listen = &url.URL{Host: o.listen}
	if o.username != "" {
		service.Listen.User = url.UserPassword(o.username, o.password)
	}
	if o.tls {
		service.TLS = &tls.Config{}
	}
	stop := stopSignal(o.stdinExit)
	server := service.NewServer()
	fmt.Printf("export GOVC_URL=%s\n", server.URL)
	<-stop
	return nil
}

// parseDelays reads "Name:ms,Name:ms".
func parseDelays(text string) (map[string]int, error) {
	delays := map[string]int{}
	if text == "" {
		return delays, nil
	}
	for _, item := range strings.Split(text, ",") {
		name, value, found := strings.Cut(item, ":")
		ms, err := strconv.Atoi(value)
		if !found || err != nil {
			return nil, fmt.Errorf("-method-delay: %q is not Name:milliseconds", item)
		}
		delays[name] = ms
	}
	return delays, nil
}

// checkInventory returns the absolute path of a folder to load; an empty name is none.
// The simulator panics on a folder without inventory files.
func checkInventory(folder string) (string, error) {
	if folder == "" {
		return "", nil
	}
	path, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	files, err := filepath.Glob(filepath.Join(path, "*.xml"))
	if err != nil {
		return "", err
	}
	if len(files) == 0 {
		return "", errors.New("-load: no *.xml in " + path)
	}
	return path, nil
}

// enterScratchFolder changes to a new temporary folder and returns what removes it again.
// The simulator makes a folder for each loaded datastore below the working directory and cannot
// start where one of an earlier run is left.
func enterScratchFolder() (func(), error) {
	folder, err := os.MkdirTemp("", "vcsim-")
	if err != nil {
		return nil, err
	}
	return func() { os.RemoveAll(folder) }, os.Chdir(folder)
}

// stopSignal returns a channel that delivers once the program is to end.
func stopSignal(withStdin bool) <-chan os.Signal {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	if withStdin {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			stop <- syscall.SIGTERM
		}()
	}
	return stop
}
