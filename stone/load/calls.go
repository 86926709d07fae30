package load

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"loadstone.dev/stone/load/mistake"
	"loadstone.dev/stone/load/request"
	"loadstone.dev/stone/load/schedule"
	"loadstone.dev/stone/load/transport"
)

// calls carries the requests of one thread through a library (package transport): everything but plain HTTP/1.1.
// Each connection of the pool is then a slot for one call, with a goroutine that makes it; several slots share a line,
// which is the real connection. The load thread hands requests out and learns of answers through an eventfd,
// so that its loop, its schedule and its accounting are the same as for raw sockets.
type calls struct {
	wake    int // an eventfd, watched by the thread's poller under the index callsIndex
	lines   []transport.Caller
	work    []chan outgoing // by slot
	mutex   sync.Mutex
	results []callEnd // since the thread last collected them
	spare   []callEnd
	ctx     context.Context
	cancel  context.CancelFunc
	group   sync.WaitGroup
}

const callsIndex = -1

// outgoing is a request for a slot's goroutine.
type outgoing struct {
	data     []byte
	deadline time.Time
}

// callEnd is what became of it.
type callEnd struct {
	slot   int
	at     time.Time
	answer transport.Answer
	err    error
}

// dialer returns what makes the connections of a plan that raw sockets do not serve; nil if they do.
func (p *Plan) dialer(k *request.Catalogue) (*transport.Dialer, error) {
	if p.Protocol == transport.HTTP1 && p.scheme == "http" {
		return nil, nil
	}
	settings := transport.Settings{
		Protocol: p.Protocol, Target: p.Target, Descriptors: p.Descriptors, Timeout: schedule.Seconds(p.TimeoutS),
		NewPerRequest: p.Policy == newPolicy,
	}
	if p.Protocol != transport.GRPC { // conversion of a message to JSON is costly: only if the plan reads it
		settings.Limit = request.ExampleMax
	}
	for _, kind := range k.List() {
		if settings.Limit = max(settings.Limit, kind.Keep); kind.KeepHead {
			settings.Limit = max(settings.Limit, request.ExampleMax) // with none, the header is not kept either
		}
	}
	if p.Script != nil {
		settings.Limit = request.BodyLimit
	}
	if p.TLS != nil {
		settings.TLS = *p.TLS
	}
	dialer, err := transport.New(settings)
	if err != nil {
		return nil, mistake.New("", "%v", err)
	}
	return dialer, nil
}

// newCalls makes the slots of a pool. Neighbouring slots use different lines, so that these take turns as the slots do.
func newCalls(p *pool, dialer *transport.Dialer, addresses []string, lines int) (*calls, error) {
	k := &calls{}
	for i := range lines {
		line, err := dialer.Caller(addresses[(p.thread+i)%len(addresses)])
		if err != nil {
			return nil, err
		}
		k.lines = append(k.lines, line)
	}
	wake, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	if err := p.poller.add(wake, callsIndex, 0); err != nil {
		_ = unix.Close(wake)
		return nil, err
	}
	k.wake = wake
	k.ctx, k.cancel = context.WithCancel(context.Background())
	for slot := range p.connections {
		work := make(chan outgoing, 1)
		k.work = append(k.work, work)
		k.group.Add(1)
		go k.serve(slot, k.lines[slot%lines], work)
	}
	return k, nil
}

// connect makes the first connections, some of which have to be made.
func (k *calls) connect(p *pool, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(k.ctx, timeout)
	defer cancel()
	initial := min(p.initial, len(k.lines))
	made, last := make([]bool, initial), make([]error, initial)
	var group errgroup.Group
	group.SetLimit(32)
	for i := range initial {
		group.Go(func() error {
			last[i] = k.lines[i].Connect(ctx)
			made[i] = last[i] == nil
			return nil
		})
	}
	_ = group.Wait()
	for _, one := range made {
		if one {
			p.tally.made++
		}
	}
	for slot := range p.initial {
		if made[slot%len(k.lines)] {
			p.release(&p.connections[slot])
		} else {
			p.shut(&p.connections[slot])
		}
	}
	if p.count == 0 && p.initial > 0 {
		return last[0]
	}
	return nil
}

