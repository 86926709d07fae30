package tasks

import (
	"testing"
	"time"
)

// On a clock that jumps by 30 us whenever it is read: it ends with the first reading at or after the time.
func TestSleepReadsTheClockUntilTheTimeHasPassed(t *testing.T) {
	for micros, want := range map[int]int{0: 2, 1: 2, 30: 2, 31: 3, 50: 3, 300: 11} {
		now, readings := time.Unix(0, 0), 0
		spin(time.Duration(micros)*time.Microsecond, func() time.Time {
			readings++
			now = now.Add(30 * time.Microsecond)
			return now
		})
		if readings != want {
			t.Errorf("%d us: %d readings, not %d", micros, readings, want)
		}
	}
}

// On the real one it is never too short, however slow the machine.
func TestSleepIsNeverTooShort(t *testing.T) {
	for _, d := range []time.Duration{0, 50 * time.Microsecond, 2 * time.Millisecond} {
		began := time.Now()
		Sleep(t.Context(), d)
		if elapsed := time.Since(began); elapsed < d {
			t.Errorf("%s took %s", d, elapsed)
		}
	}
}
