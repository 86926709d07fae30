package docstore_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"loadstone.dev/stone/apps/docstore"
	"loadstone.dev/stone/apps/docstore/seed"
	"loadstone.dev/stone/couchdb"
	"loadstone.dev/stone/platform/apptest"
	"loadstone.dev/stone/platform/seeding"
	"loadstone.dev/stone/platform/tracing/tracetest"
	"loadstone.dev/stone/zmtp"
)

// running is the docstore in this process, over the stand-in for CouchDB.
type running struct {
	*apptest.App
	t     *testing.T
	store *httptest.Server
}

const documents = 50

// start changes the store's answers by `around`, if given.
func start(t *testing.T, collector, socket string, around func(http.Handler) http.Handler) running {
	t.Helper()
	handler := couchdb.New("0.0")
	if around != nil {
		handler = around(handler)
	}
	store := httptest.NewServer(handler)
	t.Cleanup(store.Close)
	address := strings.TrimPrefix(store.URL, "http://")
	set := map[string]map[string]string{"queue": {"STONE_TASK_SOCKET": socket, "STONE_NEED_COUCHDB": address}}
	app := apptest.StartSet(t, set, collector, "docstore", docstore.Services, "", func(testing.TB) string { return "http://" + address })
	r := running{app, t, store}
	if ready, says := app.Replica("queue").Ready(); ready {
		t.Error("ready without a database", says)
	}
	r.seed(seeding.Fill)
	app.WaitReady()
	return r
}

func (r running) seed(mode seeding.Mode) seeding.Result {
	r.t.Helper()
	plan := seeding.Plan{
		CouchDB: map[string]string{"couchdb": strings.TrimPrefix(r.store.URL, "http://")}, Dataset: fmt.Appendf(nil, `{"documents": %d}`, documents),
	}
	made, err := seed.New(plan)
	if err != nil {
		r.t.Fatal(err)
	}
	result, err := seeding.Run(r.t.Context(), plan, made, mode)
	if err != nil {
		r.t.Fatal(err)
	}
	return result
}

func (r running) client() *zmtp.Client {
	r.t.Helper()
	conn, err := net.Dial("tcp", r.Replica("queue").Listen)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = conn.Close() })
	client, err := zmtp.NewClient(conn, 16<<20)
	if err != nil {
		r.t.Fatal(err)
	}
	return client
}

// answer is what came back for one message.
type answer struct {
	Document struct {
		ID string `json:"_id"`
	}
	Error, Reason string
}

func ask(t *testing.T, client *zmtp.Client, frames ...string) (found answer) {
	t.Helper()
	var message zmtp.Message
	for _, frame := range frames {
		message = append(message, []byte(frame))
	}
	reply, err := client.Call(message)
	if err != nil || len(reply) != 1 {
		t.Error(reply, err)
		return found
	}
	if err := json.Unmarshal(reply[0], &found); err != nil {
		t.Errorf("%q: %v", reply[0], err)
	}
	return found
}

func get(n int) string { return fmt.Sprintf(`{"op":"get","id":%q}`, seed.ID(n)) }

func TestDocumentsAreRead(t *testing.T) {
	for _, socket := range []string{"rep", "router"} {
		r := start(t, "", socket, nil)
		var group sync.WaitGroup
		for range 5 {
			client := r.client()
			group.Go(func() {
				for n := 1; n <= documents; n++ {
					if got := ask(t, client, get(n)); got.Document.ID != seed.ID(n) || got.Error != "" {
						t.Error(got)
					}
				}
			})
		}
		group.Wait()
	}
}

// What is wrong has an error of its own, is counted, and leaves the socket as it was.
func TestWrongMessages(t *testing.T) {
	r := start(t, "", "rep", nil)
	client := r.client()
	for message, want := range map[string]string{
		`{"op":"get","id":"none"}`: "not_found: missing", `no JSON`: "bad_request: not JSON", ``: "bad_request: not JSON", `[]`: "bad_request: not JSON",
		`{"op":"put","id":"document-1"}`: `bad_request: no operation "put"`, `{"op":"get"}`: "bad_request: no id", `{"op":"get","id":"_all_docs"}`: "bad_request: no id",
		`{"op":"get","id":"../x"}`: "not_found: missing", `{"op":"get","id":"a/b?c"}`: "not_found: missing",
		`{"op":"get","id":"` + strings.Repeat("x", 10<<20) + `"}`: "message_too_large: at most",
	} {
		if got := ask(t, client, message); !strings.HasPrefix(got.Error+": "+got.Reason, want) {
			t.Errorf("%.60s: %v", message, got)
		}
	}
	if got := ask(t, client, get(1), get(2)); got.Error != "bad_request" {
		t.Error(got)
	}
	if got := ask(t, client, get(1)); got.Document.ID != seed.ID(1) {
		t.Error(got)
	}
	queue := r.Replica("queue")
	if bad, large := queue.Counter("bad requests"), queue.Counter("oversized messages"); bad != 8 || large != 1 {
		t.Error(bad, large)
	}
	if result := r.seed(seeding.Verify); !result.OK {
		t.Error(result)
	}
}

