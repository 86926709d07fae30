package rpc

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// refusal is how long a replica that refused a connection is tried last.
const refusal = 500 * time.Millisecond

// Turns is the order in which a client that connects by itself tries the replicas of a service: in turn, those that refused
// a connection just now last. It is safe for concurrent use.
type Turns struct {
	name string
	stop func()

	mutex     sync.Mutex
	replicas  []string
	next      int
	last      map[string]time.Time // replicas that are tried last, and until when
	complaint error                // why the replicas cannot be listed
}

// TakeTurns follows a service's replicas, given as in Watch. know, if there is one, is called with each new list of them.
func TakeTurns(name string, know func(addresses []string), addresses ...string) (*Turns, error) {
	t := &Turns{name: name, last: map[string]time.Time{}}
	stop, err := Watch(func(addresses []string) {
		t.know(addresses)
		if know != nil {
			know(addresses)
		}
	}, t.complain, addresses...)
	t.stop = stop
	return t, err
}

func (t *Turns) know(addresses []string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.replicas, t.complaint = addresses, nil
}

func (t *Turns) complain(err error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.complaint = err
}

// Order returns the replicas in the order in which the next call tries them, and an error where none is known. The list is
// not to be changed.
func (t *Turns) Order() ([]string, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	count := len(t.replicas)
	if count == 0 {
		complaint := t.complaint
		if complaint == nil {
			complaint = errors.New("none is listed")
		}
		return nil, fmt.Errorf("%s: no replica is known: %w", t.name, complaint)
	}
	t.next = (t.next + 1) % count
	if count == 1 {
		return t.replicas, nil
	}
	order := slices.Concat(t.replicas[t.next:], t.replicas[:t.next])
	if len(t.last) == 0 {
		return order, nil
	}
	now := time.Now()
	maps.DeleteFunc(t.last, func(_ string, until time.Time) bool { return until.Before(now) })
	refused := func(address string) bool { return !t.last[address].IsZero() }
	last := slices.DeleteFunc(slices.Clone(order), func(address string) bool { return !refused(address) })
	return append(slices.DeleteFunc(order, refused), last...), nil
}

// Refused has a replica tried last for a while.
func (t *Turns) Refused(address string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.last[address] = time.Now().Add(refusal)
}

// Close ends the following of the replicas.
func (t *Turns) Close() { t.stop() }