// serve makes the calls of one slot.
func (k *calls) serve(slot int, line transport.Caller, work <-chan outgoing) {
	defer k.group.Done()
	for out := range work {
		ctx, cancel := context.WithDeadline(k.ctx, out.deadline)
		r := callEnd{slot: slot}
		r.answer, r.err = line.Call(ctx, out.data)
		r.at = time.Now()
		cancel()
		k.mutex.Lock()
		k.results = append(k.results, r)
		first := len(k.results) == 1
		k.mutex.Unlock()
		if first {
			var one [8]byte
			binary.NativeEndian.PutUint64(one[:], 1)
			_, _ = unix.Write(k.wake, one[:])
		}
	}
}

// begin hands a request to the slot of a connection.
func (k *calls) begin(c *connection, data []byte, deadline time.Time) {
	c.state = open
	k.work[c.index] <- outgoing{append([]byte(nil), data...), deadline} // never waits: the slot is free
}

// finished returns what has come since it was called last.
func (k *calls) finished() []callEnd {
	var counter [8]byte
	_, _ = unix.Read(k.wake, counter[:])
	k.mutex.Lock()
	defer k.mutex.Unlock()
	clear(k.spare)
	k.results, k.spare = k.spare[:0], k.results
	return k.spare
}

func (k *calls) close() {
	k.cancel()
	for _, work := range k.work {
		close(work)
	}
	for _, line := range k.lines {
		_ = line.Close()
	}
	k.group.Wait()
	_ = unix.Close(k.wake)
}

// called settles the calls that have ended.
func (t *loadThread) called() {
	for _, r := range t.pool.calls.finished() {
		c := &t.pool.connections[r.slot]
		t.recorder.bytes += int64(len(r.answer.Header)) + r.answer.Size
		if len(c.under) > 0 { // else it has been given up as timed out
			t.settleCall(c, r)
		}
		t.pool.release(c)
	}
	if t.blocked {
		t.sendDue(t.readUntil)
	}
}

func (t *loadThread) settleCall(c *connection, r callEnd) {
	if r.err != nil {
		var cause error = transport.KindOf(r.err)
		if cause == transport.Timeout {
			cause = errTimeout
		}
		t.fail(c, cause, []byte(r.answer.Detail))
		return
	}
	c.response.Status, c.response.Size = r.answer.Status, r.answer.Size
	c.response.Body, c.response.Head = r.answer.Body, r.answer.Header
	if r.answer.Status >= 400 {
		c.response.Example = r.answer.Body[:min(len(r.answer.Body), request.ExampleMax)]
	}
	t.conclude(c, t.clock.at(r.at))
}

// probe opens one connection and sends no request on it.
func probe(ctx context.Context, dialer *transport.Dialer, address string) error {
	caller, err := dialer.Dial(ctx, address)
	if err != nil {
		return err
	}
	return caller.Close()
}

// unreachable tells a target that does not answer from one that answers otherwise than the plan says.
func unreachable(host string, err error) error {
	if kind := string(transport.KindOf(err)); strings.HasPrefix(kind, "tls: ") || strings.HasPrefix(kind, "protocol: ") {
		return fmt.Errorf("%w: %s: %w", ErrOtherwise, host, err)
	}
	return fmt.Errorf("%w: %s: %w", ErrUnreachable, host, err)
}

// checkCalls sees that what the sources have made can be sent at all: each kind of request once.
func (r *run) checkCalls() error {
	seen := map[int32]bool{}
	for _, t := range r.threads {
		for i := t.ring.head.Load(); i < t.ring.tail.Load(); i++ {
			made := &t.ring.slots[i&t.ring.mask]
			if seen[made.op] {
				continue
			}
			seen[made.op] = true
			if err := r.dialer.Check(made.data); err != nil {
				return mistake.New("", "%s: %v", t.kind(made.op).Name, err)
			}
		}
	}
	return nil
}
