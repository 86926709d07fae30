package main

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
)

func TestAgentProcess(t *testing.T) {
	command := stone(t, nil, "agent", "--listen", ":0")
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	address, found := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !found {
		t.Skipf("needs control groups: it printed %q, %v", line, err)
	}
	if !strings.HasPrefix(address, "127.0.0.1:") {
		t.Errorf("without a host it listens on %s", address)
	}
	response, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || !strings.Contains(string(body), `memory_total_bytes{subject="node"}`) {
		t.Errorf("it answered %q, %v", body, err)
	}
	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err != nil {
		t.Errorf("stopped by a signal: %v", err)
	}
}

func TestAgentRefusesWhatItCannotDo(t *testing.T) {
	for code, examples := range map[int][][]string{
		0: {{"--help"}},
		2: {{"extra"}, {"--nonsense"}, {"--listen", "no-port"}, {"--listen", "203.0.113.1:1"}, {"--listen", "0.0.0.0:0"}, {"--replicas", "/no/such"}},
		3: {{"--proc", "/no/such"}, {"--cgroup", "/no/such"}},
	} {
		for _, args := range examples {
			if got := runAgent(args); got != code {
				t.Errorf("stone agent %v: exit %d, want %d", args, got, code)
			}
		}
	}
}
