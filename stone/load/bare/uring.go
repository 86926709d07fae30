package main

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const ofSend = 1 << 32 // marks a failed send among the completions

// uring submits all sends of a turn and waits for answers in one system call; each connection has one receive that stays.
func uring(of load) (outcome, error) {
	c, err := connect(of)
	if err != nil {
		return outcome{}, err
	}
	r, err := newRing()
	if err != nil {
		return outcome{}, err
	}
	for i := range c.fds {
		if err := r.receive(c, i); err != nil {
			return outcome{}, err
		}
	}
	var requests int64
	p := newPace(of)
	for now := time.Duration(0); now < of.length; now = time.Since(p.began) {
		for len(c.free) > 0 && p.next <= now {
			if err := r.send(c, c.take()); err != nil {
				return outcome{}, err
			}
			p.sent(now)
		}
		until := of.length
		if len(c.free) > 0 {
			until = min(until, p.next)
		}
		if err := r.enter(1, until-time.Since(p.began)); err != nil {
			return outcome{}, err
		}
		whole, err := r.reap(c)
		if err != nil {
			return outcome{}, err
		}
		requests += whole
	}
	return p.outcome(requests), nil
}

// reap reads the completions and returns how many answers became whole.
func (r *ring) reap(c *connections) (whole int64, err error) {
	head, tail := *r.cqHead, atomic.LoadUint32(r.cqTail)
	for ; head != tail; head++ {
		done := &r.completions[head&r.cqMask]
		if done.res <= 0 && done.res != -int32(unix.ENOBUFS) {
			return 0, errors.Join(errors.New("the server closed a connection"), unix.Errno(-done.res))
		}
		if done.data >= ofSend {
			return 0, fmt.Errorf("a request was sent in part: %d of %d bytes", done.res, len(c.request))
		}
		i := int(done.data)
		if done.flags&withBuffer != 0 {
			r.giveBack(uint16(done.flags >> 16))
			if c.received(i, int(done.res)) {
				whole++
			}
		}
		if done.flags&more == 0 {
			if err := r.receive(c, i); err != nil {
				return 0, err
			}
		}
	}
	atomic.StoreUint32(r.cqHead, head)
	r.publishBuffers()
	return whole, nil
}

func (r *ring) receive(c *connections, i int) error {
	s, err := r.entry()
	if err != nil {
		return err
	}
	s.opcode, s.flags, s.priority, s.fd, s.data = opReceive, selectBuffer, receiveMultishot, int32(c.fds[i]), uint64(i)
	return nil
}

func (r *ring) send(c *connections, i int) error {
	s, err := r.entry()
	if err != nil {
		return err
	}
	s.opcode, s.flags, s.fd, s.data = opSend, skipSuccess, int32(c.fds[i]), ofSend|uint64(i)
	s.addr, s.length = uint64(uintptr(unsafe.Pointer(&c.request[0]))), uint32(len(c.request))
	return nil
}
