// Package apptest runs the whole of an application in a test's process, over real stores, each behind a link that can
// be cut.
package apptest

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"loadstone.dev/stone/platform/accounts"
	"loadstone.dev/stone/platform/config"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/servertest"
	"loadstone.dev/stone/platform/service"
	"loadstone.dev/stone/platform/thriftrpc"
)

func init() { accounts.Cost = accounts.SeedCost }

// Secret is the deployment's secret.
const Secret = "the secret of the tests"

// App is an application that runs until its test ends.
type App struct {
	// Links are the ways to the stores: "documents" (the one that all services share) and, by the names of needs,
	// caches and Redis servers, such as "memcached-user".
	Links     map[string]*Link
	Documents string // URL of the document store, through its link
	Profile   string

	more     map[string]map[string]string
	traces   string
	t        testing.TB
	name     string
	services map[string]service.Definition
	replicas map[string][]*Replica
}

// Start starts stores and services and does not wait for them. store is servertest.Postgres or servertest.Mongo; a need
// that begins with "memcached-" or "redis-" is a store, every other one is a service. Services run in one replica, but
// for those that are named as twins: they run in two.
func Start(t testing.TB, name string, services map[string]service.Definition, profile string, store func(testing.TB) string, twins ...string) *App {
	t.Helper()
	return StartTraced(t, "", name, services, profile, store, twins...)
}

// StartTraced is Start of services that send spans of every request to a collector, host:port. The replicas of "rate" call
// themselves rate-1 and rate-2.
func StartTraced(t testing.TB, collector, name string, services map[string]service.Definition, profile string, store func(testing.TB) string, twins ...string) *App {
	t.Helper()
	return StartSet(t, nil, collector, name, services, profile, store, twins...)
}

// StartSet is StartTraced of services with more variables, by service.
func StartSet(t testing.TB, more map[string]map[string]string, collector, name string, services map[string]service.Definition, profile string, store func(testing.TB) string, twins ...string) *App {
	t.Helper()
	address, err := url.Parse(store(t))
	if err != nil {
		t.Fatal(err)
	}
	a := &App{
		Links: map[string]*Link{"documents": newLink(t, address.Host)}, Profile: profile,
		more: more, traces: collector, t: t, name: name, services: services, replicas: make(map[string][]*Replica),
	}
	address.Host = a.Links["documents"].Address
	a.Documents = address.String()
	for name, definition := range services {
		a.replicas[name] = []*Replica{newReplica(a, name, 1)}
		if slices.Contains(twins, name) {
			a.replicas[name] = append(a.replicas[name], newReplica(a, name, 2))
		}
		for _, need := range definition.Needs {
			a.openStore(need)
		}
	}
	for _, replicas := range a.replicas {
		for _, one := range replicas {
			one.Start()
		}
	}
	return a
}

func (a *App) openStore(need string) {
	kind, _, _ := strings.Cut(need, "-")
	start := map[string]func(testing.TB) string{"memcached": servertest.Memcached, "redis": servertest.Redis}[kind]
	if start != nil && a.Links[need] == nil {
		a.Links[need] = newLink(a.t, start(a.t))
	}
}

// Replicas are all of a service: one, or two if it is named as a twin.
func (a *App) Replicas(name string) []*Replica { return a.replicas[name] }

// Replica is the first replica of a service, or the twin (1).
func (a *App) Replica(name string, twin ...int) *Replica {
	a.t.Helper()
	replicas := a.replicas[name]
	number := 0
	if len(twin) > 0 {
		number = twin[0]
	}
	if number >= len(replicas) {
		a.t.Fatalf("%s has %d replicas", name, len(replicas))
	}
	return replicas[number]
}

// URL is what the addresses of a service that speaks HTTP begin with.
func (a *App) URL(name string) string { return "http://" + a.Replica(name).Listen }

// WaitReady waits until every replica says that it is ready.
func (a *App) WaitReady() {
	a.t.Helper()
	for _, replicas := range a.replicas {
		for _, one := range replicas {
			one.WaitReady()
		}
	}
}

// Thrift is a client of a service's replicas. It waits a minute for an answer: a slow machine makes a slow test.
func (a *App) Thrift(name string) thrift.TClient {
	a.t.Helper()
	client, err := thriftrpc.Dial(name, a.addresses(name)...)
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(client.Close)
	return patient{client}
}

type patient struct{ thrift.TClient }

func (p patient) Call(ctx context.Context, method string, arguments, result thrift.TStruct) (thrift.ResponseMeta, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return p.TClient.Call(ctx, method, arguments, result)
}

// Store is a client of the document store.
func (a *App) Store() documents.Store {
	a.t.Helper()
	store, err := documents.Open(context.Background(), a.Documents)
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { _ = store.Close(context.Background()) })
	return store
}

// addresses are those of a service or a store.
func (a *App) addresses(need string) []string {
	if link := a.Links[need]; link != nil {
		return []string{link.Address}
	}
	var addresses []string
	for _, one := range a.replicas[need] {
		addresses = append(addresses, one.Listen)
	}
	return addresses
}

// environment is what a replica is started with.
func (a *App) environment(one *Replica) map[string]string {
	environment := map[string]string{
		"STONE_LISTEN": one.Listen, "STONE_ADMIN": one.Admin, "STONE_PROFILE": a.Profile,
		"STONE_DOCUMENTS": a.Documents, "STONE_SECRET": Secret,
		"STONE_TRACES": a.traces, "STONE_TRACES_INTERVAL": "20ms", "STONE_REPLICA": fmt.Sprintf("%s-%d", one.service, one.number),
	}
	for _, need := range a.services[one.service].Needs {
		environment[config.Variable(need)] = strings.Join(a.addresses(need), ",")
	}
	maps.Copy(environment, a.more[one.service])
	return environment
}

// Eventually waits until something holds; a slow machine waits longer, but not for ever.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}
