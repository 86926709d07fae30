package transport

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	h2 "golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// partner is one connection of a server of HTTP/2 whose every frame a test decides.
type partner struct {
	*h2.Framer
	conn net.Conn
}

// request is one whole request: n counts those of all connections, bodies of those that are answered early are not read.
type arrival struct {
	stream uint32
	n      int
	path   string
	body   []byte
}

// partners calls `answer` for each request when its last frame is there, or when its head is if `early` is set.
func partners(t testing.TB, early bool, given []h2.Setting, answer func(*partner, arrival)) *counted {
	var requests atomic.Int64
	table := uint32(4096)
	for _, setting := range given {
		if setting.ID == h2.SettingHeaderTableSize {
			table = setting.Val
		}
	}
	return listen(t).each(func(conn net.Conn) {
		if _, err := io.ReadFull(conn, make([]byte, len(h2.ClientPreface))); err != nil {
			return
		}
		p := &partner{h2.NewFramer(conn, conn), conn}
		p.ReadMetaHeaders = hpack.NewDecoder(table, nil)
		p.AllowIllegalWrites = true
		_ = p.WriteSettings(given...)
		open := map[uint32]*arrival{}
		for {
			frame, err := p.ReadFrame()
			if err != nil {
				return
			}
			ended := false
			switch f := frame.(type) {
			case *h2.SettingsFrame:
				if !f.IsAck() {
					_ = p.WriteSettingsAck()
				}
			case *h2.PingFrame:
				if !f.IsAck() {
					_ = p.WritePing(true, f.Data)
				}
			case *h2.MetaHeadersFrame:
				open[f.StreamID] = &arrival{stream: f.StreamID, n: int(requests.Add(1) - 1), path: f.PseudoValue("path")}
				ended = f.StreamEnded() || early
			case *h2.DataFrame:
				if one := open[f.StreamID]; one != nil {
					one.body = append(one.body, f.Data()...)
					if n := uint32(len(f.Data())); n > 0 {
						_ = p.WriteWindowUpdate(0, n)
						_ = p.WriteWindowUpdate(f.StreamID, n)
					}
					ended = f.StreamEnded()
				}
			}
			if one := open[frame.Header().StreamID]; ended && one != nil {
				delete(open, one.stream)
				answer(p, *one)
			}
		}
	})
}

// head writes a header block, in frames of at most `piece` bytes: HEADERS, then CONTINUATION.
func (p *partner) head(stream uint32, last bool, piece int, fields ...string) {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for i := 0; i < len(fields); i += 2 {
		_ = encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	for text, first := block.Bytes(), true; first || len(text) > 0; first = false {
		part := text[:min(piece, len(text))]
		if text = text[len(part):]; first {
			_ = p.WriteHeaders(h2.HeadersFrameParam{StreamID: stream, BlockFragment: part, EndStream: last, EndHeaders: len(text) == 0,
				PadLength: 3, Priority: h2.PriorityParam{StreamDep: 0, Weight: 7}})
		} else {
			_ = p.WriteContinuation(stream, len(text) == 0, part)
		}
	}
}

// fine is a good answer.
func (p *partner) fine(stream uint32) { p.head(stream, true, 1<<14, ":status", "200") }

// What HTTP/2 allows a server is an answer, over the one connection.
func TestHTTP2ServersThatKeepToIt(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 100)
	for name, c := range map[string]struct {
		given   []h2.Setting
		early   bool
		request []byte
		answer  func(p *partner, a arrival)
		status  int
		body    string
	}{
		"interim answers": {answer: func(p *partner, a arrival) {
			p.head(a.stream, false, 100, ":status", "100")
			p.head(a.stream, false, 100, ":status", "103", "link", "</x>")
			p.head(a.stream, false, 100, ":status", "200")
			_ = p.WriteData(a.stream, true, []byte("ok"))
		}, body: "ok"},
		"CONTINUATION": {answer: func(p *partner, a arrival) {
			p.head(a.stream, false, 7, ":status", "200", "x-long", strings.Repeat("y", 1000))
			_ = p.WriteData(a.stream, true, []byte("ok"))
		}, body: "ok"},
		"padded DATA": {answer: func(p *partner, a arrival) {
			p.head(a.stream, false, 100, ":status", "200", "content-length", "2")
			_ = p.WriteDataPadded(a.stream, false, []byte("o"), make([]byte, 255))
			_ = p.WriteDataPadded(a.stream, false, nil, make([]byte, 10))
			_ = p.WriteDataPadded(a.stream, true, []byte("k"), []byte{})
		}, body: "ok"},
		"other frames between": {answer: func(p *partner, a arrival) {
			p.head(a.stream, false, 100, ":status", "200")
			_ = p.WritePing(false, [8]byte{1})
			_ = p.WriteRawFrame(0xfa, 0xff, a.stream, []byte("unknown"))
			_ = p.WriteSettings(h2.Setting{ID: h2.SettingMaxFrameSize, Val: 1 << 15}, h2.Setting{ID: 0xfafa, Val: 1})
			_ = p.WritePriority(a.stream, h2.PriorityParam{StreamDep: 99})
			_ = p.WriteWindowUpdate(a.stream, 1000)
			_ = p.WriteData(a.stream, true, []byte("ok"))
		}, body: "ok"},
		"trailers": {answer: func(p *partner, a arrival) {
			p.head(a.stream, false, 100, ":status", "200", "trailer", "x")
			_ = p.WriteData(a.stream, false, []byte("ok"))
			p.head(a.stream, true, 100, "x", "y")
		}, body: "ok"},
		"windows of one byte": {given: []h2.Setting{{ID: h2.SettingInitialWindowSize, Val: 1}}, request: render("POST", "/", large),
			answer: func(p *partner, a arrival) {
				p.head(a.stream, false, 100, ":status", "200")
				_ = p.WriteData(a.stream, true, a.body)
			}, body: large},
		"no header table": {given: []h2.Setting{{ID: h2.SettingHeaderTableSize, Val: 0}}, request: render("GET", "/", "", "X-A: b", "X-C: d"),
			answer: func(p *partner, a arrival) { p.fine(a.stream) }},
		"to HEAD": {request: render("HEAD", "/", ""), answer: func(p *partner, a arrival) {
			p.head(a.stream, true, 100, ":status", "200", "content-length", "99")
		}},
		"204": {answer: func(p *partner, a arrival) { p.head(a.stream, true, 100, ":status", "204") }, status: 204},
		"before the request is whole": {early: true, given: []h2.Setting{{ID: h2.SettingInitialWindowSize, Val: 0}}, request: render("POST", "/", large),
			answer: func(p *partner, a arrival) {
				p.head(a.stream, false, 100, ":status", "413")
				_ = p.WriteData(a.stream, true, []byte("no"))
				_ = p.WriteRSTStream(a.stream, h2.ErrCodeNo)
			}, status: 413, body: "no"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := partners(t, c.early, c.given, c.answer)
			caller := dial2(t, server)
			request, status := c.request, c.status
			if request == nil {
				request = get("/")
			}
			if status == 0 {
				status = 200
			}
			for range 3 {
				answer, err := within(t, caller, patience, request)
				if err != nil || answer.Status != status || string(answer.Body) != c.body || answer.Size != int64(len(c.body)) {
					t.Errorf("%d %q, %v: %s", answer.Status, answer.Body, err, answer.Detail)
				}
			}
			if n := server.accepted(); n != 1 {
				t.Errorf("%d connections", n)
			}
		})
	}
}

