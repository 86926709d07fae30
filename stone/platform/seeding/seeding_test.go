package seeding_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/seeding"
	"loadstone.dev/stone/platform/servertest"
)

// app has no documents, and returns what a test wants.
type app struct {
	seeding.Lists
	redis    []string
	rows     []seeding.Row
	findings []seeding.Finding
	during   func(*seeding.Opened)
}

func (a app) Keeps() seeding.Stores { return seeding.Stores{Redis: a.redis} }

func (a app) Fill(_ context.Context, in *seeding.Opened) ([]seeding.Row, error) {
	if a.during != nil {
		a.during(in)
	}
	return a.rows, nil
}
func (a app) Verify(context.Context, *seeding.Opened) ([]seeding.Row, error) { return a.rows, nil }
func (a app) Count(context.Context, *seeding.Opened) ([]seeding.Row, error)  { return a.rows, nil }
func (a app) Check(context.Context, *seeding.Opened) ([]seeding.Finding, error) {
	return a.findings, nil
}

func TestWhatIsOK(t *testing.T) {
	same, less, other := seeding.Row{Want: 1, Have: 1}, seeding.Row{Want: 2, Have: 1}, seeding.Row{Want: 1, Have: 1, Differing: 1}
	good, bad := seeding.Finding{OK: true, Want: 2, Have: 1}, seeding.Finding{}
	for name, example := range map[string]struct {
		mode seeding.Mode
		app  app
		want bool
	}{
		"filled":              {seeding.Fill, app{rows: []seeding.Row{same, same}}, true},
		"filled, one less":    {seeding.Fill, app{rows: []seeding.Row{same, less}}, false},
		"verified, one less":  {seeding.Verify, app{rows: []seeding.Row{less, same}}, false},
		"verified, one other": {seeding.Verify, app{rows: []seeding.Row{other}}, false},
		"counted, one less":   {seeding.Count, app{rows: []seeding.Row{less}}, true},
		"checked":             {seeding.Check, app{rows: []seeding.Row{less}, findings: []seeding.Finding{good}}, true},
		"checked, one wrong":  {seeding.Check, app{findings: []seeding.Finding{good, bad}}, false},
	} {
		result, err := seeding.Run(t.Context(), seeding.Plan{}, example.app, example.mode)
		check(t, err)
		if result.OK != example.want || (example.mode == seeding.Check) != (len(result.Rows) > 0) || result.Stores == nil || result.Rows == nil {
			t.Errorf("%s: %+v, want ok %v", name, result, example.want)
		}
	}
}

func TestOnlyWhatRemembersIsEmptied(t *testing.T) {
	plan := seeding.Plan{Redis: map[string]string{"redis-own": servertest.Redis(t), "redis-cache": servertest.Redis(t)}}
	sizes := func(in *seeding.Opened) (own, cache int64) {
		return in.Redis["redis-own"].DBSize(t.Context()).Val(), in.Redis["redis-cache"].DBSize(t.Context()).Val()
	}
	filled := app{redis: []string{"redis-own"}, during: func(in *seeding.Opened) {
		for _, client := range in.Redis {
			check(t, client.Set(t.Context(), "key", "value", 0).Err())
		}
	}}
	_, err := seeding.Run(t.Context(), plan, filled, seeding.Fill)
	check(t, err)
	filled.during = func(in *seeding.Opened) {
		if own, cache := sizes(in); own != 1 || cache != 0 {
			t.Errorf("%d keys in the store, %d in the cache", own, cache)
		}
	}
	_, err = seeding.Run(t.Context(), plan, filled, seeding.Fill)
	check(t, err)
}

// The first connections to the store break off, as those to one that is just starting.
func TestStoresThatComeLateAreWaitedFor(t *testing.T) {
	const broken = 4
	var connections atomic.Int64
	address := through(t, servertest.Redis(t), func() bool { return connections.Add(1) > broken })
	_, err := seeding.Run(t.Context(), seeding.Plan{Redis: map[string]string{"redis-a": address}}, app{}, seeding.Count)
	if err != nil || connections.Load() <= broken {
		t.Errorf("%v after %d connections", err, connections.Load())
	}
}

