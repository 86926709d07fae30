package tracing

import (
	"strings"

	"go.opentelemetry.io/otel/trace/noop"
)

// declined stands for the span of a request that is not traced: it is no more than what the next service is to be told,
// as most requests are such, and shall cost next to nothing.
type declined struct {
	noop.Span
	traceparent string
}

// declinedHere is told of all requests that this service decides not to trace. It names a trace, as it must, but one that
// nobody will ever see: what is always the same takes a byte in HTTP/2.
var declinedHere = &declined{traceparent: "00-" + strings.Repeat("0", 31) + "1-" + strings.Repeat("0", 15) + "1-00"}

// isDeclined says whether a caller does not trace its request: "00-<trace>-<span>-00".
func isDeclined(traceparent string) bool {
	return len(traceparent) == len(declinedHere.traceparent) && strings.HasPrefix(traceparent, "00-") && strings.HasSuffix(traceparent, "-00")
}
