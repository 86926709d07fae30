package zmtp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// echo replies with the request and what is wrong with it.
func echo(_ context.Context, request Message, err error) Message {
	if err != nil {
		return Message{[]byte(err.Error())}
	}
	return append(Message{}, request...)
}

func call(t *testing.T, client *Client, request ...string) string {
	t.Helper()
	var message Message
	for _, frame := range request {
		message = append(message, []byte(frame))
	}
	reply, err := client.Call(message)
	if err != nil {
		t.Fatal(err)
	}
	var frames []string
	for _, frame := range reply {
		frames = append(frames, string(frame))
	}
	return strings.Join(frames, "|")
}

func TestRequestsAndReplies(t *testing.T) {
	for _, kind := range []Kind{Rep, Router} {
		client := listen(t, kind, 1<<20, echo).client()
		long := strings.Repeat("x", 300)
		for _, request := range [][]string{{"a"}, {""}, {long}, {"a", "b"}, {"", "", "c"}, {long, "", long}} {
			if got := call(t, client, request...); got != strings.Join(request, "|") {
				t.Errorf("%s: %.40q of %.40q", kind, got, request)
			}
		}
	}
}

// Versions 3.0 and 3.1 differ in the pings that only the latter sends.
func TestBothVersionsAndEnvelopes(t *testing.T) {
	for _, minor := range []byte{0, 1} {
		peer := listen(t, Router, 1<<20, echo).raw(minor)
		peer.send(frames("", "hello"))
		peer.expect(frames("", "hello"))
		peer.send(frames("id", "other", "", "hello")) // as a DEALER in front of others
		peer.expect(frames("id", "other", "", "hello"))
	}
}

func TestBytesThatComeOneByOne(t *testing.T) {
	peer := raw{listen(t, Rep, 1<<20, echo).dial(), t}
	text := append(greeting(1), command("READY", property(nil, "Socket-Type", "DEALER"))...)
	for _, one := range append(text, frames("", "slow", strings.Repeat("y", 300))...) {
		peer.send([]byte{one})
	}
	peer.expect(greeting(1))
	peer.expect(command("READY", property(nil, "Socket-Type", "REP")))
	peer.expect(frames("", "slow", strings.Repeat("y", 300)))
}

func TestPingsAreAnsweredBetweenFrames(t *testing.T) {
	peer := listen(t, Rep, 1<<20, echo).raw(1)
	ping := command("PING", append([]byte{0, 9}, "context"...))
	peer.send(ping)
	peer.expect(command("PONG", []byte("context")))
	whole := frames("", "hello")
	peer.send(append(append(append([]byte{}, whole[:2]...), ping...), whole[2:]...))
	peer.expect(command("PONG", []byte("context")))
	peer.expect(whole)
	peer.send(append(command("FUTURE", []byte("what is not known")), whole...))
	peer.expect(whole)
}

