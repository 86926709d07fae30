package counters

import (
	"context"
	"maps"
	"strings"
	"sync"
)

// Value is one number: a metric of a subject, as it is now.
type Value struct {
	Subject, Metric string
	Value           float64
}

// Live makes single readings of a machine and some of its replicas. It keeps open what it reads. Safe for concurrent
// use.
type Live struct {
	host *Host

	mu       sync.Mutex
	set      set
	replicas map[string]Subject
	now      reading
}

// Live has opened nothing yet.
func (h *Host) Live() *Live { return &Live{host: h} }

// Read makes a reading. Replicas that were not there at the last are searched for again.
func (l *Live) Read(ctx context.Context, replicas map[string]Subject) ([]Value, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.set.absent == nil || !maps.Equal(replicas, l.replicas) || l.lacksReplicas() {
		opened, err := l.host.open(ctx, Wanted{Replicas: replicas})
		if err != nil {
			return nil, err
		}
		l.set.close()
		l.set, l.replicas = opened, maps.Clone(replicas)
	}
	l.set.read(&l.now)
	values := make([]Value, len(l.now.points))
	for i, point := range l.now.points {
		values[i] = Value{point.subject, point.metric, point.value}
	}
	return values, nil
}

func (l *Live) lacksReplicas() bool {
	for family := range l.set.absent {
		if strings.HasPrefix(family, "replica:") {
			return true
		}
	}
	return false
}

// Close closes what is open. It may be called twice.
func (l *Live) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.set.close()
	l.set = set{}
}
