package load

import (
	"math/rand/v2"
	"regexp"
	"sort"
	"strconv"
)

// operation is a compiled Operation: it appends whole HTTP/1.1 requests to a buffer, without allocating.
type operation struct {
	name     string
	headOnly bool // HEAD: the answer has no body
	head     []part
	body     []part
	length   bool // the request says its Content-Length
	static   []byte
	fields   *fieldSet
	maximum  int // the longest request's length
}

// part is literal text, or the value of a field when field >= 0.
type part struct {
	text  []byte
	field int
	query bool // percent-encode the value
}

var placeholder = regexp.MustCompile(`\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// compile checks one operation of the plan; host is what the Host header says, key the operation's place.
func compile(op *Operation, host, key string) (*operation, error) {
	o := &operation{name: op.Name, headOnly: op.Method == "HEAD"}
	var err error
	if o.fields, err = compileFields(op.Fields, key); err != nil {
		return nil, err
	}
	slots := o.fields.slots
	add := func(text, what string, query bool) error {
		parts, err := split(text, key+"."+what, slots, query)
		o.head = append(o.head, parts...)
		return err
	}
	literal := func(text string) { o.head = append(o.head, part{text: []byte(text), field: -1}) }

	literal(op.Method + " ")
	if err := add(op.Path, "path", true); err != nil {
		return nil, err
	}
	literal(" HTTP/1.1\r\n")
	names, hasHost := make([]string, 0, len(op.Headers)), false
	for name := range op.Headers {
		names = append(names, name)
		hasHost = hasHost || len(name) == 4 && foldEqual([]byte(name), "host")
	}
	sort.Strings(names)
	if !hasHost {
		literal("Host: " + host + "\r\n")
	}
	for _, name := range names {
		literal(name + ": ")
		if err := add(op.Headers[name], "headers."+name, false); err != nil {
			return nil, err
		}
		literal("\r\n")
	}
	if o.body, err = split(op.Body, key+".body", slots, false); err != nil {
		return nil, err
	}
	o.length = op.Body != "" || op.Method == "POST" || op.Method == "PUT" || op.Method == "PATCH"
	o.finish()
	return o, nil
}

// split cuts a template at its {name} placeholders.
func split(text, key string, slots map[string]int, query bool) ([]part, error) {
	var parts []part
	end := 0
	for _, at := range placeholder.FindAllStringSubmatchIndex(text, -1) {
		name := text[at[2]:at[3]]
		slot, known := slots[name]
		if !known {
			return nil, bad(key, "{%s} is not one of the operation's fields", name)
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
func (o *operation) finish() {
	joined := o.head[:0:0]
	for _, p := range o.head {
		if last := len(joined) - 1; p.field < 0 && last >= 0 && joined[last].field < 0 {
			joined[last].text = append(joined[last].text, p.text...)
		} else {
			joined = append(joined, p)
		}
	}
	o.head = joined
	varies := false
	o.maximum = len("Content-Length: 4294967295\r\n\r\n")
	for _, p := range append(append([]part{}, o.head...), o.body...) {
		o.maximum += len(p.text)
		if p.field >= 0 {
			varies = true
			o.maximum += 3 * o.fields.drawers[p.field].width()
		}
	}
	if !varies {
		o.static = o.render(nil, &values{})
	}
}

// render appends the whole request; each field is drawn once, in slot order.
func (o *operation) render(to []byte, v *values) []byte {
	if o.static != nil {
		return append(to, o.static...)
	}
	if v.random != nil {
		o.fields.draw(v)
	}
	to = appendParts(to, o.head, v)
	if o.length {
		length := 0
		for _, p := range o.body {
			if length += len(p.text); p.field >= 0 {
				length += len(v.of(p.field))
			}
		}
		to = strconv.AppendInt(append(to, "Content-Length: "...), int64(length), 10)
		to = append(to, "\r\n"...)
	}
	return appendParts(append(to, "\r\n"...), o.body, v)
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

// mix draws which operation request n is, and its fields: a pure function of the seed and n, so requests are
// the same whatever the number of threads, and a request that was never rendered still has its operation.
type mix struct {
	operations []*operation
	cumulative []float64
	seed       uint64
	source     *rand.PCG
	random     *rand.Rand
	scratch    values
}

// newMix returns a fresh mix of a checked plan; one goroutine may use it at a time.
func newMix(plan *Plan) *mix {
	m := &mix{operations: plan.compiled, seed: plan.Seed, source: rand.NewPCG(0, 0)}
	m.random = rand.New(m.source)
	total := 0.0
	for i := range plan.Operations {
		total += *plan.Operations[i].Weight
		m.cumulative = append(m.cumulative, total)
	}
	return m
}

// operation draws the operation of request n and leaves the random numbers ready for its fields.
func (m *mix) operation(n uint64) int {
	// Spread consecutive numbers over the whole state space (the finaliser of SplitMix64).
	z := (n + 1) * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	m.source.Seed(m.seed, z^z>>31)
	if len(m.operations) == 1 {
		return 0
	}
	return pick(m.cumulative, m.random)
}

// render appends request n and returns its operation.
func (m *mix) render(to []byte, n uint64) ([]byte, int) {
	op := m.operation(n)
	m.scratch.n, m.scratch.random = n, m.random
	return m.operations[op].render(to, &m.scratch), op
}

// longest is the length of the longest request of the mix.
func (m *mix) longest() int {
	longest := 0
	for _, o := range m.operations {
		longest = max(longest, o.maximum)
	}
	return longest
}
