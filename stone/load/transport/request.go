package transport

import (
	"bytes"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
)

// headEnd stands between head and body of a rendered request.
var headEnd = []byte("\r\n\r\n")

// headLine is a line of a request's head.
type headLine struct{ name, value string }

// readHead takes the bytes of an HTTP/1.1 request apart. What it gives of the head shares one copy of it; the body
// is whatever follows, since over HTTP/2 its length needs no header.
func readHead(request []byte) (method, path string, lines []headLine, body []byte, err error) {
	head, body, ended := bytes.Cut(request, headEnd)
	first, rest, more := strings.Cut(string(head), "\r\n")
	method, first, _ = strings.Cut(first, " ")
	path, version, _ := strings.Cut(first, " ")
	if !ended || method == "" || !strings.HasPrefix(path, "/") || version != "HTTP/1.1" {
		return "", "", nil, nil, noRequest
	}
	for more {
		var line string
		line, rest, more = strings.Cut(rest, "\r\n")
		name, value, colon := strings.Cut(line, ":")
		if !colon || name == "" || strings.ContainsAny(name, " \t") {
			return "", "", nil, nil, noRequest
		}
		lines = append(lines, headLine{name, textproto.TrimString(value)})
	}
	return method, path, lines, body, nil
}

// parse makes of the bytes of a request what net/http sends, but for its context and its body.
func (d *Dialer) parse(request []byte) (*http.Request, []byte, error) {
	method, path, lines, body, err := readHead(request)
	if err != nil {
		return nil, nil, err
	}
	target, err := url.ParseRequestURI(path)
	if err != nil {
		return nil, nil, noRequest
	}
	target.Scheme, target.Host = d.scheme, d.host
	parsed := &http.Request{Method: method, URL: target, Host: d.host, Header: make(http.Header, len(lines)+1)}
	parsed.Header["User-Agent"] = []string{""} // else net/http names itself
	for _, line := range lines {
		switch lower := strings.ToLower(line.name); {
		case lower == "host":
			parsed.Host = line.value
		case lower == "transfer-encoding":
			return nil, nil, noChunks
		case lower == "user-agent":
			parsed.Header["User-Agent"] = []string{line.value}
		case !ofConnection(lower):
			name := textproto.CanonicalMIMEHeaderKey(line.name)
			parsed.Header[name] = append(parsed.Header[name], line.value)
		}
	}
	return parsed, body, nil
}

// ofConnection says of a header, in lower case, that it is about one HTTP/1.1 connection or made from the body.
func ofConnection(name string) bool {
	switch name {
	case "host", "content-length", "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade":
		return true
	}
	return false
}
