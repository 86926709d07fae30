package spans

// Counts says what became of the spans of a trial: in all of them a span that was sent twice counts twice.
type Counts struct {
	Recording    bool               `json:"recording"`     // whether a trial runs
	Received     int64              `json:"received"`      // taken, and the sender has a good answer
	Written      int64              `json:"written"`       // on disk; at the end, in the file
	Refused      int64              `json:"refused"`       // not taken, for want of room; senders try these again
	Unreadable   int64              `json:"unreadable"`    // without valid ids or times, or in unread requests, as far as they could be counted
	Unread       int64              `json:"unread"`        // requests that are lost for good: no OTLP, too large, of another type, cut off
	Outside      int64              `json:"outside"`       // came between trials, or ended before this one began
	Unnamed      int64              `json:"unnamed"`       // written with Others for a name, as there were too many
	Traces       *int64             `json:"traces"`        // in the file; null before the end
	Roots        *int64             `json:"roots"`         // spans without a parent in the file; null before the end
	Produced     *int64             `json:"produced"`      // ended, by the senders' counters; null: no sender has any
	Dropped      *int64             `json:"dropped"`       // given up by those who tell
	Quiet        bool               `json:"quiet"`         // whether no span came any more when it ended
	Recovered    bool               `json:"recovered"`     // the receiver was killed: there may have been more spans
	Replicas     map[string]Replica `json:"replicas"`      // by the name that they tell, else by that of the spans
	Forwarded    int64              `json:"forwarded"`     // sent on, and taken there
	NotForwarded int64              `json:"not_forwarded"` // not sent on: no room to wait, no answer, or refused there
}

// Replica says what one sender's spans came to in a trial. Null: it does not tell.
type Replica struct {
	Received int64  `json:"received"`
	Produced *int64 `json:"produced"`
	Dropped  *int64 `json:"dropped"`
}

// Sender is what a request's metadata tells about its sender.
type Sender struct {
	Instance string // stone-instance; empty: it tells nothing
	Produced int64  // stone-spans-produced: spans that the process has ended so far
	Dropped  int64  // stone-spans-dropped: and given up
	Address  string // where its connection comes from
}

// mostReplicas are distinguished: names come from outside.
const (
	mostReplicas    = 10_000
	mostSenderBytes = 256 // longest name of a sender; the rest is cut off, as metadata may have megabytes
)

// ledger keeps the counters that senders report. Their numbers count from the start of a process, those of a trial from its begin.
type ledger struct {
	last map[string]Sender
}

// tell takes note of a sender's numbers and returns by how much they have grown since it was last heard of.
//
// A smaller number is that of another process under the same name, which began again from 0, or of a request that was
// overtaken by a later one. The latter came over the same connection; the former cannot.
func (l *ledger) tell(s Sender) (produced, dropped int64) {
	last, known := l.last[s.Instance]
	switch {
	case !known && len(l.last) >= mostReplicas:
		return 0, 0
	case known && s.Produced < last.Produced && s.Address == last.Address:
		return 0, 0
	case s.Produced < last.Produced:
		last = Sender{}
	}
	l.last[s.Instance] = s
	return s.Produced - last.Produced, max(0, s.Dropped-last.Dropped)
}

// add counts spans of a replica, and the counters that it reported.
func (c *Counts) add(name string, received int64, produced, dropped *int64) {
	of, known := c.Replicas[name]
	if !known && len(c.Replicas) >= mostReplicas {
		return
	}
	of.Received += received
	of.Produced, of.Dropped = sum(of.Produced, produced), sum(of.Dropped, dropped)
	c.Replicas[name] = of
	c.Produced, c.Dropped = sum(c.Produced, produced), sum(c.Dropped, dropped)
}

func sum(a, b *int64) *int64 {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	total := *a + *b
	return &total
}
