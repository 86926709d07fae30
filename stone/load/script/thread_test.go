package script

import (
	"bytes"
	"errors"
	"net"
	"strings"
	"testing"
	"time"
)

// threads opens a script for several threads, which share what print() writes.
func threads(t testing.TB, n int, o Options, source string) ([]*Script, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	o.Output = &out
	var all []*Script
	for i := range n {
		o.Thread = i
		s := from(t, o, source)
		if i == 0 {
			o.First = s
		}
		all = append(all, s)
	}
	return all, &out
}

// setup() runs in one state for all threads, in their order; init() and request() in the thread's own.
func TestSetupSeesTheThreadsInOrder(t *testing.T) {
	all, out := threads(t, 3, Options{}, `
local counter = 1
shared = "no"
function setup(thread)
  thread:set("id", counter)
  thread:set("list", {1, {x = true}, y = "z"})
  print("setup", counter, thread:get("id"), thread:get("nothing"), thread:get("list")[2].x)
  counter = counter + 1
  shared = "changed"
end
function init(args)
  print("init", id, shared, list[2].x, list.y, wrk.thread:get("id"))
  wrk.thread:set("own", id * 10)
end
function request() return wrk.format(nil, "/" .. id .. "/" .. own) end`)
	want := "setup\t1\t1\tnil\ttrue\ninit\t1\tno\ttrue\tz\t1\n" +
		"setup\t2\t2\tnil\ttrue\ninit\t2\tno\ttrue\tz\t2\n" +
		"setup\t3\t3\tnil\ttrue\ninit\t3\tno\ttrue\tz\t3\n"
	if out.String() != want {
		t.Errorf("%s, want\n%s", out, want)
	}
	for i, operation := range []string{"GET /1/10", "GET /2/20", "GET /3/30"} {
		if _, got := next(t, all[i]); got != operation {
			t.Errorf("thread %d: %s", i, got)
		}
	}
}

func TestThreadsShareNothingWhileTheyRun(t *testing.T) {
	all, _ := threads(t, 2, Options{Seed: 9}, `
local n = 0
function request()
  n = n + 1
  wrk.headers["N"] = n
  return wrk.format(nil, "/" .. math.random(1e9))
end`)
	first, _ := next(t, all[0])
	for range 5 {
		next(t, all[1])
	}
	second, _ := next(t, all[0])
	if !strings.Contains(first, "N: 1\r\n") || !strings.Contains(second, "N: 2\r\n") {
		t.Errorf("%q, %q", first, second)
	}
	alone, _ := threads(t, 1, Options{Seed: 9}, `
function request() return wrk.format(nil, "/" .. math.random(1e9)) end`)
	_, one := next(t, alone[0])
	_, two := next(t, alone[0])
	if !strings.HasPrefix(first, one+" ") || !strings.HasPrefix(second, two+" ") {
		t.Errorf("%q, %q: what thread 1 did changed the numbers of thread 0 (%s, %s)", first, second, one, two)
	}
}

func TestStopEndsTheThread(t *testing.T) {
	all, _ := threads(t, 2, Options{}, `
function response(status) if status == 503 then wrk.thread:stop() end end`)
	next(t, all[0])
	if err := all[0].Response(503, nil, nil); err != nil {
		t.Fatal(err)
	}
	if made, _, _, err := all[0].Next([]byte("x")); !errors.Is(err, ErrStopped) || string(made) != "x" {
		t.Errorf("%q, %v", made, err)
	}
	next(t, all[1])
}

func TestDoneReadsTheThreads(t *testing.T) {
	all, out := threads(t, 2, Options{}, `
local threads = {}
function setup(thread) table.insert(threads, thread) end
function init(args) requests = 0 end
function request() requests = requests + 1 return wrk.format() end
function done(summary, latency, rate)
  for i, thread in ipairs(threads) do print(i, thread:get("requests")) end
  local e = summary.errors
  print(summary.duration, summary.requests, summary.bytes, e.connect, e.read, e.write, e.status, e.timeout)
  print(latency.min, latency.max, latency.mean, latency.stdev)
  print(latency:percentile(50), latency:percentile(90), latency:percentile(99.999), latency:percentile(0))
  for i = 1, #latency do io.write(string.format("%d x %d;", latency(i))) end
  print(#rate, rate(1), rate(9), rate.mean, rate:percentile(50), latency.nothing)
end`)
	next(t, all[0])
	next(t, all[1])
	next(t, all[1])
	if !all[0].HasDone() || !all[1].HasDone() {
		t.Error("it has a done()")
	}
	summary := Summary{Duration: 2500 * time.Millisecond, Requests: 4, Bytes: 1 << 40, Errors: Errors{1, 2, 3, 4, 5}}
	latency := Percentiles{{100, 1}, {200, 2}, {700, 1}}
	if err := all[0].Done(summary, latency, nil); err != nil {
		t.Fatal(err)
	}
	want := "1\t1\n2\t2\n2500000\t4\t1099511627776\t1\t2\t3\t4\t5\n" +
		"100\t700\t300\t270.80128015453\n" + // mean 1200/4; squares 4e4 + 2e4 + 16e4 over 3
		"200\t700\t700\t100\n" + // ranks 2, 4, 4 and 1
		"100 x 1;200 x 2;700 x 1;0\t0\t0\t0\t0\tnil\n"
	if out.String() != want {
		t.Errorf("%s, want\n%s", out, want)
	}
}

func TestTheScriptMayChooseItsAddress(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	o := Options{Scheme: "http", Host: "127.0.0.1", Port: port, Addresses: []string{"127.0.0.1:1", "localhost:" + port}}
	_, out := threads(t, 2, o, `
local n = 0
function setup(thread)
  n = n + 1
  local found = wrk.lookup(wrk.host, wrk.port)
  print(#found, found[1], wrk.connect(found[1]), wrk.connect(wrk.addrs[1]), thread.addr)
  if n == 2 then thread.addr = found[1] end
end
function init() print(string.format("thread addr: %s", wrk.thread.addr)) end`)
	address := "127.0.0.1:" + port
	want := "1\t" + address + "\ttrue\tfalse\t127.0.0.1:1\nthread addr: 127.0.0.1:1\n" +
		"1\t" + address + "\ttrue\tfalse\t127.0.0.1:1\nthread addr: " + address + "\n"
	if out.String() != want {
		t.Errorf("%s, want\n%s", out, want)
	}
}

func TestServicesHaveNames(t *testing.T) {
	got := printed(t, Options{}, `print(wrk.lookup("127.0.0.1", "http")[1], wrk.lookup("127.0.0.1", 80)[1], wrk.lookup("127.0.0.1")[1])`)
	if got != "127.0.0.1:80\t127.0.0.1:80\t127.0.0.1:0\n" {
		t.Errorf("%q", got)
	}
}
