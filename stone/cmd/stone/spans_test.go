package main

import (
	"bufio"
	"bytes"
	"encoding/json"
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

// startSpans starts a receiver on free ports and returns its addresses in the order in which it tells them.
func startSpans(t *testing.T, args ...string) (command *exec.Cmd, addresses []string, output *bufio.Reader) {
	t.Helper()
	command = stone(t, nil, append([]string{"spans", "--grpc", ":0", "--http", ":0", "--control", ":0"}, args...)...)
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	output = bufio.NewReader(out)
	for _, last := range []string{"(gRPC)", "(HTTP)", "(control)"} {
		if last == "(control)" && len(args) > 0 && args[0] == "--out" {
			break
		}
		line, err := output.ReadString('\n')
		words := strings.Fields(line)
		if err != nil || len(words) != 4 || words[0]+words[1] != "listeningon" || words[3] != last || !strings.HasPrefix(words[2], "127.0.0.1:") {
			t.Fatalf("it printed %q, %v", line, err)
		}
		addresses = append(addresses, words[2])
	}
	return command, addresses, output
}

func post(t *testing.T, address, path, body string, into any) {
	t.Helper()
	answer, err := http.Post("http://"+address+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != 200 {
		t.Fatalf("%s: %d %s, %v", path, answer.StatusCode, text, err)
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			t.Fatal(err)
		}
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
	command, at, _ := startSpans(t)
	folder := t.TempDir()
	file := filepath.Join(folder, "spans.parquet")
	post(t, at[2], "/trials", `{"file": "`+file+`"}`, nil)
	post(t, at[1], "/v1/traces", strings.Replace(oneSpan, "NN", "07", 1), nil)
	for { // until it is on disk, within a second or so
		var counts spans.Counts
		answer, err := http.Get("http://" + at[2] + "/counts")
		if err == nil {
			err = json.NewDecoder(answer.Body).Decode(&counts)
			_ = answer.Body.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		if counts.Written == 1 {
			break
		}
	}
	_ = command.Process.Kill()
	_ = command.Wait()
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Fatalf("a killed receiver left a file: %v", err)
	}
	again, err := stone(t, nil, "spans", "--grpc", "no-port", "--out", file).CombinedOutput() // so that it ends in any case
	if err == nil || !bytes.Contains(again, []byte("stone spans --recover "+folder)) {
		t.Fatalf("to record over what a killed receiver left: %s, %v", again, err)
	}
	told, err := stone(t, nil, "spans", "--recover", folder).Output()
	var recovered struct {
		File   string
		Counts spans.Counts
	}
	if err != nil || json.Unmarshal(told, &recovered) != nil || recovered.File != file || recovered.Counts.Written != 1 || !recovered.Counts.Recovered {
		t.Errorf("it told %s, %v", told, err)
	}
	if rows := readSpans(t, file); len(rows) != 1 || rows[0].TraceID[15] != 7 || rows[0].Operation != "GetRates" {
		t.Errorf("recovered %+v", rows)
	}
}

func TestSpansByHand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "spans.parquet")
	command, at, output := startSpans(t, "--out", file)
	post(t, at[1], "/v1/traces", strings.Replace(oneSpan, "NN", "01", 1), nil)
	if err := command.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(output)
	var counts spans.Counts
	if err := json.Unmarshal(text, &counts); err != nil || counts.Written != 1 || *counts.Traces != 1 || !counts.Quiet {
		t.Errorf("it printed %s, %v", text, err)
	}
	if err := command.Wait(); err != nil || len(readSpans(t, file)) != 1 {
		t.Errorf("stopped as asked: %v", err)
	}
}

// Whoever stops it in the middle of a trial finds the file.
func TestSpansStoppedInATrial(t *testing.T) {
	command, at, _ := startSpans(t, "--cpus", "0")
	file := filepath.Join(t.TempDir(), "spans.parquet")
	post(t, at[2], "/trials", `{"file": "`+file+`"}`, nil)
	post(t, at[1], "/v1/traces", strings.Replace(oneSpan, "NN", "01", 1), nil)
	threads, err := filepath.Glob("/proc/" + strconv.Itoa(command.Process.Pid) + "/task/*/status")
	if err != nil || len(threads) == 0 {
		t.Fatalf("no threads: %v", err)
	}
	for _, thread := range threads {
		if text, err := os.ReadFile(thread); err == nil && !bytes.Contains(text, []byte("Cpus_allowed_list:\t0\n")) {
			t.Errorf("%s may run elsewhere", thread)
		}
	}
	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err != nil || len(readSpans(t, file)) != 1 {
		t.Errorf("stopped as asked: %v", err)
	}
}

func TestSpansRefusesWhatItCannotDo(t *testing.T) {
	for code, examples := range map[int][][]string{
		0: {{"--help"}},
		2: {
			{"extra"}, {"--nonsense"}, {"--grpc", "no-port"}, {"--http", "203.0.113.1:1", "--grpc", ":0"}, {"--cpus", "x"}, {"--cpus", "3-1"},
			{"--cpus", "1023"}, {"--recover", "/no/such"}, {"--forward", "nowhere"},
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
