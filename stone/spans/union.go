package spans

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/parquet-go/parquet-go"
)

// Merge makes one file of those that several receivers made of the same trial, with all of their spans and the sums of
// their counts. Spans of one trace may be in several of them.
func Merge(path string, files []string) (counts Counts, err error) {
	var parts []*part
	defer func() {
		for _, part := range parts {
			err = errors.Join(err, part.file.Close())
		}
	}()
	if len(files) == 0 {
		return counts, fmt.Errorf("%w: no files to merge", ErrBad)
	}
	counts = Counts{Quiet: true, Replicas: map[string]Replica{}}
	for _, name := range files {
		part, own, err := openPart(name)
		if err != nil {
			return counts, fmt.Errorf("%w: %s is no file that stone spans made: %w", ErrBad, name, err)
		}
		parts = append(parts, part)
		counts.plus(own)
	}
	return write(path, counts, func(add func(Row) error) error { return union(slices.Clone(parts), add) })
}

// part is one receiver's file, read from its begin.
type part struct {
	file *os.File
	rows *parquet.GenericReader[Row]
	read []Row // rows that were read; the first is the next
	room []Row
}

func openPart(name string) (*part, Counts, error) {
	var counts Counts
	file, err := os.Open(name)
	if err != nil {
		return nil, counts, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, counts, errors.Join(err, file.Close())
	}
	found, err := parquet.OpenFile(file, info.Size())
	if err != nil {
		return nil, counts, errors.Join(err, file.Close())
	}
	text, _ := found.Lookup(CountsKey)
	if err = json.Unmarshal([]byte(text), &counts); err != nil {
		return nil, counts, errors.Join(err, file.Close())
	}
	return &part{file: file, rows: parquet.NewGenericReader[Row](found), room: make([]Row, rowsAtOnce)}, counts, nil
}

// more has the next row in read, unless there is none.
func (p *part) more() (bool, error) {
	if len(p.read) > 0 {
		return true, nil
	}
	n, err := p.rows.Read(p.room)
	p.read = p.room[:n]
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n > 0, err
}

// union adds the rows of all parts in order. Receivers are few.
func union(parts []*part, add func(Row) error) error {
	for {
		for i := len(parts) - 1; i >= 0; i-- {
			switch more, err := parts[i].more(); {
			case err != nil:
				return fmt.Errorf("%s: %w", parts[i].file.Name(), err)
			case !more:
				parts = slices.Delete(parts, i, i+1)
			}
		}
		if len(parts) == 0 {
			return nil
		}
		first := slices.MinFunc(parts, func(a, b *part) int { return compareRows(&a.read[0], &b.read[0]) })
		if err := add(first.read[0]); err != nil {
			return err
		}
		first.read = first.read[1:]
	}
}

// compareRows orders rows as compare does spans.
func compareRows(a, b *Row) int {
	return cmp.Or(bytes.Compare(a.TraceID[:], b.TraceID[:]), cmp.Compare(a.Start, b.Start), cmp.Compare(a.SpanID, b.SpanID))
}

// plus adds another receiver's counts; the merged file completes them.
func (c *Counts) plus(other Counts) {
	c.Received += other.Received
	c.Refused += other.Refused
	c.Unreadable += other.Unreadable
	c.Unread += other.Unread
	c.Outside += other.Outside
	c.Unnamed += other.Unnamed
	c.Forwarded += other.Forwarded
	c.NotForwarded += other.NotForwarded
	c.Quiet = c.Quiet && other.Quiet
	c.Recovered = c.Recovered || other.Recovered
	for name, replica := range other.Replicas {
		c.add(name, replica.Received, replica.Produced, replica.Dropped)
	}
}
