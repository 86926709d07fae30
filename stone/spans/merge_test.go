package spans

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// runs puts spans into a file as sorted pieces of these lengths and returns the pieces and all spans, sorted.
func runs(t *testing.T, lengths ...int) (all []piece, sorted []span) {
	t.Helper()
	var file []byte
	random := rand.New(rand.NewPCG(3, 4))
	for _, length := range lengths {
		some := make([]span, length)
		for i := range some {
			some[i] = span{traceHigh: random.Uint64N(3), traceLow: random.Uint64(), start: random.Int64N(9), id: random.Uint64(), kind: 2}
		}
		slices.SortFunc(some, func(a, b span) int { return compare(&a, &b) })
		all = append(all, piece{offset: int64(len(file)), spans: int64(length)})
		for i := range some {
			file = some[i].append(file)
		}
		sorted = append(sorted, some...)
	}
	for i := range all {
		all[i].file = bytes.NewReader(file)
	}
	slices.SortFunc(sorted, func(a, b span) int { return compare(&a, &b) })
	return all, sorted
}

func TestMerge(t *testing.T) {
	several := make([]int, mostAtOnce+50) // more than at once
	for i := range several {
		several[i] = i % 3
	}
	for _, lengths := range [][]int{nil, {0}, {5}, {3, 0, 4, 1}, {10_000, 1, 5000}, several} {
		all, want := runs(t, lengths...)
		var got []span
		scratch := filepath.Join(t.TempDir(), "scratch")
		err := merge(all, scratch, func(s *span) error {
			got = append(got, *s)
			return nil
		})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%d pieces: %d spans, %v; want %d", len(lengths), len(got), err, len(want))
		}
		if _, err := os.Stat(scratch); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", scratch, err)
		}
	}
}

func TestAPieceThatIsCutOffIsNoticed(t *testing.T) {
	all, _ := runs(t, 5)
	all[0].spans = 7
	if err := merge(all, "", func(*span) error { return nil }); err == nil {
		t.Error("a piece with two spans less than it should have was merged")
	}
}

func TestRecordsHoldAllOfASpan(t *testing.T) {
	var s, back span
	for i := range reflect.TypeFor[span]().NumField() { // each field another value
		switch field := reflect.ValueOf(&s).Elem().Field(i); {
		case s.traceHigh == 0:
			s = span{1 << 63, 2, 3, 1<<64 - 1, 1 << 62, unfinished, 4, 5, 6, 7, 1<<32 - 1, 8, 9}
		case field.IsZero():
			t.Errorf("the %d-th field is not tested", i)
		}
	}
	record := s.append(nil)
	if back.read(record); back != s || len(record) != recordBytes {
		t.Errorf("%+v became %+v in %d bytes", s, back, len(record))
	}
}

// written makes a file of two pieces with three spans, as a killed process leaves it, and returns its bytes.
func written(t testing.TB, path string) []byte {
	t.Helper()
	out, err := createPieces(path)
	if err != nil {
		t.Fatal(err)
	}
	n := newNames()
	for i, names := range [][]string{{"rate", "GetRates"}, {"geo"}} {
		first := n.of([]byte(names[0]))
		n.of([]byte(names[len(names)-1]))
		some := []span{{traceLow: uint64(9 - i), id: 1, service: first}, {traceLow: 20, id: 2, parent: 1, service: first}}
		if err := out.add(some[:2-i], n.text, Counts{Recording: true, Received: 5, Written: int64(2 + i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.file.Close(); err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Wherever a write was cut off, what was whole before is there.
func TestPiecesCutOffAtEveryByte(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spans.parquet"+PiecesSuffix)
	whole := written(t, path)
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	last := int64(3)
	for length := len(whole); length >= len(piecesHead); length-- {
		if err := file.Truncate(int64(length)); err != nil {
			t.Fatal(err)
		}
		_, _ = file.Seek(0, 0)
		all, _, counts, err := readPieces(file)
		spans := int64(0)
		for _, piece := range all {
			spans += piece.spans
		}
		if err != nil || spans > counts.Written || spans > last || length == len(whole) && spans != 3 {
			t.Errorf("%d of %d bytes: %d spans, %+v, %v", length, len(whole), spans, counts, err)
		}
		last = spans
	}
	if last != 0 {
		t.Errorf("a file without a piece has %d spans", last)
	}
}

func TestRecover(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "trials", "1", "spans.parquet")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	whole := written(t, file+PiecesSuffix)
	for cut, spans := range []int{3, 2} {
		if err := os.WriteFile(file+PiecesSuffix, whole[:len(whole)-cut], 0o644); err != nil {
			t.Fatal(err)
		}
		var found []Counts
		err := Recover(folder, func(at string, counts Counts) {
			if at != file {
				t.Errorf("made %s", at)
			}
			found = append(found, counts)
		})
		all := rows(t, file)
		if err != nil || len(found) != 1 || len(all) != spans || !slices.IsSortedFunc(all, byTraceAndStart) {
			t.Fatalf("%d spans, %+v, %v", len(all), found, err)
		}
		c := found[0]
		if c.Written != int64(spans) || !c.Recovered || c.Recording || c.Received != 5 || *c.Traces != int64(spans) || all[0].Service != []string{"geo", "rate"}[cut] {
			t.Errorf("%+v, %+v", c, all)
		}
		if _, err := os.Stat(file + PiecesSuffix); !os.IsNotExist(err) {
			t.Errorf("the pieces are still there: %v", err)
		}
	}
}

func TestRecoverLeavesAloneWhatIsNotItsOwn(t *testing.T) {
	folder := t.TempDir()
	running, file := NewRecorder(small, nil), filepath.Join(folder, "running.parquet")
	if err := running.Begin(file, 0); err != nil {
		t.Fatal(err)
	}
	odd := filepath.Join(folder, "odd"+PiecesSuffix)
	if err := os.WriteFile(odd, []byte("something else"), 0o644); err != nil {
		t.Fatal(err)
	}
	written(t, filepath.Join(folder, "killed"+PiecesSuffix))
	var recovered []string
	err := Recover(folder, func(file string, _ Counts) { recovered = append(recovered, filepath.Base(file)) })
	if err == nil || !strings.Contains(err.Error(), odd) || !slices.Equal(recovered, []string{"killed"}) {
		t.Errorf("recovered %v, %v", recovered, err)
	}
	if _, err := os.Stat(odd); err != nil {
		t.Error(err)
	}
	end(t, running)
}

// No file of pieces, however damaged, does harm: what it seems to have can be read or is noticed.
func FuzzPieces(f *testing.F) {
	path := filepath.Join(f.TempDir(), "seed")
	whole := written(f, path)
	f.Add(whole)
	f.Add(whole[:len(whole)-1])
	f.Add(binary.LittleEndian.AppendUint64([]byte(piecesHead+"n"), 1<<60))
	folder := f.TempDir()
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(folder, "x"+PiecesSuffix)
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		all, n, _, err := readPieces(file)
		if err != nil {
			return
		}
		err = merge(all, path+".scratch", func(s *span) error {
			s.row(n)
			return nil
		})
		if err != nil {
			t.Errorf("%d pieces that are whole cannot be merged: %v", len(all), err)
		}
	})
}
