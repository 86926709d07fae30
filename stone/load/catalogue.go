package load

import "sync"

// kind is what is known of the requests of one operation, or of one step of a session.
type kind struct {
	name     string
	headOnly bool         // HEAD: the answer has no body
	keep     int64        // bytes of the answer's body that are looked at
	keepHead bool         // the answer's header lines are looked at
	expect   *expectation // nil: any status below 400
}

func newKind(name string) *kind { return &kind{name: name} }

// catalogue numbers them. Those of a plan's operations are known beforehand, a script's are met on the way.
type catalogue struct {
	mutex   sync.Mutex
	all     []*kind
	numbers map[string]int32
}

// Requests whose paths hold ids would make a kind each: beyond so many they are one kind.
const (
	mostKinds  = 64
	otherKinds = "other"
)

func newCatalogue() *catalogue { return &catalogue{numbers: map[string]int32{}} }

// add numbers a kind that is known beforehand.
func (c *catalogue) add(k *kind) {
	c.numbers[k.name] = int32(len(c.all))
	c.all = append(c.all, k)
}

// number returns the number of a kind met on the way; make describes a new one.
func (c *catalogue) number(name string, make func(name string) *kind) int32 {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if number, known := c.numbers[name]; known {
		return number
	}
	if len(c.all) >= mostKinds {
		name = otherKinds
		if number, known := c.numbers[name]; known {
			return number
		}
	}
	c.numbers[name] = int32(len(c.all))
	c.all = append(c.all, make(name))
	return c.numbers[name]
}

// list returns all kinds so far; what it returns is not changed any more.
func (c *catalogue) list() []*kind {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.all[:len(c.all):len(c.all)]
}
