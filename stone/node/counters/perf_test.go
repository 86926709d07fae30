package counters

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
)

// counting is an event that counts one more at each reading.
type counting struct{ count, closed uint64 }

func (c *counting) Read(into []byte) (int, error) {
	c.count++
	binary.NativeEndian.PutUint64(into, c.count)
	return 8, nil
}

func (c *counting) Close() error { c.closed++; return nil }

func powerEvents(t *testing.T) string {
	sys := t.TempDir()
	tree(t, sys, map[string]string{
		"bus/event_source/devices/power/type":                      "9\n",
		"bus/event_source/devices/power/cpumask":                   "0,18,36\n",
		"bus/event_source/devices/power/events/energy-pkg":         "event=0x02\n",
		"bus/event_source/devices/power/events/energy-pkg.scale":   "0.25\n",
		"bus/event_source/devices/power/events/energy-ram":         "event=0x03\n",
		"bus/event_source/devices/power/events/energy-ram.scale":   "0.5\n",
		"devices/system/cpu/cpu0/topology/physical_package_id":     "0\n",
		"devices/system/cpu/cpu18/topology/physical_package_id":    "1\n",
		"devices/system/cpu/cpu36/topology/physical_package_id":    "1\n",
		"devices/system/cpu/cpu36/topology/die_id":                 "1\n",
		"devices/system/cpu/cpu18/topology/die_id":                 "0\n",
		"bus/event_source/devices/power/events/energy-psys":        "event=0x05\n",
		"bus/event_source/devices/power/events/energy-psys.scale":  "1\n",
		"bus/event_source/devices/power/perf_event_mux_interval":   "4\n",
		"bus/event_source/devices/power/events/energy-cores.scale": "0.5\n",
	})
	return sys
}

func TestPowerEvents(t *testing.T) {
	sys := powerEvents(t)
	var requested []string
	opened, err := openPerf(sys, func(pmu uint32, event uint64, cpu int) (io.ReadCloser, error) {
		requested = append(requested, fmt.Sprintf("pmu %d event %d on %d", pmu, event, cpu))
		return &counting{count: uint64(100 * len(requested))}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"pmu 9 event 2 on 0", "pmu 9 event 2 on 18", "pmu 9 event 2 on 36",
		"pmu 9 event 3 on 0", "pmu 9 event 3 on 18", "pmu 9 event 3 on 36",
	}
	if !slices.Equal(requested, want) {
		t.Errorf("opened %q", requested)
	}
	all := set{absent: map[string]string{}}
	all.add("power", opened)
	got := readings(t, &all)
	expect(t, got, map[string]float64{
		"power:package-0 energy_joules_total":            25.25,
		"power:package-1 energy_joules_total":            50.25,
		"power:package-1-die-1 energy_joules_total":      75.25,
		"power:package-0/dram energy_joules_total":       200.5,
		"power:package-1/dram energy_joules_total":       250.5,
		"power:package-1-die-1/dram energy_joules_total": 300.5,
	})
	if len(got) != 6 {
		t.Errorf("reported %v", got)
	}
}

func TestPowerEventsThatCannotBeOpened(t *testing.T) {
	sys := powerEvents(t)
	first := &counting{}
	_, err := openPerf(sys, func(_ uint32, _ uint64, cpu int) (io.ReadCloser, error) {
		if cpu == 18 {
			return nil, errors.New("permission denied")
		}
		return first, nil
	})
	if err == nil || err.Error() != "perf does not open its power event energy-pkg: permission denied" || first.closed != 1 {
		t.Errorf("%v, closed %d times", err, first.closed)
	}
	tree(t, sys, map[string]string{"bus/event_source/devices/power/events/energy-pkg": "config=2\n"})
	if _, err := openPerf(sys, openEvent); err == nil {
		t.Error("an event without a number was opened")
	}
	tree(t, sys, map[string]string{"bus/event_source/devices/power/cpumask": "\n"})
	if _, err := openPerf(sys, openEvent); err == nil || err.Error() != `"" is no list of processors such as 0,18` {
		t.Errorf("got %v", err)
	}
}

func TestListsOfProcessors(t *testing.T) {
	for list, want := range map[string][]int{"0": {0}, "0,18": {0, 18}, "0-3,8": {0, 1, 2, 3, 8}} {
		if got, err := parseCPUs(list); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v", list, got, err)
		}
	}
	for _, list := range []string{"", "3-1", "a", "1,", "-1", "0-99999", "0-1-2"} {
		if got, err := parseCPUs(list); err == nil {
			t.Errorf("%q was taken for %v", list, got)
		}
	}
}
