package node

import (
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestFacts(t *testing.T) {
	state := t.TempDir()
	c := startNode(t, state)
	facts := Facts{}
	c.must("facts", m{"tools": []string{"sh", "no-such-tool"}}, &facts)
	host, _ := os.Hostname()
	if facts.Hostname != host || facts.Arch != runtime.GOARCH || len(facts.Boot) != 36 || facts.UID != os.Geteuid() || len(facts.CPUs) == 0 {
		t.Errorf("%+v", facts)
	}
	if facts.Page != os.Getpagesize() {
		t.Errorf("pages of %d bytes", facts.Page)
	}
	if facts.MemoryAvailable == 0 || facts.MemoryAvailable > facts.Memory || facts.Disks[state] == 0 || facts.Kernel == "" || facts.OS == "" {
		t.Errorf("%+v", facts)
	}
	cpuinfo, _ := os.ReadFile("/proc/cpuinfo")
	if facts.Processors < len(facts.CPUs) || facts.Processors != strings.Count("\n"+string(cpuinfo), "\nprocessor") {
		t.Errorf("%d processors, of which %v may be used", facts.Processors, facts.CPUs)
	}
	if len(facts.Tools) != 1 || !strings.HasSuffix(facts.Tools["sh"], "/sh") {
		t.Errorf("%v", facts.Tools)
	}
	clock := Clock{}
	before := time.Now().UnixNano()
	c.must("clock", m{}, &clock)
	if clock.RealtimeNS < before || clock.RealtimeNS > time.Now().UnixNano() || clock.MonotonicNS <= 0 {
		t.Errorf("%+v after %d", clock, before)
	}
}

func TestPorts(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	taken := listener.Addr().(*net.TCPAddr).Port
	first, second := startNode(t, t.TempDir()), startNode(t, t.TempDir())
	mine, theirs, again := Ports{}, Ports{}, Ports{}
	first.must("ports", m{"address": "127.0.0.1", "count": 3, "wanted": []int{taken}}, &mine)
	if len(mine.Ports) != 3 || mine.Ports[0] <= taken || mine.Ports[0] >= mine.Ports[1] || mine.Ports[1] >= mine.Ports[2] {
		t.Errorf("%v is taken, got %v", taken, mine)
	}
	second.must("ports", m{"address": "127.0.0.1", "count": 1, "wanted": mine.Ports[:1]}, &theirs)
	if theirs.Ports[0] == mine.Ports[0] {
		t.Errorf("port %d was given twice", theirs.Ports[0])
	}
	if err := first.close(); err != nil {
		t.Error(err)
	}
	second.must("ports", m{"address": "127.0.0.1", "count": 1, "wanted": mine.Ports[:1]}, &again)
	if again.Ports[0] != mine.Ports[0] {
		t.Errorf("port %d was not given back: %v", mine.Ports[0], again)
	}
	second.fails("ports", m{"address": "192.0.2.1", "count": 1}, Input, "is none of this machine")
	second.fails("ports", m{"address": "", "count": 0}, Input, "give 1 to 1000")
	second.fails("ports", m{"address": "", "count": 1, "wanted": []int{70000}}, Input, "port 70000")
}
