// Command kubernetes holds every program of a Kubernetes cluster. It is the one that it is called as (by a symbolic link) or
// that its first argument names: "kubernetes kubelet --config kubelet.yaml".
package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	_ "time/tzdata" // time zones of CronJobs, on hosts that have no tzdata

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // ways of authentication that a kubeconfig may name
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // the client's metrics at /metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // the version at /metrics
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	manager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubeadm "k8s.io/kubernetes/cmd/kubeadm/app"
	kubeadmutil "k8s.io/kubernetes/cmd/kubeadm/app/util"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

var programs = map[string]func(){
	"coredns":                 coredns,
	"etcd":                    func() { etcdmain.Main(os.Args) },
	"kube-apiserver":          func() { serve(apiserver.NewAPIServerCommand()) },
	"kube-controller-manager": func() { serve(manager.NewControllerManagerCommand()) },
	"kube-proxy":              func() { serve(proxy.NewProxyCommand()) },
	"kube-scheduler":          func() { serve(scheduler.NewSchedulerCommand()) },
	"kubeadm":                 func() { kubeadmutil.CheckErr(kubeadm.Run()) },
	"kubectl":                 func() { kubectlutil.CheckErr(cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand())) },
	"kubelet":                 func() { serve(kubelet.NewKubeletCommand()) },
}

func serve(command *cobra.Command) { os.Exit(cli.Run(command)) }

func main() {
	run, known := programs[filepath.Base(os.Args[0])]
	if !known && len(os.Args) > 1 {
		os.Args = os.Args[1:] // each program reads its own arguments from here
		run, known = programs[filepath.Base(os.Args[0])]
	}
	if !known {
		all := slices.Sorted(maps.Keys(programs))
		fmt.Fprintf(os.Stderr, "usage: kubernetes PROGRAM ARGUMENTS, where PROGRAM is one of %s\n", strings.Join(all, ", "))
		os.Exit(2)
	}
	if filepath.Base(os.Args[0]) != "coredns" {
		forgetFlagsOfCoreDNS()
	}
	run()
}
