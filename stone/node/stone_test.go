package node

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// built is the folder of the program; empty while no test has needed it.
var built string

// stone is the program, built once for all tests.
var stone = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "stone-node-test-*")
	if err != nil {
		return "", err
	}
	built = folder
	path := filepath.Join(folder, "stone")
	text, err := exec.Command("go", "build", "-o", path, "loadstone.dev/stone/cmd/stone").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, text)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		_ = os.RemoveAll(built)
	}
	os.Exit(code)
}

// client speaks to a `stone node` that is a process of its own.
type client struct {
	t       testing.TB
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	last    int64
}

// message is a line of a node.
type message struct {
	ID      *int64
	Event   json.RawMessage
	OK      json.RawMessage
	Error   *Fault
	Bytes   int
	payload []byte
}

// startNode starts a node with a state folder. It ends with the test.
func startNode(t testing.TB, state string, options ...string) *client {
	t.Helper()
	path, err := stone()
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, command: exec.Command(path, append([]string{"node", "--state", state}, options...)...)}
	c.command.Stderr = os.Stderr
	in, wrong := c.command.StdinPipe()
	out, alsoWrong := c.command.StdoutPipe()
	if wrong != nil || alsoWrong != nil {
		t.Fatal(wrong, alsoWrong)
	}
	c.in, c.out = in, bufio.NewReader(out)
	if err := c.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.close() })
	var hello Hello
	line, _ := c.out.ReadBytes('\n') // empty if the node prints nothing
	conforms(t, "$defs/Hello", line)
	if err := json.Unmarshal(line, &hello); err != nil || hello.Event != "hello" || hello.PID != c.command.Process.Pid {
		t.Fatalf("%q: %v", line, err)
	}
	return c
}

// close ends the channel and waits for the node.
func (c *client) close() error {
	_ = c.in.Close()
	_, _ = io.Copy(io.Discard, c.out)
	return c.command.Wait()
}

func (c *client) send(verb string, args any, payload []byte) int64 {
	c.t.Helper()
	c.last++
	text, err := json.Marshal(args)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(c.in, `{"id":%d,"verb":%q,"args":%s,"bytes":%d}`+"\n%s", c.last, verb, text, len(payload), payload); err != nil {
		c.t.Fatal(err)
	}
	return c.last
}

func (c *client) next() message {
	c.t.Helper()
	line, err := c.out.ReadBytes('\n')
	if err != nil {
		c.t.Fatal(err)
	}
	conforms(c.t, "$defs/Reply", line)
	one := message{}
	if err := json.Unmarshal(line, &one); err != nil {
		c.t.Fatalf("%q: %v", line, err)
	}
	one.payload = make([]byte, one.Bytes)
	if _, err := io.ReadFull(c.out, one.payload); err != nil {
		c.t.Fatal(err)
	}
	return one
}

// ask waits for the end of a request, and gives the payloads of its events before that of its answer.
func (c *client) ask(verb string, args any, payload []byte) (message, []byte) {
	c.t.Helper()
	id, events := c.send(verb, args, payload), []byte{}
	for {
		one := c.next()
		switch {
		case one.ID == nil || *one.ID != id:
			c.t.Fatalf("%s: %+v", verb, one)
		case one.Event == nil:
			if one.Error == nil {
				conformsAnswer(c.t, verb, args, one)
			}
			return one, events
		}
		events = append(events, one.payload...)
	}
}

// must is ask for what goes well; the answer is read into what is given.
func (c *client) must(verb string, args, into any) []byte {
	c.t.Helper()
	one, events := c.ask(verb, args, nil)
	if one.Error != nil {
		c.t.Fatalf("%s: %+v", verb, *one.Error)
	}
	if into != nil {
		if err := json.Unmarshal(one.OK, into); err != nil {
			c.t.Fatalf("%s: %s: %v", verb, one.OK, err)
		}
	}
	return append(events, one.payload...)
}

// fails is ask for what goes wrong.
func (c *client) fails(verb string, args any, kind Kind, message string) Fault {
	c.t.Helper()
	one, _ := c.ask(verb, args, nil)
	if one.Error == nil || one.Error.Kind != kind || !strings.Contains(one.Error.Message, message) {
		c.t.Errorf("%s: %+v %s, want %s: %s", verb, one.Error, one.OK, kind, message)
		return Fault{}
	}
	return *one.Error
}

// eventually waits for what another process brings about.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

type m map[string]any
