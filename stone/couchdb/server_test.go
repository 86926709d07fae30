package couchdb

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

type client struct {
	t   *testing.T
	url string
}

func start(t *testing.T) client {
	server := httptest.NewServer(New("0.0"))
	t.Cleanup(server.Close)
	return client{t, server.URL}
}

// do sends a request with a body of JSON, and returns the status and the answer.
func (c client) do(method, path, body string) (int, string) {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	if !strings.HasSuffix(path, "?plain") {
		request.Header.Set("Content-Type", "application/json; charset=utf-8")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || !json.Valid(answer) {
		c.t.Errorf("%s %s: %q, %v", method, path, answer, err)
	}
	return response.StatusCode, strings.TrimSpace(string(answer))
}

func (c client) want(method, path, body string, status int, says string) {
	c.t.Helper()
	if got, answer := c.do(method, path, body); got != status || !strings.Contains(answer, says) {
		c.t.Errorf("%s %s: %d %s; want %d %s", method, path, got, answer, status, says)
	}
}

// stored inserts a document and returns its id and revision.
func (c client) stored(method, path, body string) (id, revision string) {
	c.t.Helper()
	status, answer := c.do(method, path, body)
	var made struct {
		OK      bool
		ID, Rev string
	}
	if err := json.Unmarshal([]byte(answer), &made); err != nil || status != http.StatusCreated || !made.OK {
		c.t.Fatal(status, answer, err)
	}
	return made.ID, made.Rev
}

func TestDatabasesAndDocuments(t *testing.T) {
	c := start(t)
	c.want("GET", "/", "", 200, `"couchdb":"Welcome"`)
	c.want("GET", "/", "", 200, `stand-in`)
	c.want("GET", "/_up", "", 200, `{"status":"ok"}`)
	c.want("GET", "/x", "", 404, `"reason":"Database does not exist."`)
	c.want("POST", "/x", "{}", 404, `not_found`)
	c.want("PUT", "/x", "", 201, `{"ok":true}`)
	c.want("PUT", "/x", "", 412, `file_exists`)
	c.want("PUT", "/X", "", 400, `illegal_database_name`)
	c.want("PUT", "/x/_security", "{}", 200, `{"ok":true}`)
	id, revision := c.stored("POST", "/x", `{"a": 1, "b": [1, {"c": "é"}]}`)
	if len(id) != 32 || !strings.HasPrefix(revision, "1-") || len(revision) != 34 {
		t.Error(id, revision)
	}
	c.want("GET", "/x/"+id, "", 200, fmt.Sprintf(`{"_id":%q,"_rev":%q,"a":1,"b":[1,{"c":"é"}]}`, id, revision))
	if other, same := c.stored("POST", "/x", `{"a": 1, "b": [1, {"c": "é"}]}`); other == id || same != revision {
		t.Error(other, same)
	}
	c.want("GET", "/x/none", "", 404, `{"error":"not_found","reason":"missing"}`)
	c.want("GET", "/x", "", 200, `"doc_count":2`)
	c.stored("POST", "/x", `{"_id": "own"}`)
	c.want("GET", "/x/own", "", 200, `{"_id":"own","_rev":"1-`)
	c.want("DELETE", "/x", "", 200, `{"ok":true}`)
	c.want("DELETE", "/x", "", 404, `not_found`)
}

func TestRevisionsAndConflicts(t *testing.T) {
	c := start(t)
	c.want("PUT", "/x", "", 201, "")
	_, first := c.stored("PUT", "/x/d", `{"a":1}`)
	c.want("PUT", "/x/d", `{"a":2}`, 409, `{"error":"conflict","reason":"Document update conflict."}`)
	c.want("POST", "/x", `{"_id":"d","a":2}`, 409, `conflict`)
	c.want("PUT", "/x/d", `{"_rev":"1-00000000000000000000000000000000","a":2}`, 409, `conflict`)
	c.want("PUT", "/x/new", fmt.Sprintf(`{"_rev":%q}`, first), 409, `conflict`)
	_, second := c.stored("PUT", "/x/d", fmt.Sprintf(`{"_rev":%q,"a":2}`, first))
	c.want("PUT", "/x/d?rev="+first, `{"a":3}`, 409, `conflict`)
	_, third := c.stored("PUT", "/x/d?rev="+second, `{"a":3}`)
	if !strings.HasPrefix(second, "2-") || !strings.HasPrefix(third, "3-") {
		t.Error(second, third)
	}
	c.want("GET", "/x/d", "", 200, fmt.Sprintf(`{"_id":"d","_rev":%q,"a":3}`, third))
	c.want("GET", "/x", "", 200, `"update_seq":"3"`)
}

func TestListsAndChanges(t *testing.T) {
	c := start(t)
	c.want("PUT", "/x", "", 201, "")
	c.want("POST", "/x/_bulk_docs", `{"docs":[{"_id":"b"},{"_id":"a","v":1},{"_id":"c"},{"_id":"a"}]}`, 201, `"error":"conflict"`)
	c.want("GET", "/x/_all_docs", "", 200, `"total_rows":3`)
	c.want("GET", "/x/_all_docs?skip=1&limit=1", "", 200, `"rows":[{"id":"b","key":"b","value":{"rev":"1-`)
	c.want("GET", "/x/_all_docs?skip=9", "", 200, `"rows":[]`)
	c.want("GET", "/x/_all_docs?limit=1&include_docs=true", "", 200, `"v":1}}`)
	c.want("GET", "/x/_all_docs?limit=-1", "", 400, `query_parse_error`)
	c.want("POST", "/x/_all_docs?include_docs=true", `{"keys":["a","none"]}`, 200, `"v":1}},{"key":"none","error":"not_found"}]`)
	c.want("GET", "/x/_changes?since=2", "", 200, `{"last_seq":"3","pending":0,"results":[{"seq":"3","id":"c","changes":[{"rev":"1-`)
	c.want("GET", "/x/_changes?limit=1", "", 200, `{"last_seq":"1","pending":2,"results":[{"seq":"1","id":"b"`)
}

// What is wrong has an error of its own and stores nothing.
func TestWhatIsWrongStoresNothing(t *testing.T) {
	c := start(t)
	c.want("PUT", "/x", "", 201, "")
	large := `{"text":"` + strings.Repeat("x", 10<<20) + `"}`
	for body, says := range map[string]string{
		`{"a":`: "invalid UTF-8 JSON", ``: "invalid UTF-8 JSON", `no`: "invalid UTF-8 JSON", `{} {}`: "invalid UTF-8 JSON", "{\"a\":\"\xff\"}": "invalid UTF-8 JSON",
		`[]`: "Document must be a JSON object", `1`: "Document must be a JSON object", `null`: "Document must be a JSON object",
		`{"_other":1}`: "Bad special document member: _other", `{"_id":1}`: "_id must be a text",
	} {
		c.want("POST", "/x", body, 400, says)
		c.want("PUT", "/x/d", body, 400, says)
	}
	c.want("POST", "/x", large, 413, `document_too_large`)
	c.want("PUT", "/x/d", large, 413, `document_too_large`)
	c.want("POST", "/x?plain", `{}`, 415, `Content-Type must be application/json`)
	c.want("POST", "/x/_bulk_docs", `[]`, 400, "")
	for _, wrong := range []string{`{"_other":1}`, `[]`, `{"_id":1}`, `{"_id":"_other"}`} {
		c.want("POST", "/x/_bulk_docs", `{"docs":[{"_id":"right"},`+wrong+`]}`, 400, "")
	}
	c.want("POST", "/x", `{"_id":"_other"}`, 400, `"illegal_docid"`)
	c.want("PUT", "/x/_other", `{}`, 400, `"illegal_docid"`)
	c.want("GET", "/x", "", 200, `"doc_count":0`)
}

// A client that leaves in the middle of its document has stored nothing.
func TestACutBodyStoresNothing(t *testing.T) {
	c := start(t)
	c.want("PUT", "/x", "", 201, "")
	reader, writer := io.Pipe()
	request, err := http.NewRequestWithContext(t.Context(), "POST", c.url+"/x", reader)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	go func() {
		_, _ = writer.Write([]byte(`{"a":1`))
		_ = writer.CloseWithError(io.ErrUnexpectedEOF)
	}()
	if response, err := http.DefaultClient.Do(request); err == nil {
		_ = response.Body.Close()
		t.Error(response.Status)
	}
	c.want("GET", "/x", "", 200, `"doc_count":0`)
}

func TestManyClients(t *testing.T) {
	c := start(t)
	c.want("PUT", "/x", "", 201, "")
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				c.want("POST", "/x", `{}`, 201, "")
			}
		})
	}
	group.Wait()
	c.want("GET", "/x", "", 200, `"doc_count":400`)
}
