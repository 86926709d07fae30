package counters

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"
	"time"
)

const (
	shortestPeriodMS = 10
	longestPeriodMS  = 60_000 // energy counters of some servers begin anew after a few minutes

	mostReplicas   = 1000
	mostNetworks   = 100
	mostRecordings = 4
	recordingKept  = time.Hour
)

// replicaName is what a replica may be called: names of deployments, nothing that a file of text could trip over.
var replicaName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/:-]{0,199}$`)

var errTooMany = fmt.Errorf("%d recordings are kept already: end one of them, or throw one away", mostRecordings)

// Wanted is what to record, and how often.
type Wanted struct {
	PeriodMS int                `json:"period_ms"`
	Replicas map[string]Subject `json:"replicas"`
	// Networks are those of emulated hosts and switches on this machine, each told by a control group in it.
	Networks map[string]Subject `json:"networks"`
}

// Problem says what is wrong with it.
func (w Wanted) Problem() error {
	if w.PeriodMS < shortestPeriodMS || w.PeriodMS > longestPeriodMS {
		return fmt.Errorf("period_ms is %d: give %d to %d", w.PeriodMS, shortestPeriodMS, longestPeriodMS)
	}
	if len(w.Replicas) > mostReplicas {
		return fmt.Errorf("%d replicas at once: record at most %d", len(w.Replicas), mostReplicas)
	}
	if len(w.Networks) > mostNetworks {
		return fmt.Errorf("%d networks at once: record at most %d", len(w.Networks), mostNetworks)
	}
	for name, subject := range w.Replicas {
		if err := namedProblem("replica", name, subject); err != nil {
			return err
		}
	}
	for name, subject := range w.Networks {
		if err := namedProblem("network", name, subject); err != nil {
			return err
		}
		if subject.Container != "" {
			return fmt.Errorf("network %s: give its \"group\"; a container's network is recorded with its replica", name)
		}
	}
	return nil
}

func namedProblem(what, name string, subject Subject) error {
	if !replicaName.MatchString(name) {
		return fmt.Errorf("%.200q is no name of a %s: give letters, digits and ._/:-", name, what)
	}
	if err := subject.Problem(); err != nil {
		return fmt.Errorf("%s %s: %w", what, name, err)
	}
	return nil
}

func (w Wanted) period() time.Duration { return time.Duration(w.PeriodMS) * time.Millisecond }

// open opens all that is there of what is wanted.
func (h *Host) open(ctx context.Context, wanted Wanted) (set, error) {
	replicas, err := h.openReplicas(ctx, wanted.Replicas)
	if err != nil {
		return set{}, err
	}
	all := h.openNode()
	all.join(replicas)
	all.join(h.openNetworks(wanted.Networks))
	return all, nil
}

// Recorder keeps the recordings of a host. Safe for concurrent use.
type Recorder struct {
	host *Host

	mu         sync.Mutex
	recordings map[string]*Recording
	scraped    set // for /metrics; opened when first asked for
	scrape     reading
}

// NewRecorder has no recordings yet.
func NewRecorder(host *Host) *Recorder {
	return &Recorder{host: host, recordings: map[string]*Recording{}}
}

// Begin starts a recording and gives its id. It is thrown away after an hour.
func (r *Recorder) Begin(ctx context.Context, wanted Wanted) (string, error) {
	all, err := r.host.open(ctx, wanted)
	if err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.recordings) >= mostRecordings {
		all.close()
		return "", errTooMany
	}
	id := rand.Text()
	r.recordings[id] = begin(wanted.period(), all, mostTableBytes)
	time.AfterFunc(recordingKept, func() { r.Drop(id) })
	return id, nil
}

// End stops a recording and gives its file, again and again until it is dropped; false if there is none of that id.
func (r *Recorder) End(id string) (*chunks, bool, error) {
	r.mu.Lock()
	recording := r.recordings[id]
	r.mu.Unlock()
	if recording == nil {
		return nil, false, nil
	}
	file, err := recording.close()
	return file, true, err
}

// Drop stops a recording and forgets it; false if there is none of that id.
func (r *Recorder) Drop(id string) bool {
	r.mu.Lock()
	recording := r.recordings[id]
	delete(r.recordings, id)
	r.mu.Unlock()
	if recording == nil {
		return false
	}
	recording.Drop()
	return true
}

// now reads the node, and gives what was read last of the replicas that are being recorded.
func (r *Recorder) now() []point {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.scraped.absent == nil {
		r.scraped = r.host.openNode()
	}
	r.scraped.read(&r.scrape)
	points := slices.Clone(r.scrape.points)
	for _, recording := range r.recordings {
		points = recording.replicas(points)
	}
	return points
}

// Close throws everything away.
func (r *Recorder) Close() {
	r.mu.Lock()
	ids := slices.Collect(maps.Keys(r.recordings))
	r.mu.Unlock()
	for _, id := range ids {
		r.Drop(id)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.scraped.close()
	r.scraped = set{}
}
