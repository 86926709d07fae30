package request

import "sync"

// Kind is what is known of the requests of one operation, or of one step of a session.
type Kind struct {
	Name     string
	HeadOnly bool         // HEAD: the answer has no body
	Keep     int64        // bytes of the answer's body that are looked at
	KeepHead bool         // the answer's header lines are looked at
	Expect   *expectation // nil: any status below 400
}

func NewKind(name string) *Kind { return &Kind{Name: name} }

// Catalogue numbers them. Those of a plan's operations are known beforehand, a script's are met on the way.
type Catalogue struct {
	mutex   sync.Mutex
	all     []*Kind
	numbers map[string]int32
}

// Requests whose paths hold ids would make a kind each: beyond so many they are one kind.
const (
	MostKinds  = 64
	OtherKinds = "other"
)

func NewCatalogue() *Catalogue { return &Catalogue{numbers: map[string]int32{}} }

// Add numbers a kind that is known beforehand.
func (c *Catalogue) Add(k *Kind) {
	c.numbers[k.Name] = int32(len(c.all))
	c.all = append(c.all, k)
}

// Number returns the number of a kind met on the way; make describes a new one.
func (c *Catalogue) Number(name string, make func(name string) *Kind) int32 {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if number, known := c.numbers[name]; known {
		return number
	}
	if len(c.all) >= MostKinds {
		name = OtherKinds
		if number, known := c.numbers[name]; known {
			return number
		}
	}
	c.numbers[name] = int32(len(c.all))
	c.all = append(c.all, make(name))
	return c.numbers[name]
}

// List returns all kinds so far; what it returns is not changed any more.
func (c *Catalogue) List() []*Kind {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.all[:len(c.all):len(c.all)]
}
