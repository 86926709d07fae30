package schedule

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"

	"loadstone.dev/stone/load/mistake"
)

// traceFile writes a trace into a file of its own.
func traceFile(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func parquetFile[T any](t testing.TB, rows []T) string {
	t.Helper()
	var file bytes.Buffer
	writer := parquet.NewGenericWriter[T](&file, parquet.MaxRowsPerRowGroup(2))
	if _, err := writer.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return traceFile(t, "t.parquet", file.Bytes())
}

func TestTimesOfACSV(t *testing.T) {
	for _, c := range []struct {
		text, column string
		want         []int64
	}{
		{"0\n0.5\n0.75\n", "", []int64{0, 500e6, 750e6}},
		{"1700000000.000000001\n1700000000.000000003\n1700000001\n", "", []int64{0, 2, 999999999}},
		{"time,x\n5,a\n5,b\n 6.25 ,c\n", "", []int64{0, 0, 1250e6}},
		{"\xef\xbb\xbftime\r\n1\r\n2\r\n", "time", []int64{0, 1e9}},
		{"x,\"at, s\"\na,-1.5\n\nb,1e-3\nc,.5", "at, s", []int64{0, 1501e6, 2e9}},
		{"1,2.5,3\n3,4.25\n", "", []int64{0, 2e9}},
		{"0.1234567899\n1.12345678999\n", "", []int64{0, 1e9}},
	} {
		have, err := readTrace(traceFile(t, "t.csv", []byte(c.text)), c.column)
		if err != nil || fmt.Sprint(have) != fmt.Sprint(c.want) {
			t.Errorf("%q: %v, %v; want %v", c.text, have, err, c.want)
		}
	}
}

func TestTimesOfAParquetFile(t *testing.T) {
	at := []time.Time{
		time.Date(2024, 2, 28, 23, 59, 59, 999e6, time.UTC), time.Date(2024, 2, 29, 0, 0, 0, 1e6, time.UTC),
		time.Date(2024, 2, 29, 0, 0, 0, 1e6, time.UTC), time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC), time.Date(2024, 3, 2, 0, 0, 0, 0, time.UTC),
	}
	var want []int64
	type row struct {
		Name   string           `parquet:"name"`
		Nano   int64            `parquet:"nano,timestamp(nanosecond)"`
		Micro  int64            `parquet:"micro,timestamp(microsecond)"`
		Milli  int64            `parquet:"milli,timestamp(millisecond:local)"`
		Float  float64          `parquet:"float"`
		Spark  deprecated.Int96 `parquet:"spark"`
		Nested struct {
			Second int64 `parquet:"second"`
		} `parquet:"nested"`
	}
	var rows []row
	for _, moment := range at {
		want = append(want, moment.UnixNano()-at[0].UnixNano())
		r := row{Nano: moment.UnixNano(), Micro: moment.UnixMicro(), Milli: moment.UnixMilli(), Float: float64(moment.Sub(at[0])) / 1e9}
		midnight := moment.Truncate(24 * time.Hour)
		ofDay := uint64(moment.Sub(midnight))
		r.Spark = deprecated.Int96{uint32(ofDay), uint32(ofDay >> 32), uint32(midnight.Unix()/86400 + 2440588)}
		r.Nested.Second = moment.Unix()
		rows = append(rows, r)
	}
	path := parquetFile(t, rows)
	for _, column := range []string{"nano", "micro", "milli", "float", "spark"} {
		if have, err := readTrace(path, column); err != nil || fmt.Sprint(have) != fmt.Sprint(want) {
			t.Errorf("%s: %v, %v; want %v", column, have, err, want)
		}
	}
	if day, err := fromInt96(deprecated.Int96{5, 0, 2440589}); day != 86400e9+5 || err != nil {
		t.Errorf("5 ns after the first day since 1970 are %d, %v", day, err)
	}
	whole := []int64{0, 1e9, 1e9, at[3].Unix()*1e9 - at[0].Unix()*1e9, at[4].Unix()*1e9 - at[0].Unix()*1e9}
	if have, err := readTrace(path, "nested.second"); err != nil || fmt.Sprint(have) != fmt.Sprint(whole) {
		t.Errorf("nested.second: %v, %v; want %v", have, err, whole)
	}
}