func TestAStoreThatDoesNotComeIsNamed(t *testing.T) {
	never := through(t, "127.0.0.1:1", func() bool { return false })
	lists := seeding.Lists{{Location: documents.Location{Service: "geo", Database: "geo", Collection: "geo"}}}
	for says, one := range map[string]struct {
		plan seeding.Plan
		app  seeding.App
	}{
		"store redis-a has not answered for 100ms: ":       {seeding.Plan{Redis: map[string]string{"redis-a": never}}, app{}},
		"cache memcached-a has not answered for 100ms: ":   {seeding.Plan{Caches: map[string]string{"memcached-a": never}}, app{}},
		"store documents-geo has not answered for 100ms: ": {seeding.Plan{Stores: map[string]string{"documents-geo": "postgres://x@" + never}}, lists},
	} {
		one.plan.WaitS = 0.1
		_, err := seeding.Run(t.Context(), one.plan, one.app, seeding.Count)
		if err == nil || errors.Is(err, seeding.ErrPlan) || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "is it running") {
			t.Errorf("%v, want %s", err, says)
		}
	}
}

// through passes connections on while serve says so, and closes the others.
func through(t *testing.T, server string, serve func() bool) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			if !serve() {
				_ = client.Close()
				continue
			}
			upstream, err := net.Dial("tcp", server)
			if err != nil {
				_ = client.Close()
				continue
			}
			go func() { _, _ = io.Copy(upstream, client); _ = upstream.Close() }()
			go func() { _, _ = io.Copy(client, upstream); _ = client.Close() }()
		}
	}()
	return listener.Addr().String()
}

func TestACollectionHasSeveralIndexes(t *testing.T) {
	type person struct {
		ID   int    `json:"id"`
		Name string `json:"name"`
	}
	at := documents.Location{Service: "person", Database: "people", Collection: "person"}
	lists := seeding.Lists{{Location: at, Indexes: []seeding.Index{{Field: "id", Unique: true}, {Field: "name", Unique: true}},
		Documents: []documents.Keyed{{Key: "1", Document: person{1, "Ann"}}}}}
	plan := seeding.Plan{Stores: map[string]string{"documents-person": servertest.Postgres(t)}}
	if result, err := seeding.Run(t.Context(), plan, lists, seeding.Fill); err != nil || !result.OK {
		t.Fatalf("%+v, %v", result, err)
	}
	store, err := documents.Open(t.Context(), plan.Stores["documents-person"])
	check(t, err)
	for _, double := range []person{{1, "Bob"}, {2, "Ann"}} {
		if err := at.In(store).Insert(t.Context(), double); !errors.Is(err, documents.ErrDuplicate) {
			t.Errorf("%+v beside Ann, who is 1: %v", double, err)
		}
	}
	check(t, store.Close(t.Context()))
	if facts, err := json.Marshal(lists.Describe()); err != nil || string(facts) != `{"person":1}` {
		t.Errorf("described as %s, %v", facts, err)
	}
}

func TestProgressIsFewLinesOfJSON(t *testing.T) {
	var out bytes.Buffer
	progress, start := seeding.ProgressTo(&out), time.Now()
	progress.Begin("users", 2_000_000)
	for range 2_000_000 {
		progress.Add(1)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if most := 1 + int(time.Since(start)/(200*time.Millisecond)); len(lines) > most {
		t.Errorf("%d lines, at most %d in that time", len(lines), most)
	}
	last := -1
	for _, line := range lines {
		var report struct {
			What     string
			Done, Of int
		}
		if err := json.Unmarshal([]byte(line), &report); err != nil || report.What != "users" || report.Of != 2_000_000 || report.Done <= last {
			t.Errorf("%s after %d: %v", line, last, err)
		}
		last = report.Done
	}
	if fmt.Sprint(lines[0]) != `{"what":"users","done":0,"of":2000000}` {
		t.Errorf("first line %s", lines[0])
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
