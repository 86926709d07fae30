package request

import (
	"bytes"
	"sort"
	"strings"

	"github.com/tidwall/gjson"

	"loadstone.dev/stone/load/mistake"
)

// extractMost is the longest value that is taken out of an answer.
const extractMost = 8 << 10

// extractor takes a value out of an answer: `json:a.b`, `header:Name` or `cookie:name`.
type extractor struct {
	name   string // what later steps call it
	source string
	key    string   // name of a header, in lower case, or of a cookie
	path   []string // in a JSON body
}

var extractSources = map[string]bool{"json": true, "header": true, "cookie": true}

// compileExtract returns the extractors by name, in order.
func compileExtract(extract map[string]string, key string) ([]extractor, error) {
	extractors := make([]extractor, 0, len(extract))
	for name, from := range extract {
		at := key + "." + name
		source, what, _ := strings.Cut(from, ":")
		e := extractor{name: name, source: source, key: what}
		switch {
		case !placeholder.MatchString("{" + name + "}"):
			return nil, mistake.New(at, "%q cannot be a name: give letters, digits and _", name)
		case !extractSources[source]:
			return nil, mistake.New(at, "%q: give json:PATH, header:NAME or cookie:NAME", from)
		case source == "json":
			var err error
			if e.path, err = jsonPath(what, at); err != nil {
				return nil, err
			}
		case !headerForm.MatchString(what):
			return nil, mistake.New(at, "%q is not the name of a %s", what, source)
		case source == "header":
			e.key = strings.ToLower(what)
		}
		extractors = append(extractors, e)
	}
	sort.Slice(extractors, func(i, j int) bool { return extractors[i].name < extractors[j].name })
	return extractors, nil
}

// needsBody tells whether from looks at the body: keep its first bodyLimit bytes.
func (e *extractor) needsBody() bool { return e.source == "json" }

// From appends the value that the answer has; false if it has none, or one that no request could carry: it is
// empty, longer than extractMost or has a line end in it. head is the answer's header lines, each with its line end.
func (e *extractor) From(head, body []byte, to []byte) ([]byte, bool) {
	begin := len(to)
	switch e.source {
	case "json":
		to = e.fromJSON(body, to)
	case "header":
		to = e.fromHeader(head, to)
	case "cookie":
		to = e.fromCookie(head, to)
	}
	value := to[begin:]
	if len(value) == 0 || len(value) > extractMost || bytes.ContainsAny(value, "\r\n\x00") {
		return to[:begin], false
	}
	return to, true
}

func (e *extractor) fromJSON(body, to []byte) []byte {
	if !isJSON(body) {
		return to
	}
	value, count := lookUp(body, e.path)
	switch {
	case count != 1 || value.Type == gjson.Null || value.Type == gjson.JSON:
		return to
	case value.Type == gjson.String:
		return append(to, value.Str...)
	}
	return append(to, value.Raw...)
}

// fromHeader takes the first header of the name.
func (e *extractor) fromHeader(head, to []byte) []byte {
	for len(head) > 0 {
		var name, value []byte
		if name, value, head = headerLine(head); foldEqual(name, e.key) {
			return append(to, value...)
		}
	}
	return to
}

// fromCookie takes the last cookie of the name that is set, as a browser would (RFC 6265, 5.2 and 5.3).
func (e *extractor) fromCookie(head, to []byte) []byte {
	var found []byte
	for len(head) > 0 {
		var name, line []byte
		if name, line, head = headerLine(head); !foldEqual(name, "set-cookie") {
			continue
		}
		pair, _, _ := bytes.Cut(line, []byte(";"))
		cookie, value, is := bytes.Cut(pair, []byte("="))
		if is && string(bytes.TrimSpace(cookie)) == e.key {
			found = bytes.TrimSpace(value)
		}
	}
	return append(to, found...)
}

// headerLine cuts the first line off and splits it at its colon; a line without one has no name.
func headerLine(head []byte) (name, value, rest []byte) {
	line, rest, _ := bytes.Cut(head, []byte("\n"))
	name, value, has := bytes.Cut(line, []byte(":"))
	if !has {
		return nil, nil, rest
	}
	return name, bytes.Trim(value, " \t\r"), rest
}
