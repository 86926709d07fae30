// Package otlp has the numbers of OTLP's fields, for those who write and read spans without a message in between: services
// (platform/tracing) and their receiver (spans).
package otlp

// Fields of ExportTraceServiceRequest and of what it holds (opentelemetry/proto/collector/trace/v1/trace_service.proto,
// opentelemetry/proto/trace/v1/trace.proto).
const (
	RequestResourceSpans = 1

	ResourceSpansResource = 1
	ResourceSpansScopes   = 2

	ResourceAttributes = 1
	AttributeKey       = 1
	AttributeValue     = 2
	ValueString        = 1

	ScopeSpansScope = 1
	ScopeSpansSpans = 2
	ScopeName       = 1

	SpanTrace      = 1
	SpanID         = 2
	SpanParent     = 4
	SpanName       = 5
	SpanKind       = 6
	SpanStart      = 7
	SpanEnd        = 8
	SpanAttributes = 9
	SpanStatus     = 15
	StatusMessage  = 2
	StatusCode     = 3
)

// Kinds of spans, and the code of a status that says so.
const (
	KindInternal = 1
	KindServer   = 2
	KindClient   = 3
	KindProducer = 4

	CodeError = 2
)
