package tuning

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Restored is what was set back, for the process that had set it.
type Restored struct {
	Owner     Owner  `json:"owner"`
	Restarted bool   `json:"restarted"` // the machine was: its values are the kernel's own again, none was set
	Values    []Back `json:"values"`
}

// Back is one value that was set back.
type Back struct {
	File   string `json:"file"`
	Found  string `json:"found"`
	Before string `json:"before"`
}

// restoreLeft sets back what this process or one that has ended has set; the lock is held.
func (t *Tuner) restoreLeft() (*Restored, error) {
	left, err := t.journal.load()
	if left == nil {
		return nil, err
	}
	if left.Boot == t.host.boot() && left.Owner.alive() && !left.Owner.is(self()) {
		return nil, refused("wait for it, or stop it: it sets back what it set",
			"this host is tuned by %s, which still runs", left.Owner)
	}
	return t.restore(left)
}

// restore sets back, verifies, forgets. What is not there any more (an interrupt whose device went) has no value to set.
func (t *Tuner) restore(e *entry) (*Restored, error) {
	t.tuned, t.changes = false, nil
	restored := &Restored{Owner: e.Owner, Restarted: e.Boot != t.host.boot(), Values: []Back{}}
	if restored.Restarted {
		return restored, t.journal.remove()
	}
	var problems []string
	for _, k := range wayBack(e) {
		var values []value
		for _, v := range e.Values {
			if v.Knob == k.about().key {
				values = append(values, value{v.File, v.Before})
			}
		}
		for _, v := range k.order(t.host, values) {
			problems = append(problems, t.setBack(k, v, restored)...)
		}
	}
	problems = append(problems, t.differing(e)...)
	if len(problems) > 0 {
		return nil, &Error{
			Failed, "this host is not as it was before it was tuned:\n" + strings.Join(compact(problems), "\n"),
			"`sudo loadstone restore` tries again; a restart of the machine sets all knobs back, too",
		}
	}
	return restored, t.journal.remove()
}

// wayBack has hardware threads first, for the others' values need them; last, where they were off.
func wayBack(e *entry) []knob {
	for _, v := range e.Values {
		if v.Knob == "smt" && v.Before != "on" {
			return append(slices.Clone(knobs[1:]), knobs[0])
		}
	}
	return knobs
}

func (t *Tuner) setBack(k knob, v value, restored *Restored) []string {
	if !t.isKernels(v.file) { // write access to the journal must not allow all that root may write
		return []string{v.file + ": is no value of the kernel's"}
	}
	found, there := k.read(t.host, v.file)
	if !there || found == v.text {
		return nil
	}
	if err := k.write(t.host, v.file, v.text); err != nil {
		return []string{fmt.Sprintf("%s: '%s' is refused: %s", v.file, v.text, reason(err))}
	}
	if !slices.ContainsFunc(restored.Values, func(back Back) bool { return back.File == v.file }) {
		restored.Values = append(restored.Values, Back{v.file, found, v.text})
	}
	return nil
}

func (t *Tuner) isKernels(file string) bool {
	below := func(folder string) bool { return strings.HasPrefix(file, folder+"/") }
	return filepath.Clean(file) == file && (below(t.host.Sys) || below(t.host.Proc))
}

func (t *Tuner) differing(e *entry) []string {
	var problems []string
	for _, v := range e.Values {
		at := slices.IndexFunc(knobs, func(k knob) bool { return k.about().key == v.Knob })
		if at < 0 {
			problems = append(problems, fmt.Sprintf("%s: a newer Loadstone has set it to something else than %s", v.File, v.Before))
			continue
		}
		if found, there := knobs[at].read(t.host, v.File); there && found != v.Before {
			problems = append(problems, fmt.Sprintf("%s: is %s, was %s", v.File, found, v.Before))
		}
	}
	return problems
}

// compact leaves out repetitions.
func compact(lines []string) []string {
	var kept []string
	for _, line := range lines {
		if !slices.Contains(kept, line) {
			kept = append(kept, line)
		}
	}
	return kept
}
