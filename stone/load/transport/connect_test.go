package transport

import (
	"bufio"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// A connection that comes to nothing is made again after a rest, each twice as long as the one before; after a whole
// answer it is made at once.
func TestRestsBetweenConnections(t *testing.T) {
	t.Parallel()
	const vain = 5 // connections that are closed without an answer
	var requests atomic.Int64
	http1 := listen(t).each(func(conn net.Conn) {
		if drain(bufio.NewReader(conn)) && requests.Add(1) > vain {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	})
	for protocol, server := range map[string]*counted{
		HTTP1: http1,
		HTTP2: frames(t, func(stream uint32, n int) []byte {
			if n < vain {
				return nil
			}
			return ok2(stream, endStream)
		}),
		GRPC: frames(t, func(stream uint32, n int) []byte {
			if n < vain {
				return nil
			}
			return message(stream, nil)
		}),
	} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			request, settings := get("/"), plainly(protocol, server)
			if protocol == GRPC {
				request, settings.Descriptors = render("POST", nearby, "{}"), descriptors(t)
			}
			begun := time.Now()
			caller := dial(t, settings, server.address())
			for range vain {
				if _, err := within(t, caller, patience, request); err == nil {
					t.Error("an answer")
				}
			}
			ask(t, caller, request)
			rests, n := time.Since(begun), server.accepted()
			if least := (1 + 2 + 4 + 8 + 16) * ShortestRest; n != vain+1 || rests < least {
				t.Errorf("%d connections in %v, want at least %v", n, rests, least)
			}
			c := connectorOf(caller)
			conn, err := c.connect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _ = conn.Close(); c.rest != ShortestRest {
				t.Errorf("rests %v after an answer", c.rest)
			}
		})
	}
}

func connectorOf(caller Caller) *connector {
	switch c := caller.(type) {
	case *http1:
		return c.connector
	case *http2:
		return c.connector
	}
	return caller.(*rpc).link.connector
}
