package load

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The load thread's blocking calls go past the Go scheduler (RawSyscall): handing the processor over and back
// would cost more than the call. The runtime interrupts them by signal when it must stop the world.

// poller is an epoll instance; events carry a connection's index and generation.
type poller struct {
	fd     int
	events []unix.EpollEvent
	time   unix.Timespec // here and not on the stack: what a raw system call points to would be allocated anew
	millis bool          // a kernel before 5.11: no epoll_pwait2
}

func newPoller(size int) (*poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	return &poller{fd: fd, events: make([]unix.EpollEvent, size)}, err
}

// add watches a socket for everything, edge-triggered: registered once, and once more where an event was not used up.
func (p *poller) add(socket, index int, generation int32) error {
	return p.watch(unix.EPOLL_CTL_ADD, socket, index, generation)
}

// again has the next wait return what there is on a socket, though it is not new.
func (p *poller) again(socket, index int, generation int32) error {
	return p.watch(unix.EPOLL_CTL_MOD, socket, index, generation)
}

func (p *poller) watch(how, socket, index int, generation int32) error {
	return unix.EpollCtl(p.fd, how, socket, &unix.EpollEvent{
		Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET, Fd: int32(index), Pad: generation,
	})
}

// wait returns the events there are; with none it waits for up to ns (0: not at all).
func (p *poller) wait(ns int64) []unix.EpollEvent {
	ns = max(ns, 0)
	if !p.millis {
		p.time = unix.NsecToTimespec(ns)
		n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(p.fd), uintptr(unsafe.Pointer(&p.events[0])),
			uintptr(len(p.events)), uintptr(unsafe.Pointer(&p.time)), 0, 0)
		switch errno {
		case 0:
			return p.events[:n]
		case syscall.ENOSYS:
			p.millis = true
		default: // EINTR: the runtime wants something; the caller's loop comes back
			return nil
		}
	}
	// Whole milliseconds, rounded down: the last one is spent polling, so that no send is late.
	n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.fd), uintptr(unsafe.Pointer(&p.events[0])),
		uintptr(len(p.events)), uintptr(ns/1e6), 0, 0)
	if errno != 0 {
		return nil
	}
	return p.events[:n]
}

func (p *poller) close() { _ = unix.Close(p.fd) }

// sleep waits for ns, or less if a signal comes.
func (p *poller) sleep(ns int64) {
	p.time = unix.NsecToTimespec(ns)
	_, _, _ = syscall.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, 0, uintptr(unsafe.Pointer(&p.time)), 0, 0, 0)
}
