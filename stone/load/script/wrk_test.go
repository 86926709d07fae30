package script

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestFormat(t *testing.T) {
	head := func(first string, more ...string) string {
		return first + " HTTP/1.1\r\nHost: localhost:8080\r\n" + strings.Join(more, "")
	}
	for call, want := range map[string]string{
		`wrk.format()`:                                 head("GET /", "\r\n"),
		`wrk.format(nil, nil, nil, nil)`:               head("GET /", "\r\n"),
		`wrk.format("PUT", "/x?a=1")`:                  head("PUT /x?a=1", "\r\n"),
		`wrk.format("POST", "/x", {}, "ab")`:           head("POST /x", "Content-Length: 2\r\n\r\nab"),
		`wrk.format(nil, nil, {}, "")`:                 head("GET /", "Content-Length: 0\r\n\r\n"),
		`wrk.format(nil, "/" .. 1.5, nil, 12)`:         head("GET /1.5", "Content-Length: 2\r\n\r\n12"),
		`wrk.format(nil, "/", {A = 1, ["B-c"] = "x"})`: head("GET /", "A: 1\r\nB-c: x\r\n\r\n"),
		`wrk.format(nil, "/", {A = true}, false)`:      head("GET /", "A: true\r\n\r\n"),
		// The body decides the length, however the script spells it, and there is one Host.
		`wrk.format(nil, "/", {["content-length"] = 99, ["Content-Length"] = 98}, "abc")`: head("GET /", "Content-Length: 3\r\n\r\nabc"),
		`wrk.format(nil, "/", {["Content-Length"] = 98})`:                                 head("GET /", "\r\n"),
		`wrk.format(nil, "/", {Host = "a:1"})`:                                            "GET / HTTP/1.1\r\nHost: a:1\r\n\r\n",
		`wrk.format(nil, "/", {host = "a:1"})`:                                            "GET / HTTP/1.1\r\nHost: a:1\r\n\r\n",
	} {
		s := from(t, Options{}, "function request() return "+call+" end")
		if got, _ := next(t, s); got != want {
			t.Errorf("%s:\n%q, want\n%q", call, got, want)
		}
	}
}

