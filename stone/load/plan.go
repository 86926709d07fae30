// Package load is the load generator behind `stone load`.
//
// A plan (plan.go, plan_check.go) becomes a seeded schedule of arrivals (package schedule) and requests, made
// ahead of time into a bounded ring (ring.go, source.go) from data (rendering.go, package request) or by a
// script (scripted.go, package script). Each load thread runs one loop over raw epoll (thread.go, answers.go) that
// sends every request at its intended time (sender.go) over a pool of connections (connection.go), or through a library
// (calls.go, package transport), and never waits for an answer before the next one is due. What is due later, such as the next
// step of a session, stands in turns.go. Latency counts from the intended time, so a stalled server cannot hide.
//
// What became of each request is kept by thread (recorder.go), gathered every second (collector.go), and closed like
// accounts at the end (settle.go, gather.go): package result has the findings and the summary.
package load

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"loadstone.dev/stone/load/export"
	"loadstone.dev/stone/load/mistake"
	"loadstone.dev/stone/load/request"
	"loadstone.dev/stone/load/result"
	"loadstone.dev/stone/load/schedule"
	"loadstone.dev/stone/load/transport"
)

// Plan says what to send where, when and for how long; docs/reference/summary.md describes each key.
type Plan struct {
	Target          string              `json:"target"`
	Replicas        []string            `json:"replicas"` // further host:port; connections are spread over all
	Connections     int                 `json:"connections"`
	Threads         int                 `json:"threads"`
	Arrival         schedule.Arrival    `json:"arrival"`
	Closed          *Closed             `json:"closed"`
	Protocol        string              `json:"protocol"`
	TLS             *transport.TLS      `json:"tls"` // trusted certificates, for an https target
	Descriptors     string              `json:"descriptors"`
	Policy          string              `json:"policy"`
	MostConnections int                 `json:"most_connections"`
	SourceAddresses []string            `json:"source_addresses"` // to connect from; the kernel's choice if there are none
	Abandon         bool                `json:"abandon"`          // what is past its timeout before it can be sent is not sent
	Pipelining      int                 `json:"pipelining"`
	Streams         int                 `json:"streams"`
	Script          *Script             `json:"script"`
	RecordRequests  bool                `json:"record_requests"`
	Metrics         string              `json:"metrics"`
	Wrk2Layout      string              `json:"wrk2_layout"`
	Part            *result.Part        `json:"part"`
	StartUnixNs     int64               `json:"start_unix_ns"`
	Members         []Member            `json:"members"` // none: this process drives it alone
	WarmupS         float64             `json:"warmup_s"`
	DurationS       float64             `json:"duration_s"`
	TimeoutS        float64             `json:"timeout_s"`
	DrainS          float64             `json:"drain_s"`
	Seed            uint64              `json:"seed"`
	Wait            string              `json:"wait"`
	WaitRate        float64             `json:"wait_rate"`   // requests/s of a thread that wait auto and the tick are chosen for; 0: those of this plan
	LatenessMs      float64             `json:"lateness_ms"` // what is allowed at the 99th percentile, for wait auto; 0: a tick
	CPUs            []int               `json:"cpus"`
	SLO             *result.SLO         `json:"slo"`
	Abort           bool                `json:"abort"`
	Operations      []request.Operation `json:"operations"`
	Enough          <-chan os.Signal    `json:"-"` // ends the run early, with the results of what was sent until then; nil: nothing does
	given           json.RawMessage     // the file's own text, for the summary
	scheme          string              // scheme of the target
	host            string              // host:port of the target
	compiled        []*request.Compiled // Operations, ready to render; shared by all mixes
	lookup          lookup
	sources         []unix.Sockaddr   // SourceAddresses, checked
	originals       map[string]string // paths that the plan names, by those of the copies that are read
}

// Script is a wrk or wrk2 load script that makes the requests.
type Script struct {
	Path    string            `json:"path"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`      // what os.getenv finds before the environment itself
	URLPath string            `json:"url_path"` // path of the URL that wrk would be given: wrk.path
}

// Member is one of the load workers that drive a plan together: its name, and the command that starts `stone load
// --member` on its machine and passes standard input and output on.
type Member struct {
	Name    string   `json:"name"`
	Command []string `json:"command"`
	CPUs    []int    `json:"cpus"` // CPUs of that machine, instead of the plan's
}

// loop is the plan's loop: open or closed.
func (p *Plan) loop() string {
	if p.Closed != nil {
		return "closed"
	}
	return "open"
}

// defaults is a plan with what may be left out.
func defaults() *Plan {
	return &Plan{
		Connections: result.DefaultConnections, Threads: 1, TimeoutS: 5, DrainS: math.NaN(), Wait: "auto", Protocol: transport.HTTP1, Policy: fixedPolicy,
		Pipelining: 1, Streams: 100, Abandon: true, lookup: resolve, Wrk2Layout: export.Current,
	}
}

// ParsePlan checks the text of a plan and fills in what may be left out: 64 connections, 1 thread,
// timeout 5 s, drain as long as the timeout, abandon, wait "auto", plain HTTP/1.1 without pipelining over a fixed pool,
// method GET, weight 1. Every mistake is a *mistake.Error that names the key.
func ParsePlan(text []byte) (*Plan, error) { return ParsePlanWithCopies(text, nil) }

// ParsePlanWithCopies is ParsePlan for a plan whose files are elsewhere: copies has the path of each by the one that the
// plan names.
func ParsePlanWithCopies(text []byte, copies map[string]string) (*Plan, error) {
	plan := defaults()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(plan); err != nil {
		return nil, explain(err, text)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, mistake.New("", "there is more after the plan's closing brace; one JSON object is expected")
	}
	var given bytes.Buffer
	if err := json.Compact(&given, text); err != nil {
		return nil, mistake.New("", "not JSON: %v", err)
	}
	plan.given = given.Bytes()
	plan.readCopies(copies)
	if math.IsNaN(plan.DrainS) {
		plan.DrainS = plan.TimeoutS
	}
	if plan.MostConnections == 0 {
		plan.MostConnections = max(plan.Connections, 1024)
	}
	return plan, plan.check()
}

// explain turns an error of encoding/json into one that says which key, or which line.
func explain(err error, text []byte) error {
	var typeError *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &typeError):
		return mistake.New(typeError.Field, "expected %s, found a JSON %s", typeError.Type, typeError.Value)
	case errors.As(err, &syntax):
		line := 1 + bytes.Count(text[:min(int(syntax.Offset), len(text))], []byte("\n"))
		return mistake.New(fmt.Sprintf("line %d", line), "not JSON: %v", err)
	case strings.HasPrefix(err.Error(), "json: unknown field "):
		key := strings.Trim(strings.TrimPrefix(err.Error(), "json: unknown field "), `"`)
		return mistake.New(key, "no such key in a plan; see `stone load --help`")
	}
	return mistake.New("", "not a plan: %v", err)
}

// mix is what draws the plan's operations.
func (p *Plan) mix() *request.Mix { return request.NewMix(p.compiled, p.Seed) }
