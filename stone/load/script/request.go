package script

import (
	"fmt"
	"strconv"
	"strings"
)

// request is one HTTP/1.x request within what request() returned.
type request struct{ text, method, target string }

// cut takes the first request off a text, and says what is left of it: a script may return several to be pipelined.
func cut(text string) (first request, rest string, err error) {
	end := strings.Index(text, "\r\n\r\n")
	line, _, _ := strings.Cut(text, "\r\n")
	first.method, first.target, err = parseRequestLine(line)
	if err != nil {
		return first, "", err
	}
	if end < 0 {
		return first, "", fmt.Errorf("%q has no end: an empty line (CR LF CR LF) is missing after the headers", shorten(line))
	}
	length, chunked, err := bodyLength(text[min(len(line)+2, end):end])
	if err != nil {
		return first, "", fmt.Errorf("%q: %w", shorten(line), err)
	}
	end += 4
	if chunked {
		length = chunkedLength(text[end:])
	}
	if length < 0 || length > len(text)-end {
		return first, "", fmt.Errorf("%q: its body has %d bytes, which is less than its headers say", shorten(line), len(text)-end)
	}
	first.text = text[:end+length]
	return first, strings.TrimLeft(text[end+length:], "\r\n"), nil
}

func parseRequestLine(line string) (method, target string, err error) {
	method, rest, _ := strings.Cut(line, " ")
	target, version, _ := strings.Cut(rest, " ")
	switch {
	case method == "" || target == "" || version != "HTTP/1.1" && version != "HTTP/1.0":
		return "", "", fmt.Errorf("%q is no request line; it should be METHOD PATH HTTP/1.1, with spaces in the path as %%20", shorten(line))
	case strings.ContainsFunc(method, notToken):
		return "", "", fmt.Errorf("%q is not an HTTP method", shorten(method))
	case strings.ContainsFunc(target, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return "", "", fmt.Errorf("the path %q holds control characters; encode them as %%XX", shorten(target))
	}
	return method, target, nil
}

func notToken(r rune) bool {
	return r <= ' ' || r >= 0x7f || strings.ContainsRune("\"(),/:;<=>?@[\\]{}", r)
}

// bodyLength reads from the header lines how long the body is.
func bodyLength(head string) (length int, chunked bool, err error) {
	for head != "" {
		var line string
		line, head, _ = strings.Cut(head, "\r\n")
		if strings.ContainsAny(line, "\r\n\x00") {
			return 0, false, fmt.Errorf("a line of the headers does not end in CR LF: %q", shorten(line))
		}
		colon := strings.IndexByte(line, ':')
		switch {
		case colon <= 0:
			return 0, false, fmt.Errorf("%q is not a header line (Name: value)", shorten(line))
		case colon == len("Content-Length") && strings.EqualFold(line[:colon], "Content-Length"):
			value := strings.Trim(line[colon+1:], " \t")
			if length, err = strconv.Atoi(value); err != nil || length < 0 {
				return 0, false, fmt.Errorf("Content-Length %q is not a number of bytes", shorten(value))
			}
		case colon == len("Transfer-Encoding") && strings.EqualFold(line[:colon], "Transfer-Encoding"):
			chunked = strings.Contains(strings.ToLower(line[colon+1:]), "chunked")
		}
	}
	return length, chunked, nil
}

// chunkedLength is the length of a chunked body with its framing, -1 if it has no end.
func chunkedLength(body string) int {
	for at := 0; ; {
		line := strings.Index(body[at:], "\r\n")
		if line < 0 {
			return -1
		}
		digits, _, _ := strings.Cut(body[at:at+line], ";")
		size, err := strconv.ParseUint(strings.TrimSpace(digits), 16, 31)
		at += line + 2
		if err != nil || size > uint64(len(body)-at) {
			return -1
		}
		if size > 0 {
			if at += int(size); !strings.HasPrefix(body[at:], "\r\n") {
				return -1
			}
			at += 2
			continue
		}
		if strings.HasPrefix(body[at:], "\r\n") { // no trailers
			return at + 2
		}
		if end := strings.Index(body[at:], "\r\n\r\n"); end >= 0 {
			return at + end + 4
		}
		return -1
	}
}

// shorten is enough of a text for a message.
func shorten(text string) string {
	if len(text) > 80 {
		return text[:80] + "..."
	}
	return text
}

// operations names the operations of a script: METHOD and path, without the query and, where the request line holds a
// whole URL, without its host.
type operations struct {
	known   map[string]string
	scratch []byte
}

// maxOperations is how many names a thread tells apart. Beyond it, which means that paths hold ids, a request is
// counted under its method alone.
const maxOperations = 256

func (o *operations) name(method, target string) string {
	if scheme := strings.Index(target, "://"); scheme > 0 && target[0] != '/' {
		target = target[scheme+3:]
		target = target[len(target)-len(strings.TrimLeftFunc(target, func(r rune) bool { return r != '/' && r != '?' })):]
	}
	if end := strings.IndexAny(target, "?#"); end >= 0 {
		target = target[:end]
	}
	if target == "" {
		target = "/"
	}
	o.scratch = append(append(append(o.scratch[:0], method...), ' '), target...)
	if name, ok := o.known[string(o.scratch)]; ok {
		return name
	}
	if o.known == nil {
		o.known = map[string]string{}
	}
	if len(o.known) >= maxOperations {
		o.scratch = append(append(o.scratch[:0], method...), " (other paths)"...)
		if name, ok := o.known[string(o.scratch)]; ok {
			return name
		}
	}
	name := string(o.scratch)
	o.known[name] = name
	return name
}
