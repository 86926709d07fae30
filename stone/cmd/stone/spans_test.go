package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/parquet-go/parquet-go"

	"loadstone.dev/stone/spans"
)

// oneSpan has a trace id that ends with the digits.
const oneSpan = `{"resourceSpans": [{"resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "rate"}}]},
	"scopeSpans": [{"spans": [{"traceId": "000000000000000000000000000000NN", "spanId": "0000000000000001", "name": "GetRates",
	"kind": 2, "startTimeUnixNano": "1000", "endTimeUnixNano": "1500"}]}]}]}`

// receiving is a receiver on free ports.
type receiving struct {
	command    *exec.Cmd
	grpc, http string // addresses
	orders     io.WriteCloser
	output     *bufio.Reader
}

func startSpans(t *testing.T, args ...string) *receiving {
	t.Helper()
	command := stone(t, nil, append([]string{"spans", "--grpc", ":0", "--http", ":0"}, args...)...)
	command.Stderr = os.Stderr
	orders, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	started := &receiving{command: command, orders: orders, output: bufio.NewReader(out)}
	started.grpc = started.listens(t, "(gRPC)")
	started.http = started.listens(t, "(HTTP)")
	return started
}

// listens reads the line that announces an address.
func (r *receiving) listens(t *testing.T, protocol string) string {
	t.Helper()
	line, err := r.output.ReadString('\n')
	words := strings.Fields(line)
	if err != nil || len(words) != 4 || words[0]+words[1] != "listeningon" || words[3] != protocol || !strings.HasPrefix(words[2], "127.0.0.1:") {
		t.Fatalf("it printed %q, %v", line, err)
	}
	return words[2]
}

// order has an order carried out, and decodes the result.
func (r *receiving) order(t *testing.T, order string, into any) {
	t.Helper()
	if _, err := io.WriteString(r.orders, order+"\n"); err != nil {
		t.Fatal(err)
	}
	line, err := r.output.ReadBytes('\n')
	var reply struct {
		OK    json.RawMessage
		Error string
	}
	if err == nil {
		err = json.Unmarshal(line, &reply)
	}
	if err != nil || reply.Error != "" {
		t.Fatalf("%s: %s, %v", order, line, err)
	}
	if into != nil {
		if err := json.Unmarshal(reply.OK, into); err != nil {
			t.Fatal(err)
		}
	}
}

// send posts a span to the receiver.
func (r *receiving) send(t *testing.T, span string) {
	t.Helper()
	response, err := http.Post("http://"+r.http+"/v1/traces", "application/json", strings.NewReader(span))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, err := io.ReadAll(response.Body); err != nil || response.StatusCode != 200 {
		t.Fatalf("%d %s, %v", response.StatusCode, text, err)
	}
}

func readSpans(t *testing.T, file string) []spans.Row {
	t.Helper()
	rows, err := parquet.ReadFile[spans.Row](file)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestSpansAfterKill(t *testing.T) {
	receiver := startSpans(t, "--control")
	folder := t.TempDir()
	file := filepath.Join(folder, "spans.parquet")
	receiver.order(t, `{"verb": "begin", "file": "`+file+`"}`, nil)
	receiver.send(t, strings.Replace(oneSpan, "NN", "07", 1))
	for { // until it is on disk, within a second or so
		var counts spans.Counts
		if receiver.order(t, `{"verb": "counts"}`, &counts); counts.Written == 1 {
			break
		}
	}
	_ = receiver.command.Process.Kill()
	_ = receiver.command.Wait()
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Fatalf("a killed receiver left a file: %v", err)
	}
	again, err := stone(t, nil, "spans", "--grpc", "no-port", "--out", file).CombinedOutput() // so that it ends in any case
	if err == nil || !bytes.Contains(again, []byte("stone spans --recover "+folder)) {
		t.Fatalf("to record over what a killed receiver left: %s, %v", again, err)
	}
	printed, err := stone(t, nil, "spans", "--recover", folder).Output()
	var recovered struct {
		File   string
		Counts spans.Counts
	}
	if err != nil || json.Unmarshal(printed, &recovered) != nil || recovered.File != file || recovered.Counts.Written != 1 || !recovered.Counts.Recovered {
		t.Errorf("it printed %s, %v", printed, err)
	}
	if rows := readSpans(t, file); len(rows) != 1 || rows[0].TraceID[15] != 7 || rows[0].Operation != "GetRates" {
		t.Errorf("recovered %+v", rows)
	}
}

