package node

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"loadstone.dev/stone/node/counters"
)

// asJSON reads what comes from a node.
func asJSON[T any](t *testing.T, text []byte) (value T) {
	t.Helper()
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value
}

func TestAWatch(t *testing.T) {
	limited(t)
	state := t.TempDir()
	c := startNode(t, state)
	group := *deploy(t, c, state, "hotel").Group
	c.must("spawn", m{"deployment": "hotel", "name": "a", "argv": []string{"sleep", "1000"}}, nil)
	args := m{"period_ms": 20, "replicas": m{"a": m{"group": group + "/a"}, "b": m{"group": group + "/b"}}, "cores": []int{0}}
	watch := c.send("watch", args, nil)
	watching := asJSON[Watching](t, c.next().Event)
	if watching.ID != watch || watching.Absent["replica:b"] == "" || watching.Absent["replica:a"] != "" || time.Since(time.Unix(0, watching.BegunNS)) > time.Minute {
		t.Errorf("%+v", watching)
	}
	time.Sleep(100 * time.Millisecond)
	unwatch := c.send("unwatch", m{"id": watch}, nil)
	var file []byte
	for answered := 0; answered < 2; {
		answer := c.next()
		switch {
		case answer.Error != nil:
			t.Fatalf("%+v", *answer.Error)
		case answer.Event != nil:
			file = append(file, answer.payload...)
			continue
		case *answer.ID == watch:
			conformsAnswer(t, "watch", args, answer)
			watched := asJSON[counters.Summary](t, answer.OK)
			rows, err := parquet.Read[struct {
				Subject string `parquet:"subject"`
			}](bytes.NewReader(file), int64(len(file)))
			if err != nil || len(rows) != watched.Rows || watched.Readings < 2 || watched.Stopped != "" || watched.Absent["replica:b"] == "" {
				t.Errorf("%d rows, %d bytes, %+v, %v", len(rows), len(file), watched, err)
			}
		case *answer.ID == unwatch:
			conformsAnswer(t, "unwatch", m{"id": watch}, answer)
		}
		answered++
	}
	c.fails("unwatch", m{"id": watch}, Missing, "is no watch that runs")
	c.fails("watch", m{"period_ms": 1}, Input, "period_ms is 1: give 10 to 60000")
	again := c.send("watch", args, nil)
	c.next()
	c.send("cancel", m{"id": again}, nil)
	for range 2 {
		if answer := c.next(); *answer.ID == again && (answer.Error == nil || answer.Error.Kind != Canceled) {
			t.Errorf("%+v", answer)
		}
	}
}
