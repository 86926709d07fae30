package hotel_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"loadstone.dev/stone/apps/hotel"
	"loadstone.dev/stone/apps/hotel/data"
	"loadstone.dev/stone/platform/config"
	"loadstone.dev/stone/platform/seeding"
	"loadstone.dev/stone/platform/servertest"
	"loadstone.dev/stone/platform/service"
)

// app is the whole of Hotel Reservation in this process, with two replicas of reservation, over real
// stores, each behind a link that can be cut.
type app struct {
	t         *testing.T
	profile   string
	traces    string
	store     *link
	documents string // URL, through the link
	caches    map[string]*link
	replicas  map[string][]*replica
}

// replica is one running service.
type replica struct {
	listen, admin string
	stop          context.CancelFunc
	exit          chan int
	log           *syncBuffer
}

// startApp starts stores, caches and services, in the wrong order, and seeds the stores.
func startApp(t *testing.T, profile string, store func(testing.TB) string, collector ...string) *app {
	t.Helper()
	a := startUnseeded(t, profile, store, collector...)
	a.seed(seeding.Fill)
	a.waitReady()
	return a
}

// startUnseeded may name a collector, host:port, which is then sent spans.
func startUnseeded(t *testing.T, profile string, store func(testing.TB) string, collector ...string) *app {
	t.Helper()
	address, err := url.Parse(store(t))
	if err != nil {
		t.Fatal(err)
	}
	a := &app{t: t, profile: profile, traces: strings.Join(collector, ""), caches: make(map[string]*link), replicas: make(map[string][]*replica)}
	a.store = newLink(t, address.Host)
	address.Host = a.store.address
	a.documents = address.String()
	for _, name := range []string{"memcached-rate", "memcached-profile", "memcached-reserve", "memcached-review"} {
		a.caches[name] = newLink(t, servertest.Memcached(t))
	}
	for name := range hotel.Services {
		a.replicas[name] = []*replica{newReplica(t)}
	}
	a.replicas["reservation"] = append(a.replicas["reservation"], newReplica(t))
	for name := range hotel.Services {
		for _, one := range a.replicas[name] {
			a.run(name, one)
		}
	}
	return a
}

func newReplica(t *testing.T) *replica {
	return &replica{listen: servertest.FreeAddress(t), admin: servertest.FreeAddress(t)}
}

// run starts a replica, for the first time or again.
func (a *app) run(name string, one *replica) {
	environment := map[string]string{
		"STONE_LISTEN": one.listen, "STONE_ADMIN": one.admin, "STONE_PROFILE": a.profile,
		"STONE_DOCUMENTS": a.documents, "STONE_TRACES": a.traces, "STONE_TRACES_INTERVAL": "20ms", "STONE_REPLICA": one.listen,
	}
	for _, need := range hotel.Services[name].Needs {
		var addresses []string
		for _, replica := range a.replicas[need] {
			addresses = append(addresses, replica.listen)
		}
		if cache, is := a.caches[need]; is {
			addresses = []string{cache.address}
		}
		environment[config.Variable(need)] = strings.Join(addresses, ",")
	}
	ctx, stop := context.WithCancel(context.Background())
	exit, log := make(chan int, 1), &syncBuffer{}
	one.stop, one.exit, one.log = stop, exit, log
	go func() {
		exit <- service.Run(ctx, "hotel/"+name, hotel.Services[name], func(v string) string { return environment[v] }, log)
	}()
	a.t.Cleanup(func() {
		stop()
		select {
		case <-exit:
		case <-time.After(time.Minute):
			a.t.Errorf("%s does not stop", name)
		}
	})
}

// halt stops a replica and returns its exit code.
func (one *replica) halt() int {
	one.stop()
	code := <-one.exit
	one.exit <- code // for the clean-up
	return code
}

func (a *app) plan() seeding.Plan {
	plan := seeding.Plan{Stores: make(map[string]string), Caches: make(map[string]string), Profile: a.profile}
	for _, name := range []string{"geo", "profile", "rate", "recommendation", "reservation", "user", "review", "attractions"} {
		plan.Stores["documents-"+name] = a.documents
	}
	for name, cache := range a.caches {
		plan.Caches[name] = cache.address
	}
	return plan
}

