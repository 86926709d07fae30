package counters

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parquet-go/parquet-go"
)

// fake is a family that tests make up.
type fake struct {
	tell   func(*reading) error
	closed int
}

func (f *fake) read(r *reading) error { return f.tell(r) }
func (f *fake) close()                { f.closed++ }

func setOf(family string, tell func(*reading) error) (set, *fake) {
	collector := &fake{tell: tell}
	made := set{absent: map[string]string{}}
	made.add(family, collector)
	return made, collector
}

// contents are the rows of a file and its metadata.
func contents(t *testing.T, file *chunks) ([]row, map[string]string) {
	t.Helper()
	var text bytes.Buffer
	if _, err := file.WriteTo(&text); err != nil || text.Len() != file.length {
		t.Fatalf("%d of %d bytes, %v", text.Len(), file.length, err)
	}
	opened, err := parquet.OpenFile(bytes.NewReader(text.Bytes()), int64(text.Len()))
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]row, opened.NumRows())
	reader := parquet.NewGenericReader[row](opened)
	defer reader.Close()
	if count, err := reader.Read(rows); count != len(rows) {
		t.Fatalf("read %d of %d rows: %v", count, len(rows), err)
	}
	metadata := map[string]string{}
	for _, pair := range opened.Metadata().KeyValueMetadata {
		metadata[pair.Key] = pair.Value
	}
	return rows, metadata
}

func closed(t *testing.T, r *Recording) *chunks {
	t.Helper()
	file, err := r.close()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// Readings are made at absolute times; one that takes longer than a period costs those that it ran over.
func TestTicks(t *testing.T) {
	var file *chunks
	var began time.Time
	var collector *fake
	synctest.Test(t, func(t *testing.T) {
		readings := 0
		opened, made := setOf("family", func(r *reading) error {
			readings++
			r.put("node", "load1", float64(readings))
			r.put("cpu:0", "frequency_hertz", 1e9)
			switch readings {
			case 2:
				time.Sleep(2500 * time.Millisecond)
			case 3:
				time.Sleep(300 * time.Millisecond)
			}
			return nil
		})
		opened.absent["power"] = "none"
		began, collector = time.Now(), made
		r := begin(time.Second, opened, mostTableBytes)
		time.Sleep(6500 * time.Millisecond)
		file = closed(t, r)
		if again := closed(t, r); again != file {
			t.Error("ended again, it is another file")
		}
	})
	rows, metadata := contents(t, file)
	var times []float64
	var values []float64
	for _, row := range rows {
		if row.Subject == "node" && row.Metric == "load1" {
			times = append(times, float64(row.Time-began.UnixNano())/1e9)
			values = append(values, row.Value)
		}
	}
	if want := []float64{0, 1, 4, 5, 6, 6.5}; !slices.Equal(times, want) || len(rows) != 2*len(want) {
		t.Errorf("read at %v, %d rows", times, len(rows))
	}
	if want := []float64{1, 2, 3, 4, 5, 6}; !slices.Equal(values, want) {
		t.Errorf("values %v", values)
	}
	delete(metadata, "host")
	if want := map[string]string{"absent": `{"power":"none"}`, "period_ms": "1000", "readings": "6", "skipped": "2"}; !maps.Equal(metadata, want) {
		t.Errorf("metadata %v", metadata)
	}
	if collector.closed != 1 {
		t.Errorf("closed %d times", collector.closed)
	}
}

func TestARecordingThatEndsAtOnceHasItsFirstAndItsLastReading(t *testing.T) {
	opened, _ := setOf("family", func(r *reading) error { r.put("node", "load1", 1); return errors.New("half of it") })
	rows, metadata := contents(t, closed(t, begin(time.Hour, opened, mostTableBytes)))
	if len(rows) != 2 || rows[0].Value != 1 || metadata["absent"] != `{"family":"half of it"}` {
		t.Errorf("%v, %v", rows, metadata)
	}
}

// What is full stops by itself, says so, and loses nothing that it has read.
func TestARecordingThatIsFull(t *testing.T) {
	const most, perReading = 3 << 20, 10_000
	random := rand.New(rand.NewPCG(1, 2))
	sum := 0.0
	opened, collector := setOf("family", func(r *reading) error {
		for i := range perReading {
			value := random.Float64() // does not compress
			sum += value
			r.put("cpu:"+string(rune('a'+i%26)), "metric "+strings.Repeat("i", i/26%50), value)
		}
		return nil
	})
	var file *chunks
	synctest.Test(t, func(t *testing.T) {
		r := begin(time.Millisecond, opened, most)
		<-r.ended
		file = closed(t, r)
	})
	rows, metadata := contents(t, file)
	readings := len(rows) / perReading
	if want := `its 3 MB of memory were full after ` + metadata["readings"] + ` readings`; metadata["stopped"] != want {
		t.Errorf("stopped: %q, want %q", metadata["stopped"], want)
	}
	if text, _ := json.Marshal(readings); string(text) != metadata["readings"] || readings < 20 || file.length > most+1<<20 {
		t.Errorf("%d readings, %d bytes, %v", readings, file.length, metadata)
	}
	for _, row := range rows {
		sum -= row.Value
	}
	if sum < -1e-6 || sum > 1e-6 || collector.closed != 1 {
		t.Errorf("%v is missing, closed %d times", sum, collector.closed)
	}
}

// In each group of rows a series is in one piece, in order of time.
func TestGroupsAreSortedBySeries(t *testing.T) {
	table := newTable()
	for time := range int64(3) {
		points := []point{{series{"b", "y"}, 1}, {series{"a", "x"}, float64(time)}}
		if err := table.add(time, points[:2-time%2]); err != nil {
			t.Fatal(err)
		}
	}
	file, err := table.end(nil)
	if err != nil {
		t.Fatal(err)
	}
	rows, _ := contents(t, file)
	if want := []row{{0, "b", "y", 1}, {1, "b", "y", 1}, {2, "b", "y", 1}, {0, "a", "x", 0}, {2, "a", "x", 2}}; !slices.Equal(rows, want) {
		t.Errorf("got %v", rows)
	}
}

// A recording that nobody ends is thrown away, and frees the place of the next.
func TestForgottenRecordings(t *testing.T) {
	host, _ := machine(t, "virtual.txt")
	synctest.Test(t, func(t *testing.T) {
		recorder := NewRecorder(host)
		kept := func() int {
			recorder.mu.Lock()
			defer recorder.mu.Unlock()
			return len(recorder.recordings)
		}
		for range mostRecordings {
			if _, err := recorder.Begin(t.Context(), Wanted{PeriodMS: 60_000}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		if _, err := recorder.Begin(t.Context(), Wanted{PeriodMS: 60_000}); err != errTooMany {
			t.Errorf("one more: %v", err)
		}
		time.Sleep(recordingKept - mostRecordings*time.Minute + time.Second)
		if kept() != mostRecordings-1 {
			t.Errorf("%d recordings after an hour", kept())
		}
		if _, err := recorder.Begin(t.Context(), Wanted{PeriodMS: 60_000}); err != nil {
			t.Errorf("in its place: %v", err)
		}
		recorder.Close()
		if kept() != 0 {
			t.Errorf("%d recordings are left", kept())
		}
		time.Sleep(2 * recordingKept) // the reminders of those that are gone
	})
}
