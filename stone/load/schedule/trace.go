package schedule

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"loadstone.dev/stone/load/mistake"
)

// trace collects the times of a file as ns since the first, and refuses what goes back.
type trace struct {
	first   int64
	offsets []int64
}

func (t *trace) add(ns int64) error {
	if len(t.offsets) == 0 {
		t.first = ns
	} else if last := t.first + t.offsets[len(t.offsets)-1]; ns < last {
		return fmt.Errorf("%.9g s comes after %.9g s; sort the trace by time", float64(ns)/1e9, float64(last)/1e9)
	}
	t.offsets = append(t.offsets, ns-t.first)
	return nil
}

// readTrace reads the times of a CSV or Parquet file, distinguished by how the file begins, as ns since the first. An
// empty column is the first one. Every mistake is a *mistake.Error that names the file and, in a CSV, the line.
func readTrace(path, column string) ([]int64, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, mistake.New("arrival.file", "cannot be read: %v", err)
	}
	defer file.Close()
	var t trace
	read := t.readCSV
	var magic [4]byte
	if file.ReadAt(magic[:], 0); string(magic[:]) == "PAR1" {
		read = t.readParquet
	}
	err = read(file, column)
	var wrong *mistake.Error
	switch {
	case errors.As(err, &wrong):
		return nil, mistake.New(wrong.Key, "%s: %s", path, wrong.Problem)
	case err != nil:
		return nil, mistake.New("arrival.file", "%s: %v", path, err)
	case len(t.offsets) < 2:
		return nil, mistake.New("arrival.file", "%s: holds %d times; a trace needs at least two", path, len(t.offsets))
	}
	return t.offsets, nil
}

// readCSV reads seconds, with any number of decimals. A first line that is no number is one of column names; only
// there can a column other than the first be found.
func (t *trace) readCSV(file *os.File, column string) error {
	text := bufio.NewReader(file)
	if mark, _ := text.Peek(3); bytes.Equal(mark, []byte("\xef\xbb\xbf")) { // as spreadsheets write
		text.Discard(3)
	}
	rows := csv.NewReader(text)
	rows.ReuseRecord, rows.FieldsPerRecord, rows.TrimLeadingSpace = true, -1, true
	at := 0
	for number := 0; ; number++ {
		row, err := rows.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if number == 0 {
			header, err := columnOf(row, column, &at)
			if err != nil {
				return err
			}
			if header {
				continue
			}
		}
		line, _ := rows.FieldPos(0)
		if at >= len(row) {
			return fmt.Errorf("line %d has %d columns; the times are in column %d", line, len(row), at+1)
		}
		ns, err := nanoseconds(row[at])
		if err == nil {
			err = t.add(ns)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
}

// columnOf sets at to where the column is, and says whether the row is one of names.
func columnOf(row []string, column string, at *int) (header bool, err error) {
	if column == "" {
		_, err := nanoseconds(row[0])
		return err != nil, nil
	}
	for i, name := range row {
		if strings.TrimSpace(name) == column {
			*at = i
			return true, nil
		}
	}
	return false, mistake.New("arrival.column", "%q is not in the first line, which has: %s", column, strings.Join(row, ", "))
}

// mostSeconds keeps differences within int64 nanoseconds; since 1970 it reaches to 2096.
const (
	mostSeconds   = 4_000_000_000
	secondsRemedy = "give seconds or a timestamp"
)

// nanoseconds of a number of seconds. Decimals are taken as they are written, so that no nanosecond that comes after
// 50 years of seconds is rounded away.
func nanoseconds(text string) (int64, error) {
	text = strings.TrimSpace(text)
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(value) || math.Abs(value) > mostSeconds {
		return 0, fmt.Errorf("%q is not a number of seconds up to %d", text, mostSeconds)
	}
	whole, decimals, _ := strings.Cut(text, ".")
	full, inWhole := strconv.ParseInt(whole, 10, 64)
	part, inDecimals := strconv.ParseUint((decimals + "000000000")[:9], 10, 32)
	switch {
	case inWhole != nil || inDecimals != nil || strings.ContainsAny(text, "eE"):
		return int64(math.Round(value * 1e9)), nil
	case strings.HasPrefix(text, "-"):
		return full*1e9 - int64(part), nil
	}
	return full*1e9 + int64(part), nil
}
