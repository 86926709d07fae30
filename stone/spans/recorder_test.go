package spans

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
)

// small makes a test fill several pieces.
var small = Budget{PieceSpans: 100, Pieces: 50, Waiting: 1 << 20}

// began makes a recorder with a running trial.
func began(t *testing.T, budget Budget) (*Recorder, string) {
	t.Helper()
	r, file := NewRecorder(budget, nil), filepath.Join(t.TempDir(), "spans.parquet")
	if err := r.Begin(file, 0); err != nil {
		t.Fatal(err)
	}
	return r, file
}

func take(t *testing.T, r *Recorder, request []byte, from Sender) {
	t.Helper()
	if rejected, err := r.Take(t.Context(), request, from); err != nil || rejected != 0 {
		t.Fatalf("taken: %v, %d rejected", err, rejected)
	}
}

func end(t *testing.T, r *Recorder) Counts {
	t.Helper()
	counts, err := r.End(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return counts
}

func rows(t *testing.T, file string) []Row {
	t.Helper()
	all, err := parquet.ReadFile[Row](file)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func byTraceAndStart(a, b Row) int {
	if order := bytes.Compare(a.TraceID[:], b.TraceID[:]); order != 0 {
		return order
	}
	return int(a.Start - b.Start)
}

func TestATrialBecomesASortedFile(t *testing.T) {
	r, file := began(t, small)
	const traces, each = 40, 30
	numbers := rand.New(rand.NewPCG(1, 2)).Perm(traces * each)
	for chunk := range slices.Chunk(numbers, 7) { // in no order, over several pieces
		var some []*trace.Span
		for _, n := range chunk {
			some = append(some, made(byte(1+n%traces), uint64(1+n), func(s *trace.Span) {
				s.StartTimeUnixNano, s.EndTimeUnixNano = 2e18-uint64(n), 2e18 // later ones begin earlier
				if n >= traces {
					s.ParentSpanId = binary.BigEndian.AppendUint64(nil, uint64(1+n%traces))
				}
			}))
		}
		for {
			_, err := r.Take(t.Context(), request(t, nil, some...), Sender{})
			if err == nil {
				break
			}
			if !errors.Is(err, ErrFull) { // a slow disk
				t.Fatal(err)
			}
		}
	}
	counts := end(t, r)
	if counts.Received != traces*each || counts.Written != traces*each || *counts.Traces != traces || *counts.Roots != traces || counts.Recording || !counts.Quiet {
		t.Errorf("counts %+v", counts)
	}
	all := rows(t, file)
	if len(all) != traces*each || !slices.IsSortedFunc(all, byTraceAndStart) {
		t.Errorf("%d rows, sorted: %t", len(all), slices.IsSortedFunc(all, byTraceAndStart))
	}
	ids := map[uint64]bool{}
	for _, row := range all {
		ids[row.SpanID] = true
		want := Row{TraceID: row.TraceID, SpanID: row.SpanID, ParentID: row.ParentID, Operation: "GET /hotels", Kind: 2,
			Start: 2e18 + 1 - int64(row.SpanID), Duration: int64(row.SpanID) - 1}
		if row != want || row.TraceID[15] != byte(1+(row.SpanID-1)%traces) {
			t.Fatalf("row %+v, want %+v", row, want)
		}
	}
	if len(ids) != traces*each {
		t.Errorf("%d different spans", len(ids))
	}
	left, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(left) != 1 {
		t.Errorf("beside the file: %v, %v", left, err)
	}
}

func TestAnEmptyTrialIsAFileWithoutRows(t *testing.T) {
	r, file := began(t, small)
	counts := end(t, r)
	if all := rows(t, file); len(all) != 0 || *counts.Traces != 0 || counts.Produced != nil || counts.Replicas == nil {
		t.Errorf("%d rows, %+v", len(all), counts)
	}
}

func TestWhatDoesNotFitIsRefusedAndCounted(t *testing.T) {
	r, file := began(t, Budget{PieceSpans: 4, Pieces: 1, Waiting: 1 << 20})
	five := request(t, nil, made(1, 1), made(1, 2), made(1, 3), made(1, 4), made(1, 5))
	take(t, r, request(t, nil, made(1, 6), made(1, 7)), Sender{})
	if _, err := r.Take(t.Context(), request(t, nil, made(1, 1), made(1, 2), made(1, 3)), Sender{}); !errors.Is(err, ErrFull) {
		t.Errorf("three spans into a room for two: %v", err)
	}
	counts := end(t, r)
	if counts.Refused != 3 || counts.Received != 2 || counts.Written != 2 || len(rows(t, file)) != 2 {
		t.Errorf("%+v", counts)
	}

	r, _ = began(t, Budget{PieceSpans: 4, Pieces: 1, Waiting: 80})
	if _, err := r.Take(t.Context(), five, Sender{}); !errors.Is(err, ErrFull) {
		t.Errorf("a request of %d bytes where 80 may wait: %v", len(five), err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Take(gone, request(t, nil, made(1, 1)), Sender{}); !errors.Is(err, ErrFull) {
		t.Errorf("a sender that waits no longer: %v", err)
	}
	if counts := end(t, r); counts.Refused != 6 || counts.Received != 0 {
		t.Errorf("%+v", counts)
	}
}

func TestUnreadableRequestsLeaveNothing(t *testing.T) {
	r, file := began(t, small)
	good := request(t, nil, made(1, 1), made(1, 2))
	for _, bad := range [][]byte{{0xff}, good[:len(good)-3], append(slices.Clone(good), 0x0a)} {
		if _, err := r.Take(t.Context(), bad, Sender{}); !errors.Is(err, ErrBad) || !strings.Contains(err.Error(), "no ExportTraceServiceRequest") {
			t.Errorf("%x: %v", bad, err)
		}
	}
	rejected, err := r.Take(t.Context(), request(t, nil, made(1, 0), made(1, 3)), Sender{})
	if rejected != 1 || err != nil {
		t.Errorf("a span without an id: %d rejected, %v", rejected, err)
	}
	if counts := end(t, r); counts.Unread != 3 || counts.Unreadable != 1+2 || counts.Received != 1 || len(rows(t, file)) != 1 {
		t.Errorf("%+v", counts)
	}
}

func TestSpansBetweenTrialsAreOutside(t *testing.T) {
	r := NewRecorder(small, nil)
	take(t, r, request(t, nil, made(1, 1), made(1, 2)), Sender{})
	if _, err := r.Take(t.Context(), []byte{0xff}, Sender{}); !errors.Is(err, ErrBad) {
		t.Error(err)
	}
	if counts := r.Counts(); counts.Outside != 2 || counts.Unread != 1 || counts.Recording {
		t.Errorf("before: %+v", counts)
	}
	file := filepath.Join(t.TempDir(), "spans.parquet")
	for _, outside := range []int64{2, 0} {
		if err := r.Begin(file, 0); err != nil {
			t.Fatal(err)
		}
		take(t, r, request(t, nil, made(1, 3)), Sender{})
		if counts := r.Counts(); !counts.Recording || counts.Received != 1 || counts.Traces != nil {
			t.Errorf("during: %+v", counts)
		}
		if counts := end(t, r); counts.Outside != outside || counts.Received != 1 || counts.Unread != 0 || len(rows(t, file)) != 1 {
			t.Errorf("after: %+v", counts)
		}
	}
}

func TestWhatEndedBeforeATrialIsOutside(t *testing.T) {
	ended := func(n uint64) int64 { return int64(1e18 + 1000*n + 500) }
	unfinished := func(s *trace.Span) { s.EndTimeUnixNano = 0 }
	r, file := NewRecorder(small, nil), filepath.Join(t.TempDir(), "spans.parquet")
	if err := r.Begin(file, ended(3)); err != nil {
		t.Fatal(err)
	}
	from := Sender{Instance: "geo-1", Produced: 4}
	take(t, r, request(t, nil, made(1, 2), made(1, 3), made(1, 4), made(1, 1, unfinished)), from)
	take(t, r, request(t, nil, made(1, 1)), Sender{})
	counts := end(t, r)
	if counts.Outside != 2 || counts.Received != 3 || counts.Written != 3 || *counts.Produced != 3 || len(rows(t, file)) != 3 {
		t.Errorf("%+v", counts)
	}
	if of := counts.Replicas["geo-1"]; of.Received != 3 || *of.Produced != 3 {
		t.Errorf("%+v", of)
	}
}

func TestTheEndWaitsForSilence(t *testing.T) {
	r, _ := began(t, small)
	take(t, r, request(t, nil, made(1, 1)), Sender{})
	if counts, err := r.End(time.Hour, time.Millisecond); err != nil || counts.Quiet {
		t.Errorf("no silence of an hour: %+v, %v", counts, err)
	}

	r, _ = began(t, small) // whatever came before: a sender may hold the last ones
	if counts, err := r.End(time.Hour, time.Millisecond); err != nil || counts.Quiet {
		t.Errorf("silence before the end: %+v, %v", counts, err)
	}

	r, file := began(t, small)
	take(t, r, request(t, nil, made(1, 1)), Sender{})
	ended := make(chan Counts)
	go func() {
		counts, _ := r.End(time.Hour, time.Hour)
		ended <- counts
	}()
	untilItWaits(r)
	take(t, r, request(t, nil, made(1, 2)), Sender{}) // while it waits: still of the trial
	if err := r.Begin(filepath.Join(t.TempDir(), "x"), 0); !errors.Is(err, ErrConflict) {
		t.Errorf("begun while one ends: %v", err)
	}
	if _, err := r.End(0, 0); !errors.Is(err, ErrConflict) {
		t.Errorf("ended twice: %v", err)
	}
	untilItWaits(r)
	r.lock.Lock()
	r.last = time.Now().Add(-2 * time.Hour) // silence
	close(r.arrived)
	r.arrived = nil
	r.lock.Unlock()
	if err := r.Close(); err != nil || len(rows(t, file)) != 2 {
		t.Errorf("closed while one ends: %v", err)
	}
	if counts := <-ended; !counts.Quiet || counts.Received != 2 {
		t.Errorf("%+v", counts)
	}
	if err := r.Close(); err != nil {
		t.Errorf("closed without a trial: %v", err)
	}
}

// untilItWaits returns when an End waits for silence.
func untilItWaits(r *Recorder) {
	for waits := false; !waits; runtime.Gosched() {
		r.lock.Lock()
		waits = r.arrived != nil
		r.lock.Unlock()
	}
}

func TestTrialsThatCannotBe(t *testing.T) {
	r := NewRecorder(small, nil)
	folder := t.TempDir()
	for file, says := range map[string]string{
		"spans.parquet": `"spans.parquet" is no absolute path`, folder: "is a folder", "/no/such/spans.parquet": "no such file",
		"/proc/spans.parquet": "cannot write there", filepath.Join(folder, "a"+PiecesSuffix): "take another name",
	} {
		if err := r.Begin(file, 0); !errors.Is(err, ErrBad) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", file, err, says)
		}
	}
	if _, err := r.End(0, 0); !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), "begin one first") {
		t.Errorf("an end without a begin: %v", err)
	}
	file := filepath.Join(folder, "spans.parquet")
	if err := r.Begin(file, 0); err != nil {
		t.Fatal(err)
	}
	if err := r.Begin(file, 0); !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), file) {
		t.Errorf("two at once: %v", err)
	}
	if err := NewRecorder(small, nil).Begin(file, 0); !errors.Is(err, ErrBad) || !strings.Contains(err.Error(), "another process") {
		t.Errorf("two receivers: %v", err)
	}
	end(t, r)
}
