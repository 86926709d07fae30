package tracing

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"time"
)

// span is one that is recorded, and sent when it has ended. Nil stands for one that is not: its methods do nothing.
//
// The SDK of OpenTelemetry is not used here: to begin and end a span, and to make messages of many, cost several times as
// much with it, and what tracing costs is part of what is measured (docs/explanation/tracing.md).
type span struct {
	tracing    *Tracing
	kind       uint8      // as OTLP numbers them
	need       *neighbour // the peer that it calls, if it is a client's
	trace      [16]byte
	id, parent [8]byte // parent all zeros: a root
	verb       string
	object     string // may be empty: its name is the verb alone
	began      time.Time
	duration   time.Duration
	failed     bool
	problem    string // what failed, where that is known
}

// fail says that what the span is of has failed, unless there is no error.
func (s *span) fail(err error) {
	if s != nil && err != nil {
		s.failed, s.problem = true, err.Error()
	}
}

// end ends the span; it must not be ended again.
func (s *span) end() {
	if s != nil {
		s.duration = time.Since(s.began)
		s.tracing.senderOf(s.trace).add(s)
	}
}

// endWith ends the span with what its call returned.
func (s *span) endWith(err error) {
	s.fail(err)
	s.end()
}

func newID() (id [8]byte) {
	binary.BigEndian.PutUint64(id[:], 1+rand.Uint64N(math.MaxUint64)) // all zeros are no id
	return id
}

func newTrace() (id [16]byte) {
	binary.BigEndian.PutUint64(id[:], rand.Uint64())
	binary.BigEndian.PutUint64(id[8:], 1+rand.Uint64N(math.MaxUint64))
	return id
}

// part is the context of what a service does for one request: whether that is traced, and within which span.
type part struct {
	context.Context
	span        *span  // nil: it is not traced
	traceparent string // the header for the next service then
	tracestate  string // as it came
}

type partKey struct{}

// Value is the part itself by its own key.
func (p *part) Value(key any) any {
	if key == (partKey{}) {
		return p
	}
	return p.Context.Value(key)
}

// partOf is the part of a request that a context belongs to; nil outside of requests.
func partOf(ctx context.Context) *part {
	p, _ := ctx.Value(partKey{}).(*part)
	return p
}

// The header of W3C Trace Context is "<version>-<trace>-<span>-<flags>", in lower-case hexadecimal; there is version 00.
const (
	traceparent, tracestate = "traceparent", "tracestate"
	version, sampledFlag    = "00-", 0x01
	headerLength            = len(version) + 32 + 1 + 16 + 1 + 2
	declinedHere            = version + "00000000000000000000000000000001" + "-" + "0000000000000001" + "-00"
)

// header is the traceparent of what is called within the span.
func (s *span) header() string {
	var text [headerLength]byte
	copy(text[:], version)
	hex.Encode(text[3:], s.trace[:])
	text[35] = '-'
	hex.Encode(text[36:], s.id[:])
	copy(text[52:], "-01")
	return string(text[:])
}

// parse reads a traceparent; what is none names no caller. Versions to come may add fields behind those that are known.
func parse(header string) (trace [16]byte, parent [8]byte, sampled, is bool) {
	var first, flags [1]byte
	is = len(header) >= headerLength && header[2] == '-' && header[35] == '-' && header[52] == '-' &&
		lowerHex(first[:], header) && lowerHex(trace[:], header[3:]) && lowerHex(parent[:], header[36:]) && lowerHex(flags[:], header[53:]) &&
		first[0] != 0xff && trace != [16]byte{} && parent != [8]byte{} &&
		(len(header) == headerLength || first[0] != 0 && header[headerLength] == '-')
	return trace, parent, flags[0]&sampledFlag != 0, is
}

// known is a traceparent in the version that we know.
func known(header string) string {
	if len(header) == headerLength && header[:len(version)] == version {
		return header
	}
	return version + header[len(version):headerLength]
}

// longestState is as much of a tracestate as has to be passed on.
const longestState = 512

// passable is a tracestate that every protocol carries; empty for any other, which would make each call of its request fail.
func passable(header string) string {
	for i := range len(header) {
		if i == longestState || header[i] < ' ' || header[i] > '~' {
			return ""
		}
	}
	return header
}

// lowerHex decodes as many digits as there is room for, of which none may be upper case.
func lowerHex(into []byte, from string) bool {
	for i := range into {
		high, low := digit(from[2*i]), digit(from[2*i+1])
		if high > 15 || low > 15 {
			return false
		}
		into[i] = high<<4 | low
	}
	return true
}

func digit(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	}
	return math.MaxUint8
}
