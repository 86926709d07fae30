package main

import (
	"flag"
	"os"
	"slices"

	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/loadbalance"
	_ "github.com/coredns/coredns/plugin/log"
	_ "github.com/coredns/coredns/plugin/metrics"
	_ "github.com/coredns/coredns/plugin/ready"
)

// coredns answers for the names of services, with the plugins that a cluster needs, in the order of CoreDNS's own plugin.cfg:
// loadbalance before cache, so that answers out of the cache are shuffled as well.
func coredns() {
	dnsserver.Directives = []string{
		"bind", "ready", "health", "prometheus", "errors", "log", "loadbalance", "cache", "kubernetes", "forward",
	}
	coremain.Run()
}

// forgetFlagsOfCoreDNS takes out of Go's global flags those that CoreDNS puts there as it is loaded: the other programs offer
// the global flags as their own, and kube-proxy would take --version for CoreDNS's and start.
func forgetFlagsOfCoreDNS() {
	names := []string{"conf", "dns.port", "p", "pidfile", "plugins", "quiet", "version"}
	all := flag.CommandLine
	flag.CommandLine = flag.NewFlagSet(os.Args[0], flag.ExitOnError)
	all.VisitAll(func(each *flag.Flag) {
		if !slices.Contains(names, each.Name) {
			flag.CommandLine.Var(each.Value, each.Name, each.Usage)
		}
	})
}
