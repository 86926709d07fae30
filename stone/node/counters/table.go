package counters

import (
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

const (
	rowsPerGroup    = 1 << 14 // 256 kB of cells while they are gathered
	chunkBytes      = 256 << 10
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

// table is a recording's file in memory. Rows are gathered into groups; in each they are sorted by series, then time,
// which compresses far better than the order they came in.
type table struct {
	file   chunks
	writer *parquet.GenericWriter[row]

	numbers map[series]uint32
	names   []series
	times   []int64
	cells   []cell
	rows    []row // to write at once
	added   int   // rows in all
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
	t.added += len(points)
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
func (t *table) size() int { return t.file.length + 16*len(t.cells) }

// end completes the file, which can then be read.
func (t *table) end(metadata map[string]string) (*chunks, error) {
	for key, value := range metadata {
		t.writer.SetKeyValueMetadata(key, value)
	}
	if err := t.flush(); err != nil {
		return nil, err
	}
	return &t.file, t.writer.Close()
}

// chunks is a file in memory that never moves as it grows.
type chunks struct {
	parts  [][]byte
	length int
}

func (c *chunks) Write(bytes []byte) (int, error) {
	for rest := bytes; len(rest) > 0; {
		last := len(c.parts) - 1
		if last < 0 || len(c.parts[last]) == chunkBytes {
			c.parts = append(c.parts, make([]byte, 0, chunkBytes))
			last++
		}
		fits := min(len(rest), chunkBytes-len(c.parts[last]))
		c.parts[last] = append(c.parts[last], rest[:fits]...)
		rest = rest[fits:]
	}
	c.length += len(bytes)
	return len(bytes), nil
}

// WriteTo can be called again and again.
func (c *chunks) WriteTo(out io.Writer) (int64, error) {
	written := int64(0)
	for _, part := range c.parts {
		count, err := out.Write(part)
		written += int64(count)
		if err != nil {
			return written, err
		}
	}
	return written, nil
}
