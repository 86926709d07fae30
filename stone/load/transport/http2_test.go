package transport

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Frames of HTTP/2 (RFC 9113, section 4.1), as far as a server that misbehaves needs them.
const (
	data         = 0
	headers      = 1
	resetStream  = 3
	settings     = 4
	ping         = 6
	goAwayFrame  = 7
	windowUpdate = 8

	endStream  = 1
	ack        = 1
	endHeaders = 4
)

func frame(kind, flags byte, stream uint32, payload ...byte) []byte {
	head := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}
	return append(binary.BigEndian.AppendUint32(head, stream), payload...)
}

func number(values ...uint32) (payload []byte) {
	for _, value := range values {
		payload = binary.BigEndian.AppendUint32(payload, value)
	}
	return payload
}

// ok2 is the head of a good answer (HPACK: ":status 200" is entry 8 of the static table).
func ok2(stream uint32, flags byte) []byte { return frame(headers, endHeaders|flags, stream, 0x88) }

// frames answers each request of HTTP/2 with the bytes that `answer` makes for its stream; n counts the requests of
// all connections. After nil it closes the connection.
func frames(t testing.TB, answer func(stream uint32, n int) []byte) *counted {
	var requests atomic.Int64
	return listen(t).each(func(conn net.Conn) {
		if _, err := io.ReadFull(conn, make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))); err != nil {
			return
		}
		_, _ = conn.Write(frame(settings, 0, 0))
		for head := make([]byte, 9); ; {
			if _, err := io.ReadFull(conn, head); err != nil {
				return
			}
			payload := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
			if _, err := io.ReadFull(conn, payload); err != nil {
				return
			}
			switch {
			case head[3] == settings && head[4]&ack == 0:
				_, _ = conn.Write(frame(settings, ack, 0))
			case head[3] == ping && head[4]&ack == 0:
				_, _ = conn.Write(frame(ping, ack, 0, payload...))
			case head[3] == headers:
				text := answer(binary.BigEndian.Uint32(head[5:]), int(requests.Add(1)-1))
				if text == nil {
					return
				}
				_, _ = conn.Write(text)
			}
		}
	})
}

func dial2(t testing.TB, server *counted) Caller {
	return dial(t, plainly(HTTP2, server), server.address())
}

// What servers do wrong ends as an error of a known kind.
func TestHTTP2ServersThatMisbehave(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer func(stream uint32, n int) []byte
		want   Error
	}{
		"closes": {func(uint32, int) []byte { return nil }, noAnswer},
		"resets the stream": {func(stream uint32, _ int) []byte { return frame(resetStream, 0, stream, number(2)...) },
			"stream reset: INTERNAL_ERROR"},
		"resets it for reasons unknown": {func(stream uint32, _ int) []byte { return frame(resetStream, 0, stream, number(99)...) },
			"stream reset: unknown code"},
		"refuses the stream": {func(stream uint32, _ int) []byte { return frame(resetStream, 0, stream, number(7)...) }, "stream reset: REFUSED_STREAM"},
		"resets half an answer": {func(stream uint32, _ int) []byte {
			return slices.Concat(ok2(stream, 0), frame(data, 0, stream, 'o'), frame(resetStream, 0, stream, number(8)...))
		}, "stream reset: CANCEL"},
		"length is too high": {func(stream uint32, _ int) []byte {
			long := append([]byte{0x88, 0x0f, 0x0d, 1}, '9') // "content-length: 9" without indexing
			return slices.Concat(frame(headers, endHeaders, stream, long...), frame(data, endStream, stream, 'o', 'k'))
		}, cut},
		"goes away": {func(uint32, int) []byte { return frame(goAwayFrame, 0, 0, number(0, 11)...) },
			"protocol: the server has sent GOAWAY: ENHANCE_YOUR_CALM"},
		"headers are no HPACK": {func(stream uint32, _ int) []byte {
			return frame(headers, endHeaders, stream, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
		},
			notHTTP2},
		"frame is too large": {func(uint32, int) []byte { return []byte{0xff, 0xff, 0xff, data, 0, 0, 0, 0, 1} }, notHTTP2},
		"data before head":   {func(stream uint32, _ int) []byte { return frame(data, endStream, stream, 'x') }, "stream reset: PROTOCOL_ERROR"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			caller := dial2(t, frames(t, c.answer))
			for range 2 {
				answer, err := within(t, caller, patience, get("/"))
				expect(t, err, c.want)
				if answer.Detail == "" {
					t.Error("nothing besides the kind")
				}
			}
		})
	}
}

