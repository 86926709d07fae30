package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	social "loadstone.dev/stone/apps/social/data"
	"loadstone.dev/stone/platform/documents"
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
		{"hotel --plan " + good + " --count", 0, `{"what":"collections","done":0,"of":13}`},
		{"hotel --plan " + lacking, 2, "no address for documents-geo"},
		{"hotel --plan absent.json", 2, "absent.json"},
		{"hotel --plan " + good + " --reset --count", 2, "exclude each other"},
		{"hotel", 2, "--plan FILE"},
		{"market --plan " + good, 2, `no application "market"`},
		{"shop --plan " + good, 2, "is no store of this application"},
	} {
		code, printed, complaint := runVerb(t, "seed", strings.Fields(example.arguments)...)
		if code != example.code || !strings.Contains(complaint, example.says) {
			t.Errorf("%s: code %d, %q; want %d, %q", example.arguments, code, complaint, example.code, example.says)
		}
		if code == 0 {
			var result seeding.Result
			if err := json.Unmarshal([]byte(printed), &result); err != nil || !result.OK || len(result.Stores) != 13 {
				t.Errorf("%s printed %s (%v)", example.arguments, printed, err)
			}
		}
	}
}

// Of an application with more than documents: what it describes, and stores that do not agree with each other.
func TestSeedCommandChecksAndDescribes(t *testing.T) {
	address := servertest.Postgres(t)
	plan := map[string]any{"dataset": map[string]int{"users": 40, "edges": 100, "posts_per_user": 3},
		"redis": map[string]string{"redis-home-timeline": servertest.Redis(t)}}
	stores := map[string]string{}
	for _, service := range strings.Fields("user social-graph user-timeline post-storage url-shorten media") {
		stores["documents-"+service] = address
	}
	plan["stores"] = stores
	file := writePlan(t, plan)
	code, printed, complaint := runVerb(t, "seed", "social", "--plan", file, "--describe")
	if code != 0 || complaint != "" || !strings.Contains(printed, `"users":40`) || !strings.Contains(printed, `"edges":100`) {
		t.Errorf("--describe: code %d, %s%s", code, printed, complaint)
	}
	for _, arguments := range []string{"", "--check"} {
		if code, printed, complaint := runVerb(t, "seed", strings.Fields("social --plan "+file+" "+arguments)...); code != 0 {
			t.Errorf("%q: code %d, %s%s", arguments, code, printed, complaint)
		}
	}
	store, err := documents.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	if err := social.Posts.In(store).Clear(t.Context()); err != nil {
		t.Fatal(err)
	}
	_ = store.Close(t.Context())
	code, printed, complaint = runVerb(t, "seed", "social", "--plan", file, "--check")
	var result seeding.Result
	if err := json.Unmarshal([]byte(printed), &result); err != nil || code != 4 || result.OK || len(result.Rows) != 5 ||
		!strings.Contains(complaint, "stone seed: the stores do not agree with each other") {
		t.Errorf("--check without posts: code %d, %s%s (%v)", code, printed, complaint, err)
	}
	plan["dataset"] = map[string]int{"users": 40}
	file = writePlan(t, plan)
	if code, _, complaint := runVerb(t, "seed", "social", "--plan", file, "--describe"); code != 2 || !strings.Contains(complaint, file+": dataset: ") {
		t.Errorf("a dataset without edges: code %d, %s", code, complaint)
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

// replaceFile redirects what is written to a standard file, until the returned function is called for the text.
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