// What GOAWAY leaves out goes over a new connection, each request once: those on streams above the last one that the
// server takes, and those that wait for a stream. What it takes is answered on the old one.
func TestGoAwayLeavesOut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		streams uint32 // at a time
		code    h2.ErrCode
		twice   bool // it announces its end before it says which stream is the last one (RFC 9113, 6.8)
	}{
		"streams above":          {streams: 10},
		"streams that wait":      {streams: 1},
		"streams above, twice":   {streams: 10, twice: true},
		"streams above, in need": {streams: 10, code: h2.ErrCodeEnhanceYourCalm},
	} {
		for _, protocol := range []string{HTTP2, GRPC} {
			t.Run(name+" "+protocol, func(t *testing.T) {
				t.Parallel()
				const calls = 4
				var mutex sync.Mutex
				answered, first := map[string]int{}, map[uint32]arrival{}
				good := func(p *partner, a arrival) {
					mutex.Lock()
					answered[string(a.body)]++
					mutex.Unlock()
					if protocol == GRPC {
						_, _ = p.conn.Write(message(a.stream, nil))
					} else {
						p.fine(a.stream)
					}
				}
				var server *counted
				server = partners(t, false, []h2.Setting{{ID: h2.SettingMaxConcurrentStreams, Val: c.streams}}, func(p *partner, a arrival) {
					if server.accepted() > 1 {
						good(p, a)
						return
					}
					if first[a.stream] = a; len(first) < int(min(c.streams, calls)) {
						return
					}
					if c.twice {
						_ = p.WriteGoAway(1<<31-1, h2.ErrCodeNo, nil)
					}
					_ = p.WriteGoAway(1, c.code, nil)
					good(p, first[1])
				})
				settings, path := plainly(protocol, server), "/"
				if protocol == GRPC {
					settings.Descriptors, path = descriptors(t), nearby
				}
				caller := dial(t, settings, server.address())
				outcomes := make(chan error)
				for i := range calls {
					go func() {
						answer, err := within(t, caller, patience, render("POST", path, fmt.Sprintf(`{"lat": %d}`, i+1)))
						if err != nil {
							err = fmt.Errorf("%w: %s", err, answer.Detail)
						}
						outcomes <- err
					}()
				}
				for range calls {
					if err := <-outcomes; err != nil {
						t.Error(err)
					}
				}
				for body, n := range answered {
					if n != 1 {
						t.Errorf("%q was answered %d times", body, n)
					}
				}
				if len(answered) != calls || server.accepted() != 2 {
					t.Errorf("%d answered over %d connections", len(answered), server.accepted())
				}
			})
		}
	}
}

