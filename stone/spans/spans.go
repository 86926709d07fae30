// Package spans receives the spans of traced services and makes one sorted Parquet file a trial of them: the verb
// `stone spans`.
//
// They come as OTLP over gRPC or HTTP (grpc.go, http.go), are read from the wire without a message in between (wire.go)
// and collected into pieces of a bounded size, each sorted and written to disk while the trial runs (trial.go,
// pieces.go). When it ends, the pieces are merged into the file (merge.go, file.go). What does not fit is refused, so
// that the sender comes again, and counted (counts.go). Pieces outlive a killed process: Recover makes their files.
package spans

import (
	"cmp"
	"encoding/binary"
)

// span is what is kept of one span. Its texts are numbers of names.
type span struct {
	traceHigh, traceLow uint64 // the 16 bytes of the trace's id, big-endian
	id, parent          uint64 // big-endian as well; parent 0: none
	start               int64  // ns, unix
	duration            int64  // ns, or unfinished
	service, replica    uint32
	host, operation     uint32
	peer                uint32
	kind, status        uint8 // as OTLP numbers them
}

// unfinished is the duration of a span that has no end.
const unfinished = int64(-1)

// compare orders spans as the file has them: by trace, then by start. The rest only makes the order one.
func compare(a, b *span) int {
	switch {
	case a.traceHigh != b.traceHigh:
		return cmp.Compare(a.traceHigh, b.traceHigh)
	case a.traceLow != b.traceLow:
		return cmp.Compare(a.traceLow, b.traceLow)
	case a.start != b.start:
		return cmp.Compare(a.start, b.start)
	}
	return cmp.Compare(a.id, b.id)
}

// recordBytes is the size of a span on disk.
const recordBytes = 6*8 + 5*4 + 2

func (s *span) append(to []byte) []byte {
	for _, v := range [...]uint64{s.traceHigh, s.traceLow, s.id, s.parent, uint64(s.start), uint64(s.duration)} {
		to = binary.LittleEndian.AppendUint64(to, v)
	}
	for _, v := range [...]uint32{s.service, s.replica, s.host, s.operation, s.peer} {
		to = binary.LittleEndian.AppendUint32(to, v)
	}
	return append(to, s.kind, s.status)
}

func (s *span) read(from []byte) {
	_ = from[recordBytes-1]
	long := func(i int) uint64 { return binary.LittleEndian.Uint64(from[8*i:]) }
	short := func(i int) uint32 { return binary.LittleEndian.Uint32(from[48+4*i:]) }
	s.traceHigh, s.traceLow, s.id, s.parent = long(0), long(1), long(2), long(3)
	s.start, s.duration = int64(long(4)), int64(long(5))
	s.service, s.replica, s.host, s.operation, s.peer = short(0), short(1), short(2), short(3), short(4)
	s.kind, s.status = from[recordBytes-2], from[recordBytes-1]
}
