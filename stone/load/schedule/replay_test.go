package schedule

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"loadstone.dev/stone/load/mistake"
)

// recordedTrace is a trace of 5000 irregular times over about 10 s, the times in ns.
func recordedTrace(t *testing.T) (path string, offsets []int64) {
	var text strings.Builder
	at := int64(1700000000_000000000)
	for i := range int64(5000) {
		offsets = append(offsets, at-1700000000_000000000)
		fmt.Fprintf(&text, "%d.%09d\n", at/1e9, at%1e9)
		at += (i*i*7919+13)%4_000_000 + 1
	}
	return traceFile(t, "t.csv", []byte(text.String())), offsets
}

// measuredTimes are the times of the measured window, from its beginning.
func measuredTimes(s Schedule) (at []int64) {
	for _, due := range times(s) {
		if s.Measured(due) {
			at = append(at, due-s.From)
		}
	}
	return at
}

func TestReplayIsExact(t *testing.T) {
	path, offsets := recordedTrace(t)
	for _, warmup := range []float64{0, 1, 0.333333333} {
		have := measuredTimes(scheduleFor(t, fmt.Sprintf(`{"process":"replay","file":%q}`, path), warmup, 5, 1))
		count := 0
		for count < len(offsets) && offsets[count] < 5e9 {
			count++
		}
		if fmt.Sprint(have) != fmt.Sprint(offsets[:count]) || count < 1000 {
			t.Errorf("warm-up %g s: %d requests, want %d, to the nanosecond", warmup, len(have), count)
		}
	}
}

func TestReplayAtAnotherSpeed(t *testing.T) {
	path, offsets := recordedTrace(t)
	have := measuredTimes(scheduleFor(t, fmt.Sprintf(`{"process":"replay","file":%q,"speed":2.5}`, path), 1, 3, 1))
	for i, at := range have {
		if want := float64(offsets[i]) / 2.5; math.Abs(float64(at)-want) > 1.5 {
			t.Fatalf("request %d at %d ns, want %g", i, at, want)
		}
	}
	if len(have) < 1000 || offsets[len(have)] < 7.5e9-3 {
		t.Errorf("%d requests, the next would be due after %d ns of the trace", len(have), offsets[len(have)])
	}
}

func TestReplayAtARate(t *testing.T) {
	path, offsets := recordedTrace(t)
	s := scheduleFor(t, fmt.Sprintf(`{"process":"replay","file":%q,"rate":2000}`, path), 0, 2.5, 1)
	have := measuredTimes(s)
	speed := float64(have[4999]) / float64(offsets[4999])
	if len(have) != 5000 || math.Abs(float64(have[4999])-4999.0/2000*1e9) > 2 {
		t.Fatalf("%d requests until %d ns, want 5000 with a mean gap of 0.5 ms", len(have), have[len(have)-1])
	}
	for i, at := range have {
		if math.Abs(float64(at)-float64(offsets[i])*speed) > 2 {
			t.Fatalf("request %d at %d ns, want %g", i, at, float64(offsets[i])*speed)
		}
	}
	if math.Abs(s.Highest-2000) > 1e-6 {
		t.Errorf("the mean rate is %g/s", s.Highest)
	}
}

// The warm-up plays the beginning, stretched by the ramp; the window begins anew with the first request.
func TestReplayWarmsUpWithItsBeginning(t *testing.T) {
	path, offsets := recordedTrace(t)
	s := scheduleFor(t, fmt.Sprintf(`{"process":"replay","file":%q}`, path), 2, 5, 1)
	at := times(s)
	i := 0
	for ; at[i] < s.From; i++ {
		if want := math.Sqrt(2 * 2e9 * float64(offsets[i])); math.Abs(float64(at[i])-want) > 1 {
			t.Fatalf("request %d of the warm-up at %d ns, want %g", i, at[i], want)
		}
	}
	if offsets[i-1] >= 1e9 || offsets[i] < 1e9 || at[i] != s.From {
		t.Errorf("the warm-up has %d requests, the window begins with one at %d ns", i, at[i])
	}
}

func TestATraceThatCannotBeReplayed(t *testing.T) {
	path, _ := recordedTrace(t)
	equal := traceFile(t, "equal.csv", []byte("7\n7\n7\n"))
	for _, c := range []struct {
		arrival  string
		duration float64
		says     string
	}{
		{fmt.Sprintf(`{"process":"replay","file":%q,"speed":2}`, path), 6, "lasts 5"},
		{fmt.Sprintf(`{"process":"replay","file":%q,"speed":2}`, path), 6, "at 2 times its speed, and duration_s is 6"},
		{fmt.Sprintf(`{"process":"replay","file":%q,"rate":10000}`, path), 0.6, "lasts 0.5 s"},
		{fmt.Sprintf(`{"process":"replay","file":%q}`, equal), 1, "all its 3 times are equal"},
		{`{"process":"replay","file":"/nowhere"}`, 1, "no such file"},
	} {
		a, err := parseArrival(c.arrival, c.duration)
		if err == nil {
			_, err = New(&a, 0, c.duration, 0)
		}
		var mistake *mistake.Error
		if !errors.As(err, &mistake) || mistake.Key != "arrival.file" || !strings.Contains(mistake.Problem, c.says) {
			t.Errorf("got %q, want %q, for %s", err, c.says, c.arrival)
		}
	}
}

func TestAReplayIsSharedToo(t *testing.T) {
	path, _ := recordedTrace(t)
	s := scheduleFor(t, fmt.Sprintf(`{"process":"replay","file":%q}`, path), 1, 5, 1)
	want, seen := times(s), 0
	for thread := range uint64(3) {
		for part := s.Share(thread, 3); part.Next(); seen++ {
			if part.At != want[part.N] {
				t.Fatalf("request %d at %d, want %d", part.N, part.At, want[part.N])
			}
		}
	}
	if seen != len(want) {
		t.Errorf("%d in all shares, want %d", seen, len(want))
	}
}
