package request

import (
	"errors"
	"strings"
	"testing"
)

type outcome struct {
	status    int
	used      int
	done      bool
	keepAlive bool
	end       error // if the connection is closed then
	err       error
	example   string
}

// parseIn feeds an answer in pieces of the given size.
func parseIn(text string, size int, headOnly bool) (o outcome) {
	return parseAfter(nil, text, size, headOnly)
}

// parseAfter does so knowing an earlier answer's head.
func parseAfter(last *LastHead, text string, size int, headOnly bool) (o outcome) {
	r := Response{Last: last}
	r.Reset(headOnly)
	for o.used < len(text) && !o.done && o.err == nil {
		piece := text[o.used:min(o.used+size, len(text))]
		var used int
		used, o.done, o.err = r.Feed([]byte(piece))
		o.used += used
	}
	if o.err == nil && !o.done {
		o.end = r.End()
	}
	o.status, o.keepAlive, o.example = r.Status, r.KeepAlive, string(r.Example)
	return o
}

func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		head bool
		want outcome
	}{
		"length":         {text: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", want: outcome{status: 200, used: 40, done: true, keepAlive: true}},
		"more follows":   {text: "HTTP/1.1 200 OK\r\ncontent-length:2 \r\n\r\nokHTTP", want: outcome{status: 200, used: 40, done: true, keepAlive: true}},
		"no reason":      {text: "HTTP/1.1 204\r\n\r\n", want: outcome{status: 204, used: 16, done: true, keepAlive: true}},
		"bare newlines":  {text: "HTTP/1.1 200 OK\nContent-Length: 0\n\n", want: outcome{status: 200, used: 35, done: true, keepAlive: true}},
		"not modified":   {text: "HTTP/1.1 304 N\r\nContent-Length: 9\r\n\r\n", want: outcome{status: 304, used: 37, done: true, keepAlive: true}},
		"answer to HEAD": {text: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", head: true, want: outcome{status: 200, used: 38, done: true, keepAlive: true}},
		"close":          {text: "HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 0\r\n\r\n", want: outcome{status: 200, used: 60, done: true}},
		"HTTP/1.0":       {text: "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", want: outcome{status: 200, used: 38, done: true}},
		"1.0 kept alive": {text: "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n", want: outcome{status: 200, used: 62, done: true, keepAlive: true}},
		"chunks": {text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0A\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n",
			want: outcome{status: 200, used: 92, done: true, keepAlive: true}},
		"chunks and length": {text: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
			want: outcome{status: 200, used: 77, done: true}},
		"until close":     {text: "HTTP/1.1 200 OK\r\n\r\nanything", want: outcome{status: 200, used: 27}},
		"interim":         {text: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\nHTTP/1.1 201 C\r\nContent-Length: 0\r\n\r\n", want: outcome{status: 201, used: 93, done: true, keepAlive: true}},
		"error's example": {text: "HTTP/1.1 500 E\r\nContent-Length: 4\r\n\r\nsad!", want: outcome{status: 500, used: 41, done: true, keepAlive: true, example: "sad!"}},
		"cut in head":     {text: "HTTP/1.1 200 OK\r\nCont", want: outcome{status: 200, used: 21, keepAlive: true, end: ErrCut}},
		"cut in body":     {text: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n12", want: outcome{status: 200, used: 40, keepAlive: true, end: ErrCut}},
		"nothing":         {text: "", want: outcome{end: ErrNoAnswer}},
		"folded":          {text: "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n", want: outcome{status: 200, used: 48, done: true, keepAlive: true}},
		"same length twice": {text: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n",
			want: outcome{status: 200, used: 57, done: true, keepAlive: true}},
	} {
		for size := 1; size <= len(c.text)+1; size++ {
			last := &LastHead{}
			for _, head := range []bool{c.head, !c.head, c.head, c.head} {
				if have := parseAfter(last, c.text, size, head); head == c.head && have != c.want {
					t.Fatalf("%s in pieces of %d: %+v, want %+v", name, size, have, c.want)
				}
			}
		}
	}
}

func TestMalformedAnswers(t *testing.T) {
	long := strings.Repeat("a", maxHead)
	for text, want := range map[string]error{
		"SSH-2.0-OpenSSH_9.2\r\n":                       ErrNotHTTP,
		"HTTP/2 200 OK\r\n":                             ErrNotHTTP,
		"HTTP/1.1 2x0 OK\r\n":                           ErrNotHTTP,
		"HTTP/1.1 2000 OK\r\n":                          ErrNotHTTP,
		"HTTP/1.1 099 OK\r\n":                           ErrNotHTTP,
		"\r\n":                                          ErrNotHTTP,
		"HTTP/1.1 200 OK\r\nno\r\n":                     errHeader,
		"HTTP/1.1 200 OK\r\n: x\r\n":                    errHeader,
		"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n": ErrLength,
		"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n":               ErrLength,
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n":             ErrLength,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n":                  ErrChunk,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n":                     ErrChunk,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\naab\r\n":             ErrChunk,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n":   ErrChunk,
		"HTTP/1.1 101 Switching Protocols\r\n\r\n":                                      errUpgrade,
		"HTTP/1.1 200 OK\r\nX: " + long + "\r\n\r\n":                                    ErrHeadTooLong,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: " + long + "\r\n": ErrHeadTooLong,
	} {
		for _, size := range []int{1, 7, len(text)} {
			if have := parseIn(text, size, false); !errors.Is(have.err, want) {
				t.Errorf("%.60q in pieces of %d: %v, want %v", text, size, have.err, want)
			}
		}
	}
}

func TestParsingDoesNotAllocate(t *testing.T) {
	text := []byte("HTTP/1.1 200 OK\r\nServer: x\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n")
	var r Response
	allocations := testing.AllocsPerRun(1000, func() {
		r.Reset(false)
		if _, done, err := r.Feed(text); !done || err != nil {
			t.Fatal("not parsed")
		}
	})
	if allocations > 0 {
		t.Errorf("%.2f allocations an answer", allocations)
	}
}

// However an answer is cut, the outcome is the same, and no input makes the parser fall over.
func FuzzResponse(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), byte(3), false)
	f.Add([]byte("HTTP/1.1 100 C\r\n\r\nHTTP/1.1 500 E\r\nTransfer-Encoding: chunked\r\n\r\n1;a\r\nx\r\n0\r\nA: b\r\n\r\nHTTP"), byte(1), false)
	f.Add([]byte("HTTP/1.0 200 OK\r\nConnection: keep-alive, close\r\n\r\nbody"), byte(9), true)
	f.Fuzz(func(t *testing.T, text []byte, size byte, headOnly bool) {
		at := parseIn(string(text), len(text)+1, headOnly)
		in := parseIn(string(text), int(size)+1, headOnly)
		if at.used > len(text) || at.done && at.err != nil || at.done && (at.status < 200 || at.status > 999) {
			t.Fatalf("impossible: %+v", at)
		}
		if at.err == ErrHeadTooLong || in.err == ErrHeadTooLong {
			return // where exactly that is noticed depends on the cuts
		}
		last := &LastHead{}
		parseAfter(last, string(text), len(text)+1, headOnly)
		if again := parseAfter(last, string(text), int(size)+1, headOnly); again != in {
			t.Fatalf("remembered: %+v\nafresh: %+v", again, in)
		}
		if at != in {
			t.Fatalf("whole: %+v\nin pieces of %d: %+v", at, int(size)+1, in)
		}
	})
}
