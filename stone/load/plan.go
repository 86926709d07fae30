// Package load is the open-loop load generator behind `stone load`.
//
// A plan (plan.go) becomes a seeded schedule of requests (schedule.go, operations.go, fields.go), rendered
// ahead of time into a bounded ring (ring.go). Each load thread runs one loop over raw epoll (worker.go) that
// sends every request at its intended time over a fixed pool of connections and never waits for an answer
// before the next one is due. Latency counts from the intended time, so a stalled server cannot hide.
package load

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"
)

// Plan says what to send where, when and for how long; docs/reference/summary.md describes each key.
type Plan struct {
	Target      string          `json:"target"`
	Replicas    []string        `json:"replicas"` // further host:port; connections are spread over all
	Connections int             `json:"connections"`
	Threads     int             `json:"threads"`
	Arrival     Arrival         `json:"arrival"`
	WarmupS     float64         `json:"warmup_s"`
	DurationS   float64         `json:"duration_s"`
	TimeoutS    float64         `json:"timeout_s"`
	DrainS      float64         `json:"drain_s"`
	Seed        uint64          `json:"seed"`
	Wait        string          `json:"wait"`
	CPUs        []int           `json:"cpus"`
	SLO         *SLO            `json:"slo"`
	Abort       bool            `json:"abort"`
	Operations  []Operation     `json:"operations"`
	given       json.RawMessage // the file's own text, for the summary
	host        string          // host:port of the target
	compiled    []*operation    // Operations, ready to render; shared by all mixes
}

// SLO is the objective that violations are counted against.
type SLO struct {
	Percentile float64 `json:"percentile"`
	LatencyMs  float64 `json:"latency_ms"`
}

// Operation is one kind of request; {name} in path, header values and body stands for the field of that name.
type Operation struct {
	Name    string            `json:"name"`
	Weight  *float64          `json:"weight"`
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	Fields  map[string]Field  `json:"fields"`
}

// PlanError is a mistake in the plan: the key, and what is wrong with it.
type PlanError struct{ Key, Problem string }

func (e *PlanError) Error() string {
	if e.Key == "" {
		return e.Problem
	}
	return e.Key + ": " + e.Problem
}

func bad(key, format string, values ...any) error {
	return &PlanError{key, fmt.Sprintf(format, values...)}
}

// ReadPlan reads and checks a plan file. Every mistake is a *PlanError that names the key.
func ReadPlan(path string) (*Plan, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, bad("", "cannot read the plan: %v", err)
	}
	return ParsePlan(text)
}

// ParsePlan checks the text of a plan and fills in what may be left out: 64 connections, 1 thread,
// timeout 5 s, drain as long as the timeout, wait "auto", method GET, weight 1.
func ParsePlan(text []byte) (*Plan, error) {
	plan := &Plan{Connections: 64, Threads: 1, TimeoutS: 5, DrainS: math.NaN(), Wait: "auto"}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(plan); err != nil {
		return nil, explain(err, text)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, bad("", "there is more after the plan's closing brace; one JSON object is expected")
	}
	var given bytes.Buffer
	if err := json.Compact(&given, text); err != nil {
		return nil, bad("", "not JSON: %v", err)
	}
	plan.given = given.Bytes()
	if math.IsNaN(plan.DrainS) {
		plan.DrainS = plan.TimeoutS
	}
	return plan, plan.check()
}

// explain turns an error of encoding/json into one that says which key, or which line.
func explain(err error, text []byte) error {
	var typeError *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &typeError):
		return bad(typeError.Field, "expected %s, found a JSON %s", typeError.Type, typeError.Value)
	case errors.As(err, &syntax):
		line := 1 + bytes.Count(text[:min(int(syntax.Offset), len(text))], []byte("\n"))
		return bad(fmt.Sprintf("line %d", line), "not JSON: %v", err)
	case strings.HasPrefix(err.Error(), "json: unknown field "):
		key := strings.Trim(strings.TrimPrefix(err.Error(), "json: unknown field "), `"`)
		return bad(key, "no such key in a plan; see `stone load --help`")
	}
	return bad("", "not a plan: %v", err)
}

const maxSeconds = 24 * 3600

var (
	nameForm   = regexp.MustCompile(`^[A-Za-z0-9._:/-]+$`) // a tag of the interval log: no comma, no space
	methodForm = regexp.MustCompile(`^[A-Z]+$`)
	headerForm = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$") // RFC 9110, token
)

