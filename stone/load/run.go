package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// ErrUnreachable says that the target accepted no connection before the start.
var ErrUnreachable = errors.New("target not reachable")

// run is one execution of a plan.
type run struct {
	plan     *Plan
	schedule schedule
	planned  int64
	clock    clock
	workers  []*worker
	control  *control
	cpu      int64 // ns used by the process from the start to the end
	end      int64 // when the last thread ended, ns from the start
}

// Run drives the load of a plan and writes latency.hlog and summary.json into the folder out, which it makes
// if need be. With progress, it writes a JSON line a second there. It returns an error that wraps
// ErrUnreachable if nothing answers at the target, a *PlanError if the plan cannot be carried out here, or
// ctx's error if ctx ends first; then it leaves no files.
func Run(ctx context.Context, plan *Plan, out string, progress io.Writer) (*Summary, error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	var targets []address
	for _, host := range append([]string{plan.host}, plan.Replicas...) {
		target, err := reach(host, min(seconds(plan.TimeoutS), 5*time.Second))
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrUnreachable, host, err)
		}
		targets = append(targets, target)
	}
	times, err := newSchedule(plan)
	if err != nil {
		return nil, err
	}
	r := &run{plan: plan, schedule: times, control: &control{allowed: -1}}
	if r.planned = r.schedule.planned(); r.planned == 0 {
		return nil, bad("duration_s", "%g s at %g/s: no request falls into the window; make it longer",
			plan.DurationS, plan.Arrival.Rate)
	}
	if plan.Abort {
		r.control.allowed = int64(math.Floor(float64(r.planned)*(100-plan.SLO.Percentile)/100 + 1e-9))
	}
	r.control.certain = make([]counter, plan.Threads)
	for thread := range plan.Threads {
		w, err := newWorker(r, targets, thread)
		if err != nil {
			return nil, err
		}
		defer w.pool.close()
		r.workers = append(r.workers, w)
	}
	return r.execute(ctx, out, progress)
}

func newWorker(r *run, targets []address, thread int) (*worker, error) {
	plan := r.plan
	connections := plan.Connections / plan.Threads
	if thread < plan.Connections%plan.Threads {
		connections++
	}
	pool, err := newPool(targets, connections)
	if err != nil {
		return nil, err
	}
	policy, tick := waitPolicy(plan.Wait).choose(r.schedule.highest / float64(plan.Threads))
	m := newMix(plan)
	w := &worker{
		thread: thread, cpus: plan.CPUs, schedule: r.schedule, control: r.control, pool: pool,
		ring: newRing(m.longest()), receiver: newReceiver(bufferSize), recorder: newRecorder(plan, r.schedule),
		policy: policy, tick: tick, timeout: int64(seconds(plan.TimeoutS)),
		drained: r.schedule.to + int64(seconds(plan.DrainS)), boundary: r.schedule.from % intervalLength,
	}
	if w.boundary == 0 {
		w.boundary = intervalLength
	}
	for _, o := range m.operations {
		w.headOnly = append(w.headOnly, o.headOnly)
	}
	w.overdue = arrivals{share: w.share(), from: r.schedule.from}
	return w, nil
}

// share walks the requests of this thread.
func (w *worker) share() share {
	return share{cursor: w.schedule.walk(), thread: uint64(w.thread), threads: uint64(len(w.control.certain))}
}

