package counters

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func ask(t *testing.T, method, url string) (int, string) {
	t.Helper()
	request, err := http.NewRequest(method, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, strings.TrimSpace(string(body))
}

func TestWhatIsAnswered(t *testing.T) {
	host, _, _ := host1(t)
	recorder := NewRecorder(host)
	defer recorder.Close()
	server := httptest.NewServer(Handler(host, recorder))
	defer server.Close()
	many := strings.Repeat(geo+",", MostContainers) + geo
	for _, example := range []struct {
		method, path string
		status       int
		body         string
	}{
		{"GET", "/healthz", 200, `{"alive":true}`},
		{"GET", "/containers/" + gone, 200, `{"` + gone + `":{"found":false}}`},
		{"GET", "/containers/" + geo[:63], 400, `"` + geo[:63] + `" is no container's id: give all of its 64 hexadecimal digits, or Nomad's allocation`},
		{"GET", "/containers/" + strings.ToUpper(gone), 400, `"` + strings.ToUpper(gone) + `" is no container's id: give all of its 64 hexadecimal digits, or Nomad's allocation`},
		{"GET", "/containers/" + geo + ",docker", 400, `"docker" is no container's id: give all of its 64 hexadecimal digits, or Nomad's allocation`},
		{"GET", "/containers/%2e%2e", 400, `".." is no container's id: give all of its 64 hexadecimal digits, or Nomad's allocation`},
		{"GET", "/containers/" + many, 400, "101 containers at once; ask about at most 100"},
		{"GET", "/containers/", 404, "404 page not found"},
		{"GET", "/peaks/" + geo, 405, "Method Not Allowed"},
		{"POST", "/peaks/" + gone, 200, `{"` + gone + `":false}`},
		{"POST", "/containers/" + geo, 405, "Method Not Allowed"},
		{"GET", "/proc/1/environ", 404, "404 page not found"},
	} {
		if status, body := ask(t, example.method, server.URL+example.path); status != example.status || body != example.body {
			t.Errorf("%s %.80s: %d %s", example.method, example.path, status, body)
		}
	}
	status, body := ask(t, "GET", server.URL+"/containers/"+geo+","+rate)
	if status != 200 || !strings.Contains(body, `"`+geo+`":{"found":true,"limits":{"cpu":0.5,`) || !strings.Contains(body, `"`+rate+`":{"found":true`) {
		t.Errorf("%d %s", status, body)
	}
}

func TestAHeaderThatIsTooLong(t *testing.T) {
	host, _, _ := host1(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- Serve(ctx, listener, host) }()
	at := "http://" + listener.Addr().String()
	if status, _ := ask(t, "GET", at+"/healthz"); status != 200 {
		t.Errorf("healthz: %d", status)
	}
	if status, _ := ask(t, "GET", at+"/containers/"+strings.Repeat("a", 2*mostHeaderBytes)); status != 431 {
		t.Errorf("a long path: %d", status)
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	if err := <-ended; err != nil {
		t.Errorf("stopped as asked: %v", err)
	}
}

// While as many questions as there are turns are being answered, one more waits.
func TestQuestionsTakeTurns(t *testing.T) {
	turns := make(chan struct{}, 1)
	turns <- struct{}{}
	answer := asked(turns, func(context.Context, []string) (map[string]bool, error) { return map[string]bool{geo: true}, nil })
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	request := httptest.NewRequestWithContext(ctx, "GET", "/", http.NoBody)
	request.SetPathValue("ids", geo)
	recorder := httptest.NewRecorder()
	answer(recorder, request)
	if recorder.Code != 503 || recorder.Body.String() != "too many questions at once; ask again\n" {
		t.Errorf("%d %s", recorder.Code, recorder.Body)
	}
	<-turns
	recorder = httptest.NewRecorder()
	request = request.WithContext(context.Background())
	answer(recorder, request)
	if recorder.Code != 200 || len(turns) != 0 {
		t.Errorf("%d %s, %d turns taken", recorder.Code, recorder.Body, len(turns))
	}
}
