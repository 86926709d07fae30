package tracing

import (
	"context"
	"strconv"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

const (
	attemptTimeout = 5 * time.Second
	patience       = 10 * time.Second // with one batch
	firstPause     = 100 * time.Millisecond
	longestPause   = time.Second
)

// Metadata of each request to a collector: who sends, and the counts of its spans for this one, so that the collector
// knows what is missing.
const (
	instanceKey = "stone-instance"
	producedKey = "stone-spans-produced"
	droppedKey  = "stone-spans-dropped"
)

// uploader sends batches to a collector.
type uploader struct {
	collector collector.TraceServiceClient
	encoder   *encoder
	instance  string
	counts    *counts
	stopping  <-chan struct{}
}

// dial prepares a client of the collector, whose name is looked up whenever it connects.
func dial(address string) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		grpc.WithIdleTimeout(0),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: firstPause, Multiplier: 1.6, Jitter: 0.2, MaxDelay: longestPause},
			MinConnectTimeout: longestPause,
		}),
	)
}

func newUploader(connection *grpc.ClientConn, instance string, of []byte, counts *counts, stopping <-chan struct{}) *uploader {
	return &uploader{collector.NewTraceServiceClient(connection), newEncoder(of), instance, counts, stopping}
}

// send sends one batch, again after a while if the collector is away or has no room, but not when the service
// stops. What a collector refuses of a batch counts as dropped; with an error it is the whole.
func (u *uploader) send(ctx context.Context, spans []span) error {
	request := &collector.ExportTraceServiceRequest{}
	request.ProtoReflect().SetUnknown(u.encoder.request(spans)) // its fields, as they are on the wire
	began := time.Now()
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		answer, err := u.attempt(ctx, request)
		if err == nil {
			u.counts.dropped.add(answer.GetPartialSuccess().GetRejectedSpans())
			return nil
		}
		if !mayPass(err) || time.Since(began)+pause > patience {
			return err
		}
		select {
		case <-u.stopping:
			return err
		case <-time.After(pause):
		}
	}
}

func (u *uploader) attempt(ctx context.Context, request *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx,
		instanceKey, u.instance,
		producedKey, strconv.FormatInt(u.counts.produced.own.Load(), 10),
		droppedKey, strconv.FormatInt(u.counts.dropped.own.Load(), 10),
	)
	return u.collector.Export(ctx, request)
}

// mayPass says whether a failure may be gone soon. A timeout is not tried again: the collector may have the batch, and
// would then have it twice.
func mayPass(err error) bool {
	code := status.Code(err)
	return code == codes.Unavailable || code == codes.ResourceExhausted
}
