package load

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"loadstone.dev/stone/load/request"
	"loadstone.dev/stone/load/result"
	"loadstone.dev/stone/load/schedule"
)

// A request could have gone when it was due, or when a connection was free; what the thread did not look is its own.
func TestOwnLateness(t *testing.T) {
	t.Parallel()
	const ms = int64(1e6)
	for _, c := range []struct {
		name                              string
		blocked                           bool
		blockedAt, freed, before, at, now int64 // ms
		lateness, delay                   int64
	}{
		{name: "in time", at: 100, now: 100},
		{name: "a stall, connections free", at: 100, now: 210, lateness: 110, delay: 110},
		{name: "an old delay of a connection that was not waited for", before: 50, at: 100, now: 110, lateness: 10, delay: 10},
		{name: "waited for the system alone", blocked: true, blockedAt: 100, freed: 600, at: 100, now: 600},
		{name: "became due while it waited", blocked: true, blockedAt: 100, freed: 600, at: 300, now: 600},
		{name: "a connection was free for a while", blocked: true, blockedAt: 100, freed: 600, at: 300, now: 650, lateness: 50, delay: 50},
		{name: "free before it was due", blocked: true, blockedAt: 100, freed: 250, at: 300, now: 650, lateness: 350, delay: 350},
		{name: "the backlog of a stall", blocked: true, blockedAt: 1000, freed: 1020, at: 100, now: 1021, lateness: 901, delay: 901},
		{name: "late along a connection", blocked: true, blockedAt: 100, freed: 600, before: 80, at: 300, now: 620, lateness: 20, delay: 100},
		{name: "never more than it was late", blocked: true, blockedAt: 900, freed: 100, before: 5000, at: 300, now: 1000, lateness: 700, delay: 700},
		{name: "freed after the look (clocks differ by a hair)", blocked: true, blockedAt: 100, freed: 601, at: 300, now: 600},
	} {
		thread := &loadThread{blocked: c.blocked, blockedAt: c.blockedAt * ms, freed: c.freed * ms}
		lateness, delay := thread.own(&connection{delay: c.before * ms}, c.at*ms, c.now*ms)
		if lateness != c.lateness*ms || delay != c.delay*ms {
			t.Errorf("%s: lateness %d ms, delay %d ms", c.name, lateness/ms, delay/ms)
		}
	}
}

// Whatever was due when a thread looked last is neglected if a connection was free; if none was, its wait is the
// generator's fault as far as a stall explains it, and the load was offered all the same.
func TestCharge(t *testing.T) {
	t.Parallel()
	none, delayed := result.ByGenerator{}, result.ByGenerator{Violations: 1, Unsent: 1}
	neglected := result.ByGenerator{Violations: 1, Unsent: 1, Neglected: 1}
	for _, c := range []struct {
		blocked         bool
		free            int
		freed, debt, at int64
		want            result.ByGenerator
		why             string
	}{
		{false, 0, 0, 0, 900, neglected, "due, a connection was free"},
		{false, 0, 0, 0, 1001, none, "not due yet when the run ended"},
		{true, 0, 0, 0, 900, none, "no connection was free"},
		{true, 0, 0, 60, 900, delayed, "a stall of 60 explains waiting for 100 where 50 are the limit"},
		{true, 0, 0, 40, 900, none, "a stall of 40 does not"},
		{true, 0, 0, 60, 980, none, "it has not waited for longer than the limit"},
		{true, 1, 940, 0, 900, neglected, "one was free for 60 of 100, the limit is 50"},
		{true, 1, 999, 60, 900, delayed, "one was free for 1 alone, a stall explains the rest"},
		{true, 1, 999, 0, 900, none, "one was free for 1 alone, it waited for the system"},
	} {
		thread := &loadThread{blocked: c.blocked, freed: c.freed, pool: &pool{count: c.free}, books: books{recorder: &recorder{limit: 50, debt: debt{ns: c.debt}}}}
		if got := thread.charge(c.at, 1000); got != c.want {
			t.Errorf("%s: %+v", c.why, got)
		}
	}
}

