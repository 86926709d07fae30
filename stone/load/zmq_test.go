package load

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"loadstone.dev/stone/zmtp"
)

// messages is a REP socket that remembers what came, and replies with JSON.
type messages struct {
	address string
	mutex   sync.Mutex
	seen    map[string]int
}

func replying(t *testing.T) *messages {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &messages{address: listener.Addr().String(), seen: map[string]int{}}
	server := zmtp.NewServer(zmtp.Rep, 1<<20, m.reply, zmtp.Counts{Malformed: new(atomic.Int64), Oversized: new(atomic.Int64), Lost: new(atomic.Int64)})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop(time.Second)
		_ = listener.Close()
	})
	return m
}

func (m *messages) reply(_ context.Context, request zmtp.Message, _ error) zmtp.Message {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.seen[string(request[0])]++
	if string(request[0]) == `{"id":3}` {
		return zmtp.Message{[]byte(`{"error":"none"}`)}
	}
	return zmtp.Message{[]byte(`{"found":true}`)}
}

// Messages of ZeroMQ are sent as their plan says, open or closed, and replies judged.
func TestZeroMQ(t *testing.T) {
	t.Parallel()
	for _, loop := range []string{`"arrival":{"process":"constant","rate":200}`, `"closed":{"clients":5}`} {
		m := replying(t)
		plan := parse(t, fmt.Sprintf(`{"target":"tcp://%s","protocol":"zmq","connections":5,"duration_s":0.5,"timeout_s":20,"seed":1,%s,
			"operations":[{"name":"get","body":"{\"id\":{n}}","fields":{"n":{"kind":"integer","min":1,"max":4}},"expect":{"json":{"path":"found"}}}]}`, m.address, loop))
		summary, _ := drive(t, plan)
		c := summary.Counts
		sent := 0
		for _, n := range m.seen {
			sent += n
		}
		if wrong := int64(m.seen[`{"id":3}`]); len(m.seen) != 4 || int64(sent) != c.Sent || c.Errors != wrong || c.Completed+c.Errors+c.InFlight != c.Offered {
			t.Errorf("%v: %+v %v", m.seen, c, summary.Errors)
		}
	}
}

func TestWrongPlansOfZeroMQ(t *testing.T) {
	t.Parallel()
	const good = `{"target":"tcp://127.0.0.1:1","protocol":"zmq","duration_s":1,"arrival":{"process":"constant","rate":1},"operations":[{"name":"get","body":"x"}]}`
	parse(t, good)
	for change, want := range map[string]string{
		`tcp://=>http://`:                                                      "target: \"http://127.0.0.1:1\": zmq is driven at tcp://",
		`127.0.0.1:1=>127.0.0.1`:                                               "target: \"tcp://127.0.0.1\" has no port",
		`"protocol":"zmq"=>"protocol":"http/1.1"`:                              "http/1.1 is driven at http:// or https://",
		`"body":"x"=>"path":"/"`:                                               "operations[0]: is a message",
		`"body":"x"=>"body":"x","method":"GET"`:                                "operations[0]: is a message",
		`"body":"x"=>"expect":{"min_bytes":1}`:                                 "operations[0].body: missing",
		`"body":"x"=>"body":"x","expect":{"status":[200]}`:                     "operations[0].expect.status: a reply has no status",
		`"duration_s"=>"policy":"new","duration_s"`:                            "policy: \"new\"",
		`"duration_s"=>"pipelining":2,"duration_s"`:                            "pipelining",
		`"operations":[{"name":"get","body":"x"}]=>"script":{"path":"/x.lua"}`: "script: makes requests of HTTP",
	} {
		from, to, _ := strings.Cut(change, "=>")
		if _, err := ParsePlan([]byte(strings.Replace(good, from, to, 1))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", change, err, want)
		}
	}
}
