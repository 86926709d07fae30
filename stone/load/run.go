package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"loadstone.dev/stone/load/export"
	"loadstone.dev/stone/load/mistake"
	"loadstone.dev/stone/load/percentile"
	"loadstone.dev/stone/load/request"
	"loadstone.dev/stone/load/result"
	"loadstone.dev/stone/load/schedule"
	"loadstone.dev/stone/load/script"
	"loadstone.dev/stone/load/transport"
)

// ErrUnreachable says that the target accepted no connection before the start, ErrOtherwise that it does not speak as
// the plan says.
var (
	ErrUnreachable = errors.New("target not reachable")
	ErrOtherwise   = errors.New("target answers otherwise")
)

// run is one execution of a plan.
type run struct {
	plan      *Plan
	out       string // the folder of the results
	schedule  schedule.Schedule
	catalogue *request.Catalogue
	identity  result.Identity
	reached   reached // what the names of the target and its replicas stand for
	spare     reserved
	dialer    *transport.Dialer // for what raw sockets do not serve
	scripts   []*script.Script  // one for each thread, where a script makes the requests
	making    sync.WaitGroup
	planned   int64 // requests of the window, 0 for a closed loop without a number of them
	clock     clock
	threads   []*loadThread
	control   *control
	conductor *Conductor // nil: there is none
	cpu       int64      // ns used by the process from the start to the end
	throttled throttling
	end       int64 // when the last thread ended, ns from the start
}

// Run drives the load of a plan and writes latency.hlog and summary.json into the folder out, which it makes
// if need be. With progress, it writes a JSON line a second there, as long as that is read. It returns an error that wraps
// ErrUnreachable if nothing answers at the target, or ErrOtherwise if that does not speak as planned, a *mistake.Error if the plan cannot be carried out here, a
// *script.Error if a load script fails, or ctx's error if ctx ends first; then it leaves no files.
func Run(ctx context.Context, plan *Plan, out string, progress io.Writer) (*result.Summary, error) {
	return RunPart(ctx, plan, out, progress, nil)
}

// RunPart is Run for one of several workers under a coordinator, or for a lone one if there is no conductor. It writes
// part.json too.
func RunPart(ctx context.Context, plan *Plan, out string, progress io.Writer, conductor *Conductor) (*result.Summary, error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	var found reached
	for _, host := range append([]string{plan.host}, plan.Replicas...) {
		if err := found.reach(plan.lookup, host, min(schedule.Seconds(plan.TimeoutS), 5*time.Second)); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrUnreachable, host, err)
		}
	}
	if err := plan.checkSources(found.targets); err != nil {
		return nil, err
	}
	if err := plan.checkPorts(len(found.targets)); err != nil {
		return nil, err
	}
	r, err := newRun(plan)
	if err != nil {
		return nil, err
	}
	r.reached, r.out = found, out
	if r.spare, err = reserve(); err != nil {
		return nil, err
	}
	defer r.spare.release()
	if r.dialer != nil && plan.Policy == newPolicy { // the others connect before the start
		if err := probe(ctx, r.dialer, found.names()[0]); err != nil {
			return nil, unreachable(plan.Target, err)
		}
	}
	if err := r.conductedBy(conductor); err != nil {
		return nil, err
	}
	for thread := range plan.Threads {
		t, err := newLoadThread(r, thread)
		if err != nil {
			return nil, err
		}
		defer t.pool.close()
		r.threads = append(r.threads, t)
	}
	if progress != nil {
		feed := NewFeed(progress)
		defer feed.Close()
		progress = feed
	}
	return r.execute(ctx, out, progress)
}

