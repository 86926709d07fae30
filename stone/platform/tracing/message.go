package tracing

import (
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// Fields of OTLP's messages (opentelemetry/proto/trace/v1/trace.proto and collector/trace/v1/trace_service.proto).
const (
	requestResourceSpans = 1

	resourceSpansResource = 1
	resourceSpansScopes   = 2

	resourceAttributes = 1

	scopeSpansScope = 1
	scopeSpansSpans = 2
	scopeName       = 1

	spanTrace      = 1
	spanID         = 2
	spanParent     = 4
	spanName       = 5
	spanKind       = 6
	spanStart      = 7
	spanEnd        = 8
	spanAttributes = 9
	spanStatus     = 15

	keyValueKey   = 1
	keyValueValue = 2
	valueString   = 1

	statusMessage = 2
	statusCode    = 3

	kindServer, kindClient = 2, 3
	codeError              = 2
)

// resource is the message of whose spans they are: attributes as keys and values by turns.
func resource(attributes ...string) []byte {
	var message []byte
	for i := 0; i < len(attributes); i += 2 {
		message = attribute(message, resourceAttributes, attributes[i], attributes[i+1])
	}
	return message
}

// attribute appends a KeyValue with a text, as a field of the message that it belongs to.
func attribute(to []byte, field protowire.Number, key, value string) []byte {
	text := protowire.AppendTag(nil, valueString, protowire.BytesType)
	text = protowire.AppendString(text, value)
	pair := protowire.AppendTag(nil, keyValueKey, protowire.BytesType)
	pair = protowire.AppendString(pair, key)
	return appendField(to, field, appendField(pair, keyValueValue, text))
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
	name := protowire.AppendTag(nil, scopeName, protowire.BytesType)
	name = protowire.AppendString(name, "loadstone.dev/stone")
	return &encoder{resource: appendField(nil, resourceSpansResource, of), scope: appendField(nil, scopeSpansScope, name)}
}

// request is the message of these spans.
func (e *encoder) request(spans []span) []byte {
	e.scopes = append(e.scopes[:0], e.scope...)
	for i := range spans {
		e.span = spans[i].message(e.span[:0])
		e.scopes = appendField(e.scopes, scopeSpansSpans, e.span)
	}
	inside := len(e.resource) + protowire.SizeTag(resourceSpansScopes) + protowire.SizeBytes(len(e.scopes))
	message := protowire.AppendTag(make([]byte, 0, inside+8), requestResourceSpans, protowire.BytesType)
	message = protowire.AppendVarint(message, uint64(inside))
	return appendField(append(message, e.resource...), resourceSpansScopes, e.scopes)
}

// longestText is what is kept of a path or of an error, in bytes: one span must not fill a whole request.
const longestText = 1024

// text is what may stand in a message; collectors refuse all of a request for one byte that is no UTF-8.
func text(of string) string {
	return strings.ToValidUTF8(of[:min(len(of), longestText)], "\uFFFD")
}

// message appends the span as a message.
func (s *span) message(to []byte) []byte {
	to = appendField(to, spanTrace, s.trace[:])
	to = appendField(to, spanID, s.id[:])
	if s.parent != [8]byte{} {
		to = appendField(to, spanParent, s.parent[:])
	}
	to = protowire.AppendTag(to, spanName, protowire.BytesType)
	if object := text(s.object); object == "" {
		to = protowire.AppendString(to, s.verb)
	} else {
		to = protowire.AppendVarint(to, uint64(len(s.verb)+1+len(object)))
		to = append(append(append(to, s.verb...), ' '), object...)
	}
	kind := uint64(kindServer)
	if s.need != nil {
		kind = kindClient
	}
	to = protowire.AppendVarint(protowire.AppendTag(to, spanKind, protowire.VarintType), kind)
	began := uint64(s.began.UnixNano())
	to = protowire.AppendFixed64(protowire.AppendTag(to, spanStart, protowire.Fixed64Type), began)
	to = protowire.AppendFixed64(protowire.AppendTag(to, spanEnd, protowire.Fixed64Type), began+uint64(s.took))
	if s.need != nil {
		to = append(to, s.need.peer...)
	}
	if s.failed {
		var status []byte
		status = protowire.AppendString(protowire.AppendTag(status, statusMessage, protowire.BytesType), text(s.problem))
		status = protowire.AppendVarint(protowire.AppendTag(status, statusCode, protowire.VarintType), codeError)
		to = appendField(to, spanStatus, status)
	}
	return to
}