func TestServersThatSpeakAnotherProtocol(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Error{
		"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n": isHTTP1,
		"220 smtp ready\r\n": notHTTP2,
		"":                   noAnswer,
	} {
		for _, protocol := range []string{HTTP2, GRPC} {
			server := listen(t).each(say(text))
			_, err := dialer(t, plainly(protocol, server)).Dial(t.Context(), server.address())
			expect(t, err, want)
		}
	}
}

// A server that closes a connection in order takes no request with it: what it did not take goes over the next
// connection, what it took is answered on the old one.
func TestGoAway(t *testing.T) {
	t.Parallel()
	server := frames(t, func(stream uint32, n int) []byte {
		switch n {
		case 1: // not taken
			return frame(goAwayFrame, 0, 0, number(stream-2, 0)...)
		case 3: // taken
			return slices.Concat(frame(goAwayFrame, 0, 0, number(stream, 0)...), ok2(stream, endStream))
		}
		return ok2(stream, endStream)
	})
	caller := dial2(t, server)
	for range 5 {
		ask(t, caller, get("/"))
	}
	if n := server.accepted(); n != 3 {
		t.Errorf("%d connections", n)
	}
}

// While a connection that the server is about to close still carries a call, others go over the next one.
func TestGoAwayWithCallsUnderWay(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{})
	server := frames(t, func(stream uint32, n int) []byte {
		switch n {
		case 0: // answered at the end
			close(arrived)
			return []byte{}
		case 1:
			return frame(goAwayFrame, 0, 0, number(1, 0)...)
		}
		return ok2(stream, endStream)
	})
	caller := dial2(t, server)
	slow := make(chan error)
	go func() {
		_, err := within(t, caller, patience, get("/slow"))
		slow <- err
	}()
	<-arrived
	for range 3 {
		ask(t, caller, get("/"))
	}
	if n := server.accepted(); n != 2 {
		t.Errorf("%d connections", n)
	}
	_, _ = server.conns[0].Write(ok2(1, endStream))
	if err := <-slow; err != nil {
		t.Error(err)
	}
}

// Servers of net/http close after an answer by GOAWAY, others without a word.
func TestConnectionsThatServersClose(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			site := serve(t, k, func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Connection", "close") })
			caller := site.dial(t)
			for range 20 {
				ask(t, caller, get("/"))
			}
			if n := site.accepted(); n != 20 {
				t.Errorf("%d connections", n)
			}
		})
	}
}

// Many calls share the one connection, as many at a time as the server allows; each gets its own answer.
func TestStreams(t *testing.T) {
	t.Parallel()
	const calls, limit = 60, 3
	for _, k := range kinds[2:] {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			var busy, most atomic.Int64
			full := make(chan struct{})
			var once sync.Once
			site := serve(t, k, func(w http.ResponseWriter, r *http.Request) {
				n := busy.Add(1)
				for was := most.Load(); n > was && !most.CompareAndSwap(was, n); was = most.Load() {
				}
				if n == limit {
					once.Do(func() { close(full) })
				}
				<-full
				fmt.Fprint(w, r.URL.Path)
				busy.Add(-1)
			}, func(s *http.Server) { s.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: limit} })
			caller := site.dial(t)
			failures := make(chan error)
			for i := range calls {
				go func() {
					path := fmt.Sprint("/", i)
					answer, err := within(t, caller, patience, get(path))
					if err == nil && string(answer.Body) != path {
						err = fmt.Errorf("%s got %s", path, answer.Body)
					}
					failures <- err
				}()
			}
			for range calls {
				if err := <-failures; err != nil {
					t.Error(err)
				}
			}
			if most.Load() != limit || site.accepted() != 1 {
				t.Errorf("%d at a time, %d connections", most.Load(), site.accepted())
			}
		})
	}
}

