package load

import "sync"

// kind is what is known of the requests of one operation, or of one step of a session.
type kind struct {
	name     string
	headOnly bool // HEAD: the answer has no body
	keep     int64        // bytes of the answer's body that are looked at
	keepHead bool         // the answer's header lines are looked at
	expect   *expectation // nil: any status below 400
}

// kinds numbers them. Those of a plan's operations are known beforehand, a script's are met on the way.
type kinds struct {
	mutex   sync.Mutex
	all     []*kind
	numbers map[string]int32
}

// Requests whose paths hold ids would make a kind each: beyond so many they are one kind.
const (
	mostKinds  = 64
	otherKinds = "other"
)

func newKinds(known ...*kind) *kinds {
	k := &kinds{numbers: map[string]int32{}}
	for _, known := range known {
		k.numbers[known.name] = int32(len(k.all))
		k.all = append(k.all, known)
	}
	return k
}

// number returns the number of a kind met on the way; make describes a new one.
func (k *kinds) number(name string, make func(name string) *kind) int32 {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if number, known := k.numbers[name]; known {
		return number
	}
	if len(k.all) >= mostKinds {
		name = otherKinds
		if number, known := k.numbers[name]; known {
			return number
		}
	}
	k.numbers[name] = int32(len(k.all))
	k.all = append(k.all, make(name))
	return k.numbers[name]
}

// list returns all kinds so far; what it returns is not changed any more.
func (k *kinds) list() []*kind {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.all[:len(k.all):len(k.all)]
}
