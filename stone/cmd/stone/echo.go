package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const echoHelp = `usage: stone echo [--listen HOST:PORT] [--stamps FILE]

Answers every HTTP/1.1 request with two bytes, as fast as one thread can, until SIGTERM or SIGINT: a target that is
never the bottleneck, to test load generators against. It reads no request bodies: send none.

  --listen HOST:PORT   where; 127.0.0.1:0 takes a free port, which is printed  (127.0.0.1:0)
  --stamps FILE        when it ends, writes the time of each request there: nanoseconds since 1970, one a line, as the
                       kernel stamped the request's last bytes

Example: stone echo --listen 127.0.0.1:8080 --stamps arrivals.txt

Exit codes: 0 stopped by SIGINT or SIGTERM, 1 unexpected, 2 bad input.
`

func init() {
	verbs["echo"] = verb{"answer every request at once and note when it came", runEcho}
}

func runEcho(args []string) int {
	flags := flag.NewFlagSet("echo", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	address := flags.String("listen", "127.0.0.1:0", "")
	stamps := flags.String("stamps", "", "")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(echoHelp)
		return 0
	case err != nil:
		return echoFailed(2, err)
	case flags.NArg() > 0:
		return echoFailed(2, fmt.Errorf("unexpected argument %q", flags.Arg(0)))
	}
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		return echoFailed(2, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	fmt.Printf("listening on %s\n", listener.Addr())
	e := &echo{}
	if err := e.serve(ctx, listener.(*net.TCPListener)); err != nil {
		return echoFailed(1, err)
	}
	if *stamps == "" {
		return 0
	}
	if err := e.write(*stamps); err != nil {
		return echoFailed(1, err)
	}
	return 0
}

func echoFailed(code int, err error) int {
	fmt.Fprintf(os.Stderr, "stone echo: %v\n", err)
	return code
}

var (
	echoAnswer = []byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	headEnd    = []byte("\r\n\r\n")
)

// echo is the server: one thread, level-triggered epoll, no allocation per request but for its time.
type echo struct {
	rests   map[int][]byte // by socket: the beginning of a request that has not come whole
	arrived []int64
	buffer  [64 << 10]byte
	control [128]byte
}

// serve answers until ctx ends. The sockets are kept from Go's own poller: it would wake for each request, too.
func (e *echo) serve(ctx context.Context, listener *net.TCPListener) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	poll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(poll)
	file, err := listener.File()
	if err != nil {
		return err
	}
	defer file.Close()
	door := int(file.Fd())
	if err := watch(poll, door); err != nil {
		return err
	}
	e.rests = map[int][]byte{}
	events := make([]unix.EpollEvent, 256)
	for ctx.Err() == nil {
		n, err := unix.EpollWait(poll, events, 10) // ms; then it looks whether it shall end
		if err != nil && err != unix.EINTR {
			return err
		}
		for i := range max(n, 0) {
			if fd := int(events[i].Fd); fd != door {
				e.answer(fd)
			} else if fd, _, err := unix.Accept4(door, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC); err == nil {
				_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
				_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
				if err := watch(poll, fd); err != nil {
					return err
				}
			}
		}
	}
	for fd := range e.rests {
		_ = unix.Close(fd)
	}
	return nil
}

func watch(poll, fd int) error {
	return unix.EpollCtl(poll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
}

// answer reads what has come on a connection and answers each request that ends in it.
func (e *echo) answer(fd int) {
	n, control, _, _, err := unix.Recvmsg(fd, e.buffer[:], e.control[:], unix.MSG_DONTWAIT)
	if err == unix.EAGAIN || err == unix.EINTR {
		return
	}
	if n <= 0 || err != nil {
		delete(e.rests, fd)
		_ = unix.Close(fd)
		return
	}
	at := stampOf(e.control[:control])
	whole := append(e.rests[fd], e.buffer[:n]...)
	came := whole
	for end := bytes.Index(came, headEnd); end >= 0; end = bytes.Index(came, headEnd) {
		came = came[end+len(headEnd):]
		e.arrived = append(e.arrived, at)
		_, _ = unix.SendmsgN(fd, echoAnswer, nil, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
	}
	e.rests[fd] = append(whole[:0], came...)
}

// stampOf is when the kernel received the bytes, in ns since 1970; now where it does not say.
func stampOf(control []byte) int64 {
	if len(control) >= unix.CmsgLen(int(unsafe.Sizeof(unix.Timespec{}))) {
		header := (*unix.Cmsghdr)(unsafe.Pointer(&control[0]))
		if header.Level == unix.SOL_SOCKET && header.Type == unix.SCM_TIMESTAMPNS {
			return (*unix.Timespec)(unsafe.Pointer(&control[unix.CmsgLen(0)])).Nano()
		}
	}
	return time.Now().UnixNano()
}

// write puts the stamps into a file, whole or not at all.
func (e *echo) write(path string) error {
	file, err := os.Create(path + ".part")
	if err != nil {
		return err
	}
	out := bufio.NewWriter(file)
	for _, at := range e.arrived {
		fmt.Fprintln(out, at)
	}
	if err := errors.Join(out.Flush(), file.Close()); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
}
