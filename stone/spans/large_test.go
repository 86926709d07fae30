package spans

import (
	"bytes"
	"errors"
	"io"
	"math"
	"net/http"
	"runtime"
	"strings"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// large is a request of this many MiB, of several spans.
func large(t *testing.T, mib int) []byte {
	all := make([]*trace.Span, 0, 2*mib)
	for i := range 2 * mib {
		all = append(all, made(1, uint64(1+i), func(s *trace.Span) { s.TraceState = strings.Repeat("x", 1<<19) }))
	}
	return request(t, nil, all...)
}

func TestRequestsAreTakenUpTo64MiB(t *testing.T) {
	r, _ := began(t, small)
	address, url := receiver(t, r)
	client := dial(t, address)
	reporting := metadata.AppendToOutgoingContext(t.Context(), InstanceKey, "rate-1", ProducedKey, "1000", DroppedKey, "0")
	for _, mib := range []int{5, 60} {
		body := large(t, mib)
		if _, err := client.Export(reporting, parsed(t, body)); err != nil {
			t.Errorf("%d MiB over gRPC: %v", mib, err)
		}
		answer, err := http.Post(url, typeProtobuf, bytes.NewReader(body))
		if err != nil || answer.StatusCode != 200 {
			t.Fatalf("%d MiB over HTTP: %v, %v", mib, answer, err)
		}
		_ = answer.Body.Close()
	}
	for name, option := range map[string]grpc.CallOption{"as it is": grpc.EmptyCallOption{}, "gzip": grpc.UseCompressor(gzip.Name)} {
		_, err := client.Export(reporting, parsed(t, large(t, 65)), option)
		if refused := status.Convert(err); refused.Code() != codes.ResourceExhausted || len(refused.Details()) != 0 {
			t.Errorf("65 MiB over gRPC, %s: %v; no sender should try that again", name, err)
		}
	}
	for r.Counts().Unread < 2 { // gRPC answers before it returns
		runtime.Gosched()
	}
	counts := end(t, r)
	if counts.Received != 2*2*65 || counts.Unread != 2 || counts.Refused != 0 || *counts.Produced != 1000 {
		t.Errorf("%+v", counts)
	}
}

// unknownPacking is a way of packing that the client has and the receiver has not.
type unknownPacking struct{}

func (unknownPacking) Type() string                         { return "unknown" }
func (unknownPacking) Do(to io.Writer, packed []byte) error { _, err := to.Write(packed); return err }

func TestRequestsThatAreNotEvenReadAreCounted(t *testing.T) {
	r := NewRecorder(small, nil)
	address, url := receiver(t, r)
	//lint:ignore SA1019 what encoding registers the receiver knows too
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithCompressor(unknownPacking{}))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	lose := func() {
		body := request(t, nil, made(1, 1))
		if _, err := collector.NewTraceServiceClient(connection).Export(t.Context(), parsed(t, body)); status.Code(err) != codes.Unimplemented {
			t.Errorf("packed in an unknown way: %v", err)
		}
		post, err := http.NewRequest("POST", url, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		post.Header.Set("Content-Type", "application/grpc")
		post.Header.Set(InstanceKey, "rate-1")
		post.Header.Set(ProducedKey, "7")
		answer, err := http.DefaultClient.Do(post)
		if err != nil || answer.StatusCode != http.StatusUnsupportedMediaType {
			t.Fatalf("of another type: %v, %v", answer, err)
		}
		_ = answer.Body.Close()
	}
	lose()
	if counts := r.Counts(); counts.Unread != 2 {
		t.Errorf("before: %+v", counts)
	}
	begin(t, r)
	lose()
	if counts := end(t, r); counts.Unread != 2 || *counts.Replicas["rate-1"].Produced != 0 {
		t.Errorf("during: %+v", counts)
	}
}

func TestABatchThatNoPiecesCanHoldIsTakenAlone(t *testing.T) {
	r, file := began(t, Budget{PieceSpans: 4, Pieces: 2, Waiting: 1 << 20})
	var all []*trace.Span
	for i := range 50 {
		all = append(all, made(1, uint64(50-i)))
	}
	const requests = 5
	for range requests {
		for {
			_, err := r.Take(t.Context(), request(t, nil, all...), Sender{})
			if err == nil {
				break
			}
			if !errors.Is(err, ErrFull) { // the one before is not written yet
				t.Fatal(err)
			}
		}
		take(t, r, request(t, nil, made(2, 1)), Sender{})
	}
	counts := end(t, r)
	if counts.Received != requests*51 || counts.Written != requests*51 || len(rows(t, file)) != requests*51 {
		t.Errorf("%+v", counts)
	}
}

// One such span made readers refuse a whole file.
func TestSpansWithTimesThatCannotBeAreLeftAtTheDoor(t *testing.T) {
	at := func(start, end uint64) func(*trace.Span) {
		return func(s *trace.Span) { s.StartTimeUnixNano, s.EndTimeUnixNano = start, end }
	}
	r, file := began(t, small)
	rejected, err := r.Take(t.Context(), request(t, nil,
		made(1, 1, at(0, 1e18)), made(1, 2, at(0, 0)), made(1, 3, at(1<<62+1, 0)), made(1, 4, at(1, 1<<61)), made(1, 5, at(5, math.MaxUint64)),
		made(1, 6, at(math.MaxUint64, 0)), made(1, 7), made(1, 8, at(1<<62-1, 1<<62+1<<60-2)), made(1, 9, at(1, 0)), made(1, 10, at(7, 6)),
	), Sender{})
	if err != nil || rejected != 7 {
		t.Errorf("%d rejected, %v", rejected, err)
	}
	if counts := end(t, r); counts.Unreadable != 7 || counts.Received != 3 {
		t.Errorf("%+v", counts)
	}
	for _, row := range rows(t, file) {
		if row.Start <= 0 || row.Start >= latestStart || row.Duration < unfinished || row.Duration >= longestDuration {
			t.Errorf("%+v", row)
		}
	}
}
