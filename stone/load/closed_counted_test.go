package load

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"loadstone.dev/stone/load/result"
)

// However clients are dealt out to threads and load workers, each is there once, and together they send what was planned.
func TestClientsSendTogetherWhatIsPlanned(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		workers, threads := 1+random.IntN(5), 1+random.IntN(4)
		clients := workers*threads + random.IntN(40)
		closed := Closed{Clients: clients, Requests: 1 + random.Int64N(50), Iterations: 1 + random.Int64N(5)}
		want := closed.Requests * closed.Iterations * int64(clients)
		if random.IntN(2) == 0 {
			want = int64(clients) + random.Int64N(1000)
			closed = Closed{Clients: clients, Total: want, WarmupRequests: random.Int64N(1000)}
		}
		if err := closed.check(workers*threads, false); err != nil {
			t.Fatal(err)
		}
		seen, planned, counted, warm := map[int64]bool{}, int64(0), int64(0), int64(0)
		for worker := range workers {
			plan := &Plan{Closed: &closed, Threads: threads, Part: &result.Part{Number: worker, Of: workers}}
			planned += plan.countedRequests()
			for thread := range threads {
				for _, one := range plan.clients(plan.number(thread)) {
					seen[one.number] = true
					counted, warm = counted+one.counted, warm+one.warm
				}
			}
		}
		if len(seen) != clients || planned != want || counted != want || warm != closed.WarmupRequests {
			t.Fatalf("%+v over %d x %d: %d clients, %d planned, %d of them, %d warm", closed, workers, threads, len(seen), planned, counted, warm)
		}
	}
}

// A client that is always answered in time keeps to its slots; one that is not sends at once, uses no slot twice, and
// every slot that passes is either used or missed.
func TestSlotsAreUsedOrMissed(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		closed := Closed{Clients: 1 + random.IntN(5), Pace: 1 + 100*random.Float64()}
		c := closed.client(random.Int64N(int64(closed.Clients)))
		first, interval := c.slot, c.interval
		from := random.Int64N(5 * interval)
		to := from + random.Int64N(200*interval)
		used, missed, now := int64(0), int64(0), int64(0)
		for last := int64(-1); ; {
			at, skipped := c.turn(now, from, to)
			missed += skipped
			if at >= to {
				break
			}
			slot := (at - first) / interval // the one that it uses: the latest that has passed
			if at < now || slot <= last {
				t.Fatalf("slot %d after %d, at %d, ready at %d", slot, last, at, now)
			}
			if last = slot; first+slot*interval >= from {
				used++
			}
			now = at + int64(float64(interval)*random.ExpFloat64()*0.8)
		}
		slots := max(ceil(to-first, interval), 0) - ceil(from-first, interval)
		if used+missed != slots {
			t.Fatalf("%d used and %d missed of %d", used, missed, slots)
		}
	}
}

type iterationKey struct{ client, iteration int32 }

type iterationSum struct {
	requests, errors int64
	seconds          float64 // time that good answers took
	from, to         int64
}