func newRun(plan *Plan) (*run, error) {
	r := &run{plan: plan, catalogue: request.NewCatalogue(), control: &control{allowed: -1, certain: make([]counter, plan.Threads)}}
	for _, o := range plan.compiled {
		for _, s := range o.Steps {
			r.catalogue.Add(s.Kind)
		}
	}
	var err error
	if r.dialer, err = plan.dialer(r.catalogue); err != nil {
		return nil, err
	}
	if r.schedule, err = plan.schedule(); err != nil {
		return nil, err
	}
	if r.identity, err = plan.identity(r.schedule); err != nil {
		return nil, err
	}
	if plan.Closed != nil {
		r.planned = plan.countedRequests()
		return r, nil
	}
	if r.planned = r.plannedRequests(); r.planned == 0 {
		return nil, mistake.New("duration_s", "%g s at %g/s: no request falls into the window; make it longer",
			plan.DurationS, plan.Arrival.Rate)
	}
	if plan.Abort {
		r.control.allowed = r.planned - percentile.Rank(plan.SLO.Percentile, r.planned)
	}
	return r, nil
}

// schedule is when the plan's arrivals are. An arrival of a session is several requests, and the rate is that of
// requests; a closed loop has the window alone.
func (p *Plan) schedule() (schedule.Schedule, error) {
	if p.Closed != nil {
		from := int64(schedule.Seconds(p.WarmupS))
		return schedule.Schedule{From: from, To: from + int64(schedule.Seconds(p.DurationS))}, nil
	}
	paced := p.Arrival
	if len(p.compiled) > 0 {
		paced.Rate /= p.mix().StepsPerArrival()
	}
	return schedule.New(&paced, p.WarmupS, p.DurationS, p.Seed)
}

// threads is the number of load threads of all workers together, number that of one of ours among them.
func (p *Plan) threads() int { return p.part().Of * p.Threads }

func (p *Plan) number(thread int) int { return p.part().Number*p.Threads + thread }

func (p *Plan) part() result.Part {
	if p.Part == nil {
		return result.Part{Number: 0, Of: 1}
	}
	return *p.Part
}

func newLoadThread(r *run, thread int) (*loadThread, error) {
	plan := r.plan
	pool, err := newPool(plan, r.reached.targets, thread)
	if err == nil && r.dialer != nil {
		pool.calls, err = newCalls(pool, r.dialer, r.reached.names(), len(pool.connections)/plan.slots())
	}
	if err != nil {
		return nil, err
	}
	requests, err := r.source(thread)
	if err != nil {
		return nil, err
	}
	policy, tick := waitPolicy(plan.Wait).choose(plan.waitRate(r.schedule.Highest), int64(plan.LatenessMs*1e6))
	kinds := r.catalogue.List()
	t := &loadThread{
		thread: thread, cpus: plan.CPUs, control: r.control, pool: pool, toScript: requests.wanted(), receiver: newReceiver(bufferSize),
		policy: policy, tick: tick, drained: r.schedule.To + int64(schedule.Seconds(plan.DrainS)),
		sender: sender{
			number: uint64(plan.number(thread)), total: uint64(plan.threads()), schedule: r.schedule, source: requests,
			ring: newRing(requests.ahead()), timeout: int64(schedule.Seconds(plan.TimeoutS)),
			abandons: plan.Abandon && plan.Closed == nil, emptyAt: -1,
		},
		books: books{
			recorder: newRecorder(plan, r.schedule, len(kinds)), catalogue: r.catalogue, kinds: kinds,
			boundary: r.schedule.From % intervalLength,
		},
	}
	if t.boundary == 0 {
		t.boundary = min(intervalLength, t.schedule.To)
	}
	if len(plan.compiled) > 0 {
		t.mix = plan.mix()
	}
	if plan.Closed != nil {
		t.clients, t.counted, t.think = plan.clients(plan.number(thread)), plan.counted(), int64(schedule.Seconds(plan.Closed.ThinkS))
		t.numbers = unscheduled(t.number, t.total)
	} else {
		t.numbers = scheduled(t.share())
		t.overdue = schedule.Arrivals{Cursor: t.share(), From: r.schedule.From}
	}
	return t, nil
}

