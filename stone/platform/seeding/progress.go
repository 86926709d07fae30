package seeding

import (
	"encoding/json"
	"io"
	"sync"
	"time"
)

// reportEvery: at most five lines a second.
const reportEvery = 200 * time.Millisecond

// Progress tells how far a run is, as JSON lines such as {"what":"users","done":500,"of":962}. Safe for concurrent use.
type Progress struct {
	mutex sync.Mutex
	out   io.Writer // nil: not reported
	last  time.Time
	now   struct {
		What string `json:"what"`
		Done int    `json:"done"`
		Of   int    `json:"of"`
	}
}

// Begin says what is done from now on, and how much of it there is.
func (p *Progress) Begin(what string, of int) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.now.What, p.now.Done, p.now.Of = what, 0, of
	p.tell()
}

// Add says that more of it is done.
func (p *Progress) Add(done int) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.now.Done += done
	p.tell()
}

// tell writes a line unless one was written just now.
func (p *Progress) tell() {
	if p.out == nil || p.now.Of == 0 || time.Since(p.last) < reportEvery {
		return
	}
	p.last = time.Now()
	line, err := json.Marshal(p.now)
	if err == nil {
		_, _ = p.out.Write(append(line, '\n'))
	}
}
