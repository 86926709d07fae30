package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"loadstone.dev/stone/load"
	"loadstone.dev/stone/load/result"
)

// capture runs the verb and returns its exit code and what it wrote to standard output and error.
func capture(t *testing.T, args ...string) (code int, text string) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "text"))
	if err != nil {
		t.Fatal(err)
	}
	out, errs := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = file, file
	code = runLoad(args)
	os.Stdout, os.Stderr = out, errs
	_ = file.Close()
	written, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return code, string(written)
}

func TestLoadExitCodes(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	dir := t.TempDir()
	plan := func(name, target, more string) string {
		path := filepath.Join(dir, name)
		text := `{"target":"` + target + `","arrival":{"process":"constant","rate":50},"duration_s":0.2,
			"operations":[{"name":"home","path":"/"}]` + more + `}`
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	out := filepath.Join(dir, "out")
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--help"}, 0, "Examples:"},
		{[]string{}, 2, "--plan and --out"},
		{[]string{"--plan"}, 2, "--help"},
		{[]string{"--plan", "x", "--out", out, "more"}, 2, `"more"`},
		{[]string{"--plan", filepath.Join(dir, "none"), "--out", out}, 2, "cannot read"},
		{[]string{"--plan", plan("typo", server.URL, `,"warmup":1`), "--out", out}, 2, "warmup: no such key"},
		{[]string{"--plan", plan("cpu", server.URL, `,"cpus":[1000]`), "--out", out}, 2, "cpus: cannot run on CPU 1000"},
		{[]string{"--plan", plan("gone", "http://127.0.0.1:1", ""), "--out", out}, 3, "is the application running?"},
		{[]string{"--plan", plan("good", server.URL, ""), "--out", out}, 0, ""},
		{[]string{"--plan", plan("watched", server.URL, ""), "--out", out, "--progress"}, 0, `"phase":`},
	} {
		code, text := capture(t, c.args...)
		if code != c.code || !strings.Contains(text, c.says) || c.says == "" && text != "" {
			t.Errorf("stone load %v: exit %d with %q; want %d with %q", c.args, code, text, c.code, c.says)
		}
	}
	text, err := os.ReadFile(filepath.Join(out, "summary.json"))
	var summary result.Summary
	if err != nil || json.Unmarshal(text, &summary) != nil || summary.Counts.Completed != 10 {
		t.Errorf("summary: %v %s", err, text)
	}
}

// The plan that --help shows must be one that works, once its remarks are taken out.
func TestHelpShowsAWorkingPlan(t *testing.T) {
	from := strings.Index(loadHelp, `{"target"`)
	to := strings.Index(loadHelp, "Examples:")
	var plain strings.Builder
	for line := range strings.Lines(loadHelp[from:to]) {
		code, _, _ := strings.Cut(line, "   ") // the remarks stand three spaces apart
		if strings.HasPrefix(line, "   ") {
			code, _, _ = strings.Cut(strings.TrimLeft(line, " "), "   ")
		}
		plain.WriteString(strings.TrimRight(code, "\n") + "\n")
	}
	if _, err := load.ParsePlan([]byte(plain.String())); err != nil {
		t.Errorf("%v in\n%s", err, plain.String())
	}
}

// A reader of progress that goes away does not take the run with it.
func TestProgressIntoAClosedPipe(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	dir := t.TempDir()
	plan, out := filepath.Join(dir, "plan"), filepath.Join(dir, "out")
	text := `{"target":"` + server.URL + `","arrival":{"process":"constant","rate":50},"duration_s":1.2,"operations":[{"name":"home","path":"/"}]}`
	if err := os.WriteFile(plan, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	command := stone(t, nil, "load", "--plan", plan, "--out", out, "--progress")
	command.Stderr = writer
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = writer.Close(), reader.Close()
	if err := command.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(out, "summary.json")); err != nil {
		t.Error(err)
	}
}

// Where files run out, the load goes on over the connections that could be made, and both the words and the summary say so.
func TestFewerConnectionsThanRequested(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	dir := t.TempDir()
	plan, out := filepath.Join(dir, "plan"), filepath.Join(dir, "out")
	text := `{"target":"` + server.URL + `","connections":200,"arrival":{"process":"constant","rate":200},"duration_s":0.5,"timeout_s":20,
		"operations":[{"name":"home","path":"/"}]}`
	if err := os.WriteFile(plan, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	command := stone(t, nil, "load", "--plan", plan, "--out", out)
	command.Args = append([]string{"sh", "-c", `ulimit -n 90; exec "$0" "$@"`}, command.Args...)
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	command.Path = shell
	words, err := command.CombinedOutput()
	if err != nil || !strings.Contains(string(words), "of 200 connections could be made before the start") ||
		!strings.Contains(string(words), "too many open files") {
		t.Errorf("%v: %s", err, words)
	}
	var summary result.Summary
	written, err := os.ReadFile(filepath.Join(out, "summary.json"))
	if err != nil || json.Unmarshal(written, &summary) != nil {
		t.Fatalf("%v: %s", err, written)
	}
	if c := summary.Connections; c.Requested != 200 || c.Made < 5 || c.Made >= 90 || c.Local == 0 || summary.Counts.Completed == 0 {
		t.Errorf("%+v %+v", c, summary.Counts)
	}
}
