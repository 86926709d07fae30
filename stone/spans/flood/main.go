// Command flood sends made-up spans to a receiver of OTLP over gRPC, at a rate or as fast as it takes them: for
// benchmarks of `stone spans`. It never sends anything twice, so that what was accepted is what must be in the file.
// What is more than two seconds late it gives up, as an exporter's full queue would. It tells how many it made and lost.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// tally is what became of the spans.
type tally struct {
	Offered  int64   `json:"offered"`
	Accepted int64   `json:"accepted"`
	Refused  int64   `json:"refused"`
	Failed   int64   `json:"failed"`
	GivenUp  int64   `json:"given_up"`
	Bytes    int64   `json:"bytes"`
	Seconds  float64 `json:"seconds"` // from the first batch to the last answer
}

// raw is a codec for messages that are bytes already.
type raw struct{ encoding.CodecV2 }

func (raw) Name() string { return "proto" }

func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

func main() {
	to := flag.String("to", "127.0.0.1:4317", "receiver")
	rate := flag.Float64("rate", 0, "spans per second; 0: as fast as they are taken")
	spans := flag.Int64("spans", 1_000_000, "how many")
	connections := flag.Int("connections", 8, "connections")
	atOnce := flag.Int("at-once", 1, "requests at a time on each")
	flag.Parse()
	found, err := send(*to, *rate, *spans, *connections, *atOnce)
	if err != nil {
		fmt.Fprintln(os.Stderr, "flood:", err)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(found)
}

// late is how far behind its time a batch is given up.
const late = 2 * time.Second

// flood is what all connections share.
type flood struct {
	rate    float64
	batches int64
	senders int64
	start   time.Time
	found   tally
	lock    sync.Mutex // guards found
}

// send offers batches, each due at its time, by connections*atOnce senders in turn.
func send(to string, rate float64, spans int64, connections, atOnce int) (tally, error) {
	f := &flood{rate: rate, batches: (spans + batchSpans - 1) / batchSpans, senders: int64(connections * atOnce), start: time.Now()}
	var group sync.WaitGroup
	for number := range connections {
		connection, err := grpc.NewClient(to, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDisableRetry(),
			grpc.WithDefaultCallOptions(grpc.ForceCodecV2(raw{}), grpc.WaitForReady(true)))
		if err != nil {
			return tally{}, err
		}
		defer connection.Close()
		l := &link{connection: connection, name: fmt.Sprintf("flood-%d", number)}
		group.Go(func() {
			var lanes sync.WaitGroup
			for lane := range atOnce {
				lanes.Go(func() { f.lane(l, int64(number*atOnce+lane)) })
			}
			lanes.Wait()
			_ = l.export(nil) // tells the last numbers
		})
	}
	group.Wait()
	f.found.Seconds = time.Since(f.start).Seconds()
	return f.found, nil
}

// lane sends every senders-th batch from the first on, one after the other.
func (f *flood) lane(l *link, first int64) {
	var batch []byte
	for number := first; number < f.batches; number += f.senders {
		if f.rate > 0 {
			due := f.start.Add(time.Duration(float64(number*batchSpans) / f.rate * float64(time.Second)))
			time.Sleep(time.Until(due))
			if time.Since(due) > late {
				l.produced.Add(batchSpans)
				l.dropped.Add(batchSpans)
				f.count(func(t *tally) { t.Offered += batchSpans; t.GivenUp += batchSpans })
				continue
			}
		}
		batch = appendBatch(batch[:0], number)
		l.produced.Add(batchSpans)
		err := l.export(batch)
		if err != nil {
			l.dropped.Add(batchSpans)
		}
		f.count(func(t *tally) {
			t.Offered += batchSpans
			t.Bytes += int64(len(batch))
			switch status.Code(err) {
			case codes.OK:
				t.Accepted += batchSpans
			case codes.ResourceExhausted:
				t.Refused += batchSpans
			default:
				t.Failed += batchSpans
			}
		})
	}
}

func (f *flood) count(change func(*tally)) {
	f.lock.Lock()
	defer f.lock.Unlock()
	change(&f.found)
}

// link is one connection: to the receiver it is a replica.
type link struct {
	connection        *grpc.ClientConn
	name              string
	produced, dropped atomic.Int64
}

func (l *link) export(batch []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, "stone-instance", l.name,
		"stone-spans-produced", fmt.Sprint(l.produced.Load()), "stone-spans-dropped", fmt.Sprint(l.dropped.Load()))
	var reply []byte
	return l.connection.Invoke(ctx, "/opentelemetry.proto.collector.trace.v1.TraceService/Export", &batch, &reply)
}
