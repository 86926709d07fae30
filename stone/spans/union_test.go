package spans

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

// partOf writes a receiver's file of these rows.
func partOf(t *testing.T, rows []Row, counts Counts) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "part.parquet")
	slices.SortFunc(rows, func(a, b Row) int { return compareRows(&a, &b) })
	_, err := write(file, counts, func(add func(Row) error) error {
		for _, row := range rows {
			if err := add(row); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// drawn makes rows of few traces, the ends of which decide the receiver unless split.
func drawn(random *rand.Rand, spans, receivers int, split bool) (parts [][]Row, all []Row) {
	parts = make([][]Row, receivers)
	for i := range spans {
		row := Row{
			SpanID: uint64(i + 1), ParentID: random.Uint64N(3), Service: fmt.Sprintf("s%d", random.IntN(5)),
			Replica: fmt.Sprintf("r%d", random.IntN(9)), Operation: fmt.Sprintf("GET /%d", random.IntN(3000)),
			Start: random.Int64N(50), Duration: random.Int64N(1000) - 1, Kind: uint32(random.IntN(6)), Status: uint32(random.IntN(3)),
		}
		row.TraceID[0], row.TraceID[15] = 1, byte(random.IntN(100))
		to := int(row.TraceID[15]) % receivers
		if split {
			to = random.IntN(receivers)
		}
		parts[to] = append(parts[to], row)
		all = append(all, row)
	}
	slices.SortFunc(all, func(a, b Row) int { return compareRows(&a, &b) })
	return parts, all
}

func TestTheFilesOfSeveralReceiversBecomeOneWithAllSpans(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for _, spans := range []int{0, 1, 7, 5000, 2*rowsPerGroup + 1} {
		for _, split := range []bool{false, true} {
			parts, want := drawn(random, spans, 3, split)
			var files []string
			for i, part := range parts {
				produced, dropped := int64(len(part)+1), int64(1)
				files = append(files, partOf(t, part, Counts{
					Received: int64(len(part)), Refused: int64(i), Quiet: true, Produced: &produced, Dropped: &dropped,
					Replicas: map[string]Replica{"rate-1": {int64(len(part)), &produced, &dropped}},
				}))
			}
			out := filepath.Join(t.TempDir(), "spans.parquet")
			counts, err := Merge(out, files)
			if err != nil {
				t.Fatal(err)
			}
			if got := rows(t, out); !slices.Equal(got, want) {
				t.Errorf("%d rows of %d, or others", len(got), len(want))
			}
			traces, roots := map[[16]byte]bool{}, int64(0)
			for _, row := range want {
				traces[row.TraceID] = true
				if row.ParentID == 0 {
					roots++
				}
			}
			n := int64(spans)
			if *counts.Traces != int64(len(traces)) || *counts.Roots != roots || counts.Received != n || counts.Written != n || counts.Refused != 3 {
				t.Errorf("counts of %d spans: %+v", spans, counts)
			}
			if replica := counts.Replicas["rate-1"]; *counts.Produced != n+3 || *counts.Dropped != 3 || replica.Received != n || *replica.Produced != n+3 {
				t.Errorf("what senders reported of %d spans: %+v", spans, counts)
			}
			left, _ := filepath.Glob(out + ".*")
			if text, _ := json.Marshal(counts); string(text) != lookup(t, out) || left != nil {
				t.Errorf("the file says %s, and beside it are %v", lookup(t, out), left)
			}
		}
	}
}

func lookup(t *testing.T, file string) string {
	t.Helper()
	found, counts, err := openPart(file)
	if err != nil {
		t.Fatal(err)
	}
	defer found.file.Close()
	text, _ := json.Marshal(counts)
	return string(text)
}

func TestOneReceiverThatWasNotQuietOrWasKilledMarksTheWhole(t *testing.T) {
	whole := partOf(t, nil, Counts{Quiet: true})
	for _, other := range []Counts{{Quiet: false}, {Quiet: true, Recovered: true}} {
		counts, err := Merge(filepath.Join(t.TempDir(), "spans.parquet"), []string{whole, partOf(t, nil, other)})
		if err != nil || counts.Quiet != other.Quiet || counts.Recovered != other.Recovered {
			t.Errorf("%+v, %v", counts, err)
		}
	}
}

func TestEveryCountIsAddedOrMadeAnew(t *testing.T) {
	var one Counts
	anew := []string{"Recording", "Written", "Traces", "Roots"}
	of := reflect.ValueOf(&one).Elem()
	for i := range of.NumField() {
		if of.Field(i).Kind() == reflect.Int64 {
			of.Field(i).SetInt(int64(i + 1))
		}
	}
	sum := Counts{Replicas: map[string]Replica{}}
	sum.plus(one)
	sum.plus(one)
	for i := range of.NumField() {
		name := of.Type().Field(i).Name
		if field := reflect.ValueOf(sum).Field(i); field.Kind() == reflect.Int64 && !slices.Contains(anew, name) && field.Int() != 2*int64(i+1) {
			t.Errorf("%s is %d", name, field.Int())
		}
	}
}

func TestWhatIsNoFileOfSpansIsNotMerged(t *testing.T) {
	folder := t.TempDir()
	bad := filepath.Join(folder, "bad.parquet")
	if err := os.WriteFile(bad, []byte("PAR1 and no more"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(folder, "spans.parquet")
	for _, files := range [][]string{nil, {bad}, {filepath.Join(folder, "none")}} {
		if _, err := Merge(out, files); !errors.Is(err, ErrBad) {
			t.Errorf("%v: %v", files, err)
		}
		if _, err := os.Stat(out); !os.IsNotExist(err) {
			t.Errorf("%v made a file", files)
		}
	}
}
