package export

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
)

var started = time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)

// request makes the n-th record; every fifth never ended, every tenth was never sent, every third is of a client.
func request(n int) Request {
	r := Request{
		N: uint64(n), Operation: []string{"home", "search", "reserve"}[n%3], Scheduled: int64(n) * 1000, Sent: int64(n)*1000 + 50,
		Ended: int64(n)*1000 + 200_000 + int64(n)*48271%90001, Status: 200, Outcome: "completed", Bytes: int64(n % 5000), Thread: int32(n % 2),
	}
	if n%5 == 4 {
		r.Ended, r.Status, r.Outcome = Never, 0, "in_flight"
	}
	if n%10 == 9 {
		r.Sent, r.Outcome = Never, "unsent"
	}
	if n%3 == 2 { // a client's, some of them in an iteration
		r.Client, r.Iteration = int32(1+n%7), int32(n%4)
	}
	return r
}

func open(t *testing.T) (*Requests, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "requests.parquet")
	requests, err := OpenRequests(path, started)
	if err != nil {
		t.Fatal(err)
	}
	return requests, path
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// readRequests reads a file back by its column names alone.
func readRequests(t *testing.T, path string) (list []Request, groups int) {
	t.Helper()
	type record struct {
		Thread    int32  `parquet:"thread"`
		Bytes     int64  `parquet:"bytes"`
		Outcome   string `parquet:"outcome"`
		Status    *int32 `parquet:"status"`
		Ended     *int64 `parquet:"ended_ns"`
		Sent      *int64 `parquet:"sent_ns"`
		Scheduled int64  `parquet:"scheduled_ns"`
		Operation string `parquet:"operation"`
		N         uint64 `parquet:"n"`
		Client    *int32 `parquet:"client"`
		Iteration *int32 `parquet:"iteration"`
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	reader := parquet.NewGenericReader[record](file)
	records := make([]record, reader.NumRows())
	for read := 0; read < len(records); {
		n, err := reader.Read(records[read:])
		if read += n; err != nil && !(errors.Is(err, io.EOF) && read == len(records)) {
			t.Fatal(err)
		}
	}
	for _, r := range records {
		q := Request{
			N: r.N, Operation: r.Operation, Scheduled: r.Scheduled, Sent: Never, Ended: Never, Outcome: r.Outcome, Bytes: r.Bytes, Thread: r.Thread,
		}
		if r.Sent != nil {
			q.Sent = *r.Sent
		}
		if r.Ended != nil {
			q.Ended = *r.Ended
		}
		if r.Status != nil {
			q.Status = *r.Status
		}
		if r.Client != nil {
			q.Client = *r.Client
		}
		if r.Iteration != nil {
			q.Iteration = *r.Iteration
		}
		list = append(list, q)
	}
	return list, len(reader.File().RowGroups())
}

func TestRequestsRoundTrip(t *testing.T) {
	requests, path := open(t)
	var given []Request
	for n := range rowsPerGroup + 2500 {
		given = append(given, request(n))
	}
	for batch := range slices.Chunk(given, batchRows) {
		if err := requests.Write(batch); err != nil {
			t.Fatal(err)
		}
	}
	if exists(path) || !exists(path+".part") {
		t.Error("the file is there before it is whole")
	}
	if err := requests.Close(); err != nil {
		t.Fatal(err)
	}
	if !exists(path) || exists(path+".part") {
		t.Error("the file was not put into place")
	}
	read, groups := readRequests(t, path)
	if !slices.Equal(read, given) || groups != 2 {
		t.Errorf("%d rows in %d groups differ from the %d written", len(read), groups, len(given))
	}
}

// The columns are part of the documented file format.
func TestRequestsSchema(t *testing.T) {
	requests, path := open(t)
	if err := requests.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := parquet.OpenFile(strings.NewReader(string(text)), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	if value, _ := file.Lookup("started"); value != "2026-03-01T12:00:00.123456789Z" {
		t.Errorf("started is %q", value)
	}
	want := `message row {
	required int64 n (INT(64,false));
	required binary operation (STRING);
	required int64 scheduled_ns (INT(64,true));
	optional int64 sent_ns (INT(64,true));
	optional int64 ended_ns (INT(64,true));
	optional int32 status (INT(32,true));
	required binary outcome (STRING);
	required int64 bytes (INT(64,true));
	required int32 thread (INT(32,true));
	optional int32 client (INT(32,true));
	optional int32 iteration (INT(32,true));
}`
	if got := file.Schema().String(); got != want {
		t.Errorf("schema\n%s", got)
	}
}

// A million rows pass through a part of the memory that they would need.
func TestRequestsInBoundedMemory(t *testing.T) {
	requests, _ := open(t)
	defer requests.Discard()
	batch := make([]Request, batchRows)
	before, most := inUse(), uint64(0)
	for n := 0; n < 1_000_000; n += batchRows {
		for i := range batch {
			batch[i] = request(n + i)
			batch[i].Ended, batch[i].Bytes = rand.Int64(), rand.Int64() // cannot be compressed: 16 bytes a row
		}
		if err := requests.Write(batch); err != nil {
			t.Fatal(err)
		}
		if n%(32*batchRows) == 0 {
			most = max(most, inUse())
		}
	}
	if most > before+14<<20 {
		t.Errorf("%d MB more than before", (most-before)>>20)
	}
}

// inUse is the memory that something refers to.
func inUse() uint64 {
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return memory.HeapAlloc
}

func TestRequestsDiscarded(t *testing.T) {
	requests, path := open(t)
	requests.Discard()
	if exists(path) || exists(path+".part") {
		t.Error("there is still a file")
	}
}

func TestRequestsThatCannotBeWritten(t *testing.T) {
	if _, err := OpenRequests(filepath.Join(t.TempDir(), "none", "r.parquet"), started); err == nil {
		t.Error("a file was opened in a folder that is not there")
	}
	requests, path := open(t)
	_ = requests.file.Close() // as if the disk were gone
	if err := requests.Close(); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("closed with %v", err)
	}
	if exists(path) || exists(path+".part") {
		t.Error("half a file is left")
	}
}
