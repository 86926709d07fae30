package tuning

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// bed is a tuner of a simulated host, with its host's values.
type bed struct {
	*Tuner
	t      *testing.T
	tree   string
	state  string
	kernel *simulated
}

func newBed(t *testing.T, files map[string]string) *bed {
	t.Helper()
	tree, state := lay(t, files), filepath.Join(t.TempDir(), "state")
	host, kernel := simulate(tree)
	return &bed{New(host, state), t, tree, state, kernel}
}

func (b *bed) tune(tuning Tuning) []Change {
	b.t.Helper()
	changes, err := b.Tune(context.Background(), tuning, "loadstone run a.yaml", func(string) {})
	if err != nil {
		b.t.Fatal(err)
	}
	return changes
}

// refusal is the error of a tuning.
func (b *bed) refusal(tuning Tuning) *Error {
	b.t.Helper()
	_, err := b.Tune(context.Background(), tuning, "", func(string) {})
	return b.asError(err)
}

func (b *bed) asError(err error) *Error {
	b.t.Helper()
	var found *Error
	if !errors.As(err, &found) {
		b.t.Fatalf("no refusal: %v", err)
	}
	return found
}

func (b *bed) undone() {
	b.t.Helper()
	if err := b.Undo(); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) files() map[string]string { return contents(b.t, b.tree) }

// texts are those of all files that a pattern below the processors finds.
func (b *bed) texts(pattern string) []string {
	var texts []string
	for _, file := range numbered(b.host.cpu(pattern)) {
		texts = append(texts, b.kernel.text(file))
	}
	return texts
}

func (b *bed) entry() *entry {
	b.t.Helper()
	found, err := b.journal.load()
	if err != nil {
		b.t.Fatal(err)
	}
	return found
}

// left makes what is tuned another process's.
func (b *bed) left(owner Owner) {
	b.t.Helper()
	entry := b.entry()
	entry.Owner = owner
	if err := b.journal.save(entry); err != nil {
		b.t.Fatal(err)
	}
}

func all(text string, times int) []string { return slices.Repeat([]string{text}, times) }

func TestEverythingIsSetAndComesBack(t *testing.T) {
	b := newBed(t, intel())
	before := b.files()
	changes := b.tune(whole())
	for _, check := range []struct {
		pattern string
		texts   []string
	}{
		{"online", []string{"0-1"}},
		{"intel_pstate/no_turbo", []string{"1"}},
		{"cpufreq/policy*/scaling_governor", all("performance", 2)},
		{"cpufreq/policy*/scaling_m*_freq", all("2200000", 4)},
		{"cpu1/cpuidle/state*/disable", []string{"0", "0", "1", "1"}},
		{"intel_uncore_frequency/*/max_freq_khz", all("2000000", 2)},
		{"../../../kernel/mm/transparent_hugepage/enabled", []string{"always madvise [never]"}},
	} {
		if found := b.texts(check.pattern); !slices.Equal(found, check.texts) {
			t.Errorf("%s: %v", check.pattern, found)
		}
	}
	if text := b.files()[swapsFile]; text != swapsTitle+"\n" {
		t.Errorf("swap: %s", text)
	}
	refusals := map[string]string{}
	for _, change := range changes {
		if change.Knob == "irqs" {
			refusals[filepath.Base(filepath.Dir(change.File))] = change.Refused
		}
		if change.Knob == "governor" && change.Before == change.Set {
			t.Errorf("%+v", change)
		}
	}
	eio := "input/output error"
	if !maps.Equal(refusals, map[string]string{"0": eio, "9": eio, "24": "", "25": "", "26": ""}) {
		t.Errorf("interrupts: %v", refusals)
	}
	if differences, err := b.Verify(); err != nil || len(differences) > 0 {
		t.Errorf("%+v, %v", differences, err)
	}
	b.undone()
	same(t, "undone", b.files(), before)
	if b.entry() != nil {
		t.Error("the journal is still there")
	}
}