// What does not keep to the protocol ends its own connection, is counted, and disturbs no other peer.
func TestMalformedPeers(t *testing.T) {
	l := listen(t, Rep, 1000, echo)
	other := l.client()
	ready := func(kind string) []byte {
		return append(greeting(1), command("READY", property(nil, "Socket-Type", kind))...)
	}
	curve := greeting(1)
	copy(curve[12:], "CURVE")
	old := greeting(1)
	old[10] = 1
	wrong := map[string][]byte{
		"HTTP": []byte("GET / HTTP/1.1\r\n\r\n"), "no signature": append([]byte{0xff}, make([]byte, 63)...), "version 2": old, "CURVE": curve,
		"a subscriber": ready("SUB"), "no type": append(greeting(1), command("READY", nil)...),
		"no READY":         append(greeting(1), frames("", "hello")...),
		"another command":  append(greeting(1), command("HELLO", nil)...),
		"ERROR":            append(greeting(1), command("ERROR", []byte("\x03not"))...),
		"cut metadata":     append(greeting(1), command("READY", []byte("\x0bSocket-Type\x00\x00\x00\x09REQ"))...),
		"unknown flags":    append(ready("REQ"), 0x80, 1, 'x'),
		"a command of two": append(ready("REQ"), flagCommand|flagMore, 5, 4, 'P', 'I', 'N', 'G'),
		"an empty command": append(ready("REQ"), flagCommand, 0),
		"a long command":   append(ready("REQ"), longHeader(flagCommand, 1<<30)...),
		"a cut name":       append(ready("REQ"), flagCommand, 2, 9, 'x'),
		"a short ping":     append(ready("REQ"), command("PING", []byte{0})...),
		"a long ping":      append(ready("REQ"), command("PING", make([]byte, 40))...),
		"many frames":      append(ready("REQ"), frames(make([]string, mostFrames+1)...)...),
		"far too large":    append(ready("REQ"), longHeader(0, 1<<62)...),
		"negative":         append(ready("REQ"), longHeader(0, 1<<63)...),
	}
	far := int64(2)
	for name, text := range wrong {
		peer := raw{l.dial(), t}
		peer.send(text)
		_, err := Open(peer, Rep, 0) // whatever it sends
		for err == nil {
			_, err = (&Conn{net: peer}).net.Read(make([]byte, 64))
		}
		_ = peer.Close()
		if got := call(t, other, "still"); got != "still" {
			t.Error(name, got)
		}
	}
	l.eventually(l.counts.Malformed, int64(len(wrong)))
	l.eventually(l.counts.Oversized, far)
	cut := l.raw(1)
	cut.send(frames("", "hello")[:5])
	_ = cut.Close()
	l.eventually(l.counts.Malformed, int64(len(wrong))+1)
	_ = l.raw(1).Close()
	_ = l.dial().Close()
	bare := l.raw(1)
	bare.send(frames("no", "envelope"))
	bare.send(frames(""))
	l.eventually(l.counts.Malformed, int64(len(wrong))+3)
	bare.send(frames("", "hello"))
	bare.expect(frames("", "hello"))
}

func TestAMessageThatIsTooLargeIsAnswered(t *testing.T) {
	l := listen(t, Rep, 1000, echo)
	client := l.client()
	for i, request := range [][]string{{strings.Repeat("x", 1001)}, {strings.Repeat("x", 600), strings.Repeat("y", 401)}, {"a", strings.Repeat("x", 10<<20), "b"}} {
		if got := call(t, client, request...); got != TooLarge.Error() {
			t.Error(got)
		}
		l.eventually(l.counts.Oversized, int64(i)+1)
	}
	if got := call(t, client, strings.Repeat("x", 1000)); len(got) != 1000 {
		t.Error(got)
	}
	if l.counts.Malformed.Load() != 0 {
		t.Error("malformed")
	}
}

// busy counts how many requests are handled at a time, until so many are.
type busy struct {
	mutex     sync.Mutex
	now, most int
}

func (b *busy) enter() int {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.now++
	b.most = max(b.most, b.now)
	return b.now
}

func (b *busy) leave() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.now--
}

// together has each of several clients send so many requests, one after the other, and returns how long each took.
func (l listening) together(clients, requests int) []time.Duration {
	l.t.Helper()
	var mutex sync.Mutex
	var durations []time.Duration
	var group sync.WaitGroup
	for n := range clients {
		client := l.client()
		group.Go(func() {
			for i := range requests {
				began := time.Now()
				reply, err := client.Call(Message{fmt.Appendf(nil, "%d-%d", n, i)})
				if err != nil || string(reply[0]) != fmt.Sprintf("%d-%d", n, i) {
					l.t.Error(reply, err)
					return
				}
				mutex.Lock()
				durations = append(durations, time.Since(began))
				mutex.Unlock()
			}
		})
	}
	group.Wait()
	return durations
}

func TestARepHandlesOneAtATimeAndARouterSeveral(t *testing.T) {
	all := make(chan struct{})
	for kind, want := range map[Kind]int{Rep: 1, Router: 20} {
		var inside busy
		l := listen(t, kind, 1<<20, func(_ context.Context, request Message, _ error) Message {
			defer inside.leave()
			if inside.enter() == 20 {
				close(all)
			}
			if kind == Router { // all must be here at once
				<-all
			}
			return request
		})
		l.together(20, 1)
		if inside.most != want {
			t.Errorf("%s: %d at a time", kind, inside.most)
		}
	}
}

