package tuning

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// kill -9 at every step of the way: any later process finds the host as it was before, byte for byte.

// work is what a child of the test does: tune, or restore where Tuning is nil, killed at the last step.
type work struct {
	Tree, State string
	Tuning      *Tuning
	Last        int
}

const workVariable = "TUNING_TEST_WORK"

func TestMain(m *testing.M) {
	if text := os.Getenv(workVariable); text != "" {
		var given work
		must(json.Unmarshal([]byte(text), &given))
		must(given.do())
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func (w work) do() error {
	host, kernel := simulate(w.Tree)
	kernel.steps.last = w.Last
	tuner := New(host, w.State)
	tuner.journal.system = stepping{steps: kernel.steps}
	if w.Tuning == nil {
		_, err := tuner.Restore(context.Background())
		return err
	}
	_, err := tuner.Tune(context.Background(), *w.Tuning, "", func(string) {})
	return err
}

// stepping has the process die before each of the journal's own calls, too.
type stepping struct {
	calls
	steps *steps
}

func (s stepping) openat(folder int, name string, flags int, mode uint32) (int, error) {
	s.steps.take()
	return s.calls.openat(folder, name, flags, mode)
}

func (s stepping) fsync(descriptor int) error {
	s.steps.take()
	return s.calls.fsync(descriptor)
}

func (s stepping) renameat(folder int, from, to string) error {
	s.steps.take()
	return s.calls.renameat(folder, from, to)
}

func (s stepping) unlinkat(folder int, name string) error {
	s.steps.take()
	return s.calls.unlinkat(folder, name)
}

// killedAt does the bed's work in a process that is killed at that step; whether it was, or was done before.
func (b *bed) killedAt(last int, tuning *Tuning) bool {
	b.t.Helper()
	text, err := json.Marshal(work{b.tree, b.state, tuning, last})
	must(err)
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), workVariable+"="+string(text))
	var complaint bytes.Buffer
	child.Stderr = &complaint
	err = child.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return true
	}
	if err != nil {
		b.t.Fatalf("step %d: %v: %s", last, err, complaint.String())
	}
	return false
}

func (b *bed) asBefore(when string, before map[string]string) {
	b.t.Helper()
	b.restored()
	same(b.t, when, b.files(), before)
	if b.entry() != nil {
		b.t.Fatalf("%s: the journal is still there", when)
	}
}

func TestKilledAtEveryStepOfTuning(t *testing.T) {
	t.Parallel()
	some := Tuning{THP: "never", NUMABalancing: "off", IRQs: []int{0}, Turbo: "off", Governor: "performance"}
	for name, machine := range map[string]struct {
		files  map[string]string
		tuning Tuning
	}{"intel": {intel(), whole()}, "amd": {amd(), some}} {
		b := newBed(t, machine.files)
		before := b.files()
		last, half := 1, 0
		for ; b.killedAt(last, &machine.tuning); last++ {
			if len(b.files()) != len(before) || b.entry() != nil {
				half++
			}
			b.asBefore(fmt.Sprintf("%s, killed at step %d", name, last), before)
		}
		if half < 8 {
			t.Errorf("%s: tuned in %d steps, half done at %d of them", name, last, half)
		}
		b.asBefore(name+", not killed", before)
	}
}

func TestKilledAtEveryStepOfRestoring(t *testing.T) {
	t.Parallel()
	b := newBed(t, intel())
	before := b.files()
	tuning := whole()
	last := 1
	for {
		if b.killedAt(0, &tuning) {
			t.Fatal("killed while it tuned")
		}
		if !b.killedAt(last, nil) {
			break
		}
		b.asBefore(fmt.Sprintf("killed at step %d", last), before)
		last++
	}
	if last < 30 {
		t.Errorf("restored in %d steps", last)
	}
	b.asBefore("not killed", before)
}

// TestAnyTuningOfAnyHostKilledSeveralTimes: the tuning is killed at the first step, its restorations at the others; the
// last restoration is whole.
func TestAnyTuningOfAnyHostKilledSeveralTimes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(25) {
		random := rand.New(rand.NewPCG(seed, 0))
		b := newBed(t, intel())
		thp := pick(random, "always", "madvise", "never")
		must(b.kernel.write(filepath.Join(b.tree, thpFile), thp))
		governor, highest, deepest := pick(random, "performance", "powersave"), pick(random, "1500000", "2600000"), pick(random, "0", "1")
		for core := range 4 {
			must(b.kernel.write(b.host.cpu(fmt.Sprintf("cpufreq/policy%d/scaling_governor", core)), governor))
			b.kernel.put(b.host.cpu(fmt.Sprintf("cpufreq/policy%d/scaling_max_freq", core)), highest)
			b.kernel.put(b.host.cpu(fmt.Sprintf("cpu%d/cpuidle/state3/disable", core)), deepest)
		}
		before := b.files()
		tuning := anyTuning(random)
		b.killedAt(1+random.IntN(60), &tuning)
		for range random.IntN(3) {
			b.killedAt(1+random.IntN(60), nil)
		}
		text, _ := json.Marshal(tuning)
		b.asBefore(fmt.Sprintf("seed %d, %s", seed, text), before)
	}
}

func pick[T any](random *rand.Rand, from ...T) T { return from[random.IntN(len(from))] }

func anyTuning(random *rand.Rand) Tuning {
	var tuning Tuning
	maybe := func(set func()) {
		if random.IntN(2) == 0 {
			set()
		}
	}
	maybe(func() { tuning.Governor = pick(random, "performance", "powersave") })
	maybe(func() {
		low, high := (10+random.IntN(13))*100_000_000, (10+random.IntN(13))*100_000_000
		tuning.Frequency = &Bounds{min(low, high), max(low, high)}
	})
	for _, value := range []*string{&tuning.Turbo, &tuning.SMT, &tuning.Swap, &tuning.NUMABalancing} {
		maybe(func() { *value = pick(random, "on", "off") })
	}
	maybe(func() {
		names := []string{"POLL", "C1", "C1E", "C6"}
		random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		tuning.CStates = &IdleStates{Names: names[:1+random.IntN(len(names))]}
	})
	maybe(func() { tuning.THP = pick(random, "always", "madvise", "never") })
	maybe(func() { tuning.IRQs = []int{random.IntN(2)} })
	return tuning
}
