package tuning

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func (b *bed) restored() *Restored {
	b.t.Helper()
	found, err := b.Restore(context.Background())
	if err != nil {
		b.t.Fatal(err)
	}
	return found
}

func TestAHostThatAnotherLivingProcessTunesIsLeftAlone(t *testing.T) {
	b := newBed(t, intel())
	b.tune(Tuning{THP: "never"})
	parent, err := started(os.Getppid())
	if err != nil {
		t.Fatal(err)
	}
	b.left(Owner{os.Getppid(), parent, "loadstone run a.yaml"})
	tuned := b.files()
	_, err = b.Restore(context.Background())
	for _, refusal := range []*Error{b.asError(err), b.refusal(Tuning{THP: "always"})} {
		wanted := fmt.Sprintf("this host is tuned by process %d (loadstone run a.yaml), which still runs", os.Getppid())
		if refusal.Kind != Refused || refusal.Message != wanted {
			t.Errorf("%+v", refusal)
		}
	}
	b.undone() // not ours
	same(t, "undone", b.files(), tuned)
	state, err := b.Tuned()
	if err != nil || state == nil || !state.Alive || state.Owner.PID != os.Getppid() || state.Tuning.THP != "never" {
		t.Errorf("%+v, %v", state, err)
	}
}

func TestAnOwnerOfTheSameNumberThatStartedLaterIsAnother(t *testing.T) {
	b := newBed(t, intel())
	before := b.files()
	b.tune(Tuning{THP: "never"})
	b.left(Owner{os.Getpid(), 1, "loadstone run a.yaml"})
	if state, _ := b.Tuned(); state == nil || state.Alive {
		t.Errorf("%+v", state)
	}
	restored := b.restored()
	if restored == nil || len(restored.Values) != 1 || restored.Values[0] != (Back{filepath.Join(b.tree, thpFile), "never", "always"}) {
		t.Errorf("%+v", restored)
	}
	same(t, "restored", b.files(), before)
	if again := b.restored(); again != nil {
		t.Errorf("%+v", again)
	}
}

func TestTheNextTuningSetsBackWhatAKilledOneLeft(t *testing.T) {
	b := newBed(t, intel())
	before := b.files()
	b.tune(Tuning{THP: "never", Governor: "performance"})
	b.left(Owner{4_000_000, 1, "loadstone run a.yaml"})
	b.tune(Tuning{NUMABalancing: "off"})
	b.undone()
	same(t, "undone", b.files(), before)
}

func TestAfterARestartTheValuesAreTheKernelsOwn(t *testing.T) {
	b := newBed(t, intel())
	b.tune(Tuning{THP: "never"})
	put(t, filepath.Join(b.tree, bootFile), "another")
	put(t, filepath.Join(b.tree, thpFile), "always [madvise] never")
	if state, _ := b.Tuned(); state == nil || !state.Restarted || state.Alive {
		t.Errorf("%+v", state)
	}
	restored := b.restored()
	if restored == nil || !restored.Restarted || len(restored.Values) > 0 {
		t.Errorf("%+v", restored)
	}
	if found := b.files()[thpFile]; found != "always [madvise] never\n" || b.entry() != nil {
		t.Errorf("%s", found)
	}
}

func TestAValueThatCannotBeSetBackIsNamedAndTheJournalStays(t *testing.T) {
	b := newBed(t, intel())
	b.tune(Tuning{NUMABalancing: "off", THP: "never"})
	b.kernel.stubborn = []string{"numa_balancing"}
	found := b.asError(b.Undo())
	if found.Kind != Failed || !strings.Contains(found.Message, filepath.Join(b.tree, numaFile)+": is 0, was 1") ||
		strings.Contains(found.Message, thpFile) || b.entry() == nil {
		t.Errorf("%+v", found)
	}
	b.kernel.stubborn = nil
	b.undone()
	if b.entry() != nil {
		t.Error("the journal is still there")
	}
}

func TestWhatCannotBeSetBackAfterARefusalIsNamedBesideIt(t *testing.T) {
	b := newBed(t, intel())
	b.host.kernel = once{b.kernel}
	found := b.refusal(Tuning{Uncore: &Bounds{Max: 1_950_000_000}, NUMABalancing: "off"})
	if !strings.Contains(found.Message, "wanted 1950000, found 1900000\nthis host is not as it was") ||
		!strings.Contains(found.Message, numaFile+": is 0, was 1") || b.entry() == nil {
		t.Errorf("%+v", found)
	}
}

// once keeps NUMA balancing off as soon as it is off.
type once struct{ *simulated }

func (o once) write(file, text string) error {
	if filepath.Base(file) == "numa_balancing" && text == "1" {
		return nil
	}
	return o.simulated.write(file, text)
}

func TestAnInterruptWhoseDeviceWentHasNothingToComeBack(t *testing.T) {
	b := newBed(t, intel())
	b.tune(Tuning{IRQs: []int{0}})
	if err := os.Remove(filepath.Join(b.tree, "proc/irq/24/smp_affinity_list")); err != nil {
		t.Fatal(err)
	}
	b.undone()
	if b.entry() != nil {
		t.Error("the journal is still there")
	}
}

func TestAJournalCannotMakeUsWriteElsewhere(t *testing.T) {
	b := newBed(t, vm())
	b.tune(Tuning{THP: "never"})
	victim := filepath.Join(filepath.Dir(b.tree), "victim")
	put(t, victim, "as it was")
	entry := b.entry()
	entry.Owner = Owner{1, 1, ""}
	entry.Values = []known{
		{"thp", victim, "[never]"}, {"thp", b.tree + "/sys/../../victim", "[never]"}, {"swap", "/dev/sda", "on"},
	}
	if err := b.journal.save(entry); err != nil {
		t.Fatal(err)
	}
	_, err := b.Restore(context.Background())
	if found := b.asError(err); strings.Count(found.Message, "is no value of the kernel's") != 3 {
		t.Error(found)
	}
	if text, _ := os.ReadFile(victim); string(text) != "as it was\n" {
		t.Errorf("%s", text)
	}
}

func TestAKnobOfANewerReleaseIsNamed(t *testing.T) {
	b := newBed(t, vm())
	b.tune(Tuning{THP: "never"})
	entry := b.entry()
	entry.Values = append(entry.Values, known{"prefetch", b.tree + "/sys/prefetch", "1"})
	if err := b.journal.save(entry); err != nil {
		t.Fatal(err)
	}
	if found := b.asError(b.Undo()); !strings.Contains(found.Message, "a newer Loadstone has set it to something else than 1") {
		t.Error(found)
	}
}
