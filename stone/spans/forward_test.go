package spans

import (
	"net"
	"runtime"
	"testing"

	trace "go.opentelemetry.io/proto/otlp/trace/v1"
)

// forwarding makes a recorder that sends on to an address.
func forwarding(t *testing.T, address string, most int64) (*Recorder, *Forwarder) {
	t.Helper()
	forward, err := Forward(address, most)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(forward.Close)
	return NewRecorder(small, forward), forward
}

func begin(t *testing.T, r *Recorder) {
	t.Helper()
	if err := r.Begin(t.TempDir()+"/spans.parquet", 0); err != nil {
		t.Fatal(err)
	}
}

func TestTheSameSpansAreSentOn(t *testing.T) {
	next, file := began(t, small)
	address, _ := receiver(t, next)
	r, forward := forwarding(t, address, 1<<20)
	take(t, r, request(t, nil, made(1, 1)), Sender{}) // also outside of trials
	for sent, _ := forward.counts(); sent < 1; sent, _ = forward.counts() {
		runtime.Gosched()
	}
	begin(t, r)
	take(t, r, request(t, nil, made(2, 2), made(2, 3)), Sender{})
	for sent, _ := forward.counts(); sent < 3; sent, _ = forward.counts() {
		runtime.Gosched()
	}
	if counts := r.Counts(); counts.Forwarded != 2 || counts.NotForwarded != 0 {
		t.Errorf("in the trial: %+v", counts)
	}
	if counts := end(t, r); counts.Forwarded != 2 || counts.Received != 2 {
		t.Errorf("%+v", counts)
	}
	if counts := end(t, next); counts.Received != 3 || len(rows(t, file)) != 3 {
		t.Errorf("at the other end: %+v", counts)
	}
}

// What the other end rejects was not accepted there.
func TestSpansThatAreRejectedAtTheOtherEnd(t *testing.T) {
	address, _ := receiver(t, NewRecorder(small, nil)) // outside of trials it looks into no span
	next, _ := began(t, small)
	strict, _ := receiver(t, next)
	for to, want := range map[string]int64{address: 2, strict: 1} {
		r, forward := forwarding(t, to, 1<<20)
		begin(t, r)
		cut := func(s *trace.Span) { s.SpanId = s.SpanId[:4] }
		if rejected, err := r.Take(t.Context(), request(t, nil, made(1, 1), made(1, 2, cut)), Sender{}); err != nil || rejected != 1 {
			t.Fatal(rejected, err)
		}
		for sent, unsent := forward.counts(); sent+unsent < 2; sent, unsent = forward.counts() {
			runtime.Gosched()
		}
		if counts := end(t, r); counts.Forwarded != want || counts.NotForwarded != 2-want {
			t.Errorf("%+v; want %d forwarded", counts, want)
		}
	}
}

func TestATrialIsIndependentOfItsForwarder(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := gone.Addr().String()
	_ = gone.Close()
	r, forward := forwarding(t, address, 1<<20) // no listener
	begin(t, r)
	take(t, r, request(t, nil, made(1, 1)), Sender{})
	for _, unsent := forward.counts(); unsent < 1; _, unsent = forward.counts() {
		runtime.Gosched()
	}
	if counts := end(t, r); counts.NotForwarded != 1 || counts.Forwarded != 0 || counts.Written != 1 {
		t.Errorf("%+v", counts)
	}

	r, _ = forwarding(t, address, 10) // no room to wait
	begin(t, r)
	take(t, r, request(t, nil, made(1, 1), made(1, 2)), Sender{})
	if counts := end(t, r); counts.NotForwarded != 2 || counts.Written != 2 {
		t.Errorf("%+v", counts)
	}
}