func TestWhatIsLeftOutIsNotTouched(t *testing.T) {
	b := newBed(t, intel())
	before := b.files()
	latency := 2e-6
	b.tune(Tuning{CStates: &IdleStates{Latency: &latency}, Uncore: &Bounds{Max: 1_500_000_000}})
	var changed, expected []string
	for name, text := range b.files() {
		if before[name] != text {
			changed = append(changed, name)
		}
	}
	for core := range 4 {
		for state := 2; state < 4; state++ {
			expected = append(expected, fmt.Sprintf("%s/cpu%d/cpuidle/state%d/disable", cpuTree, core, state))
		}
	}
	for pkg := range 2 {
		expected = append(expected, fmt.Sprintf("%s/package_0%d_die_00/max_freq_khz", uncoreTree, pkg))
	}
	slices.Sort(changed)
	slices.Sort(expected)
	if !slices.Equal(changed, expected) {
		t.Errorf("changed %v", changed)
	}
}

// watching sees the journal at the first write.
type watching struct {
	*simulated
	seen func()
}

func (w watching) write(file, text string) error {
	if w.steps.taken == 0 {
		w.seen()
	}
	return w.simulated.write(file, text)
}

func TestTheSnapshotIsOnTheDiskBeforeTheFirstChange(t *testing.T) {
	b := newBed(t, intel())
	before := b.files()
	var seen entry
	b.host.kernel = watching{b.kernel, func() {
		same(t, "first write", b.files(), before)
		text, err := os.ReadFile(filepath.Join(b.state, journalName))
		if err == nil {
			err = json.Unmarshal(text, &seen)
		}
		if err != nil {
			t.Error(err)
		}
	}}
	b.tune(whole())
	if seen.Owner.PID != os.Getpid() || seen.Owner.Command != "loadstone run a.yaml" || seen.Boot == "" || seen.Boot != b.host.boot() {
		t.Errorf("%+v", seen)
	}
	policy := b.host.cpu("cpufreq/policy3") // policy of a thread that is switched off, too; its values change along
	for file, text := range map[string]string{
		policy + "/scaling_governor":              "powersave",
		policy + "/energy_performance_preference": "balance_power",
		policy + "/scaling_min_freq":              "1000000",
		policy + "/scaling_max_freq":              "3000000",
		b.tree + "/proc/swaps/var/swap file":      "on 5",
		b.tree + "/proc/swaps/dev/sda2":           "on",
	} {
		if found, _ := seen.before(file); found != text {
			t.Errorf("%s: %q", file, found)
		}
	}
}

func TestTheLowestFrequencyIsNeverAboveTheHighest(t *testing.T) {
	for _, ends := range []Bounds{{800, 900}, {2900, 3000}, {1000, 3000}, {2000, 2000}} {
		b := newBed(t, intel()) // whose kernel refuses it
		before := b.files()
		b.tune(Tuning{Frequency: &Bounds{ends.Min * 1_000_000, ends.Max * 1_000_000}})
		if found := b.texts("cpufreq/policy*/scaling_max_freq"); !slices.Equal(found, all(fmt.Sprint(ends.Max*1000), 4)) {
			t.Errorf("%v: %v", ends, found)
		}
		b.undone()
		same(t, "undone", b.files(), before)
	}
}

func TestTurboUnderItsOtherNameChangesTheHighestFrequencyAlong(t *testing.T) {
	b := newBed(t, amd())
	before := b.files()
	b.tune(Tuning{Turbo: "off", Governor: "performance"})
	if found := b.texts("cpufreq/boost"); !slices.Equal(found, []string{"0"}) {
		t.Error(found)
	}
	b.undone()
	same(t, "undone", b.files(), before)
	// Not the highest, to which boost has set it.
	if found := b.texts("cpufreq/policy*/scaling_max_freq"); !slices.Equal(found, all("2000000", 2)) {
		t.Error(found)
	}
}

func TestThreadsThatGoOffComeBackWithAllThatWasTheirs(t *testing.T) {
	b := newBed(t, intel())
	put(t, b.tree+"/proc/irq/26/smp_affinity_list", "3")
	put(t, b.host.cpu("cpu3/cpuidle/state3/disable"), "1")
	before := b.files()
	b.tune(Tuning{SMT: "off"})
	if found := b.files()["proc/irq/26/smp_affinity_list"]; found != "0-1\n" {
		t.Error(found)
	}
	b.undone()
	same(t, "undone", b.files(), before)
}

