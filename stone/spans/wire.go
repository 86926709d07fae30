package spans

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"loadstone.dev/stone/otlp"
)

// Numbers beyond it count as absent.
const mostKind, mostStatus = 5, 2

// valueKinds are the types of what a value can be; a later one replaces an earlier one.
var valueKinds = [...]protowire.Type{
	0: none, otlp.ValueString: protowire.BytesType, 2: protowire.VarintType, 3: protowire.VarintType, 4: protowire.Fixed64Type,
	5: protowire.BytesType, 6: protowire.BytesType, 7: protowire.BytesType, 8: protowire.VarintType,
}

const none = protowire.Type(-1)

// Times are after 1970, and so early and short (the year 2116, 36 years) that sums of them fit 64 bits: readers hold to
// the same bounds.
const latestStart, longestDuration = 1 << 62, 1 << 60

var errSpan = errors.New("a trace's id has 16 bytes, a span's 8, and none is zero; a span starts after 1970 and before 2116, ends no sooner, and takes less than 36 years")

// fields calls each for every field of a message with its number, type and content; the content of a group is nil.
func fields(message []byte, each func(number protowire.Number, kind protowire.Type, content []byte, value uint64) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		var content []byte
		var value uint64
		switch kind {
		case protowire.BytesType:
			content, n = protowire.ConsumeBytes(message)
		case protowire.VarintType:
			value, n = protowire.ConsumeVarint(message)
		case protowire.Fixed64Type:
			value, n = protowire.ConsumeFixed64(message)
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		if err := each(number, kind, content, value); err != nil {
			return err
		}
	}
	return nil
}

// inside calls each for the content of every field that has this number and is a message or text.
func inside(message []byte, wanted protowire.Number, each func(content []byte) error) error {
	return fields(message, func(number protowire.Number, kind protowire.Type, content []byte, _ uint64) error {
		if number != wanted || kind != protowire.BytesType {
			return nil
		}
		return each(content)
	})
}

// count tells how many spans a request has, without looking into them; after an error, how many were found until then.
func count(request []byte) (spans int64, err error) {
	err = inside(request, otlp.RequestResourceSpans, func(ofResource []byte) error {
		return inside(ofResource, otlp.ResourceSpansScopes, func(ofScope []byte) error {
			return inside(ofScope, otlp.ScopeSpansSpans, func([]byte) error {
				spans++
				return nil
			})
		})
	})
	return spans, err
}

// reader reads requests into spans.
type reader struct {
	names    *names
	spans    []span // the spans of the last request
	rejected int64  // how many of its spans lack the ids or the times that a span must have
	resource resource
}

// resource is whose spans follow.
type resource struct{ service, instance, host []byte }

// read reads one request. After an error nothing of it is to be used. Memory is reused from request to request.
func (r *reader) read(request []byte) error {
	r.spans, r.rejected = r.spans[:0], 0
	return inside(request, otlp.RequestResourceSpans, r.readResource)
}

// mostSpansKept is the room that is kept from request to request.
const mostSpansKept = 1 << 16

// forget gives back the room that a large request needed.
func (r *reader) forget() {
	if cap(r.spans) > mostSpansKept {
		r.spans = nil
	}
}

// leaveOut leaves out the spans that ended before since and tells how many these were.
func (r *reader) leaveOut(since int64) int64 {
	all := len(r.spans)
	r.spans = slices.DeleteFunc(r.spans, func(s span) bool { return s.duration != unfinished && s.start+s.duration < since })
	return int64(all - len(r.spans))
}

func (r *reader) readResource(message []byte) error {
	r.resource = resource{}
	err := inside(message, otlp.ResourceSpansResource, func(message []byte) error { // may stand behind the spans
		return inside(message, otlp.ResourceAttributes, func(message []byte) error {
			key, value, err := attribute(message)
			switch string(key) {
			case "service.name":
				r.resource.service = value
			case "service.instance.id":
				r.resource.instance = value
			case "host.name":
				r.resource.host = value
			}
			return err
		})
	})
	if err != nil {
		return err
	}
	of := span{service: r.names.of(r.resource.service), replica: r.names.of(r.resource.instance), host: r.names.of(r.resource.host)}
	if of.replica == noName {
		of.replica = of.host
	}
	return inside(message, otlp.ResourceSpansScopes, func(message []byte) error {
		return inside(message, otlp.ScopeSpansSpans, func(message []byte) error {
			return r.readSpan(message, of)
		})
	})
}