func TestMistakesInTraces(t *testing.T) {
	type texts struct {
		Name string `parquet:"name"`
		Day  int32  `parquet:"day,date"`
		At   *int64 `parquet:"at,optional"`
	}
	table := parquetFile(t, []texts{{"a", 0, new(int64(1))}, {"b", 0, nil}})
	back := parquetFile(t, []struct{ At float64 }{{1}, {3}, {2}})
	far := parquetFile(t, []struct{ At int64 }{{1700000000000000000}, {1700000000000000001}})
	csv := func(text string) string { return traceFile(t, "t.csv", []byte(text)) }
	for _, c := range []struct{ path, column, key, says string }{
		{"/nowhere/t.csv", "", "arrival.file", "no such file"},
		{t.TempDir(), "", "arrival.file", "is a directory"},
		{csv(""), "", "arrival.file", "holds 0 times"},
		{csv("time\n1\n"), "", "arrival.file", "holds 1 times; a trace needs at least two"},
		{csv("1\n3\n2\n"), "", "arrival.file", "line 3: 2 s comes after 3 s; sort the trace by time"},
		{csv("1\n2\nx\n"), "", "arrival.file", `line 3: "x" is not a number of seconds`},
		{csv("1\nNaN\n"), "", "arrival.file", `line 2: "NaN" is not`},
		{csv("1\n2024-01-01\n"), "", "arrival.file", `line 2: "2024-01-01" is not`},
		{csv("1700000000000\n1700000000001\n"), "", "arrival.file", "is not a number of seconds up to 4000000000"},
		{csv("a,b\n1,2\n"), "c", "arrival.column", `"c" is not in the first line, which has: a, b`},
		{csv("a,b\n1,2\n\n3\n"), "b", "arrival.file", "line 4 has 1 columns; the times are in column 2"},
		{csv("a\n\"1\n2\n"), "", "arrival.file", "line"},
		{table, "time", "arrival.column", `"time" is not there; the columns are: name, day, at`},
		{table, "", "arrival.column", `"name" holds STRING`},
		{table, "day", "arrival.column", `"day" holds DATE`},
		{table, "at", "arrival.file", "row 2: is empty; every row needs a time"},
		{back, "", "arrival.file", "row 3: 2 s comes after 3 s"},
		{far, "", "arrival.file", "row 1: 1700000000000000000 is out of range"},
		{csv("PAR1 is how this begins"), "", "arrival.file", "is not a whole Parquet file"},
	} {
		_, err := readTrace(c.path, c.column)
		var mistake *mistake.Error
		if !errors.As(err, &mistake) || mistake.Key != c.key || !strings.Contains(mistake.Problem, c.says) {
			t.Errorf("got %q, want key %q and %q", err, c.key, c.says)
		}
	}
}

// Whatever byte of a Parquet file is damaged, there is an error or a trace, and no panic.
func TestADamagedParquetFileIsAnError(t *testing.T) {
	path := parquetFile(t, []struct{ At float64 }{{1}, {2}, {3}, {4}, {5}})
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	for i := range whole {
		damaged := slices.Clone(whole)
		damaged[i] ^= 0xff
		checkTrace(t, traceFile(t, "t.parquet", damaged), "", &failed)
		if i%8 == 0 {
			checkTrace(t, traceFile(t, "t.parquet", whole[:i]), "", &failed)
		}
	}
	if failed < len(whole)/2 {
		t.Errorf("%d errors, of %d damaged bytes", failed, len(whole))
	}
}

// checkTrace fails if what was read is no trace, or the error none that names its key; it counts the errors.
func checkTrace(t *testing.T, path, column string, failed *int) {
	offsets, err := readTrace(path, column)
	var mistake *mistake.Error
	switch {
	case errors.As(err, &mistake) && mistake.Key != "" && mistake.Problem != "":
		*failed++
	case err != nil:
		t.Fatalf("an error of no key: %v", err)
	case len(offsets) < 2 || offsets[0] != 0 || !slices.IsSorted(offsets):
		t.Fatalf("not a trace: %v", offsets)
	}
}

func FuzzTrace(f *testing.F) {
	for _, seed := range []string{"1\n2\n", "time,x\n1,a\n2.5,b\n", "\xef\xbb\xbft\n-1e-3\n\"2\"\n", "9e9\n", "1.1234567891e5\n2e5", "\"", "3\n1\n"} {
		f.Add([]byte(seed), "")
		f.Add([]byte(seed), "x")
	}
	path := filepath.Join(f.TempDir(), "t.csv")
	f.Fuzz(func(t *testing.T, text []byte, column string) {
		if bytes.HasPrefix(text, []byte("PAR1")) {
			return // the Parquet library is not ours to fuzz
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		failed := 0
		checkTrace(t, path, column, &failed)
	})
}

func FuzzSeconds(f *testing.F) {
	for _, seed := range []string{"1", "-0.5", "1e-3", "4000000000.999999999", "0x1p-2", ".", "+.5", "-.5", "1_0", "1.5e", " 7 ", "1.1234567891e5"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ns, err := nanoseconds(text)
		if err != nil {
			return
		}
		var value float64
		if _, err := fmt.Sscan(text, &value); err != nil {
			return
		}
		if math.Abs(float64(ns)-value*1e9) > 1+1e-15*math.Abs(value*1e9) {
			t.Errorf("%q is %d ns, not %g s", text, ns, value)
		}
	})
}
