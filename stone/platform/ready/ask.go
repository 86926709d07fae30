package ready

import (
	"errors"
	"io"
	"os"
	"strconv"
	"syscall"
	"time"
)

// longestReason bounds the quoted part of an answer, in bytes; engines keep the last outputs of a check.
const longestReason = 300

// ask returns nil if the server is ready, else why not: words that follow the URL.
func (t target) ask(deadline time.Time) error {
	connection, err := t.connect(deadline)
	if err != nil {
		return errors.New("does not accept: " + reason(err))
	}
	defer func() { _ = connection.Close() }()
	if t.path == "" {
		return nil
	}
	// HTTP/1.0: the answer comes in one piece and the server closes after it.
	if _, err := connection.WriteString("GET " + t.path + " HTTP/1.0\r\nHost: " + t.host + "\r\n\r\n"); err != nil {
		return errors.New("does not answer: " + reason(err))
	}
	answer := make([]byte, 0, 4096)
	for len(answer) < cap(answer) {
		count, err := connection.Read(answer[len(answer):cap(answer)])
		answer = answer[:len(answer)+count]
		if status(string(answer)) == "200" {
			return nil // whatever follows, and whether or not the server closes
		}
		if err != nil && len(answer) == 0 {
			return errors.New("does not answer: " + reason(err))
		}
		if err != nil {
			break
		}
	}
	return errors.New(refusal(string(answer)))
}

// status is the three digits of an answer's first line, empty if there are none (yet).
func status(answer string) string {
	version, rest, _ := cut(answer, " ")
	if (version != "HTTP/1.0" && version != "HTTP/1.1") || len(rest) < 3 {
		return ""
	}
	if _, err := strconv.ParseUint(rest[:3], 10, 16); err != nil {
		return ""
	}
	return rest[:3]
}

// refusal puts an answer that is no 200 in words.
func refusal(answer string) string {
	code := status(answer)
	if code == "" {
		return "does not speak HTTP: " + oneLine(answer)
	}
	if _, body, _ := cut(answer, "\r\n\r\n"); body != "" {
		return "answers " + code + ": " + oneLine(body)
	}
	return "answers " + code
}

// oneLine is the first line of a text, quoted if it has anything unusual.
func oneLine(text string) string {
	line, _, _ := cut(text, "\n")
	line = line[:min(len(line), longestReason)]
	if !isPlain(line) {
		return strconv.QuoteToASCII(line)
	}
	return line
}

// reason is an error without the name that os gives to a socket.
func reason(err error) string {
	var path *os.PathError
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "timed out"
	case errors.Is(err, io.EOF):
		return "closed the connection"
	case errors.As(err, &path):
		return path.Err.Error()
	}
	return err.Error()
}

// connect opens a TCP connection as a file, whose reads and writes end at the deadline.
func (t target) connect(deadline time.Time) (*os.File, error) {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(socket), "socket")
	if err = syscall.Connect(socket, &t.socket); err == nil || errors.Is(err, syscall.EINPROGRESS) {
		err = errors.Join(file.SetDeadline(deadline), whenConnected(file))
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// whenConnected waits until the kernel has connected a socket or given up.
func whenConnected(file *os.File) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var failure error
	err = raw.Write(func(socket uintptr) bool {
		code, err := syscall.GetsockoptInt(int(socket), syscall.SOL_SOCKET, syscall.SO_ERROR)
		if err == nil && code != 0 {
			err = syscall.Errno(code)
		}
		if err != nil {
			failure = err
			return true
		}
		_, err = syscall.Getpeername(int(socket))
		return err == nil // else it is not connected yet: called again once it can be written to
	})
	return errors.Join(failure, err)
}