// iterationsOf adds up the rows of requests.parquet and of iterations.parquet by client and iteration.
func iterationsOf(t *testing.T, dir string) (byRequests, byIterations map[iterationKey]iterationSum) {
	t.Helper()
	type request struct {
		Client    *int32 `parquet:"client,optional"`
		Iteration *int32 `parquet:"iteration,optional"`
		Scheduled int64  `parquet:"scheduled_ns"`
		Ended     *int64 `parquet:"ended_ns,optional"`
		Outcome   string `parquet:"outcome"`
	}
	requests, err := parquet.ReadFile[request](filepath.Join(dir, result.RequestsFile))
	if err != nil {
		t.Fatal(err)
	}
	byRequests, byIterations = map[iterationKey]iterationSum{}, map[iterationKey]iterationSum{}
	for _, r := range requests {
		key := iterationKey{*r.Client, *r.Iteration}
		sum := byRequests[key]
		if sum.requests++; sum.requests == 1 || r.Scheduled < sum.from {
			sum.from = r.Scheduled
		}
		if sum.to = max(sum.to, *r.Ended); r.Outcome == "completed" {
			sum.seconds += float64(*r.Ended-r.Scheduled) / 1e9
		} else {
			sum.errors++
		}
		byRequests[key] = sum
	}
	type row struct {
		Client    int32    `parquet:"client"`
		Iteration int32    `parquet:"iteration"`
		Duration  float64  `parquet:"duration_s"`
		Requests  int64    `parquet:"requests"`
		Errors    int64    `parquet:"errors"`
		Mean      *float64 `parquet:"mean_ms,optional"`
	}
	rows, err := parquet.ReadFile[row](filepath.Join(dir, result.IterationsFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		sum := iterationSum{requests: r.Requests, errors: r.Errors, to: int64(r.Duration * 1e9)}
		if r.Mean != nil {
			sum.seconds = *r.Mean / 1e3 * float64(r.Requests-r.Errors)
		}
		byIterations[iterationKey{r.Client, r.Iteration}] = sum
	}
	return byRequests, byIterations
}

func near(a, b float64) bool { return a-b < 1e-6 && b-a < 1e-6 }

// A counted loop sends exactly its requests, whatever fails, over however many threads; its iterations are its requests.
func TestCountedLoopSendsExactlyItsRequests(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                      string
		keys                      map[string]any
		clients, each, iterations int64
		warm, failed              int
	}{
		{"one client", map[string]any{"clients": 1, "requests": 30, "iterations": 4}, 1, 30, 4, 0, 0},
		{"threads", map[string]any{"clients": 7, "requests": 11, "iterations": 3}, 7, 11, 3, 0, 0},
		{"some fail", map[string]any{"clients": 5, "requests": 9, "iterations": 2}, 5, 9, 2, 0, 13},
		{"all together", map[string]any{"clients": 4, "total": 403}, 4, 0, 1, 0, 0},
		{"after a warm-up", map[string]any{"clients": 3, "requests": 20, "warmup_requests": 50}, 3, 20, 1, 50, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(conn net.Conn, path string, n int) bool {
				if n < c.failed {
					return raw("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", true)(conn, path, n)
				}
				return ok(conn, path, n)
			})
			plan := s.closed(t, map[string]any{"threads": min(c.clients, 3), "duration_s": 600, "closed": c.keys, "record_requests": true})
			summary, dir := drive(t, plan)
			want := c.clients * c.each * c.iterations
			if c.each == 0 {
				want = 403
			}
			if got := len(s.seen()); got != int(want)+c.warm {
				t.Errorf("%d requests came, %d were to be sent", got, int(want)+c.warm)
			}
			counts := summary.Counts
			if counts.Sent != want || summary.Planned != want || counts.Completed != want-int64(c.failed) || counts.Errors != int64(c.failed) {
				t.Errorf("planned %d: %+v", summary.Planned, counts)
			}
			byRequests, byIterations := iterationsOf(t, dir)
			if len(byIterations) != int(c.clients*c.iterations) || len(byRequests) != len(byIterations) {
				t.Fatalf("%d iterations, by requests %d", len(byIterations), len(byRequests))
			}
			total := 0.0
			for key, r := range byRequests {
				i := byIterations[key]
				if i.requests != r.requests || i.errors != r.errors || !near(i.seconds, r.seconds) || !near(float64(i.to)/1e9, float64(r.to-r.from)/1e9) {
					t.Errorf("%+v: %+v, by requests %+v", key, i, r)
				}
				total += float64(i.to) / 1e9
			}
			of := summary.Iterations
			if of == nil || of.Count != c.clients*c.iterations || !near(of.TotalS, total) || !near(of.MeanS*float64(of.Count), total) ||
				(of.SdS == nil) != (of.Count == 1) {
				t.Errorf("iterations %+v, total %g", of, total)
			}
			if summary.WindowS <= 0 || summary.WindowS > 60 || len(summary.Batches) != 0 || len(summary.Series.MeanMs) != result.Steps {
				t.Errorf("window of %g s, %d batches", summary.WindowS, len(summary.Batches))
			}
			if (c.warm > 0) != (summary.BeginsS > 0) {
				t.Errorf("begins at %g s", summary.BeginsS)
			}
		})
	}
}

