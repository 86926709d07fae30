package load

import (
	"fmt"
	"net"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// address is where the connections go.
type address struct {
	sockaddr unix.Sockaddr
	family   int
}

// own is a copy for one thread: connecting writes into an address.
func (a address) own() address {
	switch s := a.sockaddr.(type) {
	case *unix.SockaddrInet4:
		return address{&unix.SockaddrInet4{Port: s.Port, Addr: s.Addr}, a.family}
	case *unix.SockaddrInet6:
		return address{&unix.SockaddrInet6{Port: s.Port, Addr: s.Addr, ZoneId: s.ZoneId}, a.family}
	}
	return a
}

// reach resolves host:port and returns the first of its addresses that accepts a connection.
func reach(host string, timeout time.Duration) (address, error) {
	conn, err := net.DialTimeout("tcp", host, timeout)
	if err != nil {
		return address{}, err
	}
	defer conn.Close()
	peer, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return address{}, fmt.Errorf("%s is not a TCP address", conn.RemoteAddr())
	}
	if ip := peer.IP.To4(); ip != nil {
		return address{&unix.SockaddrInet4{Port: peer.Port, Addr: [4]byte(ip)}, unix.AF_INET}, nil
	}
	zone := uint32(0)
	if device, err := net.InterfaceByName(peer.Zone); err == nil {
		zone = uint32(device.Index)
	}
	return address{&unix.SockaddrInet6{Port: peer.Port, Addr: [16]byte(peer.IP.To16()), ZoneId: zone}, unix.AF_INET6}, nil
}

// dial begins a connection without waiting for it.
func (a address) dial() (int, error) {
	fd, err := unix.Socket(a.family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	// The kernel notes when bytes arrived, so a thread that looks late still measures right.
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
	if err := unix.Connect(fd, a.sockaddr); err != nil && err != unix.EINPROGRESS {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// connected returns how the connecting of a socket ended.
func connected(fd int) error {
	code, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && code != 0 {
		err = unix.Errno(code)
	}
	return err
}

// send writes what the socket takes now.
func send(fd int, data []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(data))),
		uintptr(len(data)), unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT, 0, 0)
	return int(n), errno
}

// receiver is the buffer that all connections of a thread read into.
type receiver struct {
	data    []byte
	control [128]byte
	vector  unix.Iovec
	message unix.Msghdr
}

func newReceiver(size int) *receiver {
	r := &receiver{data: make([]byte, size)}
	r.vector.Base = &r.data[0]
	r.vector.SetLen(size)
	r.message.Iov = &r.vector
	r.message.SetIovlen(1)
	r.message.Control = &r.control[0]
	return r
}

// receive reads into data. arrived is the wall-clock time, in ns, at which the kernel got the last byte of it,
// 0 if it does not say.
func (r *receiver) receive(fd int) (n int, arrived int64, errno syscall.Errno) {
	r.message.SetControllen(len(r.control))
	count, _, errno := syscall.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&r.message)), unix.MSG_DONTWAIT)
	if errno != 0 {
		return 0, 0, errno
	}
	header := (*unix.Cmsghdr)(unsafe.Pointer(&r.control[0]))
	if int(r.message.Controllen) >= unix.CmsgLen(int(unsafe.Sizeof(unix.Timespec{}))) &&
		header.Level == unix.SOL_SOCKET && header.Type == unix.SCM_TIMESTAMPNS {
		arrived = (*unix.Timespec)(unsafe.Pointer(&r.control[unix.CmsgLen(0)])).Nano()
	}
	return int(count), arrived, 0
}
