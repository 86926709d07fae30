package spans

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// forwardWithin is how long one request may take to be sent on.
const forwardWithin = 10 * time.Second

// Forwarder sends requests on to another receiver of OTLP over gRPC, one after the other. Only requests to
// it wait: what finds no room, no answer or a refusal is counted and forgotten.
type Forwarder struct {
	connection *grpc.ClientConn
	most       int64
	waiting    atomic.Int64 // bytes
	queue      chan forwarded
	ended      chan struct{}
	cancel     context.CancelFunc
	once       sync.Once
	sent       atomic.Int64 // spans
	unsent     atomic.Int64
}

type forwarded struct {
	request []byte
	spans   int64
}

// Forward makes a forwarder to host:port, which may come later. It holds at most this many bytes.
func Forward(address string, most int64) (*Forwarder, error) {
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDisableRetry())
	if err != nil {
		return nil, fmt.Errorf("%w: cannot send spans on to %q: %w", ErrBad, address, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	f := &Forwarder{connection: connection, most: most, queue: make(chan forwarded, 1<<12), ended: make(chan struct{}), cancel: cancel}
	go f.run(ctx)
	return f, nil
}

// add lets a copy of a request wait for being sent.
func (f *Forwarder) add(request []byte, spans int64) {
	size := int64(len(request))
	if f.waiting.Add(size) <= f.most {
		select {
		case f.queue <- forwarded{bytes.Clone(request), spans}:
			return
		default:
		}
	}
	f.waiting.Add(-size)
	f.unsent.Add(spans)
}

func (f *Forwarder) run(ctx context.Context) {
	defer close(f.ended)
	for {
		select {
		case <-ctx.Done():
			return
		case next := <-f.queue:
			rejected := next.spans
			if answer, err := f.sendOne(ctx, next.request); err == nil {
				rejected = min(max(answer, 0), next.spans)
			}
			f.sent.Add(next.spans - rejected)
			f.unsent.Add(rejected)
			f.waiting.Add(-int64(len(next.request)))
		}
	}
}

// sendOne returns how many spans of the request were rejected at the other end.
func (f *Forwarder) sendOne(ctx context.Context, request []byte) (rejected int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, forwardWithin)
	defer cancel()
	var reply message
	err = f.connection.Invoke(ctx, exportPath, &message{mem.SliceBuffer(request)}, &reply, grpc.ForceCodecV2(wireCodec{}))
	if reply.bytes != nil {
		rejected = rejectedSpans(reply.bytes.ReadOnlyData())
		reply.bytes.Free()
	}
	return rejected, err
}

// rejectedSpans are those of an ExportTraceServiceResponse with a partial success.
func rejectedSpans(response []byte) (spans int64) {
	_ = inside(response, 1, func(partial []byte) error {
		return fields(partial, func(number protowire.Number, kind protowire.Type, _ []byte, value uint64) error {
			if number == 1 && kind == protowire.VarintType {
				spans = int64(value)
			}
			return nil
		})
	})
	return spans
}

// counts are the spans that were sent on and not sent on since it began. Without a forwarder there are none.
func (f *Forwarder) counts() (sent, unsent int64) {
	if f == nil {
		return 0, 0
	}
	return f.sent.Load(), f.unsent.Load()
}

// Close gives up what waits.
func (f *Forwarder) Close() {
	f.once.Do(func() {
		f.cancel()
		<-f.ended
		_ = f.connection.Close()
	})
}
