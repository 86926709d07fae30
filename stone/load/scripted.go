package load

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"

	"loadstone.dev/stone/load/mistake"
	"loadstone.dev/stone/load/request"
	"loadstone.dev/stone/load/result"
	"loadstone.dev/stone/load/script"
)

// scripted is the source for one thread of a load script.
type scripted struct {
	script    *script.Script
	catalogue *request.Catalogue
	known     map[string]int32 // kinds by name, as far as this thread has met them
	keep      bool             // answers are looked at
	most      int
	answers   chan *answer
	locked    bool
}

// scriptResults is the folder of the results that a script may write in, so that it changes nothing of ours.
const scriptResults = "script"

const (
	scriptAhead  = 2048 // requests that a script makes before they are due
	answersAhead = 16   // ... if it reads answers, which may change its next request
	answersMost  = 1024 // answers that wait to be seen
	makersNice   = 10
)

// script opens the script for a thread.
func (r *run) script(thread int) (source, error) {
	p := r.plan
	host, port, err := net.SplitHostPort(p.host)
	if err != nil {
		return nil, mistake.New("target", "%q: %v", p.Target, err)
	}
	o := script.Options{
		Path: p.Script.Path, Args: p.Script.Args, Env: p.Script.Env, URLPath: p.Script.URLPath, Seed: p.Seed, Thread: p.number(thread),
		Scheme: p.scheme, Host: host, Port: port, Addresses: append([]string{p.host}, p.Replicas...), Output: os.Stdout,
		Results: filepath.Join(r.out, scriptResults),
	}
	if thread > 0 {
		o.First = r.scripts[0]
	}
	opened, err := script.Open(o)
	if err != nil {
		return nil, err
	}
	r.scripts = append(r.scripts, opened)
	s := &scripted{script: opened, catalogue: r.catalogue, known: map[string]int32{}, most: scriptAhead}
	if opened.HasResponse() {
		s.keep, s.answers, s.most = true, make(chan *answer, answersMost), answersAhead
		if p.Closed != nil {
			s.most = 0
		}
	}
	return s, nil
}

func (s *scripted) make(r *rendered) error {
	if !s.locked {
		s.yield()
	}
	data, operation, delay, err := s.script.Next(r.data[:0])
	if errors.Is(err, script.ErrStopped) {
		return errNoMore
	}
	if err != nil {
		return err
	}
	number, known := s.known[operation]
	if !known {
		number = s.catalogue.Number(operation, s.kind)
		s.known[operation] = number
	}
	r.data, r.op, r.delay = data, number, delay.Nanoseconds()
	return nil
}

// yield lets the load threads go first where they share a processor with the script: what it makes is not due yet.
func (s *scripted) yield() {
	runtime.LockOSThread()
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), makersNice)
	s.locked = true
}

// kind describes a kind of request when the first of it is met.
func (s *scripted) kind(name string) *request.Kind {
	k := &request.Kind{Name: name, HeadOnly: strings.HasPrefix(name, "HEAD ")}
	if s.keep {
		k.Keep, k.KeepHead = request.BodyLimit, true
	}
	return k
}

func (s *scripted) ahead() int           { return s.most }
func (s *scripted) wanted() chan *answer { return s.answers }

func (s *scripted) see(a *answer) error { return s.script.Response(a.status, a.head, a.body) }

func (r *run) closeScripts() {
	for _, s := range r.scripts {
		s.Close()
	}
}

// scriptDone runs the script's done(). Its failure is only reported: the results are there.
func (r *run) scriptDone(f *result.Findings, s *result.Summary) {
	if len(r.scripts) == 0 {
		return
	}
	text, err := f.Text(s)
	if err == nil {
		err = r.scripts[0].Done(script.Summary{
			Duration: text.Duration, Requests: text.Answers, Bytes: text.Bytes,
			Errors: script.Errors{Connect: text.Connect, Read: text.Read, Write: text.Write, Status: text.Status, Timeout: text.Timeout},
		}, buckets(text.Latency, 1000), buckets(text.Rates, 1))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "stone load: "+err.Error())
	}
}

// buckets are a histogram's values in other units.
func buckets(h *hdr.Histogram, unit float64) script.Percentiles {
	var list script.Percentiles
	for _, bar := range h.Distribution() {
		if bar.Count > 0 {
			list = append(list, script.Bucket{Value: float64(bar.To) / unit, Count: bar.Count})
		}
	}
	return list
}
