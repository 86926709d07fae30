package main

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// connections are open sockets, with how much of the answer in hand each has received.
type connections struct {
	fds     []int
	got     []int
	free    []int // those without a request in flight
	request []byte
	answer  int // bytes of an answer; the server is taken to answer with the same number each time
}

// connect opens them all and sends one request, to learn the length of an answer.
func connect(of load) (*connections, error) {
	address, err := netip.ParseAddrPort(of.address)
	if err != nil {
		return nil, err
	}
	c := &connections{request: fmt.Appendf(nil, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", of.address), got: make([]int, of.connections)}
	for i := range of.connections {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return nil, err
		}
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
			return nil, err
		}
		if err := unix.Connect(fd, &unix.SockaddrInet4{Port: int(address.Port()), Addr: address.Addr().As4()}); err != nil {
			return nil, err
		}
		c.fds, c.free = append(c.fds, fd), append(c.free, i)
	}
	if _, err := unix.Write(c.fds[0], c.request); err != nil {
		return nil, err
	}
	buffer := make([]byte, 4096)
	if c.answer, err = unix.Read(c.fds[0], buffer); err != nil {
		return nil, err
	}
	if c.answer < 12 || c.answer == len(buffer) {
		return nil, errors.New("the server's answer is not one short packet")
	}
	return c, nil
}

// received says whether the answer on a connection is whole now.
func (c *connections) received(i, bytes int) bool {
	if c.got[i] += bytes; c.got[i] < c.answer {
		return false
	}
	c.got[i] = 0
	c.free = append(c.free, i)
	return true
}

// take returns a connection without a request in flight.
func (c *connections) take() int {
	last := len(c.free) - 1
	i := c.free[last]
	c.free = c.free[:last]
	return i
}
