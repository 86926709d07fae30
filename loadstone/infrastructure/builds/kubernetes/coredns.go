package main

import (
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