func (p *Plan) check() error {
	target, err := url.Parse(p.Target)
	switch {
	case p.Target == "":
		return bad("target", "missing; give the address to load, such as http://127.0.0.1:5000")
	case err != nil:
		return bad("target", "%q is not a URL: %v", p.Target, err)
	case target.Scheme != "http":
		return bad("target", "%q: only http:// is driven", p.Target)
	case target.Hostname() == "" || strings.Trim(target.Path, "/") != "" || target.RawQuery != "":
		return bad("target", "%q: give scheme, host and port alone; paths belong to operations", p.Target)
	}
	if p.host = target.Host; target.Port() == "" {
		p.host += ":80"
	}
	for i, replica := range p.Replicas {
		if host, port, err := net.SplitHostPort(replica); err != nil || host == "" || port == "" {
			return bad(fmt.Sprintf("replicas[%d]", i), "%q is not host:port", replica)
		}
	}
	within := []struct {
		key              string
		value, low, high float64
		openLow          bool
	}{
		{"duration_s", p.DurationS, 0, maxSeconds, true},
		{"timeout_s", p.TimeoutS, 0, 3600, true},
		{"warmup_s", p.WarmupS, 0, maxSeconds, false},
		{"drain_s", p.DrainS, 0, maxSeconds, false},
		{"connections", float64(p.Connections), 1, 60000, false},
		{"threads", float64(p.Threads), 1, 256, false},
	}
	for _, w := range within {
		if w.value < w.low || w.value > w.high || w.openLow && w.value == w.low {
			than := "at least"
			if w.openLow {
				than = "more than"
			}
			return bad(w.key, "%g is out of range; give %s %g and at most %g", w.value, than, w.low, w.high)
		}
	}
	if p.Connections < p.Threads {
		return bad("connections", "%d is less than threads (%d); each thread needs one", p.Connections, p.Threads)
	}
	if err := p.Arrival.check(p.DurationS); err != nil {
		return err
	}
	if _, err := parseWait(p.Wait); err != nil {
		return err
	}
	for i, cpu := range p.CPUs {
		if cpu < 0 || cpu >= 1024 {
			return bad(fmt.Sprintf("cpus[%d]", i), "%d is not a CPU number", cpu)
		}
	}
	if err := p.checkSLO(); err != nil {
		return err
	}
	return p.checkOperations()
}

func (p *Plan) checkSLO() error {
	switch {
	case p.SLO == nil && p.Abort:
		return bad("abort", "needs slo: it stops a run that can no longer hold it")
	case p.SLO == nil:
		return nil
	case p.SLO.Percentile <= 0 || p.SLO.Percentile >= 100:
		return bad("slo.percentile", "%g is out of range; give more than 0 and less than 100", p.SLO.Percentile)
	case p.SLO.LatencyMs <= 0:
		return bad("slo.latency_ms", "%g is not above 0", p.SLO.LatencyMs)
	case p.SLO.LatencyMs > p.TimeoutS*1000:
		return bad("slo.latency_ms", "%g is longer than timeout_s (%g s); raise the timeout", p.SLO.LatencyMs, p.TimeoutS)
	}
	return nil
}

func (p *Plan) checkOperations() error {
	if len(p.Operations) == 0 {
		return bad("operations", "missing; give at least one")
	}
	seen, total := map[string]bool{}, 0.0
	for i := range p.Operations {
		op, key := &p.Operations[i], fmt.Sprintf("operations[%d]", i)
		if op.Weight == nil {
			op.Weight = new(1.0)
		}
		if op.Method == "" {
			op.Method = "GET"
		}
		switch {
		case !nameForm.MatchString(op.Name):
			return bad(key+".name", "%q: give letters, digits and . _ : / - only", op.Name)
		case seen[op.Name]:
			return bad(key+".name", "%q is there twice", op.Name)
		case *op.Weight < 0 || *op.Weight > 1e12:
			return bad(key+".weight", "%g is out of range; give 0 to 1e12", *op.Weight)
		case !methodForm.MatchString(op.Method) || op.Method == "CONNECT":
			return bad(key+".method", "%q is not an HTTP method; give GET, POST ...", op.Method)
		case !strings.HasPrefix(op.Path, "/") || strings.ContainsAny(op.Path, " \t\r\n"):
			return bad(key+".path", "%q: must begin with / and hold no white space", op.Path)
		}
		for name, value := range op.Headers {
			lower := strings.ToLower(name)
			if !headerForm.MatchString(name) || strings.ContainsAny(value, "\r\n\x00") {
				return bad(key+".headers", "%q: %q is not a header line", name, value)
			}
			if lower == "content-length" || lower == "transfer-encoding" {
				return bad(key+".headers", "%q is made from the body; leave it out", name)
			}
		}
		seen[op.Name] = true
		total += *op.Weight
		compiled, err := compile(op, p.host, key)
		if err != nil {
			return err
		}
		p.compiled = append(p.compiled, compiled)
	}
	if total <= 0 {
		return bad("operations", "all weights are 0; give one that is not")
	}
	return nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