// A deadline ends its own call alone: the connection stays, and others' answers come.
func TestDeadlineOfOneStream(t *testing.T) {
	t.Parallel()
	for _, k := range kinds[2:] {
		arrived, release := make(chan struct{}), make(chan struct{})
		site := serve(t, k, func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/slow":
				close(arrived)
				<-release
			case "/never":
				<-r.Context().Done()
			}
		})
		caller := site.dial(t)
		slow := make(chan error)
		go func() {
			_, err := within(t, caller, patience, get("/slow"))
			slow <- err
		}()
		<-arrived
		_, err := within(t, caller, 50*time.Millisecond, get("/never"))
		expect(t, err, Timeout)
		close(release)
		if err := <-slow; err != nil {
			t.Error(err)
		}
		if n := site.accepted(); n != 1 {
			t.Errorf("%s: %d connections", k.name, n)
		}
	}
}

// Calls whose time is up do not break off the attempt to connect that they wait for.
func TestAttemptOutlivesTheCall(t *testing.T) {
	t.Parallel()
	var hold atomic.Bool
	release := make(chan struct{})
	site := serve(t, kinds[3], echo)
	front := listen(t).each(func(conn net.Conn) { // holds the handshake back
		if hold.Load() {
			<-release
		}
		back, err := net.Dial("tcp", site.address())
		if err != nil {
			return
		}
		defer back.Close()
		go func() { _, _ = io.Copy(conn, back); _ = conn.Close() }()
		_, _ = io.Copy(back, conn)
	})
	caller := dial(t, site.settings, front.address())
	hold.Store(true)
	front.hangUp()
	notice(caller)
	for range 3 {
		_, err := within(t, caller, 50*time.Millisecond, get("/"))
		expect(t, err, Timeout)
	}
	close(release)
	ask(t, caller, get("/"))
	if n := front.accepted(); n != 2 {
		t.Errorf("%d connections", n)
	}
}

// What cannot be a request of HTTP/2 is reported, by Check before the load and by Call in it.
func TestRequestsThatCannotBeSent(t *testing.T) {
	t.Parallel()
	site := serve(t, kinds[2], echo)
	d, caller := dialer(t, site.settings), site.dial(t)
	for request, want := range map[string]Error{
		"":                                   noRequest,
		"GET / HTTP/1.1\r\n":                 noRequest,
		"GET /\r\n\r\n":                      noRequest,
		"GET x HTTP/1.1\r\n\r\n":             noRequest,
		"GET /%zz HTTP/1.1\r\n\r\n":          noRequest,
		" / HTTP/1.1\r\n\r\n":                noRequest,
		"GET / HTTP/1.1\r\nno colon\r\n\r\n": noRequest,
		"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n": noChunks,
	} {
		_, err := within(t, caller, patience, []byte(request))
		expect(t, err, want)
		expect(t, d.Check([]byte(request)), want)
	}
	for _, request := range []string{"GET / HTTP/1.1\r\nX: \x00\r\n\r\n", "G@T / HTTP/1.1\r\nHost: x\r\n\r\n", "GET / HTTP/1.1\r\nB@d: x\r\n\r\n"} {
		_, err := within(t, caller, patience, []byte(request))
		expect(t, err, noRequest)
	}
	if err := d.Check(get("/")); err != nil {
		t.Error(err)
	}
	_, err := within(t, caller, patience, render("GET", "/", "", "X: "+strings.Repeat("x", 20<<20)))
	expect(t, err, longer)
}
