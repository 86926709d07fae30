package counters

import (
	"maps"
	"testing"
)

func TestNetworksBesideTheNodesOwn(t *testing.T) {
	host, proc, cgroup := host1(t)
	tree(t, cgroup, map[string]string{
		"memory/loadstone/emulated-1/switch/daemons/cgroup.procs":   "50\n51\n",
		"memory/loadstone/emulated-1/worker-1/daemons/cgroup.procs": "60\n",
		"memory/loadstone/emulated-1/worker-2/daemons/cgroup.procs": "",
	})
	inNetwork(t, proc, "1", "1000")
	inNetwork(t, proc, "50", "2000")
	inNetwork(t, proc, "60", "1000")
	opened := host.openNetworks(map[string]Subject{
		"switch":   {Group: "loadstone/emulated-1/switch/daemons"},
		"worker-1": {Group: "loadstone/emulated-1/worker-1/daemons"},
		"worker-2": {Group: "loadstone/emulated-1/worker-2/daemons"},
		"worker-3": {Group: "loadstone/emulated-1/worker-3/daemons"},
	})
	t.Cleanup(opened.close)
	got := readings(t, &opened)
	for key, want := range map[string]float64{
		"network:switch/eth0 network_received_bytes_total":    1000,
		"network:switch/eth0 network_transmitted_bytes_total": 2000,
		"network:switch/eth1 network_received_bytes_total":    30,
	} {
		if got[key] != want {
			t.Errorf("%s is %v, not %v, of %v", key, got[key], want, got)
		}
	}
	absent := map[string]string{}
	for _, name := range []string{"worker-1", "worker-2", "worker-3"} {
		absent["network:"+name] = "no process of loadstone/emulated-1/" + name + "/daemons had a network of its own when the recording began"
	}
	if !maps.Equal(opened.absent, absent) {
		t.Errorf("absent: %v", opened.absent)
	}
}

// The namespace of a node's first process may be unreadable.
func TestNetworksWhereTheNodesOwnIsUnreadable(t *testing.T) {
	host, proc, cgroup := host1(t)
	tree(t, cgroup, map[string]string{"memory/loadstone/e/switch/daemons/cgroup.procs": "50\n"})
	inNetwork(t, proc, "50", "2000")
	opened := host.openNetworks(map[string]Subject{"switch": {Group: "loadstone/e/switch/daemons"}})
	t.Cleanup(opened.close)
	if got := readings(t, &opened); got["network:switch/eth0 network_received_bytes_total"] != 1000 {
		t.Errorf("got %v, absent %v", got, opened.absent)
	}
}

func TestWrongNetworksAreRefused(t *testing.T) {
	for want, networks := range map[string]map[string]Subject{
		`"a b" is no name of a network: give letters, digits and ._/:-`:                              {"a b": {Group: "loadstone/x"}},
		`network a: "x" is no group that may be read: give a path like loadstone/DEPLOYMENT/REPLICA`: {"a": {Group: "x"}},
		`network a: give its "group"; a container's network is recorded with its replica`:            {"a": {Container: geo}},
	} {
		err := Wanted{PeriodMS: 10, Networks: networks}.Problem()
		if err == nil || err.Error() != want {
			t.Errorf("%v, not %s", err, want)
		}
	}
}
