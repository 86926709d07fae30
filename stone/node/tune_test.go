package node

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	governorFile = "devices/system/cpu/cpufreq/policy0/scaling_governor"
	governors    = "devices/system/cpu/cpufreq/policy0/scaling_available_governors"
)

// tunable is a node on a recorded /sys, spoken to over pipes.
type tunable struct {
	t    *testing.T
	sys  string
	in   *io.PipeWriter
	out  *bufio.Scanner
	done chan error
	last int
}

func newTunable(t *testing.T) *tunable {
	t.Helper()
	t.Setenv("LOADSTONE_HOST_STATE", filepath.Join(t.TempDir(), "state"))
	sys := t.TempDir()
	for name, text := range map[string]string{governorFile: "powersave\n", governors: "performance powersave\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(sys, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(sys, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return connect(t, sys)
}

func connect(t *testing.T, sys string) *tunable {
	t.Helper()
	inside, in := io.Pipe()
	out, outside := io.Pipe()
	n := &tunable{t: t, sys: sys, in: in, out: bufio.NewScanner(out), done: make(chan error, 1)}
	go func() {
		n.done <- Serve(context.Background(), Options{State: t.TempDir(), Group: "loadstone-test", Proc: "/proc", Sys: sys}, inside, outside)
		outside.Close()
	}()
	n.next() // hello
	return n
}

func (n *tunable) next() reply {
	n.t.Helper()
	if !n.out.Scan() {
		n.t.Fatalf("no answer: %v", n.out.Err())
	}
	var answer reply
	if err := json.Unmarshal(n.out.Bytes(), &answer); err != nil && !strings.Contains(n.out.Text(), "hello") {
		n.t.Fatal(err)
	}
	return answer
}

// ask is the answer to a verb, as JSON or a fault, and its events.
func (n *tunable) ask(verb, args string) (ok string, fault *Fault, events []any) {
	n.t.Helper()
	n.last++
	fmt.Fprintf(n.in, `{"id":%d,"verb":%q,"args":%s}`+"\n", n.last, verb, args)
	for {
		answer := n.next()
		if answer.Event == nil {
			text, _ := json.Marshal(answer.OK)
			if answer.Error == nil {
				conforms(n.t, "verbs/"+verb+"/args", []byte(args))
				conforms(n.t, "verbs/"+verb+"/ok", text)
			}
			return string(text), answer.Error, events
		}
		events = append(events, answer.Event)
	}
}

func (n *tunable) governor() string {
	text, err := os.ReadFile(filepath.Join(n.sys, governorFile))
	if err != nil {
		n.t.Fatal(err)
	}
	return string(text)
}

func (n *tunable) end() {
	n.t.Helper()
	n.in.Close()
	if err := <-n.done; err != nil {
		n.t.Error(err)
	}
}

const performance = `{"tuning":{"governor":"performance","thp":null},"command":"loadstone run a.yaml"}`

func TestWhatAChannelTunedEndsWithIt(t *testing.T) {
	n := newTunable(t)
	ok, fault, events := n.ask("tune", performance)
	wanted := fmt.Sprintf(`{"changes":[{"before":"powersave","file":%q,"knob":"governor","set":"performance"}]}`,
		filepath.Join(n.sys, governorFile))
	if ok != wanted || fault != nil || fmt.Sprint(events) != "[map[knob:governor]]" || n.governor() != "performance\n" {
		t.Errorf("%s, %+v, %v, %s", ok, fault, events, n.governor())
	}
	if ok, _, _ := n.ask("verify", "{}"); ok != `{"differences":[]}` {
		t.Error(ok)
	}
	if ok, _, _ := n.ask("tuned", "{}"); !strings.Contains(ok, `"alive":true`) || !strings.Contains(ok, "loadstone run a.yaml") {
		t.Error(ok)
	}
	n.end()
	if n.governor() != "powersave\n" {
		t.Errorf("the channel has ended: %s", n.governor())
	}
	n = connect(t, n.sys)
	if ok, _, _ := n.ask("restore", "{}"); ok != `{"restored":null}` {
		t.Error(ok)
	}
	n.end()
}

func TestWhatIsRestoredByItsOwnChannelIsForgotten(t *testing.T) {
	n := newTunable(t)
	n.ask("tune", performance)
	ok, _, _ := n.ask("restore", "{}")
	if !strings.Contains(ok, `"values":[{"before":"powersave","file":`) || n.governor() != "powersave\n" {
		t.Error(ok)
	}
	if ok, _, _ := n.ask("tuned", "{}"); ok != `{"tuned":null}` {
		t.Error(ok)
	}
	if _, fault, _ := n.ask("verify", "{}"); fault == nil || fault.Kind != Missing {
		t.Errorf("%+v", fault)
	}
	n.end()
}

func TestWhatAHostDoesNotTakeIsAFaultWithARemedy(t *testing.T) {
	n := newTunable(t)
	for args, wanted := range map[string]Fault{
		`{"tuning":{"governor":"ondemand"},"command":""}`: {Kind: Refused, Message: "tuning.governor: " + filepath.Join(n.sys, governorFile) + ": has no governor 'ondemand'", Remedy: "choose one of: performance, powersave"},
		`{"tuning":{"turbo":"off"},"command":""}`: {Kind: Missing, Message: "tuning.turbo: this machine has no switch of turbo (intel_pstate/no_turbo, cpufreq/boost)",
			Remedy: "leave it out; knobs that it has: governor, swap, irqs"},
	} {
		if _, fault, _ := n.ask("tune", args); fault == nil || fault.Kind != wanted.Kind || fault.Message != wanted.Message ||
			!strings.HasPrefix(fault.Remedy, wanted.Remedy[:20]) {
			t.Errorf("%s: %+v", args, fault)
		}
	}
	if _, fault, _ := n.ask("tune", `{"tuning":{"warp":"on"},"command":""}`); fault == nil || fault.Kind != Input {
		t.Errorf("%+v", fault)
	}
	ok, fault, _ := n.ask("knobs", `{"tuning":{"governor":"ondemand"}}`)
	if fault != nil || !strings.Contains(ok, `{"knob":"governor","offers":"performance, powersave"}`) ||
		!strings.Contains(ok, `"kind":"refused","knob":"governor","message":`) || !strings.Contains(ok, `"governors":["powersave"]`) {
		t.Errorf("%s, %+v", ok, fault)
	}
	n.end()
}
