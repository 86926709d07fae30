package counters

import (
	"bytes"
	"errors"
	"fmt"
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

// contents are the rows of a file.
func contents(t *testing.T, file []byte) []row {
	t.Helper()
	opened, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]row, opened.NumRows())
	reader := parquet.NewGenericReader[row](opened)
	defer reader.Close()
	if count, err := reader.Read(rows); count != len(rows) {
		t.Fatalf("read %d of %d rows: %v", count, len(rows), err)
	}
	return rows
}

func taken(t *testing.T, r interface{ Take() ([]byte, error) }) []byte {
	t.Helper()
	file, err := r.Take()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// Readings are made at absolute times; one that takes longer than a period costs those that it ran over.
func TestTicks(t *testing.T) {
	var first, last []byte
	var summary Summary
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
		r := begin(time.Second, opened, mostTableBytes, nil)
		time.Sleep(4500 * time.Millisecond)
		first = taken(t, r)
		if again := taken(t, r); again != nil {
			t.Error("taken again at once, there is something")
		}
		time.Sleep(2 * time.Second)
		summary = r.End()
		last = taken(t, r)
	})
	rows := append(contents(t, first), contents(t, last)...)
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
	if summary.Rows != 12 || summary.Readings != 6 || summary.Skipped != 2 || summary.Stopped != "" || summary.Absent["power"] != "none" {
		t.Errorf("summary %+v", summary)
	}
	if collector.closed != 1 {
		t.Errorf("closed %d times", collector.closed)
	}
}

func TestARecordingThatEndsAtOnceHasItsFirstAndItsLastReading(t *testing.T) {
	opened, _ := setOf("family", func(r *reading) error { r.put("node", "load1", 1); return errors.New("half of it") })
	r := begin(time.Hour, opened, mostTableBytes, []int{0})
	summary := r.End()
	rows := contents(t, taken(t, r))
	if len(rows) != 2 || rows[0].Value != 1 || summary.Absent["family"] != "half of it" {
		t.Errorf("%v, %+v", rows, summary)
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
	var file []byte
	var summary Summary
	synctest.Test(t, func(t *testing.T) {
		r := begin(time.Millisecond, opened, most, nil)
		<-r.ended
		summary = r.End()
		file = taken(t, r)
	})
	rows := contents(t, file)
	readings := len(rows) / perReading
	if want := fmt.Sprintf("its 3 MB of memory were full after %d readings", readings); summary.Stopped != want {
		t.Errorf("stopped: %q, want %q", summary.Stopped, want)
	}
	if readings != summary.Readings || len(rows) != summary.Rows || readings < 20 || len(file) > most+1<<20 {
		t.Errorf("%d readings, %d bytes, %+v", readings, len(file), summary)
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
	file, err := table.take()
	if err != nil {
		t.Fatal(err)
	}
	rows := contents(t, file)
	if want := []row{{0, "b", "y", 1}, {1, "b", "y", 1}, {2, "b", "y", 1}, {0, "a", "x", 0}, {2, "a", "x", 2}}; !slices.Equal(rows, want) {
		t.Errorf("got %v", rows)
	}
}