func TestSpansByHand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "spans.parquet")
	receiver := startSpans(t, "--out", file)
	receiver.send(t, strings.Replace(oneSpan, "NN", "01", 1))
	if err := receiver.command.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(receiver.output)
	var counts spans.Counts
	if err := json.Unmarshal(text, &counts); err != nil || counts.Written != 1 || *counts.Traces != 1 || !counts.Quiet {
		t.Errorf("it printed %s, %v", text, err)
	}
	if err := receiver.command.Wait(); err != nil || len(readSpans(t, file)) != 1 {
		t.Errorf("stopped by a signal: %v", err)
	}
}

// A receiver that is stopped in the middle of a trial leaves the file.
func TestSpansStoppedInATrial(t *testing.T) {
	stops := map[string]func(*receiving) error{
		"by a signal":          func(r *receiving) error { return r.command.Process.Signal(syscall.SIGTERM) },
		"by the end of orders": func(r *receiving) error { return r.orders.Close() },
	}
	for how, stop := range stops {
		t.Run(how, func(t *testing.T) { stopInATrial(t, stop) })
	}
}

func stopInATrial(t *testing.T, stop func(*receiving) error) {
	receiver := startSpans(t, "--control", "--cpus", "0")
	file := filepath.Join(t.TempDir(), "spans.parquet")
	receiver.order(t, `{"verb": "begin", "file": "`+file+`"}`, nil)
	receiver.send(t, strings.Replace(oneSpan, "NN", "01", 1))
	threads, err := filepath.Glob("/proc/" + strconv.Itoa(receiver.command.Process.Pid) + "/task/*/status")
	if err != nil || len(threads) == 0 {
		t.Fatalf("no threads: %v", err)
	}
	for _, thread := range threads {
		if text, err := os.ReadFile(thread); err == nil && !bytes.Contains(text, []byte("Cpus_allowed_list:\t0\n")) {
			t.Errorf("%s may run elsewhere", thread)
		}
	}
	if err := stop(receiver); err != nil {
		t.Fatal(err)
	}
	if err := receiver.command.Wait(); err != nil || len(readSpans(t, file)) != 1 {
		t.Errorf("stopped by a signal: %v", err)
	}
}

func TestSpansOfSeveralReceiversBecomeOneFile(t *testing.T) {
	folder := t.TempDir()
	out, parts := filepath.Join(folder, "spans.parquet"), []string{filepath.Join(folder, "1"), filepath.Join(folder, "2")}
	for i, part := range parts {
		receiver := startSpans(t, "--control")
		receiver.order(t, `{"verb": "begin", "file": "`+part+`"}`, nil)
		receiver.send(t, strings.Replace(oneSpan, "NN", fmt.Sprintf("0%d", i+1), 1))
		receiver.order(t, `{"verb": "end", "quiet_s": 0}`, nil)
	}
	printed, err := stone(t, nil, append([]string{"spans", "--merge", out}, parts...)...).Output()
	var counts spans.Counts
	if err != nil || json.Unmarshal(printed, &counts) != nil || counts.Received != 2 || counts.Written != 2 || *counts.Traces != 2 {
		t.Errorf("it printed %s, %v", printed, err)
	}
	if rows := readSpans(t, out); len(rows) != 2 || rows[0].TraceID[15] != 1 || rows[1].TraceID[15] != 2 {
		t.Errorf("merged %+v", rows)
	}
}

func TestSpansRefusesWhatItCannotDo(t *testing.T) {
	for code, examples := range map[int][][]string{
		0: {{"--help"}},
		2: {
			{"extra"}, {"--nonsense"}, {}, {"--control", "--out", "spans.parquet"}, {"--control", "--grpc", "no-port"},
			{"--control", "--http", "203.0.113.1:1", "--grpc", ":0"}, {"--control", "--cpus", "x"}, {"--control", "--cpus", "3-1"},
			{"--control", "--cpus", "1023"}, {"--recover", "/no/such"}, {"--merge", "spans.parquet"}, {"--control", "--forward", "nowhere"},
			{"--grpc", ":0", "--http", ":0", "--out", "/no/such/spans.parquet"},
		},
	} {
		for _, args := range examples {
			command := stone(t, nil, append([]string{"spans"}, args...)...)
			text, _ := command.CombinedOutput()
			if got := command.ProcessState.ExitCode(); got != code || code == 2 && (!bytes.HasPrefix(text, []byte("stone spans: ")) || bytes.Count(text, []byte("\n")) != 1) {
				t.Errorf("stone spans %v: exit %d, want %d: %s", args, got, code, text)
			}
		}
	}
}
