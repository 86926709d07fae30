package load

import (
	"net/http"
	"runtime"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// Over TLS, what other threads of the process use counts as well: here that of a server in it. What it used is compared,
// not how long that took.
func TestTheShareIsOfAllThreadsWhereTheyWork(t *testing.T) {
	t.Parallel()
	cpus := int64(runtime.NumCPU())
	var burnt atomic.Int64
	s := serveTLS(t, func(http.ResponseWriter, *http.Request) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		before := cpu(unix.RUSAGE_THREAD)
		used := int64(0)
		for used < 5e6*cpus {
			used = cpu(unix.RUSAGE_THREAD) - before
		}
		burnt.Add(used)
	})
	summary, _ := drive(t, s.plan(t, map[string]any{
		"connections": 1, "duration_s": 600, "timeout_s": 600, "arrival": nil, "closed": map[string]any{"clients": 1, "requests": 20},
	}))
	used := summary.Generator.CPUShare * summary.Generator.WallS * 1e9 * float64(cpus)
	if summary.Counts.Completed != 20 || used < float64(burnt.Load())/2 {
		t.Errorf("%+v: a share of %g of %d CPUs in %g s is %g ns; the server alone used %d",
			summary.Counts, summary.Generator.CPUShare, cpus, summary.Generator.WallS, used, burnt.Load())
	}
}
