package thriftrpc

import (
	"net"
	"syscall"
)

// alive says whether an idle connection can still carry a call: a server that stopped has closed it, and one that owes
// no answer has sent nothing. It queries the kernel, which takes about a microsecond, and so spares a call to a server that
// was started anew from failing.
func alive(connection net.Conn) bool {
	socket, is := connection.(syscall.Conn)
	if !is {
		return true
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	waiting := false
	err = raw.Read(func(descriptor uintptr) bool {
		var one [1]byte
		_, _, err := syscall.Recvfrom(int(descriptor), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		waiting = err == syscall.EAGAIN
		return true
	})
	return err == nil && waiting
}