// A warm-up by time is uncounted: the count begins after it.
func TestCountedLoopAfterAWarmupByTime(t *testing.T) {
	t.Parallel()
	s := serve(t, func(conn net.Conn, path string, n int) bool {
		time.Sleep(2 * time.Millisecond)
		return ok(conn, path, n)
	})
	summary, _ := drive(t, s.closed(t, map[string]any{"warmup_s": 0.2, "duration_s": 600, "closed": map[string]any{"clients": 3, "requests": 10}}))
	if summary.OfferedRate != nil {
		t.Errorf("clients that wait offer %g/s", *summary.OfferedRate)
	}
	if summary.Counts.Sent != 30 || len(s.seen()) <= 30 || summary.BeginsS < 0.2 {
		t.Errorf("%d came, from %g s: %+v", len(s.seen()), summary.BeginsS, summary.Counts)
	}
}

// What the limit cuts off is not sent, and the summary shows that the count was not reached.
func TestCountedLoopEndsAtItsLimit(t *testing.T) {
	t.Parallel()
	s := serve(t, func(conn net.Conn, path string, n int) bool { return n >= 5 || ok(conn, path, n) })
	summary, _ := drive(t, s.closed(t, map[string]any{"duration_s": 0.3, "drain_s": 0.1, "closed": map[string]any{"clients": 1, "requests": 10}}))
	if c := summary.Counts; summary.Planned != 10 || c.Offered != 6 || c.InFlight != 1 || summary.Iterations != nil {
		t.Errorf("planned %d, %+v, %+v", summary.Planned, c, summary.Iterations)
	}
}

// The window of a counted loop is announced when it begins and ends, and the end is estimated on the way.
func TestCountedLoopReportsItsProgress(t *testing.T) {
	t.Parallel()
	s := serve(t, func(conn net.Conn, path string, n int) bool {
		time.Sleep(25 * time.Millisecond)
		return ok(conn, path, n)
	})
	plan := s.closed(t, map[string]any{"duration_s": 600, "closed": map[string]any{"clients": 1, "requests": 60, "warmup_requests": 20}})
	var lines bytes.Buffer
	if _, err := Run(context.Background(), plan, t.TempDir(), &lines); err != nil {
		t.Fatal(err)
	}
	var edges []string
	var last result.Progress
	for line := range strings.Lines(lines.String()) {
		var mark WindowMark
		if json.Unmarshal([]byte(line), &mark) == nil && mark.Window != "" {
			edges = append(edges, mark.Window)
			continue
		}
		if err := json.Unmarshal([]byte(line), &last); err != nil {
			t.Fatal(err)
		}
		if last.Of > 10 && last.Counted > 0 {
			t.Errorf("%s: the window would end after its limit", line)
		}
	}
	if strings.Join(edges, " ") != "begin end" || last.Counted != 80 || last.Planned != 80 || !near(last.Of, last.T) {
		t.Errorf("edges %v, last %+v", edges, last)
	}
}

// A paced loop sends at its pace; while the server stalls its clients wait, and the slots that pass are missed and
// counted, not made up for.
func TestPaceIsNotMadeUpFor(t *testing.T) {
	t.Parallel()
	const pace, clients, window, stall = 20, 3, 5.0, 2 * time.Second
	ended := sync.OnceValue(func() time.Time { return time.Now().Add(stall) })
	s := serve(t, func(conn net.Conn, path string, n int) bool {
		if n >= 30 && n < 30+clients { // the requests that meet the stall: all clients wait
			time.Sleep(time.Until(ended()))
		}
		return ok(conn, path, n)
	})
	plan := s.closed(t, map[string]any{"duration_s": window, "closed": map[string]any{"clients": clients, "pace": pace}})
	summary, _ := drive(t, plan)
	if summary.Loop != "closed" || summary.SlotsMissed == nil {
		t.Fatalf("loop %s, missed %v", summary.Loop, summary.SlotsMissed)
	}
	// Each slot of the window is used once or missed. Of those in the stall each client uses one before and one late.
	missed, sent := *summary.SlotsMissed, summary.Counts.Sent
	if sent+missed != pace*window || missed < int64(pace*stall.Seconds())-2*clients {
		t.Errorf("%d sent and %d missed of %g slots", sent, missed, pace*window)
	}
}
