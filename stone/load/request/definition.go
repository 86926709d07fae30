// Package request makes requests and judges answers: a plan's operations are checked and compiled into templates whose
// fields are drawn from the seed and a request's number (definition.go, operations.go, template.go, field*.go), answers
// are parsed incrementally (response.go), and compared with what the plan expects (expect.go); values for later
// steps of a session are taken out of them (extract.go).
package request

import (
	"math/rand/v2"
	"regexp"
	"strings"

	"loadstone.dev/stone/load/mistake"
	"loadstone.dev/stone/load/schedule"
	"loadstone.dev/stone/load/transport"
)

var (
	operationForm = regexp.MustCompile(`^[A-Za-z0-9._:/-]+$`) // a tag of the interval log: no comma, no space
	methodForm    = regexp.MustCompile(`^[A-Z]+$`)
	headerForm    = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$") // RFC 9110, token
)

// Operation is one kind of request, or a session of several steps, one after the other.
type Operation struct {
	Name   string   `json:"name"`
	Weight *float64 `json:"weight"`
	Request
	Steps []Step `json:"steps"`
}

// Step is one request of a session. It goes out `think` after the answer to the one before.
type Step struct {
	Name string `json:"name"`
	Request
	Extract map[string]string `json:"extract"` // what its answer leaves for later steps, by name
	Think   *Think            `json:"think"`
}

// Request is what to send; {name} in path, header values and body stands for the field of that name. A message of ZeroMQ has a
// body alone.
type Request struct {
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	Fields  map[string]Field  `json:"fields"`
	Expect  *Expect           `json:"expect"`
}

// check completes one request and sees that it can be written down.
func (r *Request) check(key, protocol string) error {
	if protocol == transport.ZMQ {
		return r.checkMessage(key)
	}
	if r.Method == "" {
		if r.Method = "GET"; protocol == transport.GRPC {
			r.Method = "POST"
		}
	}
	switch {
	case !methodForm.MatchString(r.Method) || r.Method == "CONNECT":
		return mistake.New(key+".method", "%q is not an HTTP method; give GET, POST ...", r.Method)
	case !strings.HasPrefix(r.Path, "/") || strings.ContainsAny(r.Path, " \t\r\n"):
		return mistake.New(key+".path", "%q: must begin with / and hold no white space", r.Path)
	}
	for name, value := range r.Headers {
		lower := strings.ToLower(name)
		if !headerForm.MatchString(name) || strings.ContainsAny(value, "\r\n\x00") {
			return mistake.New(key+".headers", "%q: %q is not a header line", name, value)
		}
		if lower == "content-length" || lower == "transfer-encoding" {
			return mistake.New(key+".headers", "%q is made from the body; leave it out", name)
		}
	}
	return nil
}

func (r *Request) checkMessage(key string) error {
	switch {
	case r.Method != "" || r.Path != "" || r.Headers != nil:
		return mistake.New(key, "is a message: give its body, without method, path and headers")
	case r.Body == "":
		return mistake.New(key+".body", "missing; give the message")
	case r.Expect != nil && r.Expect.Status != nil:
		return mistake.New(key+".expect.status", "a reply has no status; give json, min_bytes or max_bytes")
	}
	return nil
}

// given says whether any key of the request is, except fields, which the steps of a session may share.
func (r *Request) given() bool {
	return r.Method != "" || r.Path != "" || r.Headers != nil || r.Body != "" || r.Expect != nil
}

// Think is a uniform pause before a step.
type Think struct {
	MinS float64 `json:"min_s"`
	MaxS float64 `json:"max_s"`
}

func (t *Think) check(key string) error {
	if t.MinS < 0 || t.MaxS < t.MinS || t.MaxS > schedule.MostSeconds {
		return mistake.New(key+".think", "min_s %g, max_s %g: want 0 <= min_s <= max_s <= %d", t.MinS, t.MaxS, schedule.MostSeconds)
	}
	return nil
}

// draw returns a pause in ns; none for a step without one.
func (t *Think) draw(random *rand.Rand) int64 {
	if t == nil {
		return 0
	}
	return int64((t.MinS + random.Float64()*(t.MaxS-t.MinS)) * 1e9)
}