func (r *reader) readSpan(message []byte, s span) error {
	var trace, id, parent, name []byte
	var start, end uint64
	var to callee
	err := fields(message, func(number protowire.Number, kind protowire.Type, content []byte, value uint64) (err error) {
		switch {
		case kind == protowire.BytesType:
			switch number {
			case otlp.SpanTrace:
				trace = content
			case otlp.SpanID:
				id = content
			case otlp.SpanParent:
				parent = content
			case otlp.SpanName:
				name = content
			case otlp.SpanAttributes:
				err = to.read(content)
			case otlp.SpanStatus:
				err = fields(content, func(number protowire.Number, kind protowire.Type, _ []byte, value uint64) error {
					if number == otlp.StatusCode && kind == protowire.VarintType {
						s.status = enumeration(value, mostStatus)
					}
					return nil
				})
			}
		case kind == protowire.Fixed64Type && number == otlp.SpanStart:
			start = value
		case kind == protowire.Fixed64Type && number == otlp.SpanEnd:
			end = value
		case kind == protowire.VarintType && number == otlp.SpanKind:
			s.kind = enumeration(value, mostKind)
		}
		return err
	})
	if err != nil {
		return err
	}
	if !s.identify(trace, id, parent) || !s.time(start, end) {
		r.rejected++
		return nil
	}
	s.operation, s.peer = r.names.of(name), r.names.of(to.of(s.kind))
	r.spans = append(r.spans, s)
	return nil
}

// identify takes the ids over and tells whether they are as they must be.
func (s *span) identify(trace, id, parent []byte) bool {
	if len(trace) != 16 || len(id) != 8 || len(parent) != 0 && len(parent) != 8 {
		return false
	}
	s.traceHigh, s.traceLow = binary.BigEndian.Uint64(trace), binary.BigEndian.Uint64(trace[8:])
	s.id = binary.BigEndian.Uint64(id)
	if len(parent) == 8 {
		s.parent = binary.BigEndian.Uint64(parent)
	}
	return s.traceHigh|s.traceLow != 0 && s.id != 0
}

// time takes the times over and tells whether they can be. A span without an end never ended.
func (s *span) time(start, end uint64) bool {
	s.start, s.duration = int64(start), unfinished
	if end > 0 {
		if end < start || end-start >= longestDuration {
			return false
		}
		s.duration = int64(end - start)
	}
	return start > 0 && start < latestStart
}

// callee is the peer of a span's call, by preference: our own attribute, then those of OpenTelemetry's conventions.
type callee [5][]byte

func (c *callee) read(message []byte) error {
	key, value, err := attribute(message)
	switch string(key) {
	case "peer.service":
		c[0] = value
	case "db.system.name":
		c[1] = value
	case "db.system":
		c[2] = value
	case "messaging.system":
		c[3] = value
	case "server.address":
		c[4] = value
	}
	return err
}

func (c *callee) of(kind uint8) []byte {
	if len(c[0]) > 0 {
		return c[0]
	}
	if kind == otlp.KindClient || kind == otlp.KindProducer {
		for _, value := range c[1:] {
			if len(value) > 0 {
				return value
			}
		}
	}
	return nil
}

// attribute reads a key and its value; nil if that is no text.
func attribute(message []byte) (key, value []byte, err error) {
	err = fields(message, func(number protowire.Number, kind protowire.Type, content []byte, _ uint64) error {
		if kind != protowire.BytesType {
			return nil
		}
		switch number {
		case otlp.AttributeKey:
			key = content
		case otlp.AttributeValue:
			return fields(content, func(number protowire.Number, kind protowire.Type, content []byte, _ uint64) error {
				switch {
				case int(number) >= len(valueKinds) || valueKinds[number] != kind:
				case number == otlp.ValueString:
					value = content
				default:
					value = nil
				}
				return nil
			})
		}
		return nil
	})
	return key, value, err
}

func enumeration(value uint64, most int32) uint8 {
	if v := int32(value); v >= 0 && v <= most { // as protobuf reads one: the lower 32 bits
		return uint8(v)
	}
	return 0
}

// unreadable says what is wrong with a request.
func unreadable(err error) error {
	return fmt.Errorf("%w: no ExportTraceServiceRequest of OTLP: %w", ErrBad, err)
}
