package spans

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// Row is a row of spans.parquet. Rows are sorted by TraceID, then by Start.
type Row struct {
	TraceID   [16]byte `parquet:"trace_id"`
	SpanID    uint64   `parquet:"span_id"`
	ParentID  uint64   `parquet:"parent_id"` // 0: none
	Service   string   `parquet:"service,dict"`
	Replica   string   `parquet:"replica,dict"`
	Host      string   `parquet:"host,dict"`
	Operation string   `parquet:"operation,dict"`
	Peer      string   `parquet:"peer,dict"`
	Kind      uint32   `parquet:"kind,dict,uint(8)"`
	Start     int64    `parquet:"start_ns,delta"`    // unix
	Duration  int64    `parquet:"duration_ns,delta"` // -1: it never ended
	Status    uint32   `parquet:"status,dict,uint(8)"`
}

const (
	rowsPerGroup = 1 << 17
	rowsAtOnce   = 1 << 10

	// CountsKey is the key of the file's metadata under which its Counts stand, as JSON.
	CountsKey = "counts"
)

// finish merges pieces into a file and completes the counts.
func finish(path string, all []piece, names *names, counts Counts) (Counts, error) {
	counts, err := write(path, counts, func(add func(Row) error) error {
		return merge(all, path+".merging", func(s *span) error { return add(s.row(names)) })
	})
	if err != nil {
		return counts, fmt.Errorf("%w; what came is in %s", err, path+PiecesSuffix)
	}
	return counts, nil
}

// write makes a file, which appears under its name when it is whole, of the rows that each adds in order, and completes
// the counts.
func write(path string, counts Counts, each func(add func(Row) error) error) (Counts, error) {
	part := path + ".part"
	file, err := os.Create(part)
	if err != nil {
		return counts, fmt.Errorf("cannot make %s: %w", path, err)
	}
	err = fill(file, each, &counts)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(part, path)
	}
	if err != nil {
		return counts, errors.Join(fmt.Errorf("cannot make %s: %w", path, err), os.Remove(part))
	}
	return counts, nil
}

func fill(file *os.File, each func(add func(Row) error) error, counts *Counts) error {
	out := parquet.NewGenericWriter[Row](file,
		parquet.MaxRowsPerRowGroup(rowsPerGroup), parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}),
		parquet.SortingWriterConfig(parquet.SortingColumns(parquet.Ascending("trace_id"), parquet.Ascending("start_ns"))))
	rows := make([]Row, 0, rowsAtOnce)
	var written, traces, roots int64
	flush := func() error {
		_, err := out.Write(rows)
		rows = rows[:0]
		return err
	}
	var last [16]byte
	err := each(func(row Row) error {
		if row.TraceID != last {
			traces++
		}
		if row.ParentID == 0 {
			roots++
		}
		last = row.TraceID
		written++
		rows = append(rows, row)
		if len(rows) < cap(rows) {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	counts.Written, counts.Traces, counts.Roots = written, &traces, &roots
	if err != nil {
		return err
	}
	text, err := json.Marshal(counts)
	if err != nil {
		return err
	}
	out.SetKeyValueMetadata(CountsKey, string(text))
	return out.Close()
}

func (s *span) row(n *names) Row {
	row := Row{
		SpanID: s.id, ParentID: s.parent, Service: n.name(s.service), Replica: n.name(s.replica), Host: n.name(s.host),
		Operation: n.name(s.operation), Peer: n.name(s.peer), Kind: uint32(s.kind), Start: s.start, Duration: s.duration,
		Status: uint32(s.status),
	}
	binary.BigEndian.PutUint64(row.TraceID[:], s.traceHigh)
	binary.BigEndian.PutUint64(row.TraceID[8:], s.traceLow)
	return row
}
