package load

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// What is written is what its readers know: docs/reference/summary.schema.json is made from loadstone/model/records.
func TestSummaryIsWhatItsReadersKnow(t *testing.T) {
	t.Parallel()
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join("..", "..", "docs", "reference", "summary.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	failing := serve(t, func(conn net.Conn, path string, n int) bool {
		if path == "/bad" {
			return raw("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", true)(conn, path, n)
		}
		return ok(conn, path, n)
	})
	plain, both := serve(t, ok), json.RawMessage(`[{"name":"good","path":"/good"},{"name":"bad","path":"/bad"}]`)
	slo := map[string]any{"percentile": 99, "latency_ms": 50}
	for name, plan := range map[string]*Plan{
		"open":      plain.plan(t, map[string]any{"duration_s": 0.5}),
		"closed":    plain.plan(t, map[string]any{"duration_s": 0.5, "arrival": nil, "closed": map[string]any{"clients": 2}}),
		"with SLO":  failing.plan(t, map[string]any{"duration_s": 0.5, "slo": slo, "operations": both, "record_requests": true}),
		"abandoned": failing.plan(t, map[string]any{"duration_s": 2, "slo": slo, "abort": true, "operations": both}),
	} {
		_, folder := drive(t, plan)
		text, err := os.ReadFile(filepath.Join(folder, "summary.json"))
		if err != nil {
			t.Fatal(err)
		}
		written, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(written); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		unknown, _ := jsonschema.UnmarshalJSON(strings.NewReader(strings.Replace(string(text), `"counts"`, `"count"`, 1)))
		if schema.Validate(unknown) == nil {
			t.Errorf("%s: a key that no reader knows passes", name)
		}
	}
}