func (a *app) seed(mode seeding.Mode) seeding.Result {
	a.t.Helper()
	seed, err := data.New(a.profile)
	if err != nil {
		a.t.Fatal(err)
	}
	result, err := seeding.Run(a.t.Context(), a.plan(), seed, mode)
	if err != nil {
		a.t.Fatal(err)
	}
	return result
}

// reservations is how many reservations the store holds.
func (a *app) reservations() int {
	a.t.Helper()
	for _, row := range a.seed(seeding.Count).Stores {
		if row.Collection == "reservation" {
			return row.Have
		}
	}
	a.t.Fatal("no collection reservation")
	return 0
}

// wantAgreement compares stays and counted rooms.
func (a *app) wantAgreement() {
	a.t.Helper()
	result := a.seed(seeding.Check)
	if len(result.Rows) != 3 || !result.OK {
		a.t.Errorf("the stores do not agree: %+v", result.Rows)
	}
}

func (a *app) waitReady() {
	a.t.Helper()
	for name, replicas := range a.replicas {
		for _, one := range replicas {
			eventually(a.t, name+" is ready", func() bool {
				status, _ := fetch(a.t, "http://"+one.admin+"/readyz")
				return status == http.StatusOK
			})
		}
	}
}

// answer is the front end's.
type answer struct {
	status int
	header http.Header
	body   string
}

// get queries the front end; parameters are "name=value", encoded here.
func (a *app) get(path string, parameters ...string) answer {
	a.t.Helper()
	return a.ask(http.MethodGet, path, parameters...)
}

func (a *app) ask(method, path string, parameters ...string) answer {
	a.t.Helper()
	query := make(url.Values)
	for _, parameter := range parameters {
		name, value, _ := strings.Cut(parameter, "=")
		query.Add(name, value)
	}
	request, err := http.NewRequestWithContext(a.t.Context(), method,
		"http://"+a.replicas["frontend"][0].listen+path+"?"+query.Encode(), nil)
	if err != nil {
		a.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		a.t.Error(err)
		return answer{}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		a.t.Error(err)
	}
	return answer{response.StatusCode, response.Header, string(body)}
}

// fetch returns status 0 if there is no answer.
func fetch(t *testing.T, address string) (int, string) {
	t.Helper()
	response, err := http.Get(address)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(body)
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// link passes bytes on to a server, until it is cut.
type link struct {
	t               *testing.T
	address, server string
	mutex           sync.Mutex
	listener        net.Listener
	connections     []net.Conn
}

func newLink(t *testing.T, server string) *link {
	l := &link{t: t, address: servertest.FreeAddress(t), server: server}
	l.mend()
	t.Cleanup(l.cut)
	return l
}

func (l *link) mend() {
	listener, err := net.Listen("tcp", l.address)
	if err != nil {
		l.t.Fatal(err)
	}
	l.mutex.Lock()
	l.listener = listener
	l.mutex.Unlock()
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", l.server)
			if err != nil {
				_ = from.Close()
				continue
			}
			l.mutex.Lock()
			l.connections = append(l.connections, from, to)
			l.mutex.Unlock()
			go pass(from, to)
			go pass(to, from)
		}
	}()
}

func pass(from, to net.Conn) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
}

// cut refuses new connections and breaks the open ones.
func (l *link) cut() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	_ = l.listener.Close()
	for _, connection := range l.connections {
		_ = connection.Close()
	}
	l.connections = nil
}

// syncBuffer collects a log while it is written.
type syncBuffer struct {
	mutex  sync.Mutex
	buffer bytes.Buffer
}

func (b *syncBuffer) Write(line []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.buffer.Write(line)
}

func (b *syncBuffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.buffer.String()
}

// credentials of a user of the workload.
func credentials(number int) []string {
	return []string{fmt.Sprintf("username=Cornell_%d", number), "password=" + strings.Repeat(fmt.Sprint(number), 10)}
}
