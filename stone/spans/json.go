package spans

import (
	"encoding/base64"
	"encoding/hex"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// fromJSON makes the bytes of an ExportTraceServiceRequest from its JSON. OTLP's JSON is that of protobuf but for ids,
// which are hexadecimal, where protobuf has base64. Hexadecimal digits are digits of base64 too, so that protobuf's
// reader takes them, and what it made of them is undone.
func fromJSON(text []byte) ([]byte, error) {
	var request collector.ExportTraceServiceRequest
	err := protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(text, &request)
	if err != nil {
		return nil, unreadable(err)
	}
	for _, ofResource := range request.ResourceSpans {
		for _, ofScope := range ofResource.GetScopeSpans() {
			for _, s := range ofScope.GetSpans() {
				s.TraceId, s.SpanId, s.ParentSpanId = fromBase64(s.TraceId), fromBase64(s.SpanId), fromBase64(s.ParentSpanId)
			}
		}
	}
	return proto.Marshal(&request)
}

// noID is too short for an id: its span is rejected, the others of the request are not.
var noID = []byte{0}

// fromBase64 is an id whose hexadecimal digits were read as base64; noID if they were none.
func fromBase64(read []byte) []byte {
	id, err := hex.DecodeString(base64.StdEncoding.EncodeToString(read))
	if err != nil {
		return noID
	}
	return id
}
