// Command bare is the least that a load generator can do, as a limit for benchmarks of `stone load`: it sends one fixed
// GET over persistent connections, counts bytes until an answer is whole, and records nothing else. The loops differ in
// how they wait: epoll, io_uring, or (timer) a thread that only wakes at the times of a schedule and sends nothing.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// outcome is what a loop did; lateness is that of its sends (or wake-ups) behind their schedule.
type outcome struct {
	Requests      int64   `json:"requests"`
	Seconds       float64 `json:"seconds"`
	LatenessP50Ms float64 `json:"lateness_p50_ms"`
	LatenessP99Ms float64 `json:"lateness_p99_ms"`
}

// load is what a loop is to do: rate 0 means that each connection sends again as soon as it is answered.
type load struct {
	address     string
	connections int
	rate        float64
	length      time.Duration
}

func main() {
	loop := flag.String("loop", "epoll", "epoll, uring or timer")
	var of load
	flag.StringVar(&of.address, "address", "127.0.0.1:8080", "server, an IPv4 address with port")
	flag.IntVar(&of.connections, "connections", 64, "connections")
	flag.Float64Var(&of.rate, "rate", 0, "requests per second, Poisson; 0: as fast as they are answered")
	flag.DurationVar(&of.length, "for", 3*time.Second, "how long")
	flag.Parse()
	loops := map[string]func(load) (outcome, error){"epoll": epoll, "uring": uring, "timer": timer}
	run, known := loops[*loop]
	if !known {
		fail(fmt.Errorf("no loop %q; there are epoll, uring and timer", *loop))
	}
	runtime.LockOSThread()
	// By default the kernel may wake a thread 50 us late to save wake-ups.
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		fail(err)
	}
	result, err := run(of)
	if err != nil {
		fail(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "bare:", err)
	os.Exit(1)
}

// pace is the schedule of a load: exponential gaps from a fixed seed.
type pace struct {
	gap    float64 // mean, ns; 0: whatever comes is due at once
	source *rand.Rand
	began  time.Time
	next   time.Duration // when the next request is due
	late   []time.Duration
}

func newPace(of load) *pace {
	p := &pace{source: rand.New(rand.NewPCG(1, 1)), began: time.Now()}
	if of.rate > 0 {
		p.gap = 1e9 / of.rate
		p.late = make([]time.Duration, 0, int(1.2*of.rate*of.length.Seconds())+100)
		p.advance()
	}
	return p
}

func (p *pace) advance() { p.next += time.Duration(p.source.ExpFloat64() * p.gap) }

// sent records the request that was due as sent now.
func (p *pace) sent(now time.Duration) {
	if p.gap > 0 {
		p.late = append(p.late, now-p.next)
		p.advance()
	}
}

func (p *pace) outcome(requests int64) outcome {
	o := outcome{Requests: requests, Seconds: time.Since(p.began).Seconds()}
	if len(p.late) > 0 {
		slices.Sort(p.late)
		at := func(share float64) float64 { return p.late[int(share*float64(len(p.late)-1))].Seconds() * 1e3 }
		o.LatenessP50Ms, o.LatenessP99Ms = at(0.50), at(0.99)
	}
	return o
}

// timer sleeps from one due time to the next.
func timer(of load) (outcome, error) {
	if of.rate <= 0 {
		return outcome{}, fmt.Errorf("a timer needs a rate")
	}
	p := newPace(of)
	var wakes int64
	for p.next < of.length {
		if left := p.next - time.Since(p.began); left > 0 {
			sleep := unix.NsecToTimespec(left.Nanoseconds())
			if err := unix.Nanosleep(&sleep, nil); err != nil && err != unix.EINTR {
				return outcome{}, err
			}
		}
		if now := time.Since(p.began); now >= p.next {
			p.sent(now)
			wakes++
		}
	}
	return p.outcome(wakes), nil
}
