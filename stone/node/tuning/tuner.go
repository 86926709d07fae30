package tuning

import (
	"context"
	"errors"
	"sync"
	"time"
)

// patience is how long one process waits for another that sets or restores: swapping in takes the longest.
const patience = 30 * time.Second

// Tuner tunes one host for one process, which owns what it has set. Safe for concurrent use.
type Tuner struct {
	mutex   sync.Mutex
	host    Host
	journal journal
	tuned   bool
	changes []Change // what Tune has set
}

// New makes a tuner of a host that keeps its journal in a folder.
func New(host Host, folder string) *Tuner {
	return &Tuner{host: host, journal: journal{folder: folder, system: calls{}, patience: patience}}
}

// Tune sets a study's values, each knob announced to say; if anything fails, all is as before. It starts from the
// host as it was: what this process had set, or one that was killed, is set back first. command is the desk's, for
// people. An *Error where a knob is missing or refused, or where another process has tuned this host.
func (t *Tuner) Tune(ctx context.Context, tuning Tuning, command string, say func(knob string)) ([]Change, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	entry, err := t.claim(ctx, tuning, command)
	if err != nil {
		return nil, err
	}
	changes, err := t.set(ctx, entry, say)
	if err != nil {
		return nil, t.failed(err)
	}
	t.tuned, t.changes = true, changes
	return changes, nil
}

// claim restores what was left, and journals who tunes and the values that may change.
func (t *Tuner) claim(ctx context.Context, tuning Tuning, command string) (*entry, error) {
	unlock, err := t.journal.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if _, err := t.restoreLeft(); err != nil {
		return nil, err
	}
	if problems := Check(t.host, tuning); len(problems) > 0 {
		return nil, problems[0].asError()
	}
	owner := self()
	owner.Command = command
	claimed := &entry{Version: 1, Boot: t.host.boot(), Owner: owner, Tuning: tuning}
	t.complete(claimed)
	if err := t.journal.save(claimed); err != nil {
		return nil, errors.Join(err, t.journal.remove())
	}
	return claimed, nil
}

// failed undoes what is half done.
func (t *Tuner) failed(cause error) error {
	undone := t.undo(context.Background())
	if undone == nil {
		return cause
	}
	both := &Error{Kind: Failed, Message: cause.Error() + "\n" + undone.Error()}
	var first, second *Error
	if errors.As(cause, &first) && errors.As(undone, &second) {
		both = &Error{first.Kind, first.Message + "\n" + second.Message, second.Remedy}
	}
	return both
}

// Verify is what is not, or no longer, as this process has set it; an *Error where it has set nothing.
func (t *Tuner) Verify() ([]Difference, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if !t.tuned {
		return nil, &Error{Missing, "this process has not tuned this host", "tune it again: a node sets back what it set when it ends"}
	}
	differences := []Difference{}
	for _, change := range t.changes {
		if found, _ := change.knob.read(t.host, change.File); change.Refused == "" && found != change.Set {
			differences = append(differences, Difference{change.Knob, change.File, change.Set, found})
		}
	}
	return differences, nil
}

// Restore sets back what this process has set, or one that was killed; nil where nothing was set. An *Error while
// another process that set it still runs, and where a value cannot be set back: then the journal stays.
func (t *Tuner) Restore(ctx context.Context) (*Restored, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if left, err := t.journal.load(); left == nil {
		return nil, err
	}
	unlock, err := t.journal.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return t.restoreLeft()
}

// Undo sets back what this process has set, if it did: at its end.
func (t *Tuner) Undo() error {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.undo(context.Background())
}

func (t *Tuner) undo(ctx context.Context) error {
	left, err := t.journal.load()
	if err != nil || left == nil || !left.Owner.is(self()) {
		return err
	}
	unlock, err := t.journal.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	_, err = t.restore(left)
	return err
}

// State is a host that is tuned.
type State struct {
	Owner     Owner  `json:"owner"`
	Alive     bool   `json:"alive"`     // the owner still runs
	Restarted bool   `json:"restarted"` // the machine was restarted since: its values are the kernel's own again
	Tuning    Tuning `json:"tuning"`
}

// Tuned is the process that has tuned this host; nil where none has.
func (t *Tuner) Tuned() (*State, error) {
	entry, err := t.journal.load()
	if entry == nil {
		return nil, err
	}
	restarted := entry.Boot != t.host.boot()
	return &State{entry.Owner, entry.Owner.alive() && !restarted, restarted, entry.Tuning}, nil
}