// A stall's delay is granted until its backlog has gone out and a later request has met the limit.
func TestDebt(t *testing.T) {
	t.Parallel()
	var d debt
	if d.incur(5) != 5 || d.incur(100) != 100 || d.incur(60) != 100 {
		t.Errorf("not the longest: %+v", d)
	}
	if d.met(1000); d.ns != 100 {
		t.Error("paid before the backlog had gone out")
	}
	d.pay(1010)
	d.pay(1500)
	if d.met(1005); d.ns != 100 {
		t.Error("paid by a request of the backlog")
	}
	if d.met(1011); d.ns != 0 || d.incur(3) != 3 {
		t.Errorf("not paid: %+v", d)
	}
}

// Whatever comes in whatever order: what counts towards an abort is exactly the violations less the generator's, and its
// parts never exceed the whole.
func TestViolationsAddUp(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		plan := defaults()
		plan.TimeoutS, plan.SLO = 1, &result.SLO{Percentile: 99, LatencyMs: 300}
		r := newRecorder(plan, schedule.Schedule{From: 0, To: 10e9}, 2)
		neglected := int64(0)
		for range 100 {
			at := random.Int64N(10e9)
			late := random.Int64N(600e6)
			x := &exchange{at: at, sentAt: at + late, op: int32(random.IntN(2)), measured: true}
			own := random.Int64N(late + 1)
			r.started(x, own, own)
			if !x.overdue && random.IntN(2) == 0 { // seen to be past the limit before it is settled
				x.overdue = true
				r.past++
			}
			switch end := x.sentAt + random.Int64N(1e9); random.IntN(4) {
			case 0, 1:
				r.answeredWell(x, end)
			case 2:
				r.failed(x, x.sentAt+r.timeout, errTimeout, nil)
			case 3:
				r.failed(x, end, request.StatusError(500), nil)
			}
			if random.IntN(3) == 0 {
				r.debt.pay(x.sentAt)
			}
			if random.IntN(10) == 0 {
				r.skipped(1, 0, at, errTimeout)
			}
		}
		before := r.past // unsent requests of the end are not in it
		if random.IntN(2) == 0 {
			neglected = 1
			own, none := result.ByGenerator{Violations: 1, Unsent: 1}, result.ByGenerator{}
			r.unsent(1, 1, 9e9, own)
			r.unsent(2, 1, 9e9, none)
			r.abandoned(3, 0, 8e9, 9e9, own)
			r.abandoned(4, 0, 8e9, 9e9, none)
		}
		var whole tally
		for i := range r.tallies {
			k := &r.tallies[i]
			whole.add(*k)
			if c := k.counts(); k.own.Violations > c.Offered-k.good || k.own.Late > c.Late || k.own.Unsent > c.Unsent ||
				k.own.Neglected > k.own.Unsent {
				t.Fatalf("seed %d: by the generator %+v of %+v, good %d", seed, k.own, c, k.good)
			}
		}
		counts := whole.counts()
		violations := counts.Offered - whole.good - 4*neglected
		if want := violations - (whole.own.Violations - 2*neglected); before != want || r.past != want+neglected {
			t.Fatalf("seed %d: %d count towards an abort, want %d (violations %d, by the generator %+v)", seed, before, want, violations, whole.own)
		}
		var answered, relieved int64
		for i := range result.Batches {
			answered, relieved = answered+r.answered[i], relieved+r.relieved[i]
			if relieved < answered {
				t.Fatalf("seed %d: batch %d: %d settled, less own delays %d", seed, i, answered, relieved)
			}
		}
		if n := r.lessOwn.TotalCount(); n > counts.Offered || n < counts.Completed+counts.Late {
			t.Fatalf("seed %d: %d latencies less own, %+v", seed, n, counts)
		}
	}
}

// In whatever order parts are put together, the whole is the same, and a sum of them.
func TestMergeIsAssociative(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 2))
		var parts []*result.Findings
		var sum result.ByGenerator
		for range 3 {
			parts = append(parts, someFindings(random))
			for _, k := range parts[len(parts)-1].Kinds {
				sum.Add(k.Own)
			}
		}
		both := func(a, b *result.Findings) *result.Findings {
			whole, err := result.Sum([]*result.Findings{a, b})
			if err != nil {
				t.Fatal(err)
			}
			return whole
		}
		all, err := result.Sum(parts)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := json.Marshal(all)
		for _, whole := range []*result.Findings{both(both(parts[0], parts[1]), parts[2]), both(parts[0], both(parts[1], parts[2]))} {
			if got, _ := json.Marshal(whole); string(got) != string(want) {
				t.Errorf("seed %d:\n%s\n%s", seed, got, want)
			}
		}
		summary, err := all.Summary()
		if err != nil {
			t.Fatal(err)
		}
		checkOwn(t, summary)
		if summary.ByGenerator != sum || *summary.Violations < sum.Violations {
			t.Errorf("seed %d: by the generator %+v of %d, the parts have %+v", seed, summary.ByGenerator, *summary.Violations, sum)
		}
	}
}

