package spans

import (
	"strings"
	"testing"
	"unsafe"
)

func TestWhatSendersTellAddsUp(t *testing.T) {
	r := NewRecorder(small, nil)
	empty := request(t, nil)
	tell := func(name, address string, produced, dropped int64) {
		take(t, r, empty, Sender{Instance: name, Produced: produced, Dropped: dropped, Address: address})
	}
	tell("rate-1", "a", 100, 10) // before the trial
	begin(t, r)
	tell("rate-1", "a", 150, 11)
	tell("rate-1", "a", 140, 11) // overtaken by the one before
	tell("rate-1", "a", 160, 11)
	tell("geo-1", "b", 30, 0) // first heard of: all of it is the trial's
	tell("rate-1", "c", 5, 1) // another process: 0 to 5
	tell("rate-1", "c", 25, 4)
	tell("rate-1", "d", 30, 4) // the same process over another connection
	take(t, r, request(t, nil, made(1, 1)), Sender{})
	counts := end(t, r)
	rate, geo := counts.Replicas["rate-1"], counts.Replicas["geo-1"]
	if *rate.Produced != 60+30 || *rate.Dropped != 1+4 || *geo.Produced != 30 || *geo.Dropped != 0 {
		t.Errorf("rate %d, %d, geo %d, %d", *rate.Produced, *rate.Dropped, *geo.Produced, *geo.Dropped)
	}
	if *counts.Produced != 120 || *counts.Dropped != 5 || counts.Replicas[""].Produced != nil || counts.Replicas[""].Received != 1 {
		t.Errorf("%+v", counts)
	}
	begin(t, r)
	tell("rate-1", "d", 31, 4)
	if counts := end(t, r); *counts.Produced != 1 || *counts.Dropped != 0 || len(counts.Replicas) != 1 {
		t.Errorf("the next trial: %+v", counts)
	}
}

func TestALongNameOfASenderIsCut(t *testing.T) {
	long := strings.Repeat("n", 1<<20)
	read := sender("a", func(key string) string {
		if key == InstanceKey {
			return long
		}
		return "1"
	})
	if len(read.Instance) != mostSenderBytes {
		t.Errorf("%d bytes are kept of the name of a sender, want %d", len(read.Instance), mostSenderBytes)
	}
	if unsafe.StringData(read.Instance) == unsafe.StringData(long) {
		t.Error("the part that is kept keeps the whole text in memory")
	}
}

func TestReplicasAreCountedByTheirSpansWithoutTheirCounters(t *testing.T) {
	r, _ := began(t, small)
	both := append(request(t, named("rate", "rate-1"), made(1, 1), made(1, 2)), request(t, named("geo", ""), made(1, 3))...)
	take(t, r, both, Sender{})
	take(t, r, request(t, named("rate", "rate-2"), made(1, 4)), Sender{})
	counts := end(t, r)
	for name, received := range map[string]int64{"rate-1": 2, "geo": 1, "rate-2": 1} {
		if got := counts.Replicas[name]; got.Received != received || got.Produced != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if len(counts.Replicas) != 3 || counts.Produced != nil {
		t.Errorf("%+v", counts)
	}
}

func TestMetadataThatIsNoNumberTellsNothing(t *testing.T) {
	for _, produced := range []string{"", "x", "-1", "1e3"} {
		reported := map[string]string{InstanceKey: "rate-1", ProducedKey: produced, DroppedKey: "1"}
		if got := sender("a", func(key string) string { return reported[key] }); got != (Sender{}) {
			t.Errorf("%q: %+v", produced, got)
		}
	}
	reported := map[string]string{InstanceKey: "rate-1", ProducedKey: "5", DroppedKey: "?"}
	if got := sender("a", func(key string) string { return reported[key] }); got != (Sender{"rate-1", 5, 0, "a"}) {
		t.Errorf("%+v", got)
	}
}

func TestReplicasAreBounded(t *testing.T) {
	l, counts := ledger{map[string]Sender{}}, Counts{Replicas: map[string]Replica{}}
	for i := range mostReplicas + 5 {
		name := string(rune('a'+i%26)) + string(rune(0x4e00+i))
		produced, dropped := l.tell(Sender{Instance: name, Produced: 1})
		counts.add(name, 1, &produced, &dropped)
	}
	if len(l.last) != mostReplicas || len(counts.Replicas) != mostReplicas || *counts.Produced != mostReplicas {
		t.Errorf("%d and %d replicas, %d produced", len(l.last), len(counts.Replicas), *counts.Produced)
	}
}
