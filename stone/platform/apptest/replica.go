package apptest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"

	"loadstone.dev/stone/platform/servertest"
	"loadstone.dev/stone/platform/service"
)

// Replica is one running service.
type Replica struct {
	Listen, Admin string // host:port

	app     *App
	service string
	number  int // 1 or 2
	stop    context.CancelFunc
	exit    chan int
	log     *log
}

func newReplica(a *App, name string, number int) *Replica {
	return &Replica{Listen: servertest.FreeAddress(a.t), Admin: servertest.FreeAddress(a.t), app: a, service: name, number: number}
}

// Start runs the replica, at first or after a Stop.
func (r *Replica) Start() {
	name, environment := r.app.name+"/"+r.service, r.app.environment(r)
	ctx, stop := context.WithCancel(context.Background())
	exit, log := make(chan int, 1), &log{}
	r.stop, r.exit, r.log = stop, exit, log
	definition := r.app.services[r.service]
	go func() {
		exit <- service.Run(ctx, name, definition, func(variable string) string { return environment[variable] }, log)
	}()
	r.app.t.Cleanup(func() {
		stop()
		select {
		case <-exit:
		case <-time.After(time.Minute):
			r.app.t.Errorf("%s does not stop", name)
		}
	})
}

// Stop stops the replica and returns its exit code.
func (r *Replica) Stop() int {
	r.stop()
	code := <-r.exit
	r.exit <- code // for the clean-up
	return code
}

// Log is what the replica wrote since it was started.
func (r *Replica) Log() string { return r.log.String() }

// Ready queries the replica: whether it is ready, and its message.
func (r *Replica) Ready() (bool, string) {
	response, err := http.Get("http://" + r.Admin + "/readyz")
	if err != nil {
		return false, err.Error()
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return response.StatusCode == http.StatusOK, string(body)
}

// WaitReady waits until the replica says that it is ready.
func (r *Replica) WaitReady() {
	r.app.t.Helper()
	says := ""
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		var ready bool
		if ready, says = r.Ready(); ready {
			return
		}
		if time.Now().After(deadline) {
			r.app.t.Fatalf("%s never ready: %s; log:\n%s", r.service, says, r.Log())
		}
	}
}

// Counter is one of the numbers that the replica counts, such as "memcached-user failures".
func (r *Replica) Counter(name string) int64 {
	r.app.t.Helper()
	response, err := http.Get("http://" + r.Admin + "/counters")
	if err != nil {
		r.app.t.Fatal(err)
	}
	defer response.Body.Close()
	counts := make(map[string]int64)
	if err := json.NewDecoder(response.Body).Decode(&counts); err != nil {
		r.app.t.Fatal(err)
	}
	count, is := counts[name]
	if !is {
		r.app.t.Fatalf("%s counts no %q: %v", r.service, name, counts)
	}
	return count
}

// log collects what is logged while it is read.
type log struct {
	mutex  sync.Mutex
	buffer bytes.Buffer
}

func (l *log) Write(line []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.buffer.Write(line)
}

func (l *log) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.buffer.String()
}
