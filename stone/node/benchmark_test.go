package node

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

const benchedReplicas = 25

// benched spawns as many replicas as a benchmark application has, and names their groups.
func benched(b *testing.B) (*client, m) {
	b.Helper()
	limited(b)
	state := b.TempDir()
	c := startNode(b, state)
	group, replicas := *deploy(b, c, state, "bench").Group, m{}
	for i := range benchedReplicas {
		name := fmt.Sprintf("r-%d", i)
		c.must("spawn", m{"deployment": "bench", "name": name, "argv": []string{"sleep", "1000"}, "limits": m{"cpu": 0.5, "memory": 64 << 20}}, nil)
		replicas[name] = m{"group": group + "/" + name}
	}
	return c, replicas
}

// BenchmarkReadingLimits reads what is in force for 25 replicas over the channel.
func BenchmarkReadingLimits(b *testing.B) {
	c, replicas := benched(b)
	for b.Loop() {
		c.must("read", m{"what": []string{"limits"}, "replicas": replicas}, nil)
	}
}

// BenchmarkSpawn starts processes one after the other.
func BenchmarkSpawn(b *testing.B) {
	state := b.TempDir()
	c := startNode(b, state)
	deploy(b, c, state, "bench")
	for b.Loop() {
		c.must("spawn", m{"deployment": "bench", "name": "a", "argv": []string{"true"}}, nil)
		c.must("stop", m{"deployment": "bench", "names": []string{"a"}, "signal": "KILL", "grace_s": 5}, nil)
	}
}

// BenchmarkRun runs commands one after the other.
func BenchmarkRun(b *testing.B) {
	c := startNode(b, b.TempDir())
	for b.Loop() {
		c.must("run", m{"argv": []string{"true"}, "timeout_s": 60}, nil)
	}
}

// BenchmarkWatch watches 25 replicas once a second, and tells the share of a core that it takes.
func BenchmarkWatch(b *testing.B) {
	const watched = 15 * time.Second
	c, replicas := benched(b)
	c.send("watch", m{"period_ms": 1000, "replicas": replicas}, nil)
	c.next()
	for b.Loop() {
		before := cpuTime(b, c)
		time.Sleep(watched)
		b.ReportMetric(100*(cpuTime(b, c)-before).Seconds()/watched.Seconds(), "%core")
	}
}

// cpuTime is what a node has used, over all of its threads (in /proc/PID/schedstat only that of its first).
func cpuTime(b *testing.B, c *client) time.Duration {
	b.Helper()
	threads := fmt.Sprintf("/proc/%d/task", c.command.Process.Pid)
	entries, err := os.ReadDir(threads)
	if err != nil {
		b.Fatal(err)
	}
	var sum time.Duration
	for _, entry := range entries {
		text, err := os.ReadFile(threads + "/" + entry.Name() + "/schedstat")
		if err != nil {
			b.Fatal(err)
		}
		used, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(used)
	}
	return sum
}