// The published finding: of n clients each waits for all others, so a round trip takes n times a request's own time.
func TestARoundTripOfARepTakesTheTimesOfAllClients(t *testing.T) {
	const clients, own = 20, 10 * time.Millisecond
	var handled atomic.Int64 // ns
	handle := func(_ context.Context, request Message, _ error) Message {
		began := time.Now()
		time.Sleep(own)
		handled.Add(int64(time.Since(began)))
		return request
	}
	durations := listen(t, Rep, 1<<20, handle).together(clients, 11)
	durations = durations[clients:] // the first of each found a shorter queue
	each := time.Duration(handled.Load() / (clients * 11))
	// Between two requests the scheduler of a busy machine lets it wait: about 1.01 on a quiet one.
	if ratio := float64(mean(durations)) / float64(clients*each); ratio < 0.98 || ratio > 1.5 {
		t.Errorf("a round trip took %v, a request %v: %.3f of %d", mean(durations), each, ratio*clients, clients)
	}
	handled.Store(0)
	if router := mean(listen(t, Router, 1<<20, handle).together(clients, 11)); router > mean(durations)/2 {
		t.Errorf("a round trip of a ROUTER took %v", router)
	}
}

func mean(durations []time.Duration) (sum time.Duration) {
	for _, duration := range durations {
		sum += duration
	}
	return sum / time.Duration(len(durations))
}

func TestAPeerThatDoesNotReadDelaysNoOther(t *testing.T) {
	l := listen(t, Rep, 1<<20, func(_ context.Context, request Message, _ error) Message {
		return Message{make([]byte, 32<<20)}
	})
	deaf := l.raw(1)
	deaf.send(frames("", "hello"))
	client, err := NewClient(l.dial(), 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if reply, err := client.Call(Message{{}}); err != nil || len(reply[0]) != 32<<20 {
			t.Fatal(err)
		}
	}
	_ = deaf.Close()
	l.eventually(l.counts.Lost, 1)
}

func TestStopLetsRequestsEnd(t *testing.T) {
	begun, end := make(chan struct{}), make(chan struct{})
	l := listen(t, Rep, 1<<20, func(_ context.Context, request Message, _ error) Message {
		close(begun)
		<-end
		return request
	})
	client := l.client()
	replied := make(chan error, 1)
	go func() {
		_, err := client.Call(Message{[]byte("x")})
		replied <- err
	}()
	<-begun
	stopped := make(chan struct{})
	go func() {
		l.server.Stop(time.Minute)
		close(stopped)
	}()
	for l.refuses() != nil {
		time.Sleep(time.Millisecond)
	}
	close(end)
	if err := <-replied; err != nil {
		t.Error(err)
	}
	<-stopped
}

// refuses returns nil once the server ends new connections at once.
func (l listening) refuses() error {
	conn, err := net.Dial("tcp", l.address)
	if err != nil {
		return nil
	}
	defer func() { _ = conn.Close() }()
	if _, err := NewClient(conn, 1); err != nil {
		return nil
	}
	return errors.New("accepted")
}

func TestAClientKnowsWhatIsNoReply(t *testing.T) {
	for text, want := range map[string]error{
		string(frames("no envelope")): noEnvelope, string(frames("")): noEnvelope, string(frames("x", "y")): noEnvelope,
		string(longHeader(0, 1<<62)): FarTooLarge, string(frames("", strings.Repeat("x", 2000))): TooLarge,
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			theirs, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = Open(theirs, Rep, 1000)
			_, _ = theirs.Write([]byte(text))
		}()
		ours, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		client, err := NewClient(ours, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Call(Message{[]byte("x")}); !errors.Is(err, want) {
			t.Errorf("%.40q: %v", text, err)
		}
		_, _ = ours.Close(), listener.Close()
	}
}

// Frames that come to just beyond what is skipped of a message leave no room for another one of any size.
func TestWhatIsSkippedIsBounded(t *testing.T) {
	t.Parallel()
	text := io.MultiReader(
		bytes.NewReader(longHeader(flagMore, mostSkipped)), io.LimitReader(zeros{}, mostSkipped), bytes.NewReader(longHeader(0, 1<<40)),
	)
	c := &Conn{read: bufio.NewReader(text), limit: 10}
	if _, err := c.Read(); err != FarTooLarge {
		t.Errorf("%v, want %v", err, FarTooLarge)
	}
}

type zeros struct{}

func (zeros) Read(to []byte) (int, error) { return len(to), nil }

// A process that is out of file descriptors serves its peers, and accepts others once it has some again.
func TestConnectionsThatCannotBeAccepted(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if got := call(t, serve(t, &short{listener, 2}, Rep, 100, echo).client(), "hello"); got != "hello" {
		t.Errorf("got %q", got)
	}
}
