package seeding

import (
	"io"
	"testing"
	"time"
)

// Impatient makes Run wait for stores for so long only.
func Impatient(t *testing.T, wait time.Duration) {
	before := patience
	patience = wait
	t.Cleanup(func() { patience = before })
}

// ProgressTo tells it to a writer.
func ProgressTo(out io.Writer) *Progress { return &Progress{out: out} }
