package spans

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// receiver serves a recorder on free ports until the test ends.
func receiver(t *testing.T, r *Recorder) (grpcAddress, httpURL string) {
	t.Helper()
	var open [2]net.Listener
	for i := range open {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		open[i] = listener
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error)
	go func() { served <- Serve(ctx, Listeners{open[0], open[1]}, r) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Errorf("serving ended with %v", err)
		}
	})
	return open[0].Addr().String(), "http://" + open[1].Addr().String() + "/v1/traces"
}

func dial(t *testing.T, address string) collector.TraceServiceClient {
	t.Helper()
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return collector.NewTraceServiceClient(connection)
}

func parsed(t *testing.T, bytes []byte) *collector.ExportTraceServiceRequest {
	t.Helper()
	var m collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(bytes, &m); err != nil {
		t.Fatal(err)
	}
	return &m
}

func TestOverGRPC(t *testing.T) {
	r, file := began(t, Budget{PieceSpans: 4, Pieces: 1, Waiting: 1 << 20})
	address, _ := receiver(t, r)
	client := dial(t, address)
	reporting := metadata.AppendToOutgoingContext(t.Context(), InstanceKey, "rate-1", ProducedKey, "7", DroppedKey, "2")

	response, err := client.Export(reporting, parsed(t, request(t, nil, made(1, 1), made(1, 0))), grpc.UseCompressor("gzip"))
	if err != nil || response.GetPartialSuccess().GetRejectedSpans() != 1 || response.PartialSuccess.ErrorMessage == "" {
		t.Errorf("one of two has no id: %v, %v", response, err)
	}
	if response, err = client.Export(reporting, parsed(t, request(t, nil, made(2, 2)))); err != nil || response.PartialSuccess != nil {
		t.Errorf("all is well: %v, %v", response, err)
	}
	_, err = client.Export(t.Context(), parsed(t, request(t, nil, made(1, 3), made(1, 4), made(1, 5))))
	refused := status.Convert(err)
	if refused.Code() != codes.ResourceExhausted || len(refused.Details()) != 1 {
		t.Fatalf("more than fits: %v", err)
	}
	if retry, ok := refused.Details()[0].(*errdetails.RetryInfo); !ok || retry.RetryDelay.AsDuration() != comeAgain {
		t.Errorf("it should come again in a second: %v", refused.Details())
	}
	counts := end(t, r)
	if counts.Received != 2 || counts.Refused != 3 || counts.Unreadable != 1 || *counts.Produced != 7 || *counts.Dropped != 2 ||
		counts.Replicas["rate-1"].Received != 2 || *counts.Replicas["rate-1"].Produced != 7 {
		t.Errorf("%+v", counts)
	}
	if len(rows(t, file)) != 2 {
		t.Error("two spans should be in the file")
	}
}

func TestWhatIsNoOTLPOverGRPC(t *testing.T) {
	r, _ := began(t, small)
	address, _ := receiver(t, r)
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.ForceCodecV2(wireCodec{})))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	for method, code := range map[string]codes.Code{
		"/" + exportService + "/" + exportMethod: codes.InvalidArgument, "/" + exportService + "/Other": codes.Unimplemented, "/x.Y/Z": codes.Unimplemented,
	} {
		var reply message
		bad := &message{bytesOf([]byte{0xff})}
		if err := connection.Invoke(t.Context(), method, bad, &reply); status.Code(err) != code {
			t.Errorf("%s: %v, want %s", method, err, code)
		}
	}
	if counts := end(t, r); counts.Unread != 1 {
		t.Errorf("%+v", counts)
	}
}

const inJSON = `{"resourceSpans": [{"resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]}, "later": 1,
	"scopeSpans": [{"spans": [{"traceId": "5B8EFFF798038103D269B633813FC60C", "spanId": "eee19b7ec3c1b174", "parentSpanId": "", "name": "I like",
	"startTimeUnixNano": "1544712660000000001", "endTimeUnixNano": 1544712661000000001, "kind": 3, "status": {"code": 2},
	"attributes": [{"key": "traceId", "value": {"stringValue": "not hex"}}, {"key": "server.address", "value": {"stringValue": "db"}}]}]}]}]}`

