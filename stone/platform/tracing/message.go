package tracing

import (
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"loadstone.dev/stone/otlp"
)

// resource is the message of whose spans they are: attributes as keys and values by turns.
func resource(attributes ...string) []byte {
	var message []byte
	for i := 0; i < len(attributes); i += 2 {
		message = attribute(message, otlp.ResourceAttributes, attributes[i], attributes[i+1])
	}
	return message
}

// attribute appends a KeyValue with a text, as a field of the message that it belongs to.
func attribute(to []byte, field protowire.Number, key, value string) []byte {
	text := protowire.AppendTag(nil, otlp.ValueString, protowire.BytesType)
	text = protowire.AppendString(text, value)
	pair := protowire.AppendTag(nil, otlp.AttributeKey, protowire.BytesType)
	pair = protowire.AppendString(pair, key)
	return appendField(to, field, appendField(pair, otlp.AttributeValue, text))
}

func appendField(to []byte, field protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), value)
}

// encoder makes the bytes of an ExportTraceServiceRequest; their memory is used again for the next.
type encoder struct {
	resource            []byte
	span, scope, scopes []byte
}

func newEncoder(of []byte) *encoder {
	name := protowire.AppendTag(nil, otlp.ScopeName, protowire.BytesType)
	name = protowire.AppendString(name, "loadstone.dev/stone")
	return &encoder{resource: appendField(nil, otlp.ResourceSpansResource, of), scope: appendField(nil, otlp.ScopeSpansScope, name)}
}

// request is the message of these spans.
func (e *encoder) request(spans []span) []byte {
	e.scopes = append(e.scopes[:0], e.scope...)
	for i := range spans {
		e.span = spans[i].message(e.span[:0])
		e.scopes = appendField(e.scopes, otlp.ScopeSpansSpans, e.span)
	}
	inside := len(e.resource) + protowire.SizeTag(otlp.ResourceSpansScopes) + protowire.SizeBytes(len(e.scopes))
	message := protowire.AppendTag(make([]byte, 0, inside+8), otlp.RequestResourceSpans, protowire.BytesType)
	message = protowire.AppendVarint(message, uint64(inside))
	return appendField(append(message, e.resource...), otlp.ResourceSpansScopes, e.scopes)
}

// longestText is what is kept of a path or of an error, in bytes: one span must not fill a whole request.
const longestText = 1024

// text is what may stand in a message; collectors refuse all of a request for one byte that is no UTF-8.
func text(of string) string {
	return strings.ToValidUTF8(of[:min(len(of), longestText)], "\uFFFD")
}

// message appends the span as a message.
func (s *span) message(to []byte) []byte {
	to = appendField(to, otlp.SpanTrace, s.trace[:])
	to = appendField(to, otlp.SpanID, s.id[:])
	if s.parent != [8]byte{} {
		to = appendField(to, otlp.SpanParent, s.parent[:])
	}
	to = protowire.AppendTag(to, otlp.SpanName, protowire.BytesType)
	if object := text(s.object); object == "" {
		to = protowire.AppendString(to, s.verb)
	} else {
		to = protowire.AppendVarint(to, uint64(len(s.verb)+1+len(object)))
		to = append(append(append(to, s.verb...), ' '), object...)
	}
	to = protowire.AppendVarint(protowire.AppendTag(to, otlp.SpanKind, protowire.VarintType), uint64(s.kind))
	began := uint64(s.began.UnixNano())
	to = protowire.AppendFixed64(protowire.AppendTag(to, otlp.SpanStart, protowire.Fixed64Type), began)
	to = protowire.AppendFixed64(protowire.AppendTag(to, otlp.SpanEnd, protowire.Fixed64Type), began+uint64(s.duration))
	if s.need != nil {
		to = append(to, s.need.peer...)
	}
	if s.failed {
		var status []byte
		status = protowire.AppendString(protowire.AppendTag(status, otlp.StatusMessage, protowire.BytesType), text(s.problem))
		status = protowire.AppendVarint(protowire.AppendTag(status, otlp.StatusCode, protowire.VarintType), otlp.CodeError)
		to = appendField(to, otlp.SpanStatus, status)
	}
	return to
}
