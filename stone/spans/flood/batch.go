package main

import (
	"encoding/binary"
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

const (
	batchSpans = 512 // what OpenTelemetry's SDKs send at once
	traceSpans = 8   // in a trace, each below the one before
	services   = 16
)

// appendBatch appends the number-th ExportTraceServiceRequest: of one service, with as many attributes as such spans have.
func appendBatch(to []byte, number int64) []byte {
	service := fmt.Sprintf("service-%d", number%services)
	resource := appendMessage(nil, 1, appendAttribute(nil, "service.name", service))
	resource = appendMessage(resource, 1, appendAttribute(nil, "service.instance.id", service+"-1"))
	resource = appendMessage(resource, 1, appendAttribute(nil, "host.name", "worker-1"))
	now := uint64(time.Now().UnixNano())
	scope := appendMessage(nil, 1, appendText(nil, 1, "loadstone.dev/stone"))
	var span []byte
	for i := range uint64(batchSpans) {
		span = appendSpan(span[:0], uint64(number)*batchSpans+i, now)
		scope = appendMessage(scope, 2, span)
	}
	return appendMessage(to, 1, appendMessage(appendMessage(nil, 1, resource), 2, scope))
}

func appendSpan(to []byte, number, now uint64) []byte {
	id := func(number uint64) []byte { // spread over all values, as real ones are, and never 0
		return binary.BigEndian.AppendUint64(nil, (number+1)*0x9E3779B97F4A7C15)
	}
	trace := number / traceSpans
	to = appendMessage(to, 1, append(id(trace), id(^trace)...))
	to = appendMessage(to, 2, id(number))
	if number%traceSpans != 0 {
		to = appendMessage(to, 4, id(number-1))
	}
	kind := 2 + number%2 // server, client
	to = appendText(to, 5, fmt.Sprintf("operation-%d", number%64))
	to = protowire.AppendVarint(protowire.AppendTag(to, 6, protowire.VarintType), kind)
	start := now + number%traceSpans*1000
	to = protowire.AppendFixed64(protowire.AppendTag(to, 7, protowire.Fixed64Type), start)
	to = protowire.AppendFixed64(protowire.AppendTag(to, 8, protowire.Fixed64Type), start+1e6-number%traceSpans*2000)
	to = appendMessage(to, 9, appendAttribute(nil, "rpc.system", "grpc"))
	to = appendMessage(to, 9, appendAttribute(nil, "rpc.method", "rate.Rate/GetRates"))
	to = appendMessage(to, 9, appendAttribute(nil, "server.address", "10.77.0.3"))
	to = appendMessage(to, 9, appendAttribute(nil, "rpc.grpc.status_code", "0"))
	if kind == 3 {
		to = appendMessage(to, 9, appendAttribute(nil, "peer.service", "memcached-rate"))
	}
	return to
}

func appendMessage(to []byte, field protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), content)
}

func appendText(to []byte, field protowire.Number, text string) []byte {
	return appendMessage(to, field, []byte(text))
}

func appendAttribute(to []byte, key, value string) []byte {
	return appendMessage(appendText(to, 1, key), 2, appendText(nil, 1, value))
}
