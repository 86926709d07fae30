package script

import (
	"strings"
	"testing"
)

const (
	get     = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"
	post    = "POST /b?x HTTP/1.1\r\nHost: h\r\ncontent-length: 3\r\n\r\na\r\n"
	chunked = "POST /c HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n"
	trailer = "POST /d HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nT: 1\r\n\r\n"
)

func TestRequestsThatComeTogetherAreDeliveredOneByOne(t *testing.T) {
	s := from(t, Options{}, `
function init(args) calls = 0 end
function request()
  calls = calls + 1
  wrk.headers["Calls"] = calls
  return wrk.format() .. "\r\n" .. wrk.format("PUT", "/2", nil, "body") .. wrk.format(nil, "/3") .. "\r\n\r\n"
end`)
	for _, want := range []string{"GET /|Calls: 1", "PUT /2|Calls: 1", "GET /3|Calls: 1", "GET /|Calls: 2"} {
		made, operation := next(t, s)
		wantOperation, header, _ := strings.Cut(want, "|")
		if operation != wantOperation || !strings.Contains(made, header+"\r\n") || strings.Count(made, "HTTP/1.1") != 1 {
			t.Errorf("%q, %q, want %s", made, operation, want)
		}
	}
}

// The pattern of wrk's own example: one table of requests, joined once.
func TestPipelineScript(t *testing.T) {
	s := from(t, Options{Args: []string{"3"}}, `
init = function(args)
  local r = {}
  for i = 1, tonumber(args[1]) do r[i] = wrk.format(nil, "/?" .. i) end
  req = table.concat(r)
end
request = function() return req end`)
	for i := range 7 {
		made, operation := next(t, s)
		want := "GET /?" + string(rune('1'+i%3)) + " HTTP/1.1\r\nHost: localhost:8080\r\n\r\n"
		if made != want || operation != "GET /" {
			t.Errorf("%q, %q, want %q", made, operation, want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, all := range [][]string{{get}, {post}, {chunked}, {trailer}, {get, post, chunked, trailer, get}} {
		rest := strings.Join(all, "")
		for i, want := range all {
			first, left, err := cut(rest)
			if err != nil || first.text != want {
				t.Errorf("request %d: %q, %v", i, first.text, err)
			}
			if method, target, _ := strings.Cut(want, " "); first.method != method || !strings.HasPrefix(target, first.target+" ") {
				t.Errorf("request %d: %q %q", i, first.method, first.target)
			}
			rest = left
		}
		if rest != "" {
			t.Errorf("left: %q", rest)
		}
	}
}

func TestTextsThatAreNoRequest(t *testing.T) {
	for text, want := range map[string]string{
		"hello":                                                            `"hello" is no request line; it should be METHOD PATH HTTP/1.1, with spaces in the path as %20`,
		"GET /a b HTTP/1.1\r\n\r\n":                                        `"GET /a b HTTP/1.1" is no request line; it should be METHOD PATH HTTP/1.1, with spaces in the path as %20`,
		"GET /a HTTP/2\r\n\r\n":                                            `"GET /a HTTP/2" is no request line; it should be METHOD PATH HTTP/1.1, with spaces in the path as %20`,
		"GET  HTTP/1.1\r\n\r\n":                                            `"GET  HTTP/1.1" is no request line; it should be METHOD PATH HTTP/1.1, with spaces in the path as %20`,
		"GE(T / HTTP/1.1\r\n\r\n":                                          `"GE(T" is not an HTTP method`,
		"GET /\x01 HTTP/1.1\r\n\r\n":                                       `the path "/\x01" holds control characters; encode them as %XX`,
		"GET / HTTP/1.1\nHost: h\n\n":                                      `"GET / HTTP/1.1\nHost: h\n\n" is no request line; it should be METHOD PATH HTTP/1.1, with spaces in the path as %20`,
		"GET / HTTP/1.1":                                                   `"GET / HTTP/1.1" has no end: an empty line (CR LF CR LF) is missing after the headers`,
		"GET / HTTP/1.1\r\nHost: h\r\n":                                    `"GET / HTTP/1.1" has no end: an empty line (CR LF CR LF) is missing after the headers`,
		"GET / HTTP/1.1\r\nA: b\nC: d\r\n\r\n":                             `"GET / HTTP/1.1": a line of the headers does not end in CR LF: "A: b\nC: d"`,
		"GET / HTTP/1.1\r\nnonsense\r\n\r\n":                               `"GET / HTTP/1.1": "nonsense" is not a header line (Name: value)`,
		"GET / HTTP/1.1\r\n: x\r\n\r\n":                                    `"GET / HTTP/1.1": ": x" is not a header line (Name: value)`,
		"PUT / HTTP/1.1\r\nContent-Length: x\r\n\r\n":                      `"PUT / HTTP/1.1": Content-Length "x" is not a number of bytes`,
		"PUT / HTTP/1.1\r\nContent-Length: -1\r\n\r\n":                     `"PUT / HTTP/1.1": Content-Length "-1" is not a number of bytes`,
		"PUT / HTTP/1.1\r\nContent-Length: 5\r\n\r\nabc":                   `"PUT / HTTP/1.1": its body has 3 bytes, which is less than its headers say`,
		"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc\r\n": `"PUT / HTTP/1.1": its body has 8 bytes, which is less than its headers say`,
		"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxx\r\n\r\n":   `"PUT / HTTP/1.1": its body has 6 bytes, which is less than its headers say`,
	} {
		if first, _, err := cut(text); err == nil || err.Error() != want {
			t.Errorf("%q: %q, %v, want %s", text, first.text, err, want)
		}
	}
}

// Whatever the text, what is cut off stands at its start and is a request by itself.
func FuzzCut(f *testing.F) {
	for _, seed := range []string{get, post, chunked, trailer, get + "\r\n" + post, post + "rest", "GET / HTTP/1.1\r\n\r\n\r\n\r\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		first, rest, err := cut(text)
		if err != nil {
			return
		}
		if !strings.HasPrefix(text, first.text) || strings.Trim(text[len(first.text):len(text)-len(rest)], "\r\n") != "" {
			t.Errorf("%q was cut into %q and %q", text, first.text, rest)
		}
		again, left, err := cut(first.text)
		if err != nil || again != first || left != "" {
			t.Errorf("%q alone: %+v, %q, %v", first.text, again, left, err)
		}
	})
}
