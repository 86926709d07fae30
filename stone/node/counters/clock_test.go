package counters

import (
	"bytes"
	"encoding/binary"
	"net"
	"testing"
	"time"
)

// clockd answers one query as chronyd would; without an answer it is silent.
func clockd(t *testing.T, answer []byte) string {
	t.Helper()
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	go func() {
		question := make([]byte, 1024)
		if _, from, err := socket.ReadFrom(question); err == nil && answer != nil {
			_, _ = socket.WriteTo(answer, from)
		}
	}()
	return socket.LocalAddr().String()
}

// tracking is chronyd's reply 5: a correction of 0.25 s, a root delay of 0.125 s and a root dispersion of 0.0625 s, each
// 25 bits with a factor of 2^-25, after 7 bits of an exponent.
func tracking(leap uint16) []byte {
	var packet bytes.Buffer
	for _, field := range []any{
		[4]uint8{6, 2}, [3]uint16{33, 5, 0}, [3]uint16{}, uint32(1), [2]uint32{}, // head
		uint32(0x0a000001), [16]uint8{10, 0, 0, 1}, [2]uint16{1, 0}, uint16(3), leap, [3]uint32{0, 1792000000, 0},
		uint32(1 << 23), [5]uint32{}, uint32(1 << 22), uint32(1 << 21), uint32(0),
	} {
		_ = binary.Write(&packet, binary.BigEndian, field)
	}
	return packet.Bytes()
}

func TestAClockThatFollowsASource(t *testing.T) {
	c := &clock{address: clockd(t, tracking(0)), within: time.Hour}
	c.queried = time.Now()
	c.ask()
	r := reading{}
	if err := c.read(&r); err != nil || len(r.points) != 2 {
		t.Fatalf("%v, %v", r.points, err)
	}
	if r.points[0].value != -0.25 || r.points[1].value != 0.25+0.0625+0.0625 {
		t.Errorf("reported %v", r.points)
	}
}

func TestAClockThatFollowsNone(t *testing.T) {
	early, cut, silent := clockd(t, tracking(3)), clockd(t, tracking(0)[:30]), clockd(t, nil)
	for _, example := range []struct {
		address string
		within  time.Duration
		want    string
	}{
		{early, time.Hour, "chronyd at " + early + " follows no source yet"},
		{cut, time.Hour, "chronyd at " + cut + " tells nothing: unexpected EOF"},
		{silent, 100 * time.Millisecond, "chronyd at " + silent + " tells nothing: i/o timeout"},
		{"no address", time.Hour, "no chronyd to ask: dial udp: address no address: missing port in address"},
	} {
		c := &clock{address: example.address, within: example.within, queried: time.Now()}
		c.ask()
		r := reading{}
		if err := c.read(&r); err == nil || err.Error() != example.want || len(r.points) != 0 {
			t.Errorf("%v, %v, want %s", err, r.points, example.want)
		}
	}
}

// A reading takes what is known, and never waits for chronyd.
func TestASilentClock(t *testing.T) {
	c := &clock{address: clockd(t, nil), within: time.Minute}
	r := reading{}
	if err := c.read(&r); err != nil || len(r.points) != 0 {
		t.Errorf("%v, %v", r.points, err)
	}
	c.mu.Lock()
	queried := c.queried
	c.mu.Unlock()
	if queried.IsZero() {
		t.Error("no server was queried")
	}
	_ = c.read(&r)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asking && c.queried != queried {
		t.Error("queried again before the answer came")
	}
}
