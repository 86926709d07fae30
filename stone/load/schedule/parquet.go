package schedule

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"loadstone.dev/stone/load/mistake"
)

// readParquet reads a column of timestamps of any unit, or of seconds as numbers, page by page.
func (t *trace) readParquet(file *os.File, column string) (err error) {
	// The library checks little of what a file says about itself and panics on some that are damaged.
	defer func() {
		if wrong := recover(); wrong != nil {
			err = fmt.Errorf("is a damaged Parquet file: %v", wrong)
		}
	}()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	table, err := parquet.OpenFile(file, info.Size())
	if err != nil {
		return fmt.Errorf("is not a whole Parquet file: %w", err)
	}
	leaf, err := leafOf(table.Schema(), column)
	if err != nil {
		return err
	}
	unit := unitOf(leaf.Node.Type())
	for _, group := range table.RowGroups() {
		if err := t.readPages(group.ColumnChunks()[leaf.ColumnIndex].Pages(), unit); err != nil {
			return fmt.Errorf("row %d: %w", len(t.offsets)+1, err)
		}
	}
	return nil
}

// leafOf finds a column by its name, with dots where it is nested.
func leafOf(schema *parquet.Schema, column string) (parquet.LeafColumn, error) {
	var names []string
	for _, path := range schema.Columns() {
		names = append(names, strings.Join(path, "."))
	}
	if column == "" && len(names) > 0 {
		column = names[0]
	}
	for i, name := range names {
		if leaf, there := schema.Lookup(schema.Columns()[i]...); there && name == column {
			if !isTime(leaf.Node.Type()) {
				return leaf, mistake.New("arrival.column", "%q holds %s; the times must be timestamps or seconds", name, leaf.Node.Type())
			}
			return leaf, nil
		}
	}
	return parquet.LeafColumn{}, mistake.New("arrival.column", "%q is not there; the columns are: %s", column, strings.Join(names, ", "))
}

// isTime says whether a column holds timestamps or plain numbers, which are seconds.
func isTime(kind parquet.Type) bool {
	if logical := kind.LogicalType(); logical != nil {
		switch logical.Value.(type) {
		case *format.TimestampType, *format.IntType:
			return true
		}
		return false
	}
	switch kind.Kind() {
	case parquet.Int32, parquet.Int64, parquet.Int96, parquet.Float, parquet.Double:
		return true
	}
	return false
}

// unitOf is what an integer of the column counts.
func unitOf(kind parquet.Type) time.Duration {
	if logical := kind.LogicalType(); logical != nil {
		if stamp, is := logical.Value.(*format.TimestampType); is {
			return stamp.Unit.Value.Duration()
		}
	}
	return time.Second
}

func (t *trace) readPages(pages parquet.Pages, unit time.Duration) error {
	defer pages.Close()
	values := make([]parquet.Value, 1024)
	for {
		page, err := pages.ReadPage()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		reader := page.Values()
		for {
			count, err := reader.ReadValues(values)
			for _, value := range values[:count] {
				ns, wrong := timeOf(value, unit)
				if wrong == nil {
					wrong = t.add(ns)
				}
				if wrong != nil {
					return wrong
				}
			}
			if err == io.EOF {
				break
			}
			if err != nil {
				return err
			}
		}
		parquet.Release(page)
	}
}

// timeOf is a value as ns.
func timeOf(value parquet.Value, unit time.Duration) (int64, error) {
	if value.IsNull() {
		return 0, fmt.Errorf("is empty; every row needs a time")
	}
	switch value.Kind() {
	case parquet.Int32:
		return fromInteger(int64(value.Int32()), unit)
	case parquet.Int64:
		return fromInteger(value.Int64(), unit)
	case parquet.Int96:
		return fromInt96(value.Int96())
	case parquet.Float:
		return fromSeconds(float64(value.Float()))
	}
	return fromSeconds(value.Double())
}

// fromInt96 reads what Impala and Spark wrote: nanoseconds of the day, then the Julian day.
func fromInt96(value deprecated.Int96) (int64, error) {
	const epoch = 2440588 // the Julian day of 1 January 1970
	ofDay := uint64(value[1])<<32 | uint64(value[0])
	if ofDay > uint64(24*time.Hour) {
		return 0, fmt.Errorf("%d nanoseconds are more than a day", ofDay)
	}
	midnight, err := fromInteger((int64(value[2])-epoch)*24*3600, time.Second)
	return midnight + int64(ofDay), err
}

func fromInteger(count int64, unit time.Duration) (int64, error) {
	if limit := int64(mostSeconds * time.Second / unit); count < -limit || count > limit {
		return 0, fmt.Errorf("%d is out of range for a count of %v; %s", count, unit, secondsRemedy)
	}
	return count * int64(unit), nil
}

func fromSeconds(value float64) (int64, error) {
	if math.IsNaN(value) || math.Abs(value) > mostSeconds {
		return 0, fmt.Errorf("%g is out of range for seconds; %s", value, secondsRemedy)
	}
	return int64(math.Round(value * 1e9)), nil
}
