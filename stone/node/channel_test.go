package node

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// talk serves a channel with these verbs, and gives what it answers to all of the input.
func talk(t *testing.T, verbs map[string]handler, input string) (lines []string, err error) {
	t.Helper()
	var out strings.Builder
	err = newChannel(strings.NewReader(input), &out, verbs).serve(t.Context())
	return strings.Split(strings.TrimSpace(out.String()), "\n"), err
}

func TestMistakesInARequest(t *testing.T) {
	verbs := map[string]handler{"add": verb(func(_ context.Context, _ *call, args struct{ A, B int }) (answer, error) {
		return answer{value: args.A + args.B}, nil
	})}
	for input, want := range map[string]string{
		`{"id":1,"verb":"sub"}`:                          `{"id":1,"error":{"kind":"input","message":"no verb \"sub\"","remedy":"use a client of the same version"}}`,
		`{"id":1,"verb":"add","key":1}`:                  `{"id":1,"error":{"kind":"input","message":"json: unknown field \"key\"","remedy":""}}`,
		`{"id":1,"verb":"add","args":{"c":1}}`:           `{"id":1,"error":{"kind":"input","message":"json: unknown field \"c\"","remedy":""}}`,
		`{"id":1,"verb":"cancel","args":{}} {}`:          ``,
		`{"id":1,"verb":"cancel","args":{"id":"other"}}`: `{"id":1,"error":{"kind":"input","message":"json: cannot unmarshal string into Go struct field .id of type int64","remedy":""}}`,
		`{"id":1,"verb":"cancel","args":{"id":99}}`:      `{"id":1,"ok":{}}`,
	} {
		lines, err := talk(t, verbs, input+"\n")
		if want == "" {
			if !errors.Is(err, errFrame) || !strings.HasPrefix(lines[0], `{"error":{"kind":"input","message":"not a frame: `) {
				t.Errorf("%s: %q, %v", input, lines, err)
			}
		} else if err != nil || lines[0] != want {
			t.Errorf("%s: %q, %v", input, lines, err)
		}
	}
}

// A mistake in one frame costs its request only; what follows is answered.
func TestAPayloadOfAWrongRequestIsSkipped(t *testing.T) {
	echo := map[string]handler{"echo": func(_ context.Context, c *call) (answer, error) { return answer{"x", c.payload}, nil }}
	lines, err := talk(t, echo, "{\"id\":1,\"verb\":\"wrong\",\"bytes\":4}\n{{{\n{\"id\":2,\"verb\":\"echo\",\"bytes\":3}\nabc{\"id\":3,\"verb\":\"echo\"}\n")
	all := strings.Join(lines, "\n")
	if err != nil || !strings.Contains(all, `{"id":2,"ok":"x","bytes":3}`+"\nabc{") && !strings.HasSuffix(all, `{"id":2,"ok":"x","bytes":3}`+"\nabc") || !strings.Contains(all, `{"id":3,"ok":"x"}`) {
		t.Errorf("%q, %v", all, err)
	}
}

func TestAnAnswerThatIsTooLongIsAnError(t *testing.T) {
	verbs := map[string]handler{"long": func(context.Context, *call) (answer, error) {
		return answer{value: strings.Repeat("a", MostLineBytes)}, nil
	}}
	lines, _ := talk(t, verbs, `{"id":1,"verb":"long"}`+"\n")
	if want := `{"id":1,"error":{"kind":"failed","message":"the answer is longer than a frame's line may be","remedy":""}}`; lines[0] != want {
		t.Errorf("got %.200q", lines)
	}
}

// connected is a channel whose verb waits until it is canceled.
func connected(t *testing.T) (in *io.PipeWriter, out *bufio.Reader, ended chan error) {
	input, in := io.Pipe()
	output, write := io.Pipe()
	waits := func(ctx context.Context, c *call) (answer, error) {
		if err := c.event("waits", nil); err != nil {
			return answer{}, err
		}
		<-ctx.Done()
		return answer{}, ctx.Err()
	}
	ended = make(chan error, 1)
	go func() {
		ended <- newChannel(input, write, map[string]handler{"wait": waits}).serve(t.Context())
		_ = write.Close()
	}()
	t.Cleanup(func() { _ = in.Close(); _ = output.Close() })
	return in, bufio.NewReader(output), ended
}

func expectLine(t *testing.T, out *bufio.Reader, want string) {
	t.Helper()
	if line, err := out.ReadString('\n'); line != want+"\n" {
		t.Errorf("got %q, %v, want %s", line, err, want)
	}
}

func TestCancel(t *testing.T) {
	in, out, ended := connected(t)
	fmt.Fprintln(in, `{"id":1,"verb":"wait"}`)
	expectLine(t, out, `{"id":1,"event":"waits"}`)
	fmt.Fprintln(in, `{"id":2,"verb":"cancel","args":{"id":1}}`)
	first, _ := out.ReadString('\n')
	second, _ := out.ReadString('\n')
	if both := first + second; !strings.Contains(both, `{"id":2,"ok":{}}`) || !strings.Contains(both, `{"id":1,"error":{"kind":"canceled","message":"canceled","remedy":""}}`) {
		t.Errorf("got %q", both)
	}
	fmt.Fprintln(in, `{"id":1,"verb":"wait"}`) // the id is free again
	expectLine(t, out, `{"id":1,"event":"waits"}`)
	_ = in.Close()
	expectLine(t, out, `{"id":1,"error":{"kind":"canceled","message":"canceled","remedy":""}}`)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestAnIDThatIsInUseEndsTheChannel(t *testing.T) {
	in, out, ended := connected(t)
	fmt.Fprintln(in, `{"id":1,"verb":"wait"}`)
	expectLine(t, out, `{"id":1,"event":"waits"}`)
	fmt.Fprintln(in, `{"id":1,"verb":"wait"}`)
	expectLine(t, out, `{"id":1,"error":{"kind":"canceled","message":"canceled","remedy":""}}`)
	line, _ := out.ReadString('\n')
	if err := <-ended; !errors.Is(err, errFrame) || !strings.HasPrefix(line, `{"error":{"kind":"input"`) {
		t.Errorf("%q, %v", line, err)
	}
}

func TestTooManyRequests(t *testing.T) {
	in, out, _ := connected(t)
	for id := range mostRequests {
		fmt.Fprintf(in, "{\"id\":%d,\"verb\":\"wait\"}\n", id)
		expectLine(t, out, fmt.Sprintf(`{"id":%d,"event":"waits"}`, id))
	}
	fmt.Fprintln(in, `{"id":999,"verb":"wait"}`)
	expectLine(t, out, `{"id":999,"error":{"kind":"failed","message":"too many requests at once","remedy":"wait for answers first"}}`)
	go func() { _, _ = io.Copy(io.Discard, out) }()
}

func TestABrokenOutputEndsTheChannel(t *testing.T) {
	input, in := io.Pipe()
	output, write := io.Pipe()
	_ = output.Close()
	defer in.Close()
	verbs := map[string]handler{"x": func(context.Context, *call) (answer, error) { return answer{value: 1}, nil }}
	go fmt.Fprintln(in, `{"id":1,"verb":"x"}`)
	if err := newChannel(input, write, verbs).serve(t.Context()); err != nil {
		t.Error(err)
	}
}