// How calls of gRPC end, whatever frames say so; those that the server refuses are made again, and counted once.
func TestGRPCEnds(t *testing.T) {
	t.Parallel()
	const kind = "application/grpc"
	one := append([]byte{0, 0, 0, 0, 4, 0x0a, 2}, "ok"...) // one hotel, "ok"
	replies := func(p *partner, stream uint32, fields ...string) {
		p.head(stream, false, 100, ":status", "200", "content-type", kind)
		_ = p.WriteData(stream, false, one)
		p.head(stream, true, 100, fields...)
	}
	for name, c := range map[string]struct {
		answer func(p *partner, a arrival)
		want   Error
		seen   int // for two calls; 0: 2
	}{
		"status 0":           {answer: func(p *partner, a arrival) { replies(p, a.stream, "grpc-status", "0") }},
		"status 8":           {answer: func(p *partner, a arrival) { replies(p, a.stream, "grpc-status", "8") }, want: "grpc ResourceExhausted"},
		"status 99":          {answer: func(p *partner, a arrival) { replies(p, a.stream, "grpc-status", "99") }, want: "grpc Unknown"},
		"status is no digit": {answer: func(p *partner, a arrival) { replies(p, a.stream, "grpc-status", "x") }, want: "grpc Unknown"},
		"no status":          {answer: func(p *partner, a arrival) { replies(p, a.stream, "x", "y") }, want: "grpc Unknown"},
		"no trailers": {answer: func(p *partner, a arrival) {
			p.head(a.stream, false, 100, ":status", "200", "content-type", kind)
			_ = p.WriteData(a.stream, true, one)
		}, want: "grpc Internal"},
		"trailers alone": {answer: func(p *partner, a arrival) {
			p.head(a.stream, true, 100, ":status", "200", "content-type", kind, "grpc-status", "5", "grpc-message", "no%20room")
		}, want: "grpc NotFound"},
		"trailers alone, status 0": {answer: func(p *partner, a arrival) {
			p.head(a.stream, true, 100, ":status", "200", "content-type", kind, "grpc-status", "0")
		}, want: "grpc Internal"},
		"503":            {answer: func(p *partner, a arrival) { p.head(a.stream, true, 100, ":status", "503") }, want: "grpc Unavailable"},
		"404 of a proxy": {answer: func(p *partner, a arrival) { p.head(a.stream, true, 100, ":status", "404") }, want: "grpc Unimplemented"},
		"two messages": {answer: func(p *partner, a arrival) {
			p.head(a.stream, false, 100, ":status", "200", "content-type", kind)
			_ = p.WriteData(a.stream, false, bytes.Repeat(one, 2))
			p.head(a.stream, true, 100, "grpc-status", "0")
		}, want: "grpc Internal"},
		"compressed, it does not say how": {answer: func(p *partner, a arrival) {
			p.head(a.stream, false, 100, ":status", "200", "content-type", kind)
			_ = p.WriteData(a.stream, false, append([]byte{1}, one[1:]...))
			p.head(a.stream, true, 100, "grpc-status", "0")
		}, want: "grpc Internal"},
		"in pieces": {answer: func(p *partner, a arrival) {
			p.head(a.stream, false, 3, ":status", "200", "content-type", kind)
			for i := range one {
				_ = p.WriteDataPadded(a.stream, false, one[i:i+1], make([]byte, i))
			}
			p.head(a.stream, true, 3, "grpc-status", "0")
		}},
		"refused once": {answer: func(p *partner, a arrival) {
			if a.n%2 == 0 {
				_ = p.WriteRSTStream(a.stream, h2.ErrCodeRefusedStream)
				return
			}
			replies(p, a.stream, "grpc-status", "0")
		}, seen: 4},
		"refused for ever": {answer: func(p *partner, a arrival) { _ = p.WriteRSTStream(a.stream, h2.ErrCodeRefusedStream) }, want: "grpc Unavailable", seen: 4},
		"cancelled":        {answer: func(p *partner, a arrival) { _ = p.WriteRSTStream(a.stream, h2.ErrCodeCancel) }, want: "grpc Canceled"},
		"ended early, in order": {answer: func(p *partner, a arrival) {
			replies(p, a.stream, "grpc-status", "0")
			_ = p.WriteRSTStream(a.stream, h2.ErrCodeNo)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen atomic.Int64
			server := partners(t, false, nil, func(p *partner, a arrival) {
				seen.Add(1)
				c.answer(p, a)
			})
			settings := plainly(GRPC, server)
			settings.Descriptors = descriptors(t)
			caller := dial(t, settings, server.address())
			for range 2 {
				answer, err := within(t, caller, patience, render("POST", nearby, "{}"))
				if c.want != "" {
					if err == nil || KindOf(err) != c.want {
						t.Errorf("%v: %s", err, answer.Detail)
					}
				} else if err != nil || (answer.Status != 200 || answer.Size != 4 || !strings.Contains(string(answer.Body), `"ok"`)) {
					t.Errorf("%v: %+v", err, answer)
				}
			}
			if want := max(c.seen, 2); int(seen.Load()) != want || server.accepted() != 1 {
				t.Errorf("%d requests over %d connections", seen.Load(), server.accepted())
			}
		})
	}
}