func TestThreadsThatWereOffAreTunedAndOffAgain(t *testing.T) {
	b := newBed(t, intel())
	b.kernel.threads(false)
	before := b.files()
	b.tune(Tuning{SMT: "on", Governor: "performance", CStates: &IdleStates{Names: []string{"POLL"}}})
	if found := b.texts("cpufreq/policy*/scaling_governor"); !slices.Equal(found, all("performance", 4)) {
		t.Error(found)
	}
	b.undone()
	after := b.files()
	for name := range before { // those of threads that are off have their initial value, which is not visible
		if strings.HasPrefix(name, "hidden/") {
			if strings.HasSuffix(name, "scaling_governor") && after[name] != "powersave\n" {
				t.Errorf("%s: %s", name, after[name])
			}
			delete(before, name)
			delete(after, name)
		}
	}
	same(t, "undone", after, before)
}

func TestWhatTheHostHasAlreadyIsNotWritten(t *testing.T) {
	b := newBed(t, vm())
	changes := b.tune(Tuning{THP: "madvise", NUMABalancing: "on", Swap: "off", SMT: "off"})
	if b.kernel.steps.taken != 0 || len(changes) != 2 || changes[0].Before != "madvise" || changes[0].Set != "madvise" {
		t.Errorf("%d steps, %+v", b.kernel.steps.taken, changes)
	}
}

func TestAnotherTuningStartsFromTheHostAsItWas(t *testing.T) {
	b := newBed(t, intel())
	before := b.files()
	b.tune(Tuning{Governor: "performance"})
	changes := b.tune(Tuning{THP: "never"})
	if len(changes) != 1 || changes[0].Before != "always" {
		t.Errorf("%+v", changes)
	}
	if found := b.texts("cpufreq/policy*/scaling_governor"); !slices.Equal(found, all("powersave", 4)) {
		t.Error(found)
	}
	b.undone()
	same(t, "undone", b.files(), before)
}

func TestAValueThatTheKernelDoesNotKeepIsNamedAndAllIsBack(t *testing.T) {
	for stubborn, wrong := range map[string]string{
		"scaling_governor": "policy0/scaling_governor: wanted performance, found powersave",
		"numa_balancing":   "kernel/numa_balancing: wanted 0, found 1",
	} {
		b := newBed(t, intel())
		b.kernel.stubborn = []string{stubborn}
		before := b.files()
		found := b.refusal(whole())
		if found.Kind != Refused || !strings.HasPrefix(found.Message, "tuning."+strings.TrimPrefix(stubborn, "scaling_")+": "+b.tree) ||
			!strings.Contains(found.Message, wrong) || !strings.Contains(found.Remedy, "ask for a value that this host keeps") {
			t.Errorf("%+v", found)
		}
		same(t, "refused", b.files(), before)
		if b.entry() != nil {
			t.Error("the journal is still there")
		}
	}
}

func TestAValueThatTheKernelRoundsIsAnError(t *testing.T) {
	b := newBed(t, intel())
	before := b.files()
	found := b.refusal(Tuning{Uncore: &Bounds{Max: 1_950_000_000}, THP: "never"})
	if !strings.Contains(found.Message, "wanted 1950000, found 1900000") {
		t.Error(found)
	}
	same(t, "refused", b.files(), before)
}

func TestCanceledHalfWayAllIsBack(t *testing.T) {
	b := newBed(t, intel())
	before := b.files()
	ctx, cancel := context.WithCancel(context.Background())
	_, err := b.Tune(ctx, whole(), "", func(knob string) {
		if knob == "swap" {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || b.kernel.steps.taken < 20 {
		t.Errorf("%v after %d steps", err, b.kernel.steps.taken)
	}
	same(t, "canceled", b.files(), before)
	if b.entry() != nil {
		t.Error("the journal is still there")
	}
}

func TestChangesByOtherProgramsAreNoticed(t *testing.T) {
	b := newBed(t, intel())
	before := b.files()
	b.tune(Tuning{NUMABalancing: "off", IRQs: []int{0}})
	put(t, filepath.Join(b.tree, numaFile), "2")
	found, err := b.Verify()
	if err != nil || len(found) != 1 || found[0] != (Difference{"numa_balancing", filepath.Join(b.tree, numaFile), "0", "2"}) {
		t.Errorf("%+v", found)
	}
	b.undone()
	same(t, "undone", b.files(), before)
	_, err = b.Verify()
	if found := b.asError(err); found.Kind != Missing {
		t.Errorf("after it was undone: %+v", found)
	}
}
