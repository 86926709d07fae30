package request

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"

	"loadstone.dev/stone/load/transport"
)

const hotels = `{"operations":[
  {"name":"hotels","weight":60,"path":"/hotels?in={inDate}&out={outDate}&lat={lat}&again={lat}&q={what}","headers":{"X":"{user}"},
   "fields":{"lat":{"kind":"decimal","min":37.783,"max":38.264,"step":0.001},
     "user":{"kind":"integer","min":-2,"max":500},
     "what":{"kind":"choice","values":["a b&c","dis"],"weights":[1,3]},
     "outDate":{"kind":"date","after":"inDate","min_days":1,"max_days":3,"to":"2015-04-24"},
     "inDate":{"kind":"date","from":"2015-04-09","to":"2015-04-23"}}},
  {"name":"post","weight":40,"method":"POST","path":"/p","body":"{\"user\":\"{user}\"}","headers":{"Content-Type":"application/json"},
   "fields":{"user":{"kind":"integer","min":0,"max":100000}}},
  {"name":"never","weight":0,"path":"/never"}]}`

// planOf reads the part of a plan's text that requests are made of.
func planOf(text string) (operations []Operation, all []*Compiled, err error) {
	var plan struct {
		Operations []Operation
	}
	if err := json.Unmarshal([]byte(text), &plan); err != nil {
		return nil, nil, err
	}
	all, err = Compile(plan.Operations, Terms{Protocol: transport.HTTP1, Host: "127.0.0.1:5000"})
	return plan.Operations, all, err
}

// mixOf is a mix of a plan's operations that are right.
func mixOf(t testing.TB, text string) *Mix {
	t.Helper()
	_, all, err := planOf(text)
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return NewMix(all, 9)
}

// firstOf is request n and its kind.
func firstOf(m *Mix, n uint64) ([]byte, int32) {
	text, o := m.Render(nil, n)
	return text, o.First
}

func TestRequestsAreWhatThePlanSays(t *testing.T) {
	m := mixOf(t, hotels)
	counts, lats, users := map[string]int{}, map[string]int{}, map[string]int{}
	const n = 20000
	for i := range uint64(n) {
		text, op := firstOf(m, i)
		if len(text) > m.Longest() {
			t.Fatalf("%d bytes, at most %d expected", len(text), m.Longest())
		}
		rest := bufio.NewReader(bytes.NewReader(text))
		request, err := http.ReadRequest(rest)
		if err != nil {
			t.Fatalf("%v in %q", err, text)
		}
		body, _ := io.ReadAll(request.Body)
		if rest.Buffered() > 0 || request.Host != "127.0.0.1:5000" {
			t.Fatalf("not one request for the host: %q", text)
		}
		name := m.operations[op].name
		counts[name]++
		if name == "post" {
			var user int
			if _, err := fmt.Sscanf(string(body), `{"user":"%d"}`, &user); err != nil || user < 0 || user > 100000 {
				t.Fatalf("body %q", body)
			}
			continue
		}
		query := request.URL.Query()
		in, errIn := time.Parse(time.DateOnly, query.Get("in"))
		out, errOut := time.Parse(time.DateOnly, query.Get("out"))
		days := int(out.Sub(in).Hours() / 24)
		if errIn != nil || errOut != nil || days < 1 || days > 3 || query.Get("out") > "2015-04-24" || query.Get("in") < "2015-04-09" {
			t.Fatalf("dates %s", request.URL)
		}
		lat, err := strconv.ParseFloat(query.Get("lat"), 64)
		if err != nil || lat < 37.783 || lat > 38.264 || len(query.Get("lat")) != 6 || query.Get("again") != query.Get("lat") {
			t.Fatalf("lat %s", request.URL)
		}
		lats[query.Get("lat")]++
		users[request.Header.Get("X")]++
		counts[query.Get("q")]++
	}
	within := func(what string, share float64) {
		t.Helper()
		if have := float64(counts[what]) / n; have < share-0.015 || have > share+0.015 {
			t.Errorf("%s: share %.3f, want %.3f", what, have, share)
		}
	}
	within("hotels", 0.6)
	within("post", 0.4)
	within("dis", 0.45)
	within("a b&c", 0.15)
	if len(lats) != 482 || lats["37.783"] == 0 || lats["38.264"] == 0 || len(users) != 503 || counts["never"] != 0 {
		t.Errorf("%d latitudes, want 482; %d users, want 503; never: %d", len(lats), len(users), counts["never"])
	}
}

func TestSameSeedSameRequests(t *testing.T) {
	a, b := mixOf(t, hotels), mixOf(t, hotels)
	for i := range uint64(100) {
		one, op := firstOf(a, i)
		other, _ := firstOf(b, 99-i) // in another order, as another thread would
		again, _ := firstOf(b, i)
		if !bytes.Equal(one, again) || bytes.Equal(one, other) && i != 99-i {
			t.Fatalf("request %d: %q and %q", i, one, again)
		}
		if a.Operation(i).First != op {
			t.Fatalf("request %d changes its operation", i)
		}
	}
}

func TestPercentEncoding(t *testing.T) {
	have := string(appendEncoded(nil, []byte("a-Z_0.9~ /?&=%+ü\x00")))
	if back, err := url.QueryUnescape(have); err != nil || back != "a-Z_0.9~ /?&=%+ü\x00" || have[:8] != "a-Z_0.9~" {
		t.Errorf("%q", have)
	}
}

func TestRenderingDoesNotAllocate(t *testing.T) {
	m, buffer, n := mixOf(t, hotels), make([]byte, 0, 4096), uint64(0)
	if allocations := testing.AllocsPerRun(1000, func() { m.Render(buffer, n); n++ }); allocations > 0 {
		t.Errorf("%.2f allocations a request", allocations)
	}
}
