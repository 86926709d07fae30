package load

import (
	"net"
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// address is where the connections go.
type address struct {
	sockaddr unix.Sockaddr
	family   int
	name     netip.AddrPort
}

func newAddress(name netip.AddrPort) address {
	if ip := name.Addr(); ip.Is4() {
		return address{&unix.SockaddrInet4{Port: int(name.Port()), Addr: ip.As4()}, unix.AF_INET, name}
	}
	zone := uint32(0)
	if device, err := net.InterfaceByName(name.Addr().Zone()); err == nil {
		zone = uint32(device.Index)
	}
	return address{&unix.SockaddrInet6{Port: int(name.Port()), Addr: name.Addr().As16(), ZoneId: zone}, unix.AF_INET6, name}
}

// own is a copy for one thread: connecting writes into an address.
func (a address) own() address { return newAddress(a.name) }

// dial begins a connection without waiting for it, from an address of ours or, without one, from any.
func (a address) dial(source unix.Sockaddr) (int, error) {
	fd, err := unix.Socket(a.family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	// The kernel notes when bytes arrived, so a thread that looks late still measures right.
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
	if source != nil {
		// The port is chosen with the connection, so that each address has all ports to each target.
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
		if err := unix.Bind(fd, source); err != nil {
			_ = unix.Close(fd)
			return -1, err
		}
	}
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

// waiting is how many bytes have arrived that are not read yet.
func waiting(fd int) int {
	count, _ := unix.IoctlGetInt(fd, unix.TIOCINQ)
	return count
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
