package spans

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// fromJSON makes the bytes of an ExportTraceServiceRequest from its JSON. OTLP's JSON is that of protobuf but for ids,
// which are hexadecimal, where protobuf has base64.
func fromJSON(text []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // times do not fit into a float64
	var tree any
	err := decoder.Decode(&tree)
	if err == nil {
		err = nothingElse(decoder)
	}
	if err == nil {
		err = idsFromHex(tree)
	}
	var standard []byte
	if err == nil {
		standard, err = json.Marshal(tree)
	}
	var request collector.ExportTraceServiceRequest
	if err == nil {
		err = protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(standard, &request)
	}
	if err != nil {
		return nil, unreadable(err)
	}
	return proto.Marshal(&request)
}

// nothingElse refuses what follows a request: its spans would be lost, and nobody told.
func nothingElse(decoder *json.Decoder) error {
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the request; send one at a time")
	}
	return nil
}

// idsFromHex replaces the ids below a value of JSON in place. Attributes have their keys as values, so that an object's
// own keys are always those of OTLP.
func idsFromHex(tree any) error {
	switch tree := tree.(type) {
	case []any:
		for _, element := range tree {
			if err := idsFromHex(element); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, value := range tree {
			text, isText := value.(string)
			if !isText || key != "traceId" && key != "spanId" && key != "parentSpanId" {
				if err := idsFromHex(value); err != nil {
					return err
				}
				continue
			}
			id, err := hex.DecodeString(text)
			if err != nil {
				return fmt.Errorf("%s %.40q is not hexadecimal", key, text)
			}
			tree[key] = id // JSON has bytes in base64
		}
	}
	return nil
}
