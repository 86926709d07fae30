package main

import (
	"errors"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// epoll sends and receives by one system call each, and waits with epoll_pwait2.
func epoll(of load) (outcome, error) {
	c, err := connect(of)
	if err != nil {
		return outcome{}, err
	}
	poller, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return outcome{}, err
	}
	for i, fd := range c.fds {
		if err := unix.EpollCtl(poller, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(i)}); err != nil {
			return outcome{}, err
		}
	}
	var requests int64
	events, buffer, p := make([]unix.EpollEvent, of.connections), make([]byte, 4096), newPace(of)
	for now := time.Duration(0); now < of.length; now = time.Since(p.began) {
		for len(c.free) > 0 && p.next <= now {
			if _, err := unix.Write(c.fds[c.take()], c.request); err != nil {
				return outcome{}, err
			}
			p.sent(now)
		}
		until := of.length
		if len(c.free) > 0 {
			until = min(until, p.next)
		}
		wait := unix.NsecToTimespec(max(until-time.Since(p.began), 0).Nanoseconds())
		found, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(poller), uintptr(unsafe.Pointer(&events[0])),
			uintptr(len(events)), uintptr(unsafe.Pointer(&wait)), 0, 0)
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 {
			return outcome{}, errno
		}
		for _, event := range events[:found] {
			i := int(event.Fd)
			bytes, err := unix.Read(c.fds[i], buffer)
			if err != nil || bytes == 0 {
				return outcome{}, errors.Join(errors.New("the server closed a connection"), err)
			}
			if c.received(i, bytes) {
				requests++
			}
		}
	}
	return p.outcome(requests), nil
}
