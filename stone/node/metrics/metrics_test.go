package metrics

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loadstone.dev/stone/node/counters"
)

func get(t *testing.T, url, authorization string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), "GET", url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", authorization)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// serve shows this machine.
func serve(t *testing.T, options Options) string {
	t.Helper()
	host, err := counters.Open(counters.Roots{Proc: "/proc", Sys: "/sys"})
	if err != nil {
		t.Skip(err)
	}
	live := host.Live()
	server := httptest.NewServer(Handler(live, options))
	t.Cleanup(func() { server.Close(); live.Close() })
	return server.URL
}

func TestMetricsOfThisMachine(t *testing.T) {
	at := serve(t, Options{})
	status, body := get(t, at+"/metrics", "")
	for _, line := range []string{
		"# HELP cpu_user_seconds_total Time in programs, guests of virtual machines included (/proc/stat).",
		"# TYPE cpu_user_seconds_total counter", "# TYPE load1 gauge", `load1{subject="node"} `,
	} {
		if !strings.Contains(body, line) {
			t.Errorf("%d, lacks %s", status, line)
		}
	}
	for _, path := range []string{"/containers/x", "/peaks/x", "/recordings", "/proc/1/environ"} {
		if status, _ := get(t, at+path, ""); status != 404 {
			t.Errorf("%s: %d", path, status)
		}
	}
}

func TestMetricsNeedTheToken(t *testing.T) {
	at := serve(t, Options{Token: "abc"})
	for authorization, want := range map[string]int{"": 401, "Bearer": 401, "Bearer ab": 401, "abc": 401, "Bearer abcd": 401, "Bearer abc": 200} {
		if status, _ := get(t, at+"/metrics", authorization); status != want {
			t.Errorf("%q: %d, want %d", authorization, status, want)
		}
	}
	if status, body := get(t, at+"/healthz", ""); status != 200 || body != "{\"alive\":true}\n" {
		t.Errorf("%d %s", status, body)
	}
}

func TestReplicasAreReadFromAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "replicas.json")
	at := serve(t, Options{Replicas: file})
	for text, want := range map[string]string{
		"":                             "no such file",
		"[]":                           "cannot unmarshal array",
		`{"a": {"group": "docker/x"}}`: `replica a: "docker/x" is no group that may be read`,
	} {
		if text != "" {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if status, body := get(t, at+"/metrics", ""); text != "" && (status != 500 || !strings.Contains(body, want)) {
			t.Errorf("%s: %d %s", text, status, body)
		}
	}
	if err := os.WriteFile(file, []byte(`{"a": {"group": "loadstone/no-such/a"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, body := get(t, at+"/metrics", ""); status != 200 || strings.Contains(body, "replica:") {
		t.Errorf("%d %s", status, body)
	}
}
