package counters

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// unpack writes the files of testdata/NAME below a folder: each begins with `-- path --`.
func unpack(t testing.TB, name, folder string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	path := ""
	for line := range strings.Lines(string(text)) {
		if heading, is := strings.CutPrefix(line, "-- "); is {
			path = strings.TrimSuffix(heading, " --\n")
			files[path] = ""
		} else if path != "" {
			files[path] += line
		}
	}
	tree(t, folder, files)
}

// machine is the host of a fixture, with control groups of version 1 but no container, and without chronyd.
func machine(t testing.TB, fixture string) (*Host, string) {
	t.Helper()
	folder := t.TempDir()
	unpack(t, fixture, folder)
	tree(t, folder, map[string]string{"proc/1/mountinfo": strings.ReplaceAll(mounts1, "%s", filepath.Join(folder, "cgroup"))})
	if err := os.Symlink("1", filepath.Join(folder, "proc/self")); err != nil {
		t.Fatal(err)
	}
	host, err := Open(Roots{Proc: filepath.Join(folder, "proc"), Sys: filepath.Join(folder, "sys")})
	if err != nil {
		t.Fatal(err)
	}
	host.clock = &clock{known: true, asking: true, offset: -0.25, bound: 0.5}
	return host, folder
}

// readings is a reading by subject and metric. No number may occur twice, and none that is not documented.
func readings(t testing.TB, opened *set) map[string]float64 {
	t.Helper()
	reading := reading{}
	opened.read(&reading)
	values := map[string]float64{}
	for _, point := range reading.points {
		key := point.subject + " " + point.metric
		if _, twice := values[key]; twice || Metrics[point.metric] == "" {
			t.Errorf("%s is reported twice, or not explained", key)
		}
		values[key] = point.value
	}
	return values
}

// expect compares the numbers that are wanted.
func expect(t *testing.T, got, want map[string]float64) {
	t.Helper()
	for key, value := range want {
		if found, is := got[key]; !is || found != value {
			t.Errorf("%s: %v (there: %t), want %v", key, found, is, value)
		}
	}
}

// only keeps the readings of subjects with the prefix.
func only(values map[string]float64, subject string) map[string]float64 {
	kept := maps.Clone(values)
	maps.DeleteFunc(kept, func(key string, _ float64) bool { return !strings.HasPrefix(key, subject) })
	return kept
}
