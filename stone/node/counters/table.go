package counters

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

const (
	rowsPerGroup    = 1 << 14 // 256 kB of cells while they are gathered
	pageBufferBytes = 64 << 10
)

// row is one of the file: a number at a time.
type row struct {
	Time    int64   `parquet:"time_ns,delta"` // unix
	Subject string  `parquet:"subject,dict"`
	Metric  string  `parquet:"metric,dict"`
	Value   float64 `parquet:"value,split"`
}

// cell is a row whose names and time are numbers.
type cell struct {
	series, time uint32
	value        float64
}

// table gathers a recording's next file in memory. Rows are gathered into groups; in each they are sorted by series, then time,
// which compresses far better than the order they came in.
type table struct {
	file   bytes.Buffer
	writer *parquet.GenericWriter[row]

	numbers map[series]uint32
	names   []series
	times   []int64
	cells   []cell
	rows    []row // to write at once
	some    bool  // whether the file has any
}

func newTable() *table {
	t := &table{numbers: map[series]uint32{}}
	t.writer = parquet.NewGenericWriter[row](&t.file,
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}), parquet.PageBufferSize(pageBufferBytes))
	return t
}

// add appends a reading.
func (t *table) add(time int64, points []point) error {
	t.times = append(t.times, time)
	t.some = t.some || len(points) > 0
	for _, point := range points {
		number, known := t.numbers[point.series]
		if !known {
			number = uint32(len(t.names))
			t.names = append(t.names, point.series)
			t.numbers[point.series] = number
		}
		t.cells = append(t.cells, cell{number, uint32(len(t.times) - 1), point.value})
	}
	if len(t.cells) < rowsPerGroup {
		return nil
	}
	return t.flush()
}

// flush writes what was gathered as a group of rows.
func (t *table) flush() error {
	slices.SortStableFunc(t.cells, func(a, b cell) int { return int(a.series) - int(b.series) })
	for part := range slices.Chunk(t.cells, 1<<10) {
		t.rows = t.rows[:0]
		for _, cell := range part {
			name := t.names[cell.series]
			t.rows = append(t.rows, row{t.times[cell.time], name.subject, name.metric, cell.value})
		}
		if _, err := t.writer.Write(t.rows); err != nil {
			return fmt.Errorf("cannot write Parquet: %w", err)
		}
	}
	t.cells, t.times = t.cells[:0], t.times[:0]
	return t.writer.Flush()
}

// size is about how many bytes of memory its rows take.
func (t *table) size() int { return t.file.Len() + 16*len(t.cells) }

// take completes the file and begins the next; nil if it has no rows.
func (t *table) take() ([]byte, error) {
	if !t.some {
		return nil, nil
	}
	err := t.flush()
	if err == nil {
		err = t.writer.Close()
	}
	taken := bytes.Clone(t.file.Bytes())
	t.file.Reset()
	t.writer.Reset(&t.file)
	t.some = false
	return taken, err
}
