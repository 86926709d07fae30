package tuning

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sys/unix"
)

// Change is one value that was set, or why the kernel kept the one before.
type Change struct {
	Knob    string `json:"knob"`
	File    string `json:"file"`
	Before  string `json:"before"`
	Set     string `json:"set"`
	Refused string `json:"refused,omitempty"`

	knob knob
}

// Difference is a value that is not as it was set; Found is empty where there is none any more.
type Difference struct {
	Knob  string `json:"knob"`
	File  string `json:"file"`
	Set   string `json:"set"`
	Found string `json:"found"`
}

// set writes an entry's values, then reads every one back.
func (t *Tuner) set(ctx context.Context, e *entry, say func(knob string)) ([]Change, error) {
	changes := []Change{}
	for _, k := range wanted(e.Tuning) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		say(k.about().key)
		values, err := k.values(t.host, e.Tuning)
		if err != nil {
			return nil, err
		}
		if t.complete(e) {
			if err := t.journal.save(e); err != nil {
				return nil, err
			}
		}
		for _, v := range k.order(t.host, values) {
			change, err := t.setOne(k, v, e)
			if err != nil {
				return nil, err
			}
			changes = append(changes, change)
		}
	}
	for i := range changes {
		if err := t.verify(&changes[i]); err != nil {
			return nil, err
		}
	}
	return changes, nil
}

// complete adds the values that an entry does not have yet: all at first, later those of processors that were turned on.
func (t *Tuner) complete(e *entry) (added bool) {
	for _, k := range touched(e.Tuning) {
		files, _ := k.files(t.host)
		for _, file := range files {
			if _, known := e.before(file); known {
				continue
			}
			if before, ok := k.read(t.host, file); ok {
				e.Values = append(e.Values, known{k.about().key, file, before})
				added = true
			}
		}
	}
	return added
}

func (t *Tuner) setOne(k knob, v value, e *entry) (Change, error) {
	before, _ := e.before(v.file)
	change := Change{Knob: k.about().key, File: v.file, Before: before, Set: v.text, knob: k}
	if now, _ := k.read(t.host, v.file); now == v.text {
		return change, nil
	}
	err := k.write(t.host, v.file, v.text)
	switch {
	case err == nil:
		return change, nil
	case k.about().yields:
		change.Refused = reason(err)
		return change, nil
	}
	return change, refused(remedy(err, change.Knob),
		"tuning.%s: %s: the kernel does not take '%s': %s", change.Knob, v.file, v.text, reason(err))
}

// verify is an *Error if the kernel has another value now.
func (t *Tuner) verify(change *Change) error {
	found, there := change.knob.read(t.host, change.File)
	if change.Refused != "" || (there && found == change.Set) {
		return nil
	}
	if change.knob.about().yields {
		change.Refused = "it is " + found
		return nil
	}
	return refused("ask for a value that this host keeps, or leave tuning."+change.Knob+" out; all is as before",
		"tuning.%s: %s: wanted %s, found %s", change.Knob, change.File, change.Set, found)
}

func remedy(err error, key string) string {
	switch {
	case slices.ContainsFunc([]error{unix.EACCES, unix.EPERM}, func(one error) bool { return errors.Is(err, one) }):
		return "tuning needs root: use sudo"
	case errors.Is(err, unix.EROFS):
		return "it is mounted read-only, as in containers: run it on the machine itself"
	}
	return "ask for another value, or leave tuning." + key + " out; all is as before"
}