// wrk.format takes what it is not given from the table wrk as it is at that time.
func TestFormatTakesItsDefaultsFromWrk(t *testing.T) {
	s := from(t, Options{URLPath: "/from/url"}, `
wrk.method, wrk.body = "POST", "b"
wrk.headers["X"] = "y"
local n = 0
function request()
  n = n + 1
  if n == 2 then wrk.path = "/second" wrk.headers["X"] = nil wrk.body = nil end
  return wrk.format()
end`)
	for _, want := range []string{
		"POST /from/url HTTP/1.1\r\nHost: localhost:8080\r\nX: y\r\nContent-Length: 1\r\n\r\nb",
		"POST /second HTTP/1.1\r\nHost: localhost:8080\r\n\r\n",
	} {
		if got, _ := next(t, s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTheTableWrk(t *testing.T) {
	o := Options{Scheme: "https", Host: "::1", Port: "8443", URLPath: "/p", Addresses: []string{"[::1]:8443", "[::2]:8443"}, Args: []string{"a", "b c"}}
	got := printed(t, o, `
function init(args)
  print(wrk.scheme, wrk.host, wrk.port, wrk.method, wrk.path, wrk.body, wrk.headers.Host, #wrk.addrs, tostring(wrk.addrs[2]))
  print(#args, args[0], args[1], args[2], tostring(wrk.thread.addr))
  print(math.abs(wrk.time_us() / 1e6 - os.time()) < 5)
end`)
	want := "https\t::1\t8443\tGET\t/p\tnil\t[::1]:8443\t2\t[::2]:8443\n" +
		"2\thttps://[::1]:8443/p\ta\tb c\t[::1]:8443\ntrue\n"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := printed(t, Options{Scheme: "http", Host: "h"}, `function init() print(wrk.port, wrk.headers.Host) end`); got != "nil\th\n" {
		t.Errorf("without a port: %q", got)
	}
}

// A script without request() is not called while it runs: its request is what wrk.* holds after init().
func TestStaticRequests(t *testing.T) {
	s := opened(t, Options{Path: "testdata/static.lua"})
	want := "POST / HTTP/1.1\r\nHost: localhost:8080\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 16\r\n\r\nfoo=bar&baz=quux"
	for range 3 {
		if got, operation := next(t, s); got != want || operation != "POST /" {
			t.Errorf("%q, %q, want %q", got, operation, want)
		}
	}
	s = from(t, Options{}, `
function init(args) wrk.path = "/after/init" end
function response() wrk.path = "/never" end`)
	for range 2 {
		if got, _ := next(t, s); !strings.HasPrefix(got, "GET /after/init ") {
			t.Errorf("%q", got)
		}
		if err := s.Response(200, nil, nil); err != nil {
			t.Error(err)
		}
	}
}

// Scripts for old versions of wrk call wrk.init from init, others replace it or return wrk.request().
func TestScriptsMayUseWrksOwnHooks(t *testing.T) {
	for source, want := range map[string]string{
		`init = function(args) wrk.init(args) wrk.path = "/old" end`:                                       "GET /old ",
		`init = function(args) wrk.init(args) r = wrk.format("PUT") end request = function() return r end`: "PUT / ",
		`function request() return wrk.request() end wrk.method = "HEAD"`:                                  "HEAD / ",
		`function wrk.init(args) wrk.request = function() return wrk.format(nil, "/own") end end`:          "GET /own ",
	} {
		if got, _ := next(t, from(t, Options{}, source)); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q", source, got)
		}
	}
}

func TestDelayIsInMilliseconds(t *testing.T) {
	s := from(t, Options{}, `
local n = 0
function delay()
  n = n + 1
  return ({250, 0, 0.5, nil, "3"})[n]
end
function request() return wrk.format() .. wrk.format() end`)
	// Two requests come of each call, and the delay is before the first of them.
	for i, want := range []time.Duration{250 * time.Millisecond, 0, 0, 0, 500 * time.Microsecond, 0, 0, 0, 3 * time.Millisecond} {
		_, _, delay, err := s.Next(nil)
		if err != nil || delay != want {
			t.Errorf("request %d: %v, %v, want %v", i, delay, err, want)
		}
	}
}

func TestResponseSeesTheAnswer(t *testing.T) {
	var out bytes.Buffer
	s := from(t, Options{Output: &out}, `
local token
function request() return wrk.format(nil, token and "/data" or "/login") end
function response(status, headers, body)
  print(status, headers["X-Token"], headers["Set-Cookie"], headers["x-token"], headers.Empty, #body, body)
  if status == 200 then token = headers["X-Token"] wrk.headers["Authorization"] = token end
end`)
	if !s.HasResponse() || s.HasDone() {
		t.Error("it has a response() and no done()")
	}
	if _, operation := next(t, s); operation != "GET /login" {
		t.Error(operation)
	}
	head := "HTTP/1.1 200 OK\r\nX-Token:  t:1 \r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nEmpty:\r\n"
	if err := s.Response(200, []byte(head), []byte("\x00\xff!")); err != nil {
		t.Error(err)
	}
	if want := "200\tt:1\tb=2\tnil\t\t3\t\x00\xff!\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	if made, _ := next(t, s); !strings.Contains(made, "GET /data ") || !strings.Contains(made, "Authorization: t:1\r\n") {
		t.Errorf("%q", made)
	}
	without := from(t, Options{}, "")
	if err := without.Response(200, []byte(head), nil); err != nil || without.HasResponse() {
		t.Errorf("a script without response(): %v", err)
	}
}

// Requests are built in the caller's buffer.
func TestNextAppends(t *testing.T) {
	s := from(t, Options{}, "")
	buffer := append(make([]byte, 0, 100), "before "...)
	made, _, _, err := s.Next(buffer)
	if err != nil || string(made) != "before GET / HTTP/1.1\r\nHost: localhost:8080\r\n\r\n" || &made[0] != &buffer[0] {
		t.Errorf("%q, %v", made, err)
	}
}

func TestStaticRequestsAllocateNothing(t *testing.T) {
	s := opened(t, Options{Path: "testdata/static.lua"})
	var to []byte
	if n := testing.AllocsPerRun(100, func() { to, _, _, _ = s.Next(to[:0]) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

func TestOperationNames(t *testing.T) {
	var names operations
	for target, want := range map[string]string{
		"/a/b?x=1":           "GET /a/b",
		"/a#b":               "GET /a",
		"/":                  "GET /",
		"?x":                 "GET /",
		"http://h:1/a/b?u=v": "GET /a/b",
		"http://h:1":         "GET /",
		"http://h?x":         "GET /",
		"/go?u=http://h/x":   "GET /go",
		"/go/http://h/x":     "GET /go/http://h/x",
		"*":                  "GET *",
	} {
		if got := names.name("GET", target); got != want {
			t.Errorf("%s: %q, want %q", target, got, want)
		}
	}
}

// Names are distinguished up to a number of them, and a look-up allocates nothing.
func TestOperationNamesAreBounded(t *testing.T) {
	var names operations
	seen := map[string]bool{}
	for i := range 3 * maxOperations {
		seen[names.name("GET", fmt.Sprintf("/item/%d", i))] = true
	}
	if len(seen) != maxOperations+1 || !seen["GET (other paths)"] || len(names.known) != maxOperations+1 {
		t.Errorf("%d names, %d kept", len(seen), len(names.known))
	}
	for _, target := range []string{"/item/1?a=b", "/item/unseen"} {
		if n := testing.AllocsPerRun(100, func() { names.name("GET", target) }); n != 0 {
			t.Errorf("%s: %g allocations", target, n)
		}
	}
}
