package request

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"regexp"
	"testing"
)

// verdict is the parse of an answer, after which the connection is closed.
type verdict struct {
	refused   bool
	status    int
	size      int64
	keepAlive bool
}

// ours is the verdict of the parser, fed in pieces: each byte of cuts is the length of one, in turn.
func ours(data, cuts []byte, headOnly bool) verdict {
	var r Response
	r.Reset(headOnly)
	for piece := 0; len(data) > 0; piece++ {
		size := len(data)
		if len(cuts) > 0 {
			size = min(1+int(cuts[piece%len(cuts)]), size)
		}
		used, done, err := r.Feed(data[:size])
		if err != nil {
			return verdict{refused: true}
		}
		if data = data[used:]; done {
			return verdict{status: r.Status, size: r.Size, keepAlive: r.KeepAlive}
		}
	}
	if r.End() != nil {
		return verdict{refused: true}
	}
	return verdict{status: r.Status, size: r.Size, keepAlive: r.KeepAlive}
}

// theirs is that of net/http.
func theirs(data []byte, headOnly bool) verdict {
	reader, request := bufio.NewReaderSize(bytes.NewReader(data), 1<<16), &http.Request{Method: http.MethodGet}
	if headOnly {
		request.Method = http.MethodHead
	}
	for {
		answer, err := http.ReadResponse(reader, request)
		if err != nil || answer.StatusCode == http.StatusSwitchingProtocols {
			return verdict{refused: true}
		}
		if answer.StatusCode >= 100 && answer.StatusCode < 200 {
			continue
		}
		size, err := io.Copy(io.Discard, answer.Body)
		if err != nil {
			return verdict{refused: true}
		}
		return verdict{status: answer.StatusCode, size: size, keepAlive: !answer.Close}
	}
}

// What is read differently on purpose; such answers are not compared.
var deliberate = []*regexp.Regexp{
	// Status codes below 100 are refused, and other blanks or signs than one space before the code.
	regexp.MustCompile(`(?m)^HTTP/1\.[01] (0|[^0-9])`),
	// Versions of HTTP other than 1.0 and 1.1 are refused.
	regexp.MustCompile(`(?m)^HTTP/([^1]\.|1\.[^01])`),
	// net/http refuses every transfer coding but a single "chunked", in HTTP/1.0 it does not look at it, and it keeps a
	// connection whose answer has a length, too. Here any list that ends in "chunked" is read so, one that ends otherwise
	// lasts until the connection is closed, and after both the connection is not trusted (RFC 9112, 6.1 and 6.3).
	regexp.MustCompile(`(?is)(^|\n)transfer-encoding:[ \t]*(|[^c \t].*|c[^h].*|chunked[^\r\n].*|chunked\r[^\n].*)`),
	regexp.MustCompile(`(?is)transfer-encoding.*transfer-encoding`),
	regexp.MustCompile(`(?is)HTTP/1\.0.*transfer-encoding`),
	regexp.MustCompile(`(?is)transfer-encoding.*content-length|content-length.*transfer-encoding`),
	// Two lengths are equal here if their values are; net/http compares their digits, zeros before them included.
	regexp.MustCompile(`(?i)content-length[ \t]*:[ \t]*0[0-9]`),
	// Control characters are accepted: they do no harm.
	regexp.MustCompile(`[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r([^\n]|$)`),
	// The value of Content-Length, Transfer-Encoding or Connection in several lines is refused.
	regexp.MustCompile(`(?i)(content-length|transfer-encoding|connection):[^\n]*\n[ \t]`),
}

// Any bytes, cut anywhere, are read as net/http reads them, or refused by both.
func FuzzResponseAsNetHTTP(f *testing.F) {
	for _, text := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
		"HTTP/1.0 200 OK\nConnection: keep-alive\nContent-Length: 2\n\nokmore",
		"HTTP/1.1 200 OK\r\nConnection: close, x\r\n\r\nuntil the end",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0A \r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n",
		"HTTP/1.1 103 Hints\r\nLink: x\r\n\r\nHTTP/1.1 404 No\r\nX: a\r\n b\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\nConnection: close\r\nConnection: keep-alive\r\n\r\n",
		"HTTP/1.1 204\r\n\r\n",
		"HTTP/1.1 500 No\r\nContent-Length : 1\r\n\r\nx",
	} {
		f.Add([]byte(text), []byte{}, false)
		f.Add([]byte(text), []byte{0, 6, 1}, true)
	}
	f.Fuzz(func(t *testing.T, data, cuts []byte, headOnly bool) {
		if len(data) > 4096 { // well below all limits on heads and trailers
			return
		}
		for _, difference := range deliberate {
			if difference.Match(data) {
				return
			}
		}
		if read, reference := ours(data, cuts, headOnly), theirs(data, headOnly); read != reference {
			t.Errorf("read as %+v, by net/http as %+v", read, reference)
		}
	})
}
