package main

import (
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Numbers of io_uring's interface (linux/io_uring.h).
const (
	setupCoopTaskrun  = 1 << 8
	setupSingleIssuer = 1 << 12
	setupDeferTaskrun = 1 << 13
	setupNoSQArray    = 1 << 16

	enterGetEvents = 1 << 0
	enterExtArg    = 1 << 3

	registerBufferRing = 22

	opSend, opReceive = 26, 27
	receiveMultishot  = 1 << 1
	selectBuffer      = 1 << 5
	skipSuccess       = 1 << 6
	withBuffer, more  = 1 << 0, 1 << 1
	sqesOffset        = 0x10000000
	submissions       = 256
	buffers, perEntry = 256, 1024
)

type ringOffsets struct {
	head, tail, mask, entries, flags, dropped, array, _ uint32
	_                                                   uint64
}

type completionOffsets struct {
	head, tail, mask, entries, overflow, completions, flags, _ uint32
	_                                                          uint64
}

type ringParameters struct {
	sqEntries, cqEntries, flags, threadCPU, threadIdle, features, workers uint32
	_                                                                     [3]uint32
	sq                                                                    ringOffsets
	cq                                                                    completionOffsets
}

type submission struct {
	opcode, flags uint8
	priority      uint16
	fd            int32
	offset, addr  uint64
	length, op    uint32
	data          uint64
	group, _      uint16
	_             int32
	_, _          uint64
}

type completion struct {
	data  uint64
	res   int32
	flags uint32
}

// ring is an io_uring of one thread, with a ring of buffers for what is received.
type ring struct {
	fd                      int
	sqTail, cqHead, cqTail  *uint32
	sqMask, cqMask, pending uint32
	entries                 []submission
	completions             []completion
	received                []byte // the buffers, one after another
	bufferRing              []byte
	bufferTail              uint16
	bufferLast              *uint16
	wait                    unix.Timespec // timeout of the call in hand; here, because what the kernel reads must not move
	argument                waitArgument
}

// waitArgument is struct io_uring_getevents_arg.
type waitArgument struct {
	mask   uint64
	size   uint32
	minUs  uint32
	expiry uint64
}

func newRing() (*ring, error) {
	p := ringParameters{flags: setupCoopTaskrun | setupSingleIssuer | setupDeferTaskrun | setupNoSQArray}
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, submissions, uintptr(unsafe.Pointer(&p)), 0)
	if errno != 0 {
		return nil, fmt.Errorf("io_uring_setup: %w", errno)
	}
	size := max(int(p.cq.completions+p.cqEntries*16), int(p.sq.array))
	area, err := unix.Mmap(int(fd), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return nil, err
	}
	entries, err := unix.Mmap(int(fd), sqesOffset, int(p.sqEntries)*64, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return nil, err
	}
	word := func(offset uint32) *uint32 { return (*uint32)(unsafe.Pointer(&area[offset])) }
	r := &ring{
		fd: int(fd), sqTail: word(p.sq.tail), cqHead: word(p.cq.head), cqTail: word(p.cq.tail),
		sqMask: *word(p.sq.mask), cqMask: *word(p.cq.mask),
		entries:     unsafe.Slice((*submission)(unsafe.Pointer(&entries[0])), p.sqEntries),
		completions: unsafe.Slice((*completion)(unsafe.Pointer(&area[p.cq.completions])), p.cqEntries),
	}
	return r, r.provideBuffers()
}

// provideBuffers registers the ring of buffers (io_uring_register, IORING_REGISTER_PBUF_RING) and fills it.
func (r *ring) provideBuffers() error {
	var err error
	if r.bufferRing, err = unix.Mmap(-1, 0, buffers*16, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE); err != nil {
		return err
	}
	if r.received, err = unix.Mmap(-1, 0, buffers*perEntry, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE); err != nil {
		return err
	}
	registration := struct {
		addr         uint64
		entries      uint32
		group, flags uint16
		_            [3]uint64
	}{addr: uint64(uintptr(unsafe.Pointer(&r.bufferRing[0]))), entries: buffers}
	if _, _, errno := unix.Syscall6(unix.SYS_IO_URING_REGISTER, uintptr(r.fd), registerBufferRing,
		uintptr(unsafe.Pointer(&registration)), 1, 0, 0); errno != 0 {
		return fmt.Errorf("io_uring_register of buffers: %w", errno)
	}
	r.bufferLast = (*uint16)(unsafe.Pointer(&r.bufferRing[14])) // shares the first entry's unused field
	for i := range uint16(buffers) {
		r.giveBack(i)
	}
	r.publishBuffers()
	return nil
}

// giveBack lets the kernel use a buffer again, once it is published.
func (r *ring) giveBack(buffer uint16) {
	entry := unsafe.Pointer(&r.bufferRing[int(r.bufferTail%buffers)*16])
	*(*uint64)(entry) = uint64(uintptr(unsafe.Pointer(&r.received[int(buffer)*perEntry])))
	*(*uint32)(unsafe.Add(entry, 8)) = perEntry
	*(*uint16)(unsafe.Add(entry, 12)) = buffer
	r.bufferTail++
}

// publishBuffers makes visible what was given back: a 16-bit store is not reordered on the machines that this runs on, and
// the kernel reads it only in a system call of the same thread.
func (r *ring) publishBuffers() { *r.bufferLast = r.bufferTail }

// entry returns the next submission to fill in; what is waiting is submitted if there is no room.
func (r *ring) entry() (*submission, error) {
	if r.pending == uint32(len(r.entries)) {
		if err := r.enter(0, 0); err != nil {
			return nil, err
		}
	}
	tail := *r.sqTail + r.pending
	r.pending++
	s := &r.entries[tail&r.sqMask]
	*s = submission{}
	return s, nil
}

// enter submits what is pending, and waits for a completion (least 1) for at most so long.
func (r *ring) enter(least uintptr, most time.Duration) error {
	atomic.StoreUint32(r.sqTail, *r.sqTail+r.pending)
	r.wait = unix.NsecToTimespec(max(most, 0).Nanoseconds())
	r.argument = waitArgument{expiry: uint64(uintptr(unsafe.Pointer(&r.wait)))}
	_, _, errno := unix.Syscall6(unix.SYS_IO_URING_ENTER, uintptr(r.fd), uintptr(r.pending), least, enterGetEvents|enterExtArg,
		uintptr(unsafe.Pointer(&r.argument)), unsafe.Sizeof(r.argument))
	r.pending = 0
	if errno != 0 && errno != unix.ETIME && errno != unix.EINTR {
		return fmt.Errorf("io_uring_enter: %w", errno)
	}
	return nil
}