func TestOverHTTP(t *testing.T) {
	r, file := began(t, Budget{PieceSpans: 4, Pieces: 1, Waiting: 1 << 20})
	_, url := receiver(t, r)
	packed := func(body []byte) []byte {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		_, _ = w.Write(body)
		_ = w.Close()
		return out.Bytes()
	}
	one, many := request(t, nil, made(1, 1)), request(t, nil, made(1, 2), made(1, 3), made(1, 4), made(1, 5))
	huge := bytes.Repeat([]byte{0}, mostRequestBytes+1)
	for _, c := range []struct {
		kind, encoding string
		body           []byte
		code           int
		says           string
	}{
		{typeProtobuf, "", one, 200, ""},
		{typeProtobuf, "gzip", packed(one), 200, ""},
		{typeJSON + "; charset=utf-8", "", []byte(inJSON), 200, "{}"},
		{typeJSON, "", []byte(`{"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "no ids"}]}]}]}`), 200, `"rejectedSpans":"1"`},
		{typeProtobuf, "", many, 429, "send them again"},
		{typeProtobuf, "", []byte{0xff}, 400, "no ExportTraceServiceRequest"},
		{typeJSON, "", []byte(`{"resourceSpans": 7}`), 400, "no ExportTraceServiceRequest"},
		{typeJSON, "", []byte(strings.Replace(inJSON, "eee", "xyz", 1)), 200, `"rejectedSpans":"1"`},
		{typeJSON, "", []byte(strings.Replace(inJSON, "eee1", "11", 1)), 200, `"rejectedSpans":"1"`},
		{typeJSON, "", []byte(strings.Replace(inJSON, "eee1", "e=1", 1)), 400, "no ExportTraceServiceRequest"},
		{typeJSON, "", []byte(`{`), 400, "no ExportTraceServiceRequest"},
		{typeJSON, "", []byte(inJSON + inJSON), 400, "unexpected token"},
		{typeJSON, "", []byte(inJSON + "]"), 400, "unexpected token"},
		{typeProtobuf, "gzip", one, 400, "gzip"},
		{typeProtobuf, "br", one, 400, "send gzip or none"},
		{typeProtobuf, "", huge, 413, "smaller batches"},
		{typeProtobuf, "gzip", packed(huge), 413, "smaller batches"},
		{"text/plain", "", one, 415, "send application/x-protobuf"},
	} {
		post, err := http.NewRequest("POST", url, bytes.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		post.Header.Set("Content-Type", c.kind)
		post.Header.Set("Content-Encoding", c.encoding)
		answer, err := http.DefaultClient.Do(post)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != c.code || !strings.Contains(string(body), c.says) {
			t.Errorf("%s %s of %d bytes: %d %q, want %d %q", c.kind, c.encoding, len(c.body), answer.StatusCode, body, c.code, c.says)
		}
		if retry := answer.Header.Get("Retry-After"); (retry == "1") != (c.code == 429) {
			t.Errorf("%d: Retry-After %q", c.code, retry)
		}
	}
	counts := end(t, r)
	if counts.Received != 3 || counts.Refused != 4 || counts.Unreadable != 3 || counts.Unread != 11 || counts.Replicas["shop"].Received != 1 {
		t.Errorf("%+v", counts)
	}
	all := rows(t, file)
	want := Row{SpanID: 0xeee19b7ec3c1b174, Service: "shop", Operation: "I like", Peer: "db", Kind: 3, Start: 1544712660000000001, Duration: 1e9, Status: 2}
	copy(want.TraceID[:], "\x5B\x8E\xFF\xF7\x98\x03\x81\x03\xD2\x69\xB6\x33\x81\x3F\xC6\x0C")
	if len(all) != 3 || all[2] != want {
		t.Errorf("%+v", all)
	}
}

func TestControl(t *testing.T) {
	r := NewRecorder(small, nil)
	address, _ := receiver(t, r)
	file := filepath.Join(t.TempDir(), "spans.parquet")
	dialogue := []struct{ order, answer string }{
		{`{"verb": "end"}`, `"conflict",.*no trial is running; begin one first`},
		{`{"verb": "begin"}`, `"input",.*no absolute path`},
		{`{"verb": "begin", "file": 7}`, `"input",.*cannot unmarshal`},
		{`{"verb": "begin", "path": "/x"}`, `"input",.*unknown field`},
		{`{"verb": "begin", "file": "/no/such/spans.parquet"}`, `"input",.*no such file`},
		{`{"verb": "begin", "file": "` + file + `"}`, `^{"ok":{"file":"` + file},
		{`{"verb": "begin", "file": "` + file + `"}`, `"conflict",.*end it first`},
		{`{"verb": "counts"}`, `^{"ok":.*"traces":null`},
		{`{"verb": "end", "quiet_s": -1}`, `"input",.*give seconds`},
		{`{"verb": "end", "quiet_s": 1e300, "within_s": 0}`, `^{"ok":.*"quiet":false`},
		{`{"verb": "end", "quiet_s": 0, "within_s": 1e300}`, `"conflict",.*no trial`},
		{`{"verb": "counts"}`, `^{"ok":.*"recording":false`},
		{`{"verb": "nothing"}`, `"input",.*unknown verb`},
		{`no JSON`, `"input",.*invalid character`},
	}
	var orders strings.Builder
	for _, each := range dialogue {
		orders.WriteString(each.order + "\n")
	}
	var answers bytes.Buffer
	if err := Control(strings.NewReader(orders.String()), &answers, r); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(answers.String()), "\n")
	if len(lines) != len(dialogue) {
		t.Fatalf("%d answers to %d orders", len(lines), len(dialogue))
	}
	for i, each := range dialogue {
		if !json.Valid([]byte(lines[i])) || !regexp.MustCompile(each.answer).MatchString(lines[i]) {
			t.Errorf("%s: %s, want %s", each.order, lines[i], each.answer)
		}
	}
	if err := Control(strings.NewReader(strings.Repeat("x", mostOrderBytes+1)), &answers, r); !errors.Is(err, ErrBad) {
		t.Errorf("an endless order: %v", err)
	}
	if _, err := dial(t, address).Export(t.Context(), parsed(t, request(t, nil, made(1, 1)))); err != nil {
		t.Errorf("spans without a trial are taken, though not kept: %v", err)
	}
}

func bytesOf(b []byte) mem.Buffer { return mem.SliceBuffer(b) }
