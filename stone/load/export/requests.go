package export

import (
	"fmt"
	"os"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/snappy"
)

// Never is the time of what did not happen.
const Never = int64(-1)

// Request is what became of one request: a row of requests.parquet. Times are ns since the run's start.
type Request struct {
	N         uint64 // its number in the schedule; the steps of a session share one
	Operation string
	Scheduled int64
	Sent      int64 // or Never
	Ended     int64 // when its outcome was known, or Never
	Status    int32 // status of the answer; 0: there was none
	Outcome   string
	Bytes     int64 // size of the answer
	Thread    int32 // the load thread, numbered over all load workers
	Client    int32 // client of a closed loop, from 1; 0: none
	Iteration int32 // iteration of that client, from 1; 0: none
}

// row is a Request with null where there is nothing to tell.
type row struct {
	N         uint64 `parquet:"n"`
	Operation string `parquet:"operation,dict"`
	Scheduled int64  `parquet:"scheduled_ns"`
	Sent      *int64 `parquet:"sent_ns,optional"`
	Ended     *int64 `parquet:"ended_ns,optional"`
	Status    *int32 `parquet:"status,optional"`
	Outcome   string `parquet:"outcome,dict"`
	Bytes     int64  `parquet:"bytes"`
	Thread    int32  `parquet:"thread"`
	Client    *int32 `parquet:"client,optional"`
	Iteration *int32 `parquet:"iteration,optional"`
}

// rowsPerGroup bounds what is held in memory: about 70 bytes a row. A file has at most 32767 groups, so this also
// bounds what it can hold, at 4.3e9 rows.
const rowsPerGroup = 1 << 17

// Requests writes requests.parquet, group by group. It appears under its name when it is complete.
type Requests struct {
	path   string
	file   *os.File
	writer *parquet.GenericWriter[row]
	rows   []row
}

// OpenRequests begins the file. The run's start becomes the file's metadata key `started` (RFC 3339, ns).
func OpenRequests(path string, started time.Time) (*Requests, error) {
	file, err := os.Create(path + ".part")
	if err != nil {
		return nil, err
	}
	writer := parquet.NewGenericWriter[row](file, parquet.MaxRowsPerRowGroup(rowsPerGroup), parquet.Compression(&snappy.Codec{}),
		parquet.DefaultEncodingFor(parquet.Int64, &parquet.DeltaBinaryPacked),
		parquet.KeyValueMetadata("started", started.Format(time.RFC3339Nano)))
	return &Requests{path: path, file: file, writer: writer}, nil
}

// Write adds rows. The batch is the caller's again when it returns.
func (r *Requests) Write(batch []Request) error {
	r.rows = r.rows[:0]
	for i := range batch {
		q := &batch[i]
		out := row{N: q.N, Operation: q.Operation, Scheduled: q.Scheduled, Outcome: q.Outcome, Bytes: q.Bytes, Thread: q.Thread}
		if q.Sent != Never {
			out.Sent = &q.Sent
		}
		if q.Ended != Never {
			out.Ended = &q.Ended
		}
		if q.Status != 0 {
			out.Status = &q.Status
		}
		if q.Client != 0 {
			out.Client = &q.Client
		}
		if q.Iteration != 0 {
			out.Iteration = &q.Iteration
		}
		r.rows = append(r.rows, out)
	}
	if _, err := r.writer.Write(r.rows); err != nil {
		return fmt.Errorf("%s: %w", r.path, err)
	}
	return nil
}

// Close ends the file and puts it into place.
func (r *Requests) Close() error {
	err := r.writer.Close()
	if closed := r.file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		return os.Rename(r.path+".part", r.path)
	}
	_ = os.Remove(r.path + ".part")
	return fmt.Errorf("%s: %w", r.path, err)
}

// Discard gives the file up.
func (r *Requests) Discard() {
	_ = r.file.Close()
	_ = os.Remove(r.path + ".part")
}
