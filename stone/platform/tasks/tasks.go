// Package tasks is the work that services of a benchmark do besides calls and queries: files that are written and read, a
// system of equations that is solved, time that passes. Each task makes one INTERNAL span of its published name (Vinken,
// Amsterdam 2022), and does the same work whenever it runs with the same parameters, whatever the machine.
package tasks

import (
	"context"
	"time"

	"loadstone.dev/stone/platform/tracing"
)

// Sleep keeps a processor until so much time has passed on the monotonic clock, as SleepTask. With 0 it reads the clock once.
func Sleep(ctx context.Context, d time.Duration) {
	_ = tracing.Do(ctx, "SleepTask", func() error {
		spin(d, time.Now)
		return nil
	})
}

func spin(d time.Duration, now func() time.Time) {
	for began := now(); now().Sub(began) < d; {
	}
}
