package load

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"loadstone.dev/stone/load/export"
	"loadstone.dev/stone/load/mistake"
	"loadstone.dev/stone/load/request"
	"loadstone.dev/stone/load/schedule"
	"loadstone.dev/stone/load/transport"
)

const mostConnections = 1_000_000 // for all load workers together; checkPorts knows what one can have

var nameForm = regexp.MustCompile(`^[A-Za-z0-9._:/-]+$`) // form of a member's name

// check looks at everything in turn; the first mistake is returned.
func (p *Plan) check() error {
	for _, check := range []func() error{
		p.checkTarget, p.checkNumbers, p.checkTransport, p.checkLoop, p.checkPart, p.checkMembers, p.checkSLO, p.checkRequests,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plan) checkTarget() error {
	target, err := url.Parse(p.Target)
	switch {
	case p.Target == "":
		return mistake.New("target", "missing; give the address to load, such as http://127.0.0.1:5000")
	case err != nil:
		return mistake.New("target", "%q is not a URL: %v", p.Target, err)
	case !slices.Contains(transport.Schemes(p.Protocol), target.Scheme):
		return mistake.New("target", "%q: %s is driven at %s://", p.Target, p.Protocol, strings.Join(transport.Schemes(p.Protocol), ":// or "))
	case target.Hostname() == "" || strings.Trim(target.Path, "/") != "" || target.RawQuery != "":
		return mistake.New("target", "%q: give scheme, host and port alone; paths belong to operations", p.Target)
	}
	p.scheme = target.Scheme
	if p.host = target.Host; target.Port() == "" {
		if p.Protocol == transport.ZMQ {
			return mistake.New("target", "%q has no port; give one, such as tcp://127.0.0.1:5556", p.Target)
		}
		p.host += map[string]string{"http": ":80", "https": ":443"}[p.scheme]
	}
	for i, replica := range p.Replicas {
		if host, port, err := net.SplitHostPort(replica); err != nil || host == "" || port == "" {
			return mistake.New(fmt.Sprintf("replicas[%d]", i), "%q is not host:port", replica)
		}
	}
	return nil
}

func (p *Plan) checkNumbers() error {
	within := []struct {
		key              string
		value, low, high float64
		openLow          bool
	}{
		{"duration_s", p.DurationS, 0, schedule.MostSeconds, true},
		{"timeout_s", p.TimeoutS, 0, 3600, true},
		{"warmup_s", p.WarmupS, 0, schedule.MostSeconds, false},
		{"wait_rate", p.WaitRate, 0, schedule.MostRate, false},
		{"lateness_ms", p.LatenessMs, 0, schedule.MostSeconds * 1000, false},
		{"drain_s", p.DrainS, 0, schedule.MostSeconds, false},
		{"connections", float64(p.Connections), 1, mostConnections, false},
		{"most_connections", float64(p.MostConnections), float64(p.Connections), mostConnections, false},
		{"pipelining", float64(p.Pipelining), 1, 10000, false},
		{"streams", float64(p.Streams), 1, 10000, false},
		{"threads", float64(p.Threads), 1, 256, false},
	}
	for _, w := range within {
		if w.value < w.low || w.value > w.high || w.openLow && w.value == w.low {
			than := "at least"
			if w.openLow {
				than = "more than"
			}
			return mistake.New(w.key, "%g is out of range; give %s %g and at most %g", w.value, than, w.low, w.high)
		}
	}
	if p.Connections < p.threads() {
		return mistake.New("connections", "%d is less than threads (%d); each thread needs one", p.Connections, p.threads())
	}
	for i, cpu := range p.CPUs {
		if cpu < 0 || cpu >= 1024 {
			return mistake.New(fmt.Sprintf("cpus[%d]", i), "%d is not a CPU number", cpu)
		}
	}
	if p.Wrk2Layout != export.Current && p.Wrk2Layout != export.Before2023 {
		return mistake.New("wrk2_layout", "%q is unknown; use %s or %s", p.Wrk2Layout, export.Current, export.Before2023)
	}
	_, err := parseWait(p.Wait)
	return err
}

// checkTransport sees what goes together.
func (p *Plan) checkTransport() error {
	switch {
	case !slices.Contains(transport.Protocols, p.Protocol):
		return mistake.New("protocol", "%q is not known; give one of %s", p.Protocol, strings.Join(transport.Protocols, ", "))
	case !slices.Contains([]string{fixedPolicy, growingPolicy, newPolicy}, p.Policy):
		return mistake.New("policy", "%q is not known; give %s, %s or %s", p.Policy, fixedPolicy, growingPolicy, newPolicy)
	case p.Protocol != transport.HTTP1 && p.Policy != fixedPolicy:
		return mistake.New("policy", "%q: only connections of %s come and go; give %s", p.Policy, transport.HTTP1, fixedPolicy)
	case p.Pipelining > 1 && (p.Protocol != transport.HTTP1 || p.scheme != "http" || p.Policy == newPolicy):
		return mistake.New("pipelining", "%d: only plain %s on lasting connections is pipelined", p.Pipelining, transport.HTTP1)
	case len(p.SourceAddresses) > 0 && (p.Protocol != transport.HTTP1 || p.scheme != "http"):
		return mistake.New("source_addresses", "only plain %s is sent from chosen addresses; leave them out", transport.HTTP1)
	case p.TLS != nil && p.scheme != "https":
		return mistake.New("tls", "the target is %s:// ; make it https://", p.scheme)
	case p.Descriptors != "" && p.Protocol != transport.GRPC:
		return mistake.New("descriptors", "only protocol %s has them", transport.GRPC)
	}
	return nil
}

// checkLoop sees that there is one: open, with arrivals, or closed, with clients.
func (p *Plan) checkLoop() error {
	switch {
	case p.Closed == nil:
		return p.Arrival.Check(p.DurationS)
	case p.Arrival.Process != "":
		return mistake.New("closed", "excludes arrival: clients send when they are answered, not when it is time")
	case p.Closed.WarmupRequests > 0 && p.WarmupS > 0:
		return mistake.New("warmup_s", "excludes closed.warmup_requests; leave one out")
	}
	return p.Closed.check(p.threads(), p.Abort)
}

func (p *Plan) checkPart() error {
	if p.Part != nil && (p.Part.Of < 1 || p.Part.Of > 1000 || p.Part.Number < 0 || p.Part.Number >= p.Part.Of) {
		return mistake.New("part", "number %d of %d: want 0 <= number < of <= 1000", p.Part.Number, p.Part.Of)
	}
	return nil
}

func (p *Plan) checkMembers() error {
	names := map[string]bool{}
	for i, m := range p.Members {
		key := fmt.Sprintf("members[%d]", i)
		switch {
		case !nameForm.MatchString(m.Name):
			return mistake.New(key+".name", "%q: give letters, digits and . _ : / - only", m.Name)
		case names[m.Name]:
			return mistake.New(key+".name", "%q is there twice", m.Name)
		case len(m.Command) == 0:
			return mistake.New(key+".command", `missing; give the command that starts it, such as ["ssh", "host", "stone", "load", "--member"]`)
		}
		names[m.Name] = true
	}
	switch {
	case len(p.Members) > 0 && p.Part != nil:
		return mistake.New("part", "is for a load worker without a coordinator; leave it out, or leave out members")
	case len(p.Members) > 0 && p.StartUnixNs != 0:
		return mistake.New("start_unix_ns", "is for load workers without a coordinator; leave it out, or leave out members")
	}
	return nil
}

func (p *Plan) checkSLO() error {
	switch {
	case p.SLO == nil && p.Abort:
		return mistake.New("abort", "needs slo: it stops a run that can no longer hold it")
	case p.SLO == nil:
		return nil
	case p.SLO.Percentile <= 0 || p.SLO.Percentile >= 100:
		return mistake.New("slo.percentile", "%g is out of range; give more than 0 and less than 100", p.SLO.Percentile)
	case p.SLO.LatencyMs <= 0:
		return mistake.New("slo.latency_ms", "%g is not above 0", p.SLO.LatencyMs)
	case p.SLO.LatencyMs > p.TimeoutS*1000:
		return mistake.New("slo.latency_ms", "%g is longer than timeout_s (%g s); raise the timeout", p.SLO.LatencyMs, p.TimeoutS)
	}
	return nil
}

// checkRequests sees that something makes them: a script, or operations, which are compiled.
func (p *Plan) checkRequests() error {
	switch {
	case p.Script != nil && len(p.Operations) > 0:
		return mistake.New("script", "excludes operations; leave one out")
	case p.Script != nil && p.Protocol == transport.ZMQ:
		return mistake.New("script", "makes requests of HTTP; give operations, or another protocol")
	case p.Script != nil && !filepath.IsAbs(p.Script.Path):
		return mistake.New("script.path", "%q is not an absolute path", p.Script.Path)
	case p.Script != nil:
		return nil
	case len(p.Operations) == 0:
		return mistake.New("operations", "missing; give at least one")
	}
	var err error
	p.compiled, err = request.Compile(p.Operations, request.Terms{Protocol: p.Protocol, Host: p.host, Closing: p.Policy == newPolicy})
	if err != nil || p.Closed == nil || !p.counted() && p.Closed.Pace == 0 {
		return err
	}
	for i, o := range p.Operations {
		if len(o.Steps) > 1 {
			return mistake.New(fmt.Sprintf("operations[%d].steps", i), "%s has several, and the clients' requests are counted or paced one by one; "+
				"make each an operation, or leave out requests, total and pace", o.Name)
		}
	}
	return nil
}
