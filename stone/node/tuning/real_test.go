package tuning

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// harmless is another tuning than what is there, of this machine's knobs that disturb no other program, and their files.
func harmless(t *testing.T, h Host) (tuning Tuning, files []string) {
	if os.Geteuid() != 0 {
		t.Skip("only root tunes a host")
	}
	thp, numa := filepath.Join(h.Sys, "kernel/mm/transparent_hugepage/enabled"), filepath.Join(h.Proc, "sys/kernel/numa_balancing")
	if now, there := (hugePages{}).read(h, thp); there && h.kernel.writable(thp) {
		tuning.THP = map[bool]string{true: "madvise", false: "never"}[now == "never"]
		files = append(files, thp)
	}
	if now, there := h.read(numa); there && h.kernel.writable(numa) {
		tuning.NUMABalancing = map[bool]string{true: "on", false: "off"}[now == "0"]
		files = append(files, numa)
	}
	if states := (cstates{}).states(h); len(states) > 1 && len(Check(h, Tuning{CStates: &IdleStates{Names: []string{states[0].name}}})) == 0 {
		tuning.CStates = &IdleStates{}
		for _, state := range states[:len(states)-1] {
			tuning.CStates.Names = append(tuning.CStates.Names, state.name)
		}
		disabled, _ := cstates{}.files(h)
		files = append(files, disabled...)
	}
	if len(files) == 0 {
		t.Skip("nothing can be set here")
	}
	return tuning, files
}

func TestThisMachinesKnobsAreSetAndSetBack(t *testing.T) {
	h := On("/sys", "/proc")
	tuning, files := harmless(t, h)
	texts := func() map[string]string {
		found := map[string]string{}
		for _, file := range files {
			found[file], _ = h.read(file)
		}
		return found
	}
	before := texts()
	tuner := New(h, filepath.Join(t.TempDir(), "state"))
	defer func() {
		if err := tuner.Undo(); err != nil {
			t.Error(err)
		}
		same(t, "undone", texts(), before)
	}()
	changes, err := tuner.Tune(context.Background(), tuning, "", func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if maps.Equal(texts(), before) || len(changes) != len(files) {
		t.Errorf("%+v", changes)
	}
	if differences, err := tuner.Verify(); err != nil || len(differences) > 0 {
		t.Errorf("%+v, %v", differences, err)
	}
}

func TestARecordedTreeIsTunedInItsFilesAlone(t *testing.T) {
	tree := lay(t, intel())
	before := contents(t, tree)
	tuner := New(On(filepath.Join(tree, "sys"), filepath.Join(tree, "proc")), filepath.Join(t.TempDir(), "state"))
	_, err := tuner.Tune(context.Background(), Tuning{Governor: "performance", Swap: "off"}, "", func(string) {})
	if err == nil || !strings.Contains(err.Error(), "/proc/swaps/dev/sda2: the kernel does not take 'off'") {
		t.Errorf("a recorded machine's swap is none of this one's: %v", err)
	}
	same(t, "refused", contents(t, tree), before)
	if _, err := tuner.Tune(context.Background(), Tuning{Governor: "performance"}, "", func(string) {}); err != nil {
		t.Fatal(err)
	}
	if found := contents(t, tree)[cpuTree+"/cpufreq/policy3/scaling_governor"]; found != "performance\n" {
		t.Errorf("%q", found)
	}
	if _, err := tuner.Restore(context.Background()); err != nil {
		t.Fatal(err)
	}
	same(t, "restored", contents(t, tree), before)
}
