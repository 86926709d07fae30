package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loadstone.dev/stone/platform/seeding"
	"loadstone.dev/stone/platform/servertest"
)

// A run as a user would make it: what is printed and which code comes back.
func TestSeedCommand(t *testing.T) {
	address := servertest.Postgres(t)
	plan := map[string]map[string]string{"stores": {}, "caches": {"memcached-rate": servertest.Memcached(t)}}
	for _, service := range strings.Fields("geo profile rate recommendation reservation user review attractions") {
		plan["stores"]["documents-"+service] = address
	}
	good := writePlan(t, plan)
	delete(plan["stores"], "documents-geo")
	lacking := writePlan(t, plan)

	for _, example := range []struct {
		arguments string
		code      int
		says      string // on stderr
	}{
		{"hotel --plan " + good + " --verify", 4, "seed them with --reset"},
		{"hotel --plan " + good, 0, ""},
		{"hotel --plan " + good + " --reset", 0, ""},
		{"hotel --plan " + good + " --verify", 0, ""},
		{"hotel --plan " + good + " --count", 0, ""},
		{"hotel --plan " + lacking, 2, "no address for documents-geo"},
		{"hotel --plan absent.json", 2, "absent.json"},
		{"hotel --plan " + good + " --reset --count", 2, "exclude each other"},
		{"hotel", 2, "--plan FILE"},
		{"shop --plan " + good, 2, `no application "shop"`},
	} {
		code, printed, complaint := runVerb(t, "seed", strings.Fields(example.arguments)...)
		if code != example.code || !strings.Contains(complaint, example.says) {
			t.Errorf("%s: code %d, %q; want %d, %q", example.arguments, code, complaint, example.code, example.says)
		}
		if code == 0 {
			var result seeding.Result
			if err := json.Unmarshal([]byte(printed), &result); err != nil || !result.OK || len(result.Stores) != 12 {
				t.Errorf("%s printed %s (%v)", example.arguments, printed, err)
			}
		}
	}
}

func writePlan(t *testing.T, plan any) string {
	t.Helper()
	text, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "seed.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// runVerb runs a verb and returns its exit code and what it wrote.
func runVerb(t *testing.T, name string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	out, complaints := replaceFile(t, &os.Stdout), replaceFile(t, &os.Stderr)
	code = verbs[name].run(args)
	return code, out(), complaints()
}

// replaceFile sends what is written to a standard file elsewhere, until the text is asked for.
func replaceFile(t *testing.T, standard **os.File) (text func() string) {
	t.Helper()
	original := *standard
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	*standard = file
	return func() string {
		*standard = original
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
}