func TestAStoreThatFails(t *testing.T) {
	var broken sync.Mutex
	fail := false
	r := start(t, "", "rep", func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			broken.Lock()
			defer broken.Unlock()
			if fail {
				http.Error(w, "no disk", http.StatusInternalServerError)
				return
			}
			next.ServeHTTP(w, req)
		})
	})
	client := r.client()
	broken.Lock()
	fail = true
	broken.Unlock()
	if got := ask(t, client, get(1)); got.Error != "store_unavailable" || !strings.Contains(got.Reason, "no disk") {
		t.Error(got)
	}
	r.store.Close()
	if got := ask(t, client, get(1)); got.Error != "store_unavailable" {
		t.Error(got)
	}
	if got := r.Replica("queue").Counter("failed reads"); got != 2 {
		t.Error(got)
	}
}

// Each request is a trace of its own, or a part of that whose context is in the message.
func TestTraces(t *testing.T) {
	collector := tracetest.New(t)
	var mutex sync.Mutex
	var seen []string
	r := start(t, collector.Address, "rep", func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if req.Header.Get("Traceparent") != "" {
				mutex.Lock()
				seen = append(seen, req.Header.Get("Traceparent"))
				mutex.Unlock()
			}
			next.ServeHTTP(w, req)
		})
	})
	client := r.client()
	ask(t, client, get(7))
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	ask(t, client, fmt.Sprintf(`{"op":"get","id":"none","traceparent":"00-%s-%s-01"}`, trace, parent))
	ask(t, client, fmt.Sprintf(`{"op":"get","id":"document-1","traceparent":"00-%s-%s-00"}`, trace, parent))
	spans := collector.Wait(t, "four spans", func(spans []tracetest.Span) bool { return len(spans) == 4 })
	by := map[string][]tracetest.Span{}
	for _, one := range spans {
		by[one.Trace] = append(by[one.Trace], one)
	}
	if len(by) != 2 || len(by[trace]) != 2 {
		t.Fatal(spans)
	}
	for id, pair := range by {
		server, call := pair[0], pair[1]
		if server.String() != "queue serves get" {
			server, call = call, server
		}
		root := ""
		if id == trace {
			root = parent
		}
		if server.String() != "queue serves get" || call.String() != "queue calls GET /documents/{id} > couchdb" {
			t.Error(server, call)
		}
		if server.Parent != root || call.Parent != server.ID || call.Start < server.Start || call.End > server.End {
			t.Error(server, call)
		}
		mutex.Lock()
		if !strings.Contains(strings.Join(seen, " "), id+"-"+call.ID) {
			t.Error("the store was not given the context of", call, seen)
		}
		mutex.Unlock()
	}
}

func TestSeed(t *testing.T) {
	r := start(t, "", "rep", nil)
	if result := r.seed(seeding.Verify); !result.OK || result.Stores[0].Have != documents || result.Stores[0].Store != "couchdb" {
		t.Error(result)
	}
	response, err := http.Post(r.store.URL+"/documents", "application/json", bytes.NewReader([]byte(`{}`)))
	if err != nil || response.StatusCode != http.StatusCreated {
		t.Fatal(response, err)
	}
	_ = response.Body.Close()
	if result := r.seed(seeding.Count); result.Stores[0].Have != documents+1 {
		t.Error(result)
	}
	if result := r.seed(seeding.Fill); result.OK {
		t.Error("one more is not the seed")
	}
	if result := r.seed(seeding.Reset); !result.OK {
		t.Error(result)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, r.store.URL+"/documents", nil)
	if err != nil {
		t.Fatal(err)
	}
	if response, err = http.DefaultClient.Do(request); err != nil || response.StatusCode != http.StatusOK {
		t.Fatal(response, err)
	}
	_ = response.Body.Close()
	if result := r.seed(seeding.Count); !result.OK || result.Stores[0].Have != 0 {
		t.Error("a store that lost its database holds nothing", result)
	}
	for _, wrong := range []string{`{"documents": 0}`, `{"documents": 10000001}`, `{"documents": "many"}`, `{"users": 1}`} {
		if _, err := seed.New(seeding.Plan{Dataset: json.RawMessage(wrong)}); err == nil {
			t.Error(wrong)
		}
	}
	if _, err := seeding.Run(t.Context(), seeding.Plan{}, must(seed.New(seeding.Plan{})), seeding.Fill); err == nil {
		t.Error("no address")
	}
}

func must(app seeding.App, err error) seeding.App {
	if err != nil {
		panic(err)
	}
	return app
}