// execute starts the threads once all is connected and rendered ahead, waits for them and adds up.
func (r *run) execute(ctx context.Context, out string, progress io.Writer) (*Summary, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), len(r.workers)+2)))
	rendering, stop := context.WithCancel(ctx)
	defer stop()
	if err := r.prepare(rendering); err != nil {
		return nil, err
	}
	// Collections disturb the threads: let there be 32 MB of garbage before one, which is minutes.
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	defer debug.SetGCPercent(debug.SetGCPercent(100 + int(32<<20*100/memory.HeapAlloc)))

	r.clock = clock{time.Now().Add(2 * time.Millisecond)}
	log, err := newIntervalLog(filepath.Join(out, "latency.hlog"), r.clock.start)
	if err != nil {
		return nil, err
	}
	recorders := make([]*recorder, len(r.workers))
	for i, w := range r.workers {
		recorders[i] = w.recorder
	}
	collector := newCollector(r.plan, r.schedule, recorders, log, progress)
	collected := make(chan error, 1)
	go func() { collected <- collector.run() }()

	err = r.drive(ctx)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		for _, w := range r.workers {
			close(w.recorder.full)
		}
		<-collected
		log.discard()
		return nil, err
	}
	offers := r.settle()
	if err := <-collected; err != nil {
		log.discard()
		return nil, err
	}
	summary, err := r.summary(offers, collector.total)
	if err != nil {
		log.discard()
		return nil, err
	}
	if err := log.finish(); err != nil {
		return nil, err
	}
	return summary, summary.write(out)
}

// prepare connects all connections and fills the rings, so that nothing of it falls into the run.
func (r *run) prepare(ctx context.Context) error {
	var ready sync.WaitGroup
	for _, w := range r.workers {
		ready.Add(1)
		var once sync.Once
		go w.ring.fill(ctx, w.share(), newMix(r.plan), func() { once.Do(ready.Done) })
		if err := w.connect(time.Now().Add(min(seconds(r.plan.TimeoutS), 5*time.Second))); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrUnreachable, r.plan.Target, err)
		}
	}
	ready.Wait()
	return ctx.Err()
}

// connect opens all connections and waits until the last is made or refused; some have to be made.
func (w *worker) connect(deadline time.Time) error {
	var last error
	for i := range w.pool.connections {
		if err := w.pool.open(&w.pool.connections[i]); err != nil {
			last = err
		}
	}
	for w.pool.count+len(w.pool.closed) < len(w.pool.connections) && time.Now().Before(deadline) {
		for _, event := range w.pool.poller.wait(10e6) {
			if c := w.pool.event(event); c != nil {
				if err := connected(c.fd); err != nil {
					last = err
				}
				w.handle(c, event.Events)
			}
		}
	}
	if w.pool.count == 0 {
		return errors.Join(errors.New("no connection was accepted"), last)
	}
	return nil
}

// drive runs the threads to their end.
func (r *run) drive(ctx context.Context) error {
	interrupted := context.AfterFunc(ctx, func() { r.control.stop.Store(true) })
	defer interrupted()
	failed := make(chan error, len(r.workers))
	used := cpu(unix.RUSAGE_SELF)
	for _, w := range r.workers {
		w.clock = r.clock
		go func() {
			err := w.run()
			if err != nil {
				r.control.stop.Store(true)
			}
			failed <- err
		}()
	}
	var first error
	for range r.workers {
		if err := <-failed; err != nil {
			first = err
		}
	}
	r.cpu = cpu(unix.RUSAGE_SELF) - used
	return first
}

// settle closes the books: what is in flight, what was never sent, and the bounds of what was never answered.
func (r *run) settle() offers {
	slowest := int64(0)
	for _, w := range r.workers {
		r.end = max(r.end, w.end)
		slowest = max(slowest, w.recorder.slowest)
		for c := w.inFlight.first; c != nil; c = c.later {
			if c.measured {
				w.recorder.tallies[c.op].inFlight++
				w.recorder.unanswered(int(c.op), c.at)
			}
		}
	}
	offers := count(r.schedule, newMix(r.plan), r.end, r.workers)
	for _, w := range r.workers {
		w.recorder.bound(r.end, slowest)
		w.recorder.turn(r.end)
		close(w.recorder.full)
	}
	return offers
}

// firstUnsent is the number of the first request of its share that this thread has not taken.
func (w *worker) firstUnsent() uint64 {
	return uint64(w.thread) + w.sent*uint64(len(w.control.certain))
}
