package request

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"loadstone.dev/stone/load/mistake"
	"loadstone.dev/stone/load/transport"
)

// template is a compiled Request: it appends whole HTTP/1.1 requests, or messages, to a buffer, without allocating.
type template struct {
	head    []part
	body    []part
	length  bool // the request says its Content-Length
	message bool // it is its body alone
	static  []byte
	fields  *fieldSet
	maximum int // the longest request's length; an extracted value counts as extractedLength
}

// part is literal text, or the value in a slot when field >= 0: a field's or, behind those, an extracted value's.
type part struct {
	text  []byte
	field int
	query bool // percent-encode the value
}

var placeholder = regexp.MustCompile(`\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// extractedLength is what the longest extracted value is taken to be, where memory is planned.
const extractedLength = 512

// compileTemplate checks one request of the plan; key is its place, session the fields that all its steps share,
// extracted the values that earlier steps leave.
func compileTemplate(op *Request, terms Terms, key string, session *fieldSet, extracted []string) (*template, error) {
	t := &template{message: terms.Protocol == transport.ZMQ}
	var err error
	if t.fields, err = compileFields(op.Fields, session, key); err != nil {
		return nil, err
	}
	slots := maps.Clone(t.fields.slots)
	for i, name := range extracted {
		if _, taken := slots[name]; taken {
			return nil, mistake.New(key+".fields."+name, "is the name of a value that an earlier step extracts; give it another")
		}
		slots[name] = len(t.fields.drawers) + i
	}
	add := func(text, what string, query bool) error {
		parts, err := split(text, key+"."+what, slots, query)
		t.head = append(t.head, parts...)
		return err
	}
	literal := func(text string) { t.head = append(t.head, part{text: []byte(text), field: -1}) }

	if t.body, err = split(op.Body, key+".body", slots, false); err != nil || t.message {
		t.finish()
		return t, err
	}
	literal(op.Method + " ")
	if err := add(op.Path, "path", true); err != nil {
		return nil, err
	}
	literal(" HTTP/1.1\r\n")
	names := slices.Sorted(maps.Keys(op.Headers))
	has := func(header string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, header) })
	}
	if !has("Host") {
		literal("Host: " + terms.Host + "\r\n")
	}
	if terms.Closing && !has("Connection") {
		literal("Connection: close\r\n")
	}
	for _, name := range names {
		literal(name + ": ")
		if err := add(op.Headers[name], "headers."+name, false); err != nil {
			return nil, err
		}
		if field := t.fields.withLineEnd(op.Headers[name]); field != "" {
			return nil, mistake.New(key+".headers."+name, "{%s} can have a line end in it; a header is one line", field)
		}
		literal("\r\n")
	}
	t.length = op.Body != "" || op.Method == "POST" || op.Method == "PUT" || op.Method == "PATCH"
	t.finish()
	return t, nil
}

// split cuts a template at its {name} placeholders.
func split(text, key string, slots map[string]int, query bool) ([]part, error) {
	var parts []part
	end := 0
	for _, at := range placeholder.FindAllStringSubmatchIndex(text, -1) {
		name := text[at[2]:at[3]]
		slot, known := slots[name]
		if !known {
			return nil, mistake.New(key, "{%s} is not one of the operation's fields, nor a value that an earlier step extracts", name)
		}
		if at[0] > end {
			parts = append(parts, part{text: []byte(text[end:at[0]]), field: -1})
		}
		parts = append(parts, part{field: slot, query: query})
		end = at[1]
	}
	if end < len(text) {
		parts = append(parts, part{text: []byte(text[end:]), field: -1})
	}
	return parts, nil
}

// finish joins neighbouring literals and, where nothing varies, the whole request.
func (t *template) finish() {
	joined := t.head[:0:0]
	for _, p := range t.head {
		if last := len(joined) - 1; p.field < 0 && last >= 0 && joined[last].field < 0 {
			joined[last].text = append(joined[last].text, p.text...)
		} else {
			joined = append(joined, p)
		}
	}
	t.head = joined
	varies := false
	t.maximum = len("Content-Length: 4294967295\r\n\r\n")
	for _, p := range append(append([]part{}, t.head...), t.body...) {
		t.maximum += len(p.text)
		if p.field >= 0 {
			varies = true
			width := extractedLength
			if p.field < len(t.fields.drawers) {
				width = t.fields.drawers[p.field].width()
			}
			t.maximum += 3 * width
		}
	}
	if !varies {
		t.static = t.render(nil, &values{}, nil)
	}
}

// render appends the whole request, whose fields are drawn. extracted has the values that earlier steps left.
func (t *template) render(to []byte, v *values, extracted [][]byte) []byte {
	if t.static != nil {
		return append(to, t.static...)
	}
	for _, value := range extracted {
		v.text = append(v.text, value...)
		v.ends = append(v.ends, len(v.text))
	}
	if t.message {
		return appendParts(to, t.body, v)
	}
	to = appendParts(to, t.head, v)
	if t.length {
		length := 0
		for _, p := range t.body {
			if length += len(p.text); p.field >= 0 {
				length += len(v.of(p.field))
			}
		}
		to = strconv.AppendInt(append(to, "Content-Length: "...), int64(length), 10)
		to = append(to, "\r\n"...)
	}
	return appendParts(append(to, "\r\n"...), t.body, v)
}

func appendParts(to []byte, parts []part, v *values) []byte {
	for _, p := range parts {
		switch {
		case p.field < 0:
			to = append(to, p.text...)
		case p.query:
			to = appendEncoded(to, v.of(p.field))
		default:
			to = append(to, v.of(p.field)...)
		}
	}
	return to
}

// appendEncoded percent-encodes all but the unreserved characters (RFC 3986, 2.3).
func appendEncoded(to, value []byte) []byte {
	const hex = "0123456789ABCDEF"
	for _, b := range value {
		switch {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9', b == '-', b == '.', b == '_', b == '~':
			to = append(to, b)
		default:
			to = append(to, '%', hex[b>>4], hex[b&15])
		}
	}
	return to
}