// execute starts the threads once all is connected and made ahead, waits for them and adds up.
func (r *run) execute(ctx context.Context, out string, progress io.Writer) (*result.Summary, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), len(r.threads)+2)))
	if r.dialer != nil {
		all := newProcess()
		for _, t := range r.threads {
			t.usage.process = all
		}
	}
	making, stop := context.WithCancel(ctx)
	defer r.closeScripts()
	defer r.making.Wait()
	defer stop()
	if err := r.prepare(making); err != nil {
		return nil, err
	}
	r.spare.release()
	// Collections disturb the threads: let there be 16 MB of garbage before one, which is a minute.
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	usual := debug.SetGCPercent(100 + int(16<<20*100/memory.HeapAlloc))
	defer debug.SetGCPercent(usual)

	if err := r.begin(); err != nil {
		return nil, err
	}
	outputs, err := newOutputs(r, out)
	if err != nil {
		return nil, err
	}
	collector := newCollector(r, outputs.log, progress)
	if r.plan.Metrics != "" {
		stop, err := export.Metrics(r.plan.Metrics, collector.snapshot)
		if err != nil {
			outputs.discard(false)
			return nil, mistake.New("", "%v", err)
		}
		defer stop()
	}
	if r.conductor == nil { // else the coordinator does
		defer MarkWindow(r.plan, r.clock.start, progress)()
	}
	mark := r.marker(progress)
	r.control.open = sync.OnceFunc(func() { mark("begin") })
	collected := make(chan error, 1)
	go func() { collected <- collector.run() }()

	err = r.drive(ctx)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		for _, t := range r.threads {
			close(t.recorder.full)
		}
		<-collected
		outputs.discard(false)
		return nil, err
	}
	mark("end")
	debug.SetGCPercent(usual)
	for _, t := range r.threads { // they may have all files that a process can have, and the results need some
		t.pool.close()
	}
	offers := r.settle()
	err = <-collected
	var found *result.Findings
	var summary *result.Summary
	if err == nil {
		found, summary, err = r.conclude(offers, collector, outputs)
	}
	if err != nil {
		outputs.discard(true)
		return nil, err
	}
	stop()
	r.making.Wait()
	r.scriptDone(found, summary)
	return summary, nil
}

// begin sets the clock: at once, or when all workers begin.
func (r *run) begin() error {
	if r.conductor != nil {
		start, err := r.conductor.Ready(r.identity, r.planned)
		r.clock = clock{start}
		return err
	}
	now := time.Now()
	start := now.Add(2 * time.Millisecond)
	if r.plan.StartUnixNs != 0 {
		start = now.Add(time.Duration(r.plan.StartUnixNs - now.UnixNano()))
		if start.Before(now) {
			return mistake.New("start_unix_ns", "was %s ago when all was connected; start later", now.Sub(start))
		}
	}
	r.clock = clock{start}
	return nil
}

// prepare connects all connections and fills the rings, so that nothing of it falls into the run.
func (r *run) prepare(ctx context.Context) error {
	var ready sync.WaitGroup
	for _, t := range r.threads {
		ready.Add(1)
		var once sync.Once
		r.making.Go(func() { t.ring.fill(ctx, t.numbers, t.source, func() { once.Do(ready.Done) }) })
		if err := t.connect(time.Now().Add(min(schedule.Seconds(r.plan.TimeoutS), 5*time.Second))); err != nil {
			return unreachable(r.plan.Target, err)
		}
	}
	ready.Wait()
	for _, t := range r.threads {
		if err := t.ring.failure(); err != nil {
			return err
		}
	}
	if r.dialer != nil {
		if err := r.checkCalls(); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// drive runs the threads to their end.
func (r *run) drive(ctx context.Context) error {
	interrupted := context.AfterFunc(ctx, func() { r.control.stop.Store(true) })
	defer interrupted()
	defer r.conduct(ctx)()
	defer r.watchEnough()()
	failed := make(chan error, len(r.threads))
	used := cpu(unix.RUSAGE_SELF)
	r.throttled = throttledNow()
	for _, t := range r.threads {
		t.clock = r.clock
		go func() {
			err := t.run()
			if err != nil {
				r.control.stop.Store(true)
			}
			failed <- err
		}()
	}
	var first error
	for range r.threads {
		if err := <-failed; err != nil {
			first = err
		}
	}
	r.cpu = cpu(unix.RUSAGE_SELF) - used
	r.throttled = throttledNow().since(r.throttled)
	return first
}
