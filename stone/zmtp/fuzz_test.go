package zmtp

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"testing"
	"time"
)

// bytesConn is a peer that has sent all that it sends.
type bytesConn struct {
	io.Reader
	sent int
}

func (c *bytesConn) Write(data []byte) (int, error) {
	c.sent += len(data)
	return len(data), nil
}
func (c *bytesConn) Close() error                     { return nil }
func (c *bytesConn) LocalAddr() net.Addr              { return nil }
func (c *bytesConn) RemoteAddr() net.Addr             { return nil }
func (c *bytesConn) SetDeadline(time.Time) error      { return nil }
func (c *bytesConn) SetReadDeadline(time.Time) error  { return nil }
func (c *bytesConn) SetWriteDeadline(time.Time) error { return nil }

// FuzzConn: whatever a peer sends, a connection gives messages within its limits or an error, and what it writes back is read
// as the same message.
func FuzzConn(f *testing.F) {
	start := append(greeting(1), command("READY", property(nil, "Socket-Type", "REQ"))...)
	ping := command("PING", []byte{0, 9, 'x'})
	for _, more := range [][]byte{nil, frames("", "hello"), append(ping, frames("id", "", "a", "b")...), frames("", string(make([]byte, 300))),
		longHeader(0, 1<<62), longHeader(flagMore, 1<<20), {0xff, 0}} {
		f.Add(append(append([]byte{}, start...), more...))
	}
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		const limit = 1000
		conn, err := Open(&bytesConn{Reader: bytes.NewReader(sent)}, Rep, limit)
		for err == nil || err == TooLarge {
			var message Message
			if message, err = conn.Read(); err != nil {
				continue
			}
			size := 0
			for _, frame := range message {
				size += len(frame)
			}
			if size > limit || len(message) == 0 || len(message) > mostFrames {
				t.Fatalf("%d bytes in %d frames", size, len(message))
			}
			var text []byte
			for i, frame := range message {
				flags := byte(flagMore)
				if i == len(message)-1 {
					flags = 0
				}
				text = appendFrame(text, flags, frame)
			}
			again, err := (&Conn{read: bufio.NewReader(bytes.NewReader(text)), limit: limit}).Read()
			if err != nil || len(again) != len(message) {
				t.Fatal(again, err)
			}
			for i := range again {
				if !bytes.Equal(again[i], message[i]) {
					t.Fatalf("%q became %q", message[i], again[i])
				}
			}
		}
	})
}
