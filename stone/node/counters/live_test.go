package counters

import (
	"testing"
)

// byName are values by subject and metric; each may be there once.
func byName(t *testing.T, live *Live, replicas map[string]Subject) map[string]float64 {
	t.Helper()
	values, err := live.Read(t.Context(), replicas)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, value := range values {
		found[value.Subject+" "+value.Metric] = value.Value
	}
	if len(found) != len(values) {
		t.Errorf("%d values, %d names", len(values), len(found))
	}
	return found
}

// A replica that starts later is found; energy goes on where its counter began anew.
func TestLiveReadings(t *testing.T) {
	host, folder := machine(t, "intel.txt")
	live := host.Live()
	defer live.Close()
	replicas := map[string]Subject{"rate-1": {Group: "loadstone/x/rate-1"}}
	if found := only(byName(t, live, replicas), "replica:"); len(found) != 0 {
		t.Errorf("before it starts: %v", found)
	}
	tree(t, folder, map[string]string{"cgroup/memory/loadstone/x/rate-1/memory.usage_in_bytes": "77\n"})
	expect(t, byName(t, live, replicas), map[string]float64{"replica:rate-1 container_memory_bytes": 77})
	unpack(t, "intel-later.txt", folder)
	got := byName(t, live, replicas)
	expect(t, got, map[string]float64{
		"power:package-0 energy_joules_total": 262293, // 150 more than before
		"cpu:0/C6 cstate_seconds_total":       470221.05411,
		"node load1":                          1.52,
	})
	if want := 28 + 2*9 + 2*4*2 + 2*5 + 2*6 + 6 + 1 + 2; len(got) != want {
		t.Errorf("%d values, want %d", len(got), want)
	}
}