// someFindings is a part whose accounts are right, at random.
func someFindings(random *rand.Rand) *result.Findings {
	f := &result.Findings{
		Identity: result.Identity{Plan: json.RawMessage(`{"seed":1}`)}, Loop: "open", SLO: &result.SLO{Percentile: 99, LatencyMs: 300}, WindowS: 10, ToNs: 10e9, TimeoutNs: 1e9,
		Started: time.Unix(1, 0), EndNs: 10e9 + random.Int64N(1e9), Lateness: result.Histogram{Histogram: result.NewHistogram()}, Rates: result.Histogram{Histogram: result.NewRates()},
		LessOwn: result.Histogram{Histogram: result.NewHistogram()}, Generator: result.Effort{
			Wait: "precise", Threads: 1, OwnLateness: result.Histogram{Histogram: result.NewHistogram()}, ThrottledS: new(0.25), RunDelayS: new(float64(random.IntN(8)) / 4),
			RunDelayShare: new(float64(random.IntN(8)) / 8), ScriptStarved: random.Int64N(9),
		},
	}
	if random.IntN(4) == 0 {
		f.Generator.RunDelayS, f.Generator.RunDelayShare = nil, nil
	}
	for _, name := range []string{"a", "b"}[:1+random.IntN(2)] {
		k := f.Kind(name)
		for range random.IntN(50) {
			latency := random.Int64N(900e6)
			delay := random.Int64N(200e6)
			k.Counts.Offered++
			switch {
			case random.IntN(5) == 0:
				k.Counts.Unsent++
				k.Unheard[random.IntN(result.FailureBins)]++
				if random.IntN(2) == 0 {
					k.Own.Add(result.ByGenerator{Violations: 1, Unsent: 1, Neglected: random.Int64N(2)})
					result.Record(f.LessOwn.Histogram, 0, 1)
				}
				continue
			case latency <= 300e6:
				k.Good++
			case explains(delay, latency, 300e6):
				k.Own.Violations++
			}
			k.Counts.Sent++
			k.Counts.Completed++
			result.Record(k.Intended.Histogram, latency, 1)
			result.Record(k.Service.Histogram, latency, 1)
			result.Record(f.LessOwn.Histogram, latency-delay, 1)
			result.Record(f.Lateness.Histogram, delay, 1)
			result.Record(f.Generator.OwnLateness.Histogram, delay, 1)
		}
		f.Offered += k.Counts.Offered
	}
	f.Planned = f.Offered
	return f
}

// However often a polling thread loses its CPU, the cost of polling is separated from that of work.
func TestPollingInVain(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 3))
	for _, c := range []struct{ work, lost float64 }{{0.05, 0}, {0.05, 0.5}, {0.4, 0.3}, {0.9, 0.5}, {0, 0.7}} {
		var work, idle, estimate int64
		for range 3000 { // looks, 10 ms of CPU apart or so
			var used, wall, part int64
			for range 50 {
				busy := random.Float64() < c.work
				cpu := random.Int64N(400e3)
				elapsed := cpu
				if random.Float64() < 0.05 { // a rare but long absence, wherever it strikes
					elapsed += int64(20 * 200e3 * c.lost / (1 - c.lost))
				}
				used, wall = used+cpu, wall+elapsed
				if busy {
					work += cpu
				} else {
					idle += cpu
					part += elapsed
				}
			}
			estimate += inVain(part, used, wall)
		}
		total := float64(work + idle)
		if got, want := float64(estimate)/total, float64(idle)/total; got < want-0.02 || got > want+0.02 {
			t.Errorf("work %g, lost %g: %.3f of the CPU polled in vain, estimated %.3f", c.work, c.lost, want, got)
		}
	}
}
